//! Faults, and crashes at any call: no acknowledged event is lost, and no event is written twice.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use futures_util::future::join_all;
use lately_engine::Engine;
use lately_engine::fault::{Fault, Faults, FaultyClient, Moment, Target, Throttle, When};
use lately_keys::{EventId, Topic};
use lately_model::NewEvent;
use lately_store::{Idempotency, Store, Submission, TopicError, WriteError, Written};

use crate::support::{
    HOUR, Item, MINUTE, World, assert_directory_held, change, event, ids, items, pass, query, seeds, start,
    store, stored, submission, topic, with_a_death_at_each_call,
};

const NOTES: &str = r#"{"bucket":"quarter-hour","min_shards":2,"views":["actor","subject","type"]}"#;

/// A world with one topic, `notes`.
async fn world(seed: u64) -> (World, Engine, Topic) {
    let (world, engine, store) = start(seed);
    let topic = topic("notes");
    store.op().topic(&topic).put(&change(NOTES)).await.unwrap();
    (world, engine, topic)
}

/// Events of three types, whose data are numbers from `first` on.
fn numbered(first: usize, count: usize) -> Vec<NewEvent> {
    let event_type = |number: usize| ["one", "two", "three"][number % 3];
    (first..first + count).map(|number| event(event_type(number), Some(number.to_string()))).collect()
}

pub(crate) fn keyed(key: &str, events: Vec<NewEvent>) -> Submission {
    let idempotency =
        Idempotency { caller: "user:ada".parse().unwrap(), key: key.parse().unwrap(), body_hash: [7; 32] };
    Submission { idempotency: Some(idempotency), ..submission(events) }
}

/// The numbers in the table, each with the number of its events.
async fn numbers(engine: &Engine, topic: &Topic) -> BTreeMap<usize, u32> {
    let ids = stored(engine, topic).await;
    let mut numbers = BTreeMap::new();
    // Entries of feeds, which name their topic, do not count.
    let is_event = |item: &&Item| item.contains_key("d") && !item.contains_key("o");
    for item in items(engine).await.iter().filter(is_event) {
        *numbers.entry(item["d"].as_s().unwrap().parse().unwrap()).or_default() += 1;
    }
    assert_eq!(numbers.values().sum::<u32>() as usize, ids.len());
    numbers
}

fn each_once(count: usize) -> BTreeMap<usize, u32> {
    (0..count).map(|number| (number, 1)).collect()
}

/// The events that a reader finds, newest first.
async fn read(store: &Store, topic: &Topic) -> Vec<EventId> {
    let page = store.op().topic(topic).latest(&query(200)).await.unwrap();
    assert!(!page.has_more);
    ids(&page.events)
}

/// Writes with a process that may die. Returns `None` if it died.
async fn write_and_die(
    engine: &Engine,
    world: &World,
    faults: Faults,
    topic: &Topic,
    what: Submission,
) -> Option<Written> {
    let client = engine.client_with(faults);
    let victim = store(client.client(), world);
    client.run(victim.op().topic(topic).write(what)).await.map(Result::unwrap)
}

#[test]
fn a_crash_at_any_call_leaves_a_consistent_table() {
    for count in [1, 60] {
        let calls = with_a_death_at_each_call(async |call, faults| {
            let (world, engine, topic) = world(1).await;
            let request = submission(numbered(0, count));
            let acknowledged = write_and_die(&engine, &world, faults, &topic, request).await;
            assert_directory_held(&engine);
            let there = numbers(&engine, &topic).await;
            assert!(there.values().all(|times| *times == 1), "{call}: {there:?}");
            // Each event in the table is found, acknowledged or not, because the directory covers it.
            let mut found = read(&store(engine.client(), &world), &topic).await;
            found.reverse();
            assert_eq!(found, stored(&engine, &topic).await, "{call}");
            let Some(written) = acknowledged else { return true };
            let mut written = ids(&written.events);
            written.sort();
            assert_eq!(written, found);
            false
        });
        // The calls: the topic; the erasures; the bucket's entry, the entry before and the creation of the entry; then the
        // event and the entry in the actor's feed, or the batches.
        assert_eq!(calls, if count == 1 { 7 } else { 8 });
    }
}

