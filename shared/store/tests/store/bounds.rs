//! Bounded reads: every read stops at a number of read units, or in time, and can be continued without a loss.

use std::collections::BTreeSet;
use std::time::Duration;

use lately_engine::Engine;
use lately_engine::fault::{Faults, Network};
use lately_items::{DirectoryKey, EventKey};
use lately_keys::{Bucket, BucketWidth, EventId, Order, Shard, Tick};
use lately_model::{
    EventQuery, FeedQuery, NewConsumer, NewEvent, PollRequest, SourceQuery, TimeRange, Unread,
};
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

/// A topic with one day's events of a size. Only the oldest event has the type `rare`. Returns its id.
async fn events_of(world: &World, engine: &Engine, count: u64, bytes: usize) -> EventId {
    let store = store(engine.client(), world);
    store.op().topic(&topic("posts")).put(&change("{}")).await.unwrap();
    post(&store, &topic("posts"), vec![event("note", None)]).await;
    let id =
        |number| EventId::new(Tick::first_of(world.now().saturating_sub(5_000 + number)), Shard::from(0), 0);
    let data = format!("\"{}\"", "x".repeat(bytes));
    let events = (0..=count).map(|number| {
        let key = EventKey::new(topic("posts"), BucketWidth::Day, id(number));
        let event_type = if number == count { "rare" } else { "note" };
        item(&key, [("t", text(event_type)), ("a", text("ada")), ("d", text(data.clone()))])
    });
    for event in events {
        put(&engine.client(), [event]).await;
    }
    id(count)
}

