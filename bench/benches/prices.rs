//! What writing, reading and delivering events costs, as DynamoDB would bill it: the README's tables.
//!
//! `cargo bench -p lately-bench --bench prices`
//!
//! Prices are counted by the embedded engine, not timed, and placements come from a seed: the table is the same
//! on every machine. Tests of `lately-store` assert the same figures.

#![expect(clippy::print_stdout, reason = "the table is what this program is for")]

use std::sync::Mutex;
use std::time::Duration;

use lately_bench::DEFINITION;
use lately_engine::stream::{SequenceNumber, Stream};
use lately_engine::{Clock, Engine, Options};
use lately_keys::Topic;
use lately_model::{Backfill, EventQuery, FeedQuery, NewEvent, PageSize, TopicChange};
use lately_store::{Ambient, Cost, FanOutOutcome, FeedSettings, Record, Store, Submission};

/// 2026-03-14T12:00:00Z.
const NOW: Duration = Duration::from_secs(1_773_489_600);
const PLACEMENTS: u64 = 100;
const TOPIC: &str = "posts";

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
    runtime.block_on(async {
        writes().await;
        reads().await;
        deliveries().await;
        feeds().await;
    });
}

async fn writes() {
    println!("| write events of 512 bytes | write units | calls |");
    println!("| --- | --- | --- |");
    let by_type = r#"{"fan_out":false,"views":["actor","subject","type"]}"#;
    for (what, settings, events) in [
        ("one", QUIET, 1),
        ("one, in a topic with the `type` view", by_type, 1),
        ("one, in a topic that fans out: with its author's own feed", "{}", 1),
        ("a batch of 25", QUIET, 25),
        ("a batch of 500", QUIET, 500),
    ] {
        let (_, store, topic) = topic(0, settings).await;
        fill(&store, &topic, 1).await;
        let cost = fill(&store, &topic, events).await;
        println!("| {what} | {} | {} |", cost.write_units, cost.calls);
    }
    println!();
}

