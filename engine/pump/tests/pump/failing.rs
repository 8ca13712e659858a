//! Tests of retries, splits, and records that are given up.

use std::collections::BTreeSet;
use std::time::Duration;

use lately_pump::{Condition, Destination, Mapping, PumpFaults, PumpOptions};
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::rig::{
    AT_ONCE, Call, Does, Log, SECOND, all, engine, fails_on, failures, mapping, put, put_all, start,
    start_with, stream,
};

#[tokio::test(start_paused = true)]
async fn records_from_the_lowest_reported_one_on_are_retried() {
    let (engine, log) = (engine(1), Log::new());
    put_all(&engine, 0..5).await;
    let mapping = Mapping { report_failures: true, ..mapping() };
    // The response names all records from the third on, the last one first.
    let does = |call: &Call| if call.records.len() == 5 { Does::Before(2) } else { Does::All };
    let running = start(&engine, mapping, log.handler(AT_ONCE, does));
    let statistics = running.settle_and_stop().await;
    assert_eq!(log.keys(), [vec!["0", "1", "2", "3", "4"], vec!["2", "3", "4"]]);
    assert_eq!((statistics.delivered, statistics.failures, statistics.retries), (5, 1, 1));
}

#[tokio::test(start_paused = true)]
async fn any_response_is_success_without_report_batch_item_failures() {
    let (engine, log) = (engine(1), Log::new());
    put_all(&engine, 0..5).await;
    let running = start(&engine, mapping(), log.handler(AT_ONCE, |_| Does::Before(2)));
    let statistics = running.settle_and_stop().await;
    assert_eq!((statistics.delivered, statistics.invocations), (5, 1));
}

