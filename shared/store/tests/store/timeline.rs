//! Timelines of sources: the listed events in order, with and without filters, at a counted price.

use std::time::Duration;

use lately_engine::{Engine, Lag, Options};
use lately_keys::{Cursor, EventId, Fingerprint, Order, Source, Topic, UnixMillis};
use lately_model::{EventQuery, Page, PageSize, SourceQuery, TimeRange, TimelineEvent};
use lately_store::{Cost, Store, TimelineError};

use crate::listed::{Listed, id, put, source};
use crate::support::{Item, World, engine, pass, query, seeds, start, store, topic};

fn source_query(limit: u16) -> SourceQuery {
    SourceQuery { page: query(limit), ..SourceQuery::default() }
}

async fn page(store: &Store, query: &SourceQuery) -> (Page<TimelineEvent>, Cost) {
    let op = store.op();
    let page = op.timeline(&ada()).page(query).await.unwrap();
    (page, op.cost())
}

fn ada() -> Source {
    source("actor:ada")
}

fn told(page: &Page<TimelineEvent>) -> Vec<EventId> {
    page.events.iter().map(|event| event.event.id).collect()
}

/// The events that a source lists, oldest first, and those of them that no longer exist.
struct Timeline {
    listed: Vec<Listed>,
    gone: Vec<EventId>,
}

impl Timeline {
    async fn some(rng: &mut fastrand::Rng, engine: &Engine, now: UnixMillis) -> Self {
        let span = [1, 50, 100_000][rng.usize(..3)];
        let count = rng.u64(..150);
        let some = |number| {
            let mut one = Listed::new(id(now.saturating_sub(3_000 + rng.u64(..span)), number), "ada", None);
            one.told.event.event_type = ["note", "like"][rng.usize(..2)].parse().unwrap();
            one.told.topic = ["posts", "likes"][rng.usize(..2)].parse().unwrap();
            one.fans_out = rng.bool();
            let second = now.get() / 1000;
            one.expires_at = [None, None, Some(second), Some(second + 60)][rng.usize(..4)];
            one.points = rng.u8(..4) == 0;
            one
        };
        let mut listed: Vec<_> = (0..count).map(some).collect();
        listed.sort_by_key(Listed::id);
        let gone: Vec<_> = listed.iter().filter(|one| one.points && rng.bool()).map(Listed::id).collect();
        put(&engine.client(), listed.iter().flat_map(Listed::at_sources)).await;
        let there = listed.iter().filter(|one| one.points && !gone.contains(&one.id()));
        put(&engine.client(), there.map(Listed::event)).await;
        Self { listed, gone }
    }

    fn shown(&self, query: &SourceQuery, topics: Option<&[Topic]>, now: UnixMillis) -> Vec<TimelineEvent> {
        let TimeRange { from, to } = query.page.range;
        let shown = self.listed.iter().filter(|one| {
            let TimelineEvent { topic, event } = &one.told;
            !self.gone.contains(&event.id)
                && one.expires_at.is_none_or(|seconds| seconds > now.get() / 1000)
                && from.is_none_or(|from| event.at() >= from)
                && to.is_none_or(|to| event.at() < to)
                && query.page.event_type.as_ref().is_none_or(|wanted| *wanted == event.event_type)
                && query.topic.as_ref().is_none_or(|wanted| wanted == topic)
                && topics.is_none_or(|topics| topics.contains(topic))
        });
        let mut shown: Vec<_> = shown.map(|one| one.told.clone()).collect();
        if query.page.order != Some(Order::OldestFirst) {
            shown.reverse();
        }
        shown
    }
}

fn some_query(rng: &mut fastrand::Rng, now: UnixMillis) -> SourceQuery {
    let mut time = || (rng.u8(..4) == 0).then(|| now.saturating_sub(3_000 + rng.u64(..60)));
    let (one, other) = (time(), time());
    let range = TimeRange::new(one, other).or_else(|_| TimeRange::new(other, one)).unwrap();
    let page = EventQuery {
        limit: PageSize::new([1, 3, 20, 200][rng.usize(..4)]).unwrap(),
        order: [None, Some(Order::NewestFirst), Some(Order::OldestFirst)][rng.usize(..3)],
        cursor: None,
        range,
        event_type: (rng.u8(..3) == 0).then(|| "like".parse().unwrap()),
        consistent: rng.bool(),
        ..EventQuery::default()
    };
    SourceQuery { page, topic: (rng.u8(..3) == 0).then(|| topic("likes")), wait_for: None }
}

