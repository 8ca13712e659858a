//! Tests of reports that are larger than the memory for them, or that take longer than one invocation.

use std::time::Duration;

use lately_engine::fault::{Faults, Moment};
use lately_keys::EventId;
use lately_report::limits::{LINE_BYTES, PART_BYTES, PARTS_AT_ONCE, SAVE_RESERVE, SEGMENT_BYTES};
use lately_report::{Outcome, Output, Report};

use crate::rig::{Effect, Plan, Rig, SETTLED, TIME, paid, pass, unfinished};

/// A rig with `count` events of a quarter of a megabyte each.
async fn with_large_events(seed: u64, count: usize) -> (Rig, Report, Vec<EventId>) {
    let mut rig = Rig::new(seed).await;
    let data = format!("{{\"amount\":0.01,\"text\":\"{}\"}}", "x".repeat(255_000));
    let mut written = Vec::new();
    for _ in 0..count / 10 {
        written.extend(rig.write_all((0..10).map(|_| paid("ada", &data)).collect()).await);
    }
    pass(SETTLED).await;
    rig.settle().await;
    let report = rig.report("nightly");
    (rig, report, written)
}

#[tokio::test(start_paused = true)]
async fn a_large_report_is_assembled_in_bounded_memory() {
    let (rig, report, written) = with_large_events(1, 150).await;
    let reporter = rig.sound();
    let outcome = reporter.finish(&report).await;
    assert!(matches!(outcome, Outcome::Finished { events: 150, .. }), "{outcome:?}");
    assert_eq!(rig.reported().await, written);
    let calls = reporter.objects.calls();
    let of = |kind: &str| calls.iter().filter(|call| call.starts_with(kind)).count();
    assert_eq!((of("multipart "), of("complete "), of("abort ")), (1, 1, 0), "{calls:?}");
    assert!(of("part ") > PARTS_AT_ONCE, "{calls:?}");
    let peak = reporter.objects.peak();
    assert!(peak > PART_BYTES, "several parts are sent at once: {peak}");
    assert!(peak <= (PART_BYTES * PARTS_AT_ONCE).max(SEGMENT_BYTES + LINE_BYTES), "{peak}");
}

#[tokio::test(start_paused = true)]
async fn a_large_report_is_assembled_in_a_folder_too() {
    let (rig, report, written) = with_large_events(8, 70).await;
    let folder = tempfile::tempdir().unwrap();
    let output = Output::folder(folder.path()).unwrap();
    let outcome = lately_report::run(&rig.store, &output, &report, TIME).await.unwrap();
    let Outcome::Finished { events: 70, files, .. } = outcome else { panic!("{outcome:?}") };
    let lines = std::fs::read_to_string(folder.path().join(&files[0])).unwrap();
    let ids = lines.lines().map(|line| {
        let event: serde_json::Value = serde_json::from_str(line).unwrap();
        event["id"].as_str().unwrap().parse::<EventId>().unwrap()
    });
    assert!(ids.eq(written));
    let of_report = std::fs::read_dir(folder.path().join(&files[0]).parent().unwrap()).unwrap();
    assert_eq!(of_report.count(), 3, "no other file remains");
}

#[tokio::test(start_paused = true)]
async fn a_failed_upload_is_aborted() {
    let (rig, _, written) = with_large_events(2, 70).await;
    let sound = rig.sound();
    sound.finish(&rig.report("c0")).await;
    let calls = sound.objects.calls();
    let numbers = |kind: &str| {
        let of_kind = |(number, call): (u64, &String)| {
            (call.starts_with(kind) && call.ends_with("ndjson")).then_some(number)
        };
        (1..).zip(&calls).filter_map(of_kind).collect::<Vec<_>>()
    };
    // Two faults: a part that is not sent, and a segment that cannot be read after the upload began.
    let (part, read) = (numbers("part ")[0], *numbers("get ").last().unwrap());
    assert!(read > numbers("multipart ")[0], "{calls:?}");
    for number in [part, read] {
        let report = rig.report(&format!("c{number}"));
        let fail = Plan::nth(number, Effect::Fail(Moment::Before));
        let victim = rig.reporter(rig.world.process(), Faults::default(), fail);
        assert!(victim.run(&report, TIME).await.unwrap().is_err());
        let calls = victim.objects.calls();
        assert!(calls.last().unwrap().starts_with("abort "), "{calls:?}");
        let shown = rig.published().await.into_keys().filter(|name| name.contains(&format!("/c{number}/")));
        assert_eq!(shown.count(), 0, "a failed report shows no file");
        pass(Duration::from_millis(1)).await;
        rig.sound().finish(&report).await;
    }
    assert!(rig.published().await.into_values().all(|published| published.ids == written));
}

