//! Report runs: a run is a range of a topic that is stored before it is read, and reported exactly once.
//!
//! A consumer has one run at a time. Each run takes these steps, and every process may repeat each of them:
//!
//! 1. **Begin** (`begin.rs`): one transaction writes the run and marks the consumer as running. The run names its range,
//!    and the items of the topic's late log that it reads. Any process that finds the run without a valid lease continues
//!    it.
//! 2. **Late** (`late.rs`): the events of the log that may have landed behind earlier runs are looked up in the files of
//!    those runs. The run reports those that are in no file.
//! 3. **Read** (`range.rs`): the late events by their ids, then the range.
//! 4. **Attempt**: each attempt writes files under names of its own. The store has no part in this.
//! 5. **Commit** (`commit.rs`): one conditional write names the attempt whose files are the run's.
//! 6. **Finish** (`commit.rs`): once the files have their final names, the consumer's position moves to the range's end,
//!    and its place in the log to the last item that the run has read. Only then can the next run begin.
//!
//! A step that runs hours late either repeats work that is done already, or fails its condition. A lease only keeps two
//! processes from doing the same work at the same time; nothing but progress depends on it.

mod begin;
mod commit;
mod cover;
mod late;
mod list;

use lately_table::TableError;

use crate::consumer::ConsumerNotFound;
use crate::error::TopicError;

pub use begin::Begun;
pub use late::LookUp;

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