#[test]
fn a_retry_under_a_key_completes_a_crashed_request_once() {
    for count in [1, 60] {
        let calls = with_a_death_at_each_call(async |call, faults| {
            let (world, engine, topic) = world(1).await;
            let request = keyed("once", numbered(0, count));
            let first = write_and_die(&engine, &world, faults, &topic, request.clone()).await;
            let recorded = items(&engine).await.iter().any(|item| item.contains_key("ids"));
            let mut answers: Vec<_> = first.iter().map(|written| ids(&written.events)).collect();
            for (number, wait) in
                [Duration::ZERO, 11 * MINUTE, 23 * HOUR - 11 * MINUTE].into_iter().enumerate()
            {
                pass(wait).await;
                let written =
                    store(engine.client(), &world).op().topic(&topic).write(request.clone()).await.unwrap();
                assert_eq!(written.replayed, recorded || number > 0, "{call}");
                answers.push(ids(&written.events));
                assert_eq!(numbers(&engine, &topic).await, each_once(count), "{call}");
            }
            answers.dedup();
            assert_eq!(answers.len(), 1, "all responses are the same");
            answers[0].sort();
            assert_eq!(answers[0], stored(&engine, &topic).await);
            assert_directory_held(&engine);
            first.is_none()
        });
        assert_eq!(calls, if count == 1 { 9 } else { 10 }, "two calls more than without a key");
    }
}

#[tokio::test(start_paused = true)]
async fn a_key_is_free_again_after_a_day() {
    let (world, engine, topic) = world(1).await;
    let store = store(engine.client(), &world);
    let request = keyed("daily", numbered(0, 1));
    let mut other = request.clone();
    other.idempotency.as_mut().unwrap().body_hash = [8; 32];
    store.op().topic(&topic).write(request.clone()).await.unwrap();
    pass(24 * HOUR - Duration::from_secs(1)).await;
    assert!(matches!(store.op().topic(&topic).write(other.clone()).await, Err(WriteError::KeyReused)));
    assert!(store.op().topic(&topic).write(request.clone()).await.unwrap().replayed);
    pass(Duration::from_secs(1)).await;
    // TTL has not removed the record yet.
    assert!(!store.op().topic(&topic).write(other).await.unwrap().replayed);
    assert!(matches!(store.op().topic(&topic).write(request).await, Err(WriteError::KeyReused)));
    assert_eq!(numbers(&engine, &topic).await, BTreeMap::from([(0, 2)]));
}

#[tokio::test(start_paused = true)]
async fn a_retry_is_judged_by_the_time_of_its_first_request() {
    for finished in [true, false] {
        let (world, engine, topic) = world(1).await;
        let at = world.now().saturating_sub(30_000);
        let event = NewEvent { at: Some(at), ..numbered(0, 1).remove(0) };
        let request = Submission { may_import: false, ..keyed("late", vec![event.clone()]) };
        if finished {
            store(engine.client(), &world).op().topic(&topic).write(request.clone()).await.unwrap();
        } else {
            // The seventh call is the event's own put, so the request is recorded and the event is not written.
            let faults = Faults::default().nth(7, Target::any(), Fault::Crash(Moment::Before));
            let died = write_and_die(&engine, &world, faults, &topic, request.clone()).await;
            assert!(died.is_none() && numbers(&engine, &topic).await.is_empty());
        }
        pass(11 * MINUTE).await;
        let store = store(engine.client(), &world);
        let written = store.op().topic(&topic).write(request).await.unwrap();
        assert!(written.replayed);
        assert_eq!(written.events[0].at(), at);
        assert_eq!(numbers(&engine, &topic).await, each_once(1));
        // Under a new key, the same event is an import by now.
        let late = Submission { may_import: false, ..keyed("new", vec![event]) };
        assert!(
            matches!(store.op().topic(&topic).write(late).await, Err(WriteError::ImportNotAllowed(indices)) if indices == [0])
        );
    }
}

