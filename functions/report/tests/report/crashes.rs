//! Processes that die, and calls that fail, at each call of the table and of the objects, before and after it took effect:
//! what they leave is finished by the next invocation, and nobody can tell.

use std::time::Duration;

use lately_engine::fault::{Fault, Faults, Moment, Target};
use lately_report::{Outcome, OutputError, ReportError};

use crate::rig::{Effect, Plan, Reporter, Rig, SETTLED, TIME, pass};

/// Two reports, the second with an event that landed late, by processes of which one suffers; and whether it did.
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
    // Until then nobody else may be at it, if it has died.
    pass(TIME + Duration::from_secs(11)).await;
    let next = rig.sound().finish(&report).await;
    assert!(matches!(next, Outcome::Finished { .. }), "{next:?}");
    // What is left of a run that was finished twice: nothing.
    rig.sound().finish(&report).await;

    let reported = rig.reported().await;
    written.sort();
    let mut sorted = reported.clone();
    sorted.sort();
    assert_eq!(sorted, written, "{outcome:?}: {:?}", victim.objects.calls());
    // Who could not remove what is private, and lived, has said so and gone on.
    if !matches!(outcome, Some(Ok(_))) {
        assert_eq!(rig.private().await, Vec::<String>::new(), "{outcome:?}: {:?}", victim.objects.calls());
    }
    victim.is_hurt()
}

#[tokio::test(start_paused = true)]
async fn wherever_a_process_dies_at_the_table_each_event_is_reported_once() {
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
async fn wherever_a_process_dies_or_fails_at_the_objects_each_event_is_reported_once() {
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
async fn who_fails_gives_the_run_back_at_once() {
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
async fn objects_that_fail_again_and_again_only_delay_a_report() {
    let rig = Rig::new(3).await;
    let report = rig.report("nightly");
    let written = rig.write(3, None).await;
    pass(SETTLED).await;
    let mut failed = 0;
    for attempt in 0..200 {
        // Each process's fourth call, or thereabouts, fails: of some, all later ones too.
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

/// The number of the first call of a kind that a report makes, whose process dies of it, before or after.
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
async fn a_report_that_was_taken_away_does_not_come_again() {
    let rig = Rig::new(4).await;
    let report = rig.report("nightly");
    rig.write(3, None).await;
    pass(SETTLED).await;
    // All is published, and the attempts are removed, or not: only then the run would be finished.
    dies_at(&rig, "list ", Moment::After).await;
    let of_nightly = |name: &String| name.contains("/nightly/");
    let taken: Vec<_> = rig.published().await.into_keys().filter(of_nightly).collect();
    assert_eq!(taken.len(), 1);
    rig.take_away(&taken[0]).await;
    let outcome = rig.sound().finish(&report).await;
    assert!(matches!(outcome, Outcome::Finished { events: 3, .. }), "{outcome:?}");
    assert!(!rig.published().await.keys().any(of_nightly));
    let outcome = rig.sound().finish(&report).await;
    assert!(matches!(outcome, Outcome::Finished { events: 0, .. }), "{outcome:?}");
}

#[tokio::test(start_paused = true)]
async fn a_committed_run_whose_attempt_was_removed_says_so() {
    let rig = Rig::new(5).await;
    rig.write(3, None).await;
    pass(SETTLED).await;
    dies_at(&rig, "head ", Moment::After).await;
    rig.remove_private().await;
    let refused = rig.sound().run(&rig.report("nightly"), TIME).await.unwrap();
    let Err(ReportError::Output(OutputError::Gone { attempts })) = refused else { panic!("{refused:?}") };
    assert!(attempts.to_string().starts_with("reports/.attempts/billing/nightly/"), "{attempts}");
}
