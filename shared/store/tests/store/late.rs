//! The late ledger: fan-out notes events that landed behind an announced position, and no others.

use std::time::Duration;

use lately_engine::Operation;
use lately_engine::fault::{Fault, Faults, Moment, Network, Stall, Target, Throttle, When};
use lately_store::Record;

use crate::consumers::{Files, Rig, nightly, report, report_later};
use crate::scene::{fan_out, tell};
use crate::support::{HOUR, pass, store, with_a_death_at_each_call};

const SECOND: Duration = Duration::from_secs(1);

/// A rig whose consumer has reported twice, up to ten seconds ago, and whose stream fan-out has handled.
async fn reported() -> (Rig, Files) {
    let (mut rig, mut files) = Rig::reported().await;
    report_later(&rig, &mut files).await;
    rig.tell().await;
    (rig, files)
}

#[tokio::test(start_paused = true)]
async fn only_events_behind_the_announced_position_are_noted() {
    let (mut rig, _) = reported().await;
    let late = rig.write(HOUR).await;
    rig.write(Duration::ZERO).await;
    let outcome = rig.tell().await;
    assert_eq!(rig.unsettled().await, [late].into());
    assert_eq!(rig.counts().await.values().sum::<u64>(), 1);
    assert_eq!(outcome.late, 1);
    // The erasures, the announcements and the run that covers the event are read; the entry and its count are written.
    assert_eq!((outcome.cost.calls, outcome.cost.read_units.halves), (5, 6));
    assert_eq!(outcome.cost.write_units.halves, 4);
}

#[tokio::test(start_paused = true)]
async fn a_batch_reads_once_per_topic_and_counts_once_per_consumer() {
    let (mut rig, _) = reported().await;
    let late = rig.write_many(100, HOUR).await;
    let outcome = rig.tell().await;
    assert_eq!(rig.unsettled().await, late.into_iter().collect());
    assert_eq!((outcome.late, outcome.cost.calls), (100, 1 + 1 + 1 + 100 + 1));
    assert_eq!((outcome.cost.read_units.halves, outcome.cost.write_units.halves), (6, 2 * 101));
    let counts = rig.counts().await;
    assert!(counts.len() == 16 && counts.values().all(|count| *count == 1), "{counts:?}");
}

