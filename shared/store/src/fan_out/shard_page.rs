//! A page of a source's followers.

use std::collections::BTreeSet;

use lately_keys::{EventId, Shard, Source, UnixMillis, User};
use lately_table::TableError;

use crate::follow::FollowerRange;
use crate::limits::TOLD_APART_MILLIS;
use crate::op::Op;
use lately_items::{Follower, Job, JobStep, StoredSource};

/// Some followers of a shard.
#[derive(Debug)]
pub(super) struct ShardPage {
    pub(super) source: Source,
    pub(super) shard: Shard,
    /// The page begins after this follower.
    after: Option<User>,
    pub(super) followers: Vec<Follower>,
    /// True if there may be more followers after the page.
    pub(super) more: bool,
}

impl ShardPage {
    pub(super) fn users(&self) -> impl Iterator<Item = &User> {
        self.followers.iter().map(|follower| &follower.user)
    }

    /// A shard without followers.
    pub(super) fn of_nobody(source: &Source, shard: Shard) -> Self {
        Self { source: source.clone(), shard, after: None, followers: Vec::new(), more: false }
    }

    /// The followers whose feeds may have a copy of an event of the source. Only backfills copy an event that is
    /// pulled, into the feeds of those who followed after the event's time.
    pub(super) fn holders(&self, stored: &StoredSource, id: EventId) -> impl Iterator<Item = &User> {
        let was_pushed = stored.may_have_pushed(id);
        let may_hold = move |follower: &&Follower| was_pushed || id < EventId::first_of(follower.since);
        self.followers.iter().filter(may_hold).map(|follower| &follower.user)
    }

    /// True if the page would contain a follower with this name.
    pub(super) fn covers(&self, user: &User) -> bool {
        let last = self.followers.last().filter(|_| self.more);
        self.after.as_ref().is_none_or(|after| after < user) && last.is_none_or(|last| *user <= last.user)
    }

    /// The next page of a job; `None` if this page is the last one.
    pub(super) fn next(&self, step: &JobStep) -> Result<Option<JobStep>, TableError> {
        let Some(last) = self.followers.last().filter(|_| self.more) else { return Ok(None) };
        let next = step.next().ok_or_else(|| TableError::unavailable("a job has too many pages"))?;
        Ok(Some(JobStep { after: Some(last.user.clone()), ..next }))
    }

    /// Reads the followers of a job's page.
    pub(super) async fn of(op: &Op, step: &JobStep) -> Result<Self, TableError> {
        let Job { source, shard, .. } = &step.key.job;
        Self::read(op, source, *shard, step.after.clone()).await
    }

    /// Reads a page of a shard.
    pub(super) async fn read(
        op: &Op,
        source: &Source,
        shard: Shard,
        after: Option<User>,
    ) -> Result<Self, TableError> {
        let range = FollowerRange { shard, after };
        let limit = usize::from(op.store.feeds().followers_per_job);
        let read = op.source(source).followers_of(&range, limit, true).await?;
        let source = source.clone();
        Ok(Self { source, shard, after: range.after, followers: read.followers, more: read.more })
    }

    /// The users who have unfollowed since a change, and who may have been on the page when an attempt handled the change.
    pub(super) async fn leavers(&self, op: &Op, at: UnixMillis) -> Result<BTreeSet<User>, TableError> {
        let since = at.saturating_sub(TOLD_APART_MILLIS);
        let covers = |user: &User| self.covers(user);
        op.source(&self.source).leavers(self.shard, since, covers).await
    }
}