#[tokio::test(start_paused = true)]
async fn a_search_among_large_events_bounds_each_pages_units_and_time() {
    let (world, engine, _) = start(1);
    let rare = events_of(&world, &engine, 40, 250_000).await;
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

/// The read units of a count. The last round fits into them, because entries have at most 1 KB. Only the marks of a feed
/// and the items of sources may add a part of a unit each.
const COUNT_UNITS: u64 = 64;

/// Entries of 0.9 KB in bob's feed, or of 50 in each of the sources that bob pulls, and the count of the unread ones.
async fn count(pushed: u64, pulls: u64, of_each: u64) -> (Unread, Cost) {
    let (world, engine, store) = start(1);
    let bob = user("bob");
    let client = engine.client();
    // The second number tells pushed events from pulled ones of the same time.
    let listed = |number: u64, actor: &str, kind: u64| {
        Listed::new(id(world.now().saturating_sub(10_000 + number), kind), actor, None).of_bytes(800)
    };
    let entries = (0..pushed).map(|number| listed(number, "ada", 0).in_feed(&bob));
    put(&client, entries).await;
    for pulled in 0..pulls {
        let actor = format!("star-{pulled}");
        put(&client, [pull(&bob, &source(&format!("actor:{actor}")), EventId::MIN)]).await;
        let listed: Vec<_> = (0..of_each).map(|number| listed(number * pulls + pulled, &actor, 1)).collect();
        put(&client, listed.iter().flat_map(Listed::at_sources)).await;
    }
    pass(Duration::from_secs(10)).await;
    let op = store.op();
    let unread = op.feed(&bob).unread().await.unwrap();
    (unread, op.cost())
}

#[tokio::test(start_paused = true)]
async fn a_count_ends_after_its_units_and_says_that_there_is_more() {
    for (pulls, least) in [(0, 500), (1, 400), (10, 300), (100, 300)] {
        let (unread, cost) = count(5_000, pulls, 50).await;
        assert!(unread.more && unread.unread >= least, "{pulls} pulled sources: {unread:?}");
        let most = 2 * COUNT_UNITS;
        assert!(cost.read_units.halves <= most, "{pulls} pulled sources: {}", cost.of_read());
    }
}

#[tokio::test(start_paused = true)]
async fn a_count_of_few_entries_is_exact_with_any_number_of_sources() {
    for (pulls, of_each) in [(1, 200), (10, 25), (100, 2)] {
        let (unread, cost) = count(50, pulls, of_each).await;
        assert_eq!((unread.unread, unread.more), (50 + pulls * of_each, false), "{}", cost.of_read());
        assert!(cost.read_units.halves <= 2 * COUNT_UNITS, "{}", cost.of_read());
    }
}

#[tokio::test(start_paused = true)]
async fn a_slow_count_ends_in_time() {
    let (world, engine, _) = start(1);
    let bob = user("bob");
    let listed = |number: u64| {
        Listed::new(id(world.now().saturating_sub(10_000 + number), 0), "ada", None).of_bytes(800)
    };
    put(&engine.client(), (0..5_000).map(|number| listed(number).in_feed(&bob))).await;
    let slow = Network { seed: 1, longest: Duration::from_secs(2), stall: None };
    let slow = self::store(engine.client_with(Faults::default()).over(slow), &world);
    let begun = Instant::now();
    let unread = slow.op().feed(&bob).unread().await.unwrap();
    assert!(begun.elapsed() <= BUDGET + Duration::from_secs(2), "{:?}", begun.elapsed());
    assert!(unread.more && unread.unread >= 500, "{unread:?}");
}

/// The read units of a filtered page: those that it may read of one partition, and a unit for what it reads beside.
const FILTERED_UNITS: u64 = 64 + 2;

/// The query of a page of events of the type `rare`.
fn rare(order: Order, consistent: bool, cursor: Option<String>) -> EventQuery {
    EventQuery {
        event_type: Some("rare".parse().unwrap()),
        consistent,
        order: Some(order),
        cursor,
        ..query(50)
    }
}

#[tokio::test(start_paused = true)]
async fn a_filtered_page_that_finds_nothing_ends_early_and_its_walk_misses_nothing() {
    let (world, engine, store) = start(1);
    let found = events_of(&world, &engine, 5_000, 800).await;
    let bob = user("bob");
    let mut listed: Vec<_> = (0..=5_000_u64)
        .map(|number| {
            Listed::new(id(world.now().saturating_sub(10_000 + number), 0), "ada", None).of_bytes(800)
        })
        .collect();
    listed[5_000].told.event.event_type = "rare".parse().unwrap();
    put(&engine.client(), listed.iter().map(|one| one.in_feed(&bob))).await;
    put(&engine.client(), listed.iter().flat_map(Listed::at_sources)).await;
    pass(Duration::from_secs(10)).await;
    let (posts, ada, listed) = (topic("posts"), source("actor:ada"), listed[5_000].id());
    for (order, consistent) in [(Order::OldestFirst, false), (Order::NewestFirst, true)] {
        let most = 2 * FILTERED_UNITS;
        let of_topic = pages(async |cursor| {
            let op = store.op();
            let page = op.topic(&posts).latest(&rare(order, consistent, cursor)).await.unwrap();
            assert!(op.cost().read_units.halves <= most, "topic, {order:?}: {}", op.cost().of_read());
            (ids(&page.events), page.next.filter(|_| page.has_more))
        });
        assert_eq!(of_topic.await, [found]);
        let of_source = pages(async |cursor| {
            let query = SourceQuery { page: rare(order, consistent, cursor), ..SourceQuery::default() };
            let op = store.op();
            let page = op.timeline(&ada).page(&query).await.unwrap();
            assert!(op.cost().read_units.halves <= most, "source, {order:?}: {}", op.cost().of_read());
            (page.events.iter().map(|event| event.event.id).collect(), page.next.filter(|_| page.has_more))
        });
        assert_eq!(of_source.await, [listed]);
        let of_feed = pages(async |cursor| {
            let query = FeedQuery { page: rare(order, consistent, cursor), ..FeedQuery::default() };
            let op = store.op();
            let page = op.feed(&bob).page(&query).await.unwrap().page;
            assert!(op.cost().read_units.halves <= most, "feed, {order:?}: {}", op.cost().of_read());
            (page.events.iter().map(|event| event.event.id).collect(), page.next.filter(|_| page.has_more))
        });
        assert_eq!(of_feed.await, [listed]);
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
