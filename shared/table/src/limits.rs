//! The limits of calls to DynamoDB, each with its reason.

use std::time::Duration;

/// Items in one `BatchWriteItem`: DynamoDB's limit.
pub const BATCH_ITEMS: usize = 25;

/// Items read by one `BatchGetItem`: DynamoDB's limit.
pub const BATCH_KEYS: usize = 100;

/// Batch calls of one request that run at the same time: 500 events take 20 calls, five rounds of four.
pub const BATCHES_AT_ONCE: usize = 4;

/// A page or a poll ends after this many read units. This is 8 MB (or 4 MB where the read is
/// consistent), and a third of the units that one partition provides in a second. A round of queries that has begun is
/// finished.
pub const UNITS_PER_REQUEST: u64 = 1_024;

/// A read begins no further round of queries with less time. A round and the response take less, unless DynamoDB
/// does not respond.
pub const ANSWER_RESERVE: Duration = Duration::from_secs(2);

/// Attempts of one call while a client waits: at most 5.6 s of waiting, within the operation's 10 s. Fan-out has no
/// such limit: it retries its calls until its deadline.
pub const ATTEMPTS: u32 = 12;

/// Attempts of a call to a busy key range, if the operation gives way. The three waits between them take 90 ms on average,
/// and 175 ms at most.
pub const BUSY_ATTEMPTS: u32 = 4;

/// The longest first wait between two attempts. Each further wait is at most twice as long as the one before.
pub const FIRST_WAIT: Duration = Duration::from_millis(25);

/// The longest wait between two attempts.
pub const LONGEST_WAIT: Duration = Duration::from_millis(800);

/// Rounds of a read, a decision and a conditional write. In each of them, another writer may come first.
pub const CONFLICTS: u32 = 16;
