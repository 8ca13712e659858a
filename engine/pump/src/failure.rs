//! The object that the destination stores of a batch that was given up. It has the format of the invocation record that
//! Lambda writes to an S3 destination, with the whole event.
//!
//! ```text
//! aws/lambda/{mapping id}/{shard}/YYYY/MM/DD/YYYY-MM-DDTHH.MM.SS-{id}
//! ```

use lately_keys::UnixMillis;
use serde::{Deserialize, Serialize};

use crate::batch::Batch;
use crate::handler::UNHANDLED;
use crate::identity;
use crate::mapping::Mapping;
use crate::response::Cause;
use lately_engine::stream::{REGION, Record, Stream, shard_id};

/// The lengths of a moment's text up to its day, and up to its second.
const DAY: usize = "2026-03-14".len();
const SECOND: usize = "2026-03-14T12:00:00".len();

/// A batch that was given up, with the reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Failure {
    /// The invocation.
    pub request_context: RequestContext,
    /// The function's response. `None` if the function was never invoked.
    pub response_context: Option<ResponseContext>,
    /// The version of this format.
    pub version: String,
    /// The time at which the batch was given up.
    pub timestamp: String,
    /// The batch.
    #[serde(rename = "DDBStreamBatchInfo")]
    pub batch: BatchInfo,
    /// The JSON of the event. An invocation of the function with it is a retry of the batch.
    pub payload: String,
}

/// The invocation of the function.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RequestContext {
    /// The id of the last request.
    pub request_id: String,
    /// The function's ARN.
    pub function_arn: String,
    /// The reason why the batch was given up.
    pub condition: Condition,
    /// The number of invocations with these records, alone or with others.
    pub approximate_invoke_count: u32,
}

/// The reason why a batch was given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Condition {
    /// The batch was retried `MaximumRetryAttempts` times.
    RetryAttemptsExhausted,
    /// The records were older than `MaximumRecordAgeInSeconds`.
    RecordAgeExceeded,
}

/// The function's response.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ResponseContext {
    /// Lambda's own status: 200, even if the function failed.
    pub status_code: u16,
    /// The version of the function that ran.
    pub executed_version: String,
    /// `Unhandled`. `None` if the function's response named the records that failed.
    pub function_error: Option<String>,
}

/// The batch's shard, records and times.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BatchInfo {
    /// The shard's id.
    pub shard_id: String,
    /// The first record's sequence number.
    pub start_sequence_number: String,
    /// The last record's sequence number.
    pub end_sequence_number: String,
    /// The time of the first record.
    pub approximate_arrival_of_first_record: String,
    /// The time of the last record.
    pub approximate_arrival_of_last_record: String,
    /// The number of records.
    pub batch_size: usize,
    /// The stream's ARN.
    pub stream_arn: String,
}

impl Failure {
    /// The object of a batch, after its name in the destination. `None` for a batch without records.
    pub(crate) fn of(
        batch: &Batch,
        condition: Condition,
        mapping: &Mapping,
        stream: &Stream,
        shard: u16,
    ) -> Option<(String, Self)> {
        let (first, last) = batch.ends()?;
        let shard = shard_id(shard);
        let start = first.sequence.to_string();
        let now = moment(stream.now_micros());
        let id = |kind, number| {
            identity::uuid(kind, &format!("{}/{}/{start}", mapping.id(), stream.arn()), number)
        };
        let (day, second) = (now[..DAY].replace('-', "/"), now[..SECOND].replace(':', "."));
        let object = id(identity::OBJECT, 0);
        let name = format!("aws/lambda/{}/{shard}/{day}/{second}-{object}", mapping.id());
        let arrival = |record: &Record| format!("{}Z", &moment(record.at_micros)[..SECOND]);
        let failure = Self {
            request_context: RequestContext {
                request_id: id(identity::REQUEST, u64::from(batch.invocations)).to_string(),
                // In the form of dynoxide's ARNs of tables.
                function_arn: format!("arn:aws:lambda:{REGION}:000000000000:function:{}", mapping.function),
                condition,
                approximate_invoke_count: batch.invocations,
            },
            response_context: batch.cause.map(|cause| ResponseContext {
                status_code: 200,
                executed_version: "$LATEST".to_owned(),
                function_error: (cause == Cause::Error).then(|| UNHANDLED.to_owned()),
            }),
            version: "1.0".to_owned(),
            timestamp: now,
            batch: BatchInfo {
                shard_id: shard,
                approximate_arrival_of_first_record: arrival(first),
                approximate_arrival_of_last_record: arrival(last),
                end_sequence_number: last.sequence.to_string(),
                start_sequence_number: start,
                batch_size: batch.len(),
                stream_arn: stream.arn().to_owned(),
            },
            payload: batch.event(),
        };
        Some((name, failure))
    }

    /// Reads an object of a destination.
    ///
    /// # Errors
    /// If the object is not in this format.
    pub fn parse(bytes: &[u8]) -> Result<Self, serde_json::Error> {
        serde_json::from_slice(bytes)
    }

    /// The JSON that [`Failure::parse`] reads.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("the fields have string keys")
    }
}

/// The text of a time in microseconds: `2026-03-14T12:00:00.000Z`. A time after the year 9999 becomes its last moment.
fn moment(micros: u64) -> String {
    UnixMillis::new(micros / 1000).unwrap_or(UnixMillis::MAX).to_string()
}
