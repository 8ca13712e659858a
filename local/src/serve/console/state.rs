//! The state of the stream and of fan-out, in numbers.

use axum::extract::State;
use lately_items::ConsumerKey;
use lately_kit::answer::Json;
use lately_kit::problem::Problem;
use lately_pump::ShardStatistics;
use serde_json::{Value, json};

use crate::seconds;
use crate::serve::console::{ConsoleParts, ConsoleState};
use crate::serve::system::{TABLE, reported};

pub(super) async fn get_state(State(shared): State<ConsoleState>) -> Result<Json<Value>, Problem> {
    let ConsoleParts { system, pump, failures, report_every, .. } = &*shared.parts;
    let failures = failures.list().map_err(|error| Problem::unavailable(&error))?;
    // The consumer that the schedule reports for.
    let report = report_every.map(|every| {
        let ConsumerKey { topic, name } = reported();
        json!({ "topic": topic, "consumer": name, "every_seconds": every.as_secs() })
    });
    Ok(Json(json!({
        "now": system.store.now(),
        "stream": pump.statistics().iter().enumerate().map(shard).collect::<Vec<_>>(),
        "records": system.engine.stream(TABLE).map_or(0, |stream| stream.len()),
        "failures": failures.len(),
        "faults": shared.view_faults(),
        "report": report,
    })))
}

fn shard((shard, counts): (usize, &ShardStatistics)) -> Value {
    json!({
        "shard": shard,
        "delivered": counts.delivered,
        "filtered": counts.filtered,
        "invocations": counts.invocations,
        "failures": counts.failures,
        "retries": counts.retries,
        "bisects": counts.bisects,
        "in_destination": counts.in_destination,
        "in_flight": counts.in_flight,
        "lag_seconds": seconds::tenths(counts.iterator_age),
    })
}
