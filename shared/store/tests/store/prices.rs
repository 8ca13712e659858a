//! The prices of reads and writes, to the half unit, as the engine reports them. docs/api.md and docs/feeds.md promise
//! these prices.

use std::time::Duration;

use lately_keys::{Order, Topic};
use lately_model::{EventQuery, NewEvent, WaitSeconds};
use lately_store::{Cost, Store};

use crate::faults::keyed;
use crate::support::{change, event, pass, post, query, start, submission, topic, with_posts};

/// An event of 512 bytes as stored, in a shard with a number of two digits; of one byte less with one digit.
fn of_512_bytes(topic: &Topic) -> NewEvent {
    let key = "pk".len() + "EVENTS##2026-03-14#SHARD63".len() + topic.as_str().len() + "sk".len() + 36;
    let names = "t".len() + "note".len() + "a".len() + "ada".len() + "v".len() + "asfp".len() + "d".len();
    let quotes = 2;
    event("note", Some(format!("\"{}\"", "x".repeat(512 - key - names - quotes))))
}

async fn fill(store: &Store, topic: &Topic, events: usize) {
    let event = of_512_bytes(topic);
    for batch in vec![event; events].chunks(500) {
        post(store, topic, batch.to_vec()).await;
    }
}

async fn read(store: &Store, topic: &Topic, limit: u16) -> Cost {
    let op = store.op();
    let page = op.topic(topic).latest(&query(limit)).await.unwrap();
    assert_eq!(page.events.len(), usize::from(limit));
    op.cost()
}

