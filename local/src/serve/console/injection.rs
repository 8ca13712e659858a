//! The faults that the program injects: into the stream, partitions and indexes.
//!
//! A throttle refuses the functions' writes to a partition, as DynamoDB does under too many writes. So writers retry,
//! and a hot bucket gets more shards. Throttles end by themselves; the other faults end when the page ends them. A
//! change takes effect whole.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use lately_engine::fault::{Fault as Injectable, Faults as Rules, Injected, Target, Throttle, When};
use lately_engine::{EngineError, Lag};
use lately_keys::UnixMillis;
use lately_pump::{PumpFaults, PumpHandle};
use serde_json::{Value, json};

use crate::seconds;
use crate::serve::system::System;

/// The current faults, and the parts of the program that inject them. Clones share the faults.
#[derive(Clone, Debug)]
pub(super) struct Injection {
    system: System,
    pump: PumpHandle,
    chosen: Arc<Mutex<ChosenFaults>>,
}

/// The faults that only the console knows.
#[derive(Debug, Default)]
struct ChosenFaults {
    throttles: Vec<ThrottledPartition>,
    index_delay: Duration,
}

/// A partition whose writes are throttled.
#[derive(Clone, Debug, PartialEq)]
struct ThrottledPartition {
    /// The beginning of the partition's key.
    partition: String,
    chance: f64,
    /// The end of the throttle, by the engine's clock.
    until: Duration,
}

/// A change of the faults. `None` leaves a fault as it is.
#[derive(Debug, PartialEq)]
pub(super) struct FaultsChange {
    pub(super) stream: PumpFaults,
    pub(super) throttles: Option<Vec<(String, f64, Duration)>>,
    pub(super) index_delay: Option<Duration>,
}

impl Injection {
    pub(super) fn new(system: System, pump: PumpHandle) -> Self {
        Self { system, pump, chosen: Arc::default() }
    }

    fn chosen(&self) -> MutexGuard<'_, ChosenFaults> {
        self.chosen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The current faults of the stream.
    pub(super) fn stream(&self) -> PumpFaults {
        self.pump.faults()
    }

    /// All current faults, as the page shows them.
    pub(super) fn view(&self) -> Value {
        let now = self.system.engine.clock().now();
        let PumpFaults { paused, delay, duplicate, crash_before, crash_after, .. } = self.pump.faults();
        let chosen = self.chosen();
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
            "injected": self.system.faults.injected().iter().rev().map(injected).collect::<Vec<_>>(),
        })
    }

    pub(super) fn apply(&self, change: FaultsChange) -> Result<(), EngineError> {
        let mut chosen = self.chosen();
        if let Some(delay) = change.index_delay.filter(|delay| *delay != chosen.index_delay) {
            let lag = Lag { seed: 0, table: Duration::ZERO, index: delay, behind: 1.0 };
            // The only change that can fail comes first.
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
    /// Adds the rules of the throttle. In a batch, only the items of the partition are refused, unless the batch has no
    /// others.
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

fn injected(Injected { operation, fault, at, partition, .. }: &Injected) -> Value {
    let at = u64::try_from(at.as_millis()).ok().and_then(|millis| UnixMillis::new(millis).ok());
    let what = match fault {
        Injectable::Unprocessed(_) => "unprocessed",
        _ => "throttled",
    };
    json!({ "at": at, "operation": format!("{operation:?}"), "partition": partition, "what": what })
}