#[tokio::test(start_paused = true)]
async fn a_fault_during_an_upload_leaves_one_complete_file() {
    let (rig, _, written) = with_large_events(7, 70).await;
    let sound = rig.sound();
    sound.finish(&rig.report("c0")).await;
    let calls = sound.objects.calls();
    let begins = calls.iter().position(|call| call.starts_with("multipart ")).unwrap() as u64 + 1;
    let ends = calls.iter().position(|call| call.starts_with("complete ")).unwrap() as u64 + 1;
    let mut reports = 1;
    // The upload's begin, a part and its end: all parts are sent alike.
    for n in [begins, begins + 1, ends] {
        for effect in
            [Effect::Crash(Moment::Before), Effect::Crash(Moment::After), Effect::Fail(Moment::After)]
        {
            let report = rig.report(&format!("c{reports}"));
            let victim = rig.reporter(rig.world.process(), Faults::default(), Plan::nth(n, effect));
            let outcome = victim.run(&report, TIME).await;
            assert!(!matches!(outcome, Some(Ok(_))), "{n}, {effect:?}: {outcome:?}");
            pass(TIME + Duration::from_secs(11)).await;
            rig.sound().finish(&report).await;
            reports += 1;
        }
    }
    let published = rig.published().await;
    assert_eq!(published.len(), reports);
    assert!(published.into_values().all(|published| published.ids == written));
}

#[tokio::test(start_paused = true)]
async fn a_run_out_of_time_continues_in_later_invocations() {
    let (mut rig, report, written) = with_large_events(3, 30).await;
    let reporter = rig.sound();
    let mut outcome = reporter.run(&report, Duration::ZERO).await.unwrap().unwrap();
    let mut invocations = 1;
    // From now on only the table's stream continues the run.
    while let Outcome::Unfinished { .. } = outcome {
        assert!(invocations < 100, "every invocation makes progress");
        let news = rig.news();
        rig.fan_out(&rig.store, &news).await;
        let next = unfinished(&news);
        assert_eq!(next.len(), 1, "each invocation starts one other");
        let (event, reporter) = (rig.event(&next), rig.sound());
        let handled =
            lately_report::handle(&reporter.store, &reporter.output, event.as_bytes(), Duration::ZERO).await;
        let answer = handled.unwrap();
        outcome = answer.outcomes.into_iter().next().unwrap();
        invocations += 1;
    }
    assert!(matches!(outcome, Outcome::Finished { events: 30, .. }), "{outcome:?}");
    assert!(invocations > 5, "{invocations}");
    assert_eq!(rig.reported().await, written);
    let published = rig.published().await;
    let summary = &published.values().next().unwrap().summary;
    assert_eq!(summary.groups[0].counted.sum.as_ref().unwrap().to_string(), "0.30");
    assert_eq!(rig.private().await, Vec::<String>::new());
    // A record that comes again after the run is finished starts nothing.
    pass(SETTLED).await;
    let news = rig.history();
    let event = rig.event(&unfinished(&news)[..1]);
    let answer = lately_report::handle(&reporter.store, &reporter.output, event.as_bytes(), TIME).await;
    assert_eq!(answer.unwrap().outcomes, [Outcome::Nothing]);
}

#[tokio::test(start_paused = true)]
async fn the_next_invocation_assembles_the_file_if_time_is_short() {
    let (rig, report, written) = with_large_events(6, 100).await;
    let time = SAVE_RESERVE + Duration::from_secs(1);
    let first = rig.sound();
    let outcome = first.run(&report, time).await.unwrap().unwrap();
    assert!(matches!(outcome, Outcome::Unfinished { .. }), "{outcome:?}");
    let second = rig.sound();
    let outcome = second.run(&report, time).await.unwrap().unwrap();
    assert!(matches!(outcome, Outcome::Finished { events: 100, .. }), "{outcome:?}");
    assert_eq!(rig.reported().await, written);
    let lines = second
        .objects
        .calls()
        .into_iter()
        .filter(|call| call.starts_with("put ") && call.ends_with(".ndjson"));
    assert_eq!(lines.count(), 0, "it wrote no event again");
}

#[tokio::test(start_paused = true)]
async fn a_run_continues_from_its_last_saved_progress_after_crashes() {
    let (rig, report, written) = with_large_events(4, 40).await;
    let outcome = rig.sound().run(&report, Duration::ZERO).await.unwrap().unwrap();
    assert!(matches!(outcome, Outcome::Unfinished { .. }));
    for n in 1..12 {
        let crash = Plan::nth(n, Effect::Crash(Moment::After));
        let victim = rig.reporter(rig.world.process(), Faults::default(), crash);
        let _ = victim.run(&report, Duration::ZERO).await;
        pass(Duration::from_secs(11)).await;
    }
    let outcome = rig.sound().finish(&report).await;
    assert!(matches!(outcome, Outcome::Finished { .. } | Outcome::Nothing), "{outcome:?}");
    assert_eq!(rig.reported().await, written);
}

#[tokio::test(start_paused = true)]
async fn a_run_without_its_progress_starts_from_the_beginning() {
    let (rig, report, written) = with_large_events(5, 20).await;
    let outcome = rig.sound().run(&report, Duration::ZERO).await.unwrap().unwrap();
    assert!(matches!(outcome, Outcome::Unfinished { .. }));
    rig.remove_private().await;
    rig.sound().finish(&report).await;
    assert_eq!(rig.reported().await, written);
}
