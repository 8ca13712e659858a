//! Hostile neighbours: callers and records that make much work. Nobody else may notice them.
//!
//! Each neighbour has a file with what it finds in the table (`prepare`) and what it does (`run`). The lag of quiet
//! sources is measured beside it, and once more in the same table without it.

mod backlog;
mod followed;
mod import;
mod poison;
mod polls;
mod unfollows;
mod unread;

use std::time::Duration;

use aws_sdk_dynamodb::types::{PutRequest, WriteRequest};
use lately_engine::limits::PARTITION_WRITE_UNITS;
use lately_engine::{Options, PartitionLimits, TableCapacity};
use lately_keys::{EventId, UnixMillis};
use lately_pump::Destination;
use lately_rig::{definition, simulate};
use lately_store::limits::FAN_OUT_LIMIT;
use lately_store::{FeedSettings, Store};
use lately_table::Item;
use tokio::time::Instant;

use crate::overload::functions::{Functions, process};
use crate::overload::lags::{StreamTimes, permille};
use crate::overload::writers::{BUSY, WriteRate};
use crate::progress::Progress;
use crate::report::{Cell, Table};
use crate::topic::{Bench, NOON, TABLE};

/// The longest wait for the stream's records after the last event. A record that always fails stays for 18 hours.
const SETTLING: Duration = Duration::from_secs(10 * 60);

/// The bytes of an entry's data.
const ENTRY_BYTES: usize = 700;

/// A hostile neighbour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Neighbour {
    /// Five consumers that poll once a second, after fan-out stood still for 20 seconds, on a new table
    Polls,
    /// A user with 10,000 entries in the feed who unfollows ten times a second
    Unfollows,
    /// A reader who counts the unread entries of a busy source eight times a second
    Unread,
    /// A consumer that is an hour behind and catches up
    Backlog,
    /// An import of 100,000 events into a topic that is followed live and has a consumer
    Import,
    /// A source with 20,000 followers that posts ten times a second
    Followed,
    /// A record of the stream that always fails
    Poison,
}

/// The size of a run.
#[derive(Clone, Copy, Debug)]
pub struct NeighbourScale {
    /// The number of quiet sources.
    pub quiet: u32,
    /// The length of a run in which fan-out does not stand still, in seconds.
    pub seconds: u32,
    /// Stored items are so many times fewer than in the published run.
    pub fewer: u32,
    /// Events are written so many times more slowly than in the published run. A partition serves fewer writes by the same
    /// factor, if writes are short.
    pub slower: u32,
}

/// The lags of the quiet sources in one run, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QuietLag {
    /// The median.
    pub median: u64,
    /// The 99th percentile.
    pub high: u64,
}

/// A neighbour may raise the lag of others to this many halves of what it is without the neighbour.
const MOST_HALVES: u64 = 3;

/// Differences of lags up to this are chance, in milliseconds: the network delays each call by up to eight.
const CHANCE_MILLIS: u64 = 5;

/// The lags of the quiet sources without a neighbour and beside it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NeighbourEffect {
    /// Without the neighbour.
    pub without: QuietLag,
    /// Beside the neighbour.
    pub beside: QuietLag,
}

impl NeighbourEffect {
    /// True if the lag beside the neighbour is at most 1.5 times the lag without it, apart from chance.
    pub const fn is_bearable(&self) -> bool {
        let Self { without, beside } = self;
        is_bearable(without.median, beside.median) && is_bearable(without.high, beside.high)
    }
}

const fn is_bearable(without: u64, beside: u64) -> bool {
    2 * beside <= MOST_HALVES * without + 2 * CHANCE_MILLIS
}

impl NeighbourScale {
    /// The size of the published run.
    pub const FULL: Self = Self { quiet: 100, seconds: 30, fewer: 1, slower: 1 };

    /// A size that a test can run. A feed and a timeline have enough entries to fill a partition's second.
    pub const fn small(neighbour: Neighbour) -> Self {
        let fewer = match neighbour {
            Neighbour::Unfollows | Neighbour::Unread => 5,
            _ => 50,
        };
        Self { quiet: 10, seconds: 6, fewer, slower: 20 }
    }

    const fn items(self, full: u32) -> u32 {
        full / self.fewer
    }

    const fn rate(self, full: u32) -> u32 {
        full.div_ceil(self.slower)
    }
}

