//! A topic's directory: one entry for each bucket that contains events.
//!
//! ```text
//! table   pk  TOPIC#{topic}    sk  BUCKET#{label}
//!   base N, spreads S? (see `Coverage`), retention_days N?, expires_at N?
//!   types SS? (the types in the bucket, if it keeps its `type` view), any_type BOOL? (there are more types)
//! ```
//!
//! Labels of one topic have one width, so a partition's entries sort as their time does.

use std::collections::BTreeSet;
use std::sync::Arc;

use lately_keys::{Bucket, Coverage, EventType, Shard, Topic, UnixMillis};
use lately_model::RetentionDays;

use crate::item::{Corrupt, EXPIRES_AT, Item};
use crate::key::key;
use crate::topic::oldest_kept;

/// A directory entry expires this long after the last of its events.
const DIRECTORY_GRACE_SECONDS: u64 = 30 * 24 * 60 * 60;

key! {
    /// The item that describes a bucket.
    pub struct DirectoryKey {
        /// The topic.
        pub topic: Topic,
        /// The bucket.
        pub bucket: Bucket,
    }
    Table: pk "TOPIC#{topic}" sk "BUCKET#{bucket}"
    const PREFIX
    fn sort_key(bucket: Bucket)
}

/// The directory's entry for a bucket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirectoryEntry {
    /// The bucket.
    pub bucket: Bucket,
    /// The shards that hold its events, at each time of the bucket.
    pub coverage: Arc<Coverage>,
    /// The types of its events.
    pub types: BucketTypes,
    /// The longest retention of its events; `None` is for ever.
    pub retention: Option<RetentionDays>,
}

/// The types of events that a bucket holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BucketTypes {
    /// The bucket does not keep the `type` view.
    NotKept,
    /// The bucket keeps the view, and holds events of these types.
    Listed(BTreeSet<EventType>),
    /// The bucket keeps the view, and holds too many types to list.
    Any,
}

/// The attribute that holds the spreads of a bucket, or of a source.
pub const SPREADS: &str = "spreads";

impl BucketTypes {
    /// True if events are listed by type in the bucket.
    pub const fn are_kept(&self) -> bool {
        !matches!(self, Self::NotKept)
    }

    /// True if the bucket may hold events of a type.
    pub fn may_hold(&self, event_type: &EventType) -> bool {
        match self {
            Self::Listed(types) => types.contains(event_type),
            Self::NotKept | Self::Any => true,
        }
    }
}

impl DirectoryEntry {
    /// The attribute that each entry has.
    pub const BASE: &str = "base";
    /// The attribute that lists types.
    pub const TYPES: &str = "types";
    /// The attribute of an entry that counts as holding any type.
    pub const ANY_TYPE: &str = "any_type";
    /// The attribute of the retention.
    pub const RETENTION_DAYS: &str = "retention_days";

    /// All shards that may hold events of the bucket.
    pub fn shards(&self) -> Vec<Shard> {
        self.coverage.shards_within(self.bucket.first(), self.bucket.last())
    }

    /// The first millisecond whose events are still kept.
    pub fn oldest_kept(&self, now: UnixMillis) -> UnixMillis {
        self.retention.map_or(UnixMillis::MIN, |days| oldest_kept(days, now))
    }

    /// True if the entry stays at least as long as events under a retention.
    pub fn outlives(&self, retention: Option<RetentionDays>) -> bool {
        self.retention.zip(retention).map(|(ours, other)| ours.max(other)) == self.retention
    }

    /// True if the entry covers events of all these types.
    pub fn covers(&self, types: &BTreeSet<EventType>) -> bool {
        types.iter().all(|event_type| self.types.may_hold(event_type))
    }

    /// The key of a topic's entry for this bucket.
    pub fn key(&self, topic: &Topic) -> DirectoryKey {
        DirectoryKey { topic: topic.clone(), bucket: self.bucket }
    }

    /// When the entry of a bucket expires, in unix seconds: after all of its events.
    pub fn expiry(bucket: Bucket, days: RetentionDays) -> u64 {
        bucket.last().saturating_add(days.millis()).get() / 1000 + DIRECTORY_GRACE_SECONDS
    }

    /// The item of a topic's entry.
    pub fn encode(&self, topic: &Topic) -> Item {
        let item = Item::at(&self.key(topic))
            .with(Self::BASE, &self.coverage.base())
            .with_some(SPREADS, self.coverage.spreads_text());
        let item = match &self.types {
            BucketTypes::NotKept => item,
            BucketTypes::Listed(types) => item.with(Self::TYPES, types),
            BucketTypes::Any => item.with(Self::ANY_TYPE, true),
        };
        let Some(days) = self.retention else { return item };
        item.with(Self::RETENTION_DAYS, &days).with(EXPIRES_AT, Self::expiry(self.bucket, days))
    }

    /// The entry of an item.
    pub fn decode(item: &Item) -> Result<Self, Corrupt> {
        let DirectoryKey { bucket, .. } = item.key_as()?;
        let types = match item.optional(Self::TYPES)? {
            _ if item.flag(Self::ANY_TYPE) => BucketTypes::Any,
            None => BucketTypes::NotKept,
            Some(types) => BucketTypes::Listed(types),
        };
        let coverage = Arc::new(spread(Coverage::new(bucket, item.get(Self::BASE)?), item)?);
        Ok(Self { bucket, coverage, types, retention: item.optional(Self::RETENTION_DAYS)? })
    }
}

/// The coverage with the spreads of an item.
pub(crate) fn spread(coverage: Coverage, item: &Item) -> Result<Coverage, Corrupt> {
    match item.optional::<String>(SPREADS)? {
        None => Ok(coverage),
        Some(spreads) => coverage.with_spreads(&spreads).ok_or_else(|| item.corrupt(SPREADS)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attribute::Value;

    #[test]
    fn golden_bytes() {
        let bucket: Bucket = "2024-07-12".parse().unwrap();
        let coverage = Coverage::new(bucket, 4.try_into().unwrap());
        let entry = DirectoryEntry {
            bucket,
            coverage: Arc::new(coverage),
            types: BucketTypes::Listed(["like".parse().unwrap(), "note".parse().unwrap()].into()),
            retention: Some(RetentionDays::new(1).unwrap()),
        };
        let key = || Item::from([("pk", "TOPIC#posts"), ("sk", "BUCKET#2024-07-12")]).with("base", 4_u64);
        let item = key()
            .with("types", Value::texts(["like", "note"]))
            .with("retention_days", 1_u64)
            .with("expires_at", 1_723_507_199_u64);
        let topic = "posts".parse().unwrap();
        assert_eq!(entry.encode(&topic), item);
        assert_eq!(DirectoryEntry::decode(&item).as_ref(), Ok(&entry));

        let spreads = "4;0-9";
        let any = DirectoryEntry { types: BucketTypes::Any, retention: None, ..entry.clone() };
        assert_eq!(any.encode(&topic), key().with("any_type", true));
        assert_eq!(DirectoryEntry::decode(&key().with("any_type", true)), Ok(any));
        let not_kept = DirectoryEntry { types: BucketTypes::NotKept, retention: None, ..entry };
        assert_eq!(not_kept.encode(&topic), key());
        DirectoryEntry::decode(&key().with("spreads", spreads)).unwrap_err();
    }
}
