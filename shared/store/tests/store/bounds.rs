//! Bounded reads: every read stops at a number of read units, or in time, and can be continued without a loss.

use std::collections::BTreeSet;
use std::time::Duration;

use aws_sdk_dynamodb::types::AttributeValue;
use lately_engine::fault::{Faults, Network};
use lately_engine::{Engine, Options};
use lately_items::{DirectoryKey, EventKey, LateEventKey};
use lately_keys::{Bucket, BucketWidth, EventId, Order, Shard, TableKey, Tick, UnixMillis};
use lately_model::{EventQuery, NewConsumer, NewEvent, PollRequest};
use lately_store::{Cost, FeedSettings, Store};
use tokio::time::Instant;

use crate::consumers::{Rig, SETTLED, nightly};
use crate::listed::{Listed, id, pull, put, source, user};
use crate::scene::Scene;
use crate::support::{
    BUDGET, Item, TABLE, World, change, engine, event, ids, pass, query, start, store, submission, topic,
    with_posts,
};

/// The read units of a request, and of one full query more, because the last query begins before the units are spent. A
/// poll also reads its checkpoint and looks ahead, for a few units.
const MOST_UNITS: u64 = 1_024 + 256 + 16;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

fn s(text: impl Into<String>) -> AttributeValue {
    AttributeValue::S(text.into())
}

fn keyed<const N: usize>(key: &impl TableKey, attributes: [(&str, AttributeValue); N]) -> Item {
    let key = key.encode();
    let all = attributes.into_iter().chain([("pk", s(key.pk)), ("sk", s(key.sk))]);
    all.map(|(name, value)| (name.to_owned(), value)).collect()
}

fn assert_bounded(cost: &Cost) {
    assert!(cost.read_units.halves <= 2 * MOST_UNITS, "{}", cost.of_read());
}

/// A topic with one day's events of 250 KB. Only the oldest event has the type `rare`. Returns its id.
async fn large_events(world: &World, engine: &Engine, count: u64) -> EventId {
    let store = store(engine.client(), world);
    store.op().topic(&topic("posts")).put(&change("{}")).await.unwrap();
    store.op().topic(&topic("posts")).write(submission(vec![event("note", None)])).await.unwrap();
    let id =
        |number| EventId::new(Tick::first_of(world.now().saturating_sub(5_000 + number)), Shard::from(0), 0);
    let data = format!("\"{}\"", "x".repeat(250_000));
    let large = (0..=count).map(|number| {
        let key = EventKey::new(topic("posts"), BucketWidth::Day, id(number));
        let event_type = if number == count { "rare" } else { "note" };
        keyed(&key, [("t", s(event_type)), ("a", s("ada")), ("d", s(data.clone()))])
    });
    for large in large {
        put(&engine.client(), [large]).await;
    }
    id(count)
}

