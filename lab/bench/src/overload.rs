//! Measures the effect of a source that is written faster than its timeline can take. It must not slow down others.
//!
//! One busy source gets three times the writes that a partition serves a second, next to many quiet sources. The run is
//! in simulated time, on the embedded engine with its partitions' limits, on a new table with four partitions, on a table
//! that is warm for the load, and on one without a limit of its own. Fan-out is invoked through the stream mapping
//! that `template.yaml` declares, with its lanes, batches, retries and failure destination.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use lately_engine::fault::{Faults, Network};
use lately_engine::limits::PARTITION_WRITE_UNITS;
use lately_engine::stream::EventName;
use lately_engine::{Options, PartitionLimits, TableCapacity};
use lately_items::event::ACTOR;
use lately_items::{AnyKey, Timeline, WatchKey};
use lately_keys::{EventId, UnixMillis};
use lately_model::NewEvent;
use lately_pump::{Destination, Handler, HandlerError, Pump, PumpOptions};
use lately_store::{Store, Submission, WriteError};
use lately_table::{Connection, Item};
use lately_template::Template;
use tokio::time::{Instant, sleep_until};

use crate::progress::Progress;
use crate::report::{Cell, Report, Table};
use crate::topic::{BUDGET, Bench, NOON, TABLE};
use lately_rig::definition;
use lately_rig::{World, simulate};

/// The time of an invocation, without the reserve in which the function ends in order.
const INVOCATION: Duration = Duration::from_secs(52);

/// The longest delay of a call to the table, on each way.
const WAY: Duration = Duration::from_millis(4);

/// The time between two batches of the busy source.
const TICK: Duration = Duration::from_millis(50);

/// The sources, their rates and the length of the rush.
#[derive(Clone, Copy, Debug)]
pub struct OverloadScale {
    /// The events a second of the busy source.
    pub busy: u32,
    /// The number of quiet sources, which write one event a second each.
    pub quiet: u32,
    /// The length of the rush.
    pub seconds: u32,
    /// The write units that a partition serves a second.
    pub write_units: u32,
    /// The capacity of the table as a whole.
    pub table: TableCapacity,
    /// True if the busy source's timeline is followed live.
    pub is_watched: bool,
    /// The seconds for which fan-out stands still at the beginning of the rush.
    pub pause_seconds: u32,
}

impl OverloadScale {
    /// The size of the published run.
    pub const FULL: Self = Self {
        busy: 3_000,
        quiet: 100,
        seconds: 60,
        write_units: PARTITION_WRITE_UNITS,
        table: TableCapacity::Unbounded,
        is_watched: false,
        pause_seconds: 0,
    };
}

/// The results of a run.
#[derive(Clone, Debug)]
pub struct Overload {
    /// The milliseconds until each event of a quiet source was in its follower's feed, sorted.
    pub quiet_millis: Vec<u64>,
    /// The number of events that were not accepted, because the table was short of capacity.
    pub refused: u64,
    /// The number of events of quiet sources.
    pub quiet_events: u64,
    /// The number of events of the busy source.
    pub busy_events: u64,
    /// The number of the busy source's events that are in its timeline at the end.
    pub in_timeline: u64,
    /// The number of the busy source's events that are in its follower's feed at the end.
    pub in_feed: u64,
    /// The number of the busy source's events that its timeline lacked when the last event was written.
    pub backlog: u64,
    /// The milliseconds from the last event until the timeline and the feeds were complete.
    pub catch_up_millis: u64,
    /// The number of objects in the failure destination.
    pub failures: usize,
    /// The number of times that an event was deferred to a backlog.
    pub deferred: u64,
    /// The write units that fan-out consumed, in halves.
    pub write_halves: u64,
}

impl Overload {
    /// The lag in milliseconds that `permille` of a thousand events of quiet sources do not exceed.
    ///
    /// # Panics
    /// If there are no such events.
    pub fn quiet_lag(&self, permille: usize) -> u64 {
        self.quiet_millis[(self.quiet_millis.len() - 1) * permille / 1000]
    }
}

/// The kinds of tables on which the overload runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum TableKind {
    /// A new on-demand table: four partitions
    New,
    /// A table with 40,000 warm write units: forty partitions
    Warm,
    /// A table without a limit of its own: only a key has one
    Unbounded,
}

