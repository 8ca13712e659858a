//! An item's id within its table. Ids have an order.

use dynoxide::Item;

use crate::key::text;
use crate::table::Table;

/// The id of an item: the text of its key.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct ItemId {
    pub(crate) partition: String,
    pub(crate) sort: Option<String>,
}

impl ItemId {
    /// The id before all others.
    pub(crate) const FIRST: Self = Self { partition: String::new(), sort: None };

    /// The id of an item or key. `None` if a key attribute is missing.
    pub(crate) fn of(table: &Table, item: &Item) -> Option<Self> {
        let sort = match &table.key.sort {
            Some(name) => Some(text(item.get(name)?)),
            None => None,
        };
        Some(Self { partition: table.partition_of(item)?, sort })
    }
}
