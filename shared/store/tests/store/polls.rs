//! Polls: a batch stays the same until it is committed, and events that land behind the position come as late.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use lately_engine::fault::{Fault, Faults, Moment, Target};
use lately_items::ConsumerKey;
use lately_keys::EventId;
use lately_model::{Event, NewConsumer, NewEvent, PollRequest, Polled, RunSpec, Seek, SettleSeconds};
use lately_store::limits::CONSUMERS;
use lately_store::{Begun, ConsumerError, Cost, RunError, Store};

use crate::consumers::{LEASE, Rig, SETTLED, nightly};
use crate::support::{HOUR, World, event, ids, pass, post, store, topic, with_a_death_at_each_call};

fn body(json: &str) -> NewConsumer {
    NewConsumer::parse(json.as_bytes()).unwrap()
}

fn limit(limit: u16) -> PollRequest {
    PollRequest::parse(format!(r#"{{"limit":{limit}}}"#).as_bytes()).unwrap()
}

async fn poll(store: &Store, request: PollRequest) -> Polled {
    store.op().consumer(&nightly()).poll(request).await.unwrap()
}

async fn commit(store: &Store, polled: &Polled) -> Cost {
    let op = store.op();
    op.consumer(&nightly()).commit(polled.batch.unwrap()).await.unwrap();
    op.cost()
}

/// Polls and commits until there is nothing more. Counts how often each event is given.
async fn drain(store: &Store, request: PollRequest, given: &mut BTreeMap<EventId, usize>) {
    loop {
        let polled = poll(store, request).await;
        for event in polled.events.iter().chain(&polled.late) {
            *given.entry(event.id).or_default() += 1;
        }
        if polled.batch.is_none() {
            assert!(polled.caught_up);
            return;
        }
        commit(store, &polled).await;
    }
}

#[tokio::test(start_paused = true)]
async fn late_events_come_with_a_batch_and_are_committed_with_it() {
    let mut rig = Rig::consumed().await;
    rig.write(Duration::ZERO).await;
    rig.tell().await;
    pass(SETTLED).await;
    commit(&rig.store, &poll(&rig.store, limit(10)).await).await;
    let mut late = rig.write_many(3, HOUR).await;
    late.sort();
    rig.store.op().event(&topic("billing"), late.remove(1)).delete(None).await.unwrap();
    let next = rig.write(Duration::ZERO).await;
    rig.tell().await;
    pass(SETTLED).await;
    assert_eq!(rig.store.op().consumer(&nightly()).view().await.unwrap().late, 3);
    // A deleted event takes a place in the batch, but is not given. Late events take at most half of a batch.
    let polled = poll(&rig.store, limit(4)).await;
    let given = (ids(&polled.late), ids(&polled.events));
    assert_eq!((given, polled.caught_up), ((vec![late[0]], vec![next]), false));
    commit(&rig.store, &polled).await;
    let polled = poll(&rig.store, limit(4)).await;
    assert_eq!((ids(&polled.late), ids(&polled.events), polled.caught_up), (vec![late[1]], vec![], true));
    commit(&rig.store, &polled).await;
    assert!(rig.has_read_log().await);
    assert_eq!(rig.store.op().consumer(&nightly()).view().await.unwrap().late, 0);
}

#[tokio::test(start_paused = true)]
async fn imports_ahead_of_the_position_come_once() {
    let mut rig = Rig::consumed().await;
    rig.write(Duration::ZERO).await;
    rig.tell().await;
    pass(SETTLED).await;
    let mut given = BTreeMap::new();
    drain(&rig.store, limit(40), &mut given).await;
    pass(HOUR).await;
    drain(&rig.store, limit(40), &mut given).await;
    let imported: BTreeSet<_> = rig.write_many(100, HOUR / 12).await.into_iter().collect();
    rig.tell().await;
    assert_eq!(rig.logged().await, imported);
    drain(&rig.store, limit(40), &mut given).await;
    assert!(imported.iter().all(|id| given[id] == 1), "{given:?}");
    assert!(rig.has_read_log().await);
}

#[tokio::test(start_paused = true)]
async fn a_batch_that_outgrew_a_page_is_cut_under_another_token() {
    let large = |ago: u64, world: &World| {
        let at = Some(world.now().saturating_sub(ago));
        NewEvent { at, ..event("note", Some(format!("\"{}\"", "x".repeat(250_000)))) }
    };
    let mut rig = Rig::consumed().await;
    let billing = topic("billing");
    let mut written = BTreeSet::new();
    for n in 0..2 {
        let batch: Vec<_> = (0..11).map(|m| large(1_000 * (11 * n + m), &rig.world)).collect();
        written.extend(post(&rig.store, &billing, batch).await);
    }
    pass(SETTLED).await;
    rig.tell().await;
    let first = poll(&rig.store, limit(100)).await;
    assert_eq!((first.events.len(), first.caught_up), (9, false));

    // Other events land between events that were given and not committed.
    let among = |event: &Event| rig.world.now().get() - event.at().get() - 1;
    let batch: Vec<_> = first.events[1..4].iter().map(|event| large(among(event), &rig.world)).collect();
    written.extend(post(&rig.store, &billing, batch).await);
    rig.tell().await;
    let again = poll(&rig.store, limit(100)).await;
    assert_eq!(again.events.len(), 9);
    assert!(again.batch != first.batch && again.events.last().unwrap().id < first.events.last().unwrap().id);
    let stale = rig.store.op().consumer(&nightly()).commit(first.batch.unwrap()).await;
    assert!(matches!(stale, Err(ConsumerError::StaleBatch)));
    assert_eq!(poll(&rig.store, limit(100)).await.batch, again.batch);

    let mut given = BTreeMap::new();
    drain(&rig.store, limit(100), &mut given).await;
    assert_eq!(given.into_keys().collect::<BTreeSet<_>>(), written);
}

#[tokio::test(start_paused = true)]
async fn a_consumer_keeps_the_start_of_its_creation() {
    for (start, wanted, lag) in [("earliest", 2, 3_601), ("latest", 0, 0), ("2026-03-14T12:00:00Z", 1, 1)] {
        let rig = Rig::new().await;
        rig.write(HOUR).await;
        rig.write(Duration::ZERO).await;
        pass(Duration::from_secs(1)).await;
        let new = body(&format!(r#"{{"start":"{start}","settle_seconds":0}}"#));
        let (view, created) = rig.store.op().consumer(&nightly()).put(&new).await.unwrap();
        assert!(created && view.position.is_none() == (start == "earliest"));
        assert_eq!(view.lag_seconds, lag);
        let (again, created) =
            rig.store.op().consumer(&nightly()).put(&body(r#"{"start":"earliest"}"#)).await.unwrap();
        assert_eq!((again, created), (view, false));
        pass(Duration::from_secs(1)).await;
        assert_eq!(poll(&rig.store, limit(10)).await.events.len(), wanted, "{start}");
    }
}

#[tokio::test(start_paused = true)]
async fn settle_seconds_keep_a_consumer_further_behind() {
    let rig = Rig::consumed().await;
    rig.write(Duration::ZERO).await;
    pass(SETTLED).await;
    rig.store.op().consumer(&nightly()).put(&body(r#"{"settle_seconds":60}"#)).await.unwrap();
    assert_eq!(poll(&rig.store, limit(10)).await.batch, None);
    let view = rig.store.op().consumer(&nightly()).view().await.unwrap();
    assert_eq!((view.settle_seconds, view.lag_seconds), (SettleSeconds::new(60).unwrap(), 11));
    pass(HOUR).await;
    assert_eq!(poll(&rig.store, limit(10)).await.events.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn events_that_land_behind_a_seek_are_late() {
    let mut rig = Rig::new().await;
    rig.store.op().consumer(&nightly()).put(&body("{}")).await.unwrap();
    pass(HOUR).await;
    rig.store.op().consumer(&nightly()).seek(Seek { to: "latest".parse().unwrap() }).await.unwrap();
    let late = rig.write(HOUR / 2).await;
    let never = rig.write(2 * HOUR).await;
    rig.tell().await;
    let given = ids(&poll(&rig.store, limit(10)).await.late);
    assert_eq!(given, [late], "the other event is older than the consumer's start");
    // A seek to the earliest event includes the older events.
    rig.store.op().consumer(&nightly()).seek(Seek { to: "earliest".parse().unwrap() }).await.unwrap();
    pass(SETTLED).await;
    let mut given = BTreeMap::new();
    drain(&rig.store, limit(10), &mut given).await;
    assert!(given.contains_key(&never) && given.contains_key(&late));
    let before_all = rig.write(100 * HOUR).await;
    rig.tell().await;
    assert_eq!(ids(&poll(&rig.store, limit(10)).await.late), [before_all]);
}

#[tokio::test(start_paused = true)]
async fn a_polled_consumer_cannot_report() {
    let rig = Rig::consumed().await;
    poll(&rig.store, limit(1)).await;
    let begun = rig.store.op().runs(&nightly()).begin(&RunSpec::default(), LEASE).await;
    assert!(matches!(begun, Err(RunError::HasPolls)));
    assert_eq!(rig.store.op().runs(&nightly()).resume(LEASE).await.unwrap(), Begun::Nothing);
}

/// Polls and commits with a store that meets the faults; once it has died, another store takes over. Returns the rig,
/// how often each event was given, the written events, and whether a fault occurred.
async fn story(faults: Faults) -> (Rig, BTreeMap<EventId, usize>, BTreeSet<EventId>, bool) {
    let mut rig = Rig::new().await;
    let victim = rig.engine.client_with(faults);
    let victims = store(victim.client(), &rig.world);
    let mut given = BTreeMap::new();
    let mut written: BTreeSet<_> = rig.write_many(5, Duration::ZERO).await.into_iter().collect();
    rig.tell().await;
    pass(SETTLED).await;
    let mut died = false;
    let all_of_it = async |store: &Store, given: &mut BTreeMap<EventId, usize>| {
        store.op().consumer(&nightly()).put(&body(r#"{"start":"earliest"}"#)).await.unwrap();
        drain(store, limit(3), given).await;
    };
    for round in 0..2 {
        if died || victim.run(all_of_it(&victims, &mut given)).await.is_none() {
            died = true;
            all_of_it(&rig.store, &mut given).await;
        }
        if round == 0 {
            written.extend(rig.write_many(4, HOUR).await);
            written.extend(rig.write_many(4, Duration::ZERO).await);
            rig.tell().await;
            pass(SETTLED).await;
        }
    }
    drain(&rig.store, limit(3), &mut given).await;
    (rig, given, written, !victim.injected().is_empty())
}

/// Runs the story with the faults, and checks its end. Returns whether a fault occurred.
async fn repeats_at_most_one_batch(call: &str, faults: Faults) -> bool {
    let (rig, given, written, hit) = story(faults).await;
    assert_eq!(given.keys().copied().collect::<BTreeSet<_>>(), written, "{call}");
    // Only a batch that was given and not committed is given again.
    let again = given.values().filter(|times| **times == 2).count();
    assert!(again <= 3 && given.values().all(|times| *times <= 2), "{call}: {given:?}");
    assert!(rig.has_read_log().await);
    hit
}

#[test]
fn a_death_at_any_call_repeats_at_most_one_batch() {
    let calls = with_a_death_at_each_call(repeats_at_most_one_batch);
    assert!(calls > 40, "{calls} calls");
}

#[tokio::test(start_paused = true)]
async fn a_lost_response_of_any_write_repeats_at_most_one_batch() {
    let lost = Fault::Timeout(Moment::After);
    let faults = |n| Faults::default().nth(n, Target::writes(), lost.clone());
    let mut n = 1;
    while repeats_at_most_one_batch(&format!("write {n}"), faults(n)).await {
        n += 1;
    }
    assert!(n > 12, "{n} writes");
}

#[tokio::test(start_paused = true)]
async fn the_number_of_a_topics_consumers_is_limited() {
    let rig = Rig::new().await;
    let named = |n: usize| ConsumerKey { name: format!("c{n}").parse().unwrap(), ..nightly() };
    for n in 0..CONSUMERS {
        rig.store.op().consumer(&named(n)).put(&body("{}")).await.unwrap();
    }
    let refused = rig.store.op().consumer(&named(CONSUMERS)).put(&body("{}")).await;
    assert!(matches!(refused, Err(ConsumerError::TooManyConsumers)), "{refused:?}");
    let (_, created) =
        rig.store.op().consumer(&named(0)).put(&body(r#"{"settle_seconds":7}"#)).await.unwrap();
    assert!(!created, "an existing consumer is changed");
    rig.store.op().consumer(&named(0)).delete().await.unwrap();
    assert!(rig.store.op().consumer(&named(CONSUMERS)).put(&body("{}")).await.unwrap().1);
}
