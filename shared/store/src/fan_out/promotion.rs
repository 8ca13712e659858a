//! Promotion: a source with too many followers to push to changes from push to pull.
//!
//! ```text
//! push ── a shard's counts show too many followers ──► promoting, with the id that marks the promotion's start
//!                                     a job for each follower shard puts a marker into every feed
//! pull ◄── the last shard is done ── events from a new id on are no longer pushed
//! ```
//!
//! Every follower gets a marker. A user who followed before the promotion began is in one of the shards that it began
//! with, and gets a marker from that shard's job. A user who follows later finds the source promoting, and gets a
//! marker from the backfill. The stream record of each step begins the next step. So a promotion goes on wherever a
//! process dies.

use lately_items::{
    FollowerCountKey, FollowerCounts, Job, JobKind, JobTask, JobWork, PageTask, PushMode, StoredSource,
};
use lately_keys::{Shard, Source, UnixMillis};
use lately_table::TableError;

use crate::fan_out::batch::{FanOut, count, fresh_id};
use crate::limits::FOLLOWER_SHARDS;

impl FanOut<'_> {
    /// Begins a promotion if the source has too many followers. The counts of all shards are read only if the counts of
    /// this shard suggest it.
    pub(super) async fn counted(
        &self,
        key: &FollowerCountKey,
        counts: FollowerCounts,
    ) -> Result<(), TableError> {
        let FollowerCountKey { source, shard } = key;
        if counts.here == 1 && *shard != Shard::from(0) {
            self.op.source(source).keep().await?;
        }
        let limit = self.op.store.feeds().fan_out_limit;
        if counts.here.saturating_mul(FOLLOWER_SHARDS.get().into()) <= limit {
            return Ok(());
        }
        let StoredSource { shards, mode, .. } = self.op.source(source).stored().await?;
        if mode != PushMode::Push || counts.here.saturating_mul(shards.get().into()) <= limit {
            return Ok(());
        }
        let counts = self.op.source(source).counts(shards).await?;
        if counts.values().map(|counts| counts.here).sum::<u64>() <= limit {
            return Ok(());
        }
        let promotion = fresh_id(self.op)?;
        if self.op.source(source).begin_promotion(shards, promotion).await? {
            count(&self.done.promotions, 1);
        }
        Ok(())
    }

    pub(super) async fn source_changed(
        &self,
        source: &Source,
        was_pushed: bool,
        stored: &StoredSource,
        at: UnixMillis,
    ) -> Result<(), TableError> {
        let PushMode::Promoting { promotion, unpromoted } = &stored.mode else { return Ok(()) };
        if was_pushed {
            let work = JobWork::first(JobKind::Page(PageTask::Promote), at);
            let (task, id) = (JobTask::Promote, *promotion);
            let jobs = unpromoted.iter().map(|shard| Job { task, id, source: source.clone(), shard: *shard });
            self.put_first_pages(jobs.collect(), &work).await?;
        }
        if unpromoted.is_empty() {
            // Above the id of every marker, whatever the clocks say. So every feed pulls the events that are not
            // pushed.
            let from = fresh_id(self.op)?.max(promotion.just_after().unwrap_or(*promotion));
            self.op.source(source).end_promotion(*promotion, from).await?;
        }
        Ok(())
    }
}
