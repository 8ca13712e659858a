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

use lately_keys::limits::JOB_PAGE;
use lately_keys::{EventId, Key, Place, Shard, Source, TableKey};

use crate::form::{EightDigits, Form, Text};
use crate::key::key;

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
