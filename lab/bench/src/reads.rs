//! The price of reading the latest events of a topic and of a feed, in DynamoDB's units. The embedded engine counts it;
//! nothing is timed. The topic is written at a steady rate, and read at many moments.

use std::time::Duration;

use lately_engine::{Options, PartitionLimits};
use lately_model::{EventQuery, FeedQuery, NewEvent};
use lately_store::FeedSettings;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::following::read_units_of_streams;
use crate::progress::Progress;
use crate::report::{Cell, Report, Table};
use crate::topic::{Behind, Bench, NOON, of_512_bytes, page_size};
use crate::writes::{tenths, units};
use lately_rig::{definition, simulate};

const LIMITS: [u16; 3] = [10, 50, 100];
const PULLED: [usize; 3] = [0, 1, 5];

/// The shards of a topic, and the events that it gets each second.
const TOPICS: [(u16, u32); 5] = [(1, 500), (4, 1_500), (16, 8_000), (64, 20_000), (256, 80_000)];

/// The events a minute of timelines that are followed live.
const STREAMED: [u32; 7] = [0, 1, 6, 15, 60, 600, 6_000];

/// The moments at which a steady topic is read.
const MOMENTS: usize = 40;

/// The time until a write has arrived.
const LANDING: Duration = Duration::from_millis(5);

/// The readers of the latest 50 events a second, of a topic with 64 shards and 20,000 events a second.
const READERS: [u32; 3] = [6_000, 30_000, 40_000];

/// The pages of a walk.
const WALK: usize = 20;

/// Measures the price of pages.
pub fn report(progress: &Progress) -> Report {
    progress.expect(TOPICS.len() + 1 + READERS.len() + PULLED.len() + 1);
    let mut latest = Table::new("latest", &["latest events", "10", "50", "100", "page 20 of 50", "rounds"]);
    let mut most = Table::new("most", &["the dearest of 40 pages", "10", "50", "100"]);
    for (shards, per_second) in TOPICS {
        let Steady { means, dearest, walked, rounds, .. } = steady(shards, per_second);
        let name = name(shards);
        let row = means.into_iter().chain([walked, rounds]);
        latest.push([name.as_str().into()].into_iter().chain(row));
        most.push([name.as_str().into()].into_iter().chain(dearest));
        progress.done(&format!("pages of {name}"));
    }
    let mut clocks = Table::new("clocks", &["the reader's clock", "50 of 64 shards", "newest event"]);
    for (name, offset) in
        [("right", 0), ("5 ms ahead", 5), ("5 ms behind", -5), ("500 ms ahead", 500), ("500 ms behind", -500)]
    {
        clocks.push([name.into()].into_iter().chain(misread(offset)));
    }
    progress.done("readers with other clocks");
    let columns = ["readers of 64 shards a second", "failed", "throttled", "read units of a page"];
    let mut readers = Table::new("readers", &columns);
    for a_second in READERS {
        readers.push(read_together(a_second));
        progress.done(&format!("{} readers a second", thousands(a_second)));
    }
    let mut feeds = Table::new("feeds", &["read a feed", "10", "50", "100", "calls"]);
    for pulled in PULLED {
        feeds.push(feed(pulled));
        progress.done(&format!("a feed with {pulled} pulled sources"));
    }
    let streams = streams();
    progress.done("live streams");
    Report {
        command: "cargo run -p bench --release -- reads".to_owned(),
        tables: vec![latest, most, clocks, readers, feeds, streams],
    }
}

/// The prices of live streams that share their reads with no other.
pub fn streams() -> Table {
    let columns = ["events a minute", "read units a second of a topic's stream", "of a feed's stream"];
    let mut table = Table::new("streams", &columns);
    for a_minute in STREAMED {
        table.push([u64::from(a_minute).into()].into_iter().chain(read_units_of_streams(a_minute)));
    }
    table
}

/// The row of a number of shards.
pub fn name(shards: u16) -> String {
    let per_second = TOPICS.iter().find(|topic| topic.0 == shards).map_or(0, |topic| topic.1);
    format!("{shards} shard{}, {} a second", if shards == 1 { "" } else { "s" }, thousands(per_second))
}

fn thousands(number: u32) -> String {
    if number < 1_000 { number.to_string() } else { format!("{},{:03}", number / 1_000, number % 1_000) }
}

