//! What a call did to one item: the fact that stream, expiry times, replicas and partitions follow from.

use std::sync::Arc;

use dynoxide::Item;

use crate::table::Table;

/// What a call did to one item it named; nothing, where both sides are equal.
#[derive(Debug)]
pub(crate) struct Change {
    pub(crate) table: Arc<Table>,
    pub(crate) key: Item,
    pub(crate) before: Option<Item>,
    pub(crate) after: Option<Item>,
    /// The TTL service made it.
    pub(crate) expired: bool,
}
