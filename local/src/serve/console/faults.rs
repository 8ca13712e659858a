//! The routes of faults. A request is parsed whole before any part of it takes effect.

use std::ops::RangeInclusive;
use std::time::Duration;

use axum::extract::State;
use lately_kit::answer::Json;
use lately_kit::body::Whole;
use lately_kit::code::Code;
use lately_kit::problem::Problem;
use lately_model::Faults;
use lately_pump::PumpFaults;
use serde_json::{Map, Value};

use crate::serve::console::injection::FaultsChange;
use crate::serve::console::limits::{INDEX_DELAY_SECONDS, STREAM_DELAY_SECONDS, THROTTLE_SECONDS, THROTTLES};
use crate::serve::console::parts::ConsoleState;
use crate::serve::console::refusal::{Refusals, child, json};

pub(super) async fn get_faults(State(shared): State<ConsoleState>) -> Json<Value> {
    Json(shared.injection.view())
}

pub(super) async fn put_faults(
    State(shared): State<ConsoleState>,
    Whole(body): Whole,
) -> Result<Json<Value>, Problem> {
    let change = read_change(&json(&body)?, shared.injection.stream());
    let change = change.map_err(|faults| Problem::of_faults(Code::InvalidBody, faults))?;
    changed(&shared, change)
}

pub(super) async fn end_faults(State(shared): State<ConsoleState>) -> Result<Json<Value>, Problem> {
    let change = FaultsChange {
        stream: PumpFaults::default(),
        throttles: Some(Vec::new()),
        index_delay: Some(Duration::ZERO),
    };
    changed(&shared, change)
}

fn changed(shared: &ConsoleState, change: FaultsChange) -> Result<Json<Value>, Problem> {
    shared.injection.apply(change).map_err(|error| Problem::unavailable(&error))?;
    Ok(Json(shared.injection.view()))
}

/// Parses a body as a change of the faults. `stream` holds the current faults of the stream.
fn read_change(body: &Value, stream: PumpFaults) -> Result<FaultsChange, Faults> {
    let mut reader = FaultsReader::default();
    let mut change = FaultsChange { stream, throttles: None, index_delay: None };
    for (path, name, value) in reader.fields("", body) {
        match name {
            "stream" => reader.stream(&path, value, &mut change.stream),
            "throttles" => change.throttles = Some(reader.throttles(&path, value)),
            "index_delay_seconds" => {
                change.index_delay = reader.seconds(&path, value, 0.0..=INDEX_DELAY_SECONDS);
            }
            _ => reader.0.unknown(path),
        }
    }
    reader.0.or(change)
}

/// Parses a body, and collects every fault in it.
#[derive(Debug, Default)]
struct FaultsReader(Refusals);

impl FaultsReader {
    /// An object's fields, each with its path.
    fn fields<'a>(&mut self, path: &str, value: &'a Value) -> Vec<(String, &'a str, &'a Value)> {
        let object = value.as_object();
        if object.is_none() {
            self.0.add(path, "must be a JSON object");
        }
        let fields = object.into_iter().flat_map(Map::iter);
        fields.map(|(name, value)| (child(path, name), name.as_str(), value)).collect()
    }

    fn number(&mut self, path: &str, value: &Value, range: RangeInclusive<f64>) -> Option<f64> {
        let number = value.as_f64().filter(|number| range.contains(number));
        if number.is_none() {
            self.0.add(path, format!("must be a number from {} to {}", range.start(), range.end()));
        }
        number
    }

    fn seconds(&mut self, path: &str, value: &Value, range: RangeInclusive<f64>) -> Option<Duration> {
        self.number(path, value, range).map(Duration::from_secs_f64)
    }

    fn stream(&mut self, path: &str, value: &Value, faults: &mut PumpFaults) {
        for (path, name, value) in self.fields(path, value) {
            let chance = match name {
                "paused" => {
                    match value.as_bool() {
                        Some(paused) => faults.paused = paused,
                        None => self.0.add(path, "must be true or false"),
                    }
                    continue;
                }
                "delay_seconds" => {
                    let delay = self.seconds(&path, value, 0.0..=STREAM_DELAY_SECONDS);
                    faults.delay = delay.unwrap_or_default();
                    continue;
                }
                "duplicate" => &mut faults.duplicate,
                "crash_before" => &mut faults.crash_before,
                "crash_after" => &mut faults.crash_after,
                _ => {
                    self.0.unknown(path);
                    continue;
                }
            };
            *chance = self.number(&path, value, 0.0..=1.0).unwrap_or_default();
        }
    }

    fn throttles(&mut self, path: &str, value: &Value) -> Vec<(String, f64, Duration)> {
        let Some(list) = value.as_array().filter(|list| list.len() <= THROTTLES) else {
            self.0.add(path, format!("must be a list of at most {THROTTLES} throttles"));
            return Vec::new();
        };
        let throttle = |(index, value)| self.throttle(&format!("{path}/{index}"), value);
        list.iter().enumerate().filter_map(throttle).collect()
    }

    fn throttle(&mut self, path: &str, value: &Value) -> Option<(String, f64, Duration)> {
        for (path, name, _) in self.fields(path, value) {
            if !["partition", "chance", "seconds"].contains(&name) {
                self.0.unknown(path);
            }
        }
        let partition = value["partition"].as_str().filter(|text| !text.is_empty());
        if partition.is_none() {
            self.0.add(format!("{path}/partition"), "must be the beginning of a partition's key");
        }
        let chance = self.number(&format!("{path}/chance"), &value["chance"], 0.0..=1.0);
        let time = self.seconds(&format!("{path}/seconds"), &value["seconds"], 1.0..=THROTTLE_SECONDS);
        Some((partition?.to_owned(), chance?, time?))
    }
}
