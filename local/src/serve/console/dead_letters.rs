//! The routes of the batches that fan-out gave up on: a list, and a retry that runs fan-out's own code.

use std::io;

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use lately_items::EventKey;
use lately_keys::{EventId, TableKey, Topic};
use lately_kit::answer;
use lately_kit::code::Code;
use lately_kit::problem::Problem;
use lately_pump::Failure;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::serve::console::limits::FAILURES;
use crate::serve::console::parts::ConsoleState;
use crate::serve::system::System;

#[derive(Serialize)]
struct FailureList {
    failures: Vec<FailureView>,
}

#[derive(Serialize)]
struct FailureView {
    name: String,
    at: String,
    reason: String,
    records: Vec<RecordView>,
}

#[derive(Serialize)]
struct RecordView {
    event_name: String,
    pk: String,
    sk: String,
    /// The event that the record changes.
    event: Option<EventView>,
}

#[derive(Serialize)]
struct EventView {
    topic: Topic,
    id: EventId,
    #[serde(rename = "type")]
    event_type: Option<String>,
    actor: Option<String>,
}

impl EventView {
    /// The event of a record with this key. Other items of the table have none.
    fn of(record: &Value, pk: &str, sk: &str) -> Option<Self> {
        let key = EventKey::decode(pk, sk)?;
        let text = |name| {
            let image = |image| record.pointer(&format!("/dynamodb/{image}/{name}/S"));
            Some(image("NewImage").or_else(|| image("OldImage"))?.as_str()?.to_owned())
        };
        Some(Self {
            topic: key.partition().topic.clone(),
            id: key.id(),
            event_type: text("t"),
            actor: text("a"),
        })
    }
}

#[derive(Serialize)]
struct Redriven {
    records: usize,
}

/// The event that fan-out was invoked with.
#[derive(Default, Deserialize)]
struct Payload {
    #[serde(rename = "Records")]
    records: Vec<Value>,
}

impl FailureView {
    fn of(name: String, failure: &Failure) -> Self {
        let text = |record: &Value, pointer| {
            record.pointer(pointer).and_then(Value::as_str).unwrap_or("?").to_owned()
        };
        let record = |record: &Value| {
            let (pk, sk) = (text(record, "/dynamodb/Keys/pk/S"), text(record, "/dynamodb/Keys/sk/S"));
            RecordView {
                event_name: text(record, "/eventName"),
                event: EventView::of(record, &pk, &sk),
                pk,
                sk,
            }
        };
        Self {
            name,
            at: failure.timestamp.clone(),
            reason: format!("{:?}", failure.request_context.condition),
            records: payload(failure).records.iter().map(record).collect(),
        }
    }
}

fn payload(failure: &Failure) -> Payload {
    serde_json::from_str(&failure.payload).unwrap_or_default()
}

/// Reads a failed batch.
fn read(shared: &ConsoleState, name: &str) -> Result<Failure, Problem> {
    let bytes = shared.parts.failures.read(name).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::InvalidInput => not_found(),
        _ => Problem::unavailable(&error),
    })?;
    Failure::parse(&bytes).map_err(|error| Problem::unavailable(&error))
}

fn not_found() -> Problem {
    Problem::new(Code::NotFound, "There is no failed batch of this name. It may have been redriven already.")
}

pub(super) async fn get_failures(State(shared): State<ConsoleState>) -> Result<Response, Problem> {
    let mut names = shared.parts.failures.list().map_err(|error| Problem::unavailable(&error))?;
    // The last part of a name begins with the time.
    names.sort_by(|a, b| b.rsplit('/').next().cmp(&a.rsplit('/').next()));
    let mut failures = Vec::new();
    for name in names.into_iter().take(FAILURES) {
        match read(&shared, &name) {
            Ok(failure) => failures.push(FailureView::of(name, &failure)),
            // It was redriven after the names were listed.
            Err(problem) if problem.code() == Code::NotFound => {}
            Err(problem) => return Err(problem),
        }
    }
    Ok(answer::json(StatusCode::OK, &FailureList { failures }))
}

pub(super) async fn redrive(
    State(shared): State<ConsoleState>,
    Path(name): Path<String>,
) -> Result<Response, Problem> {
    let failure = read(&shared, &name)?;
    let System { store, fan_out_time, .. } = &shared.parts.system;
    let answer = lately_fan_out::handle(store, failure.payload.as_bytes(), *fan_out_time).await;
    if !answer.map_err(|error| Problem::unavailable(&error))?.is_done() {
        return Err(Problem::new(
            Code::Unavailable,
            "The batch failed again and was not removed. Repair the cause, then redrive the batch again.",
        ));
    }
    match shared.parts.failures.delete(&name) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(Problem::unavailable(&error)),
        // Another redrive removed it first. A second redrive changes nothing.
        Ok(()) | Err(_) => {}
    }
    Ok(answer::json(StatusCode::OK, &Redriven { records: payload(&failure).records.len() }))
}
