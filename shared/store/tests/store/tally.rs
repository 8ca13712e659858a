//! The tally of a store: it counts all operations, also failed ones, whose cost no result reports.

use lately_engine::Operation;
use lately_engine::fault::{Fault, Faults, Target, Throttle, When};
use lately_store::{Store, Tally};

use crate::support::{event, post, store, submission, topic, with_posts};

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
async fn throttles_and_doubled_shards_are_counted_and_other_failures_are_not() {
    let batch = || Target::operation(Operation::BatchWriteItem);
    let hot = Fault::Throttle(Throttle::TableKeyRange);
    for (calls, times, fault, events, throttles, shards_doubled) in [
        (puts(), 2, hot, 1, 2, 1),
        (puts(), 1, Fault::InternalServerError, 1, 0, 0),
        (puts(), 1, Fault::TransactionConflict, 1, 0, 0),
        (batch(), 1, Fault::Unprocessed(1.0), 3, 1, 0),
    ] {
        let store = faulty(Faults::default().rule(calls, When::First(times), fault.clone())).await;
        post(&store, &topic("posts"), vec![event("note", None); events]).await;
        let tally = store.take_tally();
        assert!(tally.cost.calls > times, "the write was retried");
        let counted = (tally.throttles, tally.throttles_given_up, tally.shards_doubled);
        assert_eq!(counted, (throttles, 0, shards_doubled), "{fault:?}");
    }
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
