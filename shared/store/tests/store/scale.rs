//! The cost of a read depends only on the events that it reads, not on the topic's size. Also: how items are stored.

use std::time::Duration;

use lately_engine::Engine;
use lately_items::{DirectoryKey, EventKey};
use lately_keys::{Bucket, BucketWidth, EventId, Order, Shard, Tick, Topic, UnixMillis};
use lately_model::{EventQuery, NewEvent};
use lately_store::{Cost, Store};

use crate::listed::{item, number, put, text};
use crate::support::{World, event, ids, pass, post, query, submission, with_posts};

/// The number of events in the larger topic. A million cost the same to read, but take minutes to write:
/// `LATELY_EVENTS=1000000 cargo test -p lately-store a_page_costs_the_same_at_any_depth`.
fn many() -> usize {
    std::env::var("LATELY_EVENTS").map_or(10_000, |events| events.parse().unwrap())
}

/// Entries in the larger directory: two months of quarter-hours, some times as many as a page looks at.
const ENTRIES: usize = 6_000;

/// Puts events of one day, a millisecond apart, into a bucket of one shard without the store.
async fn put_events(engine: &Engine, topic: &Topic, numbers: std::ops::Range<usize>, world: &World) {
    let events = numbers.map(|number| {
        let at = world.now().saturating_sub(number as u64);
        let id = EventId::new(Tick::first_of(at), Shard::from(0), number as u64);
        let key = EventKey::new(topic.clone(), BucketWidth::Day, id);
        item(&key, [("t", text("note")), ("a", text("ada")), ("d", text("\"some hundred bytes or so\""))])
    });
    put(&engine.client(), events).await;
}

async fn cost(store: &Store, topic: &Topic, query: &EventQuery) -> Cost {
    // After this time, the store also reads the topic and its directory again.
    pass(Duration::from_secs(6)).await;
    let op = store.op();
    let page = op.topic(topic).latest(query).await.unwrap();
    assert_eq!(page.events.len(), usize::from(query.limit.get()));
    op.cost()
}

#[tokio::test(start_paused = true)]
async fn a_page_costs_the_same_at_any_depth_of_any_topic() {
    let (world, engine, store, posts) = with_posts("{}").await;
    post(&store, &posts, vec![event("note", None)]).await;
    let began = world.clone();
    put_events(&engine, &posts, 1..1_000, &began).await;
    cost(&store, &posts, &query(50)).await;
    let small = cost(&store, &posts, &query(50)).await;
    put_events(&engine, &posts, 1_000..many(), &began).await;
    assert_eq!(cost(&store, &posts, &query(50)).await, small);

    // Deep in the past: a range begins there, or a cursor continues there.
    let to = world.now().saturating_sub(many() as u64 / 2);
    let range = lately_model::TimeRange::new(None, Some(to)).unwrap();
    let mut deep = EventQuery { range, ..query(50) };
    for _ in 0..3 {
        assert_eq!(cost(&store, &posts, &deep).await, small);
        deep.cursor = store.op().topic(&posts).latest(&deep).await.unwrap().next;
    }
    let oldest_first = EventQuery { order: Some(Order::OldestFirst), ..query(50) };
    assert_eq!(cost(&store, &posts, &oldest_first).await, small);

    a_filter_that_matches_nothing_stops_at_its_budget(&store, &posts).await;
}

/// Searches a topic of many events without the `type` view.
async fn a_filter_that_matches_nothing_stops_at_its_budget(store: &Store, topic: &Topic) {
    let mut query = EventQuery { event_type: Some("never".parse().unwrap()), ..query(50) };
    let mut looked_at = 0;
    let mut cursors = std::collections::BTreeSet::new();
    loop {
        let op = store.op();
        let page = op.topic(topic).latest(&query).await.unwrap();
        let cost = op.cost();
        assert!(page.events.is_empty());
        assert!(cost.items <= 2 * 4_096, "{}", cost.of_read());
        assert!(cost.calls <= 16, "{}", cost.of_read());
        looked_at += cost.items;
        assert_eq!(page.has_more, page.next.is_some());
        let Some(next) = page.next else { break };
        assert!(cost.items >= 4_096, "a page ends early only when its budget is spent: {}", cost.of_read());
        assert!(cursors.insert(next.clone()), "the cursor does not move");
        query.cursor = Some(next);
    }
    assert_eq!(looked_at, many() as u64, "each event is read once");
}

