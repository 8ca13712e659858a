//! An event, and its entry in the `type` view.
//!
//! ```text
//! table   pk  EVENTS#{topic}#{label}#SHARD{n}       sk  {inverted id}
//! gsi1    pk  TYPE#{topic}#{label}#{type}#SHARD{n}  sk  {inverted id}
//!   t S (type), a S (actor), s S? (subject), d S? (data, the client's JSON text), expires_at N?
//!   v S? (letters: a in the view by actor, s in the view by subject, f fans out, p a post, i an import,
//!         k written under an idempotency key), gsi1pk, gsi1sk (the view by type)
//! ```
//!
//! Both keys are pure functions of the topic and the id (and, for the view, the type): the label is the label of the
//! bucket of the id's time, and the shard is in the id.
//!
//! When a request is accepted, Lately decides whether its events are imports, and stores the decision: a late landing
//! does not change it. See docs/adr/0010-accepted-events.md.
//!
//! Attribute names are short: an event of up to about 900 bytes fits 1 KB, which is one write unit.

use lately_keys::{Bucket, BucketWidth, EventId, EventType, Shard, Topic, UnixMillis};
use lately_model::{AcceptedTimes, Event, NewEvent, RetentionDays, TopicSettings};

use crate::directory::DirectoryEntry;
use crate::form::NewestFirst;
use crate::item::{Corrupt, EXPIRES_AT, Item, id_of_sort_key};
use crate::key::key;

key! {
    /// One shard of one bucket of a topic. Its text is the partition key of the events in it.
    pub struct EventPartition {
        /// The topic.
        pub topic: Topic,
        /// The bucket.
        pub bucket: Bucket,
        /// The shard.
        pub shard: Shard,
    }
    text "EVENTS#{topic}#{bucket}#SHARD{shard}"
}

/// True if a partition of this bucket and shard holds the event with this id.
fn holds(bucket: Bucket, shard: Shard, id: EventId) -> bool {
    bucket.contains(id.at()) && shard == id.shard()
}

key! {
    /// The item that is an event.
    pub struct EventKey {
        partition: EventPartition,
        id: EventId as NewestFirst,
    }
    Table: pk "{partition}" sk "{id}"
    if |key| holds(key.partition.bucket, key.partition.shard, key.id)
}

impl EventKey {
    /// The key of an event, derived from its id.
    pub fn new(topic: Topic, width: BucketWidth, id: EventId) -> Self {
        let bucket = Bucket::containing(width, id.at());
        Self { partition: EventPartition { topic, bucket, shard: id.shard() }, id }
    }

    /// The partition that holds the event.
    pub const fn partition(&self) -> &EventPartition {
        &self.partition
    }

    /// The event's id.
    pub const fn id(&self) -> EventId {
        self.id
    }
}

key! {
    /// One shard of the events of one type in one bucket. Its text is the index's partition key.
    pub struct TypeViewPartition {
        /// The topic.
        pub topic: Topic,
        /// The bucket.
        pub bucket: Bucket,
        /// The type of all events in it.
        pub event_type: EventType,
        /// The shard.
        pub shard: Shard,
    }
    text "TYPE#{topic}#{bucket}#{event_type}#SHARD{shard}"
}

key! {
    /// An event's entry in the `type` view.
    pub struct TypeViewKey {
        partition: TypeViewPartition,
        id: EventId as NewestFirst,
    }
    Gsi1: pk "{partition}" sk "{id}"
    if |key| holds(key.partition.bucket, key.partition.shard, key.id)
}

impl TypeViewKey {
    /// The entry of an event with this key and type.
    pub fn new(event: &EventKey, event_type: EventType) -> Self {
        let EventPartition { topic, bucket, shard } = event.partition.clone();
        Self { partition: TypeViewPartition { topic, bucket, event_type, shard }, id: event.id }
    }
}

/// The attribute with the type of an event or an entry.
pub const TYPE: &str = "t";

/// The attribute with the actor of an event or an entry.
pub const ACTOR: &str = "a";

/// The attribute with the subject of an event or an entry.
pub const SUBJECT: &str = "s";

/// The attribute with the data of an event or an entry.
pub(crate) const DATA: &str = "d";

/// The attributes of an event from which its entries follow, without its data.
pub const ENTRY_PARTS: &str = "pk, sk, t, a, s, v";

/// The attributes of [`ENTRY_PARTS`], and the data: from them also follows the event's size.
pub const SIZED_PARTS: &str = "pk, sk, t, a, s, v, d";

/// The letter of events that were written under an idempotency key.
pub const KEYED: &str = "k";

/// The attribute of the letters that say how an event was accepted.
pub const ACCEPTED: &str = "v";

/// True if the event of an item was written under an idempotency key.
pub fn is_keyed(item: &Item) -> Result<bool, Corrupt> {
    Ok(item.optional::<String>(ACCEPTED)?.is_some_and(|letters| letters.contains(KEYED)))
}

/// The circumstances in which a request was first accepted. The letters of the request's events follow from them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Acceptance {
    /// When the request arrived.
    pub at: UnixMillis,
    /// True if the request has an idempotency key, so that it may be retried.
    pub is_keyed: bool,
}

