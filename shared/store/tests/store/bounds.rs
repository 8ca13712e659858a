//! Bounded reads: every read stops at a number of read units, or in time, and can be continued without a loss.

use std::collections::BTreeSet;
use std::time::Duration;

use lately_engine::Engine;
use lately_engine::fault::{Faults, Network};
use lately_items::{DirectoryKey, EventKey};
use lately_keys::{Bucket, BucketWidth, EventId, Order, Shard, Tick};
use lately_model::{EventQuery, NewConsumer, NewEvent, PollRequest, TimeRange};
use lately_store::{Cost, Store};
use tokio::time::Instant;

use crate::consumers::{Rig, SETTLED, nightly};
use crate::listed::{Listed, id, item, number, pull, put, source, text, user};
use crate::support::{
    BUDGET, HOUR, MINUTE, World, change, event, ids, pages, pass, post, query, start, store, topic,
};

/// The read units of a request, and of one full query more, because the last query begins before the units are spent. A
/// poll also reads its checkpoint and looks ahead, for a few units.
const MOST_UNITS: u64 = 1_024 + 256 + 16;

fn assert_bounded(cost: &Cost) {
    assert!(cost.read_units.halves <= 2 * MOST_UNITS, "{}", cost.of_read());
}

/// A topic with one day's events of 250 KB. Only the oldest event has the type `rare`. Returns its id.
async fn large_events(world: &World, engine: &Engine, count: u64) -> EventId {
    let store = store(engine.client(), world);
    store.op().topic(&topic("posts")).put(&change("{}")).await.unwrap();
    post(&store, &topic("posts"), vec![event("note", None)]).await;
    let id =
        |number| EventId::new(Tick::first_of(world.now().saturating_sub(5_000 + number)), Shard::from(0), 0);
    let data = format!("\"{}\"", "x".repeat(250_000));
    let large = (0..=count).map(|number| {
        let key = EventKey::new(topic("posts"), BucketWidth::Day, id(number));
        let event_type = if number == count { "rare" } else { "note" };
        item(&key, [("t", text(event_type)), ("a", text("ada")), ("d", text(data.clone()))])
    });
    for large in large {
        put(&engine.client(), [large]).await;
    }
    id(count)
}

#[tokio::test(start_paused = true)]
async fn a_search_among_large_events_bounds_each_pages_units_and_time() {
    let (world, engine, _) = start(1);
    let rare = large_events(&world, &engine, 40).await;
    // The calls of the second store take up to two seconds.
    let slow = Network { seed: 1, longest: Duration::from_secs(1), stall: None };
    let slow = store(engine.client_with(Faults::default()).over(slow), &world);
    let fast = store(engine.client(), &world);
    for (store, order) in
        [(&fast, Order::NewestFirst), (&fast, Order::OldestFirst), (&slow, Order::NewestFirst)]
    {
        let found = pages(async |cursor| {
            let event_type = Some("rare".parse().unwrap());
            let query = EventQuery { event_type, consistent: true, order: Some(order), cursor, ..query(50) };
            let (begun, op) = (Instant::now(), store.op());
            let page = op.topic(&topic("posts")).latest(&query).await.unwrap();
            assert_bounded(&op.cost());
            assert!(begun.elapsed() <= BUDGET, "{:?}", begun.elapsed());
            (ids(&page.events), page.next.filter(|_| page.has_more))
        });
        assert_eq!(found.await, [rare]);
    }
}