/// The prices of a steady topic.
#[derive(Debug)]
pub struct Steady {
    /// The mean read units of the latest 10, 50 and 100 events.
    pub means: [Cell; 3],
    /// The mean read units of the latest 50 events, as the first page of a process.
    pub first: Cell,
    dearest: [Cell; 3],
    walked: Cell,
    rounds: Cell,
}

/// The read units of pages of a steady topic with `shards` shards. Except for `first`, the directory is cached.
pub fn steady(shards: u16, per_second: u32) -> Steady {
    simulate(async {
        let topic = SteadyTopic::new(shards, per_second).await;
        // Every shard holds events of an earlier cycle of slices, and the topic holds more than a page.
        topic.write_for(u32::max(520, 200_000 / per_second)).await;
        let mut halves = [const { Vec::new() }; 3];
        let (mut first, mut rounds) = (0, 0);
        for moment in 0..=MOMENTS {
            topic.write_for(7).await;
            tokio::time::sleep(LANDING).await;
            // The first page pays for the directory, and learns the topic's pace.
            topic.bench.latest(10).await;
            for (limit, halves) in LIMITS.into_iter().zip(&mut halves) {
                let cost = topic.bench.latest(limit).await;
                if moment > 0 {
                    halves.push(cost.read_units.halves);
                    rounds += cost.rounds;
                }
            }
            if moment > 0 {
                first += topic.bench.of_new_process().latest(50).await.read_units.halves;
            }
        }
        let walked = topic.walk().await;
        let means = halves.each_ref().map(|halves| mean(halves.iter().sum(), halves.len()));
        let dearest =
            halves.each_ref().map(|halves| tenths(halves.iter().max().map_or(0, |halves| halves * 5)));
        Steady {
            means,
            first: mean(first, MOMENTS),
            dearest,
            walked: mean(walked, WALK),
            rounds: mean(rounds * 2, LIMITS.len() * MOMENTS),
        }
    })
}

/// The mean of half units, in tenths.
fn mean(halves: u64, of: usize) -> Cell {
    let of = of as u64;
    tenths((halves * 5 + of / 2) / of)
}

/// The mean read units of the latest 50 events for a reader with another clock, and the age of the newest event that it
/// sees, in milliseconds.
fn misread(offset_millis: i64) -> Vec<Cell> {
    simulate(async {
        let topic = SteadyTopic::new(64, 20_000).await;
        let process = topic.bench.world.process();
        let offset = Duration::from_millis(offset_millis.unsigned_abs());
        let process = if offset_millis < 0 { process.behind(offset) } else { process.ahead(offset) };
        let reader = topic.bench.store_of(process);
        topic.write_for(1_100).await;
        let (mut halves, mut age) = (0, 0);
        for moment in 0..=MOMENTS {
            topic.write_for(7).await;
            tokio::time::sleep(LANDING).await;
            let query = EventQuery { limit: page_size(50), ..EventQuery::default() };
            reader.op().topic(&topic.bench.topic).latest(&query).await.expect("the engine injects no faults");
            let op = reader.op();
            let page =
                op.topic(&topic.bench.topic).latest(&query).await.expect("the engine injects no faults");
            if moment > 0 {
                halves += op.cost().read_units.halves;
                let now = topic.bench.store.now().get();
                age += now.saturating_sub(page.events.first().map_or(0, |event| event.at().get()));
            }
        }
        vec![mean(halves, MOMENTS), format!("{} ms old", age / MOMENTS as u64).into()]
    })
}

