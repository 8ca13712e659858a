//! Transactions: all of some writes, or none, and why not.

use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::types::{ReturnConsumedCapacity, TransactWriteItem};

use crate::ambient::Ambient;
use crate::call::{Meaning, Operation, Unavailable, meaning, unavailable};
use crate::store::Store;

/// What became of a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Nothing.
    None,
    /// Its condition did not hold.
    Condition,
    /// Its item was too busy: with another transaction, or with too many writes.
    Busy,
}

impl Store {
    /// Writes all or nothing. Attempts of one call are one transaction, so it is written once, however many of
    /// them there were and whatever became of each.
    pub(crate) async fn transact(
        &self,
        writes: Vec<TransactWriteItem>,
        operation: &Operation<'_>,
    ) -> Result<Transacted, Unavailable> {
        let token = token(self.ambient());
        let mut attempts = operation.attempts();
        let mut maybe_applied = false;
        loop {
            attempts.start();
            let answer = self
                .client()
                .transact_write_items()
                .set_transact_items(Some(writes.clone()))
                .client_request_token(token.as_str())
                .return_consumed_capacity(ReturnConsumedCapacity::Total)
                .send()
                .await;
            let error = match answer {
                Ok(answer) => {
                    operation.meter.write(answer.consumed_capacity());
                    return Ok(Transacted::Done);
                }
                Err(error) => error,
            };
            match error.as_service_error() {
                Some(TransactWriteItemsError::TransactionCanceledException(cancelled)) => {
                    let reasons = cancelled.cancellation_reasons().iter();
                    let faults = reasons.map(|reason| fault(reason.code())).collect::<Option<Vec<_>>>();
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
}

/// What a cancellation's code says; `None` if trying again is of no use.
fn fault(code: Option<&str>) -> Option<Fault> {
    match code {
        None | Some("None") => Some(Fault::None),
        Some("ConditionalCheckFailed") => Some(Fault::Condition),
        Some("TransactionConflict" | "ThrottlingError" | "ProvisionedThroughputExceeded") => {
            Some(Fault::Busy)
        }
        Some(_) => None,
    }
}

fn token(ambient: &dyn Ambient) -> String {
    format!("{:032x}", ambient.entropy())
}
