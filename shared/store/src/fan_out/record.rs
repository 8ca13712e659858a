//! A record of the table's stream, as Lambda delivers it, decoded into the change that it describes.
//!
//! ```text
//! {"Records":[{"eventName":"INSERT","userIdentity":…?,"dynamodb":{"SequenceNumber":"…",
//!   "ApproximateCreationDateTime":1479499740,"Keys":{…},"NewImage":{…}?,"OldImage":{…}?}}, …]}
//! ```
//!
//! A record that cannot be read fails alone: the other records of its batch are handled. Changes of items that do not
//! concern fan-out are ignored. So are the removals of expired items, because everything that was written for such an
//! item expires at the same time.

use std::collections::HashMap;
use std::error::Error;

use aws_lambda_events::dynamodb::{EventRecord, UserIdentity};
use lately_items::event::ACTOR;
use lately_items::{
    AnyKey, BacklogKey, ChangeNoteKey, DirectoryKey, EXPIRES_AT, EventKey, Follower, FollowerCountKey,
    FollowerCounts, FollowerKey, JobKey, PushMode, StepName, StoredSource, TimelineEntry,
};
use lately_keys::{Actor, EventId, Key, Shard, Source, Tick, Topic, UnixMillis};
use lately_table::Item;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::limits::WRITE_MILLIS;

/// A record of the table's stream.
#[derive(Debug)]
pub struct Record {
    sequence: String,
    /// When the change was made; `None` if the record does not say.
    pub(super) at: Option<UnixMillis>,
    /// The key of the item that changed; `None` if the record does not say.
    pub(super) item: Option<Key>,
    pub(super) change: Result<Option<Change>, Poison>,
    /// The record's news about a topic.
    pub(super) news: Option<TopicNews>,
}

/// A change in a topic, whatever views the topic keeps.
#[derive(Debug)]
pub(super) enum TopicNews {
    /// An event is new.
    Inserted(InsertedEvent),
    /// An event was deleted soon after its time.
    Deleted(EventKey),
    /// An entry of the directory is new.
    Opened(DirectoryKey),
}

impl TopicNews {
    pub(super) fn topic(&self) -> &Topic {
        match self {
            Self::Inserted(InsertedEvent { key, .. }) | Self::Deleted(key) => &key.partition().topic,
            Self::Opened(key) => &key.topic,
        }
    }
}

/// An event that was inserted.
#[derive(Debug)]
pub(super) struct InsertedEvent {
    pub(super) key: EventKey,
    /// When it was inserted, in whole seconds, rounded down.
    pub(super) at: UnixMillis,
    /// When it expires, in unix seconds.
    pub(super) expires_at: Option<u64>,
    /// Its actor; `None` if the record does not say.
    pub(super) actor: Option<Actor>,
}

