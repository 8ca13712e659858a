//! Changes of committed transactions that are not shown yet. DynamoDB too applies a transaction item by item.
//!
//! The database holds the item as it was before the transaction, so every other read returns that state. A write to the
//! item, or a read of it in a transaction, first shows the change. So no change is lost or overtaken by a later one.

use std::collections::BTreeMap;

use dynoxide::Item;

use crate::change::Change;
use crate::item_id::ItemId;
use crate::table::Table;

/// The changes, by table and item. The map is ordered, so the same seed gives the same run.
#[derive(Debug, Default)]
pub(crate) struct HeldBack(BTreeMap<(String, ItemId), Change>);

impl HeldBack {
    /// Holds a change back. The item has no other change held back, since each write first shows the one before.
    pub(crate) fn add(&mut self, change: Change) {
        if let Some(id) = ItemId::of(&change.table, &change.key) {
            self.0.insert((change.table.name.clone(), id), change);
        }
    }

    pub(crate) fn remove(&mut self, table: &Table, key: &Item) -> Option<Change> {
        if self.0.is_empty() {
            return None;
        }
        self.0.remove(&(table.name.clone(), ItemId::of(table, key)?))
    }

    pub(crate) fn remove_all(&mut self) -> impl Iterator<Item = Change> + use<> {
        std::mem::take(&mut self.0).into_values()
    }
}
