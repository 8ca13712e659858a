//! The prices of consumers and reports: they depend on the new events, not on the size of the topic.

use std::collections::BTreeSet;
use std::time::Duration;

use lately_keys::EventId;
use lately_model::{PollRequest, RunSpec};
use lately_store::{Begun, Cost, Run, Store};

use crate::consumers::{Files, LEASE, Rig, SETTLED, attempt, nightly, report, report_later};
use crate::support::{DAY, HOUR, event, pass, post, topic};

/// Calls, halves of read units, and write units.
fn price(cost: Cost) -> (u64, u64, u64) {
    assert_eq!(cost.write_units.halves % 2, 0);
    (cost.calls, cost.read_units.halves, cost.write_units.halves / 2)
}

/// Does a whole run. Returns the price of each of its steps, and the run.
async fn priced_report(store: &Store, files: &mut Files) -> ([(u64, u64, u64); 5], Run) {
    let op = store.op();
    let begun = op.runs(&nightly()).begin(&RunSpec::default(), LEASE).await.unwrap();
    let begin = op.cost();
    let Begun::Run(run) = begun else { panic!() };
    let op = store.op();
    let late = op.run(&run).late_ids(files).await.unwrap();
    let list = op.cost();
    let mut range = store.op().topic(&nightly().topic).range(run.from, run.to).await.unwrap();
    let mut found: Vec<EventId> = late;
    while let Some(events) = range.next().await.unwrap() {
        found.extend(events.iter().map(|event| event.id));
    }
    let op = store.op();
    let run = op.run(&run).commit(&attempt("a", store.now())).await.unwrap();
    let commit = op.cost();
    files.files.insert(run.to, found.into_iter().collect());
    let op = store.op();
    op.run(&run).finish().await.unwrap();
    let finish = op.cost();
    ([begin, list, range.cost(), commit, finish].map(price), run)
}

