//! A change of one item. The stream, the expiry times, the replicas and the write units are derived from changes.

use std::sync::Arc;

use dynoxide::Item;

use crate::table::Table;

/// The effect of a call on one item that it names. If `before` and `after` are equal, the call changed nothing.
#[derive(Debug)]
pub(crate) struct Change {
    pub(crate) table: Arc<Table>,
    pub(crate) key: Item,
    pub(crate) before: Option<Item>,
    pub(crate) after: Option<Item>,
    /// True if the TTL service removed the item.
    pub(crate) expired: bool,
}
