//! Every bound of the engine, with its reason.

use std::time::Duration;

/// Shards of a stream when nothing else is asked for: enough that a consumer which mixes them up is found out.
pub const STREAM_SHARDS: u16 = 4;

/// The time for which DynamoDB Streams keeps a record.
pub const STREAM_RETENTION: Duration = Duration::from_secs(24 * 60 * 60);

/// Records that retention drops per append: more than one, so that a shard which is written to catches up.
pub(crate) const TRIMMED_PER_APPEND: usize = 2;

/// Records that retention drops per read of a shard.
pub(crate) const TRIMMED_PER_READ: usize = 1_000;

/// The most records that one `GetRecords` returns, as DynamoDB's does.
pub const GET_RECORDS: usize = 1_000;

/// The same, in bytes.
pub const GET_RECORDS_BYTES: u64 = 1024 * 1024;

/// A request's body, as DynamoDB limits it.
pub(crate) const REQUEST_BYTES: usize = 16 * 1024 * 1024;

/// TTL ignores items whose time is further back than this, as DynamoDB does.
pub(crate) const TTL_HORIZON: Duration = Duration::from_secs(5 * 365 * 24 * 60 * 60);

/// Write units a second that one partition takes.
pub const PARTITION_WRITE_UNITS: u32 = 1_000;

/// Read units a second that one partition takes.
pub const PARTITION_READ_UNITS: u32 = 3_000;

/// The time that a server waits for connections to end after it was told to stop.
pub(crate) const SHUTDOWN: Duration = Duration::from_secs(5);

/// Faults that a client keeps whose faults change while it is used: what a page of them shows.
pub(crate) const INJECTED_KEPT: usize = 50;

/// Changes that a replica takes over, once they are due, for each that it is shown: more than one, so that what it
/// holds back is never more than was written during its lag, though nobody reads it.
pub(crate) const APPLIED_PER_CHANGE: usize = 2;

const _: () = assert!(TRIMMED_PER_APPEND > 1);
const _: () = assert!(APPLIED_PER_CHANGE > 1);
