//! The error of lists that are read page by page.

use lately_keys::CursorError;
use lately_table::TableError;

/// Why a list could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ListError {
    /// The cursor cannot be read, or belongs to another list.
    #[error(transparent)]
    Cursor(#[from] CursorError),
    /// The table could not be read.
    #[error(transparent)]
    Table(#[from] TableError),
}
