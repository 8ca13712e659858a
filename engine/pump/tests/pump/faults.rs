//! Tests of the faults that are set through the handle.

use std::time::Duration;

use lately_pump::{PumpFaults, PumpOptions};
use tokio::time::sleep;

use crate::rig::{AT_ONCE, Log, SECOND, all, engine, mapping, put, put_all, start_with};

#[tokio::test(start_paused = true)]
async fn a_duplicate_delivers_the_same_batch_twice() {
    let (engine, log) = (engine(1), Log::new());
    put_all(&engine, 0..3).await;
    let faults = PumpFaults { duplicate: 1.0, ..PumpFaults::default() };
    let options = PumpOptions { faults, ..PumpOptions::default() };
    let running = start_with(&engine, mapping(), log.handler(AT_ONCE, all), None, options);
    running.handle.settled().await;
    running.handle.set_faults(PumpFaults::default());
    put(&engine, "3").await;
    let statistics = running.settle_and_stop().await;
    assert_eq!(log.keys(), [vec!["0", "1", "2"], vec!["0", "1", "2"], vec!["3"]]);
    assert_eq!((statistics.delivered, statistics.invocations, statistics.failures), (4, 3, 0));
}

#[tokio::test(start_paused = true)]
async fn only_a_crash_after_the_work_repeats_it() {
    for (before, after, runs_in_vain) in [(1.0, 0.0, 0), (0.0, 1.0, 1)] {
        let (engine, log) = (engine(1), Log::new());
        put_all(&engine, 0..2).await;
        let faults = PumpFaults { crash_before: before, crash_after: after, ..PumpFaults::default() };
        let options = PumpOptions { faults, ..PumpOptions::default() };
        let running = start_with(&engine, mapping(), log.handler(AT_ONCE, all), None, options);
        sleep(Duration::from_millis(10)).await;
        assert_eq!((log.calls().len(), running.handle.idle()), (runs_in_vain, false));
        running.handle.set_faults(PumpFaults::default());
        let statistics = running.settle_and_stop().await;
        assert_eq!(log.calls().len(), runs_in_vain + 1);
        assert_eq!((statistics.failures, statistics.retries, statistics.delivered), (1, 1, 2));
    }
}

#[tokio::test(start_paused = true)]
async fn iterators_age_while_the_pump_is_paused() {
    let (engine, log) = (engine(4), Log::new());
    let paused = PumpFaults { paused: true, ..PumpFaults::default() };
    let options = PumpOptions { faults: paused.clone(), ..PumpOptions::default() };
    let running = start_with(&engine, mapping(), log.handler(AT_ONCE, all), None, options);
    put(&engine, "a").await;
    sleep(40 * SECOND).await;
    assert_eq!((running.total().iterator_age, log.calls().len()), (40 * SECOND, 0));
    assert_eq!(running.handle.faults(), paused);
    let delay = PumpFaults { delay: 5 * SECOND, ..PumpFaults::default() };
    running.handle.set_faults(delay);
    let statistics = running.settle_and_stop().await;
    assert_eq!((statistics.iterator_age, log.times()), (Duration::ZERO, vec![45 * SECOND]));
}
