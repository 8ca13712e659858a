//! Tests of events that arrive late: each is in the next report and in no other.

use std::time::Duration;

use lately_engine::fault::Faults;
use lately_report::Outcome;

use crate::rig::{Plan, Rig, SETTLED, paid, pass, submission};

#[tokio::test(start_paused = true)]
async fn an_import_is_first_in_the_next_report() {
    let mut rig = Rig::new(1).await;
    let report = rig.report("nightly");
    let begun = rig.world.now();
    pass(Duration::from_secs(3_600)).await;
    rig.write(3, None).await;
    pass(SETTLED).await;
    rig.settle().await;
    rig.sound().finish(&report).await;

    let imported = rig.write(5, Some(begun)).await;
    let new = rig.write(2, None).await;
    rig.settle().await;
    pass(SETTLED).await;
    let outcome = rig.sound().finish(&report).await;
    assert!(matches!(outcome, Outcome::Finished { events: 7, late: 5, .. }), "{outcome:?}");
    let published = rig.published().await;
    let mut expected = imported;
    expected.sort();
    expected.extend(new);
    assert_eq!(published.values().last().unwrap().ids, expected);
    // The events are in no later report, although their stream records come again.
    rig.settle().await;
    pass(SETTLED).await;
    let outcome = rig.sound().finish(&report).await;
    assert!(matches!(outcome, Outcome::Finished { events: 0, .. }), "{outcome:?}");
}

#[tokio::test(start_paused = true)]
async fn a_reporter_ahead_and_writers_behind_lose_nothing() {
    let mut rig = Rig::new(2).await;
    let report = rig.report("nightly");
    // The most that is assumed of a reporter's clock: less than five seconds from DynamoDB's. Nothing is assumed of a
    // writer's clock.
    let process = rig.world.process().ahead(Duration::from_millis(4_900));
    let reporter = rig.reporter(process, Faults::default(), Plan::none());
    let behind = rig.store(rig.world.process().behind(Duration::from_secs(300)));
    reporter.finish(&report).await;
    let mut written = Vec::new();
    for _ in 0..4 {
        written.extend(rig.write(2, None).await);
        let late = behind.op().topic(&rig.topic).write(submission(vec![paid("ada", "1")])).await.unwrap();
        written.extend(late.events.iter().map(|event| event.id));
        rig.settle().await;
        pass(Duration::from_secs(20)).await;
        reporter.finish(&report).await;
    }
    let mut reported = rig.reported().await;
    assert!(!reported.is_sorted(), "some events arrived late");
    reported.sort();
    written.sort();
    assert_eq!(reported, written);
}

#[tokio::test(start_paused = true)]
async fn a_late_and_repeated_record_does_not_repeat_its_event() {
    let mut rig = Rig::new(3).await;
    let report = rig.report("nightly");
    let mut written = rig.write(3, None).await;
    pass(SETTLED).await;
    rig.sound().finish(&report).await;
    // Only now fan-out receives their records.
    let news = rig.news();
    for _ in 0..2 {
        rig.fan_out(&rig.store, &news).await;
        written.extend(rig.write(1, None).await);
        pass(SETTLED).await;
        let outcome = rig.sound().finish(&report).await;
        assert!(matches!(outcome, Outcome::Finished { events: 1, late: 0, .. }), "{outcome:?}");
    }
    assert_eq!(rig.reported().await, written);
}

#[tokio::test(start_paused = true)]
async fn a_look_up_reads_one_table_and_one_block() {
    let mut rig = Rig::new(4).await;
    let report = rig.report("nightly");
    rig.sound().finish(&report).await;
    // These events were stored so long after their time that the first report may have passed them. It has not.
    let at = rig.world.now().saturating_sub(6_000);
    rig.write(100, Some(at)).await;
    pass(SETTLED).await;
    rig.sound().finish(&report).await;
    rig.settle().await;
    pass(SETTLED).await;
    let reporter = rig.sound();
    reporter.finish(&report).await;
    let ranges: Vec<_> =
        reporter.objects.calls().into_iter().filter(|call| call.starts_with("range ")).collect();
    assert_eq!(ranges.len(), 2, "a hundred events are looked up: {ranges:?}");
    assert!(ranges.iter().all(|call| call.ends_with(".ids")), "{ranges:?}");
}

#[tokio::test(start_paused = true)]
async fn a_run_can_stop_and_continue_within_its_late_events() {
    let mut rig = Rig::new(5).await;
    let report = rig.report("nightly");
    let begun = rig.world.now();
    pass(Duration::from_secs(600)).await;
    rig.sound().finish(&report).await;
    let mut written = rig.write(250, Some(begun)).await;
    written.extend(rig.write(3, None).await);
    rig.settle().await;
    pass(SETTLED).await;
    let mut unfinished = 0;
    while unfinished < 20 {
        match rig.sound().run(&report, Duration::ZERO).await.unwrap().unwrap() {
            Outcome::Unfinished { .. } => unfinished += 1,
            Outcome::Finished { events: 253, late: 250, .. } => break,
            other => panic!("{other:?}"),
        }
    }
    assert!((3..20).contains(&unfinished), "a hundred at a time: {unfinished}");
    written.sort();
    assert_eq!(rig.reported().await, written);
}
