//! Errors that the operations of several subjects share.
//!
//! An error carries its subject: the topic that was not found, the issue whose revision differs. So a caller can report
//! the error without knowing which call caused it. Errors compose with `From`: the enum of an operation holds the
//! errors of the steps that the operation takes.

use std::error::Error;

use lately_keys::{CursorError, Topic};
use lately_table::TableError;

/// Why a subject could not be read. `N` is the error for a subject that does not exist.
#[derive(Clone, Debug, thiserror::Error)]
pub enum FindError<N: Error> {
    /// The subject does not exist.
    #[error(transparent)]
    NotFound(N),
    /// The table could not be read.
    #[error(transparent)]
    Table(#[from] TableError),
}

/// The topic does not exist, or is being deleted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no topic {topic}")]
pub struct TopicNotFound {
    /// The topic's name.
    pub topic: Topic,
    /// True if the topic is being deleted, so its name is not free yet.
    pub is_being_deleted: bool,
}

/// Why a topic could not be read.
pub type TopicError = FindError<TopicNotFound>;

/// Why a topic, a source's timeline or a feed could not be read or followed.
#[derive(Debug, thiserror::Error)]
pub enum TimelineError {
    /// The topic could not be read, or does not exist.
    #[error(transparent)]
    Topic(#[from] TopicError),
    /// The cursor cannot be read, or belongs to another query.
    #[error(transparent)]
    Cursor(#[from] CursorError),
    /// A newest-first page was asked to wait. New events are not on such a page.
    #[error("a newest-first page cannot wait")]
    NewestFirstWait,
    /// The caller has as many open streams and waiting pages as it may. The first ends after so many seconds.
    #[error("the caller has too many open streams for {0} s")]
    TooManyStreams(u32),
    /// The time of the event to wait for has not come.
    #[error("the event is in the future")]
    InFuture,
    /// The event to wait for was not visible in time.
    #[error("the event is not visible yet")]
    NotYetVisible,
    /// The table could not be read.
    #[error(transparent)]
    Table(#[from] TableError),
}
