//! Imports: events that already have ids. They can be written any number of times.

use std::collections::BTreeSet;

use lately_engine::Operation;
use lately_engine::fault::{Fault, Faults, Target, Throttle, When};
use lately_keys::{EventId, ShardCount, Topic, UnixMillis};
use lately_model::Event;
use lately_store::{ImportError, Store, TopicError, WriteError};

use crate::support::{
    TABLE, assert_directory_held, event, ids, post, query, store, stored, table, with_a_death_at_each_call,
    with_posts,
};

/// Two days before a test's world begins.
const BEGIN: &str = "2026-03-12T12:00:00.000Z";

fn count(shards: u16) -> ShardCount {
    ShardCount::new(shards).unwrap()
}

/// Events of 512 bytes as stored, a second apart, spread over some shards.
fn past(events: u64, shards: u16) -> Vec<Event> {
    let begin: UnixMillis = BEGIN.parse().unwrap();
    let event = |n: u64| {
        let tick = EventId::import(begin.saturating_add(n * 1000), 0.into(), n.into()).tick();
        let id = EventId::new(tick, count(shards).shard_at(tick), n);
        Event::of(event("note", Some(format!("\"{}\"", "x".repeat(400)))), id)
    };
    (0..events).map(event).collect()
}

/// The shards of the topic's buckets, newest first.
async fn shards(store: &Store, topic: &Topic) -> Vec<u16> {
    let view = store.op().topic(topic).view().await.unwrap();
    view.buckets.iter().map(|bucket| bucket.shards.get()).collect()
}

#[tokio::test(start_paused = true)]
async fn imported_events_keep_their_ids_and_cost_a_unit_each() {
    let (_, engine, store, topic) = with_posts("{}").await;
    let events = past(500, 4);
    let op = store.op();
    op.topic(&topic).import(count(4), events.clone()).await.unwrap();
    let cost = op.cost();
    // The directory costs two reads, of the entry and of the one before, and a write. The erasures cost a read.
    assert_eq!(
        (cost.of_write(), cost.of_read()),
        ("write_units=501.0, calls=24".to_owned(), "read_units=3.0, calls=24, items=0, rounds=0".to_owned(),)
    );
    assert_eq!(stored(&engine, &topic).await, ids(&events));
    let op = store.op();
    op.topic(&topic).import(count(4), events.clone()).await.unwrap();
    assert_eq!(op.cost().of_write(), "write_units=500.0, calls=20");
    let op = store.op();
    op.topic(&topic).import(count(4), events[..1].to_vec()).await.unwrap();
    assert_eq!(op.cost().of_write(), "write_units=1.0, calls=1", "the actor's feed gets no entry");
    let page = store.op().topic(&topic).latest(&query(200)).await.unwrap();
    let newest: Vec<_> = ids(&events).into_iter().rev().take(200).collect();
    assert_eq!(ids(&page.events), newest);
    assert_directory_held(&engine);
}

