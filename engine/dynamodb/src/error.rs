//! The errors of opening an engine and of creating a table.

use std::path::PathBuf;

use dynoxide::DynoxideError;

use crate::api_error::ApiError;
use crate::directory_lock::Holder;

/// The engine could not be opened, or could not create a table.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The directory cannot be used.
    #[error("the directory cannot be used: {0}")]
    Directory(#[from] std::io::Error),
    /// Another process uses the directory.
    #[error("{} is in use by {holder}", directory.display())]
    InUse {
        /// The directory.
        directory: PathBuf,
        /// The process that uses it.
        holder: Holder,
    },
    /// The database failed.
    #[error("the database failed: {0}")]
    Database(#[from] DynoxideError),
    /// DynamoDB would refuse the request. The text is the body of its response.
    #[error("refused: {0}")]
    Refused(String),
}

impl From<ApiError> for EngineError {
    fn from(error: ApiError) -> Self {
        Self::Refused(error.body)
    }
}
