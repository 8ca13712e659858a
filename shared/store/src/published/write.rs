//! Writing: a put for one event, calls of 25 for many.
//!
//! None of the designs looks whether its key is taken: an event replaces another of its key, and nobody is told.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use futures_util::stream::{self, StreamExt, TryStreamExt};
use lately_keys::published::WriteKey;

use crate::cost::Cost;
use crate::error::TableError;
use crate::item::Item;
use crate::limits::{BATCH_ITEMS, BATCHES_AT_ONCE};
use crate::op::Op;
use crate::published::DesignTable;
use crate::published::key::Attributes;

impl DesignTable {
    /// Writes events. Of several with one key the last is written, as if they came one after another.
    ///
    /// # Errors
    /// If not all could be written. Writing all of them once more is safe: they have their keys.
    pub async fn write(
        &self,
        events: impl IntoIterator<Item = (WriteKey, Attributes)>,
    ) -> Result<Cost, TableError> {
        let op = self.store.op();
        let mut places: HashMap<WriteKey, usize> = HashMap::new();
        let mut items: Vec<Item> = Vec::new();
        for (key, mut item) in events {
            item.extend(self.keys.item(&key.pk, &key.sk));
            match places.entry(key) {
                Entry::Occupied(place) => items[*place.get()] = item,
                Entry::Vacant(place) => {
                    place.insert(items.len());
                    items.push(item);
                }
            }
        }
        match &*items {
            [only] => op.table.put_item(only).await?,
            many => {
                let puts: Vec<_> = many.chunks(BATCH_ITEMS).map(|items| self.put_batch(items, &op)).collect();
                stream::iter(puts).buffer_unordered(BATCHES_AT_ONCE).try_collect::<()>().await?;
            }
        }
        Ok(op.cost())
    }

    async fn put_batch(&self, items: &[Item], op: &Op) -> Result<(), TableError> {
        let batch: Vec<&Item> = items.iter().collect();
        let left = op.table.batch_put(&batch, [&self.keys.pk, &self.keys.sk]).await?;
        let puts: Vec<_> = left.into_iter().map(|left| op.table.put_item(&items[left])).collect();
        stream::iter(puts).buffer_unordered(BATCH_ITEMS).try_collect().await
    }
}