/// Readers of the latest 50 events for a second, while partitions serve no more than DynamoDB's.
fn read_together(a_second: u32) -> Vec<Cell> {
    simulate(async {
        let limits = Options { partitions: Some(PartitionLimits::default()), ..Options::default() };
        let topic = SteadyTopic::within(64, 20_000, limits).await;
        topic.write_for(1_100).await;
        let mut readers = JoinSet::new();
        for milli in 0..1_000 {
            topic.write_for(1).await;
            for _ in a_second * milli / 1_000..a_second * (milli + 1) / 1_000 {
                let bench = topic.bench.clone();
                readers.spawn(async move {
                    let (op, begun) = (bench.store.op(), Instant::now());
                    let query = EventQuery { limit: page_size(50), ..EventQuery::default() };
                    let page = op.topic(&bench.topic).latest(&query).await;
                    // Only the wait after a throttle takes simulated time.
                    (page.is_err(), begun.elapsed() > Duration::ZERO, op.cost().read_units.halves)
                });
            }
        }
        let (mut failed, mut throttled, mut halves) = (0, 0, 0);
        while let Some(read) = readers.join_next().await {
            let read = read.expect("a reader does not panic");
            failed += u64::from(read.0);
            throttled += u64::from(read.1);
            halves += read.2;
        }
        let readers = usize::try_from(a_second).expect("a count");
        vec![thousands(a_second).into(), failed.into(), throttled.into(), mean(halves, readers)]
    })
}

/// A topic that is written at a steady rate.
struct SteadyTopic {
    bench: Bench,
    per_second: u32,
}

impl SteadyTopic {
    async fn new(shards: u16, per_second: u32) -> Self {
        Self::within(shards, per_second, Options::default()).await
    }

    async fn within(shards: u16, per_second: u32, options: Options) -> Self {
        let settings = format!(r#"{{"fan_out":false,"min_shards":{shards},"max_shards":256}}"#);
        Self { bench: Bench::at(NOON, shards.into(), &settings, definition(), options).await, per_second }
    }

    /// Writes events one by one, at equal distances.
    async fn write_for(&self, millis: u32) {
        let apart = Duration::from_secs(1) / self.per_second;
        let mut at = Duration::ZERO;
        for milli in 1..=millis {
            let begun = Duration::from_millis(u64::from(milli) - 1);
            while at < Duration::from_millis(milli.into()) {
                self.bench.world.shift(at.saturating_sub(begun));
                self.bench.fill(1).await;
                at += apart;
            }
            self.bench.world.shift(Duration::ZERO);
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    /// The half units of the pages of a walk.
    async fn walk(&self) -> u64 {
        let mut query = EventQuery { limit: page_size(50), ..EventQuery::default() };
        let mut halves = 0;
        for _ in 0..WALK {
            let op = self.bench.store.op();
            let page =
                op.topic(&self.bench.topic).latest(&query).await.expect("the engine injects no faults");
            halves += op.cost().read_units.halves;
            query.cursor = page.next;
        }
        halves
    }
}

/// The read units and calls for pages of a feed with one pushed source and `pulled` pulled sources.
fn feed(pulled: usize) -> Vec<Cell> {
    simulate(async {
        let mut bench = Bench::new(0, "{}").await;
        // A source with more followers than this limit is pulled.
        let settings = FeedSettings { fan_out_limit: 1, ..FeedSettings::default() };
        bench.store = bench.store.with_feeds(settings);
        let mut stream = Behind::new(&bench.engine);
        for source in (0..pulled).map(|number| format!("actor:large-{number}")) {
            bench.follow("bob", &source).await;
            bench.follow("carol", &source).await;
        }
        bench.follow("bob", "actor:ada").await;
        stream.settle(&bench.store).await;
        for number in 0..120 * (pulled + 1) {
            let actor = match number % (pulled + 1) {
                0 => "ada".to_owned(),
                large => format!("large-{}", large - 1),
            };
            let actor = actor.parse().expect("an actor");
            bench.write(vec![NewEvent { actor, ..of_512_bytes() }]).await;
        }
        stream.settle(&bench.store).await;

        let bob = "bob".parse().expect("a user");
        let name = format!("{pulled} pulled source{}", if pulled == 1 { "" } else { "s" });
        let (mut row, mut calls) = (vec![name.into()], 0);
        for limit in LIMITS {
            let page = EventQuery { limit: page_size(limit), ..EventQuery::default() };
            let query = FeedQuery { page, wait_for: None };
            // The first read of a process finds out which sources the feed pulls.
            bench.store.op().feed(&bob).page(&query).await.expect("the engine injects no faults");
            let op = bench.store.op();
            let page = op.feed(&bob).page(&query).await.expect("the engine injects no faults");
            let cost = op.cost();
            assert_eq!(page.page.events.len(), usize::from(limit));
            row.push(units(cost.read_units));
            calls = calls.max(cost.calls);
        }
        row.push(calls.into());
        row
    })
}
