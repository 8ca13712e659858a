//! A topic's settings, and the list of all topics.
//!
//! ```text
//! table   pk  TOPIC#{topic}    sk  CONFIG
//! gsi1    pk  TOPICS           sk  {topic}          (not while the topic is being deleted)
//!   bucket S, retention_days N?, min_shards N, max_shards N, fan_out BOOL, views S ("actor subject type"),
//!   created_at N (milliseconds), revision N, gsi1pk, gsi1sk
//!   deleting N? (milliseconds: when the topic's deletion began; such a topic is in no list)
//!   by_actor BOOL? (the view `actor` was on ever since the topic's creation, so actors' timelines list all events)
//!   expires_at N? (of a deleted topic: from then on, its name is free)
//!   floor N?, changed N? (milliseconds: while a change of the retention goes through the topic, no older event is shown or
//!     accepted; and when the change began)
//! ```
//!
//! The settings share a partition with the topic's directory ([`DirectoryKey`](crate::DirectoryKey)).

use lately_keys::{Key, TableKey, Topic, UnixMillis};
use lately_model::{RetentionDays, Revision, TopicSettings, TopicSummary};

use crate::item::{Corrupt, Item};
use crate::key::key;
use crate::record::{Record, record};

key! {
    /// The item that holds a topic's settings.
    pub struct TopicKey {
        /// The topic.
        pub topic: Topic,
    }
    Table: pk "TOPIC#{topic}" sk "CONFIG"
    fn partition(topic: &Topic)
}

key! {
    /// A topic's entry in the list of all topics, by name.
    pub struct TopicListKey {
        /// The topic.
        pub topic: Topic,
    }
    Gsi1: pk "TOPICS" sk "{topic}"
    fn partition()
}

record! {
    /// A topic as it is stored.
    #[derive(Copy)]
    pub struct StoredTopic {
        /// The settings that clients see.
        pub settings: TopicSettings = part,
        /// When the topic was created.
        pub created_at: UnixMillis = required("created_at"),
        /// The revision of the settings.
        pub revision: Revision = required("revision"),
        /// True if the topic kept the view `actor` ever since its creation. Then the timelines of actors list all events.
        pub lists_by_actor: bool = flag("by_actor"),
        /// When the topic's deletion began.
        pub deleting: Option<UnixMillis> = optional(DELETING = "deleting"),
        /// From then on, the name of a deleted topic is free; in unix seconds.
        pub expires_at: Option<u64> = optional("expires_at"),
        /// The change of the retention that goes through the topic.
        pub changing: Option<RetentionFloor> = part_if("floor"),
    }
}

record! {
    /// The events that a change of the retention keeps hidden until it has gone through the topic.
    #[derive(Copy)]
    pub struct RetentionFloor {
        /// No older event is shown or accepted.
        pub floor: UnixMillis = required(FLOOR = "floor"),
        /// When the change began.
        pub begun: UnixMillis = required(CHANGED = "changed"),
    }
}

record! {
    TopicSettings {
        bucket: required("bucket"),
        retention_days: optional("retention_days"),
        min_shards: required("min_shards"),
        max_shards: required("max_shards"),
        fan_out: required("fan_out"),
        views: required("views"),
    }
}

impl StoredTopic {
    /// The first millisecond whose events are kept.
    pub fn oldest_kept(&self, now: UnixMillis) -> UnixMillis {
        let kept = self.settings.retention_days.map_or(UnixMillis::MIN, |days| oldest_kept(days, now));
        self.changing.map_or(kept, |changing| kept.max(changing.floor))
    }

    /// True if the topic is being deleted, and its name is not free yet.
    pub fn is_being_deleted(&self, now: UnixMillis) -> bool {
        let is_free = self.expires_at.is_some_and(|seconds| seconds <= now.get() / 1000);
        self.deleting.is_some() && !is_free
    }

    /// True if a process that knows `other` may go on with the directory's entries that it remembers: the topic has
    /// neither been deleted and created again since, nor got another retention.
    pub fn continues(&self, other: &Self) -> bool {
        self.created_at == other.created_at && self.settings.retention_days == other.settings.retention_days
    }

    /// The key of a topic's item.
    pub fn key(topic: &Topic) -> Key {
        TopicKey { topic: topic.clone() }.encode()
    }

    /// The item of a topic.
    pub fn encode(self, topic: &Topic) -> Item {
        let item = self.add_to(Item::at(&TopicKey { topic: topic.clone() }));
        if self.deleting.is_none() { item.also_at(&TopicListKey { topic: topic.clone() }) } else { item }
    }

    /// A topic as the list of all topics shows it.
    pub fn summary(item: &Item) -> Result<TopicSummary, Corrupt> {
        let Self { settings, created_at, .. } = Self::decode(item)?;
        Ok(TopicSummary { topic: item.get("gsi1sk")?, settings, created_at })
    }
}

/// The first millisecond whose events are kept under a retention.
pub fn oldest_kept(days: RetentionDays, now: UnixMillis) -> UnixMillis {
    days.oldest(now).saturating_add(1)
}

#[cfg(test)]
mod tests {
    use lately_model::View;

    use super::*;
    use crate::tests::millis;

    #[test]
    fn golden_bytes() {
        let topic: Topic = "posts".parse().unwrap();
        let settings = TopicSettings {
            bucket: "day".parse().unwrap(),
            retention_days: Some(RetentionDays::new(30).unwrap()),
            min_shards: 1.try_into().unwrap(),
            max_shards: 64.try_into().unwrap(),
            fan_out: true,
            views: [View::Actor, View::Subject].into_iter().collect(),
        };
        let stored = StoredTopic {
            settings,
            created_at: millis(5),
            revision: Revision::new(7),
            lists_by_actor: true,
            deleting: None,
            expires_at: None,
            changing: Some(RetentionFloor { floor: millis(8), begun: millis(9) }),
        };
        let item =
            Item::from([("pk", "TOPIC#posts"), ("sk", "CONFIG"), ("gsi1pk", "TOPICS"), ("gsi1sk", "posts")])
                .with("bucket", "day")
                .with("retention_days", 30_u64)
                .with("min_shards", 1_u64)
                .with("max_shards", 64_u64)
                .with("fan_out", true)
                .with("views", "actor subject")
                .with("created_at", 5_u64)
                .with("revision", 7_u64)
                .with("by_actor", true)
                .with("floor", 8_u64)
                .with("changed", 9_u64);
        assert_eq!(stored.encode(&topic), item);
        assert_eq!(StoredTopic::decode(&item), Ok(stored));
        assert_eq!(StoredTopic::summary(&item).unwrap().topic, topic);

        let deleted =
            StoredTopic { deleting: Some(millis(10)), expires_at: Some(11), changing: None, ..stored };
        let item = deleted.encode(&topic);
        assert!(!item.has("gsi1pk"), "it is in no list");
        assert_eq!(StoredTopic::decode(&item), Ok(deleted));
    }
}
