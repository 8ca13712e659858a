//! The price of reading the latest events of a topic and of a feed, in DynamoDB's units. The embedded engine counts it;
//! nothing is timed. The placement of events on shards comes from seeds.

use lately_model::{EventQuery, FeedQuery, NewEvent};
use lately_store::FeedSettings;

use crate::progress::Progress;
use crate::report::{Cell, Report, Table};
use crate::topic::{Behind, Bench, of_512_bytes, page_size};
use crate::writes::{tenths, units};
use lately_rig::simulate;

const PLACEMENTS: u64 = 100;
const LIMITS: [u16; 3] = [10, 50, 100];
const SHARDS: [u16; 5] = [1, 4, 8, 16, 64];
const PULLED: [usize; 3] = [0, 1, 5];

/// Measures the price of pages.
#[must_use]
pub fn report(progress: &Progress) -> Report {
    progress.expect(SHARDS.len() * LIMITS.len() + PULLED.len());
    let mut latest = Table::new("latest", &["latest events, mean of 100 placements", "10", "50", "100"]);
    for shards in SHARDS {
        let name = format!("{shards} shard{}", if shards == 1 { "" } else { "s" });
        let pages = LIMITS.map(|limit| {
            let page = self::latest(shards, limit);
            progress.done(&format!("the latest {limit} of {name}"));
            page
        });
        latest.push([name.as_str().into()].into_iter().chain(pages));
    }
    let mut feeds = Table::new("feeds", &["read a feed", "10", "50", "100", "calls"]);
    for pulled in PULLED {
        feeds.push(feed(pulled));
        progress.done(&format!("a feed with {pulled} pulled sources"));
    }
    Report { command: "cargo run -p bench --release -- reads".to_owned(), tables: vec![latest, feeds] }
}

/// The read units for the latest `limit` events of a bucket with `shards` shards. The directory is cached.
#[must_use]
pub fn latest(shards: u16, limit: u16) -> Cell {
    let halves: u64 = (0..PLACEMENTS)
        .map(|seed| {
            simulate(async {
                let settings = format!(r#"{{"fan_out":false,"min_shards":{shards}}}"#);
                let bench = Bench::new(seed, &settings).await;
                bench.fill(4 * usize::from(limit)).await;
                bench.latest(1).await;
                bench.latest(limit).await.read_units.halves
            })
        })
        .sum();
    tenths((halves * 5 + PLACEMENTS / 2) / PLACEMENTS)
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
