//! Renewing spreads: a topic or source that is still busy keeps its shards, and one that is quiet again loses them.
//!
//! Nobody closes a spread; it ends by itself a minute after its last renewal. Any process that writes near the end looks
//! after it: it reads the stored entry, because another process may have renewed the spread already, and counts the
//! events of a few whole slices. The counted rate decides how many shards are needed for the next minute. If the
//! base suffices, nobody renews.
//!
//! Processes choose their moments by chance, so that mostly one of them counts and the others only read the entry. A
//! renewal is optional: if it fails, the shards grow again when the base is refused.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::try_join_all;
use lately_items::{EventPartition, SourcePartition};
use lately_keys::{Bucket, Coverage, EventId, Order, Shard, ShardCount, Spread, Tick, UnixMillis};
use lately_model::TopicSettings;
use lately_table::{TableError, entropy_u64};

use crate::directory::Directory;
use crate::lane::LaneRange;
use crate::latest::span::IdRange;
use crate::limits::{
    EXPECTED_EVENT_BYTES, HOT_SHARD_UNITS, RENEWAL_CHANCE, RENEWAL_DUE_MILLIS, SHARD_UNITS, SHARDS_AT_WILL,
    SOURCE_SHARDS, SPREAD_MILLIS,
};
use crate::op::Op;
use crate::source::SourceHandle;

/// A writer renews a spread that ends within this time.
const RENEWAL_MILLIS: u64 = 20_000;

/// A process looks after spreads at most once in this time.
const RENEWAL_PAUSE: Duration = Duration::from_secs(2);

/// After a process found that a timeline cannot get more shards now, it tries again when this time has passed.
const GROWTH_PAUSE: Duration = Duration::from_secs(1);

/// See [`HOT_SHARD_UNITS`].
const HOT_SHARD_MILLIS: u64 = 2_000;

/// Slices that are counted to learn a topic's rate of writing.
const COUNTED_SLICES: u64 = 4;

/// Events are counted this long after their time, because their writes may still be on their way before.
const COUNTED_AFTER_MILLIS: u64 = 1_000;

/// Entries of a source are counted this long after their events' times: the delay of fan-out, with room.
const LISTED_AFTER_MILLIS: u64 = 10_000;

/// The size of a unit in which DynamoDB bills writes.
const UNIT_BYTES: u64 = 1024;

/// A timeline whose spreads are renewed.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Spreading<'a> {
    /// A bucket of a topic.
    Bucket(Directory<'a>, &'a TopicSettings, Bucket),
    /// The timeline of a source.
    Source(SourceHandle<'a>),
}

impl Spreading<'_> {
    /// Looks after the spread of a time, near which a writer has just written, if the spread ends soon.
    pub(crate) async fn look_after(self, coverage: &Coverage, at: UnixMillis) {
        if !self.is_due(coverage, at) {
            return;
        }
        let (looked_after, partition) = (&self.op().memory().looked_after, self.partition(0.into()));
        if looked_after.is_noted(&partition, RENEWAL_PAUSE, self.op().ambient()) {
            return;
        }
        looked_after.note(partition, self.op().ambient());
        // Few requests come here, so their writes alone pay for the memory of this future.
        if let Err(error) = Box::pin(self.renew(at)).await {
            tracing::warn!(%error, "the shards of a busy timeline could not be renewed");
        }
    }

    /// True if this request should look after the spread of a time.
    fn is_due(self, coverage: &Coverage, at: UnixMillis) -> bool {
        let Some(left) = millis_left(coverage, at) else { return false };
        let is_chosen = || entropy_u64(self.op().ambient()).is_multiple_of(RENEWAL_CHANCE);
        left < RENEWAL_DUE_MILLIS || left < RENEWAL_MILLIS && is_chosen()
    }

    /// True if twice the shards may help a timeline whose shard refused the write of an event.
    ///
    /// DynamoDB gives the same reason when the shard's own keys are hot, when its partition is shared with other busy keys,
    /// and when the table is new or has grown too fast. Only the first gets better with ever more shards.
    pub(crate) async fn may_double(self, id: EventId, shards: ShardCount) -> bool {
        if self.op().memory().not_grown.is_noted(&self.partition(0.into()), GROWTH_PAUSE, self.op().ambient())
        {
            return false;
        }
        if shards < SHARDS_AT_WILL {
            return true;
        }
        let is_hot = self.is_hot(id, shards.shard_at(id.tick())).await.unwrap_or_else(|error| {
            tracing::warn!(%error, "the events of a busy shard could not be counted");
            false
        });
        if !is_hot {
            self.note_not_grown();
        }
        is_hot
    }

    /// Lets this process wait before it tries to give the timeline more shards again.
    pub(crate) fn note_not_grown(self) {
        self.op().memory().not_grown.note(self.partition(0.into()), self.op().ambient());
    }

    /// True if a shard has been written to, in the last seconds before an event, about as fast as a partition allows.
    async fn is_hot(self, id: EventId, shard: Shard) -> Result<bool, TableError> {
        let enough =
            HOT_SHARD_UNITS / u64::from(self.event_bytes()).div_ceil(UNIT_BYTES).min(HOT_SHARD_UNITS);
        let since = id.at().saturating_sub(HOT_SHARD_MILLIS);
        let ids = IdRange { oldest: EventId::first_of(since), newest: EventId::last_of(id.at()) };
        Ok(self.count(shard, ids, u32::try_from(enough).ok()).await? >= enough)
    }

    async fn renew(self, at: UnixMillis) -> Result<(), TableError> {
        let Some(stored) = self.stored().await? else { return Ok(()) };
        if !is_ending(&stored, at) {
            return Ok(());
        }
        let needed = self.needed(&stored, at).await?.min(self.most_shards());
        let spread = |coverage: &Coverage| {
            let until = coverage.spread_until(at)?;
            let is_needed = needed > coverage.base() && is_ending(coverage, at);
            // More shards hold from now on, fewer when the present spread ends.
            let first = if needed > coverage.shards_at(at) { at } else { until.saturating_add(1) };
            is_needed.then_some(Spread { shards: needed, first, last: until.saturating_add(SPREAD_MILLIS) })
        };
        if self.add_spread(spread).await? {
            let partition = self.partition(0.into());
            tracing::info!(shards = needed.get(), partition, "the shards of a busy timeline are renewed");
        }
        Ok(())
    }

    /// The number of shards that a timeline needs at its present rate.
    async fn needed(self, coverage: &Coverage, at: UnixMillis) -> Result<ShardCount, TableError> {
        let shards = coverage.shards_at(at);
        let newest = Tick::first_of(at.saturating_sub(self.landed_after()));
        // The slices lie far apart, so that one burst does not fill all of them.
        let apart = u64::from(shards.get()).div_ceil(COUNTED_SLICES) + 1;
        let slices = (0..COUNTED_SLICES).filter_map(|n| shards.slice_before(newest, 1 + n * apart));
        let counts = slices.map(|(shard, first, last)| {
            let ids = IdRange { oldest: EventId::first_at(first), newest: EventId::last_at(last) };
            self.count(shard, ids, None)
        });
        let events: u64 = try_join_all(counts).await?.into_iter().sum();
        let units = events * u64::from(self.event_bytes()).div_ceil(UNIT_BYTES);
        // A tick is a 4,096th of a millisecond.
        let per_second = units * 4_096_000 / (COUNTED_SLICES * shards.slice_ticks());
        let mut needed = ShardCount::ONE;
        while u64::from(needed.get()) * SHARD_UNITS < per_second && needed < ShardCount::MAX {
            needed = needed.doubled(ShardCount::MAX);
        }
        Ok(needed)
    }

    /// The number of a shard's events in a range, or of the newest of them up to a limit.
    async fn count(self, shard: Shard, ids: IdRange, limit: Option<u32>) -> Result<u64, TableError> {
        let (op, partition) = (self.op(), self.partition(shard));
        let range = LaneRange { partition: &partition, ids, order: Order::NewestFirst, consistent: false };
        let query = range.query().count();
        let query = match limit {
            Some(limit) => query.limit(limit),
            None => query,
        };
        let page = op.table.query(&query).await?;
        op.table.meter().items(page.read);
        Ok(page.count as u64)
    }
}

