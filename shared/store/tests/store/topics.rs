//! Topics: created once, changed without a lost update, listed; their events are kept for as long as the settings say.

use std::collections::BTreeSet;
use std::time::Duration;

use futures_util::future::join_all;
use lately_engine::fault::{Fault, Faults, Moment, Target};
use lately_engine::{Engine, Operation};
use lately_keys::Topic;
use lately_model::{EventQuery, NewEvent};
use lately_store::{GetEventError, Store, WriteError};

use crate::support::{
    DAY, assert_directory_held, change, event, ids, items, pass, post, query, seeds, start, store, stored,
    submission, topic, with_posts,
};

#[tokio::test(start_paused = true)]
async fn a_change_that_changes_nothing_is_not_written() {
    let (_, _, store, posts) = with_posts(r#"{"min_shards":2}"#).await;
    let op = store.op();
    assert!(!op.topic(&posts).put(&change(r#"{"min_shards":2}"#)).await.unwrap().1);
    assert_eq!(op.cost().write_units.halves, 0);
}

#[tokio::test(start_paused = true)]
async fn only_one_of_concurrent_creations_creates_the_topic() {
    for seed in seeds(40) {
        let (world, engine, _) = start(seed.0);
        let posts = topic("posts");
        // The processes send the same settings, or settings that complete each other.
        let changes = match seed.0 % 2 {
            0 => ["{}"; 3],
            _ => [r#"{"retention_days":7}"#, r#"{"min_shards":4}"#, r#"{"max_shards":128}"#],
        };
        let create = async |process: usize| {
            let faults = Faults::seeded(seed.0 ^ (process as u64) << 32).interleaved(4);
            let client = engine.client_with(faults);
            let store = store(client.client(), &world);
            store.op().topic(&posts).put(&change(changes[process])).await.unwrap().1
        };
        let created = join_all((0..3).map(create)).await;
        assert_eq!(created.iter().filter(|created| **created).count(), 1);
        let view = store(engine.client(), &world).op().topic(&posts).view().await.unwrap();
        let all = match seed.0 % 2 {
            0 => "{}",
            _ => r#"{"retention_days":7,"min_shards":4,"max_shards":128}"#,
        };
        assert_eq!(view.settings, change(all).create().unwrap(), "no change is lost");
    }
}

#[tokio::test(start_paused = true)]
async fn a_creation_with_a_lost_response_is_a_creation() {
    for moment in [Moment::Before, Moment::After] {
        let (world, engine, _) = start(1);
        let lost = Faults::default().nth(1, Target::operation(Operation::PutItem), Fault::Timeout(moment));
        let client = engine.client_with(lost);
        let store = store(client.client(), &world);
        assert!(store.op().topic(&topic("posts")).put(&change("{}")).await.unwrap().1);
        assert!(!store.op().topic(&topic("posts")).put(&change("{}")).await.unwrap().1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_change_is_seen_by_other_processes_within_two_seconds() {
    let (world, engine, here) = start(1);
    let there = store(engine.client(), &world);
    let posts = topic("posts");
    here.op().topic(&posts).put(&change("{}")).await.unwrap();
    let old =
        NewEvent { at: Some(world.now().saturating_sub(8 * 24 * 60 * 60 * 1000)), ..event("note", None) };
    let write = async || there.op().topic(&posts).write(submission(vec![old.clone()])).await;
    write().await.unwrap();
    here.op().topic(&posts).put(&change(r#"{"retention_days":7}"#)).await.unwrap();
    write().await.unwrap();
    pass(Duration::from_secs(2)).await;
    assert!(matches!(write().await, Err(WriteError::TooOld(indices)) if indices == [0]));
}

/// The `expires_at` of the items whose partition key begins with a prefix, except for the settings of topics.
async fn expiries(engine: &Engine, prefix: &str) -> Vec<Option<u64>> {
    let items = items(engine).await;
    let items = items.iter().filter(|item| {
        item["pk"].as_s().unwrap().starts_with(prefix) && item["sk"].as_s().unwrap() != "CONFIG"
    });
    items.map(|item| Some(item.get("expires_at")?.as_n().unwrap().parse().unwrap())).collect()
}

async fn found(store: &Store, topic: &Topic, query: EventQuery) -> usize {
    store.op().topic(topic).latest(&query).await.unwrap().events.len()
}

#[tokio::test(start_paused = true)]
async fn an_event_past_its_retention_is_hidden_before_its_removal() {
    let settings = r#"{"retention_days":1,"bucket":"hour","views":["actor","subject","type"]}"#;
    let (_, engine, store, posts) = with_posts(settings).await;
    pass(Duration::from_millis(500)).await;
    let written = store.op().topic(&posts).write(submission(vec![event("note", None)])).await.unwrap();
    let id = ids(&written.events)[0];

    // The event: 12:00:00.5 and a day, rounded up. The directory's entry: the end of the hour, a day, and 30 days.
    assert_eq!(expiries(&engine, "EVENTS#").await, [Some(1_773_489_601 + 86_400)]);
    assert_eq!(expiries(&engine, "TOPIC#").await, [Some(1_773_489_600 + 3_599 + 86_400 + 30 * 86_400)]);

    let note = Some("note".parse().unwrap());
    let queries = [
        query(10),
        EventQuery { consistent: true, ..query(10) },
        EventQuery { event_type: note.clone(), ..query(10) },
        EventQuery { order: Some(lately_keys::Order::OldestFirst), event_type: note, ..query(10) },
    ];
    pass(DAY - Duration::from_millis(1)).await;
    for query in &queries {
        assert_eq!(found(&store, &posts, query.clone()).await, 1);
    }
    store.op().event(&posts, id).get().await.unwrap();
    pass(Duration::from_millis(1)).await;
    for query in &queries {
        assert_eq!(found(&store, &posts, query.clone()).await, 0, "{query:?}");
    }
    assert!(matches!(store.op().event(&posts, id).get().await, Err(GetEventError::NotFound(_))));
    assert_eq!(stored(&engine, &posts).await, [id], "TTL has not removed the event yet");
    pass(Duration::from_millis(500)).await;
    assert_eq!(engine.expire(10).unwrap(), 2, "the event, and its entry in the actor's feed");
    assert!(stored(&engine, &posts).await.is_empty());
    assert_eq!(expiries(&engine, "TOPIC#").await.len(), 1, "the directory's entry stays for a month");
}

#[tokio::test(start_paused = true)]
async fn an_event_has_the_retention_that_its_topic_has_when_it_is_written() {
    let (world, engine, store, posts) = with_posts(r#"{"retention_days":1}"#).await;
    post(&store, &posts, vec![event("note", None)]).await;
    let began = world.now();
    store.op().topic(&posts).put(&change(r#"{"retention_days":null}"#)).await.unwrap();
    post(&store, &posts, vec![event("note", None)]).await;
    let expiries_of_events: BTreeSet<_> = expiries(&engine, "EVENTS#").await.into_iter().collect();
    assert_eq!(expiries_of_events, BTreeSet::from([None, Some(1_773_489_600 + 86_400)]));
    assert_eq!(expiries(&engine, "TOPIC#posts").await, [None], "the bucket's entry outlives its events");

    // A day later, a topic without a retention takes any event, and one with a short retention takes few.
    pass(DAY + Duration::from_secs(1)).await;
    let at = |at| submission(vec![NewEvent { at: Some(at), ..event("note", None) }]);
    store.op().topic(&posts).write(at(began)).await.unwrap();
    store.op().topic(&posts).put(&change(r#"{"retention_days":1}"#)).await.unwrap();
    let refused = store.op().topic(&posts).write(at(began)).await;
    assert!(matches!(refused, Err(WriteError::TooOld(indices)) if indices == [0]));
}

#[tokio::test(start_paused = true)]
async fn concurrent_writers_keep_a_buckets_types_within_their_bound() {
    let (world, engine, first, posts) = with_posts(r#"{"views":["actor","subject","type"]}"#).await;
    // Each process knows the directory's entry with one type.
    let processes: Vec<_> = (0..6).map(|_| store(engine.client(), &world)).collect();
    for process in &processes {
        post(process, &posts, vec![event("first", None)]).await;
    }
    for (n, process) in processes.iter().enumerate() {
        let new = (0..60).map(|m| event(&format!("t{n}.{m}"), None)).collect();
        post(process, &posts, new).await;
    }
    let listed =
        items(&engine).await.iter().filter_map(|item| Some(item.get("types")?.as_ss().unwrap().len())).max();
    assert!((100..=128).contains(&listed.unwrap()), "{listed:?} types are listed");
    pass(Duration::from_secs(2)).await;
    for (name, expected) in [("t5.59", 1), ("never", 0)] {
        let of_type = EventQuery { event_type: Some(name.parse().unwrap()), ..query(1) };
        assert_eq!(first.op().topic(&posts).latest(&of_type).await.unwrap().events.len(), expected, "{name}");
    }
    assert_directory_held(&engine);
}
