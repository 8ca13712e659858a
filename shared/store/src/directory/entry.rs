//! An entry of the directory: as it is known, and as it is stored. Pure.

use std::collections::BTreeSet;
use std::sync::Arc;

use lately_items::DirectoryKey;
use lately_keys::{Bucket, BucketWidth, Coverage, EventType, Order, Spread, Topic, UnixMillis};
use lately_model::{AcceptedTimes, RetentionDays, TopicSettings};
use lately_table::{Corrupt, Item, Value};

use crate::limits::SPREAD_MILLIS;
use crate::topic::stored::{oldest_kept, retention_days, shard_count};

/// A directory entry expires this long after the last of its events.
const DIRECTORY_GRACE_SECONDS: u64 = 30 * 24 * 60 * 60;

/// The name of an entry: a bucket of a topic.
pub(crate) type EntryName = (Topic, Bucket);

/// The directory's entry for a bucket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) bucket: Bucket,
    pub(crate) coverage: Arc<Coverage>,
    pub(crate) types: Types,
    pub(crate) retention: Option<RetentionDays>,
}

/// The types of events that a bucket holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Types {
    /// The bucket does not keep the `type` view.
    NotKept,
    /// The bucket keeps the view, and holds events of these types.
    Listed(BTreeSet<EventType>),
    /// The bucket keeps the view, and holds too many types to list.
    Any,
}

impl Types {
    /// True if events are listed by type in the bucket.
    pub(crate) const fn are_kept(&self) -> bool {
        !matches!(self, Self::NotKept)
    }

    /// True if the bucket may hold events of a type.
    pub(crate) fn may_hold(&self, event_type: &EventType) -> bool {
        match self {
            Self::Listed(types) => types.contains(event_type),
            Self::NotKept | Self::Any => true,
        }
    }
}

impl Entry {
    /// The first millisecond whose events are still kept.
    pub(crate) fn oldest_kept(&self, now: UnixMillis) -> UnixMillis {
        self.retention.map_or(UnixMillis::MIN, |days| oldest_kept(days, now))
    }

    /// True if the entry stays at least as long as events under a retention.
    pub(super) fn outlives(&self, retention: Option<RetentionDays>) -> bool {
        longer(self.retention, retention) == self.retention
    }

    pub(super) fn covers(&self, types: &BTreeSet<EventType>) -> bool {
        types.iter().all(|event_type| self.types.may_hold(event_type))
    }
}

/// The longer of two retentions. `None` is for ever.
fn longer(one: Option<RetentionDays>, other: Option<RetentionDays>) -> Option<RetentionDays> {
    one.zip(other).map(|(one, other)| one.max(other))
}

/// A part of a topic's directory, read from one end.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct DirectoryRange {
    topic: Topic,
    pub(super) order: Order,
    pub(super) oldest: Bucket,
    pub(super) newest: Bucket,
}

impl DirectoryRange {
    pub(crate) fn all(topic: Topic, width: BucketWidth, order: Order) -> Self {
        Self::between(topic, width, order, UnixMillis::MIN, UnixMillis::MAX)
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

    pub(crate) const fn topic(&self) -> &Topic {
        &self.topic
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
    pub(crate) entries: Vec<Entry>,
    /// True if there may be entries after these.
    pub(crate) more: bool,
}

/// The spread with which a bucket begins: its writers go on with the shards that the bucket before it has at its end.
pub(super) fn carried_over(
    before: &Entry,
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

pub(super) fn key((topic, bucket): &EntryName) -> DirectoryKey {
    DirectoryKey { topic: topic.clone(), bucket: *bucket }
}

pub(super) fn type_set<'a>(types: impl IntoIterator<Item = &'a EventType>) -> Value {
    Value::texts(types.into_iter().map(EventType::as_str))
}

pub(super) fn encode(name: &EntryName, entry: &Entry) -> Item {
    let item = Item::at(&key(name))
        .with("base", entry.coverage.base().get())
        .with_some("spreads", entry.coverage.spreads_text());
    let item = match &entry.types {
        Types::NotKept => item,
        Types::Listed(types) => item.with("types", type_set(types)),
        Types::Any => item.with("any_type", true),
    };
    let Some(days) = entry.retention else { return item };
    item.with("retention_days", days.get()).with("expires_at", expiry(entry.bucket, days))
}

/// When the entry of a bucket expires, in unix seconds: after all of its events.
pub(super) fn expiry(bucket: Bucket, days: RetentionDays) -> u64 {
    bucket.last().saturating_add(days.millis()).get() / 1000 + DIRECTORY_GRACE_SECONDS
}

pub(super) fn decode(item: &Item) -> Result<Entry, Corrupt> {
    let DirectoryKey { bucket, .. } = item.key_as()?;
    let types = match item.texts("types")? {
        _ if item.flag("any_type") => Types::Any,
        None => Types::NotKept,
        Some(texts) => {
            let mut types = BTreeSet::new();
            for text in texts {
                types.insert(text.parse().map_err(|_| item.corrupt("types"))?);
            }
            Types::Listed(types)
        }
    };
    let coverage = Coverage::new(bucket, shard_count(item, "base")?);
    let coverage = match item.optional_text("spreads")? {
        Some(spreads) => coverage.with_spreads(spreads).map_err(|_| item.corrupt("spreads"))?,
        None => coverage,
    };
    Ok(Entry {
        bucket,
        coverage: Arc::new(coverage),
        types,
        retention: retention_days(item, "retention_days")?,
    })
}
