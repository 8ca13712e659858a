//! A consumer is deleted, with all that was written for it.
//!
//! It is marked first, so that nothing is begun for it; its announcement goes next, so that nothing more is noted; then its
//! runs and its ledger, and at last itself. Whoever finds it marked goes on. What an earlier deletion wakes to delete is
//! of its own incarnation, or of one before.
//!
//! A batch of fan-out that had read the announcement may still note an event: an entry that nobody reads, and that a later
//! consumer of the name takes for none of its own. When the batch then finds the announcement gone, it lets the entry expire.

use aws_sdk_dynamodb::types::ReturnConsumedCapacity;
use futures_util::stream::{self, StreamExt, TryStreamExt};
use lately_keys::table::{LateEventKey, LatePageKey, RunKey};
use lately_model::Revision;

use crate::consumer::ConsumerHandle;
use crate::consumer::announcement::AnnouncementHandle;
use crate::consumer::checkpoint::{Checkpoint, incarnation};
use crate::error::TableError;
use crate::item::{Fields, Item, number, text};
use crate::limits::WRITES_AT_ONCE;

impl ConsumerHandle<'_> {
    /// Deletes a consumer. If it had so much that the time was not enough, it is to be asked for again. If there is none, that
    /// is as good.
    ///
    /// # Errors
    /// If the table could not be written, or not all of it yet.
    pub async fn delete(self) -> Result<(), TableError> {
        let consumer = self.consumer;
        let found = self.checkpoint().await?;
        let mark = |found: &Checkpoint| {
            let marked = Checkpoint { deleting: true, ..found.clone() };
            Ok::<_, TableError>((!found.deleting).then_some(marked))
        };
        let marked = self.change(found, mark).await?;
        let Some(marked) = marked else { return Ok(()) };
        AnnouncementHandle::of(self.op, &marked).delete().await?;
        let partition = consumer.to_string();
        let items = [LatePageKey::PREFIX, RunKey::PREFIX].map(|prefix| (partition.clone(), prefix));
        let entries = LateEventKey::partitions(consumer).map(|partition| (partition, ""));
        for (partition, prefix) in items.into_iter().chain(entries) {
            self.delete_all(&partition, prefix, marked.incarnation).await?;
        }
        self.delete_up_to(&Checkpoint::key(consumer), marked.incarnation).await?;
        Ok(())
    }

    /// Deletes what an incarnation, or one before it, has of a partition.
    async fn delete_all(self, partition: &str, prefix: &str, ours: Revision) -> Result<(), TableError> {
        let mut after = None;
        loop {
            let answer = self
                .op
                .table
                .query(|query| {
                    let query = query
                        .expression_attribute_values(":pk", text(partition))
                        .set_exclusive_start_key(after.clone())
                        .consistent_read(true);
                    // A prefix must not be empty.
                    match prefix {
                        "" => query.key_condition_expression("pk = :pk"),
                        _ => query
                            .key_condition_expression("pk = :pk AND begins_with(sk, :prefix)")
                            .expression_attribute_values(":prefix", text(prefix)),
                    }
                })
                .await?;
            self.op.table.meter.items(answer.items().len());
            let mut keys = Vec::new();
            for item in answer.items() {
                if incarnation(Fields(item))? <= ours {
                    keys.push(key_of(item));
                }
            }
            for keys in keys.chunks(WRITES_AT_ONCE) {
                if self.op.table.time_left().is_zero() {
                    return Err(TableError::unavailable("there is more to delete"));
                }
                let deletes: Vec<_> = keys.iter().map(|key| self.delete_up_to(key, ours)).collect();
                stream::iter(deletes).buffer_unordered(WRITES_AT_ONCE).try_collect::<()>().await?;
            }
            after = answer.last_evaluated_key;
            if after.is_none() {
                return Ok(());
            }
        }
    }

    /// Deletes an item, unless it is of a later incarnation.
    pub(super) async fn delete_up_to(self, key: &Item, ours: Revision) -> Result<(), TableError> {
        let deleted = self
            .op
            .table
            .call_if(|| {
                self.op
                    .table
                    .client
                    .delete_item()
                    .table_name(&*self.op.table.name)
                    .set_key(Some(key.clone()))
                    .condition_expression("attribute_not_exists(pk) OR incarnation <= :ours")
                    .expression_attribute_values(":ours", number(ours.get()))
                    .return_consumed_capacity(ReturnConsumedCapacity::Total)
                    .send()
            })
            .await?;
        self.op.table.meter.write(deleted.as_ref().and_then(|deleted| deleted.consumed_capacity()));
        Ok(())
    }
}

fn key_of(item: &Item) -> Item {
    let attribute = |name: &str| Some((name.to_owned(), item.get(name)?.clone()));
    ["pk", "sk"].into_iter().filter_map(attribute).collect()
}