#[tokio::test(start_paused = true)]
async fn a_page_costs_the_same_with_a_long_directory() {
    let (world, engine, store, posts) = with_posts(r#"{"bucket":"quarter-hour"}"#).await;
    let mut bucket = Some(Bucket::containing(BucketWidth::QuarterHour, world.now()));
    let buckets = std::iter::from_fn(|| {
        bucket = bucket?.previous();
        bucket
    });
    let entries: Vec<_> = buckets
        .take(ENTRIES)
        .map(|bucket| item(&DirectoryKey { topic: posts.clone(), bucket }, [("base", number(1))]))
        .collect();
    put(&engine.client(), entries[..31].iter().cloned()).await;
    post(&store, &posts, vec![event("note", None); 60]).await;
    cost(&store, &posts, &query(50)).await;
    let short = cost(&store, &posts, &query(50)).await;
    put(&engine.client(), entries[31..].iter().cloned()).await;
    assert_eq!(cost(&store, &posts, &query(50)).await, short);

    // The first event of all, two months back, is found without a walk through the buckets in between.
    let at = world.now().saturating_sub(15 * 60_000 * ENTRIES as u64);
    let import = NewEvent { at: Some(at), ..event("note", None) };
    post(&store, &posts, vec![import]).await;
    let oldest_first = EventQuery { order: Some(Order::OldestFirst), ..query(1) };
    assert_eq!(cost(&store, &posts, &oldest_first).await.calls, 3);

    // Two months of buckets are listed but empty. A page reads some of them, and its cursor continues there.
    let before = lately_model::TimeRange::new(None, Some(world.now().saturating_sub(3_600_000))).unwrap();
    let op = store.op();
    let page = op.topic(&posts).latest(&EventQuery { range: before, ..query(10) }).await.unwrap();
    let cost = op.cost();
    assert!(page.has_more && page.events.is_empty() && page.next.is_some());
    assert!(cost.calls <= 1_200, "{}", cost.of_read());
}

#[tokio::test(start_paused = true)]
async fn one_event_a_day_is_read_in_seven_waves() {
    let (world, _, store, posts) = with_posts("{}").await;
    let day = 24 * 60 * 60 * 1000;
    let events = (0..60)
        .map(|days| NewEvent { at: Some(world.now().saturating_sub(days * day)), ..event("note", None) });
    post(&store, &posts, events.collect()).await;
    for order in [Order::NewestFirst, Order::OldestFirst] {
        let cost = cost(&store, &posts, &EventQuery { order: Some(order), ..query(50) }).await;
        // A query for each day, two queries of the directory, and a read of the topic.
        assert_eq!((cost.rounds, cost.calls), (7, 50 + 2 + 1), "{}", cost.of_read());
    }
}

#[tokio::test(start_paused = true)]
async fn a_rare_type_costs_only_its_own_bytes_and_buckets() {
    let settings = r#"{"min_shards":2,"views":["actor","subject","type"]}"#;
    let (world, _, store, posts) = with_posts(settings).await;
    let day = 24 * 60 * 60 * 1000;
    for days in 0..20 {
        let at = Some(world.now().saturating_sub(days * day));
        let mut events =
            vec![NewEvent { at, ..event("common", Some(format!("\"{}\"", "x".repeat(500)))) }; 100];
        if days % 10 == 5 {
            events.extend(vec![NewEvent { at, ..event("rare", None) }; 3]);
        }
        post(&store, &posts, events).await;
    }
    pass(Duration::from_millis(1_500)).await;
    let rare = EventQuery { event_type: Some("rare".parse().unwrap()), ..query(50) };
    let op = store.op();
    let page = op.topic(&posts).latest(&rare).await.unwrap();
    let cost = op.cost();
    assert_eq!(page.events.len(), 6);
    // One query of the directory; two buckets of two shards, at half a unit each.
    assert_eq!((cost.calls, cost.items), (5, 6), "{}", cost.of_read());
    assert!(cost.read_units.halves <= 4 + 2, "{}", cost.of_read());

    // A consistent read reads all events of these two buckets, and no others.
    let op = store.op();
    let page = op.topic(&posts).latest(&EventQuery { consistent: true, ..rare }).await.unwrap();
    let cost = op.cost();
    assert_eq!((page.events.len(), cost.items), (6, 206), "{}", cost.of_read());
}

#[tokio::test(start_paused = true)]
async fn the_earliest_possible_event_is_read_like_any_other() {
    let (_, _, store, posts) = with_posts(r#"{"bucket":"month"}"#).await;
    let first = NewEvent { at: Some(UnixMillis::MIN), ..event("note", None) };
    post(&store, &posts, vec![first, event("note", None)]).await;
    pass(Duration::from_secs(3)).await;
    for order in [Order::NewestFirst, Order::OldestFirst] {
        let mut query = EventQuery { order: Some(order), ..query(1) };
        let page = store.op().topic(&posts).latest(&query).await.unwrap();
        assert!(page.has_more);
        query.cursor = page.next;
        let page = store.op().topic(&posts).latest(&query).await.unwrap();
        assert_eq!(page.events.len(), 1);
    }
}

/// No id fits between the end of a page and the beginning of the next.
#[tokio::test(start_paused = true)]
async fn adjacent_ids_are_both_shown() {
    let (_, engine, store, posts) = with_posts("{}").await;
    let written = store.op().topic(&posts).write(submission(vec![event("note", None)])).await.unwrap();
    let newer = written.events[0].id;
    let older = newer.just_before().unwrap();
    assert_eq!(older.shard(), newer.shard());
    let key = EventKey::new(posts.clone(), BucketWidth::Day, older);
    put(&engine.client(), [item(&key, [("t", text("note")), ("a", text("ada"))])]).await;

    pass(Duration::from_secs(3)).await;
    for (order, expected) in [(Order::NewestFirst, [newer, older]), (Order::OldestFirst, [older, newer])] {
        let mut page_query = EventQuery { order: Some(order), ..query(1) };
        for id in expected {
            let page = store.op().topic(&posts).latest(&page_query).await.unwrap();
            assert_eq!(ids(&page.events), [id], "{order:?}");
            page_query.cursor = page.next;
        }
    }
}
