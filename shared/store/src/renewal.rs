//! Renewing spreads: a topic that is still busy keeps its shards, and a topic that is quiet again loses them.
//!
//! Nobody closes a spread; it ends by itself a minute after its last renewal. Any process that writes near the end looks
//! after it: it reads the stored entry, because another process may have renewed the spread already, and counts the
//! events of a few whole slices. The counted rate decides how many shards the topic needs for the next minute. If the
//! base suffices, nobody renews.
//!
//! Processes choose their moments by chance, so that mostly one of them counts and the others only read the entry. A
//! renewal is optional: if it fails, the topic grows again when its base is refused.

use std::sync::Arc;

use futures_util::future::try_join_all;
use lately_keys::table::EventPartition;
use lately_keys::{Bucket, Coverage, EventId, Order, Shard, ShardCount, Spread, Tick, UnixMillis};
use lately_model::TopicSettings;
use lately_table::{TableError, entropy_u64};

use crate::directory::{Directory, Entry};
use crate::lane::LaneRange;
use crate::latest::span::IdRange;
use crate::limits::{
    COUNTED_AFTER_MILLIS, COUNTED_SLICES, EXPECTED_EVENT_BYTES, RENEWAL_CHANCE, RENEWAL_DUE_MILLIS,
    RENEWAL_MILLIS, SHARD_UNITS, SPREAD_MILLIS,
};

/// The size of a unit in which DynamoDB bills writes.
const UNIT_BYTES: u64 = 1024;

impl Directory<'_> {
    /// Looks after the spread of the present if it ends soon.
    pub(crate) async fn look_after(self, settings: &TopicSettings, entry: &Entry) {
        let now = self.op.now();
        if !self.is_due(&entry.coverage, now) || !self.op.store.may_look_after(self.topic) {
            return;
        }
        // Few requests come here, so their writes alone pay for the memory of this future.
        if let Err(error) = Box::pin(self.renew(settings, entry, now)).await {
            tracing::warn!(%error, "the shards of a busy bucket could not be renewed");
        }
    }

    /// True if this request should look after the spread of the present.
    fn is_due(self, coverage: &Coverage, now: UnixMillis) -> bool {
        let Some(left) = millis_left(coverage, now) else { return false };
        let is_chosen = || entropy_u64(self.op.ambient()).is_multiple_of(RENEWAL_CHANCE);
        left < RENEWAL_DUE_MILLIS || left < RENEWAL_MILLIS && is_chosen()
    }

    async fn renew(self, settings: &TopicSettings, entry: &Entry, now: UnixMillis) -> Result<(), TableError> {
        let Some(stored) = self.stored_entry(entry.bucket()).await? else { return Ok(()) };
        if !is_ending(&stored.coverage, now) {
            return Ok(());
        }
        let needed = self.needed(&stored, now).await?.min(settings.max_shards);
        let name = (self.topic.clone(), entry.bucket());
        let spread = |coverage: &Coverage| {
            let until = coverage.spread_until(now)?;
            let is_needed = needed > coverage.base() && is_ending(coverage, now);
            // More shards hold from now on, fewer when the present spread ends.
            let first = if needed > coverage.shards_at(now) { now } else { until.saturating_add(1) };
            is_needed.then_some(Spread { shards: needed, first, last: until.saturating_add(SPREAD_MILLIS) })
        };
        if self.add_spread(&name, spread).await? {
            tracing::info!(shards = needed.get(), bucket = %entry.bucket(), "the shards of a busy bucket are renewed");
        }
        Ok(())
    }

    /// The number of shards that a topic needs at its present rate.
    async fn needed(self, entry: &Arc<Entry>, now: UnixMillis) -> Result<ShardCount, TableError> {
        let shards = entry.coverage.shards_at(now);
        let newest = Tick::first_of(now.saturating_sub(COUNTED_AFTER_MILLIS));
        // The slices lie far apart, so that one burst does not fill all of them.
        let apart = u64::from(shards.get()).div_ceil(COUNTED_SLICES) + 1;
        let slices = (0..COUNTED_SLICES).filter_map(|n| shards.slice_before(newest, 1 + n * apart));
        let counts = slices.map(|(shard, first, last)| {
            let ids = IdRange { oldest: EventId::first_at(first), newest: EventId::last_at(last) };
            self.count(entry.bucket(), shard, ids)
        });
        let events: u64 = try_join_all(counts).await?.into_iter().sum();
        let bytes = self.op.store.event_bytes().get(self.topic).unwrap_or(EXPECTED_EVENT_BYTES);
        let units = events * u64::from(bytes).div_ceil(UNIT_BYTES);
        // A tick is a 4,096th of a millisecond.
        let per_second = units * 4_096_000 / (COUNTED_SLICES * shards.slice_ticks());
        let mut needed = ShardCount::ONE;
        while u64::from(needed.get()) * SHARD_UNITS < per_second && needed < ShardCount::MAX {
            needed = needed.doubled(ShardCount::MAX);
        }
        Ok(needed)
    }

    /// The number of a shard's events in a range.
    async fn count(self, bucket: Bucket, shard: Shard, ids: IdRange) -> Result<u64, TableError> {
        let partition = EventPartition { topic: self.topic.clone(), bucket, shard }.to_string();
        let range = LaneRange { partition: &partition, ids, order: Order::NewestFirst, consistent: false };
        let page = self.op.table.query(&range.query().count()).await?;
        self.op.table.meter().items(page.read);
        Ok(page.count as u64)
    }
}

/// True if the spread of the present ends soon, before its bucket does.
fn is_ending(coverage: &Coverage, now: UnixMillis) -> bool {
    millis_left(coverage, now).is_some_and(|left| left < RENEWAL_MILLIS)
}

/// The time until the spread of the present ends. `None` if there is no spread, or if it ends with its bucket.
fn millis_left(coverage: &Coverage, now: UnixMillis) -> Option<u64> {
    let until = coverage.spread_until(now).filter(|until| *until < coverage.bucket().last())?;
    Some(until.get() - now.get())
}
