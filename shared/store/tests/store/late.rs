//! The late log: fan-out adds the events that a reader may have passed before they were stored, and no others.

use std::collections::BTreeSet;
use std::time::Duration;

use lately_engine::Operation;
use lately_engine::fault::{Fault, Faults, Moment, Network, Stall, Target, Throttle, When};
use lately_items::{ConsumerKey, LateLogEnd, LateLogKey, LatePlace};
use lately_keys::{EventId, UnixMillis};
use lately_model::{NewConsumer, PollRequest};
use lately_store::Record;

use crate::consumers::{Files, Rig, SETTLED, nightly, report, report_later};
use crate::listed::put;
use crate::scene::fan_out;
use crate::support::{HOUR, MINUTE, ids, items, pass, store, topic, with_a_death_at_each_call};

const SECOND: Duration = Duration::from_secs(1);

/// A rig whose consumer has reported twice, up to ten seconds ago, and whose stream fan-out has handled.
async fn reported() -> (Rig, Files) {
    let (mut rig, mut files) = Rig::reported().await;
    report_later(&rig, &mut files).await;
    rig.tell().await;
    (rig, files)
}

#[tokio::test(start_paused = true)]
async fn only_events_that_a_reader_may_have_passed_are_logged() {
    let (mut rig, _) = reported().await;
    let late = rig.write(HOUR).await;
    rig.write(Duration::ZERO).await;
    let outcome = rig.tell().await;
    assert_eq!((rig.logged().await, outcome.late), ([late].into(), 1));
    // The erasures and the announcements are read; the end of the log and an item are written.
    assert_eq!((outcome.cost.calls, outcome.cost.read_units.halves), (4, 4));
    assert_eq!(outcome.cost.write_units.halves, 4);
}

#[tokio::test(start_paused = true)]
async fn a_batch_puts_one_item_whatever_the_number_of_events_and_readers() {
    for consumers in [1, 20] {
        let (mut rig, _) = reported().await;
        for n in 1..consumers {
            let name = format!("c{n}").parse().unwrap();
            let consumer = ConsumerKey { name, ..nightly() };
            rig.store.op().consumer(&consumer).put(&NewConsumer::default()).await.unwrap();
        }
        rig.tell().await;
        let late = rig.write_many(100, HOUR).await;
        let outcome = rig.tell().await;
        assert_eq!(rig.logged().await, late.into_iter().collect());
        assert_eq!((rig.log().await.len(), outcome.late, outcome.cost.calls), (1, 100, 4));
        // A hundred ids of 16 bytes are two units. The end of the log is one.
        assert_eq!(outcome.cost.write_units.halves, 2 * 3, "{consumers} consumers");
    }
}

