//! One call to DynamoDB: the meaning of its failure, and its retries. No other layer retries calls.
//!
//! The SDK's own retries are off. So this file knows how often a call was made, which attempts were ambiguous (the call
//! failed, and DynamoDB may have applied it), and when to give up: at the operation's deadline and, while a client
//! waits, after [`ATTEMPTS`](crate::limits::ATTEMPTS). No client waits for fan-out, so fan-out retries its calls until its deadline.
//!
//! One busy key range must not hold up the rest of fan-out's work. So an operation can give way: its call to a key range
//! that accepts no more reads or writes ends after [`BUSY_ATTEMPTS`], and the caller does the work later. A limit of the
//! table or of the account concerns all work alike, so no operation gives way to it.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_dynamodb::operation::RequestId;
use aws_sdk_dynamodb::types::error::{
    ConditionalCheckFailedException, ProvisionedThroughputExceededException, ThrottlingException,
    TransactionCanceledException,
};
use aws_sdk_dynamodb::types::{CancellationReason, ThrottlingReason};
use lately_items::Item;

use crate::ambient::{Ambient, entropy_u64};
use crate::cost::Meter;
use crate::error::TableError;
use crate::limits::{ANSWER_RESERVE, BUSY_ATTEMPTS, FIRST_WAIT, LONGEST_WAIT, UNITS_PER_REQUEST};

/// The meaning of a failed attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// The condition of a conditional write did not hold, or a transaction was cancelled.
    Condition,
    /// DynamoDB did nothing: it throttled the call, or a transaction was at work on the item.
    Refused,
    /// The call failed, and DynamoDB may have applied it.
    Ambiguous,
    /// The call failed for good: a retry would fail as well.
    Final,
}

/// An error of any operation.
pub(crate) trait OperationError: ProvideErrorMetadata + Error + 'static {}

impl<E: ProvideErrorMetadata + Error + 'static> OperationError for E {}

pub(crate) fn meaning<E: OperationError>(error: &SdkError<E>) -> Meaning {
    match error {
        SdkError::ConstructionFailure(_) => Meaning::Final,
        // DynamoDB's own failures, whatever their names.
        SdkError::ServiceError(service) if service.raw().status().is_server_error() => Meaning::Ambiguous,
        SdkError::ServiceError(service) => match service.err().code() {
            Some("ConditionalCheckFailedException" | "TransactionCanceledException") => Meaning::Condition,
            // An earlier attempt of the same transaction is still under way.
            Some("TransactionInProgressException") => Meaning::Ambiguous,
            Some("TransactionConflictException" | "LimitExceededException") => Meaning::Refused,
            Some(code) if is_throttle(code) => Meaning::Refused,
            Some(_) => Meaning::Final,
            None => Meaning::Ambiguous,
        },
        // Timeouts, broken connections, responses that cannot be read.
        _ => Meaning::Ambiguous,
    }
}

/// True if a response with this code says that DynamoDB throttled the call.
fn is_throttle(code: &str) -> bool {
    matches!(code, "ThrottlingException" | "ProvisionedThroughputExceededException" | "RequestLimitExceeded")
}

/// An error, and all its causes.
fn causes<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |error| (*error).source())
}

/// The cause of an error that has this type.
fn cause<'a, C: Error + 'static>(error: &'a (dyn Error + 'static)) -> Option<&'a C> {
    causes(error).find_map(|error| error.downcast_ref())
}

/// The part of one write in a failure.
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

impl Fault {
    /// True if the write's condition did not hold.
    pub const fn is_condition(&self) -> bool {
        matches!(self, Self::Condition(_))
    }
}

