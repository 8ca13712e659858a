//! One item: its reads, puts, updates and deletions, with or without a condition.

use aws_sdk_dynamodb::error::SdkError;
use aws_sdk_dynamodb::operation::put_item::PutItemError;
use aws_sdk_dynamodb::operation::put_item::builders::PutItemFluentBuilder;
use aws_sdk_dynamodb::operation::update_item::UpdateItemOutput;
use aws_sdk_dynamodb::operation::update_item::builders::UpdateItemFluentBuilder;
use aws_sdk_dynamodb::types::{
    ReturnConsumedCapacity, ReturnValue, ReturnValuesOnConditionCheckFailure, ThrottlingReason,
};
use lately_keys::Key;

use crate::call::{Attempts, CallError, Meaning, Refusal, Table, is_throttle, meaning, unavailable};
use crate::error::TableError;
use crate::expression::{Condition, Placeholders, Update, UpdateExpression};
use lately_items::Item;

/// The outcome of a conditional put.
#[derive(Clone, Debug, PartialEq)]
pub enum PutIf {
    /// The item is put.
    Done,
    /// The condition did not hold. The item under the key, if DynamoDB returned it; an earlier attempt may have put it.
    Refused(Option<Item>),
}

impl PutIf {
    /// The item that made the put fail; `None` if the put is done.
    ///
    /// # Errors
    /// If DynamoDB did not return that item.
    pub fn in_the_way(self) -> Result<Option<Item>, TableError> {
        match self {
            Self::Done => Ok(None),
            Self::Refused(Some(item)) => Ok(Some(item)),
            Self::Refused(None) => Err(TableError::unavailable("a refused put did not return the item")),
        }
    }
}

impl Table {
    /// An item by its key, read consistently.
    pub async fn get(&self, key: Key) -> Result<Option<Item>, TableError> {
        self.read(key, true).await
    }

    /// An item by its key.
    pub async fn read(&self, key: Key, consistent: bool) -> Result<Option<Item>, TableError> {
        let key = Item::under(key).into_attributes();
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
            .map_err(CallError::unconditional)?;
        self.meter.read(answer.consumed_capacity());
        Ok(answer.item.map(Item::from))
    }

    /// Puts an item, and replaces the item under its key.
    pub async fn put(&self, item: &Item) -> Result<(), TableError> {
        let answer = self.call(|| self.putting(item, None).send()).await.map_err(CallError::unconditional)?;
        self.meter.write(answer.consumed_capacity());
        Ok(())
    }

    /// Puts an item if a condition holds for the item under its key.
    pub async fn put_if(&self, item: &Item, condition: &Condition) -> Result<PutIf, TableError> {
        match self.call(|| self.putting(item, Some(condition)).send()).await {
            Ok(answer) => {
                self.meter.write(answer.consumed_capacity());
                Ok(PutIf::Done)
            }
            Err(CallError::Condition { error, .. }) => Ok(PutIf::Refused(in_the_way(error))),
            Err(CallError::Table(error)) => Err(error),
        }
    }

    /// As [`Table::put_if`], but with one attempt, for a put that nobody depends on. Returns whether the item was put.
    ///
    /// # Errors
    /// If the attempt failed.
    pub async fn try_put_if(&self, item: &Item, condition: &Condition) -> Result<bool, TableError> {
        let put = self.call_once(self.putting(item, Some(condition)).send()).await?;
        Ok(put.map(|answer| self.meter.write(answer.consumed_capacity())).is_some())
    }

    pub(crate) fn putting(&self, item: &Item, condition: Option<&Condition>) -> PutItemFluentBuilder {
        let mut placeholders = Placeholders::default();
        let condition = condition.map(|condition| placeholders.condition(condition));
        let answer = condition.as_ref().map(|_| ReturnValuesOnConditionCheckFailure::AllOld);
        self.client
            .put_item()
            .table_name(&*self.name)
            .set_item(Some(item.attributes().clone()))
            .set_condition_expression(condition)
            .set_expression_attribute_names(placeholders.names())
            .set_expression_attribute_values(placeholders.values())
            .set_return_values_on_condition_check_failure(answer)
            .return_consumed_capacity(ReturnConsumedCapacity::Total)
    }

    /// Updates an item. Returns false if the update's condition does not hold.
    pub async fn update(&self, update: &Update) -> Result<bool, TableError> {
        let updated = self.call_if(|| self.updating(update).send()).await?;
        self.meter.write(updated.as_ref().and_then(UpdateItemOutput::consumed_capacity));
        Ok(updated.is_some())
    }

    /// As [`Table::update`], but with one attempt, for an update that nobody depends on.
    ///
    /// # Errors
    /// If the attempt failed.
    pub async fn try_update(&self, update: &Update) -> Result<bool, TableError> {
        let updated = self.call_once(self.updating(update).send()).await?;
        self.meter.write(updated.as_ref().and_then(UpdateItemOutput::consumed_capacity));
        Ok(updated.is_some())
    }

    /// Updates an item and returns the updated item; `None` if the update's condition does not hold.
    pub async fn update_and_get(&self, update: &Update) -> Result<Option<Item>, TableError> {
        let updated =
            self.call_if(|| self.updating(update).return_values(ReturnValue::AllNew).send()).await?;
        let Some(answer) = updated else { return Ok(None) };
        self.meter.write(answer.consumed_capacity());
        let item = answer.attributes.ok_or_else(|| TableError::unavailable("an update returned no item"))?;
        Ok(Some(item.into()))
    }

    fn updating(&self, update: &Update) -> UpdateItemFluentBuilder {
        let UpdateExpression { key, update, condition, placeholders } = update.expression();
        self.client
            .update_item()
            .table_name(&*self.name)
            .set_key(Some(key.into_attributes()))
            .update_expression(update)
            .set_condition_expression(condition)
            .set_expression_attribute_names(placeholders.names())
            .set_expression_attribute_values(placeholders.values())
            .return_consumed_capacity(ReturnConsumedCapacity::Total)
    }

