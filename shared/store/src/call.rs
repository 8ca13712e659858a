//! One call to DynamoDB: what its failure means, and the only layer that tries again.
//!
//! The SDK's own retries are off, so that one place knows how often a call was tried, which attempts were
//! ambiguous (they may have been applied although they failed), and when to give up: at the operation's
//! deadline, and for a request of a client also after [`ATTEMPTS`]. Fan-out has no client that waits: it tries
//! until its deadline.

use std::sync::Arc;
use std::time::Duration;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_dynamodb::operation::RequestId;
use aws_sdk_dynamodb::operation::batch_write_item::BatchWriteItemError;
use aws_sdk_dynamodb::operation::put_item::PutItemError;
use aws_sdk_dynamodb::types::ThrottlingReason;

use crate::ambient::{Ambient, entropy_u64};
use crate::cost::Meter;
use crate::error::TableError;
use crate::limits::{ANSWER_RESERVE, ATTEMPTS, FIRST_WAIT, LONGEST_WAIT, UNITS_PER_REQUEST};

/// What a failed attempt means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// The condition of a conditional write did not hold.
    Condition,
    /// Refused before anything was done: too fast, or in the way of a transaction.
    Refused,
    /// Failed, and nobody knows whether it was done.
    Ambiguous,
    /// Failed for good: trying again will not help.
    Final,
}

pub(crate) fn meaning<E: ProvideErrorMetadata>(error: &SdkError<E>) -> Meaning {
    match error {
        SdkError::ConstructionFailure(_) => Meaning::Final,
        // DynamoDB's own failures, whatever their names.
        SdkError::ServiceError(service) if service.raw().status().is_server_error() => Meaning::Ambiguous,
        SdkError::ServiceError(service) => match service.err().code() {
            Some("ConditionalCheckFailedException") => Meaning::Condition,
            Some(
                "ThrottlingException"
                | "ProvisionedThroughputExceededException"
                | "RequestLimitExceeded"
                | "TransactionConflictException"
                | "LimitExceededException",
            ) => Meaning::Refused,
            Some(_) => Meaning::Final,
            None => Meaning::Ambiguous,
        },
        // Timeouts, broken connections, answers that cannot be read.
        _ => Meaning::Ambiguous,
    }
}

/// Whether DynamoDB was asked too much.
pub(crate) fn is_throttle<E: ProvideErrorMetadata>(error: &SdkError<E>) -> bool {
    let code = error.as_service_error().and_then(ProvideErrorMetadata::code);
    matches!(
        code,
        Some("ThrottlingException" | "ProvisionedThroughputExceededException" | "RequestLimitExceeded")
    )
}

/// Whether a put was throttled because its own key range is hot, in the table or in an index. More shards help then; they
/// would not raise a limit of the table or the account.
pub(crate) fn is_own_range_hot(error: &SdkError<PutItemError>) -> bool {
    is_key_range(match error.as_service_error() {
        Some(PutItemError::ThrottlingException(error)) => {
            error.throttling_reasons.as_deref().unwrap_or_default()
        }
        Some(PutItemError::ProvisionedThroughputExceededException(error)) => error.throttling_reasons(),
        _ => &[],
    })
}

/// As [`is_own_range_hot`], for a batch none of which was written.
pub(crate) fn is_batchs_range_hot(error: &SdkError<BatchWriteItemError>) -> bool {
    is_key_range(match error.as_service_error() {
        Some(BatchWriteItemError::ThrottlingException(error)) => {
            error.throttling_reasons.as_deref().unwrap_or_default()
        }
        Some(BatchWriteItemError::ProvisionedThroughputExceededException(error)) => {
            error.throttling_reasons()
        }
        _ => &[],
    })
}

fn is_key_range(reasons: &[ThrottlingReason]) -> bool {
    let is_key_range = |reason: &ThrottlingReason| {
        matches!(
            reason.reason(),
            Some("TableWriteKeyRangeThroughputExceeded" | "IndexWriteKeyRangeThroughputExceeded")
        )
    };
    reasons.iter().any(is_key_range)
}

/// The table, as one operation uses it: with the operation's price meter, deadline and number of attempts.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    pub(crate) client: Client,
    pub(crate) name: Arc<str>,
    pub(crate) meter: Arc<Meter>,
    ambient: Arc<dyn Ambient>,
    deadline: Duration,
    /// How often a call is made, at most; without a number, until the deadline.
    max_attempts: Option<u32>,
}

impl Table {
    /// The table for an operation that may take so long. The operation's price is added to `all` when the operation ends.
    pub(crate) fn new(
        client: Client,
        name: Arc<str>,
        ambient: Arc<dyn Ambient>,
        budget: Duration,
        all: &Arc<Meter>,
    ) -> Self {
        let deadline = ambient.monotonic() + budget;
        let meter = Arc::new(Meter::part_of(Arc::clone(all)));
        Self { client, name, meter, ambient, deadline, max_attempts: Some(ATTEMPTS) }
    }

