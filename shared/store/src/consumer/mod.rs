//! Consumers: named readers of a topic, each with a checkpoint. No event that lands late is lost to them.
//!
//! A consumer reads oldest first, up to a watermark some seconds behind now. An event gets its id before it lands,
//! clocks differ, writes stall, and imports write into the past. So an event can land behind the position of a consumer
//! that has already read past it. Three parts find such an event:
//!
//! - **Announcement** (`announcement.rs`): a consumer that is about to read up to an id `to` first announces `to`
//!   durably. Then it reads the directory and the shards consistently.
//! - **Ledger** (`ledger.rs`): fan-out sees every event after the event has landed, and only then reads the
//!   announcements. An event at or before `to` is a *candidate*: the consumer may have read past it before it landed.
//!   No such event is missed: if it landed after the announcement was made, fan-out reads that announcement. Fan-out
//!   notes the candidate in the ledger, and then counts the candidate's partition.
//! - **Counters** (`items/ledger_counters.rs`): a reader looks only at partitions whose counters rose since it last settled all
//!   their entries.
//!
//! The reader decides about each candidate. A report looks the event up in the files of the run that covers it
//! (`run/late.rs`), which is exact. A poll gives an event behind the position again, as late; after the position, the
//! batch that contains the event settles its entry.
//!
//! | for | see |
//! | --- | --- |
//! | a consumer's state | `items/consumer.rs` |
//! | creating a consumer, changing its state, and its view | `status.rs` |
//! | the next batch | `poll.rs` |
//! | committing a batch, and seeking | `position.rs` |
//! | deleting a consumer | `remove.rs` |
//!
//! Two rules hold, however long a process sleeps and wherever it dies. A consumer that is deleted and created again is
//! another *incarnation*, named by the time of its creation: nothing that was begun for the first incarnation reaches
//! the second. And an announcement exists as long as its consumer does. Every item that is written for an incarnation
//! names it.

mod announcement;
mod ledger;
mod poll;
mod position;
mod remove;
mod status;

use lately_items::{Checkpoint, ConsumerKey, INCARNATION, Run};
use lately_keys::CursorError;
use lately_model::Revision;
use lately_table::{Condition, TableError};

use crate::error::TopicError;
use crate::handle::Incarnation;
use crate::limits::CONSUMERS;
use crate::op::Op;

/// The topic has no such consumer, or the consumer is being deleted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the topic {} has no consumer {}", consumer.topic, consumer.name)]
pub struct ConsumerNotFound {
    /// The consumer that was asked for.
    pub consumer: ConsumerKey,
}

/// Why a consumer could not be read or changed, or its runs could not be listed.
#[derive(Debug, thiserror::Error)]
pub enum ConsumerError {
    /// The topic could not be read, or does not exist.
    #[error(transparent)]
    Topic(#[from] TopicError),
    /// The consumer does not exist.
    #[error(transparent)]
    NotFound(#[from] ConsumerNotFound),
    /// The batch is not the outstanding one.
    #[error("the batch is not the outstanding one")]
    StaleBatch,
    /// The topic has the highest permitted number of consumers.
    #[error("the topic already has {CONSUMERS} consumers")]
    TooManyConsumers,
    /// The consumer produces reports, so only runs move its position.
    #[error("the consumer produces reports and cannot be polled")]
    HasRuns,
    /// The cursor does not belong to this list.
    #[error(transparent)]
    Cursor(#[from] CursorError),
    /// The table could not be read or written.
    #[error(transparent)]
    Table(#[from] TableError),
}

/// A consumer that exists and is not being deleted.
pub(crate) fn existing(
    found: Option<Checkpoint>,
    consumer: &ConsumerKey,
) -> Result<Checkpoint, ConsumerNotFound> {
    let found = found.filter(|found| !found.deleting);
    found.ok_or_else(|| ConsumerNotFound { consumer: consumer.clone() })
}

impl<'a> Incarnation<'a> {
    pub(crate) const fn of(op: &'a Op, checkpoint: &'a Checkpoint) -> Self {
        Self { op, consumer: &checkpoint.consumer, incarnation: checkpoint.incarnation }
    }

    pub(crate) const fn of_run(op: &'a Op, run: &'a Run) -> Self {
        Self { op, consumer: &run.consumer, incarnation: run.incarnation }
    }
}

/// The condition that an item belongs to an incarnation of a consumer.
pub(crate) fn is_of(incarnation: Revision) -> Condition {
    Condition::equals(INCARNATION, &incarnation)
}
