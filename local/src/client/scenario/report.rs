//! The act on reports: the schedule reports the events that this run posts.

use lately_keys::Topic;
use serde_json::{Value, json};

use crate::client::scenario::call::ScenarioAnswer;
use crate::client::scenario::cast::Cast;
use crate::client::scenario::stage::{ActResult, Stage};

pub(super) async fn report(stage: &mut Stage<'_>, cast: &Cast<'_>, topic: &Topic) -> ActResult {
    let Cast { run, admin, .. } = cast;
    let reported = async {
        // The topic may not exist yet.
        let made = admin.put(format_args!("/topics/{topic}")).json(&json!({}));
        made.until("the topic", |answer| answer.status() < 300).await?;
        let events = format!("/topics/{topic}/events");
        let event = |number: u32| json!({"type": "invoice.paid", "actor": format!("scenario-{run}"), "data": {"amount": number}});
        let batch = Value::from((1..4).map(event).collect::<Vec<_>>());
        let ids = admin.post(&events).json(&batch).gives(201).await?.ids();
        ids.iter().for_each(|id| cast.scenario.leaves(format!("{events}/{id}")));
        let runs = admin.get(format_args!("/topics/{topic}/consumers/report/runs"));
        runs.until("a committed run that counts the posted events", |runs| counts(runs, &ids)).await
    };
    stage.step("new events are reported on a schedule", reported).await?;
    Ok(())
}

/// True if each of these events is in the range of a committed run that counts at least as many.
fn counts(runs: &ScenarioAnswer, ids: &[String]) -> bool {
    let runs = runs.at("/runs").as_array().map(Vec::as_slice).unwrap_or_default();
    let covers = |run: &Value, id: &str| {
        let [from, to] = ["from", "to"].map(|end| run[end].as_str().unwrap_or_default());
        run["committed_at"].is_string() && from < id && id <= to
    };
    let counts = |run: &Value| {
        let covered = ids.iter().filter(|id| covers(run, id)).count();
        run["events"].as_u64() >= u64::try_from(covered).ok()
    };
    ids.iter().all(|id| runs.iter().any(|run| covers(run, id) && counts(run)))
}
