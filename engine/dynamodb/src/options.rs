//! The options of an engine.

use std::time::Duration;

use crate::clock::Clock;
use crate::limits;
use crate::open_progress::OpenProgress;
use crate::partition::PartitionLimits;
use crate::replica::Lag;

/// The behaviour of an engine. By default it has neither partition limits nor lag.
#[derive(Debug, Clone)]
pub struct Options {
    /// The engine's clock.
    pub clock: Clock,
    /// The number of shards of a stream.
    pub shards: u16,
    /// The time for which a stream retains a record.
    pub retention: Duration,
    /// The lag of eventually consistent reads.
    pub lag: Option<Lag>,
    /// The units that each partition serves a second.
    pub partitions: Option<PartitionLimits>,
    /// Counts the work of opening a directory.
    pub progress: OpenProgress,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            clock: Clock::system(),
            shards: limits::STREAM_SHARDS,
            retention: limits::STREAM_RETENTION,
            lag: None,
            partitions: None,
            progress: OpenProgress::default(),
        }
    }
}
