//! Every bound of the mapping, with its reason.

use std::ops::RangeInclusive;
use std::time::Duration;

/// Records of one batch of a stream mapping, as Lambda limits `BatchSize`.
pub const BATCH_RECORDS: usize = 10_000;

/// The JSON of one batch, as Lambda limits an invocation's payload.
pub(crate) const BATCH_BYTES: usize = 6 * 1024 * 1024;

/// The longest time that a batch waits to fill, as Lambda limits `MaximumBatchingWindowInSeconds`.
pub const BATCHING_WINDOW: Duration = Duration::from_secs(300);

/// Lanes of a shard, as Lambda limits `ParallelizationFactor`.
pub const LANES: u16 = 10;

/// Retries of a batch, as Lambda limits `MaximumRetryAttempts`.
pub const RETRIES: u32 = 10_000;

/// The age at which a record is given up, as Lambda limits `MaximumRecordAgeInSeconds`.
pub const RECORD_AGE: RangeInclusive<Duration> =
    Duration::from_secs(60)..=Duration::from_secs(7 * 24 * 60 * 60);

/// The wait after a first failure of a batch: a lost answer or a conflict is gone by then.
pub(crate) const BACKOFF_FIRST: Duration = Duration::from_millis(100);

/// The longest wait between two tries: after a function is repaired locally, its batches go on soon.
pub(crate) const BACKOFF_LONGEST: Duration = Duration::from_secs(10);

/// The time between two writes of the checkpoints: short enough that a restart repeats little, long
/// enough that a busy stream is not held up by them.
pub(crate) const CHECKPOINT_INTERVAL: Duration = Duration::from_millis(500);

const _: () = assert!(BACKOFF_FIRST.as_millis() < BACKOFF_LONGEST.as_millis());
