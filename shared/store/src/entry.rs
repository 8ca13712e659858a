//! An event in a timeline: how it stands under each of its sources, and in feeds.
//!
//! ```text
//! SOURCE#{source} / {inverted id}   and   FEED#{user} / {inverted id}
//!   t S (type), a S (actor), s S? (subject), o S (topic), expires_at N?
//!   v S (which of its sources list it: a the actor, s the subject)
//!   a copy:     d S? (data, the client's JSON text)
//!   a pointer:  w S (the letter of the topic's bucket width: q, h, d, m), from which the event's key follows
//!   n BOOL? (under sources: the topic does not fan out; feeds pass over it)
//!   i BOOL? (under sources: an import, which was pushed to no feed)
//! ```
//!
//! Why: with a copy, a page of a timeline is one query; but a copy costs a write unit per KB and follower. So
//! no entry is larger than 1 KB: that of a larger event points to it.
//!
//! What must hold: an entry that fan-out writes is a pure function of the event, its topic and where it stands, so writing
//! it again changes nothing. The entry that the author's feed has before is a pointer, and gives way to it. Whether it is a copy depends on the event alone: the longest key that an entry can have is
//! counted, so an entry can be taken from one place to another as it is.

use aws_sdk_dynamodb::types::AttributeValue;
use lately_keys::table::{EventKey, FeedEntryKey, SourceEntryKey};
use lately_keys::{
    Actor, BucketWidth, EventId, EventType, Key, Place, SortKey, Source, Subject, TableKey, Topic,
    UnixMillis, User,
};
use lately_model::limits::IMPORT_SECONDS;
use lately_model::{Data, Event, RetentionDays, Views};

use crate::error::TableError;
use crate::item::{Corrupt, Fields, Item, keyed, number, text};
use crate::limits::{ENTRY_BYTES, ENTRY_EXPIRY_BYTES, ENTRY_KEY_BYTES, ENTRY_MARK_BYTES};
use crate::op::Op;
use crate::topic::TopicError;

/// An event as timelines list it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TimelineEntry {
    pub(crate) topic: Topic,
    pub(crate) id: EventId,
    pub(crate) event_type: EventType,
    pub(crate) actor: Actor,
    pub(crate) subject: Option<Subject>,
    pub(crate) body: Body,
    /// The views, by actor and by subject, that list it: those that its topic kept when it was written.
    views: Views,
    /// Whether the topic fanned out then.
    pub(crate) fans_out: bool,
    /// Whether the event is an import.
    is_import: bool,
    /// When the event expires, in unix seconds.
    pub(crate) expires_at: Option<u64>,
}

/// The event's data, or where it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Body {
    /// Here.
    Copy(Option<Data>),
    /// In the event, in a topic of this bucket width.
    Pointer(BucketWidth),
}

impl TimelineEntry {
    /// How timelines list an event of the table; `None` if none does. When the event landed decides whether it is an import
    /// only if the item does not say so.
    pub(crate) fn of(key: &EventKey, item: &Item, landed_at: UnixMillis) -> Result<Option<Self>, Corrupt> {
        let fields = Fields(item);
        let letters = fields.optional_text("v")?.unwrap_or_default();
        let subject = fields.optional_parsed("s")?;
        let kept = views(letters);
        let views = Views { subject: kept.subject && subject.is_some(), ..kept };
        if views == Views::NONE {
            return Ok(None);
        }
        let mut entry = Self {
            topic: key.partition().topic.clone(),
            id: key.id(),
            event_type: fields.parsed("t")?,
            actor: fields.parsed("a")?,
            subject,
            body: Body::Copy(data(fields)?),
            views,
            fans_out: letters.contains('f'),
            is_import: is_import(letters).unwrap_or_else(|| has_landed_late(key.id(), landed_at)),
            expires_at: fields.optional_number("expires_at")?,
        };
        if entry.largest_bytes() > ENTRY_BYTES {
            entry.body = Body::Pointer(key.partition().bucket.width());
        }
        Ok(Some(entry))
    }

    /// An entry of the table, of a source's timeline or of a feed.
    pub(crate) fn decode(item: &Item) -> Result<Self, Corrupt> {
        Self::with_id(item, Fields(item).parsed::<SortKey>("sk")?.id())
    }

