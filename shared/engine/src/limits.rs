//! Every bound of the engine, with its reason.

use std::ops::RangeInclusive;
use std::time::Duration;

/// Shards of a stream when nothing else is asked for: enough that a consumer which mixes them up is found out.
pub const STREAM_SHARDS: u16 = 4;

/// How long DynamoDB Streams keeps a record.
pub const STREAM_RETENTION: Duration = Duration::from_secs(24 * 60 * 60);

/// Records that retention drops per append: more than one, so that a shard which is written to catches up.
pub(crate) const TRIMMED_PER_APPEND: usize = 2;

/// Records that retention drops per read of a shard.
pub(crate) const TRIMMED_PER_READ: usize = 1_000;

/// What one `GetRecords` returns at most, as DynamoDB's does.
pub(crate) const GET_RECORDS: usize = 1_000;

/// The same, in bytes.
pub(crate) const GET_RECORDS_BYTES: u64 = 1024 * 1024;

/// A request's body, as DynamoDB limits it.
pub(crate) const REQUEST_BYTES: usize = 16 * 1024 * 1024;

/// TTL ignores items whose time is further back than this, as DynamoDB does.
pub(crate) const TTL_HORIZON: Duration = Duration::from_secs(5 * 365 * 24 * 60 * 60);

/// Write units a second that one partition takes.
pub const PARTITION_WRITE_UNITS: u32 = 1_000;

/// Read units a second that one partition takes.
pub const PARTITION_READ_UNITS: u32 = 3_000;

/// How long a server waits for connections to end after it was told to stop.
pub(crate) const SHUTDOWN: Duration = Duration::from_secs(5);

/// Records of one batch of a stream mapping, as Lambda limits `BatchSize`.
pub(crate) const BATCH_RECORDS: usize = 10_000;

/// The JSON of one batch, as Lambda limits an invocation's payload.
pub(crate) const BATCH_BYTES: usize = 6 * 1024 * 1024;

/// How long a batch may wait to fill, as Lambda limits `MaximumBatchingWindowInSeconds`.
pub(crate) const BATCHING_WINDOW: Duration = Duration::from_secs(300);

/// Lanes of a shard, as Lambda limits `ParallelizationFactor`.
pub(crate) const LANES: u16 = 10;

/// Retries of a batch, as Lambda limits `MaximumRetryAttempts`.
pub(crate) const RETRIES: u32 = 10_000;

/// The age at which a record is given up, as Lambda limits `MaximumRecordAgeInSeconds`.
pub(crate) const RECORD_AGE: RangeInclusive<Duration> =
    Duration::from_secs(60)..=Duration::from_secs(7 * 24 * 60 * 60);

/// The wait after a first failure of a batch: a lost answer or a conflict is gone by then.
pub(crate) const BACKOFF_FIRST: Duration = Duration::from_millis(100);

/// The longest wait between two tries: who mends a function locally sees it go on soon after.
pub(crate) const BACKOFF_LONGEST: Duration = Duration::from_secs(10);

/// Faults that a client keeps whose faults change while it is used: what a page of them shows.
pub(crate) const INJECTED_KEPT: usize = 50;

/// Changes that a replica takes over, once they are due, for each that it is shown: more than one, so that what it
/// holds back is never more than was written during its lag, though nobody reads it.
pub(crate) const APPLIED_PER_CHANGE: usize = 2;

/// How often checkpoints are written to their file: often enough that a restart repeats little, seldom
/// enough that a busy stream is not held up by it.
pub(crate) const CHECKPOINT_INTERVAL: Duration = Duration::from_millis(500);

const _: () = assert!(TRIMMED_PER_APPEND > 1);
const _: () = assert!(APPLIED_PER_CHANGE > 1);
const _: () = assert!(BACKOFF_FIRST.as_millis() < BACKOFF_LONGEST.as_millis());
