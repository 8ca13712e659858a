//! Transactions: all of some writes, or none, and why not; and some items read at one moment.

use aws_sdk_dynamodb::error::BuildError;
use aws_sdk_dynamodb::operation::transact_get_items::TransactGetItemsError;
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::types::{
    CancellationReason, Get, ReturnConsumedCapacity, TransactGetItem, TransactWriteItem,
};

use crate::ambient::Ambient;
use crate::call::Table;
use crate::call::{Meaning, meaning, unavailable};
use crate::error::TableError;
use crate::item::Item;

/// Writes that are all done, or none. However often it is tried, it is done once.
#[derive(Clone, Debug)]
pub(crate) struct Transaction {
    writes: Vec<TransactWriteItem>,
    token: String,
}

impl Transaction {
    pub(crate) fn new(writes: Vec<TransactWriteItem>, ambient: &dyn Ambient) -> Self {
        Self { writes, token: format!("{:032x}", ambient.entropy()) }
    }
}

/// What became of a transaction.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Transacted {
    /// All was written.
    Done,
    /// The last attempt wrote nothing.
    Cancelled {
        /// For each write, whether it was the one at fault.
        faults: Vec<Fault>,
        /// An earlier attempt may have been applied: it may be our own writes that are in the way.
        maybe_applied: bool,
    },
}

/// What was wrong with one write of a transaction.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Fault {
    /// Nothing.
    None,
    /// Its condition did not hold: this is what is there instead, if anything and if the write asked for it.
    Condition(Option<Item>),
    /// Another transaction was at its item.
    Conflict,
    /// Its partition had too many writes.
    Throttled,
}

impl Table {
    /// Writes all or nothing.
    pub(crate) async fn transact(&self, transaction: &Transaction) -> Result<Transacted, TableError> {
        let mut attempts = self.attempts();
        let mut maybe_applied = false;
        loop {
            attempts.start();
            let answer = self
                .client
                .transact_write_items()
                .set_transact_items(Some(transaction.writes.clone()))
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
                // An earlier attempt is not over yet.
                Some(TransactWriteItemsError::TransactionInProgressException(_)) => maybe_applied = true,
                _ => match meaning(&error) {
                    Meaning::Refused => {}
                    Meaning::Ambiguous => maybe_applied = true,
                    Meaning::Condition | Meaning::Final => return Err(unavailable(&error)),
                },
            }
            attempts.pause(&error).await?;
        }
    }

    /// Items as they are at one moment: none in the middle of a transaction. For each key, its item.
    pub(crate) async fn get_together(&self, keys: Vec<Item>) -> Result<Vec<Option<Item>>, TableError> {
        let get = |key| {
            let get = Get::builder().table_name(&*self.name).set_key(Some(key)).build()?;
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
                    return Ok(answer
                        .responses
                        .unwrap_or_default()
                        .into_iter()
                        .map(|one| one.item)
                        .collect());
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
            attempts.pause(&error).await?;
        }
    }
}

/// Whether a write was one too many.
fn is_throttle(reason: &CancellationReason) -> bool {
    matches!(reason.code(), Some("ThrottlingError" | "ProvisionedThroughputExceeded"))
}

/// What a cancellation's reason says of one write; `None` if trying again is of no use.
fn fault(reason: &CancellationReason) -> Option<Fault> {
    match reason.code() {
        None | Some("None") => Some(Fault::None),
        Some("ConditionalCheckFailed") => Some(Fault::Condition(reason.item.clone())),
        Some("TransactionConflict") => Some(Fault::Conflict),
        Some(_) => is_throttle(reason).then_some(Fault::Throttled),
    }
}
