//! Why a timeline (of a topic, of a source, or a feed) could not be read or followed.

use lately_keys::CursorError;
use lately_table::TableError;

use crate::topic::error::TopicError;

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