#[tokio::test(start_paused = true)]
async fn a_search_among_large_events_bounds_each_pages_units() {
    let world = World::new(1);
    let engine = engine(&world, Options::default());
    let rare = large_events(&world, &engine, 40).await;
    let store = store(engine.client(), &world);
    for order in [Order::NewestFirst, Order::OldestFirst] {
        let mut query = EventQuery {
            event_type: Some("rare".parse().unwrap()),
            consistent: true,
            order: Some(order),
            ..query(50)
        };
        let mut found = Vec::new();
        loop {
            let op = store.op();
            let page = op.topic(&topic("posts")).latest(&query).await.unwrap();
            let cost = op.cost();
            assert_bounded(&cost);
            found.extend(ids(&page.events));
            query.cursor = page.next;
            if !page.has_more {
                break;
            }
        }
        assert_eq!(found, [rare]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_slow_search_ends_each_page_in_time() {
    let world = World::new(1);
    let engine = engine(&world, Options::default());
    let rare = large_events(&world, &engine, 40).await;
    // A call takes up to two seconds.
    let slow = Network { seed: 1, longest: Duration::from_secs(1), stall: None };
    let store = store(engine.client_with(Faults::default()).over(slow), &world);
    let mut query = EventQuery { event_type: Some("rare".parse().unwrap()), ..query(50) };
    let mut found = Vec::new();
    loop {
        let begun = Instant::now();
        let page = store.op().topic(&topic("posts")).latest(&query).await.unwrap();
        assert!(begun.elapsed() <= BUDGET, "{:?}", begun.elapsed());
        found.extend(ids(&page.events));
        query.cursor = page.next;
        if !page.has_more {
            break;
        }
    }
    assert_eq!(found, [rare]);
}

#[tokio::test(start_paused = true)]
async fn unread_is_exact_up_to_the_bound_of_a_request() {
    let (world, engine, store) = start(1);
    let bob = user("bob");
    // 250 KB each, so that few entries exceed the bound. Entries that the service writes have at most 1 KB.
    let listed =
        |number| Listed::new(id(world.now().saturating_sub(number), 0), "ada", None).of_bytes(250_000);
    for one in (0..40).map(listed) {
        put(&engine.client(), [one.in_feed(&bob), one.at_source(&source("actor:ada"))]).await;
    }
    let op = store.op();
    let unread = op.feed(&bob).unread().await.unwrap();
    let cost = op.cost();
    assert_bounded(&cost);
    assert!(unread.more && (32..40).contains(&unread.unread), "{unread:?}");
    store.op().feed(&bob).see(listed(20).id()).await.unwrap();
    let unread = store.op().feed(&bob).unread().await.unwrap();
    assert_eq!((unread.unread, unread.more), (20, false));

    // The same for events that are pulled.
    let eve = user("eve");
    put(&engine.client(), [pull(&eve, &source("actor:ada"), EventId::first_of(UnixMillis::MIN))]).await;
    let op = store.op();
    let unread = op.feed(&eve).unread().await.unwrap();
    let cost = op.cost();
    assert_bounded(&cost);
    assert!(unread.more && (32..40).contains(&unread.unread), "{unread:?}");
    store.op().feed(&eve).see(listed(20).id()).await.unwrap();
    assert_eq!(store.op().feed(&eve).unread().await.unwrap().unread, 20);
}

#[tokio::test(start_paused = true)]
async fn counting_unread_entries_ends_in_time() {
    let world = World::new(1);
    let engine = engine(&world, Options::default());
    let (bob, eve) = (user("bob"), user("eve"));
    let listed =
        |number| Listed::new(id(world.now().saturating_sub(number), 0), "ada", None).of_bytes(250_000);
    for one in (0..30).map(listed) {
        put(&engine.client(), [one.in_feed(&bob), one.at_source(&source("actor:ada"))]).await;
    }
    put(&engine.client(), [pull(&eve, &source("actor:ada"), EventId::first_of(UnixMillis::MIN))]).await;
    let slow = Network { seed: 1, longest: Duration::from_secs(2), stall: None };
    let store = store(engine.client_with(Faults::default()).over(slow), &world);
    for user in [bob, eve] {
        let begun = Instant::now();
        let unread = store.op().feed(&user).unread().await.unwrap();
        assert!(begun.elapsed() <= BUDGET + Duration::from_secs(2), "{:?}", begun.elapsed());
        assert!(unread.more && unread.unread > 0, "{unread:?}");
    }
}

/// A rig whose consumer has committed one event, and a poll request with the highest limit.
async fn polled() -> (Rig, PollRequest) {
    let mut rig = Rig::new().await;
    let body = NewConsumer::parse(br#"{"start":"earliest"}"#).unwrap();
    rig.store.op().consumer(&nightly()).put(&body).await.unwrap();
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
    for n in 0..40 {
        let at = Some(rig.world.now().saturating_sub(3_600_000 + n));
        let large = NewEvent { at, ..event("note", Some(format!("\"{}\"", "x".repeat(250_000)))) };
        late.extend(ids(&rig
            .store
            .op()
            .topic(&topic("billing"))
            .write(submission(vec![large]))
            .await
            .unwrap()
            .events));
        // Fan-out gets each record alone, because the records are large.
        rig.tell().await;
    }
    let mut given = BTreeSet::new();
    loop {
        let op = rig.store.op();
        let polled = op.consumer(&nightly()).poll(request).await.unwrap();
        let cost = op.cost();
        assert_bounded(&cost);
        let Some(batch) = polled.batch else { break };
        assert!(polled.late.len() <= 12);
        assert!(polled.late.iter().all(|event| given.insert(event.id)), "an event is given twice");
        rig.store.op().consumer(&nightly()).commit(batch).await.unwrap();
    }
    assert_eq!(given, late);
    assert!(rig.unsettled().await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_long_ledger_is_read_in_steps_without_a_loss() {
    let (mut rig, request) = polled().await;
    let mut late = BTreeSet::from([rig.write(Duration::from_secs(4 * 3_600)).await]);
    rig.tell().await;
    let (first, entry) = rig.ledger().await.pop_first().unwrap();
    let key = |id| LateEventKey { consumer: nightly(), id };
    // Settled entries stay in the ledger for a while. These are large, so that few of them exceed a poll's bound.
    let began = rig.world.now().saturating_sub(2 * 3_600_000).get();
    let settled = (began..).map(|at| id(UnixMillis::new(at).unwrap(), at));
    let settled = settled.filter(|id| key(*id).encode().pk == key(first).encode().pk);
    for id in settled.take(300) {
        let item =
            keyed(&key(id), [("incarnation", entry["incarnation"].clone()), ("by", s("x".repeat(40_000)))]);
        rig.engine.client().put_item().table_name(TABLE).set_item(Some(item)).send().await.unwrap();
    }

    let (mut given, mut empty) = (BTreeSet::new(), 0);
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
            // These events land in front of the place that the first poll has reached.
            late.extend(rig.write_many(64, Duration::from_secs(3 * 3_600)).await);
            rig.tell().await;
        }
    }
    assert_eq!(given, late);
    assert!(empty >= 2, "the ledger is too short for this test");
    assert!(rig.unsettled().await.is_empty());
    let op = rig.store.op();
    assert!(op.consumer(&nightly()).poll(request).await.unwrap().caught_up);
    assert!(op.cost().read_units.halves < 20, "{}", op.cost().of_read());
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
        let number = || AttributeValue::N("1".to_owned());
        entries.push(keyed(&key, [("base", number()), ("retention_days", number())]));
        bucket = bucket.previous().unwrap();
    }
    put(&engine.client(), entries).await;
    store.op().topic(&topic("billing")).write(submission(vec![event("note", None)])).await.unwrap();
    pass(Duration::from_secs(60)).await;
    store
}

#[tokio::test(start_paused = true)]
async fn no_read_visits_buckets_whose_events_are_over() {
    let world = World::new(1);
    let engine = engine(&world, Options::default());
    let store = old_topic(&world, &engine).await;
    for order in [Order::NewestFirst, Order::OldestFirst] {
        let query = EventQuery { order: Some(order), ..query(50) };
        let op = store.op();
        let page = op.topic(&topic("billing")).latest(&query).await.unwrap();
        let cost = op.cost();
        assert_eq!((page.events.len(), page.has_more), (1, false));
        assert!(cost.calls <= 3, "{}", cost.of_read());
    }
    let none = EventQuery {
        range: lately_model::TimeRange::new(None, Some(world.now().saturating_sub(3 * 86_400_000))).unwrap(),
        ..query(50)
    };
    let op = store.op();
    let page = op.topic(&topic("billing")).latest(&none).await.unwrap();
    let cost = op.cost();
    assert_eq!((page.events.len(), page.has_more, cost.calls), (0, false, 0));

    let mut range = store
        .op()
        .topic(&topic("billing"))
        .range(EventId::first_of(UnixMillis::MIN), EventId::last_of(world.now()))
        .await
        .unwrap();
    while range.next().await.unwrap().is_some() {}
    assert!(range.cost().calls <= 3, "{:?}", range.cost());
    let body = NewConsumer::parse(br#"{"start":"earliest"}"#).unwrap();
    store.op().consumer(&nightly()).put(&body).await.unwrap();
    let request = PollRequest::parse(b"{}").unwrap();
    let op = store.op();
    let polled = op.consumer(&nightly()).poll(request).await.unwrap();
    let cost = op.cost();
    assert_eq!((polled.events.len(), polled.caught_up), (1, true));
    assert!(cost.calls <= 8, "{cost:?}");
}

#[tokio::test(start_paused = true)]
async fn pages_in_both_orders_end_at_the_present_retention() {
    let mut scene = Scene::new(FeedSettings::default()).await;
    let posts = scene.posts.clone();
    let old = |scene: &Scene, days: u64| {
        let at = Some(scene.world.now().saturating_sub(days * 86_400_000 - 60_000));
        vec![NewEvent { at, ..event("note", None) }]
    };
    let set = async |scene: &mut Scene, retention: &str| {
        let change = change(&format!(r#"{{"retention_days":{retention}}}"#));
        scene.store.op().topic(&posts).put(&change).await.unwrap();
        scene.settle().await;
    };
    let shown = async |scene: &Scene| {
        pass(Duration::from_secs(6)).await;
        let all = scene.store.op().topic(&posts).latest(&query(50)).await.unwrap().events;
        let query = EventQuery { order: Some(Order::OldestFirst), ..query(50) };
        let mut ascending = ids(&scene.store.op().topic(&posts).latest(&query).await.unwrap().events);
        ascending.reverse();
        assert_eq!(ids(&all), ascending);
        all.len()
    };
    set(&mut scene, "1").await;
    scene.post(&posts, old(&scene, 1)).await;
    set(&mut scene, "30").await;
    scene.post(&posts, old(&scene, 30)).await;
    assert_eq!(shown(&scene).await, 2);
    set(&mut scene, "2").await;
    assert_eq!(shown(&scene).await, 1);
    set(&mut scene, "null").await;
    scene.post(&posts, old(&scene, 4_000)).await;
    assert_eq!(shown(&scene).await, 2);
    pass(40 * DAY).await;
    assert_eq!(shown(&scene).await, 2);
}

#[tokio::test(start_paused = true)]
async fn an_event_ends_on_pages_and_by_id_together() {
    let (world, _, store, posts) = with_posts(r#"{"retention_days":1}"#).await;
    pass(Duration::from_millis(400)).await;
    let written = store.op().topic(&posts).write(submission(vec![event("note", None)])).await.unwrap();
    let id = written.events[0].id;
    pass(DAY.checked_sub(Duration::from_millis(2)).unwrap()).await;
    let mut seen = Vec::new();
    for _ in 0..5 {
        let on_page = !store.op().topic(&posts).latest(&query(1)).await.unwrap().events.is_empty();
        let by_id = store.op().topic(&posts).event(id).await.is_ok();
        assert_eq!(on_page, by_id, "{}", world.now());
        seen.push(by_id);
        pass(Duration::from_millis(1)).await;
    }
    assert_eq!(seen, [true, true, false, false, false]);
}