    /// An entry whose attributes stand in an item of another key.
    pub(crate) fn with_id(item: &Item, id: EventId) -> Result<Self, Corrupt> {
        let fields = Fields(item);
        let body = match fields.optional_text("w")? {
            Some(letter) => Body::Pointer(width(letter).ok_or_else(|| fields.corrupt("w"))?),
            None => Body::Copy(data(fields)?),
        };
        Ok(Self {
            topic: fields.parsed("o")?,
            id,
            event_type: fields.parsed("t")?,
            actor: fields.parsed("a")?,
            subject: fields.optional_parsed("s")?,
            body,
            views: views(fields.text("v")?),
            fans_out: !fields.flag("n"),
            is_import: fields.flag("i"),
            expires_at: fields.optional_number("expires_at")?,
        })
    }

    /// Whether feeds show it whoever reads them: its topic fans out, and it is no import.
    pub(crate) const fn is_for_feeds(&self) -> bool {
        self.fans_out && !self.is_import
    }

    /// The sources that list the event: at most two.
    pub(crate) fn sources(&self) -> impl Iterator<Item = Source> {
        let actor = self.views.actor.then(|| Source::Actor(self.actor.clone()));
        let subject = self.subject.clone().filter(|_| self.views.subject).map(Source::Subject);
        actor.into_iter().chain(subject)
    }

    /// The entry's item in the timeline of one of its sources.
    pub(crate) fn at_source(&self, source: &Source) -> Item {
        let key = SourceEntryKey { source: source.clone(), id: self.id }.encode();
        let mut item = self.item(key, self.expires_at);
        for (name, is_so) in [("n", !self.fans_out), ("i", self.is_import)] {
            if is_so {
                item.insert(name.to_owned(), AttributeValue::Bool(true));
            }
        }
        item
    }

    /// The entry's item in a feed that keeps entries so long: it goes when it may no longer be kept, and no
    /// later than its event.
    pub(crate) fn in_feed(&self, user: &User, retention: Option<RetentionDays>) -> Item {
        let key = FeedEntryKey { user: user.clone(), id: self.id }.encode();
        // Rounded up: an entry is kept for no less than its time.
        let kept_until =
            retention.map(|days| self.id.at().saturating_add(days.millis()).get().div_ceil(1000));
        let expires_at = self.expires_at.into_iter().chain(kept_until).min();
        self.item(key, expires_at)
    }

    /// What stands in the author's own feed until fan-out has put the entry there: a pointer, which shows no event that is
    /// not there, and which is over at a time in unix seconds. So a put that comes after the event was deleted, and fan-out
    /// has forgotten it, shows nothing and leaves nothing.
    pub(crate) fn before_fan_out(
        &self,
        width: BucketWidth,
        user: &User,
        retention: Option<RetentionDays>,
        until: u64,
    ) -> Item {
        let expires_at = self.expires_at.into_iter().chain([until]).min();
        Self { body: Body::Pointer(width), expires_at, ..self.clone() }.in_feed(user, retention)
    }

