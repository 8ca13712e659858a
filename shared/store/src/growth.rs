//! Growth: a bucket or a source whose shard refuses a write gets twice the shards, if more shards can help.
//!
//! `renewal.rs` decides whether they can, and later whether they are still needed.

use std::sync::Arc;
use std::time::Duration;

use lately_items::DirectoryEntry;
use lately_keys::{Coverage, EventId, ShardCount, Spread};
use lately_model::{AcceptedTimes, TopicSettings};

use crate::directory::Directory;
use crate::limits::{SOURCE_SHARDS, SPREAD_MILLIS};
use crate::renewal::Spreading;
use crate::source::SourceHandle;

/// Fan-out tries this long to give a busy source more shards. The other records of its batch wait meanwhile.
const SOURCE_GROWTH: Duration = Duration::from_millis(500);

impl Directory<'_> {
    /// Adds a spread with twice the shards of an event that was refused, from the event's time on. Does nothing if the
    /// writers of such events already know of more shards.
    ///
    /// Growth is optional: if it fails, the write that asked for it continues with the shards that there are.
    pub(crate) async fn grow(self, settings: &TopicSettings, entry: &DirectoryEntry, id: EventId) {
        let refused = id.at();
        let bucket = entry.bucket;
        let name = (self.topic.clone(), bucket);
        let under = entry.coverage.shards_at(refused);
        let wanted = under.doubled(settings.max_shards);
        if wanted == under {
            return;
        }
        // If many writers are refused at once, one of them grows the bucket; the others retry their writes.
        let Ok(_one_at_a_time) = self.op.memory().directory.growing.try_lock() else { return };
        let is_import = AcceptedTimes::new(self.op.now(), None).is_import(refused);
        // New events get the present time, so the spread of the present decides. Imports keep their times.
        let at = if is_import { refused } else { self.op.now().min(bucket.last()).max(refused) };
        let known = self.op.memory().directory.entries.get(&name);
        if known.is_some_and(|known| known.coverage.shards_at(at) > under) {
            return;
        }
        let spreading = Spreading::Bucket(self, settings, bucket);
        if !spreading.may_double(id, under).await {
            return;
        }
        let last = if is_import { bucket.last() } else { refused.saturating_add(SPREAD_MILLIS - 1) };
        let spread = Spread { shards: wanted, first: refused, last };
        match self.add_spread(&name, |coverage| (coverage.shards_at(at) <= under).then_some(spread)).await {
            Ok(true) => {
                self.op.table.meter().shards_doubled();
                tracing::info!(shards = wanted.get(), bucket = %bucket, "a hot bucket has grown");
            }
            Ok(false) => {}
            Err(error) => tracing::warn!(%error, "a hot bucket could not be grown"),
        }
    }
}

impl SourceHandle<'_> {
    /// Gives the entries from an event's time on more shards than the number that was too low, and returns the wider coverage.
    /// Returns `None` if that is not possible now.
    ///
    /// The item is in the timeline's first partition, which may be the busy one. So the attempt is short, and there is a
    /// pause after one that failed. Other records wait for an attempt, because their entries may go where it leads.
    pub(crate) async fn grow(self, id: EventId, under: ShardCount) -> Option<Arc<Coverage>> {
        let at = id.at();
        let wanted = under.doubled(SOURCE_SHARDS);
        if wanted == under {
            return None;
        }
        let is_wider = |coverage: &Arc<Coverage>| coverage.shards_at(at) > under;
        if let Some(known) = Some(self.known_coverage()).filter(is_wider) {
            return Some(known);
        }
        let _one_at_a_time = self.op.memory().sources.growing.lock().await;
        if let Some(known) = Some(self.known_coverage()).filter(is_wider) {
            return Some(known);
        }
        let op = self.op.step_within(SOURCE_GROWTH).until_deadline();
        let spreading = Spreading::Source(op.source(self.source));
        if !spreading.may_double(id, under).await {
            return None;
        }
        let spread = Spread { shards: wanted, first: at, last: at.saturating_add(SPREAD_MILLIS - 1) };
        let choose = |coverage: &Coverage| (coverage.shards_at(at) <= under).then_some(spread);
        match op.source(self.source).add_spread(choose).await {
            Ok(true) => {
                op.table.meter().shards_doubled();
                tracing::info!(shards = wanted.get(), source = %self.source, "a busy source has grown");
            }
            Ok(false) => {}
            Err(error) => {
                spreading.note_not_grown();
                tracing::warn!(%error, source = %self.source, "a busy source could not be grown");
            }
        }
        Some(self.known_coverage()).filter(is_wider)
    }
}
