//! What goes wrong, as the page asks for it: with the stream, with partitions, with indexes.
//!
//! Throttles befall the calls of the functions that write to a partition, as too many writes would: so writers retry, and
//! a hot bucket gets more shards. They end by themselves; the others when that is said. What is asked for is parsed
//! whole, and then takes effect whole.

use std::ops::RangeInclusive;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use lately_engine::fault::{Fault as Injectable, Faults as Rules, Injected, Target, Throttle, When};
use lately_engine::{EngineError, Lag};
use lately_keys::UnixMillis;
use lately_kit::answer;
use lately_kit::body::Whole;
use lately_kit::code::Code;
use lately_kit::problem::Problem;
use lately_model::Faults;
use lately_pump::{PumpFaults, PumpHandle};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::seconds;
use crate::serve::console::ConsoleState;
use crate::serve::console::limits::{INDEX_DELAY_SECONDS, STREAM_DELAY_SECONDS, THROTTLE_SECONDS, THROTTLES};
use crate::serve::console::refusal::{Refusals, child, json};
use crate::serve::system::System;

/// What goes wrong now, and what makes it so. Clones are the same.
#[derive(Clone, Debug)]
pub(super) struct Injection {
    system: System,
    pump: PumpHandle,
    chosen: Arc<Mutex<ChosenFaults>>,
}

/// What was asked for of what is not known elsewhere.
#[derive(Debug, Default)]
struct ChosenFaults {
    throttles: Vec<ThrottledPartition>,
    index_delay: Duration,
}

/// A partition that takes too little.
#[derive(Clone, Debug, PartialEq)]
struct ThrottledPartition {
    /// How its key begins.
    partition: String,
    chance: f64,
    /// By the engine's clock.
    until: Duration,
}

/// What is to be so from now on; what is not named stays.
#[derive(Debug, PartialEq)]
struct FaultsChange {
    stream: PumpFaults,
    throttles: Option<Vec<(String, f64, Duration)>>,
    index_delay: Option<Duration>,
}

/// All of it, as it is told.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct FaultsView {
    stream: StreamView,
    throttles: Vec<ThrottleView>,
    index_delay_seconds: f64,
    injected: Vec<InjectedView>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
struct StreamView {
    paused: bool,
    delay_seconds: f64,
    duplicate: f64,
    crash_before: f64,
    crash_after: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
struct ThrottleView {
    partition: String,
    chance: f64,
    seconds_left: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
struct InjectedView {
    at: Option<UnixMillis>,
    operation: String,
    partition: Option<String>,
    what: &'static str,
}

impl Injection {
    pub(super) fn new(system: System, pump: PumpHandle) -> Self {
        Self { system, pump, chosen: Arc::default() }
    }

    fn chosen(&self) -> MutexGuard<'_, ChosenFaults> {
        self.chosen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What goes wrong now.
    pub(super) fn view(&self) -> FaultsView {
        let now = self.system.engine.clock().now();
        let PumpFaults { paused, delay, duplicate, crash_before, crash_after, .. } = self.pump.faults();
        let stream =
            StreamView { paused, delay_seconds: delay.as_secs_f64(), duplicate, crash_before, crash_after };
        let chosen = self.chosen();
        let left = |throttled: &ThrottledPartition| {
            let left = throttled.until.checked_sub(now).filter(|left| !left.is_zero())?;
            let ThrottledPartition { ref partition, chance, .. } = *throttled;
            Some(ThrottleView { partition: partition.clone(), chance, seconds_left: seconds::tenths(left) })
        };
        let injected = self.system.faults.injected();
        FaultsView {
            stream,
            throttles: chosen.throttles.iter().filter_map(left).collect(),
            index_delay_seconds: chosen.index_delay.as_secs_f64(),
            injected: injected.into_iter().rev().map(InjectedView::of).collect(),
        }
    }