/// A text that is not a batch of records. The error names the position in the text, and quotes nothing.
#[derive(Debug, thiserror::Error)]
#[error("the input is not a batch of stream records: line {}, column {}", .0.line(), .0.column())]
pub struct NoBatch(#[from] serde_json::Error);

/// Why a record cannot be read. It is logged, so it names the place in the record and quotes nothing.
type Poison = Box<dyn Error + Send + Sync>;

/// A change that fan-out handles.
#[derive(Debug)]
pub(super) struct Change {
    /// When it was made, in whole seconds, rounded down.
    pub(super) at: UnixMillis,
    /// The change's own id, which is derived from the record.
    pub(super) id: EventId,
    pub(super) what: What,
}

/// The change itself.
#[derive(Debug)]
pub(super) enum What {
    /// An event that timelines list was written.
    Posted(EventKey, TimelineEntry),
    /// An event that timelines list was deleted.
    Deleted(TimelineEntry),
    /// A user began to follow.
    Followed(FollowerKey, Follower),
    /// A user no longer follows.
    Unfollowed(FollowerKey),
    /// The number of followers in a shard changed.
    Counted(FollowerCountKey, FollowerCounts),
    /// A source's item changed.
    Source {
        source: Source,
        /// True if the source was pushed before.
        was_pushed: bool,
        stored: StoredSource,
    },
    /// An event that timelines list got another expiry.
    Restamped(EventKey, TimelineEntry),
    /// A note of an earlier change was put.
    Note(ChangeNoteKey),
    /// A page of a job was put.
    Page(JobKey),
    /// An item of a backlog was put.
    Backlog(BacklogKey),
    /// A step of a topic's deletion was put, of a change of its retention, of an erasure, or of a feed's cleanup.
    Step(Key, StepName),
}

impl Record {
    /// Reads the event that Lambda is invoked with.
    ///
    /// # Errors
    /// If it is no list of records.
    pub fn batch(event: &[u8]) -> Result<Vec<Self>, NoBatch> {
        let event: StreamEvent<'_> = serde_json::from_slice(event)?;
        Ok(event.records.into_iter().map(Self::read).collect())
    }

    /// The record's sequence number, which names it within its shard.
    pub fn sequence(&self) -> &str {
        &self.sequence
    }

    /// The key of a backlog's item, if the record is of one.
    pub(super) fn backlog(&self) -> Option<&BacklogKey> {
        match &self.change {
            Ok(Some(Change { what: What::Backlog(key), .. })) => Some(key),
            _ => None,
        }
    }

    fn read(record: &RawValue) -> Self {
        let mut read = Self { sequence: String::new(), at: None, item: None, change: Ok(None), news: None };
        read.change = read.fill(record);
        read
    }

    /// Fills in what the record says, as far as it can be read, and returns the change.
    fn fill(&mut self, record: &RawValue) -> Result<Option<Change>, Poison> {
        let parsed = serde_json::from_str::<EventRecord>(record.get());
        self.sequence = match &parsed {
            Ok(record) => record.change.sequence_number.clone(),
            // The number is needed even if the record cannot be read.
            Err(_) => sequence_of(record),
        }
        .unwrap_or_default();
        let record = ImageRecord::of(parsed.map_err(|error| {
            format!("the record cannot be parsed: line {}, column {}", error.line(), error.column())
        })?)?;
        self.at = record.at().ok();
        let key = self.item.insert(record.keys.key()?);
        let Some(key) = AnyKey::decode(&key.pk, &key.sk) else { return Ok(None) };
        self.news = record.news(&key)?;
        if record.is_expiry {
            return Ok(None);
        }
        let Some(what) = record.what(key)? else { return Ok(None) };
        let at = record.at()?;
        Ok(Some(Change { at, id: walk_id(&self.sequence, at), what }))
    }
}

#[derive(Deserialize)]
struct StreamEvent<'a> {
    #[serde(rename = "Records", borrow)]
    records: Vec<&'a RawValue>,
}

fn sequence_of(record: &RawValue) -> Option<String> {
    let record: serde_json::Value = serde_json::from_str(record.get()).ok()?;
    record.pointer("/dynamodb/SequenceNumber")?.as_str().map(str::to_owned)
}

/// A record with its images as items.
struct ImageRecord {
    is_insert: bool,
    is_removal: bool,
    /// True if TTL removed the item.
    is_expiry: bool,
    /// When the change was made, in seconds; zero if the record does not say.
    seconds: i64,
    keys: Item,
    /// The item after the change, if the record has it.
    after: Option<Item>,
    /// The item before the change, if the record has it.
    before: Option<Item>,
}

fn item(attributes: serde_dynamo::Item) -> Item {
    Item::from(HashMap::<String, _>::from(attributes))
}

impl ImageRecord {
    fn of(record: EventRecord) -> Result<Self, Poison> {
        let EventRecord { event_name, change, user_identity, .. } = record;
        if !["INSERT", "MODIFY", "REMOVE"].contains(&&*event_name) {
            return Err("the record lacks a known event name".into());
        }
        let is_ttl =
            |user: UserIdentity| user.type_ == "Service" && user.principal_id == "dynamodb.amazonaws.com";
        Ok(Self {
            is_insert: event_name == "INSERT",
            is_removal: event_name == "REMOVE",
            is_expiry: user_identity.is_some_and(is_ttl),
            seconds: change.approximate_creation_date_time.timestamp(),
            keys: item(change.keys),
            after: (!change.new_image.is_empty()).then(|| item(change.new_image)),
            before: (!change.old_image.is_empty()).then(|| item(change.old_image)),
        })
    }