#[tokio::test(start_paused = true)]
async fn pages_of_every_size_in_both_orders_show_everything_once() {
    for seed in seeds(40) {
        let mut rng = fastrand::Rng::with_seed(seed.0);
        let (world, engine, store) = start(seed.0);
        let timeline = Timeline::some(&mut rng, &engine, world.now()).await;
        let only = [topic("posts")];
        for _ in 0..6 {
            let mut query = some_query(&mut rng, world.now());
            let topics = (rng.u8(..4) == 0).then_some(&only[..]);
            let expected = timeline.shown(&query, topics, world.now());
            let mut shown = Vec::new();
            loop {
                let page = store.op().limited_to(topics).timeline(&ada()).page(&query).await.unwrap();
                let limit = usize::from(query.page.limit.get());
                assert!(page.events.len() <= limit && (page.events.len() == limit || !page.has_more));
                shown.extend(page.events);
                assert!(shown.len() <= expected.len());
                if !page.has_more {
                    break;
                }
                query.page.cursor = page.next;
            }
            assert_eq!(shown, expected, "{query:?} {topics:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_page_is_one_query_at_the_price_of_its_bytes() {
    let (world, engine, store) = start(1);
    let bytes = |item: &Item| -> usize {
        item.iter().map(|(name, value)| name.len() + value.as_s().unwrap().len()).sum()
    };
    let listed = |number: u64| {
        let one = Listed::new(id(world.now().saturating_sub(3_000 + number), number), "ada", None);
        let bare = bytes(&one.at_source(&ada()));
        one.of_bytes(512 - bare + 1)
    };
    let listed: Vec<_> = (0..200).map(listed).collect();
    put(&engine.client(), listed.iter().flat_map(Listed::at_sources)).await;
    // From this page on, the process knows that the source has no item.
    page(&store, &source_query(10)).await;
    for order in [Order::NewestFirst, Order::OldestFirst] {
        for (limit, consistent, units) in
            [(10, false, 1.0), (50, false, 3.5), (100, false, 6.5), (50, true, 7.0)]
        {
            let page_query = EventQuery { order: Some(order), consistent, ..query(limit) };
            let mut query = SourceQuery { page: page_query, ..SourceQuery::default() };
            for is_first in [true, false] {
                let (page, cost) = page(&store, &query).await;
                // A consistent page that does not begin at the source's item reads the item by itself.
                let (units, calls) = match consistent && !(is_first && order == Order::NewestFirst) {
                    true => (units + 1.0, 2),
                    false => (units, 1),
                };
                let expected = format!("read_units={units:.1}, calls={calls}, items={limit}, rounds=1");
                assert_eq!((cost.of_read(), page.events.len()), (expected, usize::from(limit)));
                query.page.cursor = page.next;
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn pointers_are_followed_together() {
    let (world, engine, store) = start(1);
    let listed = |number| {
        let mut one = Listed::new(id(world.now().saturating_sub(3_000 + number), number), "ada", None);
        one.points = true;
        one.of_bytes(3_000)
    };
    let listed: Vec<_> = (0..50).map(listed).collect();
    put(&engine.client(), listed.iter().flat_map(Listed::at_sources)).await;
    put(&engine.client(), listed.iter().map(Listed::event)).await;
    // The first call follows eleven pointers. The sizes of these events allow the next call to follow all others.
    let (shown, cost) = page(&store, &source_query(50)).await;
    assert_eq!((shown.events.len(), cost.calls, cost.rounds), (50, 3, 1));
    assert_eq!(cost.read_units.halves, 50 + 1, "half a unit for each event, and the entries");
}

#[tokio::test(start_paused = true)]
async fn a_waiting_page_shows_the_event_even_from_stale_replicas() {
    for after in [0, 40, 600, 4_000] {
        let world = World::new(after);
        let lag = Lag { seed: after, table: Duration::from_secs(2), index: Duration::ZERO, behind: 1.0 };
        let engine = engine(&world, Options { lag: Some(lag), ..Options::default() });
        let listed = Listed::new(id(world.now(), 1), "ada", None);
        let query = SourceQuery { wait_for: Some(listed.id()), ..source_query(10) };
        let reader = store(engine.client(), &world);
        let reading = tokio::spawn(async move { reader.op().timeline(&ada()).page(&query).await });
        pass(Duration::from_millis(after)).await;
        put(&engine.client(), listed.at_sources()).await;
        let page = reading.await.unwrap().unwrap();
        assert_eq!(told(&page), [listed.id()]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_page_waits_at_most_five_seconds_for_an_event() {
    let (world, _, store) = start(1);
    let begun = tokio::time::Instant::now();
    let query = SourceQuery { wait_for: Some(id(world.now(), 1)), ..source_query(10) };
    let read = store.op().timeline(&ada()).page(&query).await;
    assert!(matches!(read, Err(TimelineError::NotYetVisible)));
    assert_eq!(begun.elapsed(), Duration::from_secs(5));
}

#[tokio::test(start_paused = true)]
async fn an_event_that_cannot_come_is_not_waited_for() {
    let (world, engine, store) = start(1);
    let old = Listed::new(id(world.now().saturating_sub(120_001), 1), "ada", None);
    let begun = tokio::time::Instant::now();
    let query = |id| SourceQuery { wait_for: Some(id), ..source_query(10) };
    let read = store.op().timeline(&ada()).page(&query(old.id())).await;
    assert!(matches!(read, Err(TimelineError::NotYetVisible)));
    assert_eq!(begun.elapsed(), Duration::ZERO);
    put(&engine.client(), old.at_sources()).await;
    let shown = store.op().timeline(&ada()).page(&query(old.id())).await.unwrap();
    assert_eq!(told(&shown), [old.id()]);

    // A writer's clock may be five seconds ahead.
    let ahead = |millis| id(world.now().saturating_add(millis), 0);
    let read = store.op().timeline(&ada()).page(&query(ahead(5_001))).await;
    assert!(read.is_err() && begun.elapsed() == Duration::ZERO, "{read:?}");
    let read = store.op().timeline(&ada()).page(&query(ahead(5_000))).await;
    assert!(matches!(read, Err(TimelineError::NotYetVisible)));
    assert_eq!(begun.elapsed(), Duration::from_secs(5));
}

#[tokio::test(start_paused = true)]
async fn a_cursor_is_only_valid_for_its_source_and_filters() {
    let (world, engine, store) = start(1);
    let listed = |number| Listed::new(id(world.now().saturating_sub(3_000 + number), number), "ada", None);
    put(&engine.client(), (0..5).map(listed).flat_map(|one| one.at_sources().collect::<Vec<_>>())).await;
    let month = || SourceQuery::parse("month=2026-03&limit=2").unwrap();
    let cursor = page(&store, &month()).await.0.next;
    // The fingerprint is spelled out here a second time, because cursors never expire.
    let fingerprint = Fingerprint::of("source events").text("actor:ada").option(None).option(None);
    let fingerprint = fingerprint.option(Some("2026-03-01T00:00:00.000Z"));
    let fingerprint = fingerprint.option(Some("2026-04-01T00:00:00.000Z")).finish();
    assert!(Cursor::decode(cursor.as_deref().unwrap(), fingerprint).is_ok());
    let with = |mut query: SourceQuery| {
        query.page.cursor = cursor.clone();
        query
    };
    assert_eq!(page(&store, &with(month())).await.0.events.len(), 2);
    let subject = source("subject:ada");
    for (source, query) in [
        (ada(), source_query(2)),
        (subject, month()),
        (ada(), SourceQuery { topic: Some(topic("posts")), ..month() }),
    ] {
        let read = store.op().timeline(&source).page(&with(query)).await;
        assert!(matches!(read, Err(TimelineError::Cursor(_))), "{source}");
    }
    let none = page(&store, &SourceQuery::parse("month=2026-02").unwrap()).await.0;
    assert_eq!((none.events.len(), none.has_more), (0, false));
}

#[tokio::test(start_paused = true)]
async fn expired_and_deleted_events_do_not_end_a_page_early() {
    let (world, engine, store) = start(1);
    let listed = |number: u64| {
        let mut one = Listed::new(id(world.now().saturating_sub(3_000 + number), number), "ada", None);
        one.expires_at = (number < 2_000 && number.is_multiple_of(2)).then(|| world.now().get() / 1000);
        one.points = number < 2_000 && !number.is_multiple_of(2);
        one
    };
    let listed: Vec<_> = (0..2_010).map(listed).collect();
    put(&engine.client(), listed.iter().flat_map(Listed::at_sources)).await;
    let mut query = source_query(10);
    let mut shown = Vec::new();
    loop {
        let (page, cost) = page(&store, &query).await;
        assert!(page.has_more || page.events.len() == 10, "{cost:?}");
        shown.extend(told(&page));
        query.page.cursor = page.next;
        if query.page.cursor.is_none() || shown.len() == 10 {
            break;
        }
    }
    assert_eq!(shown, listed[2_000..].iter().map(Listed::id).collect::<Vec<_>>());
}
