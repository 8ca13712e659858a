//! Parts of a topic's directory, and how a new bucket follows from the bucket before it. Pure.

use lately_items::DirectoryEntry;
use lately_keys::{Bucket, BucketWidth, Order, Spread, Topic, UnixMillis};
use lately_model::{AcceptedTimes, TopicSettings};

use crate::limits::SPREAD_MILLIS;

/// The name of an entry: a bucket of a topic.
pub(crate) type EntryName = (Topic, Bucket);

/// A part of a topic's directory, read from one end.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct DirectoryRange {
    pub(crate) topic: Topic,
    pub(super) order: Order,
    pub(super) oldest: Bucket,
    pub(super) newest: Bucket,
}

impl DirectoryRange {
    /// The newest buckets of a topic.
    pub(crate) fn newest(topic: Topic, width: BucketWidth) -> Self {
        Self::between(topic, width, Order::NewestFirst, UnixMillis::MIN, UnixMillis::MAX)
    }

    /// The buckets that hold a range of time, its ends included.
    pub(crate) fn between(
        topic: Topic,
        width: BucketWidth,
        order: Order,
        oldest: UnixMillis,
        newest: UnixMillis,
    ) -> Self {
        let (oldest, newest) = (Bucket::containing(width, oldest), Bucket::containing(width, newest));
        Self { topic, order, oldest, newest }
    }

    /// The rest of the range after a bucket, in the range's order.
    pub(crate) fn behind(&self, bucket: Bucket) -> Option<Self> {
        let mut rest = self.clone();
        match self.order {
            Order::NewestFirst => rest.newest = bucket.previous()?,
            Order::OldestFirst => rest.oldest = bucket.next()?,
        }
        (rest.oldest <= rest.newest).then_some(rest)
    }
}

/// The entries of one directory query.
#[derive(Debug)]
pub(crate) struct DirectoryPage {
    /// In the range's order.
    pub(crate) entries: Vec<DirectoryEntry>,
    /// True if there may be entries after these.
    pub(crate) more: bool,
}

/// The spread with which a bucket begins: its writers go on with the shards that the bucket before it has at its end.
pub(super) fn carried_over(
    before: &DirectoryEntry,
    bucket: Bucket,
    settings: &TopicSettings,
    now: UnixMillis,
) -> Option<Spread> {
    if before.bucket.next() != Some(bucket) {
        return None;
    }
    let shards = before.coverage.shards_at(before.bucket.last()).min(settings.max_shards);
    let first = bucket.first();
    let last = match AcceptedTimes::new(now, None).is_import(bucket.last()) {
        true => bucket.last(),
        false => first.saturating_add(SPREAD_MILLIS - 1),
    };
    (shards > settings.min_shards).then_some(Spread { shards, first, last })
}
