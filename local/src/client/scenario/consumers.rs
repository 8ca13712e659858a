//! The act on consumers: it polls and commits batches, gets a late event, and moves the position.

use serde_json::{Value, json};

use crate::client::scenario::call::{ScenarioAnswer, ScenarioCall, StepFailure};
use crate::client::scenario::cast::{Cast, now, walk};
use crate::client::scenario::stage::{ActResult, Stage};

/// The most batches that the act polls for the events of its run.
const BATCHES: usize = 100;

/// The age of the late event, in milliseconds.
const LATE_MILLIS: u64 = 2 * 60 * 60 * 1000;

pub(super) async fn consumers(stage: &mut Stage<'_>, cast: &Cast<'_>) -> ActResult {
    let act = &ConsumersAct {
        cast,
        events: format!("/topics/{}/events", cast.topic),
        path: format!("/topics/{}/consumers/scenario", cast.topic),
    };
    stage.step("a consumer is created", act.create()).await?;
    let given = "polls return all events, oldest first, and repeat each batch until it is committed";
    let all = stage.step(given, act.poll_all()).await?;
    let late =
        stage.step("an event that lands behind the position is returned as late", act.poll_late()).await?;
    stage.step("the position is moved, and the consumer is deleted", act.seek_and_delete(late, &all)).await?;
    Ok(())
}

/// The values that every step of the act uses.
struct ConsumersAct<'a> {
    cast: &'a Cast<'a>,
    /// The route of the topic's events.
    events: String,
    /// The route of the consumer.
    path: String,
}

impl ConsumersAct<'_> {
    async fn poll(&self, limit: u16) -> Result<ScenarioAnswer, StepFailure> {
        let poll = self.cast.admin.post(format_args!("{}/poll", self.path)).json(&json!({"limit": limit}));
        poll.until("a batch", |answer| answer.at("/batch").is_string()).await
    }

    /// The next batch that is wanted. Every batch before it is committed.
    async fn poll_until(
        &self,
        what: &str,
        limit: u16,
        is_wanted: impl Fn(&ScenarioAnswer) -> bool,
    ) -> Result<ScenarioAnswer, StepFailure> {
        for _ in 0..BATCHES {
            let polled = self.poll(limit).await?;
            if is_wanted(&polled) {
                return Ok(polled);
            }
            self.commit(&polled.text("/batch")?).gives(204).await?;
        }
        Err(self.poll(1).await?.never(what))
    }

    /// The next event after the position. Batches of late events may come before it: fan-out may note an event after a
    /// poll returned it.
    async fn poll_one(&self) -> Result<ScenarioAnswer, StepFailure> {
        self.poll_until("an event after the position", 1, |polled| !polled.ids().is_empty()).await
    }

    fn commit(&self, batch: &str) -> ScenarioCall<'_> {
        self.cast.admin.post(format_args!("{}/commit", self.path)).json(&json!({"batch": batch}))
    }

    async fn post(&self, event: Value) -> Result<String, StepFailure> {
        self.cast.admin.post(&self.events).json(&event).gives(201).await?.text("/id")
    }

    async fn create(&self) -> Result<ScenarioAnswer, StepFailure> {
        let (path, Cast { admin, scenario, .. }) = (&self.path, self.cast);
        for _ in 0..3 {
            self.post(json!({"type": "note.added", "actor": "scenario"})).await?;
        }
        let start = json!({"start": "earliest", "settle_seconds": 0});
        admin.put(path).json(&start).gives(201).await?.shows("/position", Value::Null)?;
        scenario.leaves(&**path);
        admin.put(path).json(&start).gives(200).await?.shows("/settle_seconds", 0)
    }

    async fn poll_all(&self) -> Result<Vec<String>, StepFailure> {
        let Cast { admin, .. } = self.cast;
        let mut all = Vec::new();
        let target = format!("{}?consistent=true", self.events);
        walk(admin, &target, |page| all.extend(page.ids())).await?;
        all.reverse();
        let (mut given, mut batches) = (Vec::new(), Vec::new());
        while given.len() < all.len() && batches.len() < BATCHES {
            let polled = self.poll(2).await?;
            given.extend(polled.ids());
            let batch = polled.text("/batch")?;
            self.poll(2).await?.lists(&polled.ids())?.shows("/batch", &*batch)?;
            self.commit(&batch).gives(204).await?;
            batches.push(batch);
        }
        if let Some(last) = batches.last() {
            self.commit(last).gives(204).await?;
        }
        if let [stale, _, ..] = &batches[..] {
            self.commit(stale).refused(409, "stale-batch").await?;
        }
        let status = admin.get(&self.path).until("the consumer", |answer| answer.status() == 200).await?;
        let is_so = given == all;
        let status = status.shows("/outstanding", Value::Null)?;
        status.holds(is_so, format_args!("these events in all batches: {all:?}"))?;
        Ok(all)
    }

    async fn poll_late(&self) -> Result<String, StepFailure> {
        let at = now().saturating_sub(LATE_MILLIS).to_string();
        let late = self.post(json!({"type": "note.added", "actor": "scenario", "at": at})).await?;
        let has_it = |polled: &ScenarioAnswer| polled.list("/late", "id").contains(&late);
        let polled = self.poll_until("the late event", 100, has_it).await?;
        self.commit(&polled.text("/batch")?).gives(204).await?;
        Ok(late)
    }

    async fn seek_and_delete(&self, late: String, all: &[String]) -> Result<ScenarioAnswer, StepFailure> {
        let (path, Cast { admin, .. }) = (&self.path, self.cast);
        admin.post(format_args!("{path}/seek")).json(&json!({"to": "earliest"})).gives(200).await?;
        let first = self.poll_one().await?.lists(&[late])?;
        self.commit(&first.text("/batch")?).gives(204).await?;
        admin.post(format_args!("{path}/seek")).json(&json!({"to": all[0]})).gives(200).await?;
        self.poll_one().await?.lists(&all[1..2])?;
        let runs = admin.get(format_args!("{path}/runs"));
        runs.until("an empty list of runs", |answer| answer.at("/runs") == &json!([])).await?;
        admin.delete(path).gives(204).await?;
        admin.get(path).until("404", |answer| answer.is(404, "not-found")).await
    }
}
