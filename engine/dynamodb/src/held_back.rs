//! Changes of a transaction that was committed and is not yet shown: DynamoDB applies a transaction item by item.
//!
//! The database holds such an item as it was before, so every plain read finds that. Whoever writes the item or reads it
//! in a transaction has the change shown first, so it is never lost and never overtaken.

use std::collections::BTreeMap;

use dynoxide::Item;

use crate::change::Change;
use crate::item_id::ItemId;
use crate::table::Table;

/// The changes, by table and item. In order, so that a seed replays.
#[derive(Debug, Default)]
pub(crate) struct HeldBack(BTreeMap<(String, ItemId), Change>);

impl HeldBack {
    /// Holds a change back. Its item has no other: a write shows an item's change before it makes another.
    pub(crate) fn add(&mut self, change: Change) {
        if let Some(id) = ItemId::of(&change.table, &change.key) {
            self.0.insert((change.table.name.clone(), id), change);
        }
    }

    pub(crate) fn take(&mut self, table: &Table, key: &Item) -> Option<Change> {
        if self.0.is_empty() {
            return None;
        }
        self.0.remove(&(table.name.clone(), ItemId::of(table, key)?))
    }

    pub(crate) fn take_all(&mut self) -> impl Iterator<Item = Change> + use<> {
        std::mem::take(&mut self.0).into_values()
    }
}
