//! What an engine is opened with.

use std::time::Duration;

use crate::clock::Clock;
use crate::limits;
use crate::partition::PartitionLimits;
use crate::replica::Lag;

/// How an engine behaves. The default is DynamoDB on a good day: no limits, nothing behind.
#[derive(Debug, Clone)]
pub struct Options {
    /// Where it takes its time from.
    pub clock: Clock,
    /// How many shards a stream has.
    pub shards: u16,
    /// How long a stream keeps a record.
    pub retention: Duration,
    /// How far reads that need not be consistent are behind.
    pub lag: Option<Lag>,
    /// What each partition takes a second.
    pub partitions: Option<PartitionLimits>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            clock: Clock::system(),
            shards: limits::STREAM_SHARDS,
            retention: limits::STREAM_RETENTION,
            lag: None,
            partitions: None,
        }
    }
}
