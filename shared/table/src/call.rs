//! One call to DynamoDB: the meaning of its failure, and its retries. No other layer retries calls.
//!
//! The SDK's own retries are off. So this file knows how often a call was made, which attempts were ambiguous (the call
//! failed, and DynamoDB may have applied it), and when to give up: at the operation's deadline and, while a client
//! waits, after [`ATTEMPTS`]. No client waits for fan-out, so fan-out retries its calls until its deadline.

use std::sync::Arc;
use std::time::Duration;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_dynamodb::operation::RequestId;
use lately_keys::Place;

use crate::ambient::{Ambient, entropy_u64};
use crate::cost::Meter;
use crate::error::TableError;
use crate::limits::{ANSWER_RESERVE, ATTEMPTS, FIRST_WAIT, LONGEST_WAIT, UNITS_PER_REQUEST};

/// The meaning of a failed attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// The condition of a conditional write did not hold.
    Condition,
    /// DynamoDB did nothing: it throttled the call, or a transaction was at work on the item.
    Refused,
    /// The call failed, and DynamoDB may have applied it.
    Ambiguous,
    /// The call failed for good: a retry would fail as well.
    Final,
}

pub(crate) fn meaning<E: ProvideErrorMetadata>(error: &SdkError<E>) -> Meaning {
    match error {
        SdkError::ConstructionFailure(_) => Meaning::Final,
        // DynamoDB's own failures, whatever their names.
        SdkError::ServiceError(service) if service.raw().status().is_server_error() => Meaning::Ambiguous,
        SdkError::ServiceError(service) => meaning_of(service.err().code()),
        // Timeouts, broken connections, responses that cannot be read.
        _ => Meaning::Ambiguous,
    }
}

/// The meaning of the code in DynamoDB's response.
fn meaning_of(code: Option<&str>) -> Meaning {
    match code {
        Some("ConditionalCheckFailedException") => Meaning::Condition,
        Some("TransactionConflictException" | "LimitExceededException") => Meaning::Refused,
        Some(code) if is_throttle_code(code) => Meaning::Refused,
        Some(_) => Meaning::Final,
        None => Meaning::Ambiguous,
    }
}

/// True if DynamoDB throttled the call.
pub(crate) fn is_throttle<E: ProvideErrorMetadata>(error: &SdkError<E>) -> bool {
    error.as_service_error().and_then(ProvideErrorMetadata::code).is_some_and(is_throttle_code)
}

fn is_throttle_code(code: &str) -> bool {
    matches!(code, "ThrottlingException" | "ProvisionedThroughputExceededException" | "RequestLimitExceeded")
}

/// A table, as one operation uses it: with the operation's price meter, deadline and number of attempts.
#[derive(Clone, Debug)]
pub struct Table {
    pub(crate) client: Client,
    pub(crate) name: Arc<str>,
    /// The names of the attributes of the table's key.
    pub(crate) key_names: [Arc<str>; 2],
    pub(crate) meter: Arc<Meter>,
    ambient: Arc<dyn Ambient>,
    deadline: Duration,
    /// The most attempts of a call. `None`: as many as there is time for before the deadline.
    max_attempts: Option<u32>,
}

impl Table {
    /// The table for an operation that may take this long. The operation's price is added to `all` when the operation
    /// ends.
    pub(crate) fn new(
        client: Client,
        name: Arc<str>,
        ambient: Arc<dyn Ambient>,
        budget: Duration,
        all: &Arc<Meter>,
    ) -> Self {
        let deadline = ambient.monotonic() + budget;
        let meter = Arc::new(Meter::part_of(Arc::clone(all)));
        let key_names = [Place::Table.pk().into(), Place::Table.sk().into()];
        Self { client, name, key_names, meter, ambient, deadline, max_attempts: Some(ATTEMPTS) }
    }

    /// The same operation on a table whose key has other attributes than `pk` and `sk`.
    pub fn with_key_names(self, pk: &str, sk: &str) -> Self {
        Self { key_names: [pk.into(), sk.into()], ..self }
    }

    /// The same operation, but it retries calls until its deadline, because no client waits for the response.
    pub fn until_deadline(self) -> Self {
        Self { max_attempts: None, ..self }
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

    /// The wait after this many attempts; `None` if there is no next attempt. The wait is random, so that writers that
    /// were refused together do not come back together.
    pub fn wait_after(&self, attempts: u32) -> Option<Duration> {
        let longest = FIRST_WAIT.saturating_mul(1 << attempts.saturating_sub(1).min(10)).min(LONGEST_WAIT);
        let micros = u64::try_from(longest.as_micros()).unwrap_or(u64::MAX);
        let wait = Duration::from_micros(entropy_u64(self.ambient()) % (micros + 1));
        let may_try = self.max_attempts.is_none_or(|most| attempts < most);
        (may_try && wait < self.time_left()).then_some(wait)
    }

    /// The attempts of one call that the caller itself makes and retries.
    pub const fn attempts(&self) -> Attempts<'_> {
        Attempts { table: self, made: 0 }
    }