    /// Deletes an item, if it is there.
    pub async fn delete(&self, key: Key) -> Result<(), TableError> {
        self.deleted(key, None).await.map_err(CallError::unconditional)
    }

    /// Deletes an item if a condition holds for it. Returns whether the item is deleted.
    pub async fn delete_if(&self, key: Key, condition: &Condition) -> Result<bool, TableError> {
        match self.deleted(key, Some(condition)).await {
            Ok(()) => Ok(true),
            Err(CallError::Condition { .. }) => Ok(false),
            Err(CallError::Table(error)) => Err(error),
        }
    }

    /// As [`Table::delete_if`], but returns `None` if the item is deleted, and the item otherwise. If DynamoDB did not
    /// return the item, it is empty.
    pub async fn delete_or_get(&self, key: Key, condition: &Condition) -> Result<Option<Item>, TableError> {
        match self.deleted(key, Some(condition)).await {
            Ok(()) => Ok(None),
            Err(CallError::Condition { error: there, .. }) => Ok(Some(there.unwrap_or_default())),
            Err(CallError::Table(error)) => Err(error),
        }
    }

    /// Deletes an item. If the condition fails, the error carries the item.
    pub(crate) async fn deleted(
        &self,
        key: Key,
        condition: Option<&Condition>,
    ) -> Result<(), CallError<Option<Item>>> {
        let key = Item::under(key).into_attributes();
        let mut placeholders = Placeholders::default();
        let condition = condition.map(|condition| placeholders.condition(condition));
        let shown = condition.as_ref().map(|_| ReturnValuesOnConditionCheckFailure::AllOld);
        let deleted = self
            .call(|| {
                self.client
                    .delete_item()
                    .table_name(&*self.name)
                    .set_key(Some(key.clone()))
                    .set_condition_expression(condition.clone())
                    .set_expression_attribute_names(placeholders.names())
                    .set_expression_attribute_values(placeholders.values())
                    .set_return_values_on_condition_check_failure(shown.clone())
                    .return_consumed_capacity(ReturnConsumedCapacity::Total)
                    .send()
            })
            .await;
        match deleted {
            Ok(answer) => {
                self.meter.write(answer.consumed_capacity());
                Ok(())
            }
            Err(CallError::Table(error)) => Err(CallError::Table(error)),
            Err(CallError::Condition { error, maybe_applied }) => {
                use aws_sdk_dynamodb::operation::delete_item::DeleteItemError;
                let there = match error.into_service_error() {
                    DeleteItemError::ConditionalCheckFailedException(failed) => failed.item,
                    _ => None,
                };
                Err(CallError::Condition { error: there.map(Item::from), maybe_applied })
            }
        }
    }
}

impl Attempts<'_> {
    /// Makes one attempt to put an item. Returns `None` if the item is put, and the refusal otherwise. The caller may
    /// try again after a [pause](Attempts::pause).
    ///
    /// # Errors
    /// If a retry is of no use.
    pub async fn put(&mut self, item: &Item) -> Result<Option<Refusal>, TableError> {
        self.start();
        match self.table.putting(item, None).send().await {
            Ok(answer) => {
                self.table.meter.write(answer.consumed_capacity());
                Ok(None)
            }
            Err(error) => match meaning(&error) {
                Meaning::Refused | Meaning::Ambiguous => Ok(Some(Refusal {
                    error: unavailable(&error),
                    is_range_hot: is_range_hot(throttling_reasons(&error)),
                    is_throttle: is_throttle(&error),
                })),
                Meaning::Condition | Meaning::Final => Err(unavailable(&error)),
            },
        }
    }

    /// Makes one attempt to update an item without a condition. Returns the attributes that the update set, or the
    /// error of an attempt that may succeed later: the call was throttled, or DynamoDB failed or could not be reached.
    ///
    /// # Errors
    /// If a retry is of no use.
    pub async fn update(&mut self, update: &Update) -> Result<Result<Item, TableError>, TableError> {
        self.start();
        match self.table.updating(update).return_values(ReturnValue::UpdatedNew).send().await {
            Ok(answer) => {
                self.table.meter.write(answer.consumed_capacity());
                Ok(Ok(answer.attributes.unwrap_or_default().into()))
            }
            Err(error) => match meaning(&error) {
                Meaning::Refused | Meaning::Ambiguous => Ok(Err(unavailable(&error))),
                Meaning::Condition | Meaning::Final => Err(unavailable(&error)),
            },
        }
    }
}

fn throttling_reasons(error: &SdkError<PutItemError>) -> &[ThrottlingReason] {
    match error.as_service_error() {
        Some(PutItemError::ThrottlingException(error)) => {
            error.throttling_reasons.as_deref().unwrap_or_default()
        }
        Some(PutItemError::ProvisionedThroughputExceededException(error)) => error.throttling_reasons(),
        _ => &[],
    }
}

/// True if a write was throttled because its key range accepts no more writes.
pub(crate) fn is_range_hot(reasons: &[ThrottlingReason]) -> bool {
    reasons.iter().any(|reason| {
        matches!(
            reason.reason(),
            Some("TableWriteKeyRangeThroughputExceeded" | "IndexWriteKeyRangeThroughputExceeded")
        )
    })
}

/// The item that made a conditional put fail.
pub(crate) fn in_the_way(error: SdkError<PutItemError>) -> Option<Item> {
    match error.into_service_error() {
        PutItemError::ConditionalCheckFailedException(failed) => failed.item.map(Item::from),
        _ => None,
    }
}
