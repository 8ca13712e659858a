//! Errors that the operations of several subjects share.
//!
//! An error carries its subject: the topic that was not found, the issue whose revision differs. So a caller can report the
//! error without knowing which call caused it. Errors compose with `From`: the enum of an operation holds the errors of the
//! steps that the operation takes.

use std::error::Error;
use std::fmt::Display;

use crate::item::Corrupt;

/// DynamoDB could not be reached, or refused the calls, for as long as the operation may take.
#[derive(Clone, Debug, thiserror::Error)]
#[error("DynamoDB is not available: {cause}")]
pub struct Unavailable {
    cause: String,
}

/// The table could not be read or written.
#[derive(Clone, Debug, thiserror::Error)]
pub enum TableError {
    /// A later attempt can succeed.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
    /// A stored item does not have the form that its key promises.
    #[error(transparent)]
    Corrupt(#[from] Corrupt),
}

impl TableError {
    /// DynamoDB did not do what the operation needs.
    pub(crate) fn unavailable(cause: impl Display) -> Self {
        Self::Unavailable(Unavailable { cause: cause.to_string() })
    }
}

/// Why one thing could not be read: `N` says which thing does not exist.
#[derive(Clone, Debug, thiserror::Error)]
pub enum FindError<N: Error> {
    /// The thing does not exist.
    #[error(transparent)]
    NotFound(N),
    /// The table could not be read.
    #[error(transparent)]
    Table(#[from] TableError),
}
