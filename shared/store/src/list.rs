//! Lists, a page at a time: why one could not be read.

use lately_keys::CursorError;
use lately_table::TableError;

/// Why a list could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ListError {
    /// The cursor is not one of this list.
    #[error(transparent)]
    Cursor(#[from] CursorError),
    /// The table could not be read.
    #[error(transparent)]
    Table(#[from] TableError),
}
