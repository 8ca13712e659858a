//! The state of the stream and of fan-out, in numbers.

use std::io;
use std::time::Duration;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use lately_items::ConsumerKey;
use lately_keys::{Consumer, Topic, UnixMillis};
use lately_kit::answer;
use lately_kit::problem::Problem;
use lately_pump::ShardStatistics;
use serde::Serialize;

use crate::seconds;
use crate::serve::console::injection::FaultsView;
use crate::serve::console::parts::{ConsoleParts, ConsoleState};
use crate::serve::system::TABLE;

#[derive(Clone, Debug, Serialize)]
pub(super) struct StateView {
    now: UnixMillis,
    stream: Vec<ShardView>,
    /// Records that the stream holds.
    records: usize,
    failures: usize,
    faults: FaultsView,
    report: Option<ReportView>,
}

#[derive(Clone, Debug, Serialize)]
struct ShardView {
    shard: usize,
    delivered: u64,
    filtered: u64,
    invocations: u64,
    failures: u64,
    retries: u64,
    bisects: u64,
    in_destination: u64,
    in_flight: u64,
    lag_seconds: f64,
}

/// The consumer that the schedule reports for.
#[derive(Clone, Debug, Serialize)]
struct ReportView {
    topic: Topic,
    consumer: Consumer,
    every_seconds: u64,
}

impl ShardView {
    fn of((shard, counts): (usize, ShardStatistics)) -> Self {
        let ShardStatistics { delivered, filtered, invocations, failures, retries, bisects, .. } = counts;
        let ShardStatistics { in_destination, in_flight, iterator_age, .. } = counts;
        let lag_seconds = seconds::tenths(iterator_age);
        Self {
            shard,
            delivered,
            filtered,
            invocations,
            failures,
            retries,
            bisects,
            in_destination,
            in_flight,
            lag_seconds,
        }
    }
}

impl ReportView {
    fn of((ConsumerKey { topic, name }, every): (ConsumerKey, Duration)) -> Self {
        Self { topic, consumer: name, every_seconds: every.as_secs() }
    }
}

impl ConsoleState {
    /// The state now.
    pub(super) fn state(&self) -> io::Result<StateView> {
        let ConsoleParts { system, pump, failures, report, .. } = &*self.parts;
        Ok(StateView {
            now: system.store.now(),
            stream: pump.statistics().into_iter().enumerate().map(ShardView::of).collect(),
            records: system.engine.stream(TABLE).map_or(0, |stream| stream.len()),
            failures: failures.list()?.len(),
            faults: self.injection.view(),
            report: report.clone().map(ReportView::of),
        })
    }
}

pub(super) async fn get_state(State(shared): State<ConsoleState>) -> Result<Response, Problem> {
    let state = shared.state().map_err(|error| Problem::unavailable(&error))?;
    Ok(answer::json(StatusCode::OK, &state))
}
