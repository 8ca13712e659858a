//! Transactions: several writes that are all made or not at all, and reads of several items at one moment.

use aws_sdk_dynamodb::error::BuildError;
use aws_sdk_dynamodb::operation::transact_get_items::TransactGetItemsError;
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::types::{
    self as sdk, CancellationReason, ReturnConsumedCapacity, ReturnValuesOnConditionCheckFailure,
    TransactGetItem, TransactWriteItem,
};
use lately_keys::Key;

use crate::ambient::Ambient;
use crate::call::{Meaning, Table, meaning, unavailable};
use crate::error::TableError;
use crate::expression::{Condition, Placeholders, Update, UpdateExpression};
use lately_items::Item;

/// Writes that are all made, or not at all. However often the transaction is retried, its writes are made once.
#[derive(Clone, Debug)]
pub struct Transaction {
    writes: Vec<Part>,
    token: String,
}

#[derive(Clone, Debug)]
enum Part {
    Put(Item, Option<Condition>),
    Update(Update),
    Delete(Key, Option<Condition>),
    Check(Key, Condition),
}

impl Transaction {
    /// A transaction without writes.
    pub fn new(ambient: &dyn Ambient) -> Self {
        Self { writes: Vec::new(), token: format!("{:032x}", ambient.entropy()) }
    }

    /// Puts an item, and replaces the item under its key.
    pub fn put(self, item: Item) -> Self {
        self.with(Part::Put(item, None))
    }

    /// Puts an item if a condition holds for the item under its key.
    pub fn put_if(self, item: Item, condition: Condition) -> Self {
        self.with(Part::Put(item, Some(condition)))
    }

    /// Updates an item.
    pub fn update(self, update: Update) -> Self {
        self.with(Part::Update(update))
    }

    /// Deletes an item, if it is there.
    pub fn delete(self, key: Key) -> Self {
        self.with(Part::Delete(key, None))
    }

    /// Deletes an item if a condition holds for it.
    pub fn delete_if(self, key: Key, condition: Condition) -> Self {
        self.with(Part::Delete(key, Some(condition)))
    }

    /// Requires that a condition holds for an item.
    pub fn check(self, key: Key, condition: Condition) -> Self {
        self.with(Part::Check(key, condition))
    }

    fn with(mut self, part: Part) -> Self {
        self.writes.push(part);
        self
    }
}

/// The outcome of a transaction.
#[derive(Clone, Debug, PartialEq)]
pub enum Transacted {
    /// The transaction was committed.
    Done,
    /// The last attempt wrote nothing.
    Cancelled {
        /// For each write, whether it made the transaction fail.
        faults: Vec<Fault>,
        /// DynamoDB may have applied an earlier attempt, so our own writes may have made the conditions fail.
        maybe_applied: bool,
    },
}

/// The part of one write in the failure of a transaction.
#[derive(Clone, Debug, PartialEq)]
pub enum Fault {
    /// The write is no reason for the failure.
    None,
    /// The write's condition did not hold for this item, or for no item.
    Condition(Option<Item>),
    /// Another transaction was at work on the write's item.
    Conflict,
    /// The write's partition had too many writes.
    Throttled,
}

impl Table {
    /// Writes all or nothing.
    pub async fn transact(&self, transaction: &Transaction) -> Result<Transacted, TableError> {
        let writes: Result<Vec<_>, _> = transaction.writes.iter().map(|part| self.part(part)).collect();
        let writes = writes.map_err(TableError::unavailable)?;
        let mut attempts = self.attempts();
        let mut maybe_applied = false;
        loop {
            attempts.start();
            let answer = self
                .client
                .transact_write_items()
                .set_transact_items(Some(writes.clone()))
                .client_request_token(transaction.token.as_str())
                .return_consumed_capacity(ReturnConsumedCapacity::Total)
                .send()
                .await;
            let error = match answer {
                Ok(answer) => {
                    self.meter.write(answer.consumed_capacity());
                    return Ok(Transacted::Done);
                }
                Err(error) => error,
            };
            match error.as_service_error() {
                Some(TransactWriteItemsError::TransactionCanceledException(cancelled)) => {
                    if cancelled.cancellation_reasons().iter().any(is_throttle) {
                        self.meter.throttled(false);
                    }
                    let faults: Option<Vec<_>> = cancelled.cancellation_reasons().iter().map(fault).collect();
                    let faults = faults.ok_or_else(|| unavailable(&error))?;
                    return Ok(Transacted::Cancelled { faults, maybe_applied });
                }
                // An earlier attempt is still under way.
                Some(TransactWriteItemsError::TransactionInProgressException(_)) => maybe_applied = true,
                _ => match meaning(&error) {
                    Meaning::Refused => {}
                    Meaning::Ambiguous => maybe_applied = true,
                    Meaning::Condition | Meaning::Final => return Err(unavailable(&error)),
                },
            }
            attempts.pause_after(&error).await?;
        }
    }