/// The differences between buckets and sources.
impl<'a> Spreading<'a> {
    const fn op(self) -> &'a Op {
        match self {
            Self::Bucket(directory, ..) => directory.op,
            Self::Source(source) => source.op,
        }
    }

    fn partition(self, shard: Shard) -> String {
        match self {
            Self::Bucket(Directory { topic, .. }, _, bucket) => {
                EventPartition { topic: topic.clone(), bucket, shard }.to_string()
            }
            Self::Source(SourceHandle { source, .. }) => {
                SourcePartition { source: source.clone(), shard }.to_string()
            }
        }
    }

    const fn most_shards(self) -> ShardCount {
        match self {
            Self::Bucket(_, settings, _) => settings.max_shards,
            Self::Source(_) => SOURCE_SHARDS,
        }
    }

    /// The size of one item. An entry of a source takes one write unit at most.
    fn event_bytes(self) -> u32 {
        match self {
            Self::Bucket(Directory { op, topic }, ..) => {
                op.memory().event_bytes.get(topic).unwrap_or(EXPECTED_EVENT_BYTES)
            }
            Self::Source(_) => EXPECTED_EVENT_BYTES,
        }
    }

    /// The time after which items have landed, in milliseconds.
    const fn landed_after(self) -> u64 {
        match self {
            Self::Bucket(..) => COUNTED_AFTER_MILLIS,
            Self::Source(_) => LISTED_AFTER_MILLIS,
        }
    }

    async fn stored(self) -> Result<Option<Arc<Coverage>>, TableError> {
        match self {
            Self::Bucket(directory, _, bucket) => {
                Ok(directory.stored_entry(bucket).await?.map(|entry| Arc::clone(&entry.coverage)))
            }
            Self::Source(source) => Ok(Some(source.stored().await?.coverage)),
        }
    }

    async fn add_spread(self, choose: impl Fn(&Coverage) -> Option<Spread>) -> Result<bool, TableError> {
        match self {
            Self::Bucket(directory, _, bucket) => {
                directory.add_spread(&(directory.topic.clone(), bucket), choose).await
            }
            Self::Source(source) => source.add_spread(choose).await,
        }
    }
}

/// True if the spread of a time ends soon, before its bucket does.
fn is_ending(coverage: &Coverage, at: UnixMillis) -> bool {
    millis_left(coverage, at).is_some_and(|left| left < RENEWAL_MILLIS)
}

/// The time until the spread of a time ends. `None` if there is no spread, or if it ends with its bucket.
fn millis_left(coverage: &Coverage, at: UnixMillis) -> Option<u64> {
    let until = coverage.spread_until(at).filter(|until| *until < coverage.last())?;
    Some(until.get() - at.get())
}
