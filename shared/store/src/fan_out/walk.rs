//! A walk through one user's entries, in steps: a cleanup walks through the feed, a backfill through the source's
//! timeline.
//!
//! A feed can hold millions of entries. One delivery must neither hold its lane of the stream for as long as the walk
//! takes, nor begin again at the top after a failure. So a delivery takes one step of a bounded number of queries. If
//! entries remain, the step puts a page of a job, and the stream record of that page takes the next step.
//!
//! These rules must hold:
//! - A step ends only after its writes are durable, and the page that it puts begins at the step's end. So a step that
//!   is delivered again repeats at most itself.
//! - A backfill whose follow is over by the end of a step becomes a cleanup. The cleanup that the unfollow began may
//!   have passed before the step wrote.
//! - An attempt of a backfill's step may die after it wrote entries and before it checked that their events still
//!   exist. If such an event is deleted meanwhile, the next attempt does not find it in the timeline. So a step marks
//!   that it has begun, and an attempt that finds the mark begins a cleanup, which looks at every entry of the source.

use std::sync::Arc;

use lately_items::{
    BackfillRest, BegunKey, FeedWalk, FollowEdge, FollowerKey, Job, JobKey, JobKind, JobPage, JobWork,
    WalkPurpose,
};
use lately_keys::{Coverage, EventId, Source, UnixMillis};
use lately_table::{Condition, PutIf, TableError};

use crate::fan_out::batch::{FanOut, fresh_id};
use crate::fan_out::page::JobStep;

impl FanOut<'_> {
    /// Begins a walk because of a change of a follower.
    pub(super) async fn begin_walk(
        &self,
        key: &FollowerKey,
        id: EventId,
        at: UnixMillis,
        walk: FeedWalk,
        coverage: Option<Arc<Coverage>>,
    ) -> Result<(), TableError> {
        let FollowerKey { source, shard, .. } = key;
        let job = Job { task: walk.task(), id, source: source.clone(), shard: *shard };
        let work = JobWork::first(JobKind::Walk(walk.clone()), at);
        let key = JobKey { job, page: JobPage::default() };
        JobStep { fan_out: *self, key: &key, work: &work }.walk(walk, coverage).await
    }
}

impl JobStep<'_> {
    /// Takes a step of a walk. The job's next page goes on from there. A backfill needs the coverage of the source's
    /// timeline, as it was read after the follow landed; if it is not given, the step reads it.
    pub(super) async fn walk(
        self,
        walk: FeedWalk,
        coverage: Option<Arc<Coverage>>,
    ) -> Result<(), TableError> {
        let Self { fan_out: FanOut { op, .. }, key: JobKey { job, page }, work } = self;
        let user = walk.user.clone();
        let backfill = match walk.purpose {
            WalkPurpose::Cleanup => None,
            WalkPurpose::Backfill(BackfillRest { since, .. }) => {
                let follow = FollowEdge { source: job.source.clone(), shard: job.shard, since };
                Some((follow, self.is_repeated().await?))
            }
        };
        let coverage = match (coverage, &backfill) {
            (Some(coverage), _) => coverage,
            (None, Some(_)) => op.source(&job.source).stored().await?.coverage,
            (None, None) => Arc::new(Coverage::of_source()),
        };
        let step = WalkStep { fan_out: self.fan_out, source: &job.source, coverage: &coverage };
        let mut rest = step.take(walk).await?;
        if let Some((follow, is_repeated)) = backfill {
            let is_over = op.user(&user).edge(&job.source).await? != Some(follow);
            if is_repeated || is_over {
                let cleanup = FeedWalk { user, behind: None, purpose: WalkPurpose::Cleanup };
                // The job has a new id. Another delivery may have begun the same cleanup before this one wrote, and a
                // put of the same page would begin nothing.
                let job = Job { task: cleanup.task(), id: fresh_id(op)?, ..job.clone() };
                let work = JobWork { task: JobKind::Walk(cleanup), ..work.clone() };
                op.table.put(&work.encode(&job, JobPage::default())).await?;
            }
            rest = rest.filter(|_| !is_over);
        }
        let Some(rest) = rest else { return Ok(()) };
        let next = page.next().ok_or_else(|| TableError::unavailable("a job has too many pages"))?;
        let work = JobWork { task: JobKind::Walk(rest), ..work.clone() };
        op.table.put(&work.encode(job, next)).await
    }

    /// Marks that the step has begun. Returns true if an earlier attempt has marked it.
    async fn is_repeated(self) -> Result<bool, TableError> {
        let mark = BegunKey(self.key.clone()).item(self.work.expires_at);
        Ok(self.fan_out.op.table.put_if(&mark, &Condition::no_item()).await? != PutIf::Done)
    }
}

/// The queries of one step of a walk.
#[derive(Clone, Copy)]
pub(super) struct WalkStep<'a> {
    pub(super) fan_out: FanOut<'a>,
    pub(super) source: &'a Source,
    /// The coverage of the source's timeline, for a backfill.
    pub(super) coverage: &'a Coverage,
}

impl WalkStep<'_> {
    /// Takes the step. Returns the remaining walk.
    async fn take(self, mut walk: FeedWalk) -> Result<Option<FeedWalk>, TableError> {
        for _ in 0..self.fan_out.op.store.feeds().queries_per_step {
            let rest = match walk.purpose {
                WalkPurpose::Cleanup => self.clean_some(walk).await?,
                WalkPurpose::Backfill(backfill) => self.copy_some(walk, backfill).await?,
            };
            match rest {
                Some(rest) => walk = rest,
                None => return Ok(None),
            }
        }
        Ok(Some(walk))
    }
}
