//! The shards of a source's timeline: how the timeline grows.

use std::sync::Arc;
use std::time::Duration;

use lately_items::{SPREADS, SourceEntryKey};
use lately_keys::{Coverage, EventId, Shard, ShardCount};
use lately_table::{Condition, TableError};

use crate::coverage::CoverageKeeper;
use crate::handle::SourceHandle;
use crate::limits::{EXPECTED_EVENT_BYTES, SOURCE_SHARDS, SPREAD_MILLIS};
use crate::moments::Sent;
use crate::op::Op;

/// Fan-out tries this long to give a busy source more shards. The other records of its batch wait meanwhile.
const SOURCE_GROWTH: Duration = Duration::from_millis(500);

impl SourceHandle<'_> {
    /// Gives the entries from an event's time on more shards than the number that was too low, and returns the wider
    /// coverage. Returns `None` if that is not possible now.
    ///
    /// The item is in the timeline's first partition, which may be the busy one. So the attempt is short, and there is a
    /// pause after one that failed. Other records wait for an attempt, because their entries may go where it leads.
    pub(crate) async fn grow(self, id: EventId, under: ShardCount) -> Option<Arc<Coverage>> {
        let at = id.at();
        let wider = || Some(self.known_coverage()).filter(|known| known.shards_at(at) > under);
        if under >= SOURCE_SHARDS || wider().is_some() {
            return wider();
        }
        let _one_at_a_time = self.op.memory().growing_source.lock().await;
        if wider().is_none() {
            let op = self.op.step_within(SOURCE_GROWTH).until_deadline();
            let last = at.saturating_add(SPREAD_MILLIS - 1);
            if let Err(error) = op.source(self.source).double(id, under, at, last).await {
                self.note_not_grown();
                tracing::warn!(%error, source = %self.source, "a busy source could not be grown");
            }
        }
        wider()
    }
}

impl CoverageKeeper for SourceHandle<'_> {
    /// The delay of fan-out, with room.
    const COUNTED_AFTER_MILLIS: u64 = 10_000;

    fn op(&self) -> &Op {
        self.op
    }

    fn partition(&self, shard: Shard) -> String {
        SourceEntryKey::partition(self.source, shard)
    }

    fn max_shards(&self) -> ShardCount {
        SOURCE_SHARDS
    }

    /// An entry takes one write unit at most.
    fn item_bytes(&self) -> u32 {
        EXPECTED_EVENT_BYTES
    }

    async fn stored_coverage(&self) -> Result<Option<Arc<Coverage>>, TableError> {
        Ok(Some(self.stored().await?.coverage))
    }

    async fn replace(&self, is_known: Condition, spreads: String) -> Result<bool, TableError> {
        let sent = Sent::now(self.op.ambient());
        let update = self.change().set(SPREADS, spreads).only_if(is_known);
        let Some(item) = self.op.table.update_and_get(&update).await? else { return Ok(false) };
        self.learn(Some(&item), sent)?;
        Ok(true)
    }
}
