//! The tally of a store: it counts all operations, also failed ones, whose cost no result reports.

use lately_engine::Operation;
use lately_engine::fault::{Fault, Faults, Target, Throttle, When};
use lately_store::{Store, Tally};

use crate::support::{event, store, submission, topic, with_posts};

/// A store with the topic `posts`, whose calls meet faults.
async fn faulty(faults: Faults) -> Store {
    let (world, engine, _, _) = with_posts(r#"{"fan_out":false}"#).await;
    store(engine.client_with(faults).client(), &world)
}

fn puts() -> Target {
    Target::operation(Operation::PutItem).partition("EVENTS#")
}

#[tokio::test(start_paused = true)]
async fn an_operations_cost_is_counted_once() {
    let store = faulty(Faults::default()).await;
    let op = store.op();
    op.topic(&topic("posts")).write(submission(vec![event("note", None)])).await.unwrap();
    let cost = op.cost();
    // The tally counts a request when it is over.
    drop(op);
    assert_eq!(store.take_tally(), Tally { cost, ..Tally::default() });
    assert_eq!(store.clone().take_tally(), Tally::default());
}

#[tokio::test(start_paused = true)]
async fn throttles_and_doubled_shards_are_counted() {
    let hot = Fault::Throttle(Throttle::TableKeyRange);
    let store = faulty(Faults::default().rule(puts(), When::First(2), hot)).await;
    store.op().topic(&topic("posts")).write(submission(vec![event("note", None)])).await.unwrap();
    let Tally { throttles, throttles_given_up, shards_doubled, .. } = store.take_tally();
    assert_eq!((throttles, throttles_given_up, shards_doubled), (2, 0, 1));
}

#[tokio::test(start_paused = true)]
async fn a_failed_operation_is_counted_with_its_cost() {
    let store =
        faulty(Faults::default().rule(puts(), When::Always, Fault::Throttle(Throttle::Account))).await;
    store.op().topic(&topic("posts")).write(submission(vec![event("note", None)])).await.unwrap_err();
    let tally = store.take_tally();
    assert_eq!((tally.throttles_given_up, tally.shards_doubled), (1, 0));
    assert!(tally.throttles >= 5 && tally.cost.calls > tally.throttles, "{tally:?}");
}

#[tokio::test(start_paused = true)]
async fn conflicts_and_failures_are_not_counted_as_throttles() {
    for fault in [Fault::InternalServerError, Fault::TransactionConflict] {
        let store = faulty(Faults::default().rule(puts(), When::First(1), fault)).await;
        store.op().topic(&topic("posts")).write(submission(vec![event("note", None)])).await.unwrap();
        let Tally { cost, throttles, throttles_given_up, .. } = store.take_tally();
        assert!(cost.calls > 2, "the write was retried");
        assert_eq!((throttles, throttles_given_up), (0, 0));
    }
}

#[tokio::test(start_paused = true)]
async fn unprocessed_items_of_a_batch_count_as_a_throttle() {
    let batch = Target::operation(Operation::BatchWriteItem);
    let store = faulty(Faults::default().rule(batch, When::First(1), Fault::Unprocessed(1.0))).await;
    let events = (0..3).map(|_| event("note", None)).collect();
    store.op().topic(&topic("posts")).write(submission(events)).await.unwrap();
    assert_eq!(store.take_tally().throttles, 1);
}