#[tokio::test(start_paused = true)]
async fn unread_is_exact_up_to_the_bound_of_a_request_and_ends_in_time() {
    let (world, engine, store) = start(1);
    let bob = user("bob");
    // 250 KB each, so that few entries exceed the bound. Entries that the service writes have at most 1 KB.
    let listed =
        |number| Listed::new(id(world.now().saturating_sub(number), 0), "ada", None).of_bytes(250_000);
    for one in (0..40).map(listed) {
        put(&engine.client(), [one.in_feed(&bob), one.at_source(&source("actor:ada"))]).await;
    }
    // The events are pushed to bob, and pulled by eve.
    let eve = user("eve");
    put(&engine.client(), [pull(&eve, &source("actor:ada"), EventId::MIN)]).await;
    let seen = listed(20).id();
    let slow = Network { seed: 1, longest: Duration::from_secs(2), stall: None };
    let slow = self::store(engine.client_with(Faults::default()).over(slow), &world);
    for user in [bob, eve] {
        let op = store.op();
        let unread = op.feed(&user).unread().await.unwrap();
        assert_bounded(&op.cost());
        assert!(unread.more && (32..40).contains(&unread.unread), "{unread:?}");
        let begun = Instant::now();
        let unread = slow.op().feed(&user).unread().await.unwrap();
        assert!(begun.elapsed() <= BUDGET + Duration::from_secs(2), "{:?}", begun.elapsed());
        assert!(unread.more && unread.unread > 0, "{unread:?}");
        store.op().feed(&user).see(seen).await.unwrap();
        let unread = store.op().feed(&user).unread().await.unwrap();
        assert_eq!((unread.unread, unread.more), (20, false));
    }
}

