//! Short forms over the rig, for all tests of the store.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::AttributeValue;
use lately_engine::fault::{Fault, Faults, Moment, Target};
use lately_engine::{Engine, Options};
use lately_items::{BucketTypes, DirectoryEntry, DirectoryKey, EventKey};
use lately_keys::{EventId, Spread, TableKey, Topic};
use lately_model::{Event, EventQuery, NewEvent, PageSize, TopicChange};
pub(crate) use lately_rig::{BUDGET, TABLE, World, connection, engine, seeds};
use lately_store::{Store, Submission};

/// Runs a story whose process dies before its first call, then one whose process dies before its second call, until one
/// survives. So a process also dies after each call but the last: another story's process dies after that one. Two
/// threads share the calls. The story checks its end and returns whether its process died. Returns the number of calls.
pub(crate) fn with_a_death_at_each_call(story: impl AsyncFn(&str, Faults) -> bool + Sync) -> u64 {
    let dies = async |n: u64, moment: Moment| {
        let faults = Faults::default().nth(n, Target::any(), Fault::Crash(moment));
        story(&format!("call {n}, {moment:?}"), faults).await
    };
    let every_second = |first: u64| {
        lately_rig::simulate(async {
            let mut n = first;
            while dies(n, Moment::Before).await {
                n += 2;
            }
            n - 1
        })
    };
    let calls = std::thread::scope(|scope| {
        let even = scope.spawn(|| every_second(2));
        every_second(1).min(even.join().unwrap())
    });
    assert!(lately_rig::simulate(dies(calls, Moment::After)), "call {calls} is the last");
    calls
}

pub(crate) const MINUTE: Duration = Duration::from_secs(60);
pub(crate) const HOUR: Duration = Duration::from_secs(60 * 60);
pub(crate) const DAY: Duration = Duration::from_secs(24 * 60 * 60);

pub(crate) type Item = HashMap<String, AttributeValue>;

/// A world, an empty table, and a process that uses it.
pub(crate) fn start(seed: u64) -> (World, Engine, Store) {
    start_with(seed, Options::default())
}

pub(crate) fn start_with(seed: u64, options: Options) -> (World, Engine, Store) {
    let world = World::new(seed);
    let engine = engine(&world, options);
    let store = store(engine.client(), &world);
    (world, engine, store)
}

/// As [`start`], with the topic `posts`.
pub(crate) async fn with_posts(settings: &str) -> (World, Engine, Store, Topic) {
    let (world, engine, store) = start(1);
    let posts = topic("posts");
    store.op().topic(&posts).put(&change(settings)).await.unwrap();
    (world, engine, store, posts)
}

pub(crate) fn store(client: Client, world: &World) -> Store {
    Store::new(connection(client, world.clone()))
}

pub(crate) fn topic(name: &str) -> Topic {
    name.parse().unwrap()
}

pub(crate) fn change(json: &str) -> TopicChange {
    TopicChange::parse(json.as_bytes()).unwrap()
}

pub(crate) fn event(event_type: &str, data: Option<String>) -> NewEvent {
    NewEvent {
        event_type: event_type.parse().unwrap(),
        actor: "ada".parse().unwrap(),
        subject: None,
        data: data.map(|data| data.parse().unwrap()),
        at: None,
    }
}

pub(crate) fn submission(events: Vec<NewEvent>) -> Submission {
    Submission { may_import: true, ..Submission::new(events) }
}

/// Writes events. Returns their ids.
pub(crate) async fn post(store: &Store, topic: &Topic, events: Vec<NewEvent>) -> Vec<EventId> {
    ids(&store.op().topic(topic).write(submission(events)).await.unwrap().events)
}

pub(crate) fn query(limit: u16) -> EventQuery {
    EventQuery { limit: PageSize::new(limit).unwrap(), ..EventQuery::default() }
}

pub(crate) fn ids(events: &[Event]) -> Vec<EventId> {
    events.iter().map(|event| event.id).collect()
}

/// Reads page after page, each with the cursor that the page before it gave. Returns what all pages hold.
pub(crate) async fn pages<T>(
    mut page: impl AsyncFnMut(Option<String>) -> (Vec<T>, Option<String>),
) -> Vec<T> {
    let (mut all, mut cursor) = (Vec::new(), None);
    loop {
        let (found, next) = page(cursor).await;
        all.extend(found);
        if next.is_none() {
            return all;
        }
        cursor = next;
    }
}

/// Lets simulated time pass.
pub(crate) async fn pass(time: Duration) {
    tokio::time::sleep(time).await;
}

