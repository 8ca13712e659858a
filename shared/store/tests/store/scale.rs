//! The cost of a read depends only on the events that it reads, not on the topic's size. Also: how items are stored.

use std::time::Duration;

use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::{AttributeValue, PutRequest, WriteRequest};
use lately_engine::Engine;
use lately_engine::fault::{Fault, Faults, Moment, Target};
use lately_items::{DirectoryKey, EventKey};
use lately_keys::{Bucket, BucketWidth, EventId, Order, Shard, TableKey, Tick, Topic, UnixMillis};
use lately_model::{EventQuery, NewEvent};
use lately_store::{Cost, Idempotency, Store, Submission};

use crate::support::{
    Item, TABLE, World, change, event, ids, items, pass, query, start, stored, submission, topic, with_posts,
};

/// The number of events in the larger topic. A million cost the same to read, but take minutes to write:
/// `LATELY_EVENTS=1000000 cargo test -p lately-store a_page_costs_the_same_at_any_depth`.
fn many() -> usize {
    std::env::var("LATELY_EVENTS").map_or(20_000, |events| events.parse().unwrap())
}

/// Entries in the larger directory: seven months of quarter-hours, ten times as many as a page looks at.
const ENTRIES: usize = 20_000;

fn s(text: impl Into<String>) -> AttributeValue {
    AttributeValue::S(text.into())
}

fn n(number: impl ToString) -> AttributeValue {
    AttributeValue::N(number.to_string())
}

fn item<const N: usize>(attributes: [(&str, AttributeValue); N]) -> Item {
    attributes.map(|(name, value)| (name.to_owned(), value)).into()
}

fn keyed<const N: usize>(key: &impl TableKey, attributes: [(&str, AttributeValue); N]) -> Item {
    let key = key.encode();
    let mut item = item(attributes);
    item.extend([("pk".to_owned(), s(key.pk)), ("sk".to_owned(), s(key.sk))]);
    item
}

/// Puts items into the table without the store.
async fn put(engine: &Engine, items: impl Iterator<Item = Item>) {
    let mut requests = items.map(|item| {
        let put = PutRequest::builder().set_item(Some(item)).build().unwrap();
        WriteRequest::builder().put_request(put).build()
    });
    loop {
        let batch: Vec<_> = requests.by_ref().take(25).collect();
        if batch.is_empty() {
            return;
        }
        engine.client().batch_write_item().request_items(TABLE, batch).send().await.unwrap();
    }
}

/// Puts events of one day, a millisecond apart, into a bucket of one shard without the store.
async fn put_events(engine: &Engine, topic: &Topic, numbers: std::ops::Range<usize>, world: &World) {
    let events = numbers.map(|number| {
        let at = world.now().saturating_sub(number as u64);
        let id = EventId::new(Tick::first_of(at), Shard::from(0), number as u64);
        let key = EventKey::new(topic.clone(), BucketWidth::Day, id);
        keyed(&key, [("t", s("note")), ("a", s("ada")), ("d", s("\"some hundred bytes or so\""))])
    });
    put(engine, events).await;
}

async fn cost(store: &Store, topic: &Topic, query: &EventQuery) -> Cost {
    // After this time, the store also reads the topic and its directory again.
    pass(Duration::from_secs(6)).await;
    let op = store.op();
    let page = op.topic(topic).latest(query).await.unwrap();
    let cost = op.cost();
    assert_eq!(page.events.len(), usize::from(query.limit.get()));
    cost
}