impl TableKind {
    const fn name(self) -> &'static str {
        match self {
            Self::New => "a new table",
            Self::Warm => "a table with 40,000 warm write units",
            Self::Unbounded => "a table without a limit",
        }
    }

    const fn capacity(self) -> TableCapacity {
        match self {
            Self::New => TableCapacity::NEW,
            Self::Warm => TableCapacity::OnDemand { partitions: 40 },
            Self::Unbounded => TableCapacity::Unbounded,
        }
    }
}

/// Runs the measurement on each kind of table, and returns its figures.
pub fn report(scale: OverloadScale, kinds: &[TableKind], progress: &Progress) -> Report {
    progress.expect(kinds.len());
    let mut columns = vec!["one busy source and many quiet sources"];
    columns.extend(kinds.iter().map(|kind| kind.name()));
    let mut table = Table::new("overload", &columns);
    let found = kinds.iter().map(|kind| {
        let found = figures(scale, &run(OverloadScale { table: kind.capacity(), ..scale }));
        progress.done(kind.name());
        found
    });
    let mut rows: Vec<Vec<Cell>> = Vec::new();
    for figures in found {
        for (number, (name, figure)) in figures.into_iter().enumerate() {
            match rows.get_mut(number) {
                Some(row) => row.push(figure),
                None => rows.push(vec![name.into(), figure]),
            }
        }
    }
    for row in rows {
        table.push(row);
    }
    let mut command = "cargo run -p bench --release -- overload".to_owned();
    if let [kind] = kinds {
        command += &format!(" --table {}", format!("{kind:?}").to_lowercase());
    }
    if scale.seconds != OverloadScale::FULL.seconds {
        command += &format!(" --seconds {}", scale.seconds);
    }
    if scale.is_watched {
        command += " --watch";
    }
    if scale.pause_seconds != 0 {
        command += &format!(" --pause {}", scale.pause_seconds);
    }
    Report { command, tables: vec![table] }
}

