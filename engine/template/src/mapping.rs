//! A `DynamoDB` event of a function, which declares a stream mapping.
//!
//! An absent property has Lambda's default. An unknown property is refused rather than ignored, so that a mapping
//! behaves the same in the cloud and locally.

use std::error::Error;
use std::time::Duration;

use lately_pump::{Filter, Mapping, StartingPosition, limits};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

use crate::error::TemplateError;

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
pub(crate) struct DeclaredMapping {
    stream: Value,
    starting_position: String,
    batch_size: Option<usize>,
    maximum_batching_window_in_seconds: Option<u64>,
    parallelization_factor: Option<u16>,
    maximum_retry_attempts: Option<i64>,
    maximum_record_age_in_seconds: Option<i64>,
    #[serde(default)]
    bisect_batch_on_function_error: bool,
    #[serde(default)]
    function_response_types: Vec<String>,
    #[serde(default)]
    filter_criteria: FilterCriteria,
    destination_config: Option<DestinationConfig>,
    /// The mapping's metrics, which do not change its behaviour.
    #[serde(rename = "MetricsConfig")]
    _metrics_config: Option<IgnoredAny>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
struct FilterCriteria {
    #[serde(default)]
    filters: Vec<FilterPattern>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
struct FilterPattern {
    pattern: String,
}

/// The failure destination. Only a deployment knows its address, so only its existence is read.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
struct DestinationConfig {
    on_failure: Option<Value>,
}

impl DeclaredMapping {
    /// The mapping's settings. The mapping must read the stream of the table with the logical id `table`.
    pub(crate) fn mapping(self, function: &str, event: &str, table: &str) -> Result<Mapping, TemplateError> {
        self.settings(table, Mapping::new(function, event)).map_err(|problem| TemplateError::Mapping {
            function: function.to_owned(),
            event: event.to_owned(),
            problem,
        })
    }

    fn settings(self, table: &str, mapping: Mapping) -> Result<Mapping, Box<dyn Error + Send + Sync>> {
        let patterns = self.filter_criteria.filters.iter().map(|filter| filter.pattern.as_str());
        let filter = Filter::parse(patterns)?;
        if self.stream != serde_json::json!({"Fn::GetAtt": [table, "StreamArn"]}) {
            return Err("Stream must be !GetAtt of the table's StreamArn".into());
        }
        let batch_size = self.batch_size.unwrap_or(mapping.batch_size);
        if !(1..=limits::BATCH_RECORDS).contains(&batch_size) {
            return Err("BatchSize must be 1 to 10000".into());
        }
        let window = self.maximum_batching_window_in_seconds.map_or(mapping.window, Duration::from_secs);
        if window > limits::BATCHING_WINDOW {
            return Err("MaximumBatchingWindowInSeconds must be 0 to 300".into());
        }
        let lanes = self.parallelization_factor.unwrap_or(mapping.lanes);
        if !(1..=limits::LANES).contains(&lanes) {
            return Err("ParallelizationFactor must be 1 to 10".into());
        }
        Ok(Mapping {
            starting_position: match self.starting_position.as_str() {
                "TRIM_HORIZON" => StartingPosition::TrimHorizon,
                "LATEST" => StartingPosition::Latest,
                _ => return Err("StartingPosition must be TRIM_HORIZON or LATEST".into()),
            },
            batch_size,
            window,
            lanes,
            maximum_retries: match self.maximum_retry_attempts {
                None | Some(-1) => None,
                Some(attempts) => Some(
                    u32::try_from(attempts)
                        .ok()
                        .filter(|attempts| *attempts <= limits::RETRIES)
                        .ok_or("MaximumRetryAttempts must be -1 to 10000")?,
                ),
            },
            maximum_age: match self.maximum_record_age_in_seconds {
                None | Some(-1) => None,
                Some(seconds) => Some(
                    u64::try_from(seconds)
                        .ok()
                        .map(Duration::from_secs)
                        .filter(|age| limits::RECORD_AGE.contains(age))
                        .ok_or("MaximumRecordAgeInSeconds must be -1, or 60 to 604800")?,
                ),
            },
            bisect: self.bisect_batch_on_function_error,
            filter,
            report_failures: match self.function_response_types.as_slice() {
                [] => false,
                [kind] if kind == "ReportBatchItemFailures" => true,
                _ => return Err("FunctionResponseTypes must be [ReportBatchItemFailures] or absent".into()),
            },
            on_failure: self.destination_config.is_some_and(|config| config.on_failure.is_some()),
            ..mapping
        })
    }
}