    fn apply(&self, change: FaultsChange) -> Result<(), EngineError> {
        let mut chosen = self.chosen();
        if let Some(delay) = change.index_delay.filter(|delay| *delay != chosen.index_delay) {
            let lag = Lag { seed: 0, table: Duration::ZERO, index: delay, behind: 1.0 };
            // The one change that may fail comes first.
            self.system.engine.set_lag((!delay.is_zero()).then_some(lag))?;
            chosen.index_delay = delay;
        }
        if let Some(throttles) = change.throttles {
            let now = self.system.engine.clock().now();
            let throttled =
                |(partition, chance, time)| ThrottledPartition { partition, chance, until: now + time };
            chosen.throttles = throttles.into_iter().map(throttled).collect();
            let rules = chosen.throttles.iter().fold(Rules::default(), ThrottledPartition::add_to);
            self.system.faults.set_faults(&rules);
        }
        self.pump.set_faults(change.stream);
        Ok(())
    }
}

impl ThrottledPartition {
    /// The rules that make it so. Of a batch only the items of the partition are refused, unless that is all of them.
    fn add_to(rules: Rules, throttled: &Self) -> Rules {
        let Self { ref partition, chance, until } = *throttled;
        let target = || Target::writes().partition(partition);
        let throttle = Injectable::Throttle(Throttle::TableKeyRange);
        rules.rule_until(until, target(), When::Always, Injectable::Unprocessed(chance)).rule_until(
            until,
            target(),
            When::Chance(chance),
            throttle,
        )
    }
}

impl InjectedView {
    fn of(injected: Injected) -> Self {
        let Injected { operation, fault, at, partition, .. } = injected;
        let millis = u64::try_from(at.as_millis()).ok();
        let what = match fault {
            Injectable::Unprocessed(_) => "unprocessed",
            _ => "throttled",
        };
        let at = millis.and_then(|millis| UnixMillis::new(millis).ok());
        Self { at, operation: format!("{operation:?}"), partition, what }
    }
}

pub(super) async fn get_faults(State(shared): State<ConsoleState>) -> Response {
    answer::json(StatusCode::OK, &shared.injection.view())
}

pub(super) async fn put_faults(
    State(shared): State<ConsoleState>,
    Whole(body): Whole,
) -> Result<Response, Problem> {
    let change = FaultsChange::read(&json(&body)?, shared.injection.pump.faults());
    let change = change.map_err(|faults| Problem::of_faults(Code::InvalidBody, faults))?;
    changed(&shared, change)
}

pub(super) async fn end_faults(State(shared): State<ConsoleState>) -> Result<Response, Problem> {
    let change = FaultsChange {
        stream: PumpFaults::default(),
        throttles: Some(Vec::new()),
        index_delay: Some(Duration::ZERO),
    };
    changed(&shared, change)
}

fn changed(shared: &ConsoleState, change: FaultsChange) -> Result<Response, Problem> {
    shared.injection.apply(change).map_err(|error| Problem::unavailable(&error))?;
    Ok(answer::json(StatusCode::OK, &shared.injection.view()))
}

impl FaultsChange {
    /// Reads a body, to be made of what goes wrong with the stream now.
    fn read(body: &Value, stream: PumpFaults) -> Result<Self, Faults> {
        let mut reader = FaultsReader::default();
        let mut change = Self { stream, throttles: None, index_delay: None };
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
}

/// Reads a body, and takes note of all that is wrong with it.
#[derive(Debug, Default)]
struct FaultsReader(Refusals);

impl FaultsReader {
    /// An object's fields, each with its place.
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
            self.0.add(format!("{path}/partition"), "must be how a partition's key begins");
        }
        let chance = self.number(&format!("{path}/chance"), &value["chance"], 0.0..=1.0);
        let time = self.seconds(&format!("{path}/seconds"), &value["seconds"], 1.0..=THROTTLE_SECONDS);
        Some((partition?.to_owned(), chance?, time?))
    }
}
