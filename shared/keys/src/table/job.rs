//! A page of fan-out work, stored in the table and run from the table's stream.
//!
//! ```text
//! table   pk  JOB#{task}#{id}#{source}#{n}    sk  {page, 8 digits}
//!                                             sk  {page, 8 digits}#BEGUN
//! ```
//!
//! The second item marks a page whose run has begun. A run that finds the mark repeats a run that may have died
//! half-way.
//!
//! A job's name contains only its task. So creating a job again writes the same item, which makes no stream record: a
//! job that is requested twice runs once.

use std::fmt;

use crate::id::EventId;
use crate::key::{Key, Place, TableKey};
use crate::limits::JOB_PAGE;
use crate::shard::Shard;
use crate::source::Source;
use crate::text::{canonical, eight_digits, segments};

/// The work of a job, either for each follower of its page or for one user's feed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum JobTask {
    /// Writes a copy of the event into the follower's feed.
    Push,
    /// Deletes the event's copy from the follower's feed.
    Remove,
    /// Gives the event's copy in the follower's feed the event's expiry.
    Restamp,
    /// Writes the source's pull marker into the follower's feed.
    Promote,
    /// Deletes the source's entries from the feed of a user who no longer follows it.
    Cleanup,
    /// Copies the source's entries into the feed of a new follower.
    Backfill,
}

impl JobTask {
    const ALL: [Self; 6] =
        [Self::Push, Self::Remove, Self::Restamp, Self::Promote, Self::Cleanup, Self::Backfill];

    const fn as_str(self) -> &'static str {
        match self {
            Self::Push => "PUSH",
            Self::Remove => "REMOVE",
            Self::Restamp => "RESTAMP",
            Self::Promote => "PROMOTE",
            Self::Cleanup => "CLEANUP",
            Self::Backfill => "BACKFILL",
        }
    }
}

impl fmt::Display for JobTask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One job: a task for one shard of a source's followers.
///
/// ```
/// use lately_keys::table::{Job, JobTask};
///
/// let (id, source) = ("0190a4cd-d3e7-7222-9f99-fdb74feee752".parse()?, "actor:ada".parse()?);
/// let job = Job { task: JobTask::Push, id, source, shard: 12.into() };
/// assert_eq!(job.to_string(), "JOB#PUSH#0190a4cd-d3e7-7222-9f99-fdb74feee752#actor:ada#12");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Job {
    /// The task.
    pub task: JobTask,
    /// The event that is pushed or removed. For a promotion, the id that marks its start. For a cleanup or a backfill,
    /// an id made from the stream record that requested it.
    pub id: EventId,
    /// The source whose followers the task is for.
    pub source: Source,
    /// The shard of the followers.
    pub shard: Shard,
}

impl fmt::Display for Job {
    /// The partition of the job's pages.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "JOB#{}#{}#{}#{}", self.task, self.id, self.source, self.shard)
    }
}

/// The number of a job's page, counted from 0.
///
/// ```
/// use lately_keys::table::JobPage;
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

/// The item that holds one page of a job.
///
/// ```
/// use lately_keys::TableKey;
/// use lately_keys::table::{Job, JobKey, JobPage, JobTask};
///
/// let (id, source) = ("0190a4cd-d3e7-7222-9f99-fdb74feee752".parse()?, "actor:ada".parse()?);
/// let job = Job { task: JobTask::Push, id, source, shard: 0.into() };
/// let key = JobKey { job, page: JobPage::default() }.encode();
/// assert_eq!((&*key.pk, &*key.sk), ("JOB#PUSH#0190a4cd-d3e7-7222-9f99-fdb74feee752#actor:ada#0", "00000000"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct JobKey {
    /// The job.
    pub job: Job,
    /// The page.
    pub page: JobPage,
}

impl TableKey for JobKey {
    const PLACE: Place = Place::Table;

    fn encode(&self) -> Key {
        Key { pk: self.job.to_string(), sk: self.page.to_string() }
    }

    fn decode(pk: &str, sk: &str) -> Option<Self> {
        let ["JOB", task, id, source, shard] = segments(pk)? else { return None };
        let job = Job {
            task: JobTask::ALL.into_iter().find(|known| known.as_str() == task)?,
            id: canonical(id)?,
            source: source.parse().ok()?,
            shard: canonical(shard)?,
        };
        Some(Self { job, page: JobPage(eight_digits(sk)?) })
    }
}

/// The item that marks a page of a job whose run has begun.
///
/// ```
/// use lately_keys::TableKey;
/// use lately_keys::table::{BegunKey, Job, JobKey, JobPage, JobTask};
///
/// let (id, source) = ("0190a4cd-d3e7-7222-9f99-fdb74feee752".parse()?, "actor:ada".parse()?);
/// let job = Job { task: JobTask::Backfill, id, source, shard: 0.into() };
/// let key = BegunKey(JobKey { job, page: JobPage::default() }).encode();
/// assert_eq!(&*key.sk, "00000000#BEGUN");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct BegunKey(pub JobKey);

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
