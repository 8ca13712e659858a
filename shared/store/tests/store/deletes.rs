//! Deletions: by the event's actor, or by a caller who may delete any event. A repeated deletion has the same effect.

use std::time::Duration;

use lately_engine::Operation;
use lately_engine::fault::{Fault, Faults, Moment, Target};
use lately_engine::stream::SequenceNumber;
use lately_store::{FeedSettings, GetEventError};

use crate::listed::put;
use crate::scene::{Scene, tell};
use crate::support::{Item, TABLE, event, ids, items, pass, post, query, store, submission, with_posts};

#[tokio::test(start_paused = true)]
async fn a_walk_continues_across_deleted_events() {
    let (_, _, store, posts) = with_posts(r#"{"min_shards":4}"#).await;
    let written = store.op().topic(&posts).write(submission(vec![event("note", None); 40])).await.unwrap();
    let mut newest_first = ids(&written.events);
    newest_first.reverse();

    let page = store.op().topic(&posts).latest(&query(10)).await.unwrap();
    assert_eq!(ids(&page.events), newest_first[..10]);
    // The event at the cursor's position, and the next five.
    for id in &newest_first[9..15] {
        store.op().event(&posts, *id).delete(None).await.unwrap();
    }
    let next = lately_model::EventQuery { cursor: page.next, ..query(10) };
    let page = store.op().topic(&posts).latest(&next).await.unwrap();
    assert_eq!(ids(&page.events), newest_first[15..25]);
}

#[tokio::test(start_paused = true)]
async fn a_deletion_with_a_lost_response_succeeds() {
    let (world, engine, whole, posts) = with_posts("{}").await;
    let id = post(&whole, &posts, vec![event("note", None)]).await[0];
    let lost = Fault::Timeout(Moment::After);
    let faults = Faults::default().nth(1, Target::operation(Operation::DeleteItem), lost);
    let faulty = store(engine.client_with(faults).client(), &world);
    let op = faulty.op();
    op.event(&posts, id).delete(Some(&"ada".parse().unwrap())).await.unwrap();
    assert_eq!(op.cost().calls, 3, "the topic, the delete, and its retry");
    assert!(matches!(whole.op().event(&posts, id).get().await, Err(GetEventError::NotFound(_))));
}

#[tokio::test(start_paused = true)]
async fn a_clock_that_jumped_back_gives_no_future_ids() {
    let (world, _, store, posts) = with_posts("{}").await;
    world.shift(Duration::from_secs(3600));
    post(&store, &posts, vec![event("note", None)]).await;
    world.shift(Duration::ZERO);
    let refused = store.op().topic(&posts).write(submission(vec![event("note", None)])).await;
    assert!(matches!(refused, Err(lately_store::WriteError::Table(_))));
}

#[tokio::test(start_paused = true)]
async fn an_attempt_that_arrives_after_the_deletion_brings_nothing_back() {
    for records_at_once in [1, 100] {
        let Scene { engine, store, posts, .. } = Scene::new(FeedSettings::default()).await;
        let id = post(&store, &posts, vec![event("note", None)]).await[0];
        let is_event = |item: &Item| item["pk"].as_s().unwrap().starts_with("EVENTS#");
        let attempt = items(&engine).await.into_iter().find(is_event).unwrap();
        pass(Duration::from_secs(3)).await;
        store.op().event(&posts, id).delete(None).await.unwrap();
        put(&engine.client(), [attempt]).await;

        let stream = engine.stream(TABLE).unwrap();
        let mut handled = SequenceNumber::START;
        while handled < stream.latest(0) {
            let batch = stream.read(0, handled, records_at_once, u64::MAX);
            handled = batch.next;
            tell(&store, &stream.lambda_event(&batch.records)).await;
        }
        assert!(matches!(store.op().event(&posts, id).get().await, Err(GetEventError::NotFound(_))));
        assert!(
            !items(&engine).await.iter().any(|item| item["pk"].as_s().unwrap().starts_with("SOURCE#actor"))
        );
    }
}
