//! An event, and its entry in the `type` view.
//!
//! ```text
//! table   pk  EVENTS#{topic}#{label}#SHARD{n}       sk  {inverted id}
//! gsi1    pk  TYPE#{topic}#{label}#{type}#SHARD{n}  sk  {inverted id}
//! ```
//!
//! Both keys are pure functions of the topic and the id (and, for the view, the type): the label is the label of the
//! bucket of the id's time, and the shard is in the id.

use lately_keys::{Bucket, BucketWidth, EventId, EventType, Shard, Topic};

use crate::form::NewestFirst;
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

impl EventPartition {
    /// True if this partition holds the topic's event with this id.
    pub fn holds(&self, id: EventId) -> bool {
        holds(self.bucket, self.shard, id)
    }
}

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
    if |key| key.partition.holds(key.id)
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

    /// The index partition that lists the event.
    pub const fn partition(&self) -> &TypeViewPartition {
        &self.partition
    }

    /// The event's id.
    pub const fn id(&self) -> EventId {
        self.id
    }
}
