//! The coverage of a bucket or of a source: its writers add spreads of more shards, and renew them.
//!
//! A timeline whose shard refuses a write *grows*: it gets a spread of twice the shards for a minute, if more shards can
//! help. Nobody closes a spread; it ends by itself a minute after its last renewal. Any process that writes near the end
//! looks after it: it reads the stored coverage, because another process may have renewed the spread already, and
//! counts the events of a few whole slices. The counted rate decides how many shards are needed for the next minute. If
//! the base suffices, nobody renews.
//!
//! Processes choose their moments by chance, so that mostly one of them counts and the others only read the item. Growth
//! and renewal are optional: if they fail, writers continue with the shards that there are.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::try_join_all;
use lately_items::SPREADS;
use lately_keys::{Coverage, EventId, Order, Shard, ShardCount, Spread, Stretch, Tick, UnixMillis};
use lately_table::{Condition, TableError, entropy_u64};

use crate::lane::LaneRange;
use crate::limits::{HOT_SHARD_UNITS, SHARD_UNITS, SHARDS_AT_WILL, SPREAD_MILLIS};
use crate::op::Op;
use crate::span::IdRange;

/// A writer renews a spread that ends within this time.
const RENEWAL_MILLIS: u64 = 20_000;

/// A writer certainly looks after a spread that ends within this time. Before, one request of [`RENEWAL_CHANCE`] does.
const RENEWAL_DUE_MILLIS: u64 = 5_000;

/// See [`RENEWAL_DUE_MILLIS`].
const RENEWAL_CHANCE: u64 = 64;

/// Attempts to add a spread, if other writers change the entry meanwhile. Their spreads mostly suffice.
const SPREAD_ATTEMPTS: u32 = 3;

/// A process looks after spreads at most once in this time.
const RENEWAL_PAUSE: Duration = Duration::from_secs(2);

/// After a process found that a timeline cannot get more shards now, it tries again when this time has passed.
const GROWTH_PAUSE: Duration = Duration::from_secs(1);

/// See [`HOT_SHARD_UNITS`].
const HOT_SHARD_MILLIS: u64 = 2_000;

/// Slices that are counted to learn a topic's rate of writing.
const COUNTED_SLICES: u64 = 4;

/// The size of a unit in which DynamoDB bills writes.
const UNIT_BYTES: u64 = 1024;

/// The keeper of the coverage of one bucket or source. The required items are the differences between the two.
pub(crate) trait CoverageKeeper: Copy {
    /// Items are counted this many milliseconds after the times of their events. Before, their writes may still be under way.
    const COUNTED_AFTER_MILLIS: u64;

    fn op(&self) -> &Op;

    /// The partition key's text of a shard.
    fn partition(&self, shard: Shard) -> String;

    fn max_shards(&self) -> ShardCount;

    /// The size of one item.
    fn item_bytes(&self) -> u32;

    /// The coverage as it is stored; `None` if the bucket has no entry.
    async fn stored_coverage(&self) -> Result<Option<Arc<Coverage>>, TableError>;

    /// Replaces the stored spreads by these, if the condition holds. Returns whether it held.
    async fn replace(&self, is_known: Condition, spreads: String) -> Result<bool, TableError>;

