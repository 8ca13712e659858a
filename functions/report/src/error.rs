//! Why a run could not continue.

use lately_store::{RunError, TableError, TopicError};

use crate::event::EventError;
use crate::output::OutputError;

/// The reason why a run could not continue. The next invocation continues it.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// The event that names the run is not one of ours.
    #[error(transparent)]
    Event(#[from] EventError),
    /// The topic could not be read, or does not exist.
    #[error(transparent)]
    Topic(#[from] TopicError),
    /// The run could not be begun, committed or finished.
    #[error(transparent)]
    Run(#[from] RunError),
    /// A call to the output failed.
    #[error("the output: {0}")]
    Output(#[from] OutputError),
    /// A call to the table failed.
    #[error("the table: {0}")]
    Table(#[from] TableError),
}
