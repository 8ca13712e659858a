//! The settings of a stream mapping, which `template.yaml` declares.

use std::time::Duration;

use uuid::Uuid;

use crate::filter::Filter;
use crate::identity;

/// The settings of a mapping. Some names are shorter than Lambda's.
#[derive(Debug, Clone, PartialEq)]
pub struct Mapping {
    /// The function's logical id.
    pub function: String,
    /// The logical id of the function's event. A function may have several events.
    pub event: String,
    /// The starting position without a checkpoint.
    pub starting_position: StartingPosition,
    /// `BatchSize`: the most records in an event.
    pub batch_size: usize,
    /// `MaximumBatchingWindowInSeconds`: the time that a batch waits to fill, from its first record.
    pub window: Duration,
    /// `ParallelizationFactor`: the number of batches of a shard that are under way at once.
    pub lanes: u16,
    /// `MaximumRetryAttempts`. `None`: a batch is retried until its records expire.
    pub maximum_retries: Option<u32>,
    /// `MaximumRecordAgeInSeconds`. `None`: a record is retried until it expires.
    pub maximum_age: Option<Duration>,
    /// `BisectBatchOnFunctionError`: a batch that fails is split.
    pub bisect: bool,
    /// `FunctionResponseTypes: [ReportBatchItemFailures]`: the function's response names the records that failed.
    pub report_failures: bool,
    /// `FilterCriteria`: the records that the function gets.
    pub filter: Filter,
    /// True if the mapping has a `DestinationConfig.OnFailure`.
    pub on_failure: bool,
}

/// The starting position of a mapping without a checkpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StartingPosition {
    /// The oldest record in the stream.
    TrimHorizon,
    /// The first record after the newest.
    Latest,
}

impl Mapping {
    /// A mapping with Lambda's defaults that starts at the oldest record.
    pub fn new(function: &str, event: &str) -> Self {
        Self {
            function: function.to_owned(),
            event: event.to_owned(),
            starting_position: StartingPosition::TrimHorizon,
            batch_size: 100,
            window: Duration::ZERO,
            lanes: 1,
            maximum_retries: None,
            maximum_age: None,
            bisect: false,
            report_failures: false,
            filter: Filter::default(),
            on_failure: false,
        }
    }

    /// The mapping's id. Names in the destination contain it, so it is the same in every run.
    pub fn id(&self) -> Uuid {
        identity::uuid(identity::MAPPING, &format!("{}/{}", self.function, self.event), 0)
    }
}