    /// Where the entry stands: under its sources, and in some feeds.
    pub(crate) fn places<'u>(&self, users: impl IntoIterator<Item = &'u User>) -> Vec<Key> {
        let at_sources = self.sources().map(|source| place_at_source(self.id, &source));
        at_sources.chain(users.into_iter().map(|user| place_in_feed(self.id, user))).collect()
    }

    /// The event, if the entry is a copy of it.
    pub(crate) fn event(&self) -> Option<Event> {
        let Body::Copy(data) = &self.body else { return None };
        Some(Event {
            id: self.id,
            event_type: self.event_type.clone(),
            actor: self.actor.clone(),
            subject: self.subject.clone(),
            data: data.clone(),
        })
    }

    /// The key of the event, if the entry points to it.
    pub(crate) fn pointer(&self) -> Option<EventKey> {
        let Body::Pointer(width) = self.body else { return None };
        Some(EventKey::new(self.topic.clone(), width, self.id))
    }

    /// The key of the event; none if its topic is gone.
    pub(crate) async fn event_key(&self, op: &Op) -> Result<Option<Key>, TableError> {
        if let Some(key) = self.pointer() {
            return Ok(Some(key.encode()));
        }
        match op.topic(&self.topic).settings().await {
            Ok(settings) => Ok(Some(EventKey::new(self.topic.clone(), settings.bucket, self.id).encode())),
            Err(TopicError::NotFound(_)) => Ok(None),
            Err(TopicError::Table(error)) => Err(error),
        }
    }

    /// The attributes that are the entry's own, wherever it stands.
    pub(crate) fn attributes(&self) -> Item {
        let mut item = Item::new();
        let mut put = |name: &str, value: &str| item.insert(name.to_owned(), text(value));
        put("t", self.event_type.as_str());
        put("a", self.actor.as_str());
        put("o", self.topic.as_str());
        put("v", letters(self.views));
        if let Some(subject) = &self.subject {
            put("s", subject.as_str());
        }
        match &self.body {
            Body::Copy(None) => {}
            Body::Copy(Some(data)) => drop(put("d", data.as_str())),
            Body::Pointer(width) => drop(put("w", letter(*width))),
        }
        item
    }

    fn item(&self, key: Key, expires_at: Option<u64>) -> Item {
        let mut item = keyed(Place::Table, key);
        item.extend(self.attributes());
        if let Some(expires_at) = expires_at {
            item.insert("expires_at".to_owned(), number(expires_at));
        }
        item
    }

    /// The size of the entry where it is largest.
    fn largest_bytes(&self) -> usize {
        Fields(&self.attributes()).stored_bytes() + ENTRY_KEY_BYTES + ENTRY_EXPIRY_BYTES + ENTRY_MARK_BYTES
    }
}

/// Where an event's entry stands under a source.
pub(crate) fn place_at_source(id: EventId, source: &Source) -> Key {
    SourceEntryKey { source: source.clone(), id }.encode()
}

/// Where an event's entry stands in a feed.
pub(crate) fn place_in_feed(id: EventId, user: &User) -> Key {
    FeedEntryKey { user: user.clone(), id }.encode()
}

/// Whose feed an actor's own posts are in: an actor's name is a user's.
pub(crate) fn own_feed(actor: &Actor) -> Option<User> {
    actor.as_str().parse().ok()
}

fn data(fields: Fields<'_>) -> Result<Option<Data>, Corrupt> {
    let data = fields.optional_text("d")?.map(|text| Data::from_stored(text.to_owned()));
    data.transpose().map_err(|_| fields.corrupt("d"))
}

/// Whether an event was accepted as an import; none if it was written before that was stored.
fn is_import(letters: &str) -> Option<bool> {
    letters.contains(['i', 'p']).then(|| letters.contains('i'))
}

/// Whether an event landed so long after its time that an earlier release took it for an import. Decided from the record, so
/// that it is the same whenever the record is handled.
fn has_landed_late(id: EventId, landed_at: UnixMillis) -> bool {
    landed_at.get().saturating_sub(id.at().get()) > IMPORT_SECONDS * 1000
}

fn views(letters: &str) -> Views {
    Views { actor: letters.contains('a'), subject: letters.contains('s'), event_type: false }
}

const fn letters(views: Views) -> &'static str {
    match (views.actor, views.subject) {
        (true, true) => "as",
        (true, false) => "a",
        (false, true) => "s",
        (false, false) => "",
    }
}

const fn letter(width: BucketWidth) -> &'static str {
    match width {
        BucketWidth::QuarterHour => "q",
        BucketWidth::Hour => "h",
        BucketWidth::Day => "d",
        BucketWidth::Month => "m",
    }
}