impl Neighbour {
    /// All neighbours, in the order of the published table.
    pub const ALL: [Self; 7] = [
        Self::Polls,
        Self::Unfollows,
        Self::Unread,
        Self::Backlog,
        Self::Import,
        Self::Followed,
        Self::Poison,
    ];

    const fn name(self) -> &'static str {
        match self {
            Self::Polls => {
                "five consumers that poll once a second, after fan-out stood still for 20 s; a new table"
            }
            Self::Unfollows => "a user with 10,000 entries in the feed who unfollows ten times a second",
            Self::Unread => "a reader who counts the unread entries of a busy source eight times a second",
            Self::Backlog => "a consumer that is an hour behind and catches up",
            Self::Import => {
                "an import of 100,000 events into a topic that is followed live and has a consumer"
            }
            Self::Followed => "a source with 20,000 followers that posts ten times a second",
            Self::Poison => "a record of the stream that always fails",
        }
    }

    /// The neighbour on the command line.
    pub fn argument(self) -> String {
        format!("{self:?}").to_lowercase()
    }

    /// The seconds for which fan-out stands still at the beginning.
    const fn pause_seconds(self) -> u32 {
        match self {
            Self::Polls => 20,
            _ => 0,
        }
    }

    /// The seconds until fan-out has caught up after its pause. Only events that are written later count.
    const fn skipped_seconds(self) -> u32 {
        match self {
            Self::Polls => 40,
            _ => 0,
        }
    }

    /// The writes of all others.
    fn rate(self, scale: NeighbourScale) -> WriteRate {
        let seconds = self.skipped_seconds() + scale.seconds;
        match self {
            Self::Polls => WriteRate { busy: scale.rate(100), quiet: scale.rate(250), seconds },
            _ => WriteRate { busy: 20, quiet: scale.quiet, seconds },
        }
    }

    fn limits(self, scale: NeighbourScale) -> PartitionLimits {
        let table = match self {
            Self::Polls => TableCapacity::NEW,
            _ => TableCapacity::Unbounded,
        };
        let write_units = match self {
            Self::Polls | Self::Import => scale.rate(PARTITION_WRITE_UNITS),
            _ => PARTITION_WRITE_UNITS,
        };
        PartitionLimits { write_units, table, ..PartitionLimits::default() }
    }

    async fn prepare(self, place: &Neighbourhood) {
        match self {
            Self::Polls => {}
            Self::Unfollows => unfollows::prepare(place).await,
            Self::Unread => unread::prepare(place).await,
            Self::Backlog => backlog::prepare(place).await,
            Self::Import => import::prepare(place).await,
            Self::Followed => followed::prepare(place).await,
            Self::Poison => {}
        }
    }

    async fn run(self, place: Neighbourhood) {
        match self {
            Self::Polls => polls::run(&place).await,
            Self::Unfollows => unfollows::run(&place).await,
            Self::Unread => unread::run(&place).await,
            Self::Backlog => backlog::run(&place).await,
            Self::Import => import::run(&place).await,
            Self::Followed => followed::run(&place).await,
            Self::Poison => poison::run(&place).await,
        }
    }
}

/// The table beside whose quiet sources a neighbour lives.
#[derive(Clone, Debug)]
struct Neighbourhood {
    bench: Bench,
    scale: NeighbourScale,
    feeds: FeedSettings,
    /// The length of the run.
    seconds: u32,
    /// The end of the run.
    end: Instant,
}

impl Neighbourhood {
    /// A process of the neighbour.
    fn process(&self, number: u32) -> Store {
        process(&self.bench, 1_000 + u64::from(number), self.feeds)
    }

    fn now(&self) -> UnixMillis {
        self.bench.store.now()
    }

    /// Runs until the end.
    fn goes_on(&self) -> bool {
        Instant::now() < self.end
    }

    /// The id of an event so many milliseconds ago.
    fn id_before(&self, millis: u64) -> EventId {
        EventId::first_of(self.now().saturating_sub(millis))
    }

    /// The number of a neighbour's stored items that stands for a number in the published run.
    fn items(&self, full: u32) -> u32 {
        self.scale.items(full)
    }

    /// An entry of an event.
    fn entry(&self, item: Item) -> Item {
        let data = "x".repeat(ENTRY_BYTES);
        item.with("t", "note")
            .with("a", BUSY)
            .with("o", "posts")
            .with("v", "a")
            .with("d", format!("\"{data}\""))
    }

