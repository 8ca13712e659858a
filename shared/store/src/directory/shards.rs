//! The shards of a bucket: how the bucket grows.

use std::sync::Arc;

use lately_items::{DirectoryEntry, DirectoryKey, EventPartition, SPREADS};
use lately_keys::{Bucket, Coverage, EventId, Shard, ShardCount, Spread};
use lately_model::AcceptedTimes;
use lately_table::{Condition, Rounds, TableError, Update};

use crate::coverage::CoverageKeeper;
use crate::handle::DirectoryHandle;
use crate::limits::{EXPECTED_EVENT_BYTES, SPREAD_MILLIS};
use crate::op::Op;

/// The coverage of a bucket, for writers that may use up to so many shards.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BucketCoverage<'a> {
    pub(crate) directory: DirectoryHandle<'a>,
    pub(crate) bucket: Bucket,
    pub(crate) max_shards: ShardCount,
}

impl BucketCoverage<'_> {
    /// The bucket's entry, as the process knows it.
    fn known(self) -> Option<Arc<DirectoryEntry>> {
        self.op().memory().directory_entries.get(&(self.directory.topic.clone(), self.bucket))
    }

    /// Doubles the shards for events after one that was refused under this number of shards, unless the process knows
    /// of more.
    pub(crate) async fn grow(self, id: EventId, under: ShardCount) {
        let (op, refused) = (self.directory.op, id.at());
        // If many writers are refused at once, one of them grows the bucket; the others retry their writes.
        let Ok(_one_at_a_time) = op.memory().growing_bucket.try_lock() else { return };
        // New events get the present time, so the spread of the present decides. Imports keep their times.
        let (at, last) = match AcceptedTimes::new(op.now(), None).is_import(refused) {
            true => (refused, self.bucket.last()),
            false => {
                (op.now().min(self.bucket.last()).max(refused), refused.saturating_add(SPREAD_MILLIS - 1))
            }
        };
        if self.known().is_some_and(|entry| entry.coverage.shards_at(at) > under) {
            return;
        }
        if let Err(error) = self.double(id, under, at, last).await {
            tracing::warn!(%error, "a hot bucket could not be grown");
        }
    }

    /// Lets events of all times of a bucket that has an entry be placed by the maximal number of shards.
    pub(crate) async fn raise(self) -> Result<(), TableError> {
        let Self { directory, bucket, max_shards: shards } = self;
        let is_missing = |coverage: &Coverage| !coverage.covers_always(shards);
        let spread = Spread { shards, first: bucket.first(), last: bucket.last() };
        let mut rounds = Rounds::of(&directory.op.table, "the directory");
        while self.known().is_none_or(|entry| is_missing(&entry.coverage)) {
            rounds.lose()?;
            self.add(|coverage| is_missing(coverage).then_some(spread)).await?;
        }
        Ok(())
    }
}

impl CoverageKeeper for BucketCoverage<'_> {
    const COUNTED_AFTER_MILLIS: u64 = 1_000;

    fn op(&self) -> &Op {
        self.directory.op
    }

    fn partition(&self, shard: Shard) -> String {
        EventPartition { topic: self.directory.topic.clone(), bucket: self.bucket, shard }.to_string()
    }

    fn max_shards(&self) -> ShardCount {
        self.max_shards
    }

    fn item_bytes(&self) -> u32 {
        self.op().memory().event_bytes.get(self.directory.topic).unwrap_or(EXPECTED_EVENT_BYTES)
    }

    async fn stored_coverage(&self) -> Result<Option<Arc<Coverage>>, TableError> {
        let entry = self.directory.stored_entry(self.bucket).await?;
        Ok(entry.map(|entry| Arc::clone(&entry.coverage)))
    }

    async fn replace(&self, is_known: Condition, spreads: String) -> Result<bool, TableError> {
        let Self { directory, bucket, .. } = *self;
        let key = DirectoryKey { topic: directory.topic.clone(), bucket };
        let is_there = Condition::exists(DirectoryEntry::BASE);
        let update = Update::of(&key).set(SPREADS, spreads).only_if(is_there.and(is_known));
        Ok(directory.update_entry(&update).await?.is_some())
    }
}