async fn reads() {
    println!("| read the latest, mean of {PLACEMENTS} placements | 10 | 50 | 100 |");
    println!("| --- | --- | --- | --- |");
    for shards in [1, 4, 8, 16, 64] {
        let mut row = String::new();
        for limit in [10, 50, 100] {
            let mut halves = 0;
            for seed in 0..PLACEMENTS {
                let (_, store, topic) =
                    topic(seed, &format!(r#"{{"fan_out":false,"min_shards":{shards}}}"#)).await;
                fill(&store, &topic, 4 * usize::from(limit)).await;
                latest(&store, &topic, 1).await;
                halves += latest(&store, &topic, limit).await.read_units.halves;
            }
            let tenths = (halves * 5 + PLACEMENTS / 2) / PLACEMENTS;
            row.push_str(&format!(" {}.{} |", tenths / 10, tenths % 10));
        }
        println!("| {shards} shard{} |{row}", if shards == 1 { "" } else { "s" });
    }
}

/// What fan-out pays for one event of an actor with so many followers, all jobs included.
async fn deliveries() {
    println!("\n| bring one event to so many feeds | write units | items a call | read units |");
    println!("| --- | --- | --- | --- |");
    for followers in [1, 10, 100, 1_000, 10_000] {
        let (engine, store, topic) = topic(0, "{}").await;
        for number in 0..followers {
            follow(&store, &format!("user-{number}"), "actor:ada").await;
        }
        let mut stream = Behind::new(&engine);
        stream.settle(&store).await;
        fill(&store, &topic, 1).await;
        let done = stream.settle(&store).await;
        assert_eq!(done.deliveries, followers);
        let tenths = done.written_items * 10 / done.write_calls;
        let items = format!("{}.{}", tenths / 10, tenths % 10);
        println!("| {followers} | {} | {items} | {} |", done.cost.write_units, done.cost.read_units);
    }
}

/// What a page of a feed costs, with sources that were pushed and sources that are pulled.
async fn feeds() {
    println!("\n| read a feed | 10 | 50 | 100 | calls |");
    println!("| --- | --- | --- | --- | --- |");
    for pulled in [0, 1, 5] {
        let (engine, store, topic) = topic(0, "{}").await;
        // Who has one follower too many is pulled.
        let store = store.with_feeds(FeedSettings { fan_out_limit: 1, ..FeedSettings::default() });
        let mut stream = Behind::new(&engine);
        let pulled_sources = (0..pulled).map(|number| format!("actor:large-{number}"));
        for source in pulled_sources {
            follow(&store, "bob", &source).await;
            follow(&store, "carol", &source).await;
        }
        follow(&store, "bob", "actor:ada").await;
        stream.settle(&store).await;
        for number in 0..120 * (pulled + 1) {
            let actor = if number % (pulled + 1) == 0 {
                "ada".to_owned()
            } else {
                format!("large-{}", number % (pulled + 1) - 1)
            };
            let events = vec![NewEvent { actor: actor.parse().expect("an actor"), ..of_512_bytes() }];
            let submission =
                Submission { topic: topic.clone(), events, may_import: false, idempotency: None };
            store.write(submission).await.expect("an engine without faults");
        }
        stream.settle(&store).await;
        let (mut row, mut calls) = (String::new(), 0);
        for limit in [10, 50, 100] {
            let page = EventQuery { limit: PageSize::new(limit).expect("a page"), ..EventQuery::default() };
            let query = FeedQuery { page, wait_for: None };
            let bob = "bob".parse().expect("a user");
            // The first of a process learns what the feed pulls.
            store.feed(&bob, &query, None).await.expect("an engine without faults");
            let (page, cost) = store.feed(&bob, &query, None).await.expect("an engine without faults");
            assert_eq!(page.page.events.len(), usize::from(limit));
            row.push_str(&format!(" {} |", cost.read_units));
            calls = calls.max(cost.calls);
        }
        println!("| {pulled} pulled sources |{row} {calls} |");
    }
}

async fn follow(store: &Store, user: &str, source: &str) {
    let (user, source) = (user.parse().expect("a user"), source.parse().expect("a source"));
    store.follow(&user, &source, Backfill::default()).await.expect("an engine without faults");
}

/// The table's stream, and how far it was handled.
struct Behind {
    stream: Stream,
    positions: Vec<SequenceNumber>,
}

impl Behind {
    fn new(engine: &Engine) -> Self {
        let stream = engine.stream("lately").expect("the table has one");
        let positions = vec![SequenceNumber::START; stream.shards().into()];
        Self { stream, positions }
    }

    /// Handles all that has happened, and what follows from it. What that did, without what it followed from.
    async fn settle(&mut self, store: &Store) -> FanOutOutcome {
        let mut all = FanOutOutcome::default();
        loop {
            let mut quiet = true;
            for shard in 0..self.stream.shards() {
                let position = &mut self.positions[usize::from(shard)];
                let batch = self.stream.read(shard, *position, 100, u64::MAX);
                if batch.records.is_empty() {
                    continue;
                }
                (quiet, *position) = (false, batch.next);
                let event = self.stream.lambda_event(&batch.records);
                let records = Record::batch(event.as_bytes()).expect("a batch of the stream");
                let done = store.fan_out(&records, Duration::from_secs(60)).await;
                assert_eq!(done.failed, None);
                all.deliveries += done.deliveries;
                all.write_calls += done.write_calls;
                all.written_items += done.written_items;
                all.cost += done.cost;
            }
            if quiet {
                return all;
            }
        }
    }
}

/// Settings of a topic that does not fan out.
const QUIET: &str = r#"{"fan_out":false}"#;

async fn topic(seed: u64, settings: &str) -> (Engine, Store, Topic) {
    let engine =
        Engine::memory(&Options { clock: Clock::manual(NOW), ..Options::default() }).expect("an engine");
    engine.create_table(&DEFINITION, "lately").expect("a table");
    let world = Seeded(Mutex::new(fastrand::Rng::with_seed(seed)));
    let store = Store::new(engine.client(), "lately", world, Duration::from_secs(10));
    let topic = TOPIC.parse().expect("a topic");
    let change = TopicChange::parse(settings.as_bytes()).expect("settings");
    store.put_topic(&topic, &change).await.expect("a topic that is new");
    (engine, store, topic)
}

async fn fill(store: &Store, topic: &Topic, events: usize) -> Cost {
    let events = vec![of_512_bytes(); events];
    let submission = Submission { topic: topic.clone(), events, may_import: false, idempotency: None };
    store.write(submission).await.expect("an engine without faults").1
}

async fn latest(store: &Store, topic: &Topic, limit: u16) -> Cost {
    let query = EventQuery { limit: PageSize::new(limit).expect("a page"), ..EventQuery::default() };
    let (page, cost) = store.latest(topic, &query).await.expect("an engine without faults");
    assert_eq!(page.events.len(), usize::from(limit));
    cost
}

/// An event of 512 bytes as stored, in a shard of two digits.
fn of_512_bytes() -> NewEvent {
    let keys = "pk".len() + "EVENTS#posts#2026-03-14#SHARD63".len() + "sk".len() + 36;
    let rest = "tnote".len() + "aada".len() + "vasf".len() + "d\"\"".len();
    NewEvent {
        event_type: "note".parse().expect("a type"),
        actor: "ada".parse().expect("an actor"),
        subject: None,
        data: Some(format!("\"{}\"", "x".repeat(512 - keys - rest)).parse().expect("JSON")),
        at: None,
    }
}

/// A clock that stands still, and random numbers from a seed.
#[derive(Debug)]
struct Seeded(Mutex<fastrand::Rng>);

impl Ambient for Seeded {
    fn since_epoch(&self) -> Duration {
        NOW
    }

    fn monotonic(&self) -> Duration {
        Duration::ZERO
    }

    fn entropy(&self) -> u128 {
        self.0.lock().expect("no other thread").u128(..)
    }
}