    fn news(&self, key: &AnyKey) -> Result<Option<TopicNews>, Poison> {
        Ok(match key {
            AnyKey::Directory(key) if self.is_insert => Some(TopicNews::Opened(key.clone())),
            AnyKey::Event(key) if self.is_insert => {
                let after = self.after()?;
                let (expires_at, actor) = (after.optional(EXPIRES_AT)?, after.get(ACTOR).ok());
                let inserted = InsertedEvent { key: key.clone(), at: self.at()?, expires_at, actor };
                Some(TopicNews::Inserted(inserted))
            }
            AnyKey::Event(key) if self.is_removal && !self.is_expiry => {
                // An attempt to write the event may still be under way.
                let until = key.id().at().saturating_add(WRITE_MILLIS);
                self.at().is_ok_and(|at| at <= until).then(|| TopicNews::Deleted(key.clone()))
            }
            _ => None,
        })
    }

    fn what(&self, key: AnyKey) -> Result<Option<What>, Poison> {
        let removed = self.is_removal;
        Ok(match key {
            AnyKey::Event(key) => {
                let image = if removed { self.before()? } else { self.after()? };
                let Some(entry) = TimelineEntry::of(&key, image)? else { return Ok(None) };
                let has_new_expiry = self
                    .before
                    .as_ref()
                    .is_some_and(|before| before.value(EXPIRES_AT) != image.value(EXPIRES_AT));
                Some(match (removed, has_new_expiry) {
                    (true, _) => What::Deleted(entry),
                    (false, true) => What::Restamped(key, entry),
                    (false, false) => What::Posted(key, entry),
                })
            }
            AnyKey::Follower(key) if removed => Some(What::Unfollowed(key)),
            _ if removed => None,
            AnyKey::Follower(key) => Some(What::Followed(key, Follower::decode(self.after()?)?)),
            AnyKey::FollowerCount(key) => Some(What::Counted(key, FollowerCounts::decode(self.after()?)?)),
            AnyKey::SourceItem(key) => {
                let before = self.before.as_ref().map(StoredSource::decode).transpose()?.unwrap_or_default();
                let stored = StoredSource::decode(self.after()?)?;
                Some(What::Source { source: key.source, was_pushed: before.mode == PushMode::Push, stored })
            }
            AnyKey::Job(key) => Some(What::Page(key)),
            AnyKey::Backlog(key) => Some(What::Backlog(key)),
            AnyKey::ChangeNote(key) => Some(What::Note(key)),
            AnyKey::EndingStep(_) | AnyKey::ErasureStep(_) | AnyKey::CleanupStep(_) => {
                StepName::found(self.after()?)?.map(|name| What::Step(key.encode(), name))
            }
            _ => None,
        })
    }

    fn after(&self) -> Result<&Item, Poison> {
        self.after.as_ref().ok_or_else(|| "the record lacks NewImage".into())
    }

    fn before(&self) -> Result<&Item, Poison> {
        self.before.as_ref().ok_or_else(|| "the record lacks OldImage".into())
    }

    /// When the change was made. DynamoDB gives whole seconds, sometimes as a float.
    fn at(&self) -> Result<UnixMillis, Poison> {
        let seconds = u64::try_from(self.seconds).ok().filter(|&seconds| seconds > 0);
        let seconds = seconds.ok_or("the record lacks a valid time")?;
        Ok(UnixMillis::new(seconds.saturating_mul(1000))?)
    }
}

