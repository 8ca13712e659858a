//! A page of fan-out work, stored in the table and run from the table's stream.
//!
//! ```text
//! table   pk  JOB#{task}#{id}#{source}#{n}    sk  {page, 8 digits}
//!   after S? (the page begins after this follower), expires_at N
//!   push, restamp: o S, b S (the topic of the event that the job is named after, and the width of its buckets)
//!   remove, promote: no further attributes
//!   backfill: user S, behind S? (the id of the oldest entry that was looked at), since N (when the follow began), k N (older entries still wanted), seen N (older entries looked at)
//!                                             sk  {page, 8 digits}#BEGUN
//!   expires_at N
//! ```
//!
//! The second item marks a page whose run has begun. A run that finds the mark repeats a run that may have died
//! half-way.
//!
//! A job's name contains only its task. So creating a job again writes the same item, which makes no stream record: a
//! job that is requested twice runs once.
//!
//! A page is a pure function of the change that it follows from, also its expiry. So a second put of a page changes
//! nothing, and begins no second run. A page that is done is deleted, and a record that comes again finds it gone. It has
//! no copy of its event, so nothing of a deleted event stays in it.
//!
//! A page puts the next page before it does anything else, so the pages of a job run at the same time. Only a
//! promotion's pages wait for each other, because the last page says that all are done. The pages of a
//! backfill are the steps of one walk (the store's `fan_out/kinds/`): each step puts the next page when it ends.

use lately_keys::{BucketWidth, EventId, Shard, Source, Topic, UnixMillis, User};

use crate::form::EightDigits;
use crate::item::{Corrupt, Item};
use crate::key::key;
use crate::limits::JOB_SECONDS;
use crate::record::{Record, record};

lately_keys::words! {
    /// The work of a job, either for each follower of its page or for one user's feed.
    pub enum JobTask {
        /// Writes a copy of the event into the follower's feed.
        Push = "PUSH",
        /// Deletes the event's copy from the follower's feed.
        Remove = "REMOVE",
        /// Gives the event's copy in the follower's feed the event's expiry.
        Restamp = "RESTAMP",
        /// Writes the source's pull marker into the follower's feed.
        Promote = "PROMOTE",
        /// Copies the source's entries into the feed of a new follower.
        Backfill = "BACKFILL",
    }
}

key! {
    /// One job: a task for one shard of a source's followers. Its text is the partition of the job's pages.
    pub struct Job {
        /// The task.
        pub task: JobTask,
        /// The event that is pushed or removed. For a promotion, the id that marks its start. For a
        /// backfill, an id made from the stream record that requested it.
        pub id: EventId,
        /// The source whose followers the task is for.
        pub source: Source,
        /// The shard of the followers.
        pub shard: Shard,
    }
    text "JOB#{task}#{id}#{source}#{shard}"
}

key! {
    /// The item that holds one page of a job.
    pub struct JobKey {
        /// The job.
        pub job: Job,
        /// The page's number, counted from 0.
        pub page: u32 as EightDigits,
    }
    Table: pk "{job}" sk "{page}"
}

key! {
    /// The item that marks a page of a job whose run has begun.
    pub struct BegunKey {
        /// The job.
        pub job: Job,
        /// The page's number.
        pub page: u32 as EightDigits,
    }
    Table: pk "{job}" sk "{page}#BEGUN"
}

record! {
    /// A page of a job.
    pub struct JobStep {
        /// The page's key.
        pub key: JobKey = key,
        /// The page begins after this follower.
        pub after: Option<User> = optional("after"),
        /// When the page expires, in unix seconds.
        pub expires_at: u64 = required("expires_at"),
        /// The work.
        pub task: JobKind = part,
    }
}

/// The work of a job: for each follower of a page, or for one user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobKind {
    /// Writes the event's entry.
    Push(Topic, BucketWidth),
    /// Deletes the entry of the event that the job is named after.
    Remove,
    /// Gives the entry the expiry of its event.
    Restamp(Topic, BucketWidth),
    /// Puts a pull marker.
    Promote,
    /// Copies a source's entries into one user's feed, in steps.
    Walk(FeedWalk),
}

impl JobStep {
    /// The first page of a job that follows from a change: of the first shard of a source's followers.
    pub fn first(task: JobKind, id: EventId, source: Source, changed_at: UnixMillis) -> Self {
        let job = Job { task: task.task(), id, source, shard: Shard::from(0) };
        let key = JobKey { job, page: 0 };
        Self { key, after: None, expires_at: changed_at.get() / 1000 + JOB_SECONDS, task }
    }

    /// The same page of the same job, for another shard of the followers.
    pub fn in_shard(mut self, shard: Shard) -> Self {
        self.key.job.shard = shard;
        self
    }

    /// The time of the change that caused the job.
    pub fn changed_at(&self) -> UnixMillis {
        let seconds = self.expires_at.saturating_sub(JOB_SECONDS);
        UnixMillis::new(seconds.saturating_mul(1000)).unwrap_or(UnixMillis::MIN)
    }

