//! Random faults: deliveries are the same for the same seed, at least once, and in order.

use std::collections::BTreeSet;
use std::time::Duration;

use lately_pump::{Destination, Mapping, PumpFaults, PumpOptions};
use proptest::prelude::*;
use serde_json::Value;
use tokio::time::sleep;

use crate::rig::{
    Call, Does, Log, by_item, engine, fails_on, failures, mapping, put, put_all, start_with, stream,
};

/// The invocations of a function that fails for one item, with further faults, and the objects in the destination.
async fn trace(seed: u64) -> (Vec<Call>, Vec<String>) {
    let (engine, log, destination) = (engine(3), Log::new(), Destination::memory());
    let faults = PumpFaults {
        duplicate: 0.2,
        crash_before: 0.2,
        crash_after: 0.2,
        interleave: 4,
        ..PumpFaults::default()
    };
    let mapping = Mapping { lanes: 3, batch_size: 4, bisect: true, maximum_retries: Some(2), ..mapping() };
    let options = PumpOptions { seed, faults, ..PumpOptions::default() };
    let handler = log.handler(Duration::from_millis(2), fails_on("7"));
    let running = start_with(&engine, mapping, handler, Some(&destination), options);
    for _ in 0..5 {
        put_all(&engine, 0..10).await;
        sleep(Duration::from_millis(7)).await;
    }
    running.settle_and_stop().await;
    (log.calls(), destination.list().unwrap())
}

#[tokio::test(start_paused = true)]
async fn the_same_seed_gives_the_same_deliveries() {
    let one = trace(1).await;
    assert_eq!(trace(1).await, one);
    assert_ne!(trace(2).await.0, one.0);
}

/// A run to check: the writes, and the failures of the function and the pump.
#[derive(Debug, Clone)]
struct Run {
    seed: u64,
    /// The item of each write, and the milliseconds of pause after it.
    writes: Vec<(u32, u64)>,
    /// The behaviours of the invocations, used in turn.
    does: Vec<u8>,
    shards: u16,
    mapping: Mapping,
    faults: PumpFaults,
}

fn runs() -> impl Strategy<Value = Run> {
    let mapping = (1u16..4, 1usize..8, 0u64..20, 0u32..4, any::<bool>(), any::<bool>()).prop_map(
        |(lanes, batch_size, window, retries, bisect, report_failures)| Mapping {
            lanes,
            batch_size,
            window: Duration::from_millis(window),
            maximum_retries: Some(retries),
            bisect,
            report_failures,
            ..mapping()
        },
    );
    let faults = (0.0..0.4f64, 0.0..0.4f64, 0.0..0.4f64, 0u8..4).prop_map(
        |(duplicate, crash_before, crash_after, interleave)| PumpFaults {
            duplicate,
            crash_before,
            crash_after,
            interleave,
            ..PumpFaults::default()
        },
    );
    let writes = prop::collection::vec((0u32..8, 0u64..4), 1..60);
    (any::<u64>(), writes, prop::collection::vec(0u8..12, 1..20), 1u16..4, mapping, faults).prop_map(
        |(seed, writes, does, shards, mapping, faults)| Run { seed, writes, does, shards, mapping, faults },
    )
}

async fn check(run: Run) -> Result<(), TestCaseError> {
    let (engine, log, destination) = (engine(run.shards), Log::new(), Destination::memory());
    let lanes = usize::from(run.shards * run.mapping.lanes);
    let reports = run.mapping.report_failures;
    let number = std::sync::atomic::AtomicUsize::new(0);
    let does = move |call: &Call| {
        let number = number.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        match run.does[number % run.does.len()] {
            0 => Does::Panic,
            1 => Does::Error,
            index @ 2..6 if reports => Does::Before(usize::from(index) % call.records.len()),
            _ => Does::All,
        }
    };
    let options = PumpOptions { seed: run.seed, faults: run.faults, ..PumpOptions::default() };
    let handler = log.handler(Duration::from_millis(1), does);
    let running = start_with(&engine, run.mapping, handler, Some(&destination), options);
    for (key, wait) in run.writes {
        put(&engine, &key.to_string()).await;
        sleep(Duration::from_millis(wait)).await;
    }
    let statistics = running.settle_and_stop().await;

    let done = log.done();
    let mut settled: BTreeSet<_> = done.iter().map(|record| record.sequence.to_string()).collect();
    let given_up: Vec<_> = failures(&destination).into_iter().map(|(_, failure)| failure.payload).collect();
    for payload in &given_up {
        let event: Value = serde_json::from_str(payload).unwrap();
        let records = event["Records"].as_array().unwrap();
        settled.extend(records.iter().map(|r| r["dynamodb"]["SequenceNumber"].as_str().unwrap().to_owned()));
    }
    let written = stream(&engine).all();
    let written: BTreeSet<_> = written.iter().map(|record| record.sequence.to_string()).collect();
    prop_assert_eq!(settled, written.clone(), "every record is done or in the destination");
    let items = by_item(&done);
    prop_assert!(
        items.values().all(|s| s.is_sorted()),
        "an item's records were done out of order: {items:?}"
    );
    prop_assert!(log.calls().iter().all(|call| call.at_work <= lanes && !call.overlaps));
    prop_assert_eq!(statistics.delivered + statistics.in_destination, written.len() as u64);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn every_record_is_done_in_order_or_in_the_destination(run in runs()) {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        runtime.enable_time().start_paused(true).build().unwrap().block_on(check(run))?;
    }
}