#[tokio::test(start_paused = true)]
async fn without_a_reader_nothing_is_logged() {
    let mut rig = Rig::new().await;
    rig.write(HOUR).await;
    rig.tell().await;
    assert!(rig.log().await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_is_minutes_behind_makes_no_work_for_any_number_of_consumers() {
    for consumers in [1, 20] {
        let mut rig = Rig::new().await;
        let named = |n: usize| ConsumerKey { name: format!("c{n}").parse().unwrap(), ..nightly() };
        let names: Vec<_> = (0..consumers).map(named).collect();
        for consumer in &names {
            rig.store.op().consumer(consumer).put(&NewConsumer::default()).await.unwrap();
        }
        let mut written = Vec::new();
        let mut given = vec![Vec::new(); consumers];
        for second in 0..50 {
            if second < 40 {
                written.extend(rig.write_many(5, Duration::ZERO).await);
            }
            pass(SECOND).await;
            for (consumer, given) in names.iter().zip(&mut given) {
                let op = rig.store.op();
                let polled = op.consumer(consumer).poll(PollRequest::default()).await.unwrap();
                assert!(polled.late.is_empty());
                given.extend(ids(&polled.events));
                if let Some(batch) = polled.batch {
                    op.consumer(consumer).commit(batch).await.unwrap();
                }
            }
        }
        written.sort();
        assert!(given.iter().all(|given| *given == written), "each event is given once, in order");
        // Fan-out gets the events only now, four minutes later.
        pass(4 * MINUTE).await;
        let outcome = rig.tell().await;
        assert_eq!((outcome.late, rig.log().await.len()), (0, 0), "{consumers} consumers");
        for consumer in &names {
            let polled = rig.store.op().consumer(consumer).poll(PollRequest::default()).await.unwrap();
            assert!(polled.batch.is_none() && polled.caught_up);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_is_behind_makes_no_work_for_a_report_each_minute() {
    for lag in [5, 90] {
        let mut rig = Rig::new().await;
        let mut files = Files::default();
        let mut waiting = Vec::new();
        for second in 0..300 {
            rig.write_many(2, Duration::ZERO).await;
            waiting.push((second + lag, rig.news()));
            while waiting.first().is_some_and(|(due, _)| *due <= second) {
                fan_out(&rig.store, &waiting.remove(0).1).await;
            }
            if second % 60 == 59 {
                report(&rig.store, &mut files).await;
            }
            pass(SECOND).await;
        }
        assert_eq!((rig.log().await.len(), files.looks), (0, 0), "fan-out is {lag} s behind");
    }
}

#[tokio::test(start_paused = true)]
async fn a_record_that_comes_again_weeks_later_does_not_report_its_event_again() {
    let (mut rig, mut files) = reported().await;
    let id = rig.write(HOUR).await;
    let news = rig.news();
    for times in 1..=3 {
        fan_out(&rig.store, &news).await;
        assert_eq!(rig.log().await.len(), times);
    }
    let run = report_later(&rig, &mut files).await;
    assert_eq!(files.files[&run.to], [id].into());
    for _ in 0..3 {
        pass(20 * 24 * HOUR).await;
        fan_out(&rig.store, &news).await;
        report(&rig.store, &mut files).await;
        assert_eq!(files.reported(), [id].into());
    }
    assert!(rig.has_read_log().await);
    // The log does not keep its items for ever.
    pass(101 * 24 * HOUR).await;
    rig.engine.expire(100).unwrap();
    assert!(rig.log().await.is_empty());
}

#[test]
fn after_a_crash_at_any_call_a_redelivery_logs_all_events() {
    let calls = with_a_death_at_each_call(async |call, faults| {
        let (mut rig, mut files) = reported().await;
        let late = rig.write_many(5, HOUR).await;
        let news = rig.news();
        let victim = rig.engine.client_with(faults);
        let done = victim.run(fan_out(&store(victim.client(), &rig.world), &news)).await.is_some();
        if !done {
            // A run in between sees what was logged, and fills the gap of an item that was not put.
            let run = report_later(&rig, &mut files).await;
            assert!(files.files[&run.to].is_subset(&late.iter().copied().collect()));
            fan_out(&rig.store, &news).await;
        }
        report_later(&rig, &mut files).await;
        assert_eq!(files.reported(), late.into_iter().collect(), "{call}");
        assert!(rig.has_read_log().await);
        !done
    });
    let why = "the process died at the erasures, the announcements, the end of the log, and the item";
    assert_eq!(calls, 4, "{why}");
}

#[tokio::test(start_paused = true)]
async fn a_record_whose_event_cannot_be_logged_fails_and_is_redelivered() {
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
        assert_eq!(rig.logged().await.len(), 3);
    }
}

#[tokio::test(start_paused = true)]
async fn a_reader_fills_a_gap_and_a_writer_that_wakes_takes_another_number() {
    let (mut rig, mut files) = reported().await;
    let late = rig.write(HOUR).await;
    let news = rig.news();
    // The fourth call puts the item, after the erasures, the announcements and the end of the log.
    let stall = Stall { call: 4, moment: Moment::Before, time: HOUR };
    let network = Network { seed: 1, longest: Duration::from_millis(3), stall: Some(stall) };
    let slow = store(rig.engine.client_with(Faults::default()).over(network), &rig.world);
    let (records, op) = (Record::batch(news.as_bytes()).unwrap(), slow.op_within(2 * HOUR));
    let reports = async {
        pass(MINUTE).await;
        let run = report(&rig.store, &mut files).await;
        assert_eq!((files.files[&run.to].len(), rig.log().await[&1].ids.len()), (0, 0));
    };
    let (outcome, ()) = futures_util::future::join(op.fan_out(&records), reports).await;
    assert_eq!((outcome.failed, outcome.late), (None, 1));
    assert_eq!(rig.log().await[&2].ids, [late]);
    let run = report(&rig.store, &mut files).await;
    assert_eq!(files.files[&run.to], [late].into());
}

#[tokio::test(start_paused = true)]
async fn two_writers_and_a_lost_response_keep_every_event() {
    for lost in [Operation::UpdateItem, Operation::PutItem] {
        let (mut rig, mut files) = reported().await;
        let mut written = BTreeSet::new();
        let mut batches = Vec::new();
        for _ in 0..2 {
            written.extend(rig.write_many(3, HOUR).await);
            batches.push(rig.news());
        }
        let timeout = Fault::Timeout(Moment::After);
        let faults = Faults::default().rule(Target::operation(lost), When::First(2), timeout);
        let client = rig.engine.client_with(faults);
        let writer = store(client.client(), &rig.world);
        futures_util::future::join(fan_out(&writer, &batches[0]), fan_out(&writer, &batches[1])).await;
        assert_eq!(rig.logged().await, written, "{lost:?}");
        report_later(&rig, &mut files).await;
        assert_eq!(files.reported(), written, "{lost:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_deleted_topic_has_no_late_log_and_the_next_of_its_name_begins_another() {
    let (mut rig, _) = reported().await;
    rig.write_many(100, HOUR).await;
    rig.tell().await;
    let many: Vec<_> = (0..1_000).map(|_| vec![EventId::first_of(rig.world.now())]).collect();
    rig.append(&many).await;
    rig.store.op().ending(&topic("billing")).delete().await.unwrap();
    for _ in 0..100 {
        rig.tell().await;
        pass(SECOND).await;
    }
    let of_log = |item: &crate::support::Item| {
        let pk = item["pk"].as_s().unwrap();
        pk.starts_with("LATE#") || item["sk"].as_s().unwrap() == "#LATE"
    };
    assert_eq!(items(&rig.engine).await.iter().filter(|item| of_log(item)).count(), 0);
    pass(MINUTE).await;
    rig.store.op().topic(&topic("billing")).put(&crate::support::change("{}")).await.unwrap();
    rig.tell().await;
    let mut files = Files::default();
    pass(SETTLED).await;
    report(&rig.store, &mut files).await;
    let late = rig.write(HOUR).await;
    rig.tell().await;
    report_later(&rig, &mut files).await;
    assert_eq!((files.reported(), rig.log().await.len()), ([late].into(), 1));
}

#[tokio::test(start_paused = true)]
async fn the_end_of_a_deleted_topics_log_that_can_still_be_seen_goes_on() {
    let mut rig = Rig::new().await;
    let end =
        LateLogKey { topic: topic("billing") }.item(LateLogEnd { number: 7, created_at: UnixMillis::MIN });
    put(&rig.engine.client(), [end.into_attributes()]).await;
    let mut files = Files::default();
    report_later(&rig, &mut files).await;
    assert_eq!(rig.place().await, LatePlace::after(7));
    let late = rig.write(HOUR).await;
    rig.tell().await;
    assert_eq!(rig.log().await[&8].ids, [late]);
    report_later(&rig, &mut files).await;
    assert_eq!(files.reported(), [late].into());
}
