//! Tests of runs without faults: their events, their files and their calls.

use std::time::Duration;

use lately_model::{GroupBy, NewEvent, RunSpec};
use lately_report::{Outcome, Output, OutputError, Report};
use lately_store::Begun;

use crate::rig::{Rig, SETTLED, TIME, paid, pass};

#[tokio::test(start_paused = true)]
async fn a_report_contains_the_events_since_the_last_one() {
    let rig = Rig::new(1).await;
    let (reporter, report) = (rig.sound(), rig.report("nightly"));
    let mut written = rig.write(4, None).await;
    pass(SETTLED).await;
    let Outcome::Finished { events: 4, late: 0, files, .. } = reporter.finish(&report).await else {
        panic!()
    };
    written.extend(rig.write(3, None).await);
    pass(SETTLED).await;
    let Outcome::Finished { events: 3, late: 0, .. } = reporter.finish(&report).await else { panic!() };

    assert_eq!(rig.reported().await, written);
    let published = rig.published().await;
    let first = &published[&format!("reports/{}", files[0])];
    assert_eq!(first.lines[0]["data"]["amount"], 1.1);
    let groups = first.summary.groups.iter().map(|group| {
        let sum = group.counted.sum.as_ref().unwrap().to_string();
        (group.key.as_deref().unwrap(), group.counted.count, sum)
    });
    let groups: Vec<_> = groups.collect();
    let one = "1.10".to_owned();
    assert_eq!(groups, [("ada", 2, "2.20".to_owned()), ("bob", 1, one.clone()), ("cy", 1, one)]);
    let second = published.values().nth(1).unwrap();
    assert_eq!(reporter.output.summary(&files[1]).await.unwrap(), first.summary);
    assert!(matches!(reporter.output.summary("none").await, Err(OutputError::Store(_))));
    assert_eq!(second.summary.head.from, first.summary.head.to);
    assert!(rig.private().await.is_empty(), "the private objects are removed");
}

#[tokio::test(start_paused = true)]
async fn events_that_have_not_settled_wait_for_the_next_report() {
    let rig = Rig::new(2).await;
    let (reporter, report) = (rig.sound(), rig.report("nightly"));
    let written = rig.write(2, None).await;
    reporter.finish(&report).await;
    assert_eq!(rig.reported().await, []);
    pass(SETTLED).await;
    reporter.finish(&report).await;
    assert_eq!(rig.reported().await, written);
}

#[tokio::test(start_paused = true)]
async fn an_empty_range_is_reported_and_no_range_is_not() {
    let rig = Rig::new(3).await;
    let (reporter, report) = (rig.sound(), rig.report("nightly"));
    let Outcome::Finished { events: 0, .. } = reporter.finish(&report).await else { panic!() };
    assert_eq!(reporter.finish(&report).await, Outcome::Nothing);
    pass(Duration::from_millis(1)).await;
    let Outcome::Finished { events: 0, .. } = reporter.finish(&report).await else { panic!() };
    assert_eq!(rig.published().await.len(), 2);
    assert!(rig.published().await.values().all(|published| published.summary.groups.is_empty()));
}

#[tokio::test(start_paused = true)]
async fn a_run_keeps_the_counts_that_it_began_with() {
    let rig = Rig::new(4).await;
    rig.write_all(vec![paid("ada", r#"{"amount":1,"tax":0.2}"#), paid("bob", r#"{"tax":0.30}"#)]).await;
    pass(SETTLED).await;
    let report = rig.report("nightly");
    let spec = RunSpec { group_by: GroupBy::Type, sum: "tax".parse().ok() };
    let begun = rig.store.op().runs(&report.consumer).begin(&spec, Duration::ZERO).await.unwrap();
    assert!(matches!(begun, Begun::Run(_)));
    pass(Duration::from_millis(1)).await;
    rig.sound().finish(&report).await;
    let published = rig.published().await;
    let summary = &published.values().next().unwrap().summary;
    assert_eq!((summary.head.group_by, &summary.head.sum), (spec.group_by, &spec.sum));
    assert_eq!(summary.groups[0].key.as_deref(), Some("paid"));
    assert_eq!(summary.groups[0].counted.sum.as_ref().unwrap().to_string(), "0.50");
}

#[tokio::test(start_paused = true)]
async fn a_run_under_another_lease_is_not_touched() {
    let rig = Rig::new(5).await;
    let report = rig.report("nightly");
    let lease = Duration::from_secs(60);
    rig.store.op().runs(&report.consumer).begin(&report.spec, lease).await.unwrap();
    let until = rig.world.now().saturating_add(60_000);
    assert_eq!(rig.sound().finish(&report).await, Outcome::Busy { until });
    pass(lease).await;
    assert!(matches!(rig.sound().finish(&report).await, Outcome::Finished { .. }));
}

#[tokio::test(start_paused = true)]
async fn every_small_report_takes_the_same_number_of_calls() {
    let rig = Rig::new(9).await;
    let report = rig.report("nightly");
    let mut calls = Vec::new();
    for _ in 0..5 {
        rig.write(10, None).await;
        pass(Duration::from_secs(900)).await;
        let reporter = rig.sound();
        reporter.finish(&report).await;
        calls.push((reporter.table_calls(), reporter.objects.calls().len()));
    }
    // Four puts (lines, ids, summary, manifest), one look for the mark, two reads (manifest, ids), three final files
    // put or copied, one list, and four removals.
    assert!(calls[1..].iter().all(|(_, objects)| *objects == 4 + 1 + 2 + 3 + 1 + 4), "{calls:?}");
    // The hour may change during a run; one more hour is one more query.
    let (least, most) = (calls[1..].iter().min().unwrap().0, calls[1..].iter().max().unwrap().0);
    assert!(most <= least + 1, "{calls:?}");
}

#[tokio::test(start_paused = true)]
async fn every_event_is_one_line_of_the_report() {
    let rig = Rig::new(11).await;
    let sent = "{\n  \"amount\": 100000000000000000000000.01,\r\n  \"note\": \"a\\nb\"\n}";
    let written = rig.write_all(vec![paid("ada", sent), NewEvent { data: None, ..paid("ada", "1") }]).await;
    pass(SETTLED).await;
    rig.sound().finish(&rig.report("nightly")).await;
    assert_eq!(rig.reported().await, written);
    let published = rig.published().await;
    let published = published.values().next().unwrap();
    assert_eq!(published.lines[0]["data"]["note"], "a\nb");
    let sum = published.summary.groups[0].counted.sum.as_ref().unwrap();
    assert_eq!(sum.to_string(), "100000000000000000000000.01");
}

#[tokio::test(start_paused = true)]
async fn events_deleted_before_the_run_are_not_reported() {
    let rig = Rig::new(12).await;
    let written = rig.write(3, None).await;
    rig.store.op().event(&rig.topic, written[1]).delete(None).await.unwrap();
    pass(SETTLED).await;
    rig.sound().finish(&rig.report("nightly")).await;
    assert_eq!(rig.reported().await, [written[0], written[2]]);
}

/// The futures must be `Send`, so that a caller can move them to another thread.
#[test]
fn the_futures_of_a_report_are_send() {
    const fn is_send<T: Send>(_: &T) {}
    let _ = |store: lately_store::Store, output: Output, report: Report| {
        is_send(&lately_report::run(&store, &output, &report, TIME));
        is_send(&lately_report::handle(&store, &output, b"", TIME));
    };
}
