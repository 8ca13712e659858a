//! What a store tells of all that it did: also of what failed, which no answer tells the price of.

use lately_engine::fault::{Fault, Faults, Target, Throttle, When};
use lately_engine::{Operation, Options};
use lately_store::{Store, Tally};

use crate::support::{World, change, engine, event, store, submission, topic};

/// A store with the topic `posts`, to which this happens afterwards.
async fn with_posts(faults: Faults) -> Store {
    let world = World::new(1);
    let engine = engine(&world, Options::default());
    store(engine.client(), &world)
        .op()
        .topic(&topic("posts"))
        .put(&change(r#"{"fan_out":false}"#))
        .await
        .unwrap();
    store(engine.client_with(faults).client(), &world)
}

fn puts() -> Target {
    Target::operation(Operation::PutItem).partition("EVENTS#")
}

#[tokio::test(start_paused = true)]
async fn an_operation_is_told_once_with_its_cost() {
    let store = with_posts(Faults::default()).await;
    let op = store.op();
    op.write(submission(&topic("posts"), vec![event("note", None)])).await.unwrap();
    let cost = op.cost();
    // The tally counts requests that are over.
    drop(op);
    assert_eq!(store.take_tally(), Tally { cost, ..Tally::default() });
    assert_eq!(store.clone().take_tally(), Tally::default());
}

#[tokio::test(start_paused = true)]
async fn throttles_are_told_and_the_shards_that_they_doubled() {
    let hot = Fault::Throttle(Throttle::TableKeyRange);
    let store = with_posts(Faults::default().rule(puts(), When::First(2), hot)).await;
    store.op().write(submission(&topic("posts"), vec![event("note", None)])).await.unwrap();
    let Tally { throttles, throttles_given_up, shards_doubled, .. } = store.take_tally();
    assert_eq!((throttles, throttles_given_up, shards_doubled), (2, 0, 1));
}

#[tokio::test(start_paused = true)]
async fn what_was_given_up_is_told_with_what_it_cost_in_vain() {
    let store =
        with_posts(Faults::default().rule(puts(), When::Always, Fault::Throttle(Throttle::Account))).await;
    store.op().write(submission(&topic("posts"), vec![event("note", None)])).await.unwrap_err();
    let tally = store.take_tally();
    assert_eq!((tally.throttles_given_up, tally.shards_doubled), (1, 0));
    assert!(tally.throttles >= 5 && tally.cost.calls > tally.throttles, "{tally:?}");
}

#[tokio::test(start_paused = true)]
async fn a_conflict_or_a_failure_is_no_throttle() {
    for fault in [Fault::InternalServerError, Fault::TransactionConflict] {
        let store = with_posts(Faults::default().rule(puts(), When::First(1), fault)).await;
        store.op().write(submission(&topic("posts"), vec![event("note", None)])).await.unwrap();
        let Tally { cost, throttles, throttles_given_up, .. } = store.take_tally();
        assert!(cost.calls > 2, "it was tried again");
        assert_eq!((throttles, throttles_given_up), (0, 0));
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_batch_leaves_unprocessed_was_throttled() {
    let batch = Target::operation(Operation::BatchWriteItem);
    let store = with_posts(Faults::default().rule(batch, When::First(1), Fault::Unprocessed(1.0))).await;
    let events = (0..3).map(|_| event("note", None)).collect();
    store.op().write(submission(&topic("posts"), events)).await.unwrap();
    assert_eq!(store.take_tally().throttles, 1);
}
