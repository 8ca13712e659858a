//! A topic as it is stored. Pure.

use lately_items::{TopicKey, TopicListKey};
use lately_keys::{Key, ShardCount, TableKey, Topic, UnixMillis};
use lately_model::{RetentionDays, Revision, TopicSettings, TopicSummary, View, Views};
use lately_table::{Corrupt, Item, REVISION, revision_of};

/// A topic as it is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StoredTopic {
    pub(crate) settings: TopicSettings,
    pub(crate) created_at: UnixMillis,
    pub(crate) revision: Revision,
    /// True if the topic kept the view `actor` ever since its creation. Then the timelines of actors list all events.
    pub(crate) lists_by_actor: bool,
    /// When the topic's deletion began.
    pub(crate) deleting: Option<UnixMillis>,
    /// From then on, the name of a deleted topic is free; in unix seconds.
    pub(crate) expires_at: Option<u64>,
    /// The change of the retention that goes through the topic.
    pub(crate) changing: Option<RetentionFloor>,
}

/// The events that a change of the retention keeps hidden until it has gone through the topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RetentionFloor {
    /// No older event is shown or accepted.
    pub(crate) floor: UnixMillis,
    /// When the change began.
    pub(crate) begun: UnixMillis,
}

impl StoredTopic {
    /// The first millisecond whose events are kept.
    pub(crate) fn oldest_kept(&self, now: UnixMillis) -> UnixMillis {
        let kept = self.settings.retention_days.map_or(UnixMillis::MIN, |days| oldest_kept(days, now));
        self.changing.map_or(kept, |changing| kept.max(changing.floor))
    }

    /// True if the topic is being deleted, and its name is not free yet.
    pub(crate) fn is_being_deleted(&self, now: UnixMillis) -> bool {
        let is_free = self.expires_at.is_some_and(|seconds| seconds <= now.get() / 1000);
        self.deleting.is_some() && !is_free
    }

    /// True if a process that knows `other` may go on with the directory's entries that it remembers: the topic has
    /// neither been deleted and created again since, nor got another retention.
    pub(super) fn continues(&self, other: &Self) -> bool {
        self.created_at == other.created_at && self.settings.retention_days == other.settings.retention_days
    }

    pub(crate) fn key(topic: &Topic) -> Key {
        TopicKey { topic: topic.clone() }.encode()
    }

    pub(crate) fn encode(self, topic: &Topic) -> Item {
        let Self { settings, created_at, revision, lists_by_actor, deleting, expires_at, changing } = self;
        let views: Vec<_> = settings.views.iter().map(View::as_str).collect();
        let item = Item::at(&TopicKey { topic: topic.clone() });
        let item =
            if deleting.is_none() { item.also_at(&TopicListKey { topic: topic.clone() }) } else { item };
        item.with("bucket", settings.bucket.as_str())
            .with_some("retention_days", settings.retention_days.map(RetentionDays::get))
            .with("min_shards", settings.min_shards.get())
            .with("max_shards", settings.max_shards.get())
            .with("fan_out", settings.fan_out)
            .with("views", views.join(" "))
            .with("created_at", created_at.get())
            .with(REVISION, revision.get())
            .with_flag("by_actor", lists_by_actor)
            .with_some("deleting", deleting.map(UnixMillis::get))
            .with_some("expires_at", expires_at)
            .with_some("floor", changing.map(|changing| changing.floor.get()))
            .with_some("changed", changing.map(|changing| changing.begun.get()))
    }

    pub(super) fn decode(item: &Item) -> Result<Self, Corrupt> {
        let views = item.text("views")?.split_ascii_whitespace().map(str::parse::<View>);
        let settings = TopicSettings {
            bucket: item.parsed("bucket")?,
            retention_days: retention_days(item, "retention_days")?,
            min_shards: shard_count(item, "min_shards")?,
            max_shards: shard_count(item, "max_shards")?,
            fan_out: item.flag("fan_out"),
            views: views.collect::<Result<Views, _>>().map_err(|_| item.corrupt("views"))?,
        };
        Ok(Self {
            settings,
            created_at: item.millis("created_at")?,
            revision: revision_of(item)?,
            lists_by_actor: item.flag("by_actor"),
            deleting: item.optional_millis("deleting")?,
            expires_at: item.optional_number("expires_at")?,
            changing: match item.optional_millis("floor")? {
                Some(floor) => Some(RetentionFloor { floor, begun: item.millis("changed")? }),
                None => None,
            },
        })
    }
}

/// The first millisecond whose events are kept under a retention.
pub(crate) fn oldest_kept(days: RetentionDays, now: UnixMillis) -> UnixMillis {
    days.oldest(now).saturating_add(1)
}

pub(super) fn summary(item: &Item) -> Result<TopicSummary, Corrupt> {
    let StoredTopic { settings, created_at, .. } = StoredTopic::decode(item)?;
    Ok(TopicSummary { topic: item.parsed("gsi1sk")?, settings, created_at })
}

pub(crate) fn shard_count(item: &Item, name: &'static str) -> Result<ShardCount, Corrupt> {
    ShardCount::new(item.number(name)?).map_err(|_| item.corrupt(name))
}

pub(crate) fn retention_days(item: &Item, name: &'static str) -> Result<Option<RetentionDays>, Corrupt> {
    let days = item.optional_number(name)?;
    days.map(RetentionDays::new).transpose().map_err(|_| item.corrupt(name))
}