fn width(text: &str) -> Option<BucketWidth> {
    BucketWidth::ALL.into_iter().find(|width| letter(*width) == text)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    const ID: &str = "0190a4cd-d3e7-7222-9f99-fdb74feee752";

    fn key(topic: &str, width: BucketWidth) -> EventKey {
        EventKey::new(topic.parse().unwrap(), width, ID.parse().unwrap())
    }

    /// So many milliseconds after the event's time.
    fn landed(after: u64) -> UnixMillis {
        ID.parse::<EventId>().unwrap().at().saturating_add(after)
    }

    /// An event's item, without its key.
    fn event(attributes: &[(&str, &str)]) -> Item {
        attributes.iter().map(|(name, value)| ((*name).to_owned(), text(*value))).collect()
    }

    fn shown(item: Item) -> BTreeMap<String, String> {
        let show = |value| match value {
            AttributeValue::S(text) => text,
            AttributeValue::N(digits) => digits,
            AttributeValue::Bool(flag) => flag.to_string(),
            other => format!("{other:?}"),
        };
        item.into_iter().map(|(name, value)| (name, show(value))).collect()
    }

    fn expected(attributes: &[(&str, &str)]) -> BTreeMap<String, String> {
        attributes.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn an_import_is_marked_under_its_sources_and_not_where_it_was_backfilled() {
        let entry = |letters| {
            let item = event(&[("t", "note"), ("a", "ada"), ("v", letters)]);
            TimelineEntry::of(&key("posts", BucketWidth::Day), &item, landed(0)).unwrap().unwrap()
        };
        let post = entry("afp");
        assert!(post.is_for_feeds() && !post.at_source(&"actor:ada".parse().unwrap()).contains_key("i"));
        let import = entry("afi");
        let listed = import.at_source(&"actor:ada".parse().unwrap());
        assert_eq!(listed.get("i"), Some(&AttributeValue::Bool(true)));
        assert!(!TimelineEntry::decode(&listed).unwrap().is_for_feeds());
        assert!(!import.in_feed(&"bob".parse().unwrap(), None).contains_key("i"));
    }

    #[test]
    fn how_late_an_event_landed_decides_only_for_an_earlier_release() {
        let is_import = |letters, after| {
            let item = event(&[("t", "note"), ("a", "ada"), ("v", letters)]);
            let entry = TimelineEntry::of(&key("posts", BucketWidth::Day), &item, landed(after));
            entry.unwrap().unwrap().is_import
        };
        for (letters, late, in_time) in
            [("asf", true, false), ("asfp", false, false), ("asfi", true, true), ("asfpk", false, false)]
        {
            assert_eq!(
                (is_import(letters, 60_001), is_import(letters, 60_000)),
                (late, in_time),
                "{letters}"
            );
        }
    }

    #[test]
    fn an_own_entry_before_fan_out_is_a_pointer_that_goes_by_itself() {
        let item = event(&[("t", "note"), ("a", "ada"), ("d", "1"), ("v", "afp")]);
        let entry = TimelineEntry::of(&key("posts", BucketWidth::Hour), &item, landed(0)).unwrap().unwrap();
        let own =
            shown(entry.before_fan_out(BucketWidth::Hour, &"ada".parse().unwrap(), None, 1_720_900_000));
        let expected = expected(&[
            ("pk", "FEED#ada"),
            ("sk", "fe6f5b32-2c18-8ddd-6066-0248b01118ad"),
            ("t", "note"),
            ("a", "ada"),
            ("o", "posts"),
            ("v", "a"),
            ("w", "h"),
            ("expires_at", "1720900000"),
        ]);
        assert_eq!(own, expected);
    }

    #[test]
    fn golden_bytes() {
        let mut item = event(&[("t", "note"), ("a", "ada"), ("s", "x"), ("d", "1.10"), ("v", "asf")]);
        item.insert("expires_at".to_owned(), number(1_720_900_000_u64));
        let entry = TimelineEntry::of(&key("posts", BucketWidth::Day), &item, landed(0)).unwrap().unwrap();
        let own = [("t", "note"), ("a", "ada"), ("s", "x"), ("d", "1.10"), ("v", "as"), ("o", "posts")];
        let sk = "fe6f5b32-2c18-8ddd-6066-0248b01118ad";
        let place = [("pk", "SOURCE#subject:x"), ("sk", sk), ("expires_at", "1720900000")];
        let source = "subject:x".parse().unwrap();
        assert_eq!(shown(entry.at_source(&source)), expected(&[&own[..], &place].concat()));
        let place = [("pk", "FEED#bob"), ("sk", sk), ("expires_at", "1720838271")];
        let day = RetentionDays::new(1).ok();
        assert_eq!(
            shown(entry.in_feed(&"bob".parse().unwrap(), day)),
            expected(&[&own[..], &place].concat())
        );
    }

    #[test]
    fn a_large_event_of_a_topic_that_does_not_fan_out_is_a_marked_pointer() {
        let large = format!("\"{}\"", "x".repeat(1_000));
        let item = event(&[("t", "note"), ("a", "ada"), ("d", &large), ("v", "as")]);
        let entry = TimelineEntry::of(&key("logs", BucketWidth::Hour), &item, landed(0)).unwrap().unwrap();
        let source = "actor:ada".parse().unwrap();
        let mut listed = shown(entry.at_source(&source));
        listed.retain(|name, _| !["pk", "sk"].contains(&name.as_str()));
        // The topic keeps the view by subject, and the event has none.
        let marked = [("t", "note"), ("a", "ada"), ("o", "logs"), ("v", "a"), ("w", "h"), ("n", "true")];
        assert_eq!(listed, expected(&marked));
        assert_eq!((entry.pointer(), entry.event()), (Some(key("logs", BucketWidth::Hour)), None));
    }

    #[test]
    fn what_no_view_lists_has_no_entry() {
        for views in [&[("t", "note"), ("a", "ada")][..], &[("t", "note"), ("a", "ada"), ("v", "s")]] {
            assert_eq!(
                TimelineEntry::of(&key("posts", BucketWidth::Day), &event(views), landed(0)),
                Ok(None)
            );
        }
        let both = event(&[("t", "note"), ("a", "ada"), ("s", "x"), ("v", "s")]);
        let entry = TimelineEntry::of(&key("posts", BucketWidth::Day), &both, landed(0)).unwrap().unwrap();
        assert_eq!(entry.sources().collect::<Vec<_>>(), ["subject:x".parse().unwrap()]);
    }

    #[test]
    fn what_is_not_an_entry_is_corrupt() {
        let item = event(&[("pk", "FEED#bob"), ("sk", "fe6f5b32-2c18-8ddd-6066-0248b01118ad")]);
        assert!(TimelineEntry::decode(&item).is_err());
        let item = event(&[("t", "note"), ("a", "ada"), ("o", "posts"), ("v", "a"), ("w", "y")]);
        assert!(TimelineEntry::with_id(&item, ID.parse().unwrap()).is_err());
    }

    proptest! {
        #[test]
        fn an_entry_fits_a_write_unit_wherever_it_stands_and_comes_back_as_it_was(
            names in ("[a-z0-9]{1,128}", "[a-z0-9]{1,128}", proptest::option::of("[a-z0-9][a-z0-9:]{0,127}"), "[a-z]{1,64}"),
            bytes in prop_oneof![0..1_100_usize, 500..900_usize],
            letters in prop_oneof![Just("a"), Just("as"), Just("asf")],
            width in prop_oneof![Just(BucketWidth::QuarterHour), Just(BucketWidth::Month)],
            expires_at in proptest::option::of(1_700_000_000..253_402_300_799_u64),
        ) {
            let (topic, actor, subject, event_type) = names;
            let data = format!("\"{}\"", "x".repeat(bytes));
            let mut item = event(&[("t", &event_type), ("a", &actor), ("d", &data), ("v", letters)]);
            item.extend(subject.map(|subject| ("s".to_owned(), text(subject))));
            item.extend(expires_at.map(|seconds| ("expires_at".to_owned(), number(seconds))));
            let entry = TimelineEntry::of(&key(&topic, width), &item, landed(0)).unwrap().unwrap();
            for source in entry.sources() {
                let listed = entry.at_source(&source);
                prop_assert!(Fields(&listed).stored_bytes() <= ENTRY_BYTES);
                prop_assert_eq!(TimelineEntry::decode(&listed), Ok(entry.clone()));
            }
            let user = "u".repeat(128).parse().unwrap();
            let in_feed = entry.in_feed(&user, None);
            prop_assert!(Fields(&in_feed).stored_bytes() <= ENTRY_BYTES);
            // From a feed to itself, as what is put back is.
            let again = TimelineEntry::decode(&in_feed).unwrap().in_feed(&user, None);
            prop_assert_eq!(again, in_feed);
            prop_assert_eq!(entry.event().is_some(), entry.pointer().is_none());
        }
    }
}
