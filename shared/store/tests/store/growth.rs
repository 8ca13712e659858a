//! Hot buckets get more shards by themselves, as many as they need, and no more than they may have.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use lately_engine::fault::{Fault, Faults, Target, Throttle, When};
use lately_engine::{Engine, Operation, Options, PartitionLimits};
use lately_items::DirectoryKey;
use lately_keys::{Coverage, TableKey, Topic};
use lately_store::Store;
use tokio::task::JoinSet;

use crate::support::{
    Item, MINUTE, World, assert_directory_held, change, entry, event, items, pass, post, query, seeds,
    start_with, store, submission, topic, with_posts,
};

/// The shards of a topic's buckets, newest first.
async fn shards(engine: &Engine, world: &World, topic: &Topic) -> Vec<u16> {
    let view = store(engine.client(), world).op().topic(topic).view().await.unwrap();
    view.buckets.iter().map(|bucket| bucket.shards.get()).collect()
}

async fn write(store: &Store, topic: &Topic) {
    post(store, topic, vec![event("note", None)]).await;
}

/// Throttles the first puts of events.
fn refused(puts: u64, why: Throttle) -> Faults {
    let puts_of_events = Target::operation(Operation::PutItem).partition("EVENTS#");
    Faults::default().rule(puts_of_events, When::First(puts), Fault::Throttle(why))
}

/// A topic that began with one shard, after some load.
struct Loaded {
    world: World,
    engine: Engine,
    store: Store,
    topic: Topic,
    /// For each second, the writes that were accepted.
    accepted: BTreeMap<u64, u32>,
    given_up: u32,
}

