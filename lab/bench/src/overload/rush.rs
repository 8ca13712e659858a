//! The rush: one busy source gets three times the writes that a partition serves a second, next to many quiet sources.
//!
//! It runs on a new table with four partitions, on a table that is warm for the load, and on one without a limit of its
//! own.

use std::time::Duration;

use lately_engine::limits::PARTITION_WRITE_UNITS;
use lately_engine::{Options, PartitionLimits, TableCapacity};
use lately_items::{Timeline, WatchKey};
use lately_keys::UnixMillis;
use lately_pump::Destination;
use lately_rig::{definition, simulate};
use lately_store::FeedSettings;
use lately_table::Item;

use crate::overload::functions::Functions;
use crate::overload::lags::{StreamTimes, permille};
use crate::overload::writers::WriteRate;
use crate::progress::Progress;
use crate::report::{Cell, Report, Table};
use crate::topic::{Bench, NOON, TABLE};

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
#[derive(Clone, Debug, Default)]
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
    /// The figures that the stream's records show.
    fn of(times: &StreamTimes) -> Self {
        let end = times.busy.values().copied().max().unwrap_or(0);
        let done = times.listed.values().chain(times.in_feeds.values()).copied().max().unwrap_or(0);
        let mut found = Self {
            quiet_millis: times.quiet_lags(0, done),
            quiet_events: times.quiet.len() as u64,
            busy_events: times.busy.len() as u64,
            catch_up_millis: done.saturating_sub(end),
            ..Self::default()
        };
        for id in times.busy.keys() {
            let listed = times.listed.get(id);
            found.in_timeline += u64::from(listed.is_some());
            found.in_feed += u64::from(times.in_feeds.contains_key(id));
            found.backlog += u64::from(listed.is_none_or(|at| *at > end));
        }
        found
    }

    /// The lag in milliseconds that `part` of a thousand events of quiet sources do not exceed.
    ///
    /// # Panics
    /// If there are no such events.
    pub fn quiet_lag(&self, part: usize) -> u64 {
        permille(&self.quiet_millis, part)
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
    let rate = WriteRate { busy: scale.busy, quiet: scale.quiet, seconds: scale.seconds };
    rate.follow_all(&bench).await;
    if scale.is_watched {
        watch(&bench).await;
    }
    let functions = Functions::new(&bench, FeedSettings::default());
    let destination = Destination::memory();
    let pump = functions.pump(destination.clone());
    let handle = pump.handle();
    let running = tokio::spawn(pump.run());
    handle.settled().await;
    functions.pause(Duration::from_secs(scale.pause_seconds.into()));
    let refused = rate.write_all(&bench).await;
    handle.settled().await;
    handle.stop();
    running.await.expect("the pump does not panic").expect("the pump has no checkpoint file");

    let times = StreamTimes::of(&bench);
    Overload {
        refused,
        failures: destination.list().expect("an engine in memory opens").len(),
        deferred: functions.deferred(),
        write_halves: functions.write_halves(),
        ..Overload::of(&times)
    }
}

/// Puts the watch of a live follower of the busy source, which does not end before the rush.
async fn watch(bench: &Bench) {
    let source = "actor:busy".parse().expect("a source");
    let watch = Item::at(&WatchKey { timeline: Timeline::Source(source) });
    let watch = watch.with("until", UnixMillis::MAX.get()).with("expires_at", UnixMillis::MAX.get() / 1000);
    let put = bench.engine.client().put_item().table_name(TABLE);
    put.set_item(Some(watch.into_attributes())).send().await.expect("the engine puts the watch");
}
