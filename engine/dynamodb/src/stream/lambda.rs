//! The JSON of records in Lambda's event: `{"Records":[{"eventID":…,"dynamodb":{…}}]}`.

use serde::Serialize;
use serde_json::value::RawValue;

use crate::stream::record::{EventName, Record};
use crate::table::StreamView;

/// The region in names and events. dynoxide's ARNs have the same region.
pub const REGION: &str = dynoxide::streams::LOCAL_REGION;

/// One record of an event.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct RecordJson<'a> {
    #[serde(rename = "eventID")]
    event_id: String,
    event_name: EventName,
    event_version: &'static str,
    event_source: &'static str,
    aws_region: &'static str,
    dynamodb: ChangeJson<'a>,
    #[serde(rename = "eventSourceARN")]
    event_source_arn: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    user_identity: Option<Identity>,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct ChangeJson<'a> {
    approximate_creation_date_time: u64,
    keys: &'a RawValue,
    #[serde(skip_serializing_if = "Option::is_none")]
    new_image: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    old_image: Option<&'a RawValue>,
    sequence_number: String,
    size_bytes: u64,
    stream_view_type: StreamView,
}

/// The identity of the TTL service, in the record of an expired item.
#[derive(Serialize)]
struct Identity {
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(rename = "principalId")]
    principal: &'static str,
}

const TTL: Identity = Identity { kind: "Service", principal: "dynamodb.amazonaws.com" };

/// The JSON of a record in a Lambda event.
pub(crate) fn record(record: &Record, view: StreamView, arn: &str) -> String {
    let record = RecordJson {
        event_id: format!("{:032x}", record.sequence.0),
        event_name: record.event,
        event_version: "1.1",
        event_source: "aws:dynamodb",
        aws_region: REGION,
        dynamodb: ChangeJson {
            approximate_creation_date_time: record.at_micros / 1_000_000,
            keys: &record.keys,
            new_image: record.new.as_deref(),
            old_image: record.old.as_deref(),
            sequence_number: record.sequence.to_string(),
            size_bytes: record.size_bytes,
            stream_view_type: view,
        },
        event_source_arn: arn,
        user_identity: record.expired.then_some(TTL),
    };
    serde_json::to_string(&record).expect("the fields have string keys")
}

/// The JSON of one Lambda event. `records` are the JSON texts of its records.
pub fn event<'a>(records: impl IntoIterator<Item = &'a str>) -> String {
    let records: Vec<_> = records.into_iter().collect();
    format!("{EVENT_HEAD}{}{EVENT_TAIL}", records.join(","))
}

const EVENT_HEAD: &str = r#"{"Records":["#;
const EVENT_TAIL: &str = "]}";

/// The length of an event's JSON in bytes, without its records and the commas between them.
pub const EVENT_BYTES: usize = EVENT_HEAD.len() + EVENT_TAIL.len();
