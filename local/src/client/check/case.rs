//! A case of `clients/conformance/cases/check.yaml`, and its run: one step after the other, then what deletes its data.
//!
//! `clients/conformance/README.md` describes the fields. A step, an expectation or a matcher that is not known here fails
//! its case, so the test that runs all cases finds it.

use std::collections::BTreeMap;
use std::time::Duration;

use lately_client::Lately;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::time::Instant;

use crate::client::check::calls::Caller;
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

/// A step: a call, whose fields [`Caller`] reads.
#[derive(Debug, Deserialize)]
struct Step {
    #[serde(default)]
    expect: Map<String, Value>,
    /// Like `expect`, but the call is repeated until its answer is as expected.
    until: Option<Map<String, Value>>,
    #[serde(default)]
    save: BTreeMap<String, String>,
    bound: Option<String>,
    #[serde(flatten)]
    call: Map<String, Value>,
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

    async fn step(&mut self, step: &Value) -> Result<(), String> {
        let step = self.filled(step);
        let Step { expect, until, save, bound, call } =
            serde_json::from_value(step).map_err(|error| error.to_string())?;
        if !["do", "next", "stop"].iter().any(|field| call.contains_key(*field)) {
            return Err(format!("the check knows no step {call:?}"));
        }
        let (call, began) = (Value::Object(call), Instant::now());
        let [shortest, longest] = PAUSE;
        let seconds = self.patience.as_secs();
        // A call that is repeated is no stream, so the client bounds its time.
        let longest_call = if until.is_some() { Duration::MAX } else { self.patience };
        let (answer, price, time) = loop {
            let answer = tokio::time::timeout(longest_call, Box::pin(self.caller.answer(&call)));
            let answer = answer.await.map_err(|_| format!("there was no answer for {seconds} s"))?;
            // The price is the last call's.
            let (attempts, time) = (self.caller.attempts(), began.elapsed());
            let price = price(&attempts);
            match (compare_all(until.as_ref().unwrap_or(&expect), &answer, &attempts, &price), &until) {
                (Ok(()), _) => break (answer, price, time),
                (Err(why), None) => return Err(why),
                (Err(why), Some(_)) if time > self.patience => {
                    let name = call["do"].as_str().unwrap_or_default();
                    return Err(format!("after {seconds} s, {name} {}: {why}", call["of"]));
                }
                (Err(_), Some(_)) => tokio::time::sleep((time / 20).clamp(shortest, longest)).await,
            }
        };
        for (name, path) in save {
            self.names.insert(name, at(&answer["value"], &path).clone());
        }
        if let Some(bound) = bound {
            let part = |name| Some(format!("{name}={}", price.get(name)?.as_f64()?));
            let price: Vec<_> = ["read_units", "write_units", "calls"].into_iter().filter_map(part).collect();
            self.measured = Some([format!("{} ms", time.as_millis()), price.join(", "), bound]);
        }
        Ok(())
    }

    /// Puts in the names of this case and the values that earlier steps saved, and unfolds `$repeat`.
    fn filled(&self, node: &Value) -> Value {
        match node {
            Value::String(text) => match text.strip_prefix('$').and_then(|name| self.names.get(name)) {
                Some(value) => value.clone(),
                None => {
                    let put_in = |text: String, (name, value): (&String, &Value)| {
                        text.replace(&format!("${name}"), value.as_str().unwrap_or_default())
                    };
                    // A longer name comes first: it may begin with a shorter one.
                    self.names.iter().rev().fold(text.clone(), put_in).into()
                }
            },
            Value::Array(nodes) => nodes.iter().map(|node| self.filled(node)).collect(),
            Value::Object(fields) => match (&fields.get("$repeat"), node["$repeat"][0].as_u64()) {
                (Some(repeat), Some(times)) => {
                    let each = self.filled(&repeat[1]).to_string();
                    let entry = |n| each.replace("\"$n\"", &u64::to_string(&n)).parse::<Value>();
                    (0..times).filter_map(|n| entry(n).ok()).collect()
                }
                _ => fields.iter().map(|(name, node)| (name.clone(), self.filled(node))).collect(),
            },
            _ => node.clone(),
        }
    }
}

/// Compares an answer and its attempts with all expectations of a step.
fn compare_all(
    expect: &Map<String, Value>,
    answer: &Value,
    attempts: &[Value],
    price: &Map<String, Value>,
) -> Result<(), String> {
    if let Value::Object(problem) = &answer["problem"]
        && !expect.contains_key("problem")
    {
        let [status, code, detail] = ["status", "code", "detail"].map(|name| &problem[name]);
        return Err(format!("{status} {code} {detail}"));
    }
    expect.iter().try_for_each(|(name, wanted)| {
        let found = match name.as_str() {
            "value" | "problem" => answer[name].clone(),
            "statuses" => attempts.iter().map(|attempt| attempt["status"].clone()).collect(),
            "cost" => price.clone().into(),
            _ => return Err(format!("the check knows no expectation {name}")),
        };
        compare(wanted, &found, name)
    })
}

/// The sum of the prices of attempts.
fn price(attempts: &[Value]) -> Map<String, Value> {
    let mut sum = Map::new();
    for (name, part) in attempts.iter().filter_map(|attempt| attempt["cost"].as_object()).flatten() {
        let before = sum.get(name).and_then(Value::as_f64).unwrap_or_default();
        sum.insert(name.clone(), (before + part.as_f64().unwrap_or_default()).into());
    }
    sum
}