    /// Reads items as they are at one moment, never in the middle of a transaction. Returns the item of each key.
    pub async fn get_together(&self, keys: Vec<Key>) -> Result<Vec<Option<Item>>, TableError> {
        let get = |key| {
            let key = Item::under(key).into_attributes();
            let get = sdk::Get::builder().table_name(&*self.name).set_key(Some(key)).build()?;
            Ok(TransactGetItem::builder().get(get).build())
        };
        let gets: Result<Vec<_>, BuildError> = keys.into_iter().map(get).collect();
        let gets = gets.map_err(TableError::unavailable)?;
        let mut attempts = self.attempts();
        loop {
            attempts.start();
            let answer = self
                .client
                .transact_get_items()
                .set_transact_items(Some(gets.clone()))
                .return_consumed_capacity(ReturnConsumedCapacity::Total)
                .send()
                .await;
            let error = match answer {
                Ok(answer) => {
                    self.meter.read(answer.consumed_capacity());
                    let responses = answer.responses.unwrap_or_default().into_iter();
                    return Ok(responses.map(|response| response.item.map(Item::from)).collect());
                }
                Err(error) => error,
            };
            let is_busy = match error.as_service_error() {
                Some(TransactGetItemsError::TransactionCanceledException(cancelled)) => {
                    cancelled.cancellation_reasons().iter().all(|reason| fault(reason).is_some())
                }
                _ => matches!(meaning(&error), Meaning::Refused | Meaning::Ambiguous),
            };
            if !is_busy {
                return Err(unavailable(&error));
            }
            attempts.pause_after(&error).await?;
        }
    }

    fn part(&self, part: &Part) -> Result<TransactWriteItem, BuildError> {
        let mut placeholders = Placeholders::default();
        let write = TransactWriteItem::builder();
        let shown = ReturnValuesOnConditionCheckFailure::AllOld;
        Ok(match part {
            Part::Put(item, condition) => {
                let condition = condition.as_ref().map(|condition| placeholders.condition(condition));
                let put = sdk::Put::builder()
                    .table_name(&*self.name)
                    .set_item(Some(item.attributes().clone()))
                    .set_condition_expression(condition)
                    .set_expression_attribute_names(placeholders.names())
                    .set_expression_attribute_values(placeholders.values())
                    .return_values_on_condition_check_failure(shown);
                write.put(put.build()?).build()
            }
            Part::Update(update) => {
                let UpdateExpression { key, update, condition, placeholders } = update.expression();
                let update = sdk::Update::builder()
                    .table_name(&*self.name)
                    .set_key(Some(key.into_attributes()))
                    .update_expression(update)
                    .set_condition_expression(condition)
                    .set_expression_attribute_names(placeholders.names())
                    .set_expression_attribute_values(placeholders.values())
                    .return_values_on_condition_check_failure(shown);
                write.update(update.build()?).build()
            }
            Part::Delete(key, condition) => {
                let condition = condition.as_ref().map(|condition| placeholders.condition(condition));
                let delete = sdk::Delete::builder()
                    .table_name(&*self.name)
                    .set_key(Some(Item::under(key.clone()).into_attributes()))
                    .set_condition_expression(condition)
                    .set_expression_attribute_names(placeholders.names())
                    .set_expression_attribute_values(placeholders.values())
                    .return_values_on_condition_check_failure(shown);
                write.delete(delete.build()?).build()
            }
            Part::Check(key, condition) => {
                let check = sdk::ConditionCheck::builder()
                    .table_name(&*self.name)
                    .set_key(Some(Item::under(key.clone()).into_attributes()))
                    .condition_expression(placeholders.condition(condition))
                    .set_expression_attribute_names(placeholders.names())
                    .set_expression_attribute_values(placeholders.values())
                    .return_values_on_condition_check_failure(shown);
                write.condition_check(check.build()?).build()
            }
        })
    }
}

/// True if a write was throttled.
fn is_throttle(reason: &CancellationReason) -> bool {
    matches!(reason.code(), Some("ThrottlingError" | "ProvisionedThroughputExceeded"))
}

/// The part of one write in a cancellation; `None` if a retry is of no use.
fn fault(reason: &CancellationReason) -> Option<Fault> {
    match reason.code() {
        None | Some("None") => Some(Fault::None),
        Some("ConditionalCheckFailed") => Some(Fault::Condition(reason.item.clone().map(Item::from))),
        Some("TransactionConflict") => Some(Fault::Conflict),
        Some(_) => is_throttle(reason).then_some(Fault::Throttled),
    }
}
