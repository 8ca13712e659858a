//! Every bound of the engine, with its reason.

use std::time::Duration;

/// The default number of shards of a stream: enough to expose a consumer that confuses shards.
pub const STREAM_SHARDS: u16 = 4;

/// The time for which DynamoDB Streams retains a record.
pub const STREAM_RETENTION: Duration = Duration::from_secs(24 * 60 * 60);

/// Records that retention drops per append. With more than one, a shard that is written to sheds its expired records.
pub(crate) const TRIMMED_PER_APPEND: usize = 2;

/// Records that retention drops per read of a shard.
pub(crate) const TRIMMED_PER_READ: usize = 1_000;

/// The most records that one read of a shard returns, as in DynamoDB Streams.
pub const GET_RECORDS: usize = 1_000;

/// The most bytes that one read of a shard returns, as in DynamoDB Streams.
pub const GET_RECORDS_BYTES: u64 = 1024 * 1024;

/// The largest request body in bytes. DynamoDB has the same limit.
pub(crate) const REQUEST_BYTES: usize = 16 * 1024 * 1024;

/// TTL ignores items that expired longer ago than this. DynamoDB has the same limit.
pub(crate) const TTL_HORIZON: Duration = Duration::from_secs(5 * 365 * 24 * 60 * 60);

/// Write units that one partition serves a second.
pub const PARTITION_WRITE_UNITS: u32 = 1_000;

/// Read units that one partition serves a second.
pub const PARTITION_READ_UNITS: u32 = 3_000;

/// The time for which a stopping server waits until its connections end.
pub(crate) const SHUTDOWN: Duration = Duration::from_secs(5);

/// The most connections of a port at once. Two ports need fewer files than the 1,024 that systems give a process.
pub(crate) const CONNECTIONS: usize = 400;

/// The time in which a connection must send the head of its next request: a person types a request by hand, and clients
/// that keep connections open for longer open another.
pub(crate) const REQUEST_HEAD: Duration = Duration::from_secs(30);

/// The pause after a connection could not be accepted for want of something that other connections hold.
pub(crate) const ACCEPT_PAUSE: Duration = Duration::from_secs(1);

/// The number of injected faults that a live client records: as many as a page shows.
pub(crate) const INJECTED_KEPT: usize = 50;

/// The due changes that a replica applies whenever it receives one. With more than one, a replica without readers holds
/// no more changes than were written during its lag.
pub(crate) const APPLIED_PER_CHANGE: usize = 2;

const _: () = assert!(TRIMMED_PER_APPEND > 1);
const _: () = assert!(APPLIED_PER_CHANGE > 1);