#[tokio::test(start_paused = true)]
async fn a_page_costs_the_same_at_any_depth_of_any_topic() {
    let (world, engine, store, posts) = with_posts("{}").await;
    store.op().topic(&posts).write(submission(vec![event("note", None)])).await.unwrap();
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
        .map(|bucket| keyed(&DirectoryKey { topic: posts.clone(), bucket }, [("base", n(1))]))
        .collect();
    put(&engine, entries[..31].iter().cloned()).await;
    store.op().topic(&posts).write(submission(vec![event("note", None); 60])).await.unwrap();
    cost(&store, &posts, &query(50)).await;
    let short = cost(&store, &posts, &query(50)).await;
    put(&engine, entries[31..].iter().cloned()).await;
    assert_eq!(cost(&store, &posts, &query(50)).await, short);

    // The first event of all, seven months back, is found without a walk through the buckets in between.
    let at = world.now().saturating_sub(15 * 60_000 * ENTRIES as u64);
    let import = NewEvent { at: Some(at), ..event("note", None) };
    store.op().topic(&posts).write(submission(vec![import])).await.unwrap();
    let oldest_first = EventQuery { order: Some(Order::OldestFirst), ..query(1) };
    assert_eq!(cost(&store, &posts, &oldest_first).await.calls, 3);

    // Seven months of buckets are listed but empty. A page reads some of them, and its cursor continues there.
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
    store.op().topic(&posts).write(submission(events.collect())).await.unwrap();
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
        store.op().topic(&posts).write(submission(events)).await.unwrap();
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

/// The only item whose partition key begins with a prefix. For a topic, the item of its settings.
async fn only(engine: &Engine, prefix: &str) -> Item {
    let mut items = items(engine).await;
    items.retain(|item| item["pk"].as_s().unwrap().starts_with(prefix));
    items.retain(|item| prefix != "TOPIC#" || item["sk"].as_s().unwrap() == "CONFIG");
    assert_eq!(items.len(), 1);
    items.remove(0)
}

#[tokio::test(start_paused = true)]
async fn items_keep_their_stored_form() {
    let settings = r#"{"retention_days":7,"min_shards":2,"views":["actor","subject","type"]}"#;
    let (world, engine, store, posts) = with_posts(settings).await;
    let full = NewEvent {
        subject: Some("repo:octo:hello".parse().unwrap()),
        at: Some(world.now()),
        ..event("note.created", Some(r#"{"amount": 1.10}"#.to_owned()))
    };
    let idempotency =
        Idempotency { caller: "user:ada".parse().unwrap(), key: "once".parse().unwrap(), body_hash: [7; 32] };
    let request = Submission { idempotency: Some(idempotency), ..submission(vec![full]) };
    // The process dies at its eighth call, before it marks its request as done.
    let dying = engine.client_with(Faults::default().nth(8, Target::any(), Fault::Crash(Moment::Before)));
    let victim = crate::support::store(dying.client(), &world);
    assert!(dying.run(victim.op().topic(&posts).write(request.clone())).await.is_none());

    let id = stored(&engine, &posts).await[0];
    let (shard, sort_key) = (id.shard(), id.sort_key().to_string());
    let expected = item([
        ("pk", s(format!("EVENTS#posts#2026-03-14#SHARD{shard}"))),
        ("sk", s(&sort_key)),
        ("gsi1pk", s(format!("TYPE#posts#2026-03-14#note.created#SHARD{shard}"))),
        ("gsi1sk", s(&sort_key)),
        ("t", s("note.created")),
        ("a", s("ada")),
        ("s", s("repo:octo:hello")),
        ("d", s(r#"{"amount": 1.10}"#)),
        // Listed by actor and by subject, fanned out, a post, under a key (docs/adr/0010-accepted-events.md).
        ("v", s("asfpk")),
        ("expires_at", n(1_773_489_600 + 7 * 86_400)),
    ]);
    assert_eq!(only(&engine, "EVENTS#").await, expected);

    let expected = item([
        ("pk", s("TOPIC#posts")),
        ("sk", s("CONFIG")),
        ("gsi1pk", s("TOPICS")),
        ("gsi1sk", s("posts")),
        ("bucket", s("day")),
        ("retention_days", n(7)),
        ("min_shards", n(2)),
        ("max_shards", n(64)),
        ("fan_out", AttributeValue::Bool(true)),
        ("views", s("actor subject type")),
        ("by_actor", AttributeValue::Bool(true)),
        ("created_at", n(1_773_489_600_000_u64)),
        ("revision", n(1_773_489_600_000_000_u64)),
    ]);
    assert_eq!(only(&engine, "TOPIC#").await, expected);

    let entries = items(&engine).await;
    let entry = entries.iter().find(|item| item["sk"].as_s().unwrap().starts_with("BUCKET#")).unwrap();
    let expected = item([
        ("pk", s("TOPIC#posts")),
        ("sk", s("BUCKET#2026-03-14")),
        ("base", n(2)),
        ("types", AttributeValue::Ss(vec!["note.created".to_owned()])),
        ("retention_days", n(7)),
        ("expires_at", n(1_773_489_600 + 43_199 + 7 * 86_400 + 30 * 86_400)),
    ]);
    assert_eq!(*entry, expected);

    let mut expected = item([
        ("pk", s("IDEMPOTENCY#user:ada#posts#once")),
        ("sk", s("IDEMPOTENCY#user:ada#posts#once")),
        ("hash", AttributeValue::B(Blob::new([7; 32]))),
        ("ids", AttributeValue::B(Blob::new(*id.as_uuid().as_bytes()))),
        ("at", n(1_773_489_600_000_u64)),
        ("expires_at", n(1_773_489_600 + 86_400)),
    ]);
    assert_eq!(only(&engine, "IDEMPOTENCY#").await, expected);
    store.op().topic(&posts).write(request).await.unwrap();
    expected.insert("done".to_owned(), AttributeValue::Bool(true));
    assert_eq!(only(&engine, "IDEMPOTENCY#").await, expected);
}

#[tokio::test(start_paused = true)]
async fn an_event_without_views_has_no_extra_attributes() {
    let (_, engine, store) = start(1);
    let log = topic("log");
    store.op().topic(&log).put(&change(r#"{"fan_out":false,"views":[]}"#)).await.unwrap();
    store.op().topic(&log).write(submission(vec![event("note", None)])).await.unwrap();
    let id = stored(&engine, &log).await[0];
    let expected = item([
        ("pk", s("EVENTS#log#2026-03-14#SHARD0")),
        ("sk", s(id.sort_key().to_string())),
        ("t", s("note")),
        ("a", s("ada")),
        ("v", s("p")),
    ]);
    assert_eq!(only(&engine, "EVENTS#").await, expected);
}

#[tokio::test(start_paused = true)]
async fn a_bucket_with_very_many_types_may_hold_any_type() {
    let (_, engine, store, posts) = with_posts(r#"{"views":["actor","subject","type"]}"#).await;
    for number in 0..150 {
        let typed = event(&format!("type-{number}"), None);
        store.op().topic(&posts).write(submission(vec![typed])).await.unwrap();
    }
    crate::support::assert_directory_held(&engine);
    pass(Duration::from_secs(3)).await;
    for (name, expected) in [("type-0", 1), ("type-149", 1), ("never", 0)] {
        let typed = EventQuery { event_type: Some(name.parse().unwrap()), ..query(10) };
        let page = store.op().topic(&posts).latest(&typed).await.unwrap();
        assert_eq!(page.events.len(), expected);
    }
}

#[tokio::test(start_paused = true)]
async fn the_earliest_possible_event_is_read_like_any_other() {
    let (_, _, store, posts) = with_posts(r#"{"bucket":"month"}"#).await;
    let first = NewEvent { at: Some(UnixMillis::MIN), ..event("note", None) };
    store.op().topic(&posts).write(submission(vec![first, event("note", None)])).await.unwrap();
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
    put(&engine, [keyed(&key, [("t", s("note")), ("a", s("ada"))])].into_iter()).await;

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
