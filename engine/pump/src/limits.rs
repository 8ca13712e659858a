//! Every bound of the mapping, with its reason.

use std::ops::RangeInclusive;
use std::time::Duration;

/// The most records in one batch of a stream mapping: Lambda's limit of `BatchSize`.
pub const BATCH_RECORDS: usize = 10_000;

/// The most bytes of a batch's JSON: Lambda's limit of an invocation's payload.
pub(crate) const BATCH_BYTES: usize = 6 * 1024 * 1024;

/// The longest time that a batch waits to fill: Lambda's limit of `MaximumBatchingWindowInSeconds`.
pub const BATCHING_WINDOW: Duration = Duration::from_secs(300);

/// The most lanes of a shard: Lambda's limit of `ParallelizationFactor`.
pub const LANES: u16 = 10;

/// The most retries of a batch: Lambda's limit of `MaximumRetryAttempts`.
pub const RETRIES: u32 = 10_000;

/// The age at which a record is given up: Lambda's range of `MaximumRecordAgeInSeconds`.
pub const RECORD_AGE: RangeInclusive<Duration> =
    Duration::from_secs(60)..=Duration::from_secs(7 * 24 * 60 * 60);

/// The wait after the first failure of a batch. The cause of a lost response or a conflict is gone by then.
pub(crate) const BACKOFF_FIRST: Duration = Duration::from_millis(100);

/// The longest wait between two retries. It is short, so that batches continue soon after a function is repaired
/// locally.
pub(crate) const BACKOFF_LONGEST: Duration = Duration::from_secs(10);

/// The time between two writes of the checkpoints: short enough that a restart repeats little, long enough that the
/// writes do not slow down a busy stream.
pub(crate) const CHECKPOINT_INTERVAL: Duration = Duration::from_millis(500);

const _: () = assert!(BACKOFF_FIRST.as_millis() < BACKOFF_LONGEST.as_millis());