    /// Puts items, and puts those again that a partition refuses.
    async fn put_all(&self, items: Vec<Item>) {
        for some in items.chunks(25) {
            let mut requests = Vec::new();
            for item in some {
                let put = PutRequest::builder().set_item(Some(item.clone().into_attributes()));
                let put = put.build().expect("a put has an item");
                requests.push(WriteRequest::builder().put_request(put).build());
            }
            while !requests.is_empty() {
                let call = self.bench.engine.client().batch_write_item();
                let done = call.request_items(TABLE, requests.clone()).send().await;
                if let Ok(done) = done {
                    let mut rest = done.unprocessed_items.unwrap_or_default();
                    requests = rest.remove(TABLE).unwrap_or_default();
                }
                if !requests.is_empty() {
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            }
        }
    }
}

/// Measures neighbours. A row has the lags without the neighbour, beside it, and the ratios.
pub fn table(neighbours: &[Neighbour], scale: NeighbourScale, progress: &Progress) -> Table {
    progress.expect(neighbours.len());
    let columns = [
        "neighbour",
        "median without",
        "99th without",
        "median beside",
        "99th beside",
        "ratio of the medians",
        "ratio of the 99ths",
    ];
    let mut table = Table::new("neighbours", &columns);
    for neighbour in neighbours {
        let effect = measure(*neighbour, scale);
        table.push(effect.row(neighbour.name()));
        progress.done(&neighbour.argument());
    }
    table
}

impl NeighbourEffect {
    fn row(&self, name: &str) -> [Cell; 7] {
        let Self { without, beside } = self;
        [
            name.into(),
            millis(without.median),
            millis(without.high),
            millis(beside.median),
            millis(beside.high),
            ratio(beside.median, without.median),
            ratio(beside.high, without.high),
        ]
    }
}

fn millis(millis: u64) -> Cell {
    Cell::Text(format!("{} ms", Cell::Count(millis)))
}

fn ratio(beside: u64, without: u64) -> Cell {
    let ratio = beside as f64 / without.max(1) as f64;
    Cell::Measure((ratio * 10.0).round() / 10.0)
}

/// Measures the effect of a neighbour, in simulated time.
pub fn measure(neighbour: Neighbour, scale: NeighbourScale) -> NeighbourEffect {
    NeighbourEffect {
        without: simulate(quiet_lag(neighbour, scale, false)),
        beside: simulate(quiet_lag(neighbour, scale, true)),
    }
}

/// The lag of the quiet sources in a neighbour's table, without the neighbour or beside it.
async fn quiet_lag(neighbour: Neighbour, scale: NeighbourScale, is_there: bool) -> QuietLag {
    let options = Options { partitions: Some(neighbour.limits(scale)), ..Options::default() };
    let bench = Bench::at(NOON, 0, r#"{"min_shards":8}"#, definition(), options).await;
    let rate = neighbour.rate(scale);
    rate.follow_all(&bench).await;
    let fan_out_limit = FAN_OUT_LIMIT / u64::from(scale.fewer);
    let feeds = FeedSettings { fan_out_limit, ..FeedSettings::default() };
    let mut place = Neighbourhood { bench, scale, feeds, seconds: rate.seconds, end: Instant::now() };
    let functions = Functions::new(&place.bench, feeds);
    let pump = functions.pump(Destination::memory());
    let handle = pump.handle();
    let running = tokio::spawn(pump.run());
    neighbour.prepare(&place).await;
    handle.settled().await;

    let begun = place.now().get();
    place.end = Instant::now() + Duration::from_secs(rate.seconds.into());
    if neighbour.pause_seconds() > 0 {
        functions.pause(Duration::from_secs(neighbour.pause_seconds().into()));
    }
    let hostile = if is_there { Some(tokio::spawn(neighbour.run(place.clone()))) } else { None };
    rate.write_all(&place.bench).await;
    if let Some(hostile) = hostile {
        hostile.await.expect("a neighbour does not panic");
    }
    // Beside a record that always fails, the stream does not settle.
    drop(tokio::time::timeout(SETTLING, handle.settled()).await);
    let end = place.now().get();
    handle.stop();
    running.abort();

    let from = begun + u64::from(neighbour.skipped_seconds()) * 1_000;
    let lags = StreamTimes::of(&place.bench).quiet_lags(from, end);
    QuietLag { median: permille(&lags, 500), high: permille(&lags, 990) }
}