#[tokio::test(start_paused = true)]
async fn a_run_costs_only_its_new_events() {
    let mut prices = Vec::new();
    for older in [400, 4_000] {
        let rig = Rig::with(r#"{"fan_out":false,"views":[],"min_shards":4,"bucket":"hour"}"#).await;
        for n in 0..10 {
            rig.write_many(older / 10, DAY + n * HOUR).await;
        }
        let mut files = Files::default();
        report_later(&rig, &mut files).await;
        // 880 bytes of data and 77 of everything else: four events fill a unit.
        let notes = vec![event("note", Some(format!("\"{}\"", "x".repeat(878)))); 400];
        post(&rig.store, &topic("billing"), notes).await;
        pass(SETTLED).await;
        let ([begin, list, read, commit, finish], run) = priced_report(&rig.store, &mut files).await;
        assert_eq!(files.files[&run.to].len(), 400);
        // The topic, the checkpoint and the end of the late log are read; one transaction writes two items.
        assert_eq!(begin, (4, 5, 4));
        assert_eq!(list, (0, 0, 0));
        // The directory, and each of the four shards.
        let (calls, units, 0) = read else { panic!("{read:?}") };
        assert!(calls == 5 && (2 * 94..=2 * (100 + 5)).contains(&units), "{read:?}");
        assert_eq!((commit, finish), ((1, 0, 1), (2, 2, 1)));
        prices.push(units);
    }
    assert!(prices[0].abs_diff(prices[1]) <= 8, "events spread at random over four shards: {prices:?}");
}

#[tokio::test(start_paused = true)]
async fn every_run_of_a_day_costs_the_same() {
    let rig = Rig::with(r#"{"fan_out":false,"views":[],"bucket":"quarter-hour"}"#).await;
    let mut files = Files::default();
    report_later(&rig, &mut files).await;
    let mut prices = BTreeSet::new();
    for _ in 0..24 * 4 {
        pass(Duration::from_secs(900)).await;
        rig.write_many(3, Duration::from_secs(12)).await;
        prices.insert(priced_report(&rig.store, &mut files).await.0);
    }
    // The range reads the directory, and the only bucket with events.
    assert_eq!(prices, [[(3, 3, 4), (0, 0, 0), (2, 4, 0), (1, 0, 1), (2, 2, 1)]].into());
    assert_eq!(files.reported().len(), 3 * 24 * 4);
}

#[tokio::test(start_paused = true)]
async fn late_events_cost_their_items_of_the_log_and_the_runs_that_cover_them() {
    let (mut rig, mut files) = Rig::reported().await;
    for events in [1, 100] {
        rig.write_many(events, DAY).await;
        rig.tell().await;
        pass(SETTLED).await;
        let ([_, list, _, _, finish], _) = priced_report(&rig.store, &mut files).await;
        // The list reads the item, the run that covers the events, and which of them were reported. It writes one page.
        let page = if events == 1 { 1 } else { 2 };
        assert_eq!(list, (4, 6, page), "{events} events");
        assert_eq!(finish, (2, 2, 1));
    }
    assert_eq!(files.looks, 2);
}

#[tokio::test(start_paused = true)]
async fn a_poll_costs_its_events_and_an_empty_poll_little() {
    let rig = Rig::consumed().await;
    let poll = async || {
        let op = rig.store.op();
        let polled = op.consumer(&nightly()).poll(PollRequest::default()).await.unwrap();
        (polled, op.cost())
    };
    rig.write_many(100, Duration::ZERO).await;
    pass(SETTLED).await;
    // The first poll notes that the consumer is polled, which is one write.
    let (polled, cost) = poll().await;
    let (calls, _, written) = price(cost);
    assert_eq!((polled.events.len(), calls, written), (100, 7, 2));
    let batch = polled.batch.unwrap();
    let (_, cost) = poll().await;
    assert_eq!(price(cost).2, 0, "a repeated batch is only read");
    let op = rig.store.op();
    op.consumer(&nightly()).commit(batch).await.unwrap();
    assert_eq!(price(op.cost()), (2, 2, 1));
    let op = rig.store.op();
    op.consumer(&nightly()).commit(batch).await.unwrap();
    assert_eq!(op.cost().write_units.halves, 0, "the same commit again");

    // The checkpoint, the end of the late log, the directory and the shard at the position are read, and the topic every
    // other second. Nothing is written.
    for topics in [0, 1, 0] {
        pass(Duration::from_secs(1)).await;
        let (polled, cost) = poll().await;
        let paid = (4 + topics, 7 + 2 * topics, 0);
        assert_eq!((polled.batch, polled.caught_up, price(cost)), (None, true, paid));
    }

    rig.write_many(100, Duration::ZERO).await;
    pass(SETTLED).await;
    rig.store.op().consumer(&nightly()).view().await.unwrap();
    let (polled, cost) = poll().await;
    // 100 events of 100 bytes cost three units.
    assert_eq!((polled.events.len(), price(cost).0, price(cost).2), (100, 5, 1));
    assert!(price(cost).1 <= 2 * (2 + 4), "{cost:?}");
}

#[tokio::test(start_paused = true)]
async fn a_status_reads_only_new_items_of_the_late_log() {
    let (mut rig, mut files) = Rig::reported().await;
    let op = rig.store.op();
    let view = op.consumer(&nightly()).view().await.unwrap();
    // The checkpoint, the end of the late log, and the directory; there is no bucket.
    assert_eq!((view.late, price(op.cost())), (0, (3, 5, 0)));
    rig.write(DAY).await;
    rig.tell().await;
    let op = rig.store.op();
    let view = op.consumer(&nightly()).view().await.unwrap();
    assert_eq!((view.late, price(op.cost())), (1, (4, 7, 0)));
    pass(SETTLED).await;
    report(&rig.store, &mut files).await;
    assert_eq!(rig.store.op().consumer(&nightly()).view().await.unwrap().late, 0);
}
