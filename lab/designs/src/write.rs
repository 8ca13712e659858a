//! Writes events: a put for one event, calls of 25 for many.
//!
//! No design checks whether a key is in use: an event replaces another event with the same key, without an error.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use futures_util::stream::{self, StreamExt, TryStreamExt};
use lately_table::limits::{BATCH_ITEMS, BATCHES_AT_ONCE};
use lately_table::{Cost, Item, Table, TableError};

use crate::DesignTable;
use crate::keys::WriteKey;

impl DesignTable {
    /// Writes events. If several have the same key, the last of them stays, as if they were written one after another.
    ///
    /// # Errors
    /// If not all could be written. All of them may safely be written again, because their keys stay the same.
    pub async fn write(
        &self,
        events: impl IntoIterator<Item = (WriteKey, Item)>,
    ) -> Result<Cost, TableError> {
        let table = self.connection.begin();
        let mut indexes: HashMap<WriteKey, usize> = HashMap::new();
        let mut items: Vec<Item> = Vec::new();
        for (key, item) in events {
            let item = self.keys.keyed(item, &key.pk, &key.sk);
            match indexes.entry(key) {
                Entry::Occupied(index) => items[*index.get()] = item,
                Entry::Vacant(index) => {
                    index.insert(items.len());
                    items.push(item);
                }
            }
        }
        match &*items {
            [only] => table.put(only).await?,
            many => {
                let puts: Vec<_> = many.chunks(BATCH_ITEMS).map(|items| put_batch(items, &table)).collect();
                stream::iter(puts).buffer_unordered(BATCHES_AT_ONCE).try_collect::<()>().await?;
            }
        }
        Ok(table.meter().total())
    }
}

async fn put_batch(items: &[Item], table: &Table) -> Result<(), TableError> {
    let batch: Vec<&Item> = items.iter().collect();
    let unwritten = table.put_many(&batch).await?;
    let puts: Vec<_> = unwritten.into_iter().map(|index| table.put(&items[index])).collect();
    stream::iter(puts).buffer_unordered(BATCH_ITEMS).try_collect().await
}
