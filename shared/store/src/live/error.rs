//! Why a timeline cannot be followed.

use lately_keys::CursorError;
use lately_table::TableError;

use crate::topic::error::TopicError;

/// Why a timeline cannot be followed, or no longer.
#[derive(Debug, thiserror::Error)]
pub enum LiveError {
    /// The topic could not be read, or does not exist.
    #[error(transparent)]
    Topic(#[from] TopicError),
    /// The cursor cannot be read, or belongs to another query or to newest-first pages.
    #[error(transparent)]
    Cursor(#[from] CursorError),
    /// The table could not be read.
    #[error(transparent)]
    Table(#[from] TableError),
}
