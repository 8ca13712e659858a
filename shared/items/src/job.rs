//! A page of fan-out work, stored in the table and run from the table's stream.
//!
//! ```text
//! table   pk  JOB#{task}#{id}#{source}#{n}    sk  {page, 8 digits}
//!   after S? (the page begins after this follower), expires_at N
//!   push, restamp: o S, b S (the topic of the event that the job is named after, and the width of its buckets)
//!   remove, promote: no further attributes
//!   cleanup, backfill: user S, behind S? (the id of the oldest entry that was looked at)
//!   backfill: since N (when the follow began), k N (older entries still wanted), seen N (older entries looked at)
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
//! promotion's pages wait for each other, because the last page says that all are done. The pages of a cleanup and of a
//! backfill are the steps of one walk (the store's `fan_out/kinds/`): each step puts the next page when it ends.

use std::fmt;

use lately_keys::limits::JOB_PAGE;
use lately_keys::{BucketWidth, EventId, Key, Place, Shard, Source, TableKey, Topic, UnixMillis, User};

use crate::form::{EightDigits, Form, Text};
use crate::item::{Corrupt, EXPIRES_AT, Item};
use crate::key::key;
use crate::limits::JOB_SECONDS;
use crate::record::{Record, record};
use crate::work::Step;

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
        /// Deletes the source's entries from the feed of a user who no longer follows it.
        Cleanup = "CLEANUP",
        /// Copies the source's entries into the feed of a new follower.
        Backfill = "BACKFILL",
    }
}

key! {
    /// One job: a task for one shard of a source's followers. Its text is the partition of the job's pages.
    pub struct Job {
        /// The task.
        pub task: JobTask,
        /// The event that is pushed or removed. For a promotion, the id that marks its start. For a cleanup or a
        /// backfill, an id made from the stream record that requested it.
        pub id: EventId,
        /// The source whose followers the task is for.
        pub source: Source,
        /// The shard of the followers.
        pub shard: Shard,
    }
    text "JOB#{task}#{id}#{source}#{shard}"
}

/// The number of a job's page, counted from 0.
///
/// ```
/// use lately_items::JobPage;
///
/// assert_eq!(JobPage::default().next().unwrap().to_string(), "00000001");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JobPage(u32);

impl JobPage {
    /// A page by its number; none above 99,999,999.
    pub fn new(page: u32) -> Option<Self> {
        (page <= JOB_PAGE).then_some(Self(page))
    }

    /// The page's number.
    pub const fn get(self) -> u32 {
        self.0
    }

    /// The page after this one; none after page 99,999,999.
    pub fn next(self) -> Option<Self> {
        Self::new(self.0 + 1)
    }
}

impl fmt::Display for JobPage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:08}", self.0)
    }
}

impl Form<JobPage> for Text {
    fn read(text: &str) -> Option<JobPage> {
        EightDigits::read(text).map(JobPage)
    }
}

key! {
    /// The item that holds one page of a job.
    pub struct JobKey {
        /// The job.
        pub job: Job,
        /// The page.
        pub page: JobPage,
    }
    Table: pk "{job}" sk "{page}"
}

/// The item that marks a page of a job whose run has begun.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct BegunKey(pub JobKey);

impl BegunKey {
    /// The mark's item, which expires with its page.
    pub fn item(&self, expires_at: u64) -> Item {
        Item::at(self).with(EXPIRES_AT, expires_at)
    }
}

impl TableKey for BegunKey {
    const PLACE: Place = Place::Table;

    fn encode(&self) -> Key {
        let Key { pk, sk } = self.0.encode();
        Key { pk, sk: format!("{sk}#BEGUN") }
    }

    fn decode(pk: &str, sk: &str) -> Option<Self> {
        JobKey::decode(pk, sk.strip_suffix("#BEGUN")?).map(Self)
    }
}

/// A page of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobStep {
    /// The page's key.
    pub key: JobKey,
    /// The page begins after this follower.
    pub after: Option<User>,
    /// When the page expires, in unix seconds.
    pub expires_at: u64,
    /// The work.
    pub task: JobKind,
}

/// The work of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobKind {
    /// Work for the followers of a page.
    Page(PageTask),
    /// Work for one user, in steps.
    Walk(FeedWalk),
}

/// The work for each follower of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PageTask {
    /// Writes the event's entry.
    Push(Topic, BucketWidth),
    /// Deletes the entry of the event that the job is named after.
    Remove,
    /// Gives the entry the expiry of its event.
    Restamp(Topic, BucketWidth),
    /// Puts a pull marker.
    Promote,
}

impl JobStep {
    /// The first page of a job that follows from a change: of the first shard of a source's followers.
    pub fn first(task: JobKind, id: EventId, source: Source, changed_at: UnixMillis) -> Self {
        let job = Job { task: task.task(), id, source, shard: Shard::from(0) };
        let key = JobKey { job, page: JobPage::default() };
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

    /// The next page; `None` after page 99,999,999.
    pub fn next(&self) -> Option<Self> {
        let key = JobKey { page: self.key.page.next()?, ..self.key.clone() };
        Some(Self { key, ..self.clone() })
    }
}

impl Step for JobStep {
    fn key(&self) -> impl TableKey {
        self.key.clone()
    }
}

impl Record for JobStep {
    fn add_to(&self, item: Item) -> Item {
        let item = item.with_some("after", self.after.as_ref()).with(EXPIRES_AT, self.expires_at);
        match &self.task {
            JobKind::Page(PageTask::Push(topic, width) | PageTask::Restamp(topic, width)) => {
                item.with("o", topic).with("b", width)
            }
            JobKind::Page(PageTask::Remove | PageTask::Promote) => item,
            JobKind::Walk(walk) => walk.add_to(item),
        }
    }

