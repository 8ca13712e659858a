//! The events of issues: each change has one event of the right type, and both are written or neither.

use lately_engine::Operation;
use lately_engine::fault::{Fault, Faults, Moment, Target, Throttle, When};

use super::support::{change, now, open, stored, told};
use crate::support::{
    assert_directory_held, change as topic_change, start, store, topic, with_a_death_at_each_call,
};

#[test]
fn a_crash_leaves_the_change_and_its_event_or_neither() {
    let calls = with_a_death_at_each_call(async |call, faults| {
        let (world, engine, plain) = start(1);
        let opened = open(&plain, r#"{"title":"t"}"#).await;
        let client = engine.client_with(faults);
        let victim = store(client.client(), &world);
        let changing = change(&victim, 1, r#"{"status":"closed"}"#, opened.revision);
        let lived = client.run(changing).await.is_some();
        let is_done = now(&plain, 1).await.revision == opened.revision.next();
        assert_eq!(told(&engine).await.len(), 1 + usize::from(is_done), "{call}");
        assert!(is_done || !lived, "{call}");
        !lived
    });
    assert_eq!(
        calls, 6,
        "the issue, the topic, the erasures, the bucket's entry, the transaction, the own feed"
    );
}

#[tokio::test(start_paused = true)]
async fn a_retried_transaction_is_applied_once() {
    for fault in [
        Fault::Timeout(Moment::After),
        Fault::Timeout(Moment::Before),
        Fault::InternalServerError,
        Fault::TransactionInProgress,
        Fault::TransactionConflict,
        Fault::Throttle(Throttle::TableKeyRange),
    ] {
        let (world, engine, _) = start(1);
        let writes = Target::operation(Operation::TransactWriteItems);
        let faults = Faults::default().rule(writes, When::First(3), fault.clone());
        let client = engine.client_with(faults);
        let store = store(client.client(), &world);
        let opened = open(&store, r#"{"title":"t"}"#).await;
        assert_eq!((opened.number.get(), client.injected().len()), (1, 3), "{fault:?}");
        assert_eq!((stored(&engine).await.len(), told(&engine).await.len()), (1, 1), "{fault:?}");
    }
    // This also holds for a change: its retry is not refused because of the revision that the first attempt wrote.
    let (world, engine, plain) = start(1);
    let opened = open(&plain, r#"{"title":"t"}"#).await;
    let writes = Target::operation(Operation::TransactWriteItems);
    let client = engine.client_with(Faults::default().nth(1, writes, Fault::Timeout(Moment::After)));
    let changed =
        change(&store(client.client(), &world), 1, r#"{"title":"x"}"#, opened.revision).await.unwrap();
    assert_eq!((changed.revision, told(&engine).await.len()), (opened.revision.next(), 2));
}

#[tokio::test(start_paused = true)]
async fn only_a_throttle_of_the_topic_doubles_its_shards() {
    for (partition, shards) in [("EVENTS#issues", 2), ("REPO#", 1)] {
        let (world, engine, _) = start(1);
        let writes = Target::operation(Operation::TransactWriteItems).partition(partition);
        let throttled = Faults::default().nth(1, writes, Fault::Throttle(Throttle::TableKeyRange));
        let client = engine.client_with(throttled);
        let store = store(client.client(), &world);
        store.op().topic(&topic("issues")).put(&topic_change("{}")).await.unwrap();
        open(&store, r#"{"title":"t"}"#).await;
        assert_eq!(client.injected().len(), 1);
        let view = store.op().topic(&topic("issues")).view().await.unwrap();
        assert_eq!(view.buckets[0].shards.get(), shards, "{partition}");
        assert_directory_held(&engine);
    }
}
