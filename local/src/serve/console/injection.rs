//! The faults that the program injects: into the stream, partitions and indexes.
//!
//! A throttle refuses the functions' writes to a partition, as DynamoDB does under too many writes. So writers retry,
//! and a hot bucket gets more shards. Throttles end by themselves; the other faults end when the page ends them. A
//! change takes effect whole.

use std::sync::{MutexGuard, PoisonError};
use std::time::Duration;

use lately_engine::Lag;
use lately_engine::fault::{Fault as Injectable, Faults as Rules, Injected, Target, Throttle, When};
use lately_keys::UnixMillis;
use lately_kit::answer::Json;
use lately_kit::problem::Problem;
use lately_pump::PumpFaults;
use serde_json::{Value, json};

use crate::seconds;
use crate::serve::console::ConsoleState;

/// The faults of partitions and indexes. The pump has those of the stream.
#[derive(Clone, Debug, Default)]
pub(super) struct ChosenFaults {
    pub(super) throttles: Vec<ThrottledPartition>,
    pub(super) index_delay: Duration,
}

/// A partition whose writes are throttled.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ThrottledPartition {
    /// The beginning of the partition's key.
    pub(super) partition: String,
    pub(super) chance: f64,
    /// The end of the throttle, by the engine's clock.
    pub(super) until: Duration,
}

impl ConsoleState {
    pub(super) fn chosen_faults(&self) -> MutexGuard<'_, ChosenFaults> {
        self.chosen_faults.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All current faults, as the page shows them.
    pub(super) fn view_faults(&self) -> Value {
        let system = &self.parts.system;
        let now = system.engine.clock().now();
        let PumpFaults { paused, delay, duplicate, crash_before, crash_after, .. } = self.parts.pump.faults();
        let chosen = self.chosen_faults();
        let throttle = |ThrottledPartition { partition, chance, until }: &ThrottledPartition| {
            let rest = until.checked_sub(now).filter(|rest| !rest.is_zero())?;
            Some(json!({ "partition": partition, "chance": chance, "seconds_left": seconds::tenths(rest) }))
        };
        json!({
            "stream": {
                "paused": paused,
                "delay_seconds": delay.as_secs_f64(),
                "duplicate": duplicate,
                "crash_before": crash_before,
                "crash_after": crash_after,
            },
            "throttles": chosen.throttles.iter().filter_map(throttle).collect::<Vec<_>>(),
            "index_delay_seconds": chosen.index_delay.as_secs_f64(),
            "injected": system.faults.injected().iter().rev().map(injected).collect::<Vec<_>>(),
        })
    }

    /// Replaces all faults. The result is their view.
    pub(super) fn inject(
        &self,
        mut current: MutexGuard<'_, ChosenFaults>,
        stream: PumpFaults,
        faults: ChosenFaults,
    ) -> Result<Json<Value>, Problem> {
        let system = &self.parts.system;
        if faults.index_delay != current.index_delay {
            let delay = faults.index_delay;
            let lag = Lag { seed: 0, table: Duration::ZERO, index: delay, behind: 1.0 };
            // The only change that can fail comes first.
            let lagging = system.engine.set_lag((!delay.is_zero()).then_some(lag));
            lagging.map_err(|error| Problem::unavailable(&error))?;
        }
        if faults.throttles != current.throttles {
            let rules = faults.throttles.iter().fold(Rules::default(), ThrottledPartition::add_to);
            system.faults.set_faults(&rules);
        }
        *current = faults;
        self.parts.pump.set_faults(stream);
        drop(current);
        Ok(Json(self.view_faults()))
    }
}

impl ThrottledPartition {
    /// Adds the rules of the throttle. In a batch, only the items of the partition are refused, unless the batch has no
    /// others.
    fn add_to(rules: Rules, throttled: &Self) -> Rules {
        let Self { ref partition, chance, until } = *throttled;
        let target = || Target::writes().partition(partition);
        let throttle = Injectable::Throttle(Throttle::TableKeyRange);
        let rules = rules.rule_until(until, target(), When::Always, Injectable::Unprocessed(chance));
        rules.rule_until(until, target(), When::Chance(chance), throttle)
    }
}

fn injected(Injected { operation, fault, at, partition, .. }: &Injected) -> Value {
    let at = u64::try_from(at.as_millis()).ok().and_then(|millis| UnixMillis::new(millis).ok());
    let what = match fault {
        Injectable::Unprocessed(_) => "unprocessed",
        _ => "throttled",
    };
    json!({ "at": at, "operation": format!("{operation:?}"), "partition": partition, "what": what })
}
