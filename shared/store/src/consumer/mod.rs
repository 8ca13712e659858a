//! Consumers: named readers of a topic, each with a checkpoint. No event that lands late is lost to them.
//!
//! A consumer reads oldest first, up to a watermark some seconds behind now. An event can land behind the position of a
//! consumer that has already read past it. The topic's late log (`late_log/`) names such events, and the consumer reads
//! the log from a place of its own.
//!
//! The reader decides about each late event. A report looks the event up in the files of the run that covers it
//! (`run/late.rs`), which is exact. A poll gives an event behind the position again, as late (`poll.rs`).
//!
//! | for | see |
//! | --- | --- |
//! | a consumer's state | `items/consumer.rs` |
//! | what fan-out must know of a consumer | `announcement.rs` |
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
mod poll;
mod position;
mod remove;
mod status;

use lately_items::{Checkpoint, ConsumerKey};
use lately_keys::CursorError;
use lately_table::TableError;

use crate::error::TopicError;
use crate::limits::CONSUMERS;

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
