use proptest::prelude::*;

use super::*;

fn delivery(sequence: u64, json_bytes: usize) -> Delivery {
    let record = format!(r#"{{"seq":{sequence},"event":"INSERT","at":{sequence},"size":10,"keys":{{}}}}"#);
    let record: Record = serde_json::from_str(&record).unwrap();
    Delivery { record: Arc::new(record), json: "x".repeat(json_bytes) }
}

fn batch(sequences: std::ops::RangeInclusive<u64>) -> Batch {
    let mut batch = Batch::default();
    assert!(sequences.into_iter().all(|sequence| batch.push(delivery(sequence, 10))));
    batch
}

fn mapping(maximum_retries: u32, bisect: bool) -> Mapping {
    Mapping { maximum_retries: Some(maximum_retries), bisect, ..Mapping::new("F", "Stream") }
}

fn numbers(batch: &Batch) -> Vec<u64> {
    batch.sequences().iter().map(|sequence| sequence.0).collect()
}

const ERROR: Verdict = Verdict::Failure { from: 0, cause: Cause::Error };

fn reported(from: usize) -> Verdict {
    Verdict::Failure { from, cause: Cause::Reported }
}

#[test]
fn a_batch_takes_up_to_six_megabytes_and_always_one_record() {
    let third = limits::BATCH_BYTES / 3;
    let mut batch = Batch::default();
    assert!(batch.push(delivery(1, third)) && batch.push(delivery(2, third)));
    assert!(!batch.push(delivery(3, third)));
    assert!(batch.push(delivery(3, third / 2)));
    assert!(batch.event().len() <= limits::BATCH_BYTES);
    assert!(Batch::default().push(delivery(1, 2 * limits::BATCH_BYTES)));
}

#[test]
fn a_batch_fills_up_to_the_last_byte_of_the_limit() {
    let mut batch = Batch::default();
    let room = limits::BATCH_BYTES - EVENT_BYTES - 1;
    assert!(batch.push(delivery(1, room - 11)) && batch.push(delivery(2, 10)));
    assert_eq!(batch.event().len(), limits::BATCH_BYTES - 1);
    assert!(!batch.push(delivery(3, 1)));
}

#[test]
fn without_bisection_remaining_records_are_retried_then_given_up() {
    let mapping = mapping(2, false);
    let (done, Next::Retry(remaining)) = batch(1..=5).after(reported(2), &mapping) else { panic!() };
    assert_eq!((done, numbers(&remaining)), (2, vec![3, 4, 5]));
    let (0, Next::Retry(remaining)) = remaining.after(ERROR, &mapping) else { panic!() };
    let (done, Next::GiveUp(remaining)) = remaining.after(reported(1), &mapping) else { panic!() };
    assert_eq!((done, numbers(&remaining), remaining.invocations), (1, vec![4, 5], 3));
    assert_eq!(remaining.cause, Some(Cause::Reported));
}

#[test]
fn bisection_splits_at_the_reported_record_or_in_halves() {
    let mapping = mapping(0, true);
    let (2, Next::Bisect(parts)) = batch(1..=5).after(reported(2), &mapping) else { panic!() };
    assert_eq!(parts.iter().map(numbers).collect::<Vec<_>>(), [[3, 4, 5]]);
    for verdict in [ERROR, reported(0)] {
        let (0, Next::Bisect(parts)) = batch(1..=5).after(verdict, &mapping) else { panic!() };
        assert_eq!(parts.iter().map(numbers).collect::<Vec<_>>(), [vec![1, 2], vec![3, 4, 5]]);
    }
    assert!(matches!(batch(1..=1).after(ERROR, &mapping), (0, Next::GiveUp(_))));
}

#[test]
fn records_that_are_too_old_are_split_off_the_beginning() {
    let mut batch = batch(1..=5);
    let older = batch.split_off_older(4);
    assert_eq!((numbers(&older), numbers(&batch)), (vec![1, 2, 3], vec![4, 5]));
    assert!(batch.split_off_older(4).is_empty());
}

proptest! {
    #[test]
    fn failures_settle_every_record_once_and_in_order(
        records in 1u64..40,
        retries in 0u32..4,
        bisect: bool,
        failures in prop::collection::vec(prop::option::of(0usize..40), 0..200),
    ) {
        let mapping = mapping(retries, bisect);
        let mut failures = failures.into_iter();
        let mut waiting = vec![batch(1..=records)];
        let mut settled = Vec::new();
        let mut invocations = 0;
        while let Some(batch) = waiting.pop() {
            invocations += 1;
            let of = numbers(&batch);
            let verdict = match failures.next().flatten() {
                Some(from) => reported(from % of.len()),
                None => Verdict::Success,
            };
            let (done, next) = batch.after(verdict, &mapping);
            settled.extend(&of[..done]);
            match next {
                Next::Done => {}
                Next::Retry(remaining) => waiting.push(remaining),
                Next::Bisect(parts) => waiting.extend(parts.into_iter().rev()),
                Next::GiveUp(remaining) => settled.extend(numbers(&remaining)),
            }
        }
        prop_assert_eq!(settled, (1..=records).collect::<Vec<_>>());
        // The bound: each record alone may use all retries, and a batch is split fewer times than it has records.
        prop_assert!(invocations <= records * (u64::from(retries) + 2));
    }
}
