//! The routes of faults. A request is parsed whole before any part of it takes effect.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::time::Duration;

use axum::extract::State;
use lately_kit::answer::Json;
use lately_kit::body::Whole;
use lately_kit::code::Code;
use lately_kit::problem::Problem;
use lately_model::{Fault, Faults};
use lately_pump::PumpFaults;
use serde_json::{Map, Value};

use crate::serve::console::ConsoleState;
use crate::serve::console::injection::{ChosenFaults, ThrottledPartition};
use crate::serve::console::limits::{INDEX_DELAY_SECONDS, STREAM_DELAY_SECONDS, THROTTLE_SECONDS, THROTTLES};
use crate::serve::console::refusal::{child, json};

pub(super) async fn get_faults(State(shared): State<ConsoleState>) -> Json<Value> {
    Json(shared.view_faults())
}

pub(super) async fn put_faults(
    State(shared): State<ConsoleState>,
    Whole(body): Whole,
) -> Result<Json<Value>, Problem> {
    let mut reader = FaultsReader { now: shared.parts.system.engine.clock().now(), refused: Vec::new() };
    let current = shared.chosen_faults();
    let (mut stream, mut chosen) = (shared.parts.pump.faults(), current.clone());
    reader.read(&json(&body)?, &mut stream, &mut chosen);
    match Faults::new(reader.refused) {
        Some(refused) => Err(Problem::of_faults(Code::InvalidBody, refused)),
        None => shared.inject(current, stream, chosen),
    }
}

pub(super) async fn end_faults(State(shared): State<ConsoleState>) -> Result<Json<Value>, Problem> {
    shared.inject(shared.chosen_faults(), PumpFaults::default(), ChosenFaults::default())
}

/// The range of a chance.
const CHANCE: RangeInclusive<f64> = 0.0..=1.0;

/// Reads a body, and collects every fault in it.
struct FaultsReader {
    /// The time, by the engine's clock.
    now: Duration,
    refused: Vec<Fault>,
}

impl FaultsReader {
    /// Reads a body into the current faults. Those that it does not name stay.
    fn read(&mut self, body: &Value, stream: &mut PumpFaults, chosen: &mut ChosenFaults) {
        for (path, name, value) in self.fields("", body) {
            match name {
                "stream" => self.stream(&path, value, stream),
                "throttles" => chosen.throttles = self.throttles(&path, value),
                "index_delay_seconds" => {
                    chosen.index_delay = self.seconds(&path, value, 0.0..=INDEX_DELAY_SECONDS);
                }
                _ => self.refuse(path, "is unknown"),
            }
        }
    }

    fn refuse(&mut self, path: impl Into<String>, message: impl Display) {
        self.refused.push(Fault { path: path.into(), message: message.to_string() });
    }

    /// An object's fields, each with its path.
    fn fields<'a>(&mut self, path: &str, value: &'a Value) -> Vec<(String, &'a str, &'a Value)> {
        let object = value.as_object();
        if object.is_none() {
            self.refuse(path, "must be a JSON object");
        }
        let fields = object.into_iter().flat_map(Map::iter);
        fields.map(|(name, value)| (child(path, name), name.as_str(), value)).collect()
    }

    /// A number in a range. A number that is refused does not matter, because its body has no effect.
    fn number(&mut self, path: &str, value: &Value, range: RangeInclusive<f64>) -> f64 {
        let number = value.as_f64().filter(|number| range.contains(number));
        if number.is_none() {
            self.refuse(path, format!("must be a number from {} to {}", range.start(), range.end()));
        }
        number.unwrap_or_default()
    }

    fn seconds(&mut self, path: &str, value: &Value, range: RangeInclusive<f64>) -> Duration {
        Duration::from_secs_f64(self.number(path, value, range))
    }

    fn stream(&mut self, path: &str, value: &Value, faults: &mut PumpFaults) {
        for (path, name, value) in self.fields(path, value) {
            match (name, value.as_bool()) {
                ("paused", Some(paused)) => faults.paused = paused,
                ("paused", None) => self.refuse(path, "must be true or false"),
                ("delay_seconds", _) => {
                    faults.delay = self.seconds(&path, value, 0.0..=STREAM_DELAY_SECONDS);
                }
                ("duplicate", _) => faults.duplicate = self.number(&path, value, CHANCE),
                ("crash_before", _) => faults.crash_before = self.number(&path, value, CHANCE),
                ("crash_after", _) => faults.crash_after = self.number(&path, value, CHANCE),
                _ => self.refuse(path, "is unknown"),
            }
        }
    }

    fn throttles(&mut self, path: &str, value: &Value) -> Vec<ThrottledPartition> {
        let Some(list) = value.as_array().filter(|list| list.len() <= THROTTLES) else {
            self.refuse(path, format!("must be a list of at most {THROTTLES} throttles"));
            return Vec::new();
        };
        let throttle = |(index, value)| self.throttle(&format!("{path}/{index}"), value);
        list.iter().enumerate().map(throttle).collect()
    }

    fn throttle(&mut self, path: &str, value: &Value) -> ThrottledPartition {
        for (path, name, _) in self.fields(path, value) {
            if !["partition", "chance", "seconds"].contains(&name) {
                self.refuse(path, "is unknown");
            }
        }
        let partition = value["partition"].as_str().filter(|text| !text.is_empty());
        if partition.is_none() {
            self.refuse(format!("{path}/partition"), "must be the beginning of a partition's key");
        }
        let chance = self.number(&format!("{path}/chance"), &value["chance"], CHANCE);
        let time = self.seconds(&format!("{path}/seconds"), &value["seconds"], 1.0..=THROTTLE_SECONDS);
        let partition = partition.unwrap_or_default().to_owned();
        ThrottledPartition { partition, chance, until: self.now + time }
    }
}