#[tokio::test(start_paused = true)]
async fn concurrent_requests_under_one_key_are_written_once() {
    for seed in seeds(6) {
        let (world, engine, topic) = world(seed.0).await;
        let clients: Vec<_> = (0..4)
            .map(|process| engine.client_with(Faults::seeded(seed.0 ^ process << 32).interleaved(4)))
            .collect();
        let write = async |client: &FaultyClient| {
            let store = store(client.client(), &world);
            store.op().topic(&topic).write(keyed("race", numbered(0, 30))).await.unwrap()
        };
        let answers = join_all(clients.iter().map(write)).await;
        assert_eq!(answers.iter().filter(|written| !written.replayed).count(), 1);
        let answers: BTreeSet<_> = answers.iter().map(|written| ids(&written.events)).collect();
        assert_eq!(answers.len(), 1);
        assert_eq!(numbers(&engine, &topic).await, each_once(30));
        assert_directory_held(&engine);
    }
}

/// Faults of every kind, each with this chance.
pub(crate) fn storm(seed: u64, chance: f64) -> Faults {
    let any = [
        Fault::Throttle(Throttle::TableKeyRange),
        Fault::Throttle(Throttle::Account),
        Fault::Timeout(Moment::Before),
        Fault::Timeout(Moment::After),
        Fault::InternalServerError,
        Fault::ServiceUnavailable,
        Fault::TransactionConflict,
    ];
    any.into_iter()
        .fold(Faults::seeded(seed), |faults, fault| faults.sometimes(chance, Target::any(), fault))
        .sometimes(0.5, Target::any(), Fault::Unprocessed(0.3))
}

#[tokio::test(start_paused = true)]
async fn under_random_faults_no_event_is_lost_or_written_twice() {
    for seed in seeds(9) {
        let (world, engine, topic) = world(seed.0).await;
        let chance = [0.02, 0.05, 0.1][usize::try_from(seed.0 % 3).unwrap()];
        let storm = |process: u64| storm(seed.0 ^ process << 32, chance).interleaved(2);
        let clients: Vec<_> = (0..2).map(|process| engine.client_with(storm(process))).collect();
        let stores: Vec<_> = clients.iter().map(|client| store(client.client(), &world)).collect();
        let write = async |writer: usize| {
            let store = &stores[writer % 2];
            let mut acknowledged = BTreeSet::new();
            for request in 0..3 {
                let first = (writer * 3 + request) * 40;
                let count = if request == 1 { 40 } else { 1 };
                let events = numbered(first, count);
                if request == 2 {
                    // With a key, a client repeats the request until it succeeds.
                    let request = keyed(&first.to_string(), events);
                    while store.op().topic(&topic).write(request.clone()).await.is_err() {}
                    acknowledged.extend(first..first + count);
                    continue;
                }
                match store.op().topic(&topic).write(submission(events)).await {
                    Ok(_) => acknowledged.extend(first..first + count),
                    Err(WriteError::Partly { accepted, .. }) => {
                        acknowledged.extend(accepted.iter().map(|(index, _)| first + index));
                    }
                    Err(WriteError::Table(_) | WriteError::Topic(TopicError::Table(_))) => {}
                    Err(error) => panic!("{error}"),
                }
            }
            acknowledged
        };
        let acknowledged: BTreeSet<_> = join_all((0..4).map(write)).await.into_iter().flatten().collect();
        let there = numbers(&engine, &topic).await;
        assert!(there.values().all(|times| *times == 1), "{there:?}");
        let there: BTreeSet<_> = there.into_keys().collect();
        assert!(acknowledged.is_subset(&there), "{acknowledged:?} {there:?}");
        assert_directory_held(&engine);
        let mut found = read(&store(engine.client(), &world), &topic).await;
        found.reverse();
        assert_eq!(found, stored(&engine, &topic).await);
    }
}

#[tokio::test(start_paused = true)]
async fn a_batch_without_a_known_write_is_unavailable() {
    let (world, engine, topic) = world(1).await;
    let (events, full) = (Target::writes().partition("EVENTS#"), Fault::Throttle(Throttle::OnDemandMaximum));
    let stuck = Faults::default().rule(events, When::Always, full);
    let stuck = store(engine.client_with(stuck).client(), &world);
    let began = world.now();
    let written = stuck.op().topic(&topic).write(submission(numbered(0, 30))).await;
    assert!(matches!(written, Err(WriteError::Table(_))), "{written:?}");
    assert!(numbers(&engine, &topic).await.is_empty());
    assert!(world.now().get() - began.get() <= 8_000, "the write gives up within its time");
}
