//! Report runs: a run is a range of a topic that is stored before it is read, and reported exactly once.
//!
//! A consumer has one run at a time. Each run takes these steps, and every process may repeat each of them:
//!
//! 1. **Begin** (`begin.rs`): one transaction writes the run, marks the consumer as running, and announces the range's
//!    end. Any process that finds the run without a valid lease continues it.
//! 2. **Late** (`late.rs`): the candidates that may have landed behind earlier runs are looked up in the files of those
//!    runs. Those that are in no file are written to create-only pages: the list that every attempt reports.
//! 3. **Read** (`range.rs`): the late events by their ids, then the range.
//! 4. **Attempt**: each attempt writes files under names of its own. The store has no part in this.
//! 5. **Commit** (`commit.rs`): one conditional write names the attempt whose files are the run's.
//! 6. **Finish** (`commit.rs`): once the files have their final names, the run settles its late events, and the
//!    consumer's position moves to the range's end. Only then can the next run begin.
//!
//! A step that runs hours late either repeats work that is done already, or fails its condition. A lease only keeps two
//! processes from doing the same work at the same time; nothing but progress depends on it.

mod begin;
mod commit;
pub(crate) mod cover;
mod late;
mod list;

use lately_items::{ConsumerKey, RunKey};
use lately_keys::{EventId, UnixMillis};
use lately_model::{Revision, RunSpec, SumField};
use lately_table::{Corrupt, Item, TableError};

use crate::consumer::ConsumerNotFound;
use crate::consumer::checkpoint::incarnation;
use crate::consumer::counters::Counters;
use crate::op::Op;
use crate::topic::error::TopicError;

pub use begin::Begun;
pub use late::{LateError, LookUp};

/// A report run.
///
/// ```text
/// CONSUMER#{topic}#{name} / RUN#{to}
///   incarnation N, from S (an id), announced_at N (milliseconds), group_by S, sum S?
///   seen L, known L (16 N each: the ledger's counters when the run was announced, and those that were dealt with then)
///   lease N (the end of the lease, in milliseconds; 0 if any process may continue at once), holder N (random bits)
///   while it is under way:  progress S? (an object's name), progress_at S? (an id), progress_events N?
///   once it is committed:   attempt S, events N, late N, bytes N, committed_at N
/// ```
///
/// A run never expires: an import into the past looks up the run that covers an event, however old.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// The consumer.
    pub consumer: ConsumerKey,
    /// The incarnation of the consumer.
    pub incarnation: Revision,
    /// The run reports the events after this id …
    pub from: EventId,
    /// … up to this id.
    pub to: EventId,
    /// When the run was announced, by the clock of the process that did.
    pub announced_at: UnixMillis,
    /// The grouping and the sum of the run's summary.
    pub spec: RunSpec,
    /// The run's progress, if a process has stored any.
    pub progress: Option<Progress>,
    /// The run's result, once it is committed.
    pub committed: Option<CommittedRun>,
    pub(crate) lease: UnixMillis,
    pub(crate) holder: u64,
    pub(crate) seen: Counters,
    pub(crate) known: Counters,
}

/// The progress of a run, and the object that holds the intermediate result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Progress {
    /// The object's name.
    pub object: String,
    /// All events up to this one are processed.
    pub position: EventId,
    /// The number of processed events.
    pub events: u64,
}

/// The result of a committed run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommittedRun {
    /// The attempt whose files are the run's.
    pub attempt: String,
    /// The number of events that the run reports, late ones included.
    pub events: u64,
    /// The number of late events among them.
    pub late: u64,
    /// The size of the events' file.
    pub bytes: u64,
    /// When the run was committed, by the clock of the process that did.
    pub committed_at: UnixMillis,
}

/// Why a run could not go on.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The topic could not be read, or does not exist.
    #[error(transparent)]
    Topic(#[from] TopicError),
    /// The consumer does not exist, or is being deleted.
    #[error(transparent)]
    NotFound(#[from] ConsumerNotFound),
    /// The consumer is polled and cannot produce reports.
    #[error("the consumer is polled and cannot produce reports")]
    HasPolls,
    /// A run can be finished only after its commit.
    #[error("the run is not committed and cannot be finished")]
    NotCommitted,
    /// The table could not be read or written.
    #[error(transparent)]
    Table(#[from] TableError),
}

/// The runs of one consumer, in one request.
#[derive(Clone, Copy, Debug)]
pub struct RunsHandle<'a> {
    pub(crate) op: &'a Op,
    pub(crate) consumer: &'a ConsumerKey,
}

/// One run, in one request.
#[derive(Clone, Copy, Debug)]
pub struct RunHandle<'a> {
    pub(crate) op: &'a Op,
    pub(crate) run: &'a Run,
}

impl Op {
    /// The runs of a consumer that produces reports.
    pub const fn runs<'a>(&'a self, consumer: &'a ConsumerKey) -> RunsHandle<'a> {
        RunsHandle { op: self, consumer }
    }

    /// One run.
    pub const fn run<'a>(&'a self, run: &'a Run) -> RunHandle<'a> {
        RunHandle { op: self, run }
    }
}

impl Run {
    pub(crate) fn key(&self) -> RunKey {
        RunKey { consumer: self.consumer.clone(), to: self.to }
    }

    /// The partitions of the ledger that this run looks at.
    pub(crate) fn touched(&self) -> Vec<u8> {
        self.seen.risen_since(&self.known)
    }

    /// The item of a run that is being begun: it has no progress yet.
    pub(crate) fn encode(&self) -> Item {
        Item::at(&self.key())
            .with("incarnation", self.incarnation.get())
            .with("from", self.from.to_string())
            .with("announced_at", self.announced_at.get())
            .with("group_by", self.spec.group_by.as_str())
            .with_some("sum", self.spec.sum.as_ref().map(SumField::as_str))
            .with("seen", self.seen.encode())
            .with("known", self.known.encode())
            .with("lease", self.lease.get())
            .with("holder", self.holder)
    }

    pub(crate) fn decode(item: &Item) -> Result<Self, Corrupt> {
        let RunKey { consumer, to } = item.key_as()?;
        let progress = match item.optional_text("progress")? {
            None => None,
            Some(object) => Some(Progress {
                object: object.to_owned(),
                position: item.parsed("progress_at")?,
                events: item.number("progress_events")?,
            }),
        };
        let committed = match item.optional_text("attempt")? {
            None => None,
            Some(attempt) => Some(CommittedRun {
                attempt: attempt.to_owned(),
                events: item.number("events")?,
                late: item.number("late")?,
                bytes: item.number("bytes")?,
                committed_at: item.millis("committed_at")?,
            }),
        };
        Ok(Self {
            consumer,
            incarnation: incarnation(item)?,
            from: item.parsed("from")?,
            to,
            announced_at: item.millis("announced_at")?,
            spec: RunSpec { group_by: item.parsed("group_by")?, sum: item.optional_parsed("sum")? },
            progress,
            committed,
            lease: item.millis("lease")?,
            holder: item.number("holder")?,
            seen: Counters::decode(item, "seen")?,
            known: Counters::decode(item, "known")?,
        })
    }
}

#[cfg(test)]
mod tests;