#[tokio::test(start_paused = true)]
async fn bisection_isolates_the_failing_record() {
    let (engine, log, destination) = (engine(1), Log::new(), Destination::memory());
    put_all(&engine, 0..100).await;
    let mapping = Mapping { bisect: true, maximum_retries: Some(2), ..mapping() };
    let handler = log.handler(AT_ONCE, fails_on("37"));
    let running = start_with(&engine, mapping, handler, Some(&destination), PumpOptions::default());
    put(&engine, "later").await;
    let statistics = running.settle_and_stop().await;

    let done: BTreeSet<_> = log.done().into_iter().map(|record| record.pk).collect();
    assert_eq!((done.len(), done.contains("37"), done.contains("later")), (100, false, true));
    let given_up = failures(&destination);
    assert_eq!(given_up.len(), 1);
    assert_eq!((given_up[0].1.batch.batch_size, statistics.in_destination), (1, 1));
    assert!(given_up[0].1.payload.contains(r#"{"S":"37"}"#));
    // 100 records are halved at most seven times. Then the failing record has all its retries. The wait after a split
    // is no longer than that before the first retry.
    assert!((6..=7).contains(&statistics.bisects), "{statistics:?}");
    assert_eq!((statistics.retries, statistics.failures), (2, statistics.bisects + 3));
    let later = log.times().into_iter().next_back().unwrap();
    assert!(later <= Duration::from_millis(7 * 100 + 100 + 200), "{later:?}");
}

#[tokio::test(start_paused = true)]
async fn a_batch_is_given_up_after_retries_with_growing_waits() {
    let (engine, log, destination) = (engine(1), Log::new(), Destination::memory());
    put_all(&engine, [1, 2]).await;
    let mapping = Mapping { maximum_retries: Some(3), ..mapping() };
    let handler = log.handler(AT_ONCE, |call| if call.records.len() == 2 { Does::Error } else { Does::All });
    let running = start_with(&engine, mapping.clone(), handler, Some(&destination), PumpOptions::default());
    running.handle.settled().await;
    put(&engine, "3").await;
    let statistics = running.settle_and_stop().await;

    let times = log.times();
    assert_eq!(log.keys(), [vec!["1", "2"], vec!["1", "2"], vec!["1", "2"], vec!["1", "2"], vec!["3"]]);
    for (wait, longest) in times.windows(2).zip([100, 200, 400]) {
        let waited = (wait[1] - wait[0]).as_millis();
        assert!((longest / 2..=longest).contains(&waited), "{times:?}");
    }
    assert_eq!((statistics.in_destination, statistics.delivered, statistics.retries), (2, 1, 3));

    let given_up = failures(&destination);
    let [(name, failure)] = &given_up[..] else { panic!("{given_up:?}") };
    let shard = "shardId-00000000000000000000-00000000";
    let beginning = format!("aws/lambda/{}/{shard}/2026/01/01/2026-01-01T00.00.00-", mapping.id());
    assert!(name.starts_with(&beginning) && name.len() == beginning.len() + 36, "{name}");
    let stored: Value = serde_json::from_slice(&destination.read(name).unwrap()).unwrap();
    let millis = (times[3]).as_millis();
    let expected = json!({
        "requestContext": {
            "requestId": failure.request_context.request_id,
            "functionArn": "arn:aws:lambda:dynoxide:000000000000:function:FanOut",
            "condition": "RetryAttemptsExhausted",
            "approximateInvokeCount": 4,
        },
        "responseContext": {"statusCode": 200, "executedVersion": "$LATEST", "functionError": "Unhandled"},
        "version": "1.0",
        "timestamp": format!("2026-01-01T00:00:00.{millis:03}Z"),
        "DDBStreamBatchInfo": {
            "shardId": shard,
            "startSequenceNumber": "100000000000000000001",
            "endSequenceNumber": "100000000000000000002",
            "approximateArrivalOfFirstRecord": "2026-01-01T00:00:00Z",
            "approximateArrivalOfLastRecord": "2026-01-01T00:00:00Z",
            "batchSize": 2,
            "streamArn": stream(&engine).arn(),
        },
        "payload": stream(&engine).lambda_event(&stream(&engine).all()[..2]),
    });
    assert_eq!(stored, expected);
}

#[tokio::test(start_paused = true)]
async fn records_given_up_without_a_destination_are_counted() {
    let (engine, log) = (engine(1), Log::new());
    put_all(&engine, [1, 2]).await;
    let mapping = Mapping { maximum_retries: Some(0), ..mapping() };
    let running = start(&engine, mapping, log.handler(AT_ONCE, |_| Does::Panic));
    let statistics = running.settle_and_stop().await;
    assert_eq!((statistics.dropped, statistics.invocations, statistics.in_destination), (2, 1, 0));
}

#[tokio::test(start_paused = true)]
async fn a_record_is_given_up_at_the_maximum_age() {
    let (engine, log, destination) = (engine(1), Log::new(), Destination::memory());
    let mapping = Mapping { maximum_age: Some(60 * SECOND), batch_size: 2, ..mapping() };
    let handler = log.handler(AT_ONCE, fails_on("old"));
    let running = start_with(&engine, mapping, handler, Some(&destination), PumpOptions::default());
    put(&engine, "old").await;
    sleep(30 * SECOND).await;
    put(&engine, "new").await;
    let statistics = running.settle_and_stop().await;
    // The last wait began before the record reached the maximum age, and lasts 10 s at most.
    let delivered = log.times().into_iter().next_back().unwrap();
    assert!((60 * SECOND..=70 * SECOND).contains(&delivered), "{delivered:?}");
    assert_eq!(log.keys().pop(), Some(vec!["new".to_owned()]));
    let given_up = failures(&destination);
    assert_eq!(given_up.len(), 1);
    assert_eq!(given_up[0].1.request_context.condition, Condition::RecordAgeExceeded);
    assert_eq!((statistics.in_destination, statistics.delivered), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn a_record_that_is_already_too_old_is_never_delivered() {
    let (engine, log, destination) = (engine(1), Log::new(), Destination::memory());
    put_all(&engine, [1]).await;
    sleep(61 * SECOND).await;
    put_all(&engine, [2]).await;
    let mapping = Mapping { maximum_age: Some(60 * SECOND), ..mapping() };
    let handler = log.handler(AT_ONCE, all);
    let running = start_with(&engine, mapping, handler, Some(&destination), PumpOptions::default());
    running.settle_and_stop().await;
    assert_eq!(log.keys(), [["2"]]);
    let (_, failure) = failures(&destination).remove(0);
    assert_eq!((failure.request_context.approximate_invoke_count, failure.response_context), (0, None));
}

#[tokio::test(start_paused = true)]
async fn trimmed_records_are_counted_and_skipped() {
    let (engine, log) = (engine(1), Log::new());
    let paused = PumpFaults { paused: true, ..PumpFaults::default() };
    let options = PumpOptions { faults: paused, ..PumpOptions::default() };
    let running = start_with(&engine, mapping(), log.handler(AT_ONCE, all), None, options);
    put_all(&engine, 0..5).await;
    sleep(25 * 3_600 * SECOND).await;
    put(&engine, "new").await;
    running.handle.set_faults(PumpFaults::default());
    let statistics = running.settle_and_stop().await;
    assert_eq!(log.keys(), [["new"]]);
    assert_eq!((statistics.trimmed, statistics.delivered), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn without_maximum_retries_a_record_is_retried_until_trimmed() {
    let (engine, log, destination) = (engine(1), Log::new(), Destination::memory());
    put(&engine, "bad").await;
    let handler = log.handler(AT_ONCE, fails_on("bad"));
    let running = start_with(&engine, mapping(), handler, Some(&destination), PumpOptions::default());
    let statistics = running.settle_and_stop().await;
    let last = log.times().into_iter().next_back().unwrap();
    let retention = 24 * 3_600 * SECOND;
    assert!((retention - 10 * SECOND..=retention).contains(&last), "{last:?}");
    assert_eq!((statistics.trimmed, statistics.delivered), (1, 0));
    assert_eq!(destination.list().unwrap(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn no_checkpoint_passes_a_batch_the_destination_could_not_store() {
    let (engine, log) = (engine(1), Log::new());
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("failures");
    std::fs::write(&path, "not a folder").unwrap();
    let destination = Destination::folder(&path);
    put(&engine, "bad").await;
    let mapping = Mapping { maximum_retries: Some(0), ..mapping() };
    let handler = log.handler(AT_ONCE, |_| Does::Error);
    let running = start_with(&engine, mapping, handler, Some(&destination), PumpOptions::default());
    sleep(60 * SECOND).await;
    assert_eq!((log.calls().len(), running.handle.idle()), (1, false));
    std::fs::remove_file(&path).unwrap();
    running.settle_and_stop().await;
    assert_eq!(failures(&destination).len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_batch_that_was_given_up_can_be_redriven() {
    let (engine, log) = (engine(1), Log::new());
    let directory = tempfile::tempdir().unwrap();
    let destination = Destination::folder(directory.path());
    put_all(&engine, 0..3).await;
    let mapping = Mapping { maximum_retries: Some(0), ..mapping() };
    let handler = log.handler(AT_ONCE, |_| Does::Error);
    let running = start_with(&engine, mapping, handler, Some(&destination), PumpOptions::default());
    running.settle_and_stop().await;

    let redriven = Log::new();
    let handler = redriven.handler(AT_ONCE, all);
    for (name, failure) in failures(&destination) {
        handler.invoke(failure.payload).await.unwrap();
        destination.delete(&name).unwrap();
    }
    assert_eq!(redriven.done(), log.calls()[0].records);
    assert_eq!(destination.list().unwrap(), [""; 0]);
}
