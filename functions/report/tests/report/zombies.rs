//! Tests of processes that freeze at any call and wake hours later, when others have continued without them.

use std::time::Duration;

use lately_engine::fault::{Faults, Moment};
use lately_report::Outcome;

use crate::rig::{Effect, Plan, Rig, SETTLED, TIME, pass};

const HOURS: Duration = Duration::from_secs(5 * 60 * 60);

/// Lets a process freeze at a call while others finish its run and two more. Returns whether it froze.
async fn wakes_late(n: u64, moment: Moment) -> bool {
    let mut rig = Rig::new(n).await;
    let report = rig.report("nightly");
    let mut written = rig.write(3, None).await;
    pass(SETTLED).await;
    let freeze = Plan::nth(n, Effect::Hang(moment, HOURS));
    let zombie = rig.reporter(rig.world.process().frozen(), Faults::default(), freeze);
    let asleep = tokio::spawn({
        let report = report.clone();
        async move {
            let outcome = zombie.run(&report, TIME).await;
            (zombie, outcome)
        }
    });
    for _ in 0..3 {
        pass(TIME + Duration::from_secs(11)).await;
        written.extend(rig.write(2, None).await);
        let at = rig.world.now().saturating_sub(60_000);
        written.extend(rig.write(1, Some(at)).await);
        rig.settle().await;
        pass(SETTLED).await;
        rig.sound().finish(&report).await;
    }
    let before = rig.published().await;
    let (zombie, outcome) = asleep.await.unwrap();
    // Others have removed the frozen process's objects, which does no harm either.
    assert!(
        matches!(outcome, Some(Ok(Outcome::Finished { .. }))),
        "{outcome:?}: {:?}",
        zombie.objects.calls()
    );
    let after = rig.published().await;
    let ids = |published: &std::collections::BTreeMap<String, crate::rig::Published>| {
        published.iter().map(|(name, of)| (name.clone(), of.ids.clone())).collect::<Vec<_>>()
    };
    assert_eq!(ids(&after), ids(&before), "{outcome:?}: {:?}", zombie.objects.calls());
    pass(SETTLED).await;
    let Outcome::Finished { .. } = rig.sound().finish(&report).await else { panic!() };
    let mut reported = rig.reported().await;
    reported.sort();
    written.sort();
    assert_eq!(reported, written, "{outcome:?}: {:?}", zombie.objects.calls());
    zombie.is_hurt()
}

#[tokio::test(start_paused = true)]
async fn a_process_that_wakes_hours_later_changes_nothing() {
    for moment in [Moment::Before, Moment::After] {
        for n in 1.. {
            if !wakes_late(n, moment).await {
                assert!(n > 14, "{n} calls were made");
                break;
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn one_of_two_concurrent_attempts_becomes_the_runs() {
    for n in 1..16 {
        let mut rig = Rig::new(n).await;
        let report = rig.report("nightly");
        let begun = rig.world.now();
        let mut written = rig.write(5, None).await;
        pass(SETTLED).await;
        rig.settle().await;
        // The first process is slow at one call, and its lease ends meanwhile. Then both work on the run, call by call.
        let slow = Plan::nth(n, Effect::Hang(Moment::Before, Duration::from_secs(80)));
        let slow = rig.reporter(rig.world.process(), Faults::default(), slow);
        let (first, second) = tokio::join!(slow.run(&report, Duration::from_secs(60)), async {
            pass(Duration::from_secs(78)).await;
            // The event lies in the range that is being read, so the second process finds it.
            written.extend(rig.write(1, Some(begun)).await);
            pass(Duration::from_secs(1)).await;
            let tick = Plan::by(|_| Some(Effect::Hang(Moment::Before, Duration::from_millis(300))));
            let other = rig.reporter(rig.world.process(), Faults::default(), tick);
            other.run(&report, TIME).await
        });
        rig.settle().await;
        pass(SETTLED).await;
        rig.sound().finish(&report).await;
        let mut reported = rig.reported().await;
        reported.sort();
        written.sort();
        assert_eq!(reported, written, "{n}: {first:?} {second:?}");
    }
}