/// An id for the walk that a stream record begins. Each delivery of the record gives the same id.
fn walk_id(sequence: &str, at: UnixMillis) -> EventId {
    let digits = sequence.bytes().map(|digit| u64::from(digit.wrapping_sub(b'0')));
    let number = digits.fold(0_u64, |number, digit| number.wrapping_mul(10).wrapping_add(digit));
    EventId::new(Tick::first_of(at), Shard::from(0), number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(rest: &str) -> Record {
        let event = format!(r#"{{"Records":[{{"eventID":"1","awsRegion":"x",{rest}}}]}}"#);
        Record::batch(event.as_bytes()).unwrap().remove(0)
    }

    fn changed(name: &str, pk: &str, sk: &str, images: &str) -> Record {
        one(&format!(
            r#""eventName":"{name}","dynamodb":{{"SequenceNumber":"42","SizeBytes":1,"ApproximateCreationDateTime":1.479499740E9,
            "Keys":{{"pk":{{"S":"{pk}"}},"sk":{{"S":"{sk}"}}}}{images}}}"#
        ))
    }

    #[test]
    fn a_new_and_a_removed_follower_are_changes() {
        let new = r#","NewImage":{"since":{"N":"5"},"k":{"N":"7"},"sk":{"S":"bob"},"more":{"M":{"x":{"B":"eA=="}}}}"#;
        let record = changed("INSERT", "FOLLOWERS#actor:ada#3", "bob", new);
        assert_eq!(record.sequence(), "42");
        let Change { at, what, .. } = record.change.unwrap().unwrap();
        assert_eq!(at.get(), 1_479_499_740_000);
        let What::Followed(key, follower) = what else { panic!("{what:?}") };
        assert_eq!((key.shard.get(), follower.since.get(), follower.backfill), (3, 5, 7));
        let record = changed("REMOVE", "FOLLOWERS#actor:ada#3", "bob", "");
        assert!(matches!(record.change, Ok(Some(Change { what: What::Unfollowed(_), .. }))));
    }

    #[test]
    fn only_the_insert_of_an_event_is_its_insertion() {
        let id: EventId = "0190a4cd-d3e7-7222-9f99-fdb74feee752".parse().unwrap();
        let sk = id.sort_key().to_string();
        let changed_to = |name: &str| {
            let images = r#","NewImage":{"t":{"S":"note"},"a":{"S":"ada"}},"OldImage":{"t":{"S":"note"},"a":{"S":"ada"}}"#;
            changed(name, "EVENTS#logs#2024-07-12#SHARD126", &sk, images)
        };
        let record = changed_to("INSERT");
        assert!(matches!(record.change, Ok(None)), "no view lists the event");
        let Some(TopicNews::Inserted(inserted)) = record.news else { panic!("{:?}", record.news) };
        let InsertedEvent { key, at, expires_at, actor } = inserted;
        assert_eq!(actor, "ada".parse().ok());
        let topic = key.partition().topic.as_str();
        assert_eq!((topic, key.id(), at.get()), ("logs", id, 1_479_499_740_000));
        assert_eq!(expires_at, None);
        for name in ["MODIFY", "REMOVE"] {
            assert!(!matches!(changed_to(name).news, Some(TopicNews::Inserted(_))), "{name}");
        }
    }

    #[test]
    fn changes_that_do_not_concern_fan_out_are_ignored() {
        for (pk, sk) in
            [("FEED#bob", "#SEEN"), ("TOPIC#posts", "CONFIG"), ("WHAT#", "x"), ("USER#bob", "PROFILE")]
        {
            assert!(matches!(changed("INSERT", pk, sk, "").change, Ok(None)), "{pk}");
        }
        // The removal of a shard's counts.
        assert!(matches!(changed("REMOVE", "FOLLOWERS#actor:ada#3", "#COUNT", "").change, Ok(None)));
    }

    #[test]
    fn only_removals_by_dynamodbs_ttl_are_ignored() {
        let removed = |principal: &str| {
            one(&format!(
                r#""eventName":"REMOVE","userIdentity":{{"type":"Service","principalId":"{principal}"}},
                "dynamodb":{{"SequenceNumber":"1","SizeBytes":1,"ApproximateCreationDateTime":1,
                "Keys":{{"pk":{{"S":"FOLLOWERS#actor:ada#3"}},"sk":{{"S":"bob"}}}}}}"#
            ))
        };
        assert!(matches!(removed("dynamodb.amazonaws.com").change, Ok(None)));
        assert!(matches!(removed("other.amazonaws.com").change, Ok(Some(_))));
    }

    #[test]
    fn a_record_that_cannot_be_read_keeps_its_sequence_number() {
        let poison = changed("INSERT", "FOLLOWERS#actor:ada#3", "bob", r#","NewImage":{"since":{"S":"x"}}"#);
        assert_eq!((poison.sequence(), poison.change.is_err()), ("42", true));
        assert!(poison.item.is_some(), "the record stops its own rail");
        let poison = one(r#""dynamodb":{"SequenceNumber":"43"}"#);
        assert_eq!((poison.sequence(), poison.change.is_err(), poison.item.is_none()), ("43", true, true));
        assert_eq!(one(r#""eventName":7"#).sequence(), "");
    }

    #[test]
    fn each_record_has_a_walk_id_that_stays_the_same() {
        let at = UnixMillis::new(1_479_499_740_000).unwrap();
        let id = walk_id("4421584500000000017450439091", at);
        assert_eq!((id, id.at()), (walk_id("4421584500000000017450439091", at), at));
        assert_ne!(id, walk_id("4421584500000000017450439092", at));
    }
}
