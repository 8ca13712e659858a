//! One item by its key, whatever stands there: read, put, deleted.

use aws_sdk_dynamodb::types::ReturnConsumedCapacity;

use crate::call::{Failed, Operation, TableError, Unavailable};
use crate::item::Item;
use crate::store::Store;

impl Store {
    /// An item by its key, read consistently.
    pub(crate) async fn get_item(
        &self,
        key: Item,
        operation: &Operation<'_>,
    ) -> Result<Option<Item>, TableError> {
        self.read_item(key, true, operation).await
    }

    /// An item by its key.
    pub(crate) async fn read_item(
        &self,
        key: Item,
        consistent: bool,
        operation: &Operation<'_>,
    ) -> Result<Option<Item>, TableError> {
        let answer = operation
            .call(|| {
                self.client()
                    .get_item()
                    .table_name(self.table())
                    .set_key(Some(key.clone()))
                    .consistent_read(consistent)
                    .return_consumed_capacity(ReturnConsumedCapacity::Total)
                    .send()
            })
            .await
            .map_err(Failed::unconditional)?;
        operation.meter.read(answer.consumed_capacity());
        Ok(answer.item)
    }

    /// Puts an item, in place of what stands under its key.
    pub(crate) async fn put_item(&self, item: &Item, operation: &Operation<'_>) -> Result<(), Unavailable> {
        let answer = operation
            .call(|| {
                self.client()
                    .put_item()
                    .table_name(self.table())
                    .set_item(Some(item.clone()))
                    .return_consumed_capacity(ReturnConsumedCapacity::Total)
                    .send()
            })
            .await
            .map_err(Failed::unconditional)?;
        operation.meter.write(answer.consumed_capacity());
        Ok(())
    }

    /// Deletes an item, if it is there.
    pub(crate) async fn delete_item(&self, key: &Item, operation: &Operation<'_>) -> Result<(), Unavailable> {
        let answer = operation
            .call(|| {
                self.client()
                    .delete_item()
                    .table_name(self.table())
                    .set_key(Some(key.clone()))
                    .return_consumed_capacity(ReturnConsumedCapacity::Total)
                    .send()
            })
            .await
            .map_err(Failed::unconditional)?;
        operation.meter.write(answer.consumed_capacity());
        Ok(())
    }
}