/// A rig whose consumer has committed one event, and a poll request with the highest limit.
async fn polled() -> (Rig, PollRequest) {
    let mut rig = Rig::consumed().await;
    let first = rig.write(Duration::ZERO).await;
    rig.tell().await;
    pass(SETTLED).await;
    let request = PollRequest::parse(br#"{"limit":1000}"#).unwrap();
    let polled = rig.store.op().consumer(&nightly()).poll(request).await.unwrap();
    assert_eq!(ids(&polled.events), [first]);
    rig.store.op().consumer(&nightly()).commit(polled.batch.unwrap()).await.unwrap();
    (rig, request)
}

#[tokio::test(start_paused = true)]
async fn a_poll_reads_no_more_late_events_than_it_gives() {
    let (mut rig, request) = polled().await;
    let mut late = BTreeSet::new();
    for n in 0..26 {
        let at = Some(rig.world.now().saturating_sub(3_600_000 + n));
        let large = NewEvent { at, ..event("note", Some(format!("\"{}\"", "x".repeat(250_000)))) };
        late.extend(post(&rig.store, &topic("billing"), vec![large]).await);
        // Fan-out gets each record alone, because the records are large.
        rig.tell().await;
    }
    let mut given = BTreeSet::new();
    loop {
        let op = rig.store.op();
        let polled = op.consumer(&nightly()).poll(request).await.unwrap();
        assert_bounded(&op.cost());
        let Some(batch) = polled.batch else { break };
        assert!(polled.late.len() <= 12);
        assert!(polled.late.iter().all(|event| given.insert(event.id)), "an event is given twice");
        rig.store.op().consumer(&nightly()).commit(batch).await.unwrap();
    }
    assert_eq!(given, late);
    assert!(rig.has_read_log().await);
}

#[tokio::test(start_paused = true)]
async fn a_long_log_is_read_in_steps_without_a_loss() {
    let (mut rig, request) = polled().await;
    // The items name events that lie ahead, which a poll passes over. They are as large as an item may be.
    let ahead = EventId::first_of(rig.world.now().saturating_add(3_600_000));
    let item: Vec<_> = (0..500).map(|n| EventId::new(ahead.tick(), 0.into(), n)).collect();
    rig.append(&vec![item; 1_300]).await;
    let mut late = BTreeSet::from([rig.write(Duration::from_secs(4 * 3_600)).await]);
    rig.tell().await;

    let mut given = BTreeSet::new();
    let mut empty = 0;
    loop {
        let op = rig.store.op();
        let view = op.consumer(&nightly()).view().await.unwrap();
        assert_bounded(&op.cost());
        let op = rig.store.op();
        let polled = op.consumer(&nightly()).poll(request).await.unwrap();
        assert_bounded(&op.cost());
        assert!(polled.late.iter().all(|event| given.insert(event.id)), "an event is given twice");
        if let Some(batch) = polled.batch {
            rig.store.op().consumer(&nightly()).commit(batch).await.unwrap();
        } else if polled.caught_up {
            assert!(!view.late_more);
            break;
        } else {
            assert!(empty > 0 || view.late_more && view.late == 0, "{view:?}");
            empty += 1;
        }
        if empty == 1 && late.len() == 1 {
            late.extend(rig.write_many(64, Duration::from_secs(3 * 3_600)).await);
            rig.tell().await;
        }
    }
    assert_eq!(given, late);
    assert!(empty >= 2, "the log is too short for this test");
    assert!(rig.has_read_log().await);
    let op = rig.store.op();
    assert!(op.consumer(&nightly()).poll(request).await.unwrap().caught_up);
    assert!(op.cost().read_units.halves < 20, "{}", op.cost().of_read());
}

#[tokio::test(start_paused = true)]
async fn late_events_and_new_events_share_each_batch() {
    let (mut rig, _) = polled().await;
    let late: BTreeSet<_> = rig.write_many(30, HOUR).await.into_iter().collect();
    let new: BTreeSet<_> = rig.write_many(30, Duration::ZERO).await.into_iter().collect();
    rig.tell().await;
    pass(SETTLED).await;
    let request = PollRequest::parse(br#"{"limit":10}"#).unwrap();
    let mut given = BTreeSet::new();
    for _ in 0..6 {
        let polled = rig.store.op().consumer(&nightly()).poll(request).await.unwrap();
        assert_eq!((polled.late.len(), polled.events.len()), (5, 5));
        given.extend(polled.late.iter().chain(&polled.events).map(|event| event.id));
        rig.store.op().consumer(&nightly()).commit(polled.batch.unwrap()).await.unwrap();
    }
    assert_eq!(given, late.union(&new).copied().collect());
}

/// A topic with an event of today. Its directory also lists 1,500 older buckets, whose events were kept for a day.
async fn old_topic(world: &World, engine: &Engine) -> Store {
    let store = store(engine.client(), world);
    let settings = r#"{"bucket":"quarter-hour","retention_days":1,"fan_out":false,"views":[]}"#;
    store.op().topic(&topic("billing")).put(&change(settings)).await.unwrap();
    let mut bucket = Bucket::containing(BucketWidth::QuarterHour, world.now().saturating_sub(2 * 86_400_000));
    let mut entries = Vec::new();
    for _ in 0..1_500 {
        let key = DirectoryKey { topic: topic("billing"), bucket };
        entries.push(item(&key, [("base", number(1)), ("retention_days", number(1))]));
        bucket = bucket.previous().unwrap();
    }
    put(&engine.client(), entries).await;
    post(&store, &topic("billing"), vec![event("note", None)]).await;
    pass(MINUTE).await;
    store
}

#[tokio::test(start_paused = true)]
async fn no_read_visits_buckets_whose_events_are_over() {
    let (world, engine, _) = start(1);
    let store = old_topic(&world, &engine).await;
    for order in [Order::NewestFirst, Order::OldestFirst] {
        let query = EventQuery { order: Some(order), ..query(50) };
        let op = store.op();
        let page = op.topic(&topic("billing")).latest(&query).await.unwrap();
        let cost = op.cost();
        assert_eq!((page.events.len(), page.has_more), (1, false));
        assert!(cost.calls <= 3, "{}", cost.of_read());
    }
    let range = TimeRange::new(None, Some(world.now().saturating_sub(3 * 86_400_000))).unwrap();
    let none = EventQuery { range, ..query(50) };
    let op = store.op();
    let page = op.topic(&topic("billing")).latest(&none).await.unwrap();
    assert_eq!((page.events.len(), page.has_more, op.cost().calls), (0, false, 0));

    let (from, to) = (EventId::MIN, EventId::last_of(world.now()));
    let mut range = store.op().topic(&topic("billing")).range(from, to).await.unwrap();
    while range.next().await.unwrap().is_some() {}
    assert!(range.cost().calls <= 3, "{:?}", range.cost());
    let body = NewConsumer::parse(br#"{"start":"earliest"}"#).unwrap();
    store.op().consumer(&nightly()).put(&body).await.unwrap();
    let op = store.op();
    let polled = op.consumer(&nightly()).poll(PollRequest::default()).await.unwrap();
    let cost = op.cost();
    assert_eq!((polled.events.len(), polled.caught_up), (1, true));
    assert!(cost.calls <= 8, "{cost:?}");
}
