//! A case of `clients/conformance/cases/check.yaml`, and its run: one step after the other, then what deletes its data.
//!
//! `clients/conformance/README.md` describes the fields. A field of a case or a matcher that is not known here fails its
//! case, so the test that runs all cases finds it.

use std::collections::BTreeMap;
use std::time::Duration;

use lately_adapter::{Caller, paid_parts};
use lately_client::{Cost, Lately};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::client::check::matching::{at, compare};

/// The shortest and the longest pause between two attempts of a step that waits. Between these bounds, the pause is a
/// twentieth of the time until then, so the step's time is that precise.
const PAUSE: [Duration; 2] = [Duration::from_millis(50), Duration::from_secs(1)];

/// A case as the file has it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Case {
    pub(super) name: String,
    /// The part that a stack may lack: `live` routes, or a topic with a `report`.
    pub(super) needs: Option<String>,
    /// The settings of the topic that is created for the case.
    #[serde(default = "default_topic")]
    topic: Option<Value>,
    steps: Vec<Value>,
    /// The steps that delete what the case created. They run also if a step failed.
    #[serde(default)]
    finally: Vec<Value>,
}

/// A case that runs.
pub(super) struct CaseRun {
    caller: Caller,
    patience: Duration,
    names: BTreeMap<String, Value>,
    /// The time, the price and the bound of the step that a document bounds.
    pub(super) measured: Option<[String; 3]>,
}

fn default_topic() -> Option<Value> {
    Some(json!({}))
}

impl CaseRun {
    /// A run whose names no other case uses.
    pub(super) fn new(lately: &Lately, patience: Duration, unique: &str, report: Option<&str>) -> Self {
        let names = ["topic", "user", "other", "repo", "name"];
        let names = names.map(|name| (name.to_owned(), format!("{name}-{unique}").into()));
        let report = report.map(|topic| ("report".to_owned(), topic.into()));
        let names = names.into_iter().chain(report).collect();
        Self { caller: Caller::new(lately), patience, names, measured: None }
    }

    /// Runs a case, and deletes what it created.
    ///
    /// # Errors
    /// The first step that failed, and why.
    pub(super) async fn run(&mut self, case: &Case) -> Result<(), String> {
        let done = Box::pin(self.run_steps(case)).await;
        let mut deleted = Ok(());
        for step in &case.finally {
            deleted = deleted.and(Box::pin(self.step(step)).await);
        }
        if case.topic.is_some() {
            let topic = self.names["topic"].as_str().unwrap_or_default();
            match self.caller.lately.topic(topic).delete().await {
                // 404: the case deleted the topic itself, and the deletion has ended.
                Err(problem) if problem.status != 404 => deleted = deleted.and(Err(problem.to_string())),
                _ => {}
            }
        }
        done.and(deleted.map_err(|why| format!("the data is not deleted: {why}")))
    }

    async fn run_steps(&mut self, case: &Case) -> Result<(), String> {
        if let Some(settings) = &case.topic {
            self.step(&json!({"do": "topic.put", "of": ["$topic"], "with": [settings]})).await?;
            let shown = json!({"value": {"topic": "$topic"}});
            self.step(&json!({"do": "topic.get", "of": ["$topic"], "until": shown})).await?;
        }
        for (step, number) in case.steps.iter().zip(1..) {
            self.step(step).await.map_err(|why| format!("step {number}: {why}"))?;
        }
        Ok(())
    }

    /// Makes the call of a step. With `until`, the call is repeated until its answer is as expected.
    async fn step(&mut self, step: &Value) -> Result<(), String> {
        let step = self.filled(step)?;
        let is_repeated = step["until"].is_object();
        let expected = &step[if is_repeated { "until" } else { "expect" }];
        // A call that is repeated is no stream, so the client bounds its time.
        let longest_call = if is_repeated { Duration::MAX } else { self.patience };
        let (began, seconds, [shortest, longest]) = (Instant::now(), self.patience.as_secs(), PAUSE);
        let (answer, price, time) = loop {
            let answer = tokio::time::timeout(longest_call, Box::pin(self.caller.answer(&step)));
            let mut answer = answer.await.map_err(|_| format!("there was no answer for {seconds} s"))?;
            // The price is the last call's.
            let (attempts, mut price, time) = (self.caller.attempts(), Cost::default(), began.elapsed());
            attempts.iter().for_each(|(_, cost)| price += *cost);
            answer["statuses"] = attempts.iter().map(|(status, _)| *status).collect();
            answer["cost"] = paid_parts(price);
            let Err(why) = compare_all(expected, &answer) else { break (answer, price, time) };
            if !is_repeated {
                return Err(why);
            }
            if time > self.patience {
                let name = step["do"].as_str().unwrap_or_default();
                return Err(format!("after {seconds} s, {name} {}: {why}", step["of"]));
            }
            tokio::time::sleep((time / 20).clamp(shortest, longest)).await;
        };
        for (name, path) in step["save"].as_object().into_iter().flatten() {
            let saved = at(&answer["value"], path.as_str().unwrap_or_default());
            self.names.insert(name.clone(), saved.clone());
        }
        if let Some(bound) = step["bound"].as_str() {
            let price = Cost { items: 0, rounds: 0, ..price };
            self.measured = Some([format!("{} ms", time.as_millis()), price.to_string(), bound.to_owned()]);
        }
        Ok(())
    }

    /// Puts in the names of this case and the values that earlier steps saved.
    fn filled(&self, step: &Value) -> Result<Value, String> {
        // A longer name comes first: it may begin with a shorter one.
        let filled = self.names.iter().rev().fold(step.to_string(), |step, (name, value)| {
            let value = value.to_string();
            let step = step.replace(&format!("\"${name}\""), &value);
            step.replace(&format!("${name}"), value.trim_matches('"'))
        });
        filled.parse().map_err(|error: serde_json::Error| error.to_string())
    }
}

/// Compares an answer with all expectations of a step.
fn compare_all(expected: &Value, answer: &Value) -> Result<(), String> {
    if let Value::Object(problem) = &answer["problem"]
        && expected["problem"].is_null()
    {
        let [status, code, detail] = ["status", "code", "detail"].map(|name| &problem[name]);
        return Err(format!("{status} {code} {detail}"));
    }
    let mut expected = expected.as_object().into_iter().flatten();
    expected.try_for_each(|(name, wanted)| compare(wanted, &answer[name], name))
}