#[tokio::test(start_paused = true)]
async fn one_write_is_one_call_and_one_unit_per_place() {
    let (_, _, store) = start(1);
    for (name, settings, cost) in [
        ("logs", r#"{"fan_out":false}"#, "write_units=1.0, calls=1"),
        ("types", r#"{"fan_out":false,"views":["type"]}"#, "write_units=2.0, calls=1"),
        // The actor's own feed is written too.
        ("posts", "{}", "write_units=2.0, calls=2"),
    ] {
        let topic = topic(name);
        store.op().topic(&topic).put(&change(settings)).await.unwrap();
        post(&store, &topic, vec![of_512_bytes(&topic)]).await;
        let op = store.op();
        op.topic(&topic).write(submission(vec![of_512_bytes(&topic)])).await.unwrap();
        assert_eq!(op.cost().of_write(), cost);
    }
}

#[tokio::test(start_paused = true)]
async fn only_requests_with_a_key_pay_for_it() {
    let (_, _, store, topic) = with_posts("{}").await;
    fill(&store, &topic, 1).await;
    // An event of 900 bytes of data costs one unit, also under a key, and so does its entry in the own feed.
    let event = event("note", Some(format!("\"{}\"", "x".repeat(898))));
    let plain = submission(vec![event.clone()]);
    // With a key, the request is also recorded and marked as done. A failed condition costs a unit that is not
    // reported.
    for (request, posted, deleted) in [
        (plain, "write_units=2.0, calls=2", "write_units=1.0, calls=1"),
        (keyed("k", vec![event]), "write_units=4.0, calls=4", "write_units=2.0, calls=3"),
    ] {
        let op = store.op();
        let written = op.topic(&topic).write(request).await.unwrap();
        assert_eq!(op.cost().of_write(), posted);
        let op = store.op();
        op.event(&topic, written.events[0].id).delete(None).await.unwrap();
        assert_eq!(op.cost().of_write(), deleted);
    }
}

#[tokio::test(start_paused = true)]
async fn a_batch_costs_a_call_for_25_events_and_a_key_its_record() {
    let (_, _, store, topic) = with_posts("{}").await;
    fill(&store, &topic, 1).await;
    let op = store.op();
    op.topic(&topic).write(submission(vec![of_512_bytes(&topic); 500])).await.unwrap();
    assert_eq!(op.cost().of_write(), "write_units=500.0, calls=20");
    // The record has 16 bytes for each event: the ids of 25 events fit into one unit, those of 500 need seven more.
    for (events, first) in [
        (1, "write_units=4.0, calls=4"),
        (25, "write_units=27.0, calls=3"),
        (500, "write_units=516.0, calls=22"),
    ] {
        let request = || keyed(&events.to_string(), vec![of_512_bytes(&topic); events]);
        // The retry's conditional put fails. DynamoDB bills it like the record's first put, and reports no units.
        for paid in [first, "write_units=0.0, calls=1"] {
            let op = store.op();
            op.topic(&topic).write(request()).await.unwrap();
            assert_eq!(op.cost().of_write(), paid, "{events} events");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn the_latest_page_of_a_quiet_topic_costs_its_bytes() {
    let (_, _, store, topic) = with_posts("{}").await;
    fill(&store, &topic, 1_000).await;
    for (limit, units) in [(10, "1.0"), (50, "3.5"), (100, "6.5")] {
        // The first page also reads the topic and the directory. For the next second, further pages do not.
        pass(Duration::from_millis(2_001)).await;
        let first = read(&store, &topic, limit).await;
        assert_eq!((first.calls, first.rounds), (3, 1));
        let cost = read(&store, &topic, limit).await;
        assert_eq!(cost.of_read(), format!("read_units={units}, calls=1, items={limit}, rounds=1"));
    }
}

#[tokio::test(start_paused = true)]
async fn a_poll_for_a_type_pays_once_for_the_events_of_other_types() {
    let (_, _, store, topic) = with_posts("{}").await;
    fill(&store, &topic, 400).await;
    pass(Duration::from_secs(20)).await;
    let rare = EventQuery {
        event_type: Some("rare".parse().unwrap()),
        order: Some(Order::OldestFirst),
        ..query(50)
    };
    let poll = async |cursor, wait| {
        let op = store.op();
        let wait = WaitSeconds::new(wait).unwrap();
        let page = op.topic(&topic).latest(&EventQuery { cursor, wait, ..rare.clone() }).await.unwrap();
        (page, op.cost().read_units.halves)
    };
    let (page, units) = poll(None, 0).await;
    assert!(page.events.is_empty() && !page.has_more && units > 50, "{units}");
    let (page, again) = poll(page.next, 0).await;
    assert!(again < 4, "{again}");
    // The looks of a page that waits do not pay again either.
    fill(&store, &topic, 400).await;
    pass(Duration::from_secs(20)).await;
    post(&store, &topic, vec![event("note", None)]).await;
    let (page, waited) = poll(page.next, 25).await;
    assert!(page.events.is_empty() && waited < units + 200, "{waited} instead of {units}");
    let read = store.op().topic(&topic).write(submission(vec![event("rare", None)])).await.unwrap();
    pass(Duration::from_secs(3)).await;
    let (page, _) = poll(page.next, 0).await;
    assert_eq!(page.events[0].id, read.events[0].id);
}

/// Writes events of 512 bytes for some milliseconds, at a steady pace.
async fn write_steadily(store: &Store, topic: &Topic, per_second: usize, millis: usize) {
    for n in 0..millis {
        pass(Duration::from_millis(1)).await;
        fill(store, topic, (n + 1) * per_second / 1_000 - n * per_second / 1_000).await;
    }
}

/// The mean prices of pages at many moments of a steady topic, in tenths of a read unit.
struct Steady {
    store: Store,
    topic: Topic,
    per_second: usize,
}

impl Steady {
    async fn new(shards: u16, per_second: usize) -> Self {
        let settings = format!(r#"{{"min_shards":{shards},"fan_out":false}}"#);
        let (_, _, store, topic) = with_posts(&settings).await;
        // Every shard holds events of the last cycle of slices.
        write_steadily(&store, &topic, per_second, 520).await;
        Self { store, topic, per_second }
    }

    async fn means<const N: usize>(&self, limits: [u16; N]) -> [u64; N] {
        const MOMENTS: u64 = 24;
        let mut halves = [0; N];
        for moment in 0..=MOMENTS {
            write_steadily(&self.store, &self.topic, self.per_second, 7).await;
            // The first page pays for the directory, and learns the topic's pace.
            read(&self.store, &self.topic, 10).await;
            for (halves, limit) in halves.iter_mut().zip(limits) {
                let cost = read(&self.store, &self.topic, limit).await;
                assert!(cost.rounds <= 3, "{} rounds", cost.rounds);
                *halves += if moment == 0 { 0 } else { cost.read_units.halves };
            }
        }
        halves.map(|halves| (halves * 5 + MOMENTS / 2) / MOMENTS)
    }

    /// The mean price of the first twenty pages of a walk.
    async fn walked(&self, limit: u16) -> u64 {
        let mut query = query(limit);
        let mut halves = 0;
        for _ in 0..20 {
            self.store.op().topic(&self.topic).latest(&query).await.unwrap();
            let op = self.store.op();
            query.cursor = op.topic(&self.topic).latest(&query).await.unwrap().next;
            halves += op.cost().read_units.halves;
        }
        halves * 5 / 20
    }
}

#[tokio::test(start_paused = true)]
async fn sharded_topics_cost_little_more_than_one_partition() {
    for (shards, per_second, most) in [(4, 2_000, [20, 46, 81]), (64, 10_000, [23, 55, 90])] {
        let steady = Steady::new(shards, per_second).await;
        let limits = [10, 50, 100];
        for ((limit, mean), most) in limits.into_iter().zip(steady.means(limits).await).zip(most) {
            assert!(mean <= most, "{limit} of {shards} shards: {mean} tenths of a unit");
        }
        let walked = steady.walked(50).await;
        assert!(walked <= 50, "pages of 50 of {shards} shards: {walked} tenths of a unit");
    }
}