    /// The same operation, which gives up at its deadline alone: nobody waits for its answer.
    pub(crate) fn until_deadline(mut self) -> Self {
        self.max_attempts = None;
        self
    }

    pub(crate) fn ambient(&self) -> &dyn Ambient {
        &*self.ambient
    }

    /// Whether it has read as much, or taken as long, as one request may: a read ends then, and says where it goes on.
    pub(crate) fn is_spent(&self) -> bool {
        self.meter.read_units() >= UNITS_PER_REQUEST || self.time_left() < ANSWER_RESERVE
    }

    /// How long it may still take.
    pub(crate) fn time_left(&self) -> Duration {
        self.deadline.saturating_sub(self.ambient.monotonic())
    }

    /// How long to wait after so many attempts, a random time so that writers that were refused together do not
    /// come back together; `None` if there is no next attempt.
    pub(crate) fn wait_after(&self, attempts: u32) -> Option<Duration> {
        let longest = FIRST_WAIT.saturating_mul(1 << attempts.saturating_sub(1).min(10)).min(LONGEST_WAIT);
        let micros = u64::try_from(longest.as_micros()).unwrap_or(u64::MAX);
        let wait = Duration::from_micros(entropy_u64(self.ambient()) % (micros + 1));
        let may_try = self.max_attempts.is_none_or(|most| attempts < most);
        (may_try && wait < self.time_left()).then_some(wait)
    }

    pub(crate) fn attempts(&self) -> Attempts<'_> {
        Attempts { table: self, made: 0 }
    }

    /// Calls until it succeeds, its condition fails, or trying again is of no use.
    ///
    /// The call must be one that may be applied twice: a read, a write of the same item, or a conditional
    /// write whose caller looks at [`Failed::maybe_applied`].
    pub(crate) async fn call<T, E, Calling>(
        &self,
        mut call: impl FnMut() -> Calling,
    ) -> Result<T, Failed<SdkError<E>>>
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
                Meaning::Condition => return Err(Failed::Condition { error, maybe_applied }),
                Meaning::Final => return Err(Failed::Table(unavailable(&error))),
                Meaning::Ambiguous => maybe_applied = true,
                Meaning::Refused => {}
            }
            attempts.pause(&error).await.map_err(Failed::Table)?;
        }
    }

    /// As [`Table::call`], for a conditional write that need not know why its condition failed: `None` then.
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
            Err(Failed::Condition { .. }) => Ok(None),
            Err(Failed::Table(error)) => Err(error),
        }
    }
}

/// Why a call came to nothing.
#[derive(Debug)]
pub(crate) enum Failed<E> {
    /// Its condition did not hold.
    Condition {
        /// What DynamoDB answered; it may carry the item.
        error: E,
        /// An earlier attempt may have been applied: it may be our own write that is in the way.
        maybe_applied: bool,
    },
    /// The call could not be made.
    Table(TableError),
}

impl<E> Failed<E> {
    /// For a call without a condition.
    pub(crate) fn unconditional(self) -> TableError {
        match self {
            Self::Table(error) => error,
            Self::Condition { .. } => TableError::unavailable("a condition failed that was never set"),
        }
    }
}

/// The attempts of one call, with growing pauses between them.
#[derive(Debug)]
pub(crate) struct Attempts<'a> {
    table: &'a Table,
    made: u32,
}

impl Attempts<'_> {
    /// How many attempts were made.
    pub(crate) const fn made(&self) -> u32 {
        self.made
    }

    pub(crate) fn start(&mut self) {
        self.made += 1;
        self.table.meter.call();
    }

    /// Begins an attempt of several calls, each of which counts for itself.
    pub(crate) const fn start_round(&mut self) {
        self.made += 1;
    }

    /// Waits before the next attempt.
    pub(crate) async fn pause<E>(&self, error: &SdkError<E>) -> Result<(), TableError>
    where
        E: ProvideErrorMetadata + std::error::Error + 'static,
    {
        let paused = self.pause_or(|| unavailable(error)).await;
        if is_throttle(error) {
            self.table.meter.throttled(paused.is_err());
        }
        paused
    }

    /// As [`Attempts::pause`], after an answer that left something to do; the error if there is no next attempt.
    pub(crate) async fn pause_or(&self, error: impl FnOnce() -> TableError) -> Result<(), TableError> {
        let wait = self.table.wait_after(self.made).ok_or_else(error)?;
        tokio::time::sleep(wait).await;
        Ok(())
    }
}

pub(crate) fn unavailable<E>(error: &SdkError<E>) -> TableError
where
    E: std::error::Error + 'static,
{
    // Each cause by its own text; the whole of it, as it is debugged, is pages long.
    let causes = std::iter::successors(Some(error as &dyn std::error::Error), |error| error.source());
    let told: Vec<_> = causes.map(ToString::to_string).collect();
    let request = error.request_id().map(|id| format!(" (request {id})")).unwrap_or_default();
    TableError::unavailable(format!("{}{request}", told.join(": ")))
}