/// The part of each write in a call whose condition failed; `None` if a retry is of no use.
fn faults(error: &(dyn Error + 'static)) -> Option<Vec<Fault>> {
    if let Some(failed) = cause::<ConditionalCheckFailedException>(error) {
        return Some(vec![Fault::Condition(failed.item.clone().map(Item::from))]);
    }
    let cancelled: &TransactionCanceledException = cause(error)?;
    let fault = |reason: &CancellationReason| match reason.code() {
        None | Some("None") => Some(Fault::None),
        Some("ConditionalCheckFailed") => Some(Fault::Condition(reason.item.clone().map(Item::from))),
        Some("TransactionConflict") => Some(Fault::Conflict),
        Some("ThrottlingError" | "ProvisionedThroughputExceeded") => Some(Fault::Throttled),
        Some(_) => None,
    };
    cancelled.cancellation_reasons().iter().map(fault).collect()
}

/// The item that made a conditional write fail.
pub(crate) fn existing(error: &(dyn Error + 'static)) -> Option<Item> {
    cause::<ConditionalCheckFailedException>(error)?.item.clone().map(Item::from)
}

/// True if a call was throttled because its key range accepts no more reads or writes.
fn is_range_hot(error: &(dyn Error + 'static)) -> bool {
    let is_hot = |reason: &ThrottlingReason| {
        matches!(
            reason.reason(),
            Some(
                "TableReadKeyRangeThroughputExceeded"
                    | "IndexReadKeyRangeThroughputExceeded"
                    | "TableWriteKeyRangeThroughputExceeded"
                    | "IndexWriteKeyRangeThroughputExceeded"
            )
        )
    };
    let throttled = cause::<ThrottlingException>(error).map(ThrottlingException::throttling_reasons);
    let exceeded = cause::<ProvisionedThroughputExceededException>(error)
        .map(ProvisionedThroughputExceededException::throttling_reasons);
    throttled.or(exceeded).unwrap_or_default().iter().any(is_hot)
}

/// A table, as one operation uses it: with the operation's price meter, deadline and number of attempts.
#[derive(Clone, Debug)]
pub struct Table {
    pub(crate) client: Client,
    pub(crate) name: Arc<str>,
    /// The names of the attributes of the table's key.
    pub(crate) key_names: [Arc<str>; 2],
    pub(crate) meter: Arc<Meter>,
    pub(crate) ambient: Arc<dyn Ambient>,
    pub(crate) deadline: Duration,
    /// The most attempts of a call. `None`: as many as there is time for before the deadline.
    pub(crate) max_attempts: Option<u32>,
    /// True if a call to a busy key range ends after some attempts.
    pub(crate) gives_way: bool,
}

impl Table {
    /// The same operation with one attempt of each call, for writes that nobody depends on. The meter does not count their
    /// throttled attempts as throttled.
    pub fn once(&self) -> Self {
        Self { max_attempts: Some(1), ..self.clone() }
    }

    /// The same operation, but it retries calls until its deadline, because no client waits for the response.
    pub fn until_deadline(self) -> Self {
        Self { max_attempts: None, ..self }
    }

    /// The same operation, whose calls to a busy key range fail with [`TableError::Busy`] after some attempts.
    pub fn giving_way(self) -> Self {
        Self { gives_way: true, ..self }
    }

    /// The clocks and the random source.
    pub fn ambient(&self) -> &dyn Ambient {
        &*self.ambient
    }

    /// The operation's price meter.
    pub const fn meter(&self) -> &Arc<Meter> {
        &self.meter
    }

    /// True if the operation has read as much as one request may, or has too little time. A read then ends, and
    /// its cursor says where to continue.
    pub fn is_spent(&self) -> bool {
        self.meter.read_units() >= UNITS_PER_REQUEST || self.time_left() < ANSWER_RESERVE
    }

    /// The time that the operation may still take.
    pub fn time_left(&self) -> Duration {
        self.deadline.saturating_sub(self.ambient.monotonic())
    }
}

/// The reason why a call failed.
#[derive(Debug)]
pub(crate) enum CallError {
    /// The condition of a write did not hold, or a transaction was cancelled.
    Condition {
        /// For each write of the call, whether it made the call fail.
        faults: Vec<Fault>,
        /// DynamoDB may have applied an earlier attempt, so the condition may have failed for our own write.
        maybe_applied: bool,
    },
    /// The call could not be made.
    Table(TableError),
}

impl CallError {
    /// The item that made a conditional write fail, and whether DynamoDB may have applied an earlier attempt.
    ///
    /// # Errors
    /// If the call could not be made.
    pub(crate) fn refused(self) -> Result<(Option<Item>, bool), TableError> {
        match self {
            Self::Condition { faults, maybe_applied } => match faults.into_iter().next() {
                Some(Fault::Condition(there)) => Ok((there, maybe_applied)),
                _ => Ok((None, maybe_applied)),
            },
            Self::Table(error) => Err(error),
        }
    }
}

/// The error of a call without a condition.
impl From<CallError> for TableError {
    fn from(error: CallError) -> Self {
        match error {
            CallError::Table(error) => error,
            CallError::Condition { .. } => Self::unavailable("a condition failed that was never set"),
        }
    }
}

/// A failed attempt that may be retried.
#[derive(Clone, Debug)]
pub struct Refusal {
    /// The reason of the failure.
    pub error: TableError,
    /// True if the item's own key range accepts no more reads or writes, in the table or in an index. More shards help.
    /// They would not raise a limit of the table or the account.
    pub is_range_hot: bool,
    /// True if DynamoDB throttled the call, or did not do a part of it.
    pub is_throttle: bool,
}

impl Refusal {
    pub(crate) fn of<E: OperationError>(error: &SdkError<E>) -> Self {
        let is_throttle = error.code().is_some_and(is_throttle);
        Self { error: unavailable(error), is_range_hot: is_range_hot(error), is_throttle }
    }
}

/// The attempts of one call, with growing pauses between them.
#[derive(Debug)]
pub struct Attempts<'a> {
    pub(crate) table: &'a Table,
    made: u32,
}

impl<'a> Attempts<'a> {
    /// The attempts of one call, none of which has begun.
    pub const fn of(table: &'a Table) -> Self {
        Self { table, made: 0 }
    }

    /// The number of attempts so far.
    pub const fn made(&self) -> u32 {
        self.made
    }

    /// Begins an attempt of one call.
    pub(crate) fn start(&mut self) {
        self.made += 1;
        self.table.meter.call();
    }

    /// Begins an attempt that consists of several calls, each of which counts itself.
    pub const fn start_round(&mut self) {
        self.made += 1;
    }

    /// Makes a call, and retries it until it succeeds, its condition fails, or a retry is of no use.
    ///
    /// It must be safe to apply the call twice: a read, a write of the same item, a transaction, or a conditional write
    /// whose caller looks at `maybe_applied`.
    pub(crate) async fn call<T, E: OperationError, Calling: Future<Output = Result<T, SdkError<E>>>>(
        &mut self,
        mut call: impl FnMut() -> Calling,
    ) -> Result<T, CallError> {
        let mut maybe_applied = false;
        loop {
            self.start();
            let error = match call().await {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            match meaning(&error) {
                Meaning::Condition => {
                    let faults = faults(&error).ok_or_else(|| CallError::Table(unavailable(&error)))?;
                    return Err(CallError::Condition { faults, maybe_applied });
                }
                _ if self.table.max_attempts == Some(1) => return Err(CallError::Table(unavailable(&error))),
                Meaning::Final => return Err(CallError::Table(unavailable(&error))),
                Meaning::Ambiguous => maybe_applied = true,
                Meaning::Refused => {}
            }
            self.pause(Refusal::of(&error)).await.map_err(CallError::Table)?;
        }
    }

    /// Makes one attempt of a call. The caller may try again after a refusal. A call with a condition must handle the
    /// condition's failure itself.
    ///
    /// # Errors
    /// If a retry is of no use.
    pub(crate) async fn attempt<T, E: OperationError>(
        &mut self,
        call: impl Future<Output = Result<T, SdkError<E>>>,
    ) -> Result<Result<T, Refusal>, TableError> {
        self.start();
        match call.await {
            Ok(answer) => Ok(Ok(answer)),
            Err(error) => match meaning(&error) {
                Meaning::Refused | Meaning::Ambiguous => Ok(Err(Refusal::of(&error))),
                Meaning::Condition | Meaning::Final => Err(unavailable(&error)),
            },
        }
    }

    /// The wait after this many attempts of an operation; `None` if there is no next attempt. The wait is random, so that writers that
    /// were refused together do not come back together.
    pub fn wait_after(table: &Table, attempts: u32) -> Option<Duration> {
        let longest = FIRST_WAIT.saturating_mul(1 << attempts.saturating_sub(1).min(10)).min(LONGEST_WAIT);
        let micros = u64::try_from(longest.as_micros()).unwrap_or(u64::MAX);
        let wait = Duration::from_micros(entropy_u64(table.ambient()) % (micros + 1));
        let may_try = table.max_attempts.is_none_or(|most| attempts < most);
        (may_try && wait < table.time_left()).then_some(wait)
    }

    /// True if the call has made so many attempts that it ends if a key range is busy.
    pub(crate) const fn gives_way(&self) -> bool {
        self.table.gives_way && self.made >= BUSY_ATTEMPTS
    }

    /// Waits before the next attempt.
    ///
    /// # Errors
    /// The refusal's error if there is no next attempt, and [`TableError::Busy`] if the operation gives way.
    pub async fn pause(&self, refusal: Refusal) -> Result<(), TableError> {
        if refusal.is_range_hot && self.gives_way() {
            if refusal.is_throttle {
                self.table.meter.throttled(false);
            }
            return Err(TableError::Busy(refusal.error.to_string()));
        }
        let paused = self.pause_or(|| refusal.error).await;
        if refusal.is_throttle {
            self.table.meter.throttled(paused.is_err());
        }
        paused
    }

    /// As [`Attempts::pause`], after a response that did not do all work.
    ///
    /// # Errors
    /// The error if there is no next attempt.
    pub async fn pause_or(&self, error: impl FnOnce() -> TableError) -> Result<(), TableError> {
        let wait = Self::wait_after(self.table, self.made).ok_or_else(error)?;
        tokio::time::sleep(wait).await;
        Ok(())
    }
}

pub(crate) fn unavailable<E: OperationError>(error: &SdkError<E>) -> TableError {
    // The text contains each cause with its own text, because the error's debug text is pages long.
    let texts: Vec<_> = causes(error).map(ToString::to_string).collect();
    let request = error.request_id().map(|id| format!(" (request {id})")).unwrap_or_default();
    TableError::unavailable(format!("{}{request}", texts.join(": ")))
}
