//! An event, and its entry in the `type` view.
//!
//! ```text
//! table   pk  EVENTS#{topic}#{label}#SHARD{n}       sk  {inverted id}
//! gsi1    pk  TYPE#{topic}#{label}#{type}#SHARD{n}  sk  {inverted id}
//! ```
//!
//! Both keys are pure functions of the topic and the id (and, for the view, the type): the label is the label of the
//! bucket of the id's time, and the shard is in the id.

use std::fmt;

use crate::bucket::{Bucket, BucketWidth};
use crate::id::EventId;
use crate::key::{Key, Place, TableKey};
use crate::name::{EventType, Topic};
use crate::shard::Shard;
use crate::sort_key::SortKey;
use crate::text::{canonical, segments};

/// One shard of one bucket of a topic. Its text is the partition key of the events in it.
///
/// ```
/// use lately_keys::table::EventPartition;
///
/// let partition = EventPartition { topic: "posts".parse()?, bucket: "2026-11-20".parse()?, shard: 3.into() };
/// assert_eq!(partition.to_string(), "EVENTS#posts#2026-11-20#SHARD3");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct EventPartition {
    /// The topic.
    pub topic: Topic,
    /// The bucket.
    pub bucket: Bucket,
    /// The shard.
    pub shard: Shard,
}

impl EventPartition {
    /// True if this partition holds the topic's event with this id.
    pub fn holds(&self, id: EventId) -> bool {
        holds(self.bucket, self.shard, id)
    }

    fn parse(pk: &str) -> Option<Self> {
        let ["EVENTS", topic, label, shard] = segments(pk)? else { return None };
        Some(Self { topic: topic.parse().ok()?, bucket: label.parse().ok()?, shard: parse_shard(shard)? })
    }
}

fn holds(bucket: Bucket, shard: Shard, id: EventId) -> bool {
    bucket.contains(id.at()) && shard == id.shard()
}

fn parse_shard(text: &str) -> Option<Shard> {
    canonical(text.strip_prefix("SHARD")?)
}

impl fmt::Display for EventPartition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EVENTS#{}#{}#SHARD{}", self.topic, self.bucket, self.shard)
    }
}

/// The item that is an event.
///
/// ```
/// use lately_keys::TableKey;
/// use lately_keys::table::EventKey;
///
/// # use lately_keys::BucketWidth;
/// let id = "0190a4cd-d3e7-7222-9f99-fdb74feee752".parse()?;
/// let key = EventKey::new("posts".parse()?, BucketWidth::Hour, id).encode();
/// assert_eq!((&*key.pk, &*key.sk), ("EVENTS#posts#2024-07-12T02#SHARD126", "fe6f5b32-2c18-8ddd-6066-0248b01118ad"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct EventKey {
    partition: EventPartition,
    id: EventId,
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

impl TableKey for EventKey {
    const PLACE: Place = Place::Table;

    fn encode(&self) -> Key {
        Key { pk: self.partition.to_string(), sk: self.id.sort_key().to_string() }
    }

    fn decode(pk: &str, sk: &str) -> Option<Self> {
        let partition = EventPartition::parse(pk)?;
        let id = sk.parse::<SortKey>().ok()?.id();
        partition.holds(id).then_some(Self { partition, id })
    }
}

/// One shard of the events of one type in one bucket. Its text is the index's partition key.
///
/// ```
/// use lately_keys::table::TypeViewPartition;
///
/// let (topic, bucket) = ("posts".parse()?, "2026-11-20".parse()?);
/// let notes = TypeViewPartition { topic, bucket, event_type: "note".parse()?, shard: 3.into() };
/// assert_eq!(notes.to_string(), "TYPE#posts#2026-11-20#note#SHARD3");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
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

impl TypeViewPartition {
    fn parse(pk: &str) -> Option<Self> {
        let ["TYPE", topic, label, event_type, shard] = segments(pk)? else { return None };
        Some(Self {
            topic: topic.parse().ok()?,
            bucket: label.parse().ok()?,
            event_type: event_type.parse().ok()?,
            shard: parse_shard(shard)?,
        })
    }
}

impl fmt::Display for TypeViewPartition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { topic, bucket, event_type, shard } = self;
        write!(f, "TYPE#{topic}#{bucket}#{event_type}#SHARD{shard}")
    }
}

/// An event's entry in the `type` view.
///
/// ```
/// use lately_keys::TableKey;
/// use lately_keys::table::{EventKey, TypeViewKey};
///
/// # use lately_keys::BucketWidth;
/// let event = EventKey::new("posts".parse()?, BucketWidth::Day, "0190a4cd-d3e7-7222-9f99-fdb74feee752".parse()?);
/// let key = TypeViewKey::new(&event, "note".parse()?).encode();
/// assert_eq!((&*key.pk, &*key.sk), ("TYPE#posts#2024-07-12#note#SHARD126", "fe6f5b32-2c18-8ddd-6066-0248b01118ad"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TypeViewKey {
    partition: TypeViewPartition,
    id: EventId,
}

impl TypeViewKey {
    /// The entry of an event with this key and type.
    pub fn new(event: &EventKey, event_type: EventType) -> Self {
        let EventPartition { topic, bucket, shard } = event.partition.clone();
        Self { partition: TypeViewPartition { topic, bucket, event_type, shard }, id: event.id }
    }

    /// The index partition that lists the event.
    pub const fn partition(&self) -> &TypeViewPartition {
        &self.partition
    }

    /// The event's id.
    pub const fn id(&self) -> EventId {
        self.id
    }
}

impl TableKey for TypeViewKey {
    const PLACE: Place = Place::Gsi1;

    fn encode(&self) -> Key {
        Key { pk: self.partition.to_string(), sk: self.id.sort_key().to_string() }
    }

    fn decode(pk: &str, sk: &str) -> Option<Self> {
        let partition = TypeViewPartition::parse(pk)?;
        let id = sk.parse::<SortKey>().ok()?.id();
        holds(partition.bucket, partition.shard, id).then_some(Self { partition, id })
    }
}
