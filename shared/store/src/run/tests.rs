//! How a run is stored.

use aws_sdk_dynamodb::types::AttributeValue;
use lately_model::{GroupBy, Revision, RunSpec};

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
    let mut item = run().encode();
    assert_eq!(Run::decode(&item), Ok(run()));
    let zeros = AttributeValue::L(vec![number(0_u64); 16]);
    assert_eq!([item.remove("seen"), item.remove("known")], [Some(zeros.clone()), Some(zeros)]);
    let mut stored: Vec<_> = item.iter().map(|(name, value)| format!("{name} {value:?}")).collect();
    stored.sort();
    assert_eq!(
        stored,
        [
            r#"announced_at N("8")"#,
            r#"from S("00000000-0000-7000-8000-000000000000")"#,
            r#"group_by S("type")"#,
            r#"holder N("18446744073709551615")"#,
            r#"incarnation N("7")"#,
            r#"lease N("9")"#,
            r#"pk S("CONSUMER#billing#nightly")"#,
            &format!(r#"sk S("RUN#{ID}")"#),
            r#"sum S("amount")"#,
        ]
    );
}

#[test]
fn what_is_written_on_the_way_is_read() {
    let mut item = run().encode();
    let mut put = |name: &str, value| drop(item.insert(name.to_owned(), value));
    put("progress", text("a/b"));
    put("progress_at", text(ID));
    put("progress_events", number(5_u64));
    put("attempt", text("0123"));
    put("events", number(6_u64));
    put("late", number(2_u64));
    put("bytes", number(99_u64));
    put("committed_at", number(10_u64));
    let progress = Progress { object: "a/b".to_owned(), position: ID.parse().unwrap(), events: 5 };
    let committed_at = UnixMillis::new(10).unwrap();
    let committed = CommittedRun { attempt: "0123".to_owned(), events: 6, late: 2, bytes: 99, committed_at };
    let expected = Run { progress: Some(progress), committed: Some(committed), ..run() };
    assert_eq!(Run::decode(&item), Ok(expected));
    item.remove("progress_at");
    Run::decode(&item).unwrap_err();
}
