//! Jobs: work for many followers that a batch leaves for later. A job's pages are items, and their stream records run
//! them.
//!
//! ```text
//! JOB#{task}#{id}#{source}#{n} / {page}
//!   after S? (the page begins after this follower), expires_at N
//!   push, restamp: o S, b S (the topic of the event that the job is named after, and the width of its buckets)
//!   remove, promote: no further attributes
//!   cleanup, backfill: user S, behind S? (the id of the oldest entry that was looked at)
//!   backfill: since N (when the follow began), k N (older entries still wanted), seen N (older entries looked at)
//!
//! JOB#BACKFILL#{id}#{source}#{n} / {page}#BEGUN
//!   expires_at N
//! ```
//!
//! A page is a pure function of the change that it follows from, also its expiry. So a second put of a page changes
//! nothing, and begins no second run. A page that is done is deleted, and a record that comes again finds it gone. It has
//! no copy of its event, so nothing of a deleted event stays in it.
//!
//! A page puts the next page before it does anything else, so the pages of a job run at the same time. Only a
//! promotion's pages wait for each other, because the last page says that all are done. The pages of a cleanup and of a
//! backfill are the steps of one walk (`walk.rs`): each step puts the next page when it ends.

use lately_items::{Job, JobKey, JobPage, JobTask};
use lately_keys::{BucketWidth, EventId, Topic, UnixMillis, User};
use lately_table::{Corrupt, Item, TableError};

use crate::limits::JOB_SECONDS;
use crate::op::Op;

/// A page of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct JobWork {
    /// The page begins after this follower.
    pub(super) after: Option<User>,
    /// When the page expires, in unix seconds.
    pub(super) expires_at: u64,
    pub(super) task: Task,
}

/// The work of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Task {
    /// Work for the followers of a page.
    Page(PageTask),
    /// Work for one user, in steps.
    Walk(FeedWalk),
}

/// The work for each follower of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PageTask {
    /// Writes the event's entry.
    Push(Topic, BucketWidth),
    /// Deletes the entry of the event that the job is named after.
    Remove,
    /// Gives the entry the expiry of its event.
    Restamp(Topic, BucketWidth),
    /// Puts a pull marker.
    Promote,
}

impl JobWork {
    /// The first page of a job that follows from a change.
    pub(super) fn first(task: Task, changed_at: UnixMillis) -> Self {
        Self { after: None, expires_at: changed_at.get() / 1000 + JOB_SECONDS, task }
    }

    /// The time of the change that caused the job.
    pub(super) fn changed_at(&self) -> UnixMillis {
        let seconds = self.expires_at.saturating_sub(JOB_SECONDS);
        UnixMillis::new(seconds.saturating_mul(1000)).unwrap_or(UnixMillis::MIN)
    }

    /// The page that begins after a follower.
    pub(super) fn behind(&self, last: &User) -> Self {
        Self { after: Some(last.clone()), ..self.clone() }
    }

    /// Puts a page of a job. The put is a call of its own: it must not wait for a batch, nor take a place in a batch of
    /// entries.
    pub(super) async fn put(&self, op: &Op, job: &Job, page: JobPage) -> Result<(), TableError> {
        op.table.put(&self.encode(job, page)).await
    }

    pub(super) fn encode(&self, job: &Job, page: JobPage) -> Item {
        let item = Item::at(&JobKey { job: job.clone(), page });
        let item = match &self.task {
            Task::Page(PageTask::Push(topic, width) | PageTask::Restamp(topic, width)) => {
                item.with("o", topic.as_str()).with("b", width.as_str())
            }
            Task::Page(PageTask::Remove | PageTask::Promote) => item,
            Task::Walk(walk) => walk.add_to(item),
        };
        item.with_some("after", self.after.as_ref().map(User::as_str)).with("expires_at", self.expires_at)
    }

    pub(super) fn decode(job: &Job, item: &Item) -> Result<Self, Corrupt> {
        let task = match job.task {
            JobTask::Push => Task::Page(PageTask::Push(item.parsed("o")?, item.parsed("b")?)),
            JobTask::Restamp => Task::Page(PageTask::Restamp(item.parsed("o")?, item.parsed("b")?)),
            JobTask::Remove => Task::Page(PageTask::Remove),
            JobTask::Promote => Task::Page(PageTask::Promote),
            JobTask::Cleanup => Task::Walk(FeedWalk::decode(item, Purpose::Cleanup)?),
            JobTask::Backfill => {
                let (since, wanted, looked_at) =
                    (item.millis("since")?, item.number("k")?, item.number("seen")?);
                let backfill = Purpose::Backfill(Backfill { since, wanted, looked_at });
                Task::Walk(FeedWalk::decode(item, backfill)?)
            }
        };
        Ok(Self { after: item.optional_parsed("after")?, expires_at: item.number("expires_at")?, task })
    }
}

