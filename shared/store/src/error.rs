//! Errors that the operations of several subjects share.
//!
//! An error carries its subject: the topic that was not found, the issue whose revision differs. So a caller can report
//! the error without knowing which call caused it. Errors compose with `From`: the enum of an operation holds the
//! errors of the steps that the operation takes.

use std::error::Error;

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
