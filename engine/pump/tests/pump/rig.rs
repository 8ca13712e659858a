//! A scripted function that logs its invocations, and a pump that invokes it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use lately_engine::stream::{SequenceNumber, Stream};
use lately_engine::{Clock, Engine, Options};
use lately_pump::{
    Destination, Failure, Handler, HandlerError, Mapping, Pump, PumpHandle, PumpOptions, ShardStatistics,
};
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

use crate::support::{START, TABLE, definition, item, n};

/// A record that the function received.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Seen {
    pub(crate) pk: String,
    pub(crate) sequence: SequenceNumber,
}

/// An invocation of the function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Call {
    /// The time from the start of the test until the invocation began.
    pub(crate) at: Duration,
    pub(crate) records: Vec<Seen>,
    pub(crate) bytes: usize,
    /// The number of invocations under way, with this one.
    pub(crate) at_work: usize,
    /// True if another invocation under way had a record of one of these items.
    pub(crate) overlaps: bool,
    /// The number of records that the invocation did, from the first.
    pub(crate) done: usize,
    ended: bool,
}

/// The invocations of the function, in order.
#[derive(Debug, Clone)]
pub(crate) struct Log {
    began: Instant,
    calls: Arc<Mutex<Vec<Call>>>,
}

/// The behaviour of an invocation: it does all records, does the records before a position and reports the others as
/// failed, returns an error, or panics.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Does {
    All,
    Before(usize),
    Error,
    Panic,
}

impl Log {
    pub(crate) fn new() -> Self {
        Self { began: Instant::now(), calls: Arc::default() }
    }

    pub(crate) fn calls(&self) -> Vec<Call> {
        self.calls.lock().unwrap().clone()
    }

    /// The keys of each invocation's records.
    pub(crate) fn keys(&self) -> Vec<Vec<String>> {
        let keys = |call: &Call| call.records.iter().map(|record| record.pk.clone()).collect();
        self.calls().iter().map(keys).collect()
    }

    pub(crate) fn times(&self) -> Vec<Duration> {
        self.calls().iter().map(|call| call.at).collect()
    }

    /// The records that were done, in the order in which each was first done.
    pub(crate) fn done(&self) -> Vec<Seen> {
        let mut done = Vec::new();
        for call in self.calls() {
            for record in &call.records[..call.done] {
                if !done.contains(record) {
                    done.push(record.clone());
                }
            }
        }
        done
    }

    pub(crate) fn begin(&self, event: &str) -> (usize, Call) {
        let parsed: Value = serde_json::from_str(event).unwrap();
        let seen = |record: &Value| Seen {
            pk: record["dynamodb"]["Keys"]["pk"]["S"].as_str().unwrap().to_owned(),
            sequence: record["dynamodb"]["SequenceNumber"].as_str().unwrap().parse().unwrap(),
        };
        let mut calls = self.calls.lock().unwrap();
        let records: Vec<_> = parsed["Records"].as_array().unwrap().iter().map(seen).collect();
        let at_work: Vec<_> = calls.iter().filter(|call| !call.ended).collect();
        let is_at_work = |pk: &str| at_work.iter().any(|call| call.records.iter().any(|r| r.pk == pk));
        let call = Call {
            at: self.began.elapsed(),
            bytes: event.len(),
            at_work: at_work.len() + 1,
            overlaps: records.iter().any(|record| is_at_work(&record.pk)),
            records,
            done: 0,
            ended: false,
        };
        calls.push(call.clone());
        (calls.len() - 1, call)
    }

    pub(crate) fn end(&self, number: usize, done: usize) {
        let call = &mut self.calls.lock().unwrap()[number];
        (call.done, call.ended) = (done, true);
    }

