//! Lists that are read page by page, and their cursors.

use lately_keys::{Cursor, CursorError, Fingerprint, Order, Position};
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

/// The order of a page, and the item after which it begins; no item at the start of a list. A cursor's order must be the
/// one that was asked for; without a cursor, newest first is the default.
pub(crate) fn start<T: TryFrom<Position, Error = CursorError>>(
    cursor: Option<&str>,
    list: Fingerprint,
    asked: Option<Order>,
) -> Result<(Order, Option<T>), CursorError> {
    let Some(text) = cursor else { return Ok((asked.unwrap_or(Order::NewestFirst), None)) };
    let Cursor { order, position, .. } = Cursor::decode(text, list)?;
    if asked.is_some_and(|asked| asked != order) {
        return Err(CursorError::Foreign);
    }
    match position {
        Position::Start => Ok((order, None)),
        position => Ok((order, Some(position.try_into()?))),
    }
}

/// A list as its cursors know it. A cursor holds the list's fingerprint, its order, and the position of the last item of a
/// page.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pager {
    pub(crate) list: Fingerprint,
    pub(crate) order: Order,
}

impl Pager {
    /// The item after which the wanted page begins; `None` for the first page.
    pub(crate) fn after<T: TryFrom<Position, Error = CursorError>>(
        self,
        cursor: Option<&str>,
    ) -> Result<Option<T>, CursorError> {
        Ok(start(cursor, self.list, Some(self.order))?.1)
    }

    /// The cursor of the page that begins after a position.
    pub(crate) fn cursor(self, position: Position) -> String {
        Cursor { query: self.list, order: self.order, position }.to_string()
    }
}