    fn decode(item: &Item) -> Result<Self, Corrupt> {
        let key: JobKey = item.key_as()?;
        let task = match key.job.task {
            JobTask::Push => JobKind::Page(PageTask::Push(item.get("o")?, item.get("b")?)),
            JobTask::Restamp => JobKind::Page(PageTask::Restamp(item.get("o")?, item.get("b")?)),
            JobTask::Remove => JobKind::Page(PageTask::Remove),
            JobTask::Promote => JobKind::Page(PageTask::Promote),
            JobTask::Cleanup => JobKind::Walk(FeedWalk::decode(item, WalkPurpose::Cleanup)?),
            JobTask::Backfill => {
                let backfill = WalkPurpose::Backfill(BackfillRest::decode(item)?);
                JobKind::Walk(FeedWalk::decode(item, backfill)?)
            }
        };
        Ok(Self { key, after: item.optional("after")?, expires_at: item.get(EXPIRES_AT)?, task })
    }
}

impl JobKind {
    const fn task(&self) -> JobTask {
        match self {
            Self::Page(PageTask::Push(..)) => JobTask::Push,
            Self::Page(PageTask::Remove) => JobTask::Remove,
            Self::Page(PageTask::Restamp(..)) => JobTask::Restamp,
            Self::Page(PageTask::Promote) => JobTask::Promote,
            Self::Walk(FeedWalk { purpose: WalkPurpose::Cleanup, .. }) => JobTask::Cleanup,
            Self::Walk(FeedWalk { purpose: WalkPurpose::Backfill(_), .. }) => JobTask::Backfill,
        }
    }
}

/// A walk: its user, its purpose, and how far it has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FeedWalk {
    /// The user.
    pub user: User,
    /// The oldest entry that the walk has looked at; `None` before the first step.
    pub behind: Option<EventId>,
    /// Why the entries are walked through.
    pub purpose: WalkPurpose,
}

/// Why a user's entries are walked through.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WalkPurpose {
    /// The user no longer follows the source.
    Cleanup,
    /// The user follows the source.
    Backfill(BackfillRest),
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

impl FeedWalk {
    fn add_to(&self, item: Item) -> Item {
        let item = item.with("user", &self.user).with_some("behind", self.behind.as_ref());
        match &self.purpose {
            WalkPurpose::Cleanup => item,
            WalkPurpose::Backfill(rest) => rest.add_to(item),
        }
    }

    fn decode(item: &Item, purpose: WalkPurpose) -> Result<Self, Corrupt> {
        Ok(Self { user: item.get("user")?, behind: item.optional("behind")?, purpose })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "0190a4cd-d3e7-7222-9f99-fdb74feee752";

    fn first(task: JobKind, at: UnixMillis) -> JobStep {
        JobStep::first(task, ID.parse().unwrap(), "actor:ada".parse().unwrap(), at).in_shard(7.into())
    }

    fn push() -> JobKind {
        JobKind::Page(PageTask::Push("posts".parse().unwrap(), BucketWidth::Hour))
    }

    fn walk(purpose: WalkPurpose) -> JobKind {
        JobKind::Walk(FeedWalk { user: "bob".parse().unwrap(), behind: Some(ID.parse().unwrap()), purpose })
    }

    fn backfill() -> WalkPurpose {
        let since = UnixMillis::new(1_720_799_999_000).unwrap();
        WalkPurpose::Backfill(BackfillRest { since, wanted: 30, looked_at: 1_000 })
    }

    /// The attributes that every page has. The job follows from a change at 1,720,800,000 seconds.
    fn stored(task: &str, page: &str) -> Item {
        let pk = format!("JOB#{task}#{ID}#actor:ada#7");
        Item::from([("pk", &*pk), ("sk", page)]).with("expires_at", 1_720_972_800_u64)
    }

    #[test]
    fn golden_bytes_of_a_walk() {
        let at = UnixMillis::new(1_720_800_000_999).unwrap();
        let item = first(walk(backfill()), at).next().unwrap().next().unwrap().encode();
        let expected = stored("BACKFILL", "00000002")
            .with("user", "bob")
            .with("behind", ID)
            .with("since", 1_720_799_999_000_u64)
            .with("k", 30_u64)
            .with("seen", 1_000_u64);
        assert_eq!(item, expected);
        let item = first(walk(WalkPurpose::Cleanup), at).encode();
        assert_eq!(item, stored("CLEANUP", "00000000").with("user", "bob").with("behind", ID));
    }

    #[test]
    fn golden_bytes() {
        let at = UnixMillis::new(1_720_800_000_999).unwrap();
        let item = JobStep { after: "bob".parse().ok(), ..first(push(), at) }.encode();
        let expected = stored("PUSH", "00000000").with("o", "posts").with("b", "hour").with("after", "bob");
        assert_eq!(item, expected);
    }

    #[test]
    fn a_page_of_each_job_decodes_to_itself() {
        for task in [
            push(),
            JobKind::Page(PageTask::Restamp("posts".parse().unwrap(), BucketWidth::Day)),
            JobKind::Page(PageTask::Remove),
            JobKind::Page(PageTask::Promote),
            walk(WalkPurpose::Cleanup),
            walk(backfill()),
        ] {
            let first = first(task, UnixMillis::MIN);
            for step in [JobStep { after: "bob".parse().ok(), ..first.clone() }, first] {
                assert_eq!(JobStep::decode(&step.encode()), Ok(step));
            }
        }
    }
}