/// Every item of the table.
pub(crate) async fn items(engine: &Engine) -> Vec<Item> {
    let mut pages =
        engine.client().scan().table_name(TABLE).consistent_read(true).into_paginator().items().send();
    let mut items = Vec::new();
    while let Some(item) = pages.next().await {
        items.push(item.unwrap());
    }
    items
}

/// Every item of the table, by its key.
pub(crate) async fn table(engine: &Engine) -> BTreeMap<[String; 2], Item> {
    let key = |item: &Item| ["pk", "sk"].map(|name| item[name].as_s().unwrap().clone());
    items(engine).await.into_iter().map(|item| (key(&item), item)).collect()
}

/// Every event of a topic in the table, also events that no directory entry covers.
pub(crate) async fn stored(engine: &Engine, topic: &Topic) -> Vec<EventId> {
    let of_topic = |item: &Item| {
        let key = EventKey::decode(item["pk"].as_s().unwrap(), item["sk"].as_s().unwrap())?;
        (key.partition().topic == *topic).then(|| key.id())
    };
    let mut stored: Vec<_> = items(engine).await.iter().filter_map(of_topic).collect();
    stored.sort();
    stored
}

/// Events of which every second one lies in the first of two shards, and the others in the second. For a time of the
/// world that lies 256 to 511 ms after the beginning of a cycle.
pub(crate) fn in_two_shards(world: &World, events: impl IntoIterator<Item = NewEvent>) -> Vec<NewEvent> {
    let before = world.now().saturating_sub(256);
    let at = |n: usize| n.is_multiple_of(2).then_some(before);
    events.into_iter().enumerate().map(|(n, event)| NewEvent { at: at(n), ..event }).collect()
}

/// The directory entry of an item.
pub(crate) fn entry(item: &Item) -> DirectoryEntry {
    DirectoryEntry::decode(&lately_items::Item::from(item.clone())).unwrap()
}

/// D1: true if a directory's item covers an event's item.
fn covers(directory: &Item, id: EventId, event: &Item) -> bool {
    let DirectoryEntry { coverage, types, .. } = entry(directory);
    let is_listed = event.contains_key("gsi1pk");
    let event_type = event["t"].as_s().unwrap().parse().unwrap();
    coverage.covers(id) && is_listed == types.are_kept() && types.may_hold(&event_type)
}

/// D2: true if a directory's item equals an earlier state, or only adds to it.
fn has_grown(before: &Item, after: &Item) -> bool {
    let (old, new) = (entry(before), entry(after));
    let types = match (&old.types, &new.types) {
        (BucketTypes::Listed(old), BucketTypes::Listed(new)) => old.is_subset(new),
        (BucketTypes::Listed(_), BucketTypes::Any) => true,
        (old, new) => old == new,
    };
    let is_within = |spread: &Spread, held: &Spread| {
        held.shards == spread.shards && held.first <= spread.first && held.last >= spread.last
    };
    let is_held = |spread: &Spread| new.coverage.spreads().iter().any(|held| is_within(spread, held));
    let shards = old.coverage.base() == new.coverage.base() && old.coverage.spreads().iter().all(is_held);
    let stays = |name: &str| before.get(name) == after.get(name);
    types && shards && stays("retention_days") && stays("expires_at")
}

/// Asserts that the directory's invariants D1 and D2 (`ARCHITECTURE.md`) held after every single change of the table.
pub(crate) fn assert_directory_held(engine: &Engine) {
    let mut directory: BTreeMap<(String, String), Item> = BTreeMap::new();
    for record in engine.stream(TABLE).unwrap().all() {
        let Some(item) = record.new_image() else { continue };
        let (pk, sk) = (item["pk"].as_s().unwrap(), item["sk"].as_s().unwrap());
        if let Some(DirectoryKey { topic, bucket }) = DirectoryKey::decode(pk, sk) {
            let name = (topic.to_string(), bucket.to_string());
            if let Some(before) = directory.insert(name, item.clone()) {
                assert!(has_grown(&before, &item), "D2: the entry {before:?} became {item:?}");
            }
        } else if let Some(key) = EventKey::decode(pk, sk) {
            let partition = key.partition();
            let entry = directory.get(&(partition.topic.to_string(), partition.bucket.to_string()));
            let is_covered = entry.is_some_and(|entry| covers(entry, key.id(), &item));
            assert!(is_covered, "D1: the entry {entry:?} does not cover {item:?}");
        }
    }
}