#[tokio::test(start_paused = true)]
async fn a_repeated_import_changes_nothing_and_makes_no_records() {
    let (_, engine, store, topic) =
        with_posts(r#"{"views":["actor","subject","type"],"retention_days":30}"#).await;
    store.op().topic(&topic).import(count(2), past(60, 2)).await.unwrap();
    let (before, records) = (table(&engine).await, engine.stream(TABLE).unwrap().all().len());
    store.op().topic(&topic).import(count(2), past(60, 2)).await.unwrap();
    assert_eq!(table(&engine).await, before);
    assert_eq!(engine.stream(TABLE).unwrap().all().len(), records);
}

#[tokio::test(start_paused = true)]
async fn a_bucket_gets_the_imports_shards_and_never_loses_any() {
    let (world, engine, live, topic) = with_posts(r#"{"fan_out":false}"#).await;
    let mut old = event("note", None);
    old.at = Some(past(1, 1)[0].at());
    // Another process, which remembers the earlier number of shards.
    let other = store(engine.client(), &world);
    for store in [&live, &other] {
        post(store, &topic, vec![old.clone()]).await;
    }
    assert_eq!(shards(&live, &topic).await, [1]);
    live.op().topic(&topic).import(count(4), past(50, 4)).await.unwrap();
    assert_eq!(shards(&live, &topic).await, [4]);
    other.op().topic(&topic).import(count(2), past(50, 2)).await.unwrap();
    assert_eq!(shards(&other, &topic).await, [4]);
    let page = other.op().topic(&topic).latest(&query(200)).await.unwrap();
    // Both imports have the same events. Most of them have another shard among four than among two.
    let imported: BTreeSet<_> = ids(&past(50, 4)).into_iter().chain(ids(&past(50, 2))).collect();
    assert!((80..100).contains(&imported.len()), "{}", imported.len());
    assert_eq!(page.events.len(), 2 + imported.len());
    assert_directory_held(&engine);
}

#[tokio::test(start_paused = true)]
async fn a_new_bucket_gets_the_larger_number_of_shards() {
    for (settings, expected) in [(r#"{"min_shards":1}"#, 4), (r#"{"min_shards":8}"#, 8)] {
        let (_, engine, store, topic) = with_posts(settings).await;
        store.op().topic(&topic).import(count(4), past(10, 4)).await.unwrap();
        assert_eq!(shards(&store, &topic).await, [expected]);
        assert_directory_held(&engine);
    }
}

#[tokio::test(start_paused = true)]
async fn a_batch_that_is_no_import_is_refused_whole() {
    let (world, engine, store, topic) = with_posts(r#"{"retention_days":3}"#).await;
    let at = |millis_ago: u64| {
        let id = EventId::import(world.now().saturating_sub(millis_ago), 0.into(), 7);
        Event::of(event("note", None), id)
    };
    let minute = 60_000;
    let old = 3 * 24 * 60 * minute;
    let refused = store.op().topic(&topic).import(count(1), vec![at(minute + 1), at(minute)]).await;
    assert!(matches!(refused, Err(ImportError::TooNew(places)) if places == [1]));
    let refused = store.op().topic(&topic).import(count(1), vec![at(old + 1), at(old - 1)]).await;
    assert!(matches!(refused, Err(ImportError::Write(WriteError::TooOld(places))) if places == [0]));
    let refused = store.op().topic(&topic).import(count(2), past(4, 4)).await;
    assert!(matches!(refused, Err(ImportError::Shard(_))));
    let unknown = "unknown".parse().unwrap();
    assert!(matches!(
        store.op().topic(&unknown).import(count(1), past(1, 1)).await,
        Err(ImportError::Write(WriteError::Topic(TopicError::NotFound(_))))
    ));
    assert!(stored(&engine, &topic).await.is_empty());
    store.op().topic(&topic).import(count(1), vec![at(minute + 1), at(old - 1)]).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn an_import_waits_for_a_hot_shard_and_doubles_none() {
    let (world, engine, calm, topic) = with_posts("{}").await;
    let hot = |operation| Target::operation(operation).partition("EVENTS#");
    let throttle = Fault::Throttle(Throttle::TableKeyRange);
    let faults = Faults::default()
        .rule(hot(Operation::BatchWriteItem), When::Always, Fault::Unprocessed(0.5))
        .rule(hot(Operation::PutItem), When::First(8), throttle);
    let client = engine.client_with(faults);
    store(client.client(), &world).op().topic(&topic).import(count(2), past(100, 2)).await.unwrap();
    assert!(client.injected().iter().any(|injected| injected.operation == Operation::PutItem));
    assert_eq!(stored(&engine, &topic).await, ids(&past(100, 2)));
    assert_eq!(shards(&calm, &topic).await, [2]);
}

#[test]
fn an_import_that_died_at_any_call_can_be_finished() {
    let settings = r#"{"views":["actor","subject","type"]}"#;
    let whole = lately_rig::simulate(async {
        let (_, engine, store, topic) = with_posts(settings).await;
        store.op().topic(&topic).import(count(2), past(60, 2)).await.unwrap();
        table(&engine).await
    });
    let calls = with_a_death_at_each_call(async |call, faults| {
        let (world, engine, next, topic) = with_posts(settings).await;
        let client = engine.client_with(faults);
        let dying = store(client.client(), &world);
        let done = client.run(dying.op().topic(&topic).import(count(2), past(60, 2))).await;
        next.op().topic(&topic).import(count(2), past(60, 2)).await.unwrap();
        assert_eq!(table(&engine).await, whole, "{call}");
        assert_directory_held(&engine);
        done.is_none()
    });
    assert!(calls >= 6, "{calls} calls");
}
