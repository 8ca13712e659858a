//! Tests of processes that die and of calls that fail, at every call to the table and to the objects, before and after
//! the call took effect. The next invocation must finish the run, and no reader may see a difference.

use std::time::Duration;

use lately_engine::fault::{Fault, Faults, Moment, Target};
use lately_report::{Outcome, OutputError, ReportError};

use crate::rig::{Effect, Plan, Reporter, Rig, SETTLED, TIME, pass};

/// Makes two reports, the second with an event that arrived late. The victim makes one attempt at the second report.
/// Returns whether a fault hit the victim.
async fn suffers(victim: impl Fn(&Rig) -> Reporter) -> bool {
    let mut rig = Rig::new(1).await;
    let report = rig.report("nightly");
    let mut written = rig.write(3, None).await;
    pass(SETTLED).await;
    rig.settle().await;
    rig.sound().finish(&report).await;

    let at = rig.world.now().saturating_sub(SETTLED.as_millis().try_into().unwrap());
    written.extend(rig.write(1, Some(at)).await);
    written.extend(rig.write(3, None).await);
    rig.settle().await;
    pass(SETTLED).await;
    let victim = victim(&rig);
    let outcome = victim.run(&report, TIME).await;
    // If the victim died, nobody else may work on the run before its lease ends.
    pass(TIME + Duration::from_secs(11)).await;
    let next = rig.sound().finish(&report).await;
    assert!(matches!(next, Outcome::Finished { .. }), "{next:?}");
    // A run that was finished twice leaves nothing behind.
    rig.sound().finish(&report).await;

    let reported = rig.reported().await;
    written.sort();
    let mut sorted = reported.clone();
    sorted.sort();
    assert_eq!(sorted, written, "{outcome:?}: {:?}", victim.objects.calls());
    // A process that could not remove the private objects, but lived, has logged that and continued.
    if !matches!(outcome, Some(Ok(_))) {
        assert_eq!(rig.private().await, Vec::<String>::new(), "{outcome:?}: {:?}", victim.objects.calls());
    }
    victim.is_hurt()
}

#[tokio::test(start_paused = true)]
async fn a_crash_at_any_table_call_loses_and_repeats_nothing() {
    for moment in [Moment::Before, Moment::After] {
        for n in 1.. {
            let crash = || Faults::default().nth(n, Target::any(), Fault::Crash(moment));
            if !suffers(|rig| rig.reporter(rig.world.process(), crash(), Plan::none())).await {
                assert!(n > 10, "{n} calls were made");
                break;
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_fault_at_any_object_call_loses_and_repeats_nothing() {
    let moments = [Moment::Before, Moment::After];
    for effect in moments.into_iter().flat_map(|moment| [Effect::Crash(moment), Effect::Fail(moment)]) {
        for n in 1.. {
            let victim =
                |rig: &Rig| rig.reporter(rig.world.process(), Faults::default(), Plan::nth(n, effect));
            if !suffers(victim).await {
                assert!(n > 14, "{n} calls were made");
                break;
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_failed_invocation_releases_its_run_at_once() {
    let rig = Rig::new(2).await;
    let report = rig.report("nightly");
    let written = rig.write(3, None).await;
    pass(SETTLED).await;
    let fail = Plan::nth(2, Effect::Fail(Moment::After));
    let victim = rig.reporter(rig.world.process(), Faults::default(), fail);
    assert!(victim.run(&report, TIME).await.unwrap().is_err());
    pass(Duration::from_millis(1)).await;
    assert!(matches!(rig.sound().finish(&report).await, Outcome::Finished { .. }));
    assert_eq!(rig.reported().await, written);
}

#[tokio::test(start_paused = true)]
async fn repeated_faults_of_objects_only_delay_a_report() {
    let rig = Rig::new(3).await;
    let report = rig.report("nightly");
    let written = rig.write(3, None).await;
    pass(SETTLED).await;
    let mut failed = 0;
    for attempt in 0..200 {
        // Some calls of each process fail, in a pattern that changes from process to process.
        let plan = Plan::by(move |call| {
            (call > attempt % 17 && (call + attempt) % 3 == 0).then_some(Effect::Fail(match call % 2 {
                0 => Moment::Before,
                _ => Moment::After,
            }))
        });
        let reporter = rig.reporter(rig.world.process(), Faults::default(), plan);
        if let Ok(Outcome::Finished { .. }) = reporter.run(&report, TIME).await.unwrap() {
            break;
        }
        failed += 1;
        pass(Duration::from_millis(1)).await;
    }
    assert!((2..200).contains(&failed), "{failed}");
    assert_eq!(rig.reported().await, written);
}

/// Lets a process make a report and die at its first call of a kind, before or after the call takes effect.
async fn dies_at(rig: &Rig, kind: &str, moment: Moment) {
    let counted = rig.sound();
    counted.finish(&rig.report("counted")).await;
    let calls = counted.objects.calls();
    let number = 1 + calls.iter().position(|call| call.starts_with(kind)).unwrap() as u64;
    let crash = Plan::nth(number, Effect::Crash(moment));
    let victim = rig.reporter(rig.world.process(), Faults::default(), crash);
    assert!(victim.run(&rig.report("nightly"), TIME).await.is_none());
    pass(TIME + Duration::from_secs(11)).await;
}

#[tokio::test(start_paused = true)]
async fn a_removed_report_is_not_written_again() {
    let rig = Rig::new(4).await;
    let report = rig.report("nightly");
    rig.write(3, None).await;
    pass(SETTLED).await;
    // The process dies between publishing the files and finishing the run. The attempts may or may not be removed.
    dies_at(&rig, "list ", Moment::After).await;
    let of_nightly = |name: &String| name.contains("/nightly/");
    let names: Vec<_> = rig.published().await.into_keys().filter(of_nightly).collect();
    assert_eq!(names.len(), 1);
    rig.remove_object(&names[0]).await;
    let outcome = rig.sound().finish(&report).await;
    assert!(matches!(outcome, Outcome::Finished { events: 3, .. }), "{outcome:?}");
    assert!(!rig.published().await.keys().any(of_nightly));
    let outcome = rig.sound().finish(&report).await;
    assert!(matches!(outcome, Outcome::Finished { events: 0, .. }), "{outcome:?}");
}

#[tokio::test(start_paused = true)]
async fn a_committed_run_without_its_attempt_is_an_error() {
    let rig = Rig::new(5).await;
    rig.write(3, None).await;
    pass(SETTLED).await;
    dies_at(&rig, "head ", Moment::After).await;
    rig.remove_private().await;
    let refused = rig.sound().run(&rig.report("nightly"), TIME).await.unwrap();
    let Err(ReportError::Output(OutputError::Gone { attempts })) = refused else { panic!("{refused:?}") };
    assert!(attempts.to_string().starts_with("reports/.attempts/billing/nightly/"), "{attempts}");
}