/// The figures of a run, by their names.
fn figures(scale: OverloadScale, found: &Overload) -> [(&'static str, Cell); 12] {
    let millis = |millis: u64| Cell::Text(format!("{millis} ms"));
    let seconds = |millis: u64| Cell::Text(format!("{}.{} s", millis / 1000, millis % 1000 / 100));
    let events = found.busy_events + found.quiet_events;
    [
        ("events a second of the busy source", u64::from(scale.busy).into()),
        ("length of the rush, in seconds", u64::from(scale.seconds).into()),
        ("quiet sources, with one event a second each", u64::from(scale.quiet).into()),
        ("events that were not accepted (503)", found.refused.into()),
        ("lag of the quiet sources, median", millis(found.quiet_lag(500))),
        ("lag of the quiet sources, 99th percentile", millis(found.quiet_lag(990))),
        ("lag of the quiet sources, longest", millis(found.quiet_lag(1000))),
        ("events missing in the busy source's timeline at the end of the rush", found.backlog.into()),
        ("time until all timelines and feeds have caught up", seconds(found.catch_up_millis)),
        ("times that an event was deferred to a backlog", found.deferred.into()),
        ("write units of fan-out for each event", Cell::Measure(tenths(found.write_halves * 5, events))),
        ("batches in the failure destination", (found.failures as u64).into()),
    ]
}

/// A number of tenths divided by `by`, rounded to tenths.
fn tenths(tenths: u64, by: u64) -> f64 {
    (tenths as f64 / by as f64).round() / 10.0
}

/// Runs the overload in simulated time.
pub fn run(scale: OverloadScale) -> Overload {
    simulate(overload(scale))
}

async fn overload(scale: OverloadScale) -> Overload {
    let limits =
        PartitionLimits { write_units: scale.write_units, table: scale.table, ..PartitionLimits::default() };
    let options = Options { partitions: Some(limits), ..Options::default() };
    let bench = Bench::at(NOON, 0, r#"{"min_shards":8}"#, definition(), options).await;
    bench.follow("fan", "actor:busy").await;
    for number in 0..scale.quiet {
        bench.follow(&format!("reader-{number}"), &format!("actor:quiet-{number}")).await;
    }
    if scale.is_watched {
        watch(&bench).await;
    }
    let (idle, made, deferred, resumes) = Default::default();
    let functions = Functions { bench: bench.clone(), idle, made, deferred, resumes };
    let destination = Destination::memory();
    let pump = fan_out(&functions, destination.clone());
    let handle = pump.handle();
    let running = tokio::spawn(pump.run());
    handle.settled().await;
    let pause = Duration::from_secs(scale.pause_seconds.into());
    functions.resumes.set(Instant::now() + pause).expect("a rush begins once");
    let refused = write_all(&bench, scale).await;
    handle.settled().await;
    handle.stop();
    running.await.expect("the pump does not panic").expect("the pump has no checkpoint file");

    let failures = destination.list().expect("an engine in memory opens").len();
    let found = StreamTimes::of(&bench).overload(failures, functions.deferred(), functions.write_halves());
    Overload { refused, ..found }
}

/// Puts the watch of a live follower of the busy source, which does not end before the rush.
async fn watch(bench: &Bench) {
    let source = "actor:busy".parse().expect("a source");
    let watch = Item::at(&WatchKey { timeline: Timeline::Source(source) });
    let watch = watch.with("until", UnixMillis::MAX.get()).with("expires_at", UnixMillis::MAX.get() / 1000);
    let put = bench.engine.client().put_item().table_name(TABLE);
    put.set_item(Some(watch.into_attributes())).send().await.expect("the engine puts the watch");
}

/// The pump that invokes fan-out with the table's stream, with the mapping of the template.
fn fan_out(functions: &Functions, destination: Destination) -> Pump {
    let stream = functions.bench.engine.stream(TABLE).expect("the table has a stream");
    let template = Template::parse(include_str!("../../../template.yaml")).expect("the project's template");
    let mut mappings = template.mappings().expect("the template's mappings").into_iter();
    let mapping = mappings.rfind(|mapping| mapping.function == "FanOutFunction");
    let mapping = mapping.expect("fan-out is invoked by the stream");
    let invoked = functions.clone();
    let handler = Handler::new(move |event| {
        let functions = invoked.clone();
        async move { functions.invoke(event).await }
    });
    Pump::new(&stream, mapping, handler, Some(destination), PumpOptions::default())
}

/// Writes the events of the busy source and of the quiet sources, for the seconds of the scale. Returns the number of events
/// that were not accepted.
async fn write_all(bench: &Bench, scale: OverloadScale) -> u64 {
    let mut writers: Vec<_> =
        (0..scale.quiet).map(|number| tokio::spawn(write_quiet(bench.clone(), scale, number))).collect();
    let each = scale.busy / u32::try_from(Duration::from_secs(1).as_millis() / TICK.as_millis()).unwrap_or(1);
    for _ in 0..scale.seconds * scale.busy / each {
        writers.push(tokio::spawn(write(bench.clone(), "busy".to_owned(), each)));
        tokio::time::sleep(TICK).await;
    }
    let mut refused = 0;
    for writer in writers {
        refused += writer.await.expect("a writer does not panic");
    }
    refused
}

/// Writes one event a second of a quiet source. The sources begin at different times.
async fn write_quiet(bench: Bench, scale: OverloadScale, number: u32) -> u64 {
    let begin = u64::from(number) * 1_000_000 / u64::from(scale.quiet);
    tokio::time::sleep(Duration::from_micros(begin)).await;
    let mut refused = 0;
    for _ in 0..scale.seconds {
        refused += write(bench.clone(), format!("quiet-{number}"), 1).await;
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    refused
}

/// Writes events of an actor. Returns the number of those that were not accepted.
async fn write(bench: Bench, actor: String, events: u32) -> u64 {
    let event = NewEvent {
        event_type: "note".parse().expect("a type"),
        actor: actor.parse().expect("an actor"),
        subject: None,
        data: None,
        at: None,
    };
    let submission = Submission::new(vec![event; events as usize]);
    match bench.store.op().topic(&bench.topic).write(submission).await {
        Ok(_) => 0,
        Err(WriteError::Partly { rejected, .. }) => rejected.len() as u64,
        Err(WriteError::Table(_)) => events.into(),
        Err(error) => panic!("the events are valid: {error}"),
    }
}

/// The processes of the function: one for each concurrent invocation, each with its own caches.
#[derive(Clone)]
struct Functions {
    bench: Bench,
    idle: Arc<Mutex<Vec<Store>>>,
    made: Arc<Mutex<Vec<Store>>>,
    deferred: Arc<Mutex<u64>>,
    /// When fan-out goes on after the pause at the beginning of the rush.
    resumes: Arc<OnceLock<Instant>>,
}

impl Functions {
    async fn invoke(&self, event: String) -> Result<String, HandlerError> {
        if let Some(resumes) = self.resumes.get() {
            sleep_until(*resumes).await;
        }
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let store = idle.unwrap_or_else(|| self.start());
        let answer = lately_fan_out::handle(&store, event.as_bytes(), INVOCATION).await;
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(store);
        let answer = answer.map_err(|error| HandlerError::new(error.to_string()))?;
        *self.deferred.lock().unwrap_or_else(PoisonError::into_inner) += answer.handled().deferred;
        Ok(serde_json::to_string(&answer).expect("an answer is text"))
    }

    fn start(&self) -> Store {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        let seed = made.len() as u64 + 1;
        let network = Network { seed, longest: WAY, stall: None };
        let client = self.bench.engine.client_with(Faults::default()).over(network);
        let store =
            Store::new(Connection::new(client, TABLE, World::beginning(self.bench.now(), seed), BUDGET));
        made.push(store.clone());
        store
    }

    fn deferred(&self) -> u64 {
        *self.deferred.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write_halves(&self) -> u64 {
        let made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        made.iter().map(|store| store.take_tally().cost.write_units.halves).sum()
    }
}

/// The times from the stream's records: when each event was written, put into a timeline, and put into a feed.
#[derive(Default)]
struct StreamTimes {
    busy: BTreeMap<EventId, u64>,
    quiet: BTreeMap<EventId, u64>,
    listed: BTreeMap<EventId, u64>,
    in_feeds: BTreeMap<EventId, u64>,
}

impl StreamTimes {
    fn of(bench: &Bench) -> Self {
        let mut times = Self::default();
        let stream = bench.engine.stream(TABLE).expect("the table has a stream");
        for record in stream.all() {
            if record.event != EventName::Insert {
                continue;
            }
            let keys = record.keys();
            let text = |name: &str| keys[name].as_s().expect("keys are text").clone();
            let at = record.at_micros / 1000;
            match AnyKey::decode(&text("pk"), &text("sk")) {
                Some(AnyKey::Event(key)) => {
                    let image = record.new_image().expect("an insert has a new image");
                    let actor = image[ACTOR].as_s().expect("an actor is text");
                    let events = if actor == "busy" { &mut times.busy } else { &mut times.quiet };
                    events.insert(key.id(), at);
                }
                Some(AnyKey::SourceEntry(key)) => drop(times.listed.insert(key.id, at)),
                Some(AnyKey::FeedEntry(key)) if !key.user.as_str().starts_with(['b', 'q']) => {
                    times.in_feeds.insert(key.id, at);
                }
                _ => {}
            }
        }
        times
    }

    fn overload(&self, failures: usize, deferred: u64, write_halves: u64) -> Overload {
        let Self { busy, quiet, listed, in_feeds } = self;
        let lag = |(id, at): (&EventId, &u64)| Some(in_feeds.get(id)?.saturating_sub(*at));
        let mut quiet_millis: Vec<u64> = quiet.iter().filter_map(lag).collect();
        quiet_millis.sort_unstable();
        let end = busy.values().copied().max().unwrap_or(0);
        let has = |timeline: &BTreeMap<EventId, u64>| {
            busy.keys().filter(|id| timeline.contains_key(*id)).count() as u64
        };
        let done = listed.values().chain(in_feeds.values()).copied().max().unwrap_or(0);
        Overload {
            quiet_millis,
            refused: 0,
            quiet_events: quiet.len() as u64,
            busy_events: busy.len() as u64,
            in_timeline: has(listed),
            in_feed: has(in_feeds),
            backlog: busy.keys().filter(|id| listed.get(*id).is_none_or(|at| *at > end)).count() as u64,
            catch_up_millis: done.saturating_sub(end),
            failures,
            deferred,
            write_halves,
        }
    }
}
