//! A run's stored form.

use lately_model::{GroupBy, Revision, RunSpec};
use lately_table::Value;

use super::*;

const ID: &str = "0190a4cd-d3e7-7222-9f99-fdb74feee752";

pub(crate) fn run() -> Run {
    Run {
        consumer: ConsumerKey { topic: "billing".parse().unwrap(), name: "nightly".parse().unwrap() },
        incarnation: Revision::new(7),
        from: EventId::first_of(UnixMillis::MIN),
        to: ID.parse().unwrap(),
        announced_at: UnixMillis::new(8).unwrap(),
        spec: RunSpec { group_by: GroupBy::Type, sum: Some("amount".parse().unwrap()) },
        progress: None,
        committed: None,
        lease: UnixMillis::new(9).unwrap(),
        holder: u64::MAX,
        seen: Counters::default(),
        known: Counters::default(),
    }
}

#[test]
fn golden_bytes() {
    let zeros = || Value::list([0_u64; 16]);
    let expected = Item::from([("pk", "CONSUMER#billing#nightly"), ("sk", format!("RUN#{ID}").as_str())])
        .with("incarnation", 7_u64)
        .with("from", "00000000-0000-7000-8000-000000000000")
        .with("announced_at", 8_u64)
        .with("group_by", "type")
        .with("sum", "amount")
        .with("seen", zeros())
        .with("known", zeros())
        .with("lease", 9_u64)
        .with("holder", u64::MAX);
    assert_eq!(run().encode(), expected);
    assert_eq!(Run::decode(&expected), Ok(run()));
}

#[test]
fn progress_and_commit_are_decoded() {
    let mut item = run()
        .encode()
        .with("progress", "a/b")
        .with("progress_at", ID)
        .with("progress_events", 5_u64)
        .with("attempt", "0123")
        .with("events", 6_u64)
        .with("late", 2_u64)
        .with("bytes", 99_u64)
        .with("committed_at", 10_u64);
    let progress = Progress { object: "a/b".to_owned(), position: ID.parse().unwrap(), events: 5 };
    let committed_at = UnixMillis::new(10).unwrap();
    let committed = CommittedRun { attempt: "0123".to_owned(), events: 6, late: 2, bytes: 99, committed_at };
    let expected = Run { progress: Some(progress), committed: Some(committed), ..run() };
    assert_eq!(Run::decode(&item), Ok(expected));
    item.remove("progress_at");
    Run::decode(&item).unwrap_err();
}