    /// Adds the spread that `choose` makes of the stored coverage. Returns whether a spread was added. A writer that
    /// comes after another one learns of the other's spread, and adds its own only if it is still needed.
    async fn add(self, choose: impl Fn(&Coverage) -> Option<Spread>) -> Result<bool, TableError> {
        for _ in 0..SPREAD_ATTEMPTS {
            let Some(stored) = self.stored_coverage().await? else { return Ok(false) };
            let Some(spread) = choose(&stored) else { return Ok(false) };
            let mut wider = Coverage::clone(&stored);
            wider.add(spread);
            let Some(spreads) = wider.spreads_text() else { return Ok(false) };
            let is_known = match stored.spreads_text() {
                Some(known) => Condition::equals(SPREADS, known),
                None => Condition::absent(SPREADS),
            };
            if self.replace(is_known, spreads).await? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Doubles the shards from the time of an event on, which was refused while the writers used `under` shards. Does
    /// nothing if the stored coverage has more shards `at` a time by now, or if more shards would not help.
    async fn double(
        self,
        refused: EventId,
        under: ShardCount,
        at: UnixMillis,
        last: UnixMillis,
    ) -> Result<(), TableError> {
        let shards = under.doubled(self.max_shards());
        if shards == under || !may_double(self, refused, under).await {
            return Ok(());
        }
        let spread = Spread { shards, first: refused.at(), last };
        if self.add(|stored| (stored.shards_at(at) <= under).then_some(spread)).await? {
            self.op().table.meter().shards_doubled();
            let partition = self.partition(0.into());
            tracing::info!(shards = shards.get(), partition, "a busy timeline has grown");
        }
        Ok(())
    }

    /// Makes this process wait before it tries again to add shards.
    fn note_not_grown(&self) {
        self.op().memory().not_grown.note(self.partition(0.into()), self.op().ambient());
    }

    /// Renews the spread of a time, near which a writer has just written, if the spread ends soon.
    async fn look_after(self, coverage: &Coverage, at: UnixMillis) {
        let (op, partition) = (self.op(), self.partition(0.into()));
        let looked_after = &op.memory().looked_after;
        if !is_due(op, coverage, at) || looked_after.is_noted(&partition, RENEWAL_PAUSE, op.ambient()) {
            return;
        }
        looked_after.note(partition, op.ambient());
        // Few requests come here, so their writes alone pay for the memory of this future.
        if let Err(error) = Box::pin(renew(self, at)).await {
            tracing::warn!(%error, "the shards of a busy timeline could not be renewed");
        }
    }
}

/// True if twice the shards may help a timeline whose shard refused the write of an event.
///
/// DynamoDB gives the same reason when the shard's own keys are hot, when its partition is shared with other busy keys,
/// and when the table is new or has grown too fast. Only the first gets better with ever more shards.
async fn may_double(keeper: impl CoverageKeeper, refused: EventId, shards: ShardCount) -> bool {
    let op = keeper.op();
    if op.memory().not_grown.is_noted(&keeper.partition(0.into()), GROWTH_PAUSE, op.ambient()) {
        return false;
    }
    if shards < SHARDS_AT_WILL {
        return true;
    }
    let shard = shards.shard_at(refused.tick());
    // A shard is hot if it has been written to, in the last seconds, about as fast as a partition allows.
    let enough = HOT_SHARD_UNITS / item_units(keeper).min(HOT_SHARD_UNITS);
    let oldest = EventId::first_of(refused.at().saturating_sub(HOT_SHARD_MILLIS));
    let ids = IdRange { oldest, newest: EventId::last_of(refused.at()) };
    let counted = count(keeper, shard, ids, enough).await;
    let is_hot = counted.map(|counted| counted >= enough).unwrap_or_else(|error| {
        tracing::warn!(%error, "the events of a busy shard could not be counted");
        false
    });
    if !is_hot {
        keeper.note_not_grown();
    }
    is_hot
}

async fn renew(keeper: impl CoverageKeeper, at: UnixMillis) -> Result<(), TableError> {
    let Some(stored) = keeper.stored_coverage().await? else { return Ok(()) };
    if !is_ending(&stored, at) {
        return Ok(());
    }
    let needed = needed(keeper, &stored, at).await?.min(keeper.max_shards());
    let spread = |coverage: &Coverage| {
        let until = coverage.spread_until(at)?;
        let is_needed = needed > coverage.base() && is_ending(coverage, at);
        // More shards hold from now on, fewer when the present spread ends.
        let first = if needed > coverage.shards_at(at) { at } else { until.saturating_add(1) };
        is_needed.then_some(Spread { shards: needed, first, last: until.saturating_add(SPREAD_MILLIS) })
    };
    if keeper.add(spread).await? {
        let partition = keeper.partition(0.into());
        tracing::info!(shards = needed.get(), partition, "the shards of a busy timeline are renewed");
    }
    Ok(())
}

/// The number of shards that a timeline needs at its present rate.
async fn needed<K: CoverageKeeper>(
    keeper: K,
    coverage: &Coverage,
    at: UnixMillis,
) -> Result<ShardCount, TableError> {
    let shards = coverage.shards_at(at);
    let newest = Tick::first_of(at.saturating_sub(K::COUNTED_AFTER_MILLIS));
    // The slices lie far apart, so that one burst does not fill all of them.
    let apart = u64::from(shards.get()).div_ceil(COUNTED_SLICES) + 1;
    let slices = (0..COUNTED_SLICES).filter_map(|n| shards.slice_before(newest, 1 + n * apart));
    let counts = slices.map(|(shard, Stretch { start, end })| {
        let ids = IdRange { oldest: EventId::first_at(start), newest: EventId::last_at(end) };
        count(keeper, shard, ids, u64::MAX)
    });
    let events: u64 = try_join_all(counts).await?.into_iter().sum();
    // A tick is a 4,096th of a millisecond.
    let per_second = events * item_units(keeper) * 4_096_000 / (COUNTED_SLICES * shards.slice_ticks());
    let mut needed = ShardCount::ONE;
    while u64::from(needed.get()) * SHARD_UNITS < per_second && needed < ShardCount::MAX {
        needed = needed.doubled(ShardCount::MAX);
    }
    Ok(needed)
}

/// The number of a shard's events in a range, or of the newest of them up to a limit.
async fn count(
    keeper: impl CoverageKeeper,
    shard: Shard,
    ids: IdRange,
    limit: u64,
) -> Result<u64, TableError> {
    let (op, partition) = (keeper.op(), keeper.partition(shard));
    let range = LaneRange { partition: &partition, ids, order: Order::NewestFirst, consistent: false };
    let page = op.table.query_items(&range.query().count().limit(limit)).await?;
    Ok(page.count as u64)
}

/// The write units of one item.
fn item_units(keeper: impl CoverageKeeper) -> u64 {
    u64::from(keeper.item_bytes()).div_ceil(UNIT_BYTES)
}

/// True if this request should look after the spread of a time.
fn is_due(op: &Op, coverage: &Coverage, at: UnixMillis) -> bool {
    let Some(left) = millis_left(coverage, at) else { return false };
    let is_chosen = || entropy_u64(op.ambient()).is_multiple_of(RENEWAL_CHANCE);
    left < RENEWAL_DUE_MILLIS || left < RENEWAL_MILLIS && is_chosen()
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
