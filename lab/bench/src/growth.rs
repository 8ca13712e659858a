//! Measures how a topic of one shard handles a rate of writes that only many shards can handle.
//!
//! The run is in simulated time, on the embedded engine with its partitions' limits. DynamoDB documents the rate of a
//! partition, but not how much of it may come at once. As Lately writes to one partition at a time, the run is repeated
//! with partitions that save up less, and with partitions that accept only some writes in 10 ms.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use lately_engine::limits::PARTITION_WRITE_UNITS;
use lately_engine::{Options, PartitionLimits};
use lately_rig::{definition, simulate};
use lately_store::Submission;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

use crate::progress::Progress;
use crate::report::{Cell, Report, Table};
use crate::topic::{Bench, NOON, QUIET, of_512_bytes};

/// The most events of a request.
const BATCH: u32 = 500;

/// The writes that are offered to a topic.
#[derive(Clone, Copy, Debug)]
pub struct GrowthScale {
    /// The events a second.
    pub per_second: u32,
    /// The seconds in which each request has one event, and then the seconds in which each request has many.
    pub seconds: u32,
    /// The events of a request that has many.
    pub batch: u32,
    /// The write units that a partition serves a second.
    pub write_units: u32,
}

impl GrowthScale {
    /// The size of the published run.
    pub const FULL: Self =
        Self { per_second: 20_000, seconds: 5, batch: BATCH, write_units: PARTITION_WRITE_UNITS };
}

/// The requests of one kind: the milliseconds until each was answered, sorted, and the number that failed.
#[derive(Clone, Debug, Default)]
pub struct RequestTimes {
    /// The milliseconds until each request was answered, sorted.
    pub millis: Vec<u64>,
    /// The number of requests that failed.
    pub failed: u64,
}

/// The results of a run.
#[derive(Clone, Debug)]
pub struct Growth {
    /// The requests with one event.
    pub single: RequestTimes,
    /// The requests with many events.
    pub batches: RequestTimes,
    /// The most shards that the topic had.
    pub shards: u16,
}

impl RequestTimes {
    /// The milliseconds that `permille` of a thousand requests do not exceed.
    ///
    /// # Panics
    /// If there were no requests.
    pub fn within(&self, permille: usize) -> u64 {
        self.millis[(self.millis.len() - 1) * permille / 1000]
    }
}

/// Measures the growth on partitions of several kinds.
pub fn report(progress: &Progress) -> Report {
    let scale = GrowthScale::FULL;
    let limits = |burst_millis, writes_in_10_ms| PartitionLimits {
        burst: Duration::from_millis(burst_millis),
        writes_in_10_ms,
        ..PartitionLimits::default()
    };
    let kinds = [
        ("saves up one second's units", limits(1_000, None)),
        ("saves up half a second's units", limits(500, None)),
        ("saves up a quarter of a second's units", limits(250, None)),
        ("takes 100 writes in 10 ms", limits(1_000, Some(100))),
        ("takes 50 writes in 10 ms", limits(1_000, Some(50))),
        ("takes 20 writes in 10 ms", limits(1_000, Some(20))),
    ];
    progress.expect(kinds.len());
    let columns =
        ["a partition", "requests", "failed", "delay, median", "99th percentile", "longest", "shards"];
    let mut table = Table::new("growth", &columns);
    for (name, limits) in kinds {
        let Growth { single, batches, shards } = run(scale, limits);
        for (requests, answered) in [("of one event", single), ("of 500 events", batches)] {
            let millis = |permille| Cell::Text(format!("{} ms", answered.within(permille)));
            let asked = [name.into(), requests.into(), answered.failed.into()];
            let delays = [500, 990, 1000].map(millis);
            table.push(asked.into_iter().chain(delays).chain([u64::from(shards).into()]));
        }
        progress.done(name);
    }
    Report { command: "cargo run -p bench --release -- growth".to_owned(), tables: vec![table] }
}

/// Offers the writes in simulated time.
///
/// # Panics
/// If the engine fails.
pub fn run(scale: GrowthScale, limits: PartitionLimits) -> Growth {
    let limits = PartitionLimits { write_units: scale.write_units, ..limits };
    simulate(async move {
        let options = Options { partitions: Some(limits), ..Options::default() };
        let bench = Bench::at(NOON, 0, QUIET, definition(), options).await;
        let single = offer(&bench, scale, 1).await;
        let batches = offer(&bench, scale, scale.batch).await;
        let view = bench.store.op().topic(&bench.topic).view().await.expect("the topic exists");
        let shards = view.buckets.first().map_or(1, |bucket| bucket.shards.get());
        Growth { single, batches, shards }
    })
}

/// Sends requests with `events` events each, evenly over the time, and waits for their answers.
async fn offer(bench: &Bench, scale: GrowthScale, events: u32) -> RequestTimes {
    let answered = Arc::new(Mutex::new(RequestTimes::default()));
    let requests = scale.per_second * scale.seconds / events;
    let (begun, pause) = (Instant::now(), Duration::from_secs(scale.seconds.into()) / requests);
    let mut writers = JoinSet::new();
    for request in 0..requests {
        sleep_until(begun + pause * request).await;
        let (store, topic, answered) = (bench.store.clone(), bench.topic.clone(), Arc::clone(&answered));
        writers.spawn(async move {
            let sent = Instant::now();
            let submission = Submission::new(vec![of_512_bytes(); events as usize]);
            let written = store.op().topic(&topic).write(submission).await;
            let mut answered = answered.lock().unwrap_or_else(PoisonError::into_inner);
            answered.millis.push(u64::try_from(sent.elapsed().as_millis()).unwrap_or(u64::MAX));
            answered.failed += u64::from(written.is_err());
        });
    }
    while let Some(written) = writers.join_next().await {
        written.expect("a writer does not panic");
    }
    let mut answered = answered.lock().unwrap_or_else(PoisonError::into_inner).clone();
    answered.millis.sort_unstable();
    answered
}
