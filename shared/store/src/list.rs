//! Lists that are read page by page, and their cursors.

use lately_keys::{Cursor, CursorError, Fingerprint, Order, Position};
use lately_model::ListQuery;
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

/// A list as its cursors know it. A cursor holds the list's fingerprint, its order, and the position of the last item of a
/// page.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pager {
    pub(crate) list: Fingerprint,
    pub(crate) order: Order,
}

impl Pager {
    /// The item after which the wanted page begins; `None` for the first page. `item` reads a position of this list, and
    /// returns `None` for any other.
    pub(crate) fn after<T>(
        self,
        query: &ListQuery,
        item: impl FnOnce(Position) -> Option<T>,
    ) -> Result<Option<T>, CursorError> {
        let Some(text) = query.cursor.as_deref() else { return Ok(None) };
        let Cursor { order, position, .. } = Cursor::decode(text, self.list)?;
        item(position).filter(|_| order == self.order).ok_or(CursorError::Foreign).map(Some)
    }

    /// The cursor of the page that begins after a position.
    pub(crate) fn cursor(self, position: Position) -> String {
        Cursor { query: self.list, order: self.order, position }.to_string()
    }
}
