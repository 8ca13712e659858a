//! An index of the items' TTL attributes, soonest first.
//!
//! Every change updates the index, so a sweep reads exactly the expired items. When TTL is switched on or a directory is
//! opened, the index lacks the items that exist already. Each sweep first adds a page of them. An item that changes before
//! or after its page is added is in the index all the same, because changes and pages run under one lock.

use std::collections::{BTreeMap, HashMap};

use dynoxide::Item;

use crate::change::Change;
use crate::item_id::ItemId;

/// The items with a TTL, by the time at which they expire, in epoch seconds.
#[derive(Debug, Default)]
pub(crate) struct Expiry {
    tables: HashMap<String, BTreeMap<(u64, ItemId), Item>>,
    /// The tables with items that are not indexed yet, each with the key after which these begin.
    unindexed: BTreeMap<String, Option<Item>>,
}

impl Expiry {
    pub(crate) fn observe(&mut self, change: &Change) {
        let Change { table, key, .. } = change;
        let at = |image: &Option<Item>| table.expires_at(image.as_ref()?);
        let (before, after) = (at(&change.before), at(&change.after));
        if before == after {
            return;
        }
        let Some(id) = ItemId::of(table, key) else { return };
        let due = self.tables.entry(table.name.clone()).or_default();
        if let Some(at) = before {
            due.remove(&(at, id.clone()));
        }
        if let Some(at) = after {
            due.insert((at, id), key.clone());
        }
    }

    /// Notes that a table's items are not indexed yet.
    pub(crate) fn index(&mut self, table: &str) {
        self.unindexed.insert(table.to_owned(), None);
    }

    /// A table with items that are not indexed yet, and the key after which these begin.
    pub(crate) fn next_page(&self) -> Option<(String, Option<Item>)> {
        self.unindexed.first_key_value().map(|(table, after)| (table.clone(), after.clone()))
    }

    /// Notes that a table's items are indexed up to a key. `None`: all of them.
    pub(crate) fn indexed_up_to(&mut self, table: &str, key: Option<Item>) {
        match key {
            Some(key) => drop(self.unindexed.insert(table.to_owned(), Some(key))),
            None => drop(self.unindexed.remove(table)),
        }
    }

    pub(crate) fn drop_table(&mut self, table: &str) {
        self.tables.remove(table);
        self.unindexed.remove(table);
    }

    /// The keys of up to `limit` items whose time lies in `from..=until`, of all tables.
    pub(crate) fn due(&self, from: u64, until: u64, limit: usize) -> Vec<(String, Item)> {
        self.tables
            .iter()
            .flat_map(|(table, due)| {
                let start = (from, ItemId::FIRST);
                due.range(start..)
                    .take_while(|((at, _), _)| *at <= until)
                    .map(|(_, key)| (table.clone(), key.clone()))
            })
            .take(limit)
            .collect()
    }

    /// The number of items with a TTL.
    pub(crate) fn len(&self) -> usize {
        self.tables.values().map(BTreeMap::len).sum()
    }
}