    /// The next page. A job has far fewer than 100 million pages.
    pub fn next(&self) -> Self {
        let key = JobKey { page: self.key.page + 1, ..self.key.clone() };
        Self { key, ..self.clone() }
    }
}

/// The attributes of the work. The task is in the item's key.
impl Record for JobKind {
    fn add_to(&self, item: Item) -> Item {
        match self {
            Self::Push(topic, width) | Self::Restamp(topic, width) => item.with("o", topic).with("b", width),
            Self::Remove | Self::Promote => item,
            Self::Walk(walk) => walk.add_to(item),
        }
    }

    fn decode(item: &Item) -> Result<Self, Corrupt> {
        let task = item.key_as::<JobKey>()?.job.task;
        let work = match task {
            JobTask::Push => Self::Push(item.get("o")?, item.get("b")?),
            JobTask::Restamp => Self::Restamp(item.get("o")?, item.get("b")?),
            JobTask::Remove => Self::Remove,
            JobTask::Promote => Self::Promote,
            JobTask::Backfill => Self::Walk(FeedWalk::decode(item)?),
        };
        if work.task() == task { Ok(work) } else { Err(item.corrupt("since")) }
    }
}

impl JobKind {
    const fn task(&self) -> JobTask {
        match self {
            Self::Push(..) => JobTask::Push,
            Self::Remove => JobTask::Remove,
            Self::Restamp(..) => JobTask::Restamp,
            Self::Promote => JobTask::Promote,
            Self::Walk(_) => JobTask::Backfill,
        }
    }
}

record! {
    /// A walk through a source's entries for the feed of a user who follows the source now.
    pub struct FeedWalk {
        /// The user.
        pub user: User = required(USER = "user"),
        /// The oldest entry that the walk has looked at; `None` before the first step.
        pub behind: Option<EventId> = optional("behind"),
        /// The remaining work.
        pub backfill: BackfillRest = part,
    }
}

record! {
    /// The remaining work of a backfill.
    #[derive(Copy)]
    pub struct BackfillRest {
        /// When the follow began. All entries since then are copied.
        pub since: UnixMillis = required("since"),
        /// The number of older entries that are still wanted.
        pub wanted: u16 = required("k"),
        /// The number of older entries that the walk has looked at.
        pub looked_at: u32 = required("seen"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{ID, millis};

    fn first(task: JobKind, at: UnixMillis) -> JobStep {
        JobStep::first(task, ID.parse().unwrap(), "actor:ada".parse().unwrap(), at).in_shard(7.into())
    }

    fn push() -> JobKind {
        JobKind::Push("posts".parse().unwrap(), BucketWidth::Hour)
    }

    fn walk(backfill: BackfillRest) -> JobKind {
        JobKind::Walk(FeedWalk { user: "bob".parse().unwrap(), behind: ID.parse().ok(), backfill })
    }

    fn backfill() -> BackfillRest {
        let since = millis(1_720_799_999_000);
        BackfillRest { since, wanted: 30, looked_at: 1_000 }
    }

    /// The attributes that every page has. The job follows from a change at 1,720,800,000 seconds.
    fn stored(task: &str, page: &str) -> Item {
        let pk = format!("JOB#{task}#{ID}#actor:ada#7");
        Item::from([("pk", &*pk), ("sk", page)]).with("expires_at", 1_720_972_800_u64)
    }

    #[test]
    fn golden_bytes() {
        let at = millis(1_720_800_000_999);
        let item = first(walk(backfill()), at).next().next().encode();
        let expected = stored("BACKFILL", "00000002")
            .with("user", "bob")
            .with("behind", ID)
            .with("since", 1_720_799_999_000_u64)
            .with("k", 30_u64)
            .with("seen", 1_000_u64);
        assert_eq!(item, expected);
        let item = JobStep { after: "bob".parse().ok(), ..first(push(), at) }.encode();
        let expected = stored("PUSH", "00000000").with("o", "posts").with("b", "hour").with("after", "bob");
        assert_eq!(item, expected);
    }

    #[test]
    fn a_page_of_each_job_decodes_to_itself() {
        for task in [
            push(),
            JobKind::Restamp("posts".parse().unwrap(), BucketWidth::Day),
            JobKind::Remove,
            JobKind::Promote,
            walk(backfill()),
        ] {
            let first = first(task, UnixMillis::MIN);
            for step in [JobStep { after: "bob".parse().ok(), ..first.clone() }, first] {
                assert_eq!(JobStep::decode(&step.encode()), Ok(step));
            }
        }
    }

    #[test]
    fn a_backfill_without_its_rest_is_corrupt() {
        let mut item = first(walk(backfill()), UnixMillis::MIN).encode();
        item.remove("since");
        JobStep::decode(&item).unwrap_err();
    }
}
