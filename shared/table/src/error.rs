//! The errors of reads and writes.

use std::fmt::Display;

use lately_items::Corrupt;

/// The table could not be read or written.
#[derive(Clone, Debug, thiserror::Error)]
pub enum TableError {
    /// DynamoDB could not be reached, or refused the calls, until the operation's time was up. A later attempt can
    /// succeed. Contains the cause.
    #[error("DynamoDB is not available: {0}")]
    Unavailable(String),
    /// A key range is busy: DynamoDB refused some attempts of a call for this reason. Only the calls of an operation that
    /// gives way end so. Contains the cause.
    #[error("a key range is busy: {0}")]
    Busy(String),
    /// A stored item does not have the form that its key promises.
    #[error(transparent)]
    Corrupt(#[from] Corrupt),
}

impl TableError {
    /// The error of an operation that a later attempt may complete, with its cause.
    pub fn unavailable(cause: impl Display) -> Self {
        Self::Unavailable(cause.to_string())
    }
}
