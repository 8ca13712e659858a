//! Pages of a feed that wait for an event.

use std::time::Duration;

use lately_engine::Engine;
use lately_keys::EventId;
use lately_model::{FeedPage, FeedQuery};
use lately_store::TimelineError;

use crate::feed::{behind, feed_query};
use crate::listed::{Listed, id, pull, put, source, told, user};
use crate::support::{Item, World, pass, start, start_with, store, topic};

/// Asks for a page that waits for an event, and puts items some time later. Returns the page, and how long it took.
async fn wait(
    engine: &Engine,
    world: &World,
    wait_for: EventId,
    written: Vec<Item>,
    after: Duration,
) -> (Result<FeedPage, TimelineError>, Duration) {
    let begun = tokio::time::Instant::now();
    let reader = store(engine.client(), world);
    let query = FeedQuery { wait_for: Some(wait_for), ..feed_query(10) };
    let reading = tokio::spawn(async move {
        let page = reader.op().feed(&user("bob")).page(&query).await;
        (page, begun.elapsed())
    });
    pass(after).await;
    put(&engine.client(), written).await;
    reading.await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_waiting_page_shows_an_event_that_is_pulled() {
    let (world, engine, _) = start_with(1, behind(1));
    let listed = Listed::new(id(world.now(), 1), "ada", None);
    put(&engine.client(), [pull(&user("bob"), &source("actor:ada"), listed.id())]).await;
    let written = listed.at_sources().collect();
    let (page, _) = wait(&engine, &world, listed.id(), written, Duration::from_millis(400)).await;
    assert_eq!(told(&page.unwrap().page), [listed.id()]);
}

#[tokio::test(start_paused = true)]
async fn a_page_waits_at_most_five_seconds_for_an_event() {
    let (world, engine, _) = start_with(1, behind(1));
    let mut hidden = Listed::new(id(world.now(), 1), "ada", None);
    hidden.fans_out = false;
    put(&engine.client(), [pull(&user("bob"), &source("actor:ada"), EventId::MIN)]).await;
    let written = hidden.at_sources().collect();
    let (page, took) = wait(&engine, &world, hidden.id(), written, Duration::ZERO).await;
    assert!(matches!(page, Err(TimelineError::NotYetVisible)));
    assert_eq!(took, Duration::from_secs(5));
}

#[tokio::test(start_paused = true)]
async fn waiting_for_an_event_of_a_forbidden_topic_fails() {
    let (world, engine, store) = start(1);
    let listed = Listed::new(id(world.now(), 1), "ada", None);
    put(&engine.client(), [listed.in_feed(&user("bob"))]).await;
    let query = FeedQuery { wait_for: Some(listed.id()), ..feed_query(10) };
    let read = store.op().limited_to(Some(&[topic("likes")])).feed(&user("bob")).page(&query).await;
    assert!(matches!(read, Err(TimelineError::NotYetVisible)));
    assert!(store.op().limited_to(Some(&[topic("posts")])).feed(&user("bob")).page(&query).await.is_ok());
}
