//! Report runs: a range of a topic, written down before it is read, and reported exactly once.
//!
//! One run at a time, in steps, each of which anyone may do again:
//!
//! 1. **Begin** (`begin.rs`): one transaction writes the run, marks the consumer as running, and announces the range's end.
//!    A run that was begun is continued by whoever finds that nobody has its lease.
//! 2. **Late** (`late.rs`): what landed behind the earlier runs is looked up in their files; what is in none is written
//!    down in create-only pages: the list that every attempt reports.
//! 3. **Read** (`range.rs`): the late events by their ids, then the range.
//! 4. **Attempt**: files under names of its own, which is not the table's business.
//! 5. **Commit** (`commit.rs`): one conditional write names the attempt whose files are the run's.
//! 6. **Finish** (`finish.rs`): when they have their final names, the late events are marked as settled by this run, and
//!    the consumer stands at the range's end. Only then can the next run begin.
//!
//! What must hold: a step that is done hours late repeats what is done already, or fails its condition. A lease only keeps
//! two from doing the same work at once; nothing depends on it but progress.

mod begin;
mod commit;
pub(crate) mod cover;
mod finish;
mod late;
mod list;

use lately_keys::table::{ConsumerKey, RunKey};
use lately_keys::{EventId, Place, TableKey, UnixMillis};
use lately_model::{GroupBy, Revision, RunSpec};

use crate::consumer::ConsumerNotFound;
use crate::consumer::checkpoint::incarnation;
use crate::consumer::counters::Counters;
use crate::error::TableError;
use crate::item::{Corrupt, Fields, Item, keyed, number, text};
use crate::op::Op;
use crate::topic::TopicError;

pub use begin::Begun;
pub use late::{LateError, LookUp};

/// A report run.
///
/// ```text
/// CONSUMER#{topic}#{name} / RUN#{to}
///   incarnation N, from S (an id), announced_at N (milliseconds), group_by S, sum S?
///   seen L, known L (16 N each: the ledger's counters when it was announced, and what of them was dealt with)
///   lease N (until when someone is at work, in milliseconds; 0 if it is to be continued at once), holder N (random bits)
///   while it is under way:  progress S? (an object's name), progress_at S? (an id), progress_events N?
///   once it is committed:   attempt S, events N, late N, bytes N, committed_at N
/// ```
///
/// It never expires: an import into any past looks it up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// Whose it is.
    pub consumer: ConsumerKey,
    /// Which of the consumers of that name.
    pub incarnation: Revision,
    /// It reports what is behind this …
    pub from: EventId,
    /// … up to this.
    pub to: EventId,
    /// When it was announced, by the clock of who did.
    pub announced_at: UnixMillis,
    /// What it counts.
    pub spec: RunSpec,
    /// How far it came.
    pub progress: Option<Progress>,
    /// What it came to.
    pub committed: Option<CommittedRun>,
    pub(crate) lease: UnixMillis,
    pub(crate) holder: u64,
    pub(crate) seen: Counters,
    pub(crate) known: Counters,
}

/// How far a run came, and where that is written down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Progress {
    /// The object that says so.
    pub object: String,
    /// Everything up to this event is done.
    pub position: EventId,
    /// How many events that was.
    pub events: u64,
}

/// What a run came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommittedRun {
    /// The attempt whose files are the run's.
    pub attempt: String,
    /// How many events it reports, late ones included.
    pub events: u64,
    /// How many of them are late.
    pub late: u64,
    /// How large the events' file is.
    pub bytes: u64,
    /// When it was committed, by the clock of who did.
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

impl Run {
    pub(crate) fn key(&self) -> Item {
        Self::key_of(&self.consumer, self.to)
    }

    pub(crate) fn key_of(consumer: &ConsumerKey, to: EventId) -> Item {
        keyed(Place::Table, RunKey { consumer: consumer.clone(), to }.encode())
    }

    /// The partitions of the ledger that this run looks at.
    pub(crate) fn touched(&self) -> Vec<u8> {
        self.seen.risen_since(&self.known)
    }

    /// A run that is begun: it has no progress yet.
    pub(crate) fn encode(&self) -> Item {
        let mut item = self.key();
        item.extend(
            [
                ("incarnation", number(self.incarnation.get())),
                ("from", text(self.from.to_string())),
                ("announced_at", number(self.announced_at.get())),
                ("group_by", text(self.spec.group_by.as_str())),
                ("seen", self.seen.encode()),
                ("known", self.known.encode()),
                ("lease", number(self.lease.get())),
                ("holder", number(self.holder)),
            ]
            .map(|(name, value)| (name.to_owned(), value)),
        );
        if let Some(sum) = &self.spec.sum {
            item.insert("sum".to_owned(), text(sum.as_str()));
        }
        item
    }

    pub(crate) fn decode(item: &Item) -> Result<Self, Corrupt> {
        let fields = Fields(item);
        let key = RunKey::decode(fields.text("pk")?, fields.text("sk")?);
        let RunKey { consumer, to } = key.ok_or_else(|| fields.corrupt("sk"))?;
        let group_by: GroupBy = fields.parsed("group_by")?;
        let progress = match fields.optional_text("progress")? {
            None => None,
            Some(object) => Some(Progress {
                object: object.to_owned(),
                position: fields.parsed("progress_at")?,
                events: fields.number("progress_events")?,
            }),
        };
        let committed = match fields.optional_text("attempt")? {
            None => None,
            Some(attempt) => Some(CommittedRun {
                attempt: attempt.to_owned(),
                events: fields.number("events")?,
                late: fields.number("late")?,
                bytes: fields.number("bytes")?,
                committed_at: fields.millis("committed_at")?,
            }),
        };
        Ok(Self {
            consumer,
            incarnation: incarnation(fields)?,
            from: fields.parsed("from")?,
            to,
            announced_at: fields.millis("announced_at")?,
            spec: RunSpec { group_by, sum: fields.optional_parsed("sum")? },
            progress,
            committed,
            lease: fields.millis("lease")?,
            holder: fields.number("holder")?,
            seen: Counters::decode(item, "seen")?,
            known: Counters::decode(item, "known")?,
        })
    }
}

#[cfg(test)]
mod tests;
