//! The events that the function is invoked with: the schedule's, or records of the table's stream.
//!
//! ```text
//! {"source":"aws.scheduler","detail-type":"Scheduled Event",
//!  "detail":{"topic":"billing","consumer":"nightly","group_by":"actor","sum":"amount"}}   begin a run, or go on
//! {"Records":[…]}                                                                         continue an unfinished run
//! ```
//!
//! A stream record's keys name the run. The table says whether the run is finished.

use std::collections::HashMap;
use std::fmt::Display;
use std::str::FromStr;

use aws_lambda_events::dynamodb::{Event as Batch, EventRecord};
use aws_sdk_dynamodb::types::AttributeValue;
use lately_items::{ConsumerKey, RunKey};
use lately_keys::{Consumer, TableKey, Topic};
use lately_model::RunSpec;
use serde::{Deserialize, Serialize};

/// A report to make: its consumer and its counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// The consumer. It is created if it does not exist, and starts with the topic's first event.
    pub consumer: ConsumerKey,
    /// The counts of a run that begins now. A run that is already under way has its own.
    pub spec: RunSpec,
}

/// A parsed event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// A report is due.
    Due(Report),
    /// Runs of these consumers are unfinished.
    Unfinished(Vec<ConsumerKey>),
}

/// The event is neither of the two.
#[derive(Debug, thiserror::Error)]
pub enum EventError {
    /// The schedule's event does not name a report.
    #[error(
        "the schedule's event needs the detail {{\"topic\", \"consumer\", \"group_by\"?, \"sum\"?}}: {0}"
    )]
    Schedule(#[from] serde_json::Error),
    /// A setting of the report is invalid.
    #[error("the schedule's event: {0}")]
    Setting(String),
    /// A record does not belong to a run: the mapping's filter is wrong.
    #[error("a stream record does not belong to a run")]
    Foreign,
}

/// The part of the schedule's event that says what to report.
#[derive(Deserialize)]
struct Scheduled {
    detail: Due,
}

/// The detail that the template gives the schedule. Empty text means the default, as in an environment.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Due {
    topic: Topic,
    consumer: Consumer,
    #[serde(default)]
    group_by: String,
    #[serde(default)]
    sum: String,
}

impl Event {
    pub(crate) fn parse(event: &[u8]) -> Result<Self, EventError> {
        match serde_json::from_slice(event) {
            Ok(Batch { records, .. }) => Self::unfinished(records),
            Err(_) => Self::due(serde_json::from_slice::<Scheduled>(event)?.detail),
        }
    }

    fn unfinished(records: Vec<EventRecord>) -> Result<Self, EventError> {
        // A consumer has one run at a time, so all its records are of the same run.
        let mut consumers = Vec::new();
        for record in records {
            let RunKey { consumer, .. } = run(record).ok_or(EventError::Foreign)?;
            if !consumers.contains(&consumer) {
                consumers.push(consumer);
            }
        }
        Ok(Self::Unfinished(consumers))
    }

    fn due(Due { topic, consumer, group_by, sum }: Due) -> Result<Self, EventError> {
        let spec = RunSpec { group_by: setting(&group_by)?.unwrap_or_default(), sum: setting(&sum)? };
        Ok(Self::Due(Report { consumer: ConsumerKey { topic, name: consumer }, spec }))
    }
}

/// A setting of a report; none if its text is empty.
fn setting<T: FromStr<Err: Display>>(text: &str) -> Result<Option<T>, EventError> {
    let parsed = Some(text).filter(|text| !text.is_empty()).map(str::parse).transpose();
    parsed.map_err(|error: T::Err| EventError::Setting(error.to_string()))
}

/// The run that a record belongs to.
fn run(record: EventRecord) -> Option<RunKey> {
    let keys: HashMap<String, AttributeValue> = record.change.keys.into();
    let text = |name| keys.get(name).and_then(|value| value.as_s().ok());
    RunKey::decode(text("pk")?, text("sk")?)
}

#[cfg(test)]
mod tests {
    use lately_model::GroupBy;

    use super::*;

    fn parse(event: &str) -> Result<Event, String> {
        Event::parse(event.as_bytes()).map_err(|error| error.to_string())
    }

    fn key(name: &str) -> ConsumerKey {
        ConsumerKey { topic: "billing".parse().unwrap(), name: name.parse().unwrap() }
    }

    #[test]
    fn the_schedules_event_names_the_report_and_its_counts() {
        let due = |group_by, sum: Option<&str>| {
            let spec = RunSpec { group_by, sum: sum.map(|sum| sum.parse().unwrap()) };
            Ok(Event::Due(Report { consumer: key("nightly"), spec }))
        };
        let parse = |detail: &str| {
            parse(&format!(
                r#"{{"source":"aws.scheduler","detail-type":"Scheduled Event","detail":{detail}}}"#
            ))
        };
        assert_eq!(parse(r#"{"topic":"billing","consumer":"nightly"}"#), due(GroupBy::Actor, None));
        assert_eq!(
            parse(r#"{"topic":"billing","consumer":"nightly","group_by":"","sum":""}"#),
            due(GroupBy::Actor, None)
        );
        assert_eq!(
            parse(r#"{"topic":"billing","consumer":"nightly","group_by":"type","sum":"amount"}"#),
            due(GroupBy::Type, Some("amount"))
        );
        for event in ["", "{}", "[]", r#"{"topic":"billing","consumer":"nightly"}"#] {
            assert!(super::tests::parse(event).is_err(), "{event}");
        }
        for event in [
            "{}",
            "[]",
            r#"{"topic":"a#b","consumer":"nightly"}"#,
            r#"{"topic":"billing","consumer":"nightly","group_by":"day"}"#,
            r#"{"topic":"billing","consumer":"nightly","sum":"a\nb"}"#,
            r#"{"topic":"billing","consumer":"nightly","colour":"red"}"#,
        ] {
            assert!(parse(event).is_err(), "{event}");
        }
    }

    #[test]
    fn stream_records_name_the_unfinished_runs() {
        let record = |pk: &str, sk: &str| {
            format!(
                r#"{{"eventID":"1","eventName":"MODIFY","awsRegion":"x","dynamodb":{{"SizeBytes":1,"SequenceNumber":"7","Keys":{{"pk":{{"S":"{pk}"}},"sk":{{"S":"{sk}"}}}}}}}}"#
            )
        };
        let batch = |records: &[String]| format!(r#"{{"Records":[{}]}}"#, records.join(","));
        let run = "RUN#0190a4cd-d3e7-7222-9f99-fdb74feee752";
        let records = ["b", "a", "b"].map(|name| record(&format!("CONSUMER#billing#{name}"), run));
        assert_eq!(parse(&batch(&records)), Ok(Event::Unfinished(vec![key("b"), key("a")])));
        assert_eq!(parse(&batch(&[])), Ok(Event::Unfinished(vec![])));
        let foreign = record("CONSUMER#billing#a", "CHECKPOINT");
        assert_eq!(parse(&batch(&[foreign])), Err("a stream record does not belong to a run".to_owned()));
    }
}
