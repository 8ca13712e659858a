//! Topics: created once, changed without a lost update, listed; their events are kept for as long as the settings say.

use std::collections::BTreeSet;
use std::time::Duration;

use futures_util::future::join_all;
use lately_engine::fault::{Fault, Faults, Moment, Target};
use lately_engine::{Engine, Operation, Options};
use lately_keys::{CursorError, Topic};
use lately_model::{EventQuery, ListQuery, NewEvent, PageSize, TopicFault};
use lately_store::{GetEventError, LatestError, ListError, PutTopicError, Store, TopicError, WriteError};

use crate::support::{
    World, assert_directory_held, change, engine, event, ids, items, pass, query, seeds, store, stored,
    submission, topic,
};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

fn world() -> (World, Engine, Store) {
    let world = World::new(1);
    let engine = engine(&world, Options::default());
    let store = store(engine.client(), &world);
    (world, engine, store)
}

#[tokio::test(start_paused = true)]
async fn a_change_keeps_the_settings_that_it_does_not_name() {
    let (world, engine, store) = world();
    let posts = topic("posts");
    let (view, created) = store.op().topic(&posts).put(&change(r#"{"min_shards":2}"#)).await.unwrap();
    assert!(created && view.created_at == world.now() && view.buckets.is_empty());
    assert_eq!(view.settings, change(r#"{"min_shards":2}"#).create().unwrap());

    pass(DAY).await;
    let op = store.op();
    let (same, created) = op.topic(&posts).put(&change(r#"{"min_shards":2}"#)).await.unwrap();
    let cost = op.cost();
    assert!(!created && same == view);
    assert_eq!(cost.write_units.halves, 0, "a change that changes nothing is not written");

    let (changed, created) = store.op().topic(&posts).put(&change(r#"{"retention_days":7}"#)).await.unwrap();
    assert!(!created && changed.created_at == view.created_at);
    assert_eq!(changed.settings, change(r#"{"min_shards":2,"retention_days":7}"#).create().unwrap());
    // Another process reads the change.
    let other = crate::support::store(engine.client(), &world);
    assert_eq!(other.op().topic(&posts).view().await.unwrap(), changed);
}

#[tokio::test(start_paused = true)]
async fn an_invalid_change_is_refused_and_changes_nothing() {
    let (_, _, store) = world();
    let posts = topic("posts");
    let misfit = change(r#"{"min_shards":128}"#);
    assert!(matches!(
        store.op().topic(&posts).put(&misfit).await,
        Err(PutTopicError::Refused(TopicFault::Invalid(_)))
    ));
    assert!(matches!(store.op().topic(&posts).view().await, Err(TopicError::NotFound(_))));

    let before = store.op().topic(&posts).put(&change("{}")).await.unwrap().0;
    let hourly = change(r#"{"bucket":"hour"}"#);
    assert!(matches!(
        store.op().topic(&posts).put(&hourly).await,
        Err(PutTopicError::Refused(TopicFault::BucketIsFixed(_)))
    ));
    assert!(matches!(
        store.op().topic(&posts).put(&misfit).await,
        Err(PutTopicError::Refused(TopicFault::Invalid(_)))
    ));
    assert_eq!(store.op().topic(&posts).view().await.unwrap(), before);
}

#[tokio::test(start_paused = true)]
async fn every_operation_reports_an_unknown_topic() {
    let (world, _, store) = world();
    let nowhere = topic("nowhere");
    let write = store.op().write(submission(&nowhere, vec![event("note", None)])).await;
    assert!(matches!(write, Err(WriteError::Topic(TopicError::NotFound(_)))));
    assert!(matches!(
        store.op().topic(&nowhere).latest(&query(1)).await,
        Err(LatestError::Topic(TopicError::NotFound(_)))
    ));
    let id = lately_keys::EventId::first_of(world.now());
    assert!(matches!(
        store.op().topic(&nowhere).event(id).await,
        Err(GetEventError::Topic(TopicError::NotFound(_)))
    ));
}

#[tokio::test(start_paused = true)]
async fn only_one_of_concurrent_creations_creates_the_topic() {
    for seed in seeds(40) {
        let world = World::new(seed.0);
        let engine = engine(&world, Options::default());
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
        let (world, engine, _) = world();
        let lost = Faults::default().nth(1, Target::operation(Operation::PutItem), Fault::Timeout(moment));
        let client = engine.client_with(lost);
        let store = store(client.client(), &world);
        assert!(store.op().topic(&topic("posts")).put(&change("{}")).await.unwrap().1);
        assert!(!store.op().topic(&topic("posts")).put(&change("{}")).await.unwrap().1);
    }
}

#[tokio::test(start_paused = true)]
async fn topics_are_listed_by_name_page_by_page() {
    let (_, _, store) = world();
    let mut names: Vec<String> = (0..25).map(|number| format!("topic-{number}")).collect();
    for name in &names {
        store.op().topic(&topic(name)).put(&change("{}")).await.unwrap();
    }
    names.sort();
    for limit in [1, 7, 25, 200] {
        let mut listed = Vec::new();
        let mut cursor = None;
        loop {
            let limit = PageSize::new(limit).unwrap();
            let page = store.op().topics().list(&ListQuery { limit, cursor }).await.unwrap();
            assert!(page.topics.len() <= limit.get().into());
            listed.extend(page.topics.iter().map(|topic| topic.topic.to_string()));
            cursor = page.next;
            if cursor.is_none() {
                break;
            }
        }
        assert_eq!(listed, names);
    }
    let page = store.op().topic(&topic("topic-1")).latest(&query(1)).await.unwrap();
    let foreign = ListQuery { cursor: page.newer, ..ListQuery::default() };
    let refused = store.op().topics().list(&foreign).await;
    assert!(matches!(refused, Err(ListError::Cursor(CursorError::Foreign))));
}

#[tokio::test(start_paused = true)]
async fn a_change_is_seen_by_other_processes_within_two_seconds() {
    let (world, engine, here) = world();
    let there = store(engine.client(), &world);
    let posts = topic("posts");
    here.op().topic(&posts).put(&change(r#"{"retention_days":7}"#)).await.unwrap();
    let old =
        NewEvent { at: Some(world.now().saturating_sub(8 * 24 * 60 * 60 * 1000)), ..event("note", None) };
    let write = async || there.op().write(submission(&posts, vec![old.clone()])).await;
    assert!(matches!(write().await, Err(WriteError::TooOld { indices, .. }) if indices == [0]));
    here.op().topic(&posts).put(&change(r#"{"retention_days":null}"#)).await.unwrap();
    assert!(matches!(write().await, Err(WriteError::TooOld { indices: _, .. })));
    pass(Duration::from_secs(2)).await;
    write().await.unwrap();
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
    let (_, engine, store) = world();
    let posts = topic("posts");
    let settings = r#"{"retention_days":1,"bucket":"hour","views":["actor","subject","type"]}"#;
    store.op().topic(&posts).put(&change(settings)).await.unwrap();
    pass(Duration::from_millis(500)).await;
    let written = store.op().write(submission(&posts, vec![event("note", None)])).await.unwrap();
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
    store.op().topic(&posts).event(id).await.unwrap();
    pass(Duration::from_millis(1)).await;
    for query in &queries {
        assert_eq!(found(&store, &posts, query.clone()).await, 0, "{query:?}");
    }
    pass(Duration::from_millis(500)).await;
    assert!(matches!(store.op().topic(&posts).event(id).await, Err(GetEventError::NotFound(_))));
    assert_eq!(stored(&engine, &posts).await, [id], "TTL has not removed the event yet");
    assert_eq!(engine.expire(10).unwrap(), 2, "the event, and its entry in the actor's feed");
    assert!(stored(&engine, &posts).await.is_empty());
    assert_eq!(expiries(&engine, "TOPIC#").await.len(), 1, "the directory's entry stays for a month");
}

#[tokio::test(start_paused = true)]
async fn an_event_has_the_retention_that_its_topic_has_when_it_is_written() {
    let (world, engine, store) = world();
    let posts = topic("posts");
    store.op().topic(&posts).put(&change(r#"{"retention_days":1}"#)).await.unwrap();
    store.op().write(submission(&posts, vec![event("note", None)])).await.unwrap();
    let began = world.now();
    store.op().topic(&posts).put(&change(r#"{"retention_days":null}"#)).await.unwrap();
    store.op().write(submission(&posts, vec![event("note", None)])).await.unwrap();
    let expiries_of_events: BTreeSet<_> = expiries(&engine, "EVENTS#").await.into_iter().collect();
    assert_eq!(expiries_of_events, BTreeSet::from([None, Some(1_773_489_600 + 86_400)]));
    assert_eq!(expiries(&engine, "TOPIC#posts").await, [None], "the bucket's entry outlives its events");

    // A day later, a topic without a retention takes any event, and one with a short retention takes few.
    pass(DAY + Duration::from_secs(1)).await;
    let at = |at| submission(&posts, vec![NewEvent { at: Some(at), ..event("note", None) }]);
    store.op().write(at(began)).await.unwrap();
    store.op().topic(&posts).put(&change(r#"{"retention_days":1}"#)).await.unwrap();
    let refused = store.op().write(at(began)).await;
    assert!(matches!(refused, Err(WriteError::TooOld { indices, .. }) if indices == [0]));
}

#[tokio::test(start_paused = true)]
async fn concurrent_writers_keep_a_buckets_types_within_their_bound() {
    let (world, engine, first) = world();
    let posts = topic("posts");
    first.op().topic(&posts).put(&change(r#"{"views":["actor","subject","type"]}"#)).await.unwrap();
    // Each process knows the directory's entry with one type.
    let processes: Vec<_> = (0..6).map(|_| store(engine.client(), &world)).collect();
    for process in &processes {
        process.op().write(submission(&posts, vec![event("first", None)])).await.unwrap();
    }
    for (n, process) in processes.iter().enumerate() {
        let new = (0..60).map(|m| event(&format!("t{n}.{m}"), None)).collect();
        process.op().write(submission(&posts, new)).await.unwrap();
    }
    let listed =
        items(&engine).await.iter().filter_map(|item| Some(item.get("types")?.as_ss().unwrap().len())).max();
    assert!((100..=128).contains(&listed.unwrap()), "{listed:?} types are listed");
    pass(Duration::from_secs(2)).await;
    let of_type = EventQuery { event_type: Some("t5.59".parse().unwrap()), ..query(1) };
    assert_eq!(first.op().topic(&posts).latest(&of_type).await.unwrap().events.len(), 1);
    assert_directory_held(&engine);
}
