//! What writing and reading events costs, as DynamoDB would bill it: the README's table.
//!
//! `cargo bench -p lately-bench --bench prices`
//!
//! Prices are counted by the embedded engine, not timed, and placements come from a seed: the table is the same
//! on every machine. Tests of `lately-store` assert the same figures.

#![expect(clippy::print_stdout, reason = "the table is what this program is for")]

use std::sync::Mutex;
use std::time::Duration;

use lately_bench::DEFINITION;
use lately_engine::{Clock, Engine, Options};
use lately_keys::Topic;
use lately_model::{EventQuery, NewEvent, PageSize, TopicChange};
use lately_store::{Ambient, Cost, Store, Submission};

/// 2026-03-14T12:00:00Z.
const NOW: Duration = Duration::from_secs(1_773_489_600);
const PLACEMENTS: u64 = 100;
const TOPIC: &str = "posts";

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
    runtime.block_on(async {
        writes().await;
        reads().await;
    });
}

async fn writes() {
    println!("| write events of 512 bytes | write units | calls |");
    println!("| --- | --- | --- |");
    let by_type = r#"{"views":["actor","subject","type"]}"#;
    for (what, settings, events) in [
        ("one", "{}", 1),
        ("one, in a topic with the `type` view", by_type, 1),
        ("a batch of 25", "{}", 25),
        ("a batch of 500", "{}", 500),
    ] {
        let (store, topic) = topic(0, settings).await;
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
                let (store, topic) = topic(seed, &format!(r#"{{"min_shards":{shards}}}"#)).await;
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

async fn topic(seed: u64, settings: &str) -> (Store, Topic) {
    let engine =
        Engine::memory(&Options { clock: Clock::manual(NOW), ..Options::default() }).expect("an engine");
    engine.create_table(&DEFINITION, "lately").expect("a table");
    let world = Seeded(Mutex::new(fastrand::Rng::with_seed(seed)));
    let store = Store::new(engine.client(), "lately", world, Duration::from_secs(10));
    let topic = TOPIC.parse().expect("a topic");
    let change = TopicChange::parse(settings.as_bytes()).expect("settings");
    store.put_topic(&topic, &change).await.expect("a topic that is new");
    (store, topic)
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
