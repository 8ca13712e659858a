//! Timelines of sources: the listed events in order, with and without filters, at a counted price.

use std::time::Duration;

use lately_keys::{Cursor, Fingerprint, Order, Source};
use lately_model::{EventQuery, Page, QueryString, SourceQuery, TimelineEvent};
use lately_store::{Cost, Store, TimelineError};

use crate::feed::behind;
use crate::listed::{Listed, bytes, id, put, source, told};
use crate::support::{pass, query, start, start_with, topic};

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

#[tokio::test(start_paused = true)]
async fn a_page_is_one_query_at_the_price_of_its_bytes() {
    let (world, engine, store) = start(1);
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
        let (world, engine, reader) = start_with(after, behind(after));
        let listed = Listed::new(id(world.now(), 1), "ada", None);
        let query = SourceQuery { wait_for: Some(listed.id()), ..source_query(10) };
        let reading = tokio::spawn(async move { reader.op().timeline(&ada()).page(&query).await });
        pass(Duration::from_millis(after)).await;
        put(&engine.client(), listed.at_sources()).await;
        let page = reading.await.unwrap().unwrap();
        assert_eq!(told(&page), [listed.id()]);
    }
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