impl Acceptance {
    /// The letters that are stored with an event of the request.
    pub fn letters(self, event: &NewEvent) -> [&'static str; 2] {
        let is_import = event.at.is_some_and(|at| AcceptedTimes::new(self.at, None).is_import(at));
        [if is_import { "i" } else { "p" }, if self.is_keyed { KEYED } else { "" }]
    }
}

/// The event of an item, unless the event has expired. The end is exact to the millisecond, as for pages, which know
/// the retention.
///
/// The item stores the end in seconds, rounded up. A retention is whole days, so the event's end has the same
/// milliseconds within a second as the event's own time.
pub fn unless_over(item: &Item, now: UnixMillis) -> Result<Option<Event>, Corrupt> {
    let event = decode(item)?;
    let expires_at: Option<u64> = item.optional(EXPIRES_AT)?;
    let over = expires_at.is_some_and(|seconds| {
        let early = (1000 - event.at().get() % 1000) % 1000;
        seconds.saturating_mul(1000).saturating_sub(early) <= now.get()
    });
    Ok((!over).then_some(event))
}

/// The item of an event in a bucket, with the letters of its request's [`Acceptance`].
pub fn encode(
    event: &Event,
    key: &EventKey,
    entry: &DirectoryEntry,
    settings: &TopicSettings,
    accepted: [&str; 2],
) -> Item {
    let views = [(settings.views.actor, "a"), (settings.views.subject, "s"), (settings.fan_out, "f")];
    let item = Item::at(key)
        .with(TYPE, &event.event_type)
        .with(ACTOR, &event.actor)
        .with_some(SUBJECT, event.subject.as_ref())
        .with_some(DATA, event.data.as_ref())
        .with(ACCEPTED, letters(views) + &accepted.concat())
        .with_some(EXPIRES_AT, settings.retention_days.map(|days| expiry(event.at(), days)));
    match entry.types.are_kept() {
        true => item.also_at(&TypeViewKey::new(key, event.event_type.clone())),
        false => item,
    }
}

/// The letters of the views that list an event, and of fan-out.
pub(crate) fn letters<const COUNT: usize>(views: [(bool, &str); COUNT]) -> String {
    views.into_iter().filter_map(|(is_listed, letter)| is_listed.then_some(letter)).collect()
}

/// When an event expires, in unix seconds. Rounded up, so that an event is kept for no less than its retention.
pub fn expiry(at: UnixMillis, days: RetentionDays) -> u64 {
    at.saturating_add(days.millis()).get().div_ceil(1000)
}

/// The event of an item that a read returned.
///
/// # Errors
/// If the item is not an event.
pub fn decode(item: &Item) -> Result<Event, Corrupt> {
    Ok(Event {
        id: id_of_sort_key(item)?,
        event_type: item.get(TYPE)?,
        actor: item.get(ACTOR)?,
        subject: item.optional(SUBJECT)?,
        data: item.optional(DATA)?,
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use lately_keys::Coverage;
    use lately_model::{Data, Views};

    use super::*;
    use crate::directory::BucketTypes;
    use crate::tests::{ID, INVERTED};

    #[test]
    fn golden_bytes() {
        let id: EventId = ID.parse().unwrap();
        let event = Event {
            id,
            event_type: "note".parse().unwrap(),
            actor: "ada".parse().unwrap(),
            subject: "x".parse().ok(),
            data: Some(Data::from_stored("1.10".to_owned()).unwrap()),
        };
        let views = Views { actor: true, subject: true, event_type: true };
        let retention_days = RetentionDays::new(1).ok();
        let settings = TopicSettings { retention_days, views, ..TopicSettings::default() };
        let key = EventKey::new("posts".parse().unwrap(), BucketWidth::Day, id);
        let bucket = key.partition().bucket;
        let entry = DirectoryEntry {
            bucket,
            coverage: Arc::new(Coverage::new(bucket, settings.min_shards)),
            types: BucketTypes::Any,
            retention: settings.retention_days,
        };
        let item = Item::from([("pk", "EVENTS#posts#2024-07-12#SHARD126"), ("sk", INVERTED)])
            .with("gsi1pk", "TYPE#posts#2024-07-12#note#SHARD126")
            .with("gsi1sk", INVERTED)
            .with("t", "note")
            .with("a", "ada")
            .with("s", "x")
            .with("d", "1.10")
            .with("v", "asfpk")
            .with("expires_at", 1_720_838_271_u64);
        assert_eq!(encode(&event, &key, &entry, &settings, ["p", KEYED]), item);
        assert_eq!(decode(&item).as_ref(), Ok(&event));
        assert_eq!(is_keyed(&item), Ok(true));
        let end = id.at().saturating_add(24 * 60 * 60 * 1000);
        assert_eq!(unless_over(&item, end), Ok(None));
        assert_eq!(unless_over(&item, end.saturating_sub(1)), Ok(Some(event.clone())));

        let event = Event { subject: None, data: None, ..event };
        let views = Views { actor: false, subject: false, event_type: false };
        let settings = TopicSettings { retention_days: None, fan_out: false, views, ..settings };
        let item = Item::from([("pk", "EVENTS#posts#2024-07-12#SHARD126"), ("sk", INVERTED)])
            .with("t", "note")
            .with("a", "ada")
            .with("v", "p");
        let entry = DirectoryEntry { types: BucketTypes::NotKept, ..entry };
        assert_eq!(encode(&event, &key, &entry, &settings, ["p", ""]), item, "an event without views");
    }
}
