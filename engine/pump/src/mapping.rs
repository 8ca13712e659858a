//! A stream mapping's settings, as `template.yaml` declares them.

use std::time::Duration;

use uuid::Uuid;

use crate::filter::Filter;
use crate::identity;

/// The settings of a mapping. Names differ from Lambda's where Lambda's are long.
#[derive(Debug, Clone, PartialEq)]
pub struct Mapping {
    /// The function's logical id.
    pub function: String,
    /// The logical id of its event: a function may have several.
    pub event: String,
    /// The starting position without a checkpoint.
    pub starting_position: StartingPosition,
    /// `BatchSize`: how many records an event has at most.
    pub batch_size: usize,
    /// `MaximumBatchingWindowInSeconds`: how long a batch waits to fill, from its first record.
    pub window: Duration,
    /// `ParallelizationFactor`: how many batches of a shard are at work at once.
    pub lanes: u16,
    /// `MaximumRetryAttempts`. `None`: until the record expires.
    pub maximum_retries: Option<u32>,
    /// `MaximumRecordAgeInSeconds`. `None`: until the record expires.
    pub maximum_age: Option<Duration>,
    /// `BisectBatchOnFunctionError`: a batch that fails is split.
    pub bisect: bool,
    /// `FunctionResponseTypes: [ReportBatchItemFailures]`: the function says where it failed.
    pub report_failures: bool,
    /// `FilterCriteria`: which records the function gets.
    pub filter: Filter,
    /// True if there is a `DestinationConfig.OnFailure`.
    pub on_failure: bool,
}

/// The starting position of a mapping without a checkpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StartingPosition {
    /// At the oldest record held.
    TrimHorizon,
    /// After the newest.
    Latest,
}

impl Mapping {
    /// A mapping with Lambda's defaults, from the oldest record on.
    #[must_use]
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

    /// Its id: the same in every run, because names in the destination begin with it.
    #[must_use]
    pub fn id(&self) -> Uuid {
        identity::uuid(identity::MAPPING, &format!("{}/{}", self.function, self.event), 0)
    }
}