    /// A function that takes the time `takes` and behaves as `does` decides.
    pub(crate) fn handler(
        &self,
        takes: Duration,
        does: impl Fn(&Call) -> Does + Send + Sync + 'static,
    ) -> Handler {
        let (log, does) = (self.clone(), Arc::new(does));
        Handler::new(move |event| {
            let (log, does) = (log.clone(), Arc::clone(&does));
            async move {
                let (number, call) = log.begin(&event);
                sleep(takes).await;
                match does(&call) {
                    Does::All => {
                        log.end(number, call.records.len());
                        Ok(r#"{"batchItemFailures":[]}"#.to_owned())
                    }
                    Does::Before(index) => {
                        log.end(number, index);
                        Ok(report(&call.records[index..]))
                    }
                    Does::Error => {
                        log.end(number, 0);
                        Err(HandlerError::new("asked to fail"))
                    }
                    Does::Panic => {
                        log.end(number, 0);
                        panic!("asked to panic")
                    }
                }
            }
        })
    }
}

pub(crate) fn report(failed: &[Seen]) -> String {
    let failed = failed.iter().rev().map(|record| json!({"itemIdentifier": record.sequence.to_string()}));
    json!({"batchItemFailures": failed.collect::<Vec<_>>()}).to_string()
}

/// The options of an engine whose clock follows tokio's time.
pub(crate) fn options(shards: u16) -> Options {
    let began = Instant::now();
    Options { clock: Clock::from_fn(move || START + began.elapsed()), shards, ..Options::default() }
}

pub(crate) fn engine(shards: u16) -> Engine {
    let engine = Engine::memory(&options(shards)).unwrap();
    engine.create_table(&definition(), TABLE).unwrap();
    engine
}

pub(crate) fn stream(engine: &Engine) -> Stream {
    engine.stream(TABLE).unwrap()
}

/// Changes an item. Each call writes another value.
pub(crate) async fn put(engine: &Engine, pk: &str) {
    let number = stream(engine).len();
    let put = engine.client().put_item().table_name(TABLE);
    put.set_item(Some(item(pk, "1", [("n", n(number))]))).send().await.unwrap();
}

pub(crate) async fn put_all(engine: &Engine, keys: impl IntoIterator<Item = u32>) {
    for key in keys {
        put(engine, &key.to_string()).await;
    }
}

pub(crate) fn mapping() -> Mapping {
    Mapping::new("FanOut", "Stream")
}

pub(crate) struct Running {
    pub(crate) handle: PumpHandle,
    pub(crate) task: JoinHandle<std::io::Result<()>>,
}

pub(crate) fn start(engine: &Engine, mapping: Mapping, handler: Handler) -> Running {
    start_with(engine, mapping, handler, None, PumpOptions::default())
}

pub(crate) fn start_with(
    engine: &Engine,
    mapping: Mapping,
    handler: Handler,
    destination: Option<&Destination>,
    options: PumpOptions,
) -> Running {
    let pump = Pump::new(&stream(engine), mapping, handler, destination.cloned(), options);
    let handle = pump.handle();
    Running { handle, task: tokio::spawn(pump.run()) }
}

impl Running {
    pub(crate) async fn stop(self) -> ShardStatistics {
        self.handle.stop();
        self.task.await.unwrap().unwrap();
        total(&self.handle)
    }

    pub(crate) async fn settle_and_stop(self) -> ShardStatistics {
        self.handle.settled().await;
        assert!(self.handle.idle());
        self.stop().await
    }

    pub(crate) fn total(&self) -> ShardStatistics {
        total(&self.handle)
    }
}

pub(crate) fn total(handle: &PumpHandle) -> ShardStatistics {
    handle.statistics().into_iter().fold(ShardStatistics::default(), |a, b| ShardStatistics {
        delivered: a.delivered + b.delivered,
        filtered: a.filtered + b.filtered,
        invocations: a.invocations + b.invocations,
        failures: a.failures + b.failures,
        retries: a.retries + b.retries,
        bisects: a.bisects + b.bisects,
        in_destination: a.in_destination + b.in_destination,
        dropped: a.dropped + b.dropped,
        trimmed: a.trimmed + b.trimmed,
        in_flight: a.in_flight + b.in_flight,
        iterator_age: a.iterator_age.max(b.iterator_age),
    })
}

pub(crate) fn failures(destination: &Destination) -> Vec<(String, Failure)> {
    let read = |name: String| {
        let failure = Failure::parse(&destination.read(&name).unwrap()).unwrap();
        (name, failure)
    };
    destination.list().unwrap().into_iter().map(read).collect()
}

/// The records of each item, in the given order.
pub(crate) fn by_item(records: &[Seen]) -> BTreeMap<&str, Vec<SequenceNumber>> {
    let mut items: BTreeMap<&str, Vec<SequenceNumber>> = BTreeMap::new();
    for record in records {
        items.entry(&record.pk).or_default().push(record.sequence);
    }
    items
}

pub(crate) const SECOND: Duration = Duration::from_secs(1);
pub(crate) const AT_ONCE: Duration = Duration::ZERO;

pub(crate) fn all(_: &Call) -> Does {
    Does::All
}

pub(crate) fn fails_on(pk: &'static str) -> impl Fn(&Call) -> Does + Send + Sync {
    move |call| match call.records.iter().any(|record| record.pk == pk) {
        true => Does::Error,
        false => Does::All,
    }
}