#[tokio::test(start_paused = true)]
async fn without_an_announcement_nothing_is_noted() {
    let mut rig = Rig::new().await;
    rig.write(HOUR).await;
    rig.tell().await;
    assert!(rig.ledger().await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn events_that_land_a_minute_before_their_run_are_not_noted() {
    for (seconds, noted) in [(60, true), (61, true), (62, false)] {
        for runs in 1..=3 {
            let mut rig = Rig::new().await;
            let id = rig.write(Duration::ZERO).await;
            pass(seconds * SECOND).await;
            let mut files = Files::default();
            let covering = report(&rig.store, &mut files).await;
            assert!(covering.to >= id);
            for _ in 1..runs {
                pass(HOUR).await;
                report(&rig.store, &mut files).await;
            }
            rig.tell().await;
            assert_eq!(rig.unsettled().await.contains(&id), noted, "{seconds} s, {runs} runs");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_repeated_record_is_counted_until_its_event_is_settled() {
    let (mut rig, mut files) = reported().await;
    let id = rig.write(HOUR).await;
    let news = rig.news();
    for told in 1..=3 {
        fan_out(&rig.store, &news).await;
        assert_eq!((rig.ledger().await.len(), rig.counts().await.values().sum::<u64>()), (1, told));
    }
    let run = report_later(&rig, &mut files).await;
    assert_eq!(files.files[&run.to], [id].into());
    let settled = rig.ledger().await;
    assert_eq!(settled[&id]["by"].as_s().unwrap(), &run.to.to_string());
    let expires_at: u64 = settled[&id]["expires_at"].as_n().unwrap().parse().unwrap();
    assert_eq!(expires_at, rig.world.now().get() / 1000 + 100 * 86_400);
    fan_out(&rig.store, &news).await;
    assert_eq!((rig.ledger().await, rig.counts().await.values().sum::<u64>()), (settled, 3));
}

#[test]
fn after_a_crash_at_any_call_a_redelivery_notes_all_events() {
    let calls = with_a_death_at_each_call(async |call, faults| {
        let (mut rig, mut files) = reported().await;
        let late = rig.write_many(5, HOUR).await;
        let news = rig.news();
        let victim = rig.engine.client_with(faults);
        let done = victim.run(fan_out(&store(victim.client(), &rig.world), &news)).await.is_some();
        if !done {
            // A run in between sees no more of the late events than were counted.
            let run = report_later(&rig, &mut files).await;
            assert!(files.files[&run.to].is_subset(&late.iter().copied().collect()));
            fan_out(&rig.store, &news).await;
        }
        report_later(&rig, &mut files).await;
        assert_eq!(files.reported(), late.into_iter().collect(), "{call}");
        assert!(rig.unsettled().await.is_empty());
        !done
    });
    let why = "the process died at the erasures, the announcements, the run, each of the five entries, and their count";
    assert_eq!(calls, 1 + 1 + 1 + 5 + 1, "{why}");
}

#[tokio::test(start_paused = true)]
async fn a_record_that_cannot_be_noted_fails_and_is_redelivered() {
    for (operation, partition) in [
        (Operation::PutItem, "LATE#"),
        (Operation::UpdateItem, "ANNOUNCED#"),
        (Operation::Query, "ANNOUNCED#"),
        (Operation::Query, "ERASURES"),
    ] {
        let (mut rig, _) = reported().await;
        rig.write(Duration::ZERO).await;
        rig.write_many(3, HOUR).await;
        let news = rig.news();
        let records = Record::batch(news.as_bytes()).unwrap();
        let busy = Target::operation(operation).partition(partition);
        let faults = Faults::default().rule(busy, When::Always, Fault::Throttle(Throttle::TableKeyRange));
        let broken = rig.engine.client_with(faults);
        let outcome = fan_out(&store(broken.client(), &rig.world), &news).await;
        let events: Vec<_> =
            records.iter().filter(|record| outcome.failed.as_deref() <= Some(record.sequence())).collect();
        // If the erasures or a topic's announcements cannot be read, every event of the topic may be late, and every new entry of its
        // directory may be one of a deleted topic.
        let failures = if operation == Operation::Query { 5 } else { 3 };
        assert_eq!((outcome.failures, events.len() >= 3), (failures, true), "{operation:?} {partition}");
        fan_out(&rig.store, &news).await;
        assert_eq!(rig.unsettled().await.len(), 3);
    }
}

#[tokio::test(start_paused = true)]
async fn an_entry_for_a_deleted_consumer_expires() {
    for repeated in [false, true] {
        let (mut rig, _) = reported().await;
        let late = rig.write(HOUR).await;
        let news = rig.news();
        // The fourth call puts the entry, after the erasures, the announcements and the run that covers the event.
        let stall = Stall { call: 4, moment: Moment::Before, time: HOUR };
        let network = Network { seed: 1, longest: Duration::from_millis(3), stall: Some(stall) };
        let slow = store(rig.engine.client_with(Faults::default()).over(network), &rig.world);
        let deletion = async {
            pass(SECOND).await;
            rig.store.op().consumer(&nightly()).delete().await.unwrap();
        };
        let (records, op) = (Record::batch(news.as_bytes()).unwrap(), slow.op_within(2 * HOUR));
        let (outcome, ()) = futures_util::future::join(op.fan_out(&records), deletion).await;
        assert_eq!(outcome.failed, None);
        if repeated {
            tell(&rig.store, &news).await;
        }
        for entry in rig.ledger().await.into_values() {
            assert!(entry.contains_key("expires_at"), "{late} stays for ever: {entry:?}");
        }
    }
}