/// A walk: its user, its purpose, and how far it has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FeedWalk {
    pub(super) user: User,
    /// The oldest entry that the walk has looked at; `None` before the first step.
    pub(super) behind: Option<EventId>,
    pub(super) purpose: Purpose,
}

/// Why a user's entries are walked through.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// The user no longer follows the source.
    Cleanup,
    /// The user follows the source.
    Backfill(Backfill),
}

/// The remaining work of a backfill.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Backfill {
    /// When the follow began. All entries since then are copied.
    pub(super) since: UnixMillis,
    /// The number of older entries that are still wanted.
    pub(super) wanted: u16,
    /// The number of older entries that the walk has looked at.
    pub(super) looked_at: u32,
}

impl FeedWalk {
    pub(super) const fn task(&self) -> JobTask {
        match self.purpose {
            Purpose::Cleanup => JobTask::Cleanup,
            Purpose::Backfill(_) => JobTask::Backfill,
        }
    }

    fn add_to(&self, item: Item) -> Item {
        let item = item
            .with("user", self.user.as_str())
            .with_some("behind", self.behind.map(|behind| behind.to_string()));
        match self.purpose {
            Purpose::Cleanup => item,
            Purpose::Backfill(Backfill { since, wanted, looked_at }) => {
                item.with("since", since.get()).with("k", wanted).with("seen", looked_at)
            }
        }
    }

    fn decode(item: &Item, purpose: Purpose) -> Result<Self, Corrupt> {
        Ok(Self { user: item.parsed("user")?, behind: item.optional_parsed("behind")?, purpose })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "0190a4cd-d3e7-7222-9f99-fdb74feee752";

    fn job(task: JobTask) -> Job {
        Job { task, id: ID.parse().unwrap(), source: "actor:ada".parse().unwrap(), shard: 7.into() }
    }

    fn push() -> Task {
        Task::Page(PageTask::Push("posts".parse().unwrap(), BucketWidth::Hour))
    }

    fn walk(purpose: Purpose) -> Task {
        Task::Walk(FeedWalk { user: "bob".parse().unwrap(), behind: Some(ID.parse().unwrap()), purpose })
    }

    fn backfill() -> Purpose {
        let since = UnixMillis::new(1_720_799_999_000).unwrap();
        Purpose::Backfill(Backfill { since, wanted: 30, looked_at: 1_000 })
    }

    /// The attributes that every page has. The job follows from a change at 1,720,800,000 seconds.
    fn stored(task: &str, page: &str) -> Item {
        let pk = format!("JOB#{task}#{ID}#actor:ada#7");
        Item::from([("pk", &*pk), ("sk", page)]).with("expires_at", 1_720_972_800_u64)
    }

    #[test]
    fn golden_bytes_of_a_walk() {
        let at = UnixMillis::new(1_720_800_000_999).unwrap();
        let page = JobPage::new(2).unwrap();
        let item = JobWork::first(walk(backfill()), at).encode(&job(JobTask::Backfill), page);
        let expected = stored("BACKFILL", "00000002")
            .with("user", "bob")
            .with("behind", ID)
            .with("since", 1_720_799_999_000_u64)
            .with("k", 30_u64)
            .with("seen", 1_000_u64);
        assert_eq!(item, expected);
        let page = JobPage::default();
        let item = JobWork::first(walk(Purpose::Cleanup), at).encode(&job(JobTask::Cleanup), page);
        assert_eq!(item, stored("CLEANUP", "00000000").with("user", "bob").with("behind", ID));
    }

    #[test]
    fn golden_bytes() {
        let at = UnixMillis::new(1_720_800_000_999).unwrap();
        let work = JobWork::first(push(), at).behind(&"bob".parse().unwrap());
        let item = work.encode(&job(JobTask::Push), JobPage::default());
        let expected = stored("PUSH", "00000000").with("o", "posts").with("b", "hour").with("after", "bob");
        assert_eq!(item, expected);
    }

    #[test]
    fn a_page_of_each_job_decodes_to_itself() {
        for (name, task) in [
            (JobTask::Push, push()),
            (JobTask::Restamp, Task::Page(PageTask::Restamp("posts".parse().unwrap(), BucketWidth::Day))),
            (JobTask::Remove, Task::Page(PageTask::Remove)),
            (JobTask::Promote, Task::Page(PageTask::Promote)),
            (JobTask::Cleanup, walk(Purpose::Cleanup)),
            (JobTask::Backfill, walk(backfill())),
        ] {
            let first = JobWork::first(task, UnixMillis::MIN);
            for work in [first.behind(&"bob".parse().unwrap()), first] {
                let item = work.encode(&job(name), JobPage::default());
                assert_eq!(JobWork::decode(&job(name), &item), Ok(work));
            }
        }
    }
}