    /// Makes a call, and retries it until it succeeds, its condition fails, or a retry is of no use.
    ///
    /// It must be safe to apply the call twice: a read, a write of the same item, or a conditional write whose caller
    /// looks at [`Failed::maybe_applied`].
    pub(crate) async fn call<T, E, Calling>(
        &self,
        mut call: impl FnMut() -> Calling,
    ) -> Result<T, CallError<SdkError<E>>>
    where
        Calling: Future<Output = Result<T, SdkError<E>>>,
        E: ProvideErrorMetadata + std::error::Error + 'static,
    {
        let mut maybe_applied = false;
        let mut attempts = self.attempts();
        loop {
            attempts.start();
            let error = match call().await {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            match meaning(&error) {
                Meaning::Condition => return Err(CallError::Condition { error, maybe_applied }),
                Meaning::Final => return Err(CallError::Table(unavailable(&error))),
                Meaning::Ambiguous => maybe_applied = true,
                Meaning::Refused => {}
            }
            attempts.pause_after(&error).await.map_err(CallError::Table)?;
        }
    }

    /// As [`Table::call`], for a conditional write. `None` if the condition failed, for callers that need not know why.
    pub(crate) async fn call_if<T, E, Calling>(
        &self,
        call: impl FnMut() -> Calling,
    ) -> Result<Option<T>, TableError>
    where
        Calling: Future<Output = Result<T, SdkError<E>>>,
        E: ProvideErrorMetadata + std::error::Error + 'static,
    {
        match self.call(call).await {
            Ok(answer) => Ok(Some(answer)),
            Err(CallError::Condition { .. }) => Ok(None),
            Err(CallError::Table(error)) => Err(error),
        }
    }

    /// Makes a conditional write once; `None` if its condition failed. The meter does not count a throttled attempt as
    /// throttled, because nobody depends on the write.
    pub(crate) async fn call_once<T, E>(
        &self,
        call: impl Future<Output = Result<T, SdkError<E>>>,
    ) -> Result<Option<T>, TableError>
    where
        E: ProvideErrorMetadata + std::error::Error + 'static,
    {
        self.meter.call();
        match call.await {
            Ok(answer) => Ok(Some(answer)),
            Err(error) if meaning(&error) == Meaning::Condition => Ok(None),
            Err(error) => Err(unavailable(&error)),
        }
    }
}

/// Why a call failed.
#[derive(Debug)]
pub(crate) enum CallError<E> {
    /// The call's condition did not hold.
    Condition {
        /// DynamoDB's response, which may carry the item.
        error: E,
        /// DynamoDB may have applied an earlier attempt, so the item may be our own write.
        maybe_applied: bool,
    },
    /// The call could not be made.
    Table(TableError),
}

impl<E> CallError<E> {
    /// The error of a call without a condition.
    pub(crate) fn unconditional(self) -> TableError {
        match self {
            Self::Table(error) => error,
            Self::Condition { .. } => TableError::unavailable("a condition failed that was never set"),
        }
    }
}

/// A failed attempt that may be retried.
#[derive(Clone, Debug)]
pub struct Refusal {
    /// The reason of the failure.
    pub error: TableError,
    /// True if the item's own key range accepts no more writes, in the table or in an index. More shards help. They
    /// would not raise a limit of the table or the account.
    pub is_range_hot: bool,
    /// True if DynamoDB throttled the call, or did not do a part of it.
    pub is_throttle: bool,
}

/// The attempts of one call, with growing pauses between them.
#[derive(Debug)]
pub struct Attempts<'a> {
    pub(crate) table: &'a Table,
    made: u32,
}

impl Attempts<'_> {
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

    /// Waits before the next attempt.
    ///
    /// # Errors
    /// The refusal's error if there is no next attempt.
    pub async fn pause(&self, refusal: Refusal) -> Result<(), TableError> {
        let paused = self.pause_or(|| refusal.error).await;
        if refusal.is_throttle {
            self.table.meter.throttled(paused.is_err());
        }
        paused
    }

    /// As [`Attempts::pause`], after a call that failed.
    pub(crate) async fn pause_after<E>(&self, error: &SdkError<E>) -> Result<(), TableError>
    where
        E: ProvideErrorMetadata + std::error::Error + 'static,
    {
        let paused = self.pause_or(|| unavailable(error)).await;
        if is_throttle(error) {
            self.table.meter.throttled(paused.is_err());
        }
        paused
    }

    /// As [`Attempts::pause`], after a response that did not do all work.
    ///
    /// # Errors
    /// The error if there is no next attempt.
    pub async fn pause_or(&self, error: impl FnOnce() -> TableError) -> Result<(), TableError> {
        let wait = self.table.wait_after(self.made).ok_or_else(error)?;
        tokio::time::sleep(wait).await;
        Ok(())
    }
}

pub(crate) fn unavailable<E>(error: &SdkError<E>) -> TableError
where
    E: std::error::Error + 'static,
{
    unavailable_because(error, error.request_id())
}

fn unavailable_because(error: &(dyn std::error::Error + 'static), request_id: Option<&str>) -> TableError {
    // The text contains each cause with its own text, because the error's debug text is pages long.
    let causes = std::iter::successors(Some(error), |error| error.source());
    let texts: Vec<_> = causes.map(ToString::to_string).collect();
    let request = request_id.map(|id| format!(" (request {id})")).unwrap_or_default();
    TableError::unavailable(format!("{}{request}", texts.join(": ")))
}
