//! The routes of the batches that fan-out gave up on: a list, and a retry that runs fan-out's own code.

use std::io;

use axum::extract::{Path, State};
use lately_items::EventKey;
use lately_keys::TableKey;
use lately_kit::answer::Json;
use lately_kit::code::Code;
use lately_kit::problem::Problem;
use lately_pump::Failure;
use serde_json::{Value, json};

use crate::serve::console::ConsoleState;
use crate::serve::console::limits::FAILURES;
use crate::serve::system::time_of;

/// The records of the event that fan-out was invoked with.
fn records(failure: &Failure) -> Vec<Value> {
    let mut payload: Value = serde_json::from_str(&failure.payload).unwrap_or_default();
    serde_json::from_value(payload["Records"].take()).unwrap_or_default()
}

fn view_failure(name: &str, failure: &Failure) -> Value {
    json!({
        "name": name,
        "at": failure.timestamp,
        "reason": format!("{:?}", failure.request_context.condition),
        "records": records(failure).iter().map(view_record).collect::<Vec<_>>(),
    })
}

fn view_record(record: &Value) -> Value {
    let text = |pointer| record.pointer(pointer).and_then(Value::as_str).unwrap_or("?");
    let (pk, sk) = (text("/dynamodb/Keys/pk/S"), text("/dynamodb/Keys/sk/S"));
    // The event that the record changes. Other items of the table have none.
    let event = EventKey::decode(pk, sk).map(|key| {
        let text = |name| {
            let image = |image| record.pointer(&format!("/dynamodb/{image}/{name}/S"));
            image("NewImage").or_else(|| image("OldImage"))
        };
        json!({ "topic": key.partition().topic, "id": key.id(), "type": text("t"), "actor": text("a") })
    });
    json!({ "event_name": text("/eventName"), "pk": pk, "sk": sk, "event": event })
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

pub(super) async fn get_failures(State(shared): State<ConsoleState>) -> Result<Json<Value>, Problem> {
    let mut names = shared.parts.failures.list().map_err(|error| Problem::unavailable(&error))?;
    // The last part of a name begins with the time.
    names.sort_by(|a, b| b.rsplit('/').next().cmp(&a.rsplit('/').next()));
    let mut failures = Vec::new();
    for name in names.into_iter().take(FAILURES) {
        match read(&shared, &name) {
            Ok(failure) => failures.push(view_failure(&name, &failure)),
            // It was redriven after the names were listed.
            Err(problem) if problem.code() == Code::NotFound => {}
            Err(problem) => return Err(problem),
        }
    }
    Ok(Json(json!({ "failures": failures })))
}

pub(super) async fn redrive(
    State(shared): State<ConsoleState>,
    Path(name): Path<String>,
) -> Result<Json<Value>, Problem> {
    let failure = read(&shared, &name)?;
    let (store, time) = (&shared.parts.system.store, time_of("FanOutFunction"));
    let answer = lately_fan_out::handle(store, failure.payload.as_bytes(), time).await;
    let answer = answer.map_err(|error| Problem::unavailable(&error))?;
    if !answer.handled().is_complete() {
        let reason = if answer.is_done() {
            "A page of a job in this batch has expired. The batch was not removed. `lately feed rebuild` repairs the feeds."
        } else {
            "The batch failed again and was not removed. Repair the cause, then redrive the batch again."
        };
        return Err(Problem::new(Code::Unavailable, reason));
    }
    match shared.parts.failures.delete(&name) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(Problem::unavailable(&error)),
        // Another redrive removed it first. A second redrive changes nothing.
        Ok(()) | Err(_) => {}
    }
    Ok(Json(json!({ "records": records(&failure).len() })))
}