/// Sends writes to a topic whose partitions take `limit` writes a second: `at_once` at the same time, and then `a_second`
/// each second.
async fn load(limit: u32, at_once: u32, a_second: u32, seconds: u32) -> Loaded {
    let limits = PartitionLimits { write_units: limit, read_units: 3 * limit, ..PartitionLimits::default() };
    let options = Options { partitions: Some(limits), ..Options::default() };
    let ((world, engine, store), topic) = (start_with(1, options), topic("posts"));
    store.op().topic(&topic).put(&change(r#"{"fan_out":false}"#)).await.unwrap();
    let begun = world.now().get();
    let mut writers = JoinSet::new();
    let mut begin = |count: u32| {
        for _ in 0..count {
            let (store, topic) = (store.clone(), topic.clone());
            writers.spawn(async move {
                let written = store.op().topic(&topic).write(submission(vec![event("note", None)])).await;
                (written.is_ok(), (store.now().get() - begun) / 1000)
            });
        }
    };
    begin(at_once);
    for _ in 0..seconds * 50 {
        pass(Duration::from_millis(20)).await;
        begin(a_second / 50);
    }
    let (mut accepted, mut given_up) = (BTreeMap::new(), 0);
    while let Some(ended) = writers.join_next().await {
        match ended.unwrap() {
            (true, second) => *accepted.entry(second).or_default() += 1,
            (false, _) => given_up += 1,
        }
    }
    Loaded { world, engine, store, topic, accepted, given_up }
}

#[tokio::test(start_paused = true)]
async fn a_bucket_grows_to_the_load_that_it_gets() {
    // Five times as many writes as one partition takes. No write fails; throttled writes wait.
    let loaded = load(100, 0, 500, 3).await;
    assert!(loaded.accepted[&2] >= 400 && loaded.given_up == 0, "{:?}", loaded.accepted);
    let shards = shards(&loaded.engine, &loaded.world, &loaded.topic).await[0];
    assert!((8..=16).contains(&shards), "{shards} shards for the writes of five");
}

#[tokio::test(start_paused = true)]
async fn only_throttles_of_the_writes_key_range_double_shards() {
    let by_type = r#"{"views":["actor","subject","type"]}"#;
    let reasons = [
        ("{}", Throttle::TableKeyRange, 2),
        (by_type, Throttle::TableKeyRange, 2),
        // The view by type has as many shards as the bucket.
        (by_type, Throttle::IndexKeyRange("gsi1".to_owned()), 2),
        ("{}", Throttle::OnDemandMaximum, 1),
        ("{}", Throttle::Account, 1),
        ("{}", Throttle::Provisioned, 1),
    ];
    for (settings, why, expected) in reasons {
        let (world, engine, _, topic) = with_posts(settings).await;
        write(&store(engine.client_with(refused(3, why.clone())).client(), &world), &topic).await;
        assert_eq!(shards(&engine, &world, &topic).await, [expected], "{why:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_wide_bucket_grows_only_if_the_shard_that_refuses_has_taken_many_writes() {
    // DynamoDB gives the same reason if the whole table is short of capacity. Then no shard has taken many.
    for (written, expected) in [(0, 32), (400, 32), (600, 64)] {
        let (world, engine, plain, topic) = with_posts(r#"{"min_shards":32,"max_shards":256}"#).await;
        // Events of one moment are in one shard.
        for _ in 0..written / 200 {
            post(&plain, &topic, vec![event("note", None); 200]).await;
        }
        let throttled = engine.client_with(refused(3, Throttle::TableKeyRange));
        write(&store(throttled.client(), &world), &topic).await;
        assert_eq!(shards(&engine, &world, &topic).await, [expected], "{written} events");
    }
}

#[tokio::test(start_paused = true)]
async fn processes_that_are_throttled_together_double_once() {
    for seed in seeds(10) {
        let (world, engine, _, topic) = with_posts("{}").await;
        // Each process's second and third puts are refused. All processes know of one shard by then. No event is
        // refused three times, which would double the shards once more if the event was placed after the doubling.
        let clients = [0, 1, 2].map(|process| {
            let puts = || Target::operation(Operation::PutItem).partition("EVENTS#");
            let hot = || Fault::Throttle(Throttle::TableKeyRange);
            let faults = Faults::seeded(seed.0 ^ process << 32).interleaved(4);
            engine.client_with(faults.nth(2, puts(), hot()).nth(3, puts(), hot()))
        });
        let stores = clients.each_ref().map(|client| store(client.client(), &world));
        for store in &stores {
            write(store, &topic).await;
        }
        join_all(stores.iter().flat_map(|store| [write(store, &topic), write(store, &topic)])).await;
        assert_eq!(shards(&engine, &world, &topic).await, [2]);
        assert_directory_held(&engine);
    }
}

/// Grows a topic's newest bucket. For each doubling, writes are refused once each, until one of them lies in a shard of
/// the last doubling.
async fn grow(engine: &Engine, world: &World, topic: &Topic, doublings: u32) {
    write(&store(engine.client(), world), topic).await;
    for _ in 0..doublings {
        let before = shards(engine, world, topic).await[0];
        for _ in 0..64 {
            pass(Duration::from_millis(13)).await;
            let client = engine.client_with(refused(1, Throttle::TableKeyRange));
            write(&store(client.client(), world), topic).await;
            if shards(engine, world, topic).await[0] > before {
                break;
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_bucket_grows_to_its_topics_maximum_and_no_further() {
    let (world, engine, _, topic) = with_posts(r#"{"max_shards":4}"#).await;
    for expected in [2, 4, 4, 4] {
        grow(&engine, &world, &topic, 1).await;
        assert_eq!(shards(&engine, &world, &topic).await, [expected]);
    }
    assert_directory_held(&engine);
}

/// The coverage of the newest bucket.
async fn newest(engine: &Engine, world: &World, topic: &Topic) -> Arc<Coverage> {
    let bucket = store(engine.client(), world).op().topic(topic).view().await.unwrap().buckets[0].label;
    let key = DirectoryKey { topic: topic.clone(), bucket }.encode();
    let is_entry =
        |item: &Item| *item["pk"].as_s().unwrap() == key.pk && *item["sk"].as_s().unwrap() == key.sk;
    let found = items(engine).await.into_iter().find(is_entry).unwrap();
    entry(&found).coverage
}

#[tokio::test(start_paused = true)]
async fn a_quiet_topic_has_its_base_again_after_a_minute() {
    let (world, engine, _, topic) = with_posts(r#"{"fan_out":false}"#).await;
    grow(&engine, &world, &topic, 3).await;
    let now = || newest(&engine, &world, &topic);
    assert_eq!(now().await.shards_at(world.now()).get(), 8);
    let store = store(engine.client(), &world);
    for _ in 0..65 {
        pass(Duration::from_secs(1)).await;
        write(&store, &topic).await;
    }
    assert_eq!(now().await.shards_at(world.now()).get(), 1, "a write a second needs no spread");
    assert_eq!(shards(&engine, &world, &topic).await, [8], "the spreads stay in the entry");
    assert_directory_held(&engine);
}

#[tokio::test(start_paused = true)]
async fn a_busy_topic_keeps_the_shards_that_its_rate_needs() {
    // A topic grew to eight shards, and takes 1,200 writes a second since: two shards take as many.
    let (world, engine, _, topic) = with_posts(r#"{"fan_out":false}"#).await;
    grow(&engine, &world, &topic, 3).await;
    let until = newest(&engine, &world, &topic).await.spread_until(world.now()).unwrap();
    pass(Duration::from_millis(until.get() - world.now().get() - 9_000)).await;
    // Two processes look after the topic.
    let stores = [0, 1].map(|_| store(engine.client(), &world));
    let (mut events, mut calls, mut written, mut read) = (0, 0, 0, 0);
    for slot in 0..6 * 50 {
        pass(Duration::from_millis(20)).await;
        let op = stores[slot % 2].op();
        op.topic(&topic).write(submission(vec![event("note", None); 24])).await.unwrap();
        let cost = op.cost();
        events += 24;
        calls += cost.calls;
        written += cost.write_units.halves / 2;
        read += cost.read_units.halves / 2;
    }
    pass(Duration::from_secs(4)).await;
    let coverage = newest(&engine, &world, &topic).await;
    assert_eq!(coverage.shards_at(world.now()).get(), 2);
    assert!(coverage.spread_until(world.now()).unwrap() > until.saturating_add(50_000));
    // Looking after the spread costs little beside the writes. Each process reads the erasures every two seconds.
    let looking = (calls - events / 24, written - events, read);
    assert!(looking.0 <= 40 + 30 && looking.1 <= 4 && looking.2 <= events / 100, "{looking:?} of {events}");
    assert_directory_held(&engine);
}

#[tokio::test(start_paused = true)]
async fn a_new_bucket_begins_with_the_shards_of_the_end_of_the_last() {
    let settings = r#"{"bucket":"quarter-hour","min_shards":2,"max_shards":64}"#;
    let (world, engine, plain, topic) = with_posts(settings).await;
    // The bucket grows half a minute before its end.
    pass(Duration::from_secs(14 * 60 + 30)).await;
    grow(&engine, &world, &topic, 3).await;
    assert_eq!(shards(&engine, &world, &topic).await, [16]);
    pass(Duration::from_secs(31)).await;
    write(&plain, &topic).await;
    assert_eq!(shards(&engine, &world, &topic).await, [16, 16]);
    assert_eq!(newest(&engine, &world, &topic).await.shards_at(world.now()).get(), 16);
    pass(MINUTE).await;
    assert_eq!(newest(&engine, &world, &topic).await.shards_at(world.now()).get(), 2);
    // The end of this bucket is quiet, so the next one begins with its base.
    pass(Duration::from_secs(14 * 60)).await;
    write(&plain, &topic).await;
    assert_eq!(shards(&engine, &world, &topic).await, [2, 16, 16]);
    // If the topic's limits have changed since, a new bucket has as many shards as they allow.
    plain.op().topic(&topic).put(&change(r#"{"min_shards":32}"#)).await.unwrap();
    pass(Duration::from_secs(15 * 60)).await;
    write(&plain, &topic).await;
    plain.op().topic(&topic).put(&change(r#"{"min_shards":1,"max_shards":4}"#)).await.unwrap();
    pass(Duration::from_secs(15 * 60)).await;
    write(&plain, &topic).await;
    assert_eq!(shards(&engine, &world, &topic).await[..2], [4, 32]);
    assert_directory_held(&engine);
}

#[tokio::test(start_paused = true)]
async fn a_burst_is_paid_for_only_where_it_was() {
    let Loaded { world, engine, store, topic, .. } = load(25, 0, 500, 3).await;
    assert!(shards(&engine, &world, &topic).await[0] >= 8);
    for _ in 0..120 {
        pass(Duration::from_secs(1)).await;
        write(&store, &topic).await;
    }
    store.op().topic(&topic).latest(&query(1)).await.unwrap();
    let op = store.op();
    op.topic(&topic).latest(&query(50)).await.unwrap();
    // A small event; 50 of them take one or two units of 4 KB.
    assert_eq!(op.cost().of_read(), "read_units=1.0, calls=1, items=50, rounds=1");
    assert_directory_held(&engine);
}

#[tokio::test(start_paused = true)]
async fn throttled_bursts_do_not_grow_a_bucket_beyond_its_need() {
    // Here a partition takes 100 writes a second. A spread that is too wide costs readers little, for a minute.
    for (at_once, a_second, seconds, most) in [(200, 50, 3, 16), (200, 150, 3, 32), (100, 250, 4, 32)] {
        let loaded = load(100, at_once, a_second, seconds).await;
        let shards = shards(&loaded.engine, &loaded.world, &loaded.topic).await[0];
        assert!(
            shards <= most && loaded.given_up == 0,
            "{at_once} at once, {a_second} a second: {shards} shards, {} failed",
            loaded.given_up
        );
    }
}
