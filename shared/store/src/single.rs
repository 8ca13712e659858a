//! One item by its key: read, put, changed, deleted; where a condition is named, only if it holds.

use std::collections::HashMap;

use aws_sdk_dynamodb::error::SdkError;
use aws_sdk_dynamodb::operation::put_item::PutItemError;
use aws_sdk_dynamodb::operation::update_item::UpdateItemOutput;
use aws_sdk_dynamodb::operation::update_item::builders::UpdateItemFluentBuilder;
use aws_sdk_dynamodb::types::{AttributeValue, ReturnConsumedCapacity, ReturnValuesOnConditionCheckFailure};

use crate::call::Failed;
use crate::call::Table;
use crate::error::TableError;
use crate::item::Item;

/// The outcome of a conditional put.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum PutIf {
    /// The item is put.
    Done,
    /// The condition did not hold. The item under the key, if DynamoDB returned it; an earlier attempt may have put it.
    Refused(Option<Item>),
}

impl PutIf {
    /// The item that made the put fail; none if the put is done.
    pub(crate) fn in_the_way(self) -> Result<Option<Item>, TableError> {
        match self {
            Self::Done => Ok(None),
            Self::Refused(Some(item)) => Ok(Some(item)),
            Self::Refused(None) => Err(TableError::unavailable("a refused put did not return the item")),
        }
    }
}

impl Table {
    /// An item by its key, read consistently.
    pub(crate) async fn get_item(&self, key: Item) -> Result<Option<Item>, TableError> {
        self.read_item(key, true).await
    }

    /// An item by its key.
    pub(crate) async fn read_item(&self, key: Item, consistent: bool) -> Result<Option<Item>, TableError> {
        let answer = self
            .call(|| {
                self.client
                    .get_item()
                    .table_name(&*self.name)
                    .set_key(Some(key.clone()))
                    .consistent_read(consistent)
                    .return_consumed_capacity(ReturnConsumedCapacity::Total)
                    .send()
            })
            .await
            .map_err(Failed::unconditional)?;
        self.meter.read(answer.consumed_capacity());
        Ok(answer.item)
    }

    /// Puts an item, in place of what stands under its key.
    pub(crate) async fn put_item(&self, item: &Item) -> Result<(), TableError> {
        let answer = self
            .call(|| {
                self.client
                    .put_item()
                    .table_name(&*self.name)
                    .set_item(Some(item.clone()))
                    .return_consumed_capacity(ReturnConsumedCapacity::Total)
                    .send()
            })
            .await
            .map_err(Failed::unconditional)?;
        self.meter.write(answer.consumed_capacity());
        Ok(())
    }

    /// Puts an item if a condition holds.
    pub(crate) async fn put_item_if(
        &self,
        item: &Item,
        condition: &str,
        values: Option<HashMap<String, AttributeValue>>,
    ) -> Result<PutIf, TableError> {
        let put = self
            .call(|| {
                self.client
                    .put_item()
                    .table_name(&*self.name)
                    .set_item(Some(item.clone()))
                    .condition_expression(condition)
                    .set_expression_attribute_values(values.clone())
                    .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld)
                    .return_consumed_capacity(ReturnConsumedCapacity::Total)
                    .send()
            })
            .await;
        match put {
            Ok(answer) => {
                self.meter.write(answer.consumed_capacity());
                Ok(PutIf::Done)
            }
            Err(Failed::Condition { error, .. }) => Ok(PutIf::Refused(in_the_way(error))),
            Err(Failed::Table(error)) => Err(error),
        }
    }

    /// Changes an item as asked; `None` if the condition that is asked for does not hold.
    pub(crate) async fn update_if(
        &self,
        ask: impl Fn(UpdateItemFluentBuilder) -> UpdateItemFluentBuilder,
    ) -> Result<Option<UpdateItemOutput>, TableError> {
        let updated = self
            .call_if(|| {
                let update = self.client.update_item().table_name(&*self.name);
                ask(update).return_consumed_capacity(ReturnConsumedCapacity::Total).send()
            })
            .await?;
        self.meter.write(updated.as_ref().and_then(UpdateItemOutput::consumed_capacity));
        Ok(updated)
    }

    /// Deletes an item, if it is there.
    pub(crate) async fn delete_item(&self, key: &Item) -> Result<(), TableError> {
        let answer = self
            .call(|| {
                self.client
                    .delete_item()
                    .table_name(&*self.name)
                    .set_key(Some(key.clone()))
                    .return_consumed_capacity(ReturnConsumedCapacity::Total)
                    .send()
            })
            .await
            .map_err(Failed::unconditional)?;
        self.meter.write(answer.consumed_capacity());
        Ok(())
    }
}

/// The item that made a conditional put fail.
pub(crate) fn in_the_way(error: SdkError<PutItemError>) -> Option<Item> {
    match error.into_service_error() {
        PutItemError::ConditionalCheckFailedException(failed) => failed.item,
        _ => None,
    }
}
