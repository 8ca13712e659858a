//! Whole bodies: the accepted ones, the refused ones, and the messages of refusals.

use super::*;
use crate::limits::{DATA_DEPTH, NAMED_FIELD_BYTES, NAMED_FIELDS};
use crate::retention::RetentionDays;
use lately_keys::UnixMillis;
use proptest::prelude::*;
use serde_json::json;

const EVENT: &str = r#"{"type":"t","actor":"a"}"#;

fn times() -> AcceptedTimes {
    let now: UnixMillis = "2026-11-20T09:30:00Z".parse().unwrap();
    AcceptedTimes::new(now, Some(RetentionDays::new(30).unwrap()))
}

fn json(body: &str) -> Result<Batch, BatchError> {
    Batch::parse(body.as_bytes(), BodyForm::Json, times())
}

fn ndjson(body: &str) -> Result<Batch, BatchError> {
    Batch::parse(body.as_bytes(), BodyForm::Ndjson, times())
}

/// Each fault as `path: message`.
fn faults(parsed: Result<Batch, BatchError>) -> Vec<String> {
    match parsed {
        Err(BatchError::Invalid(faults)) => {
            faults.iter().map(|fault| format!("{}: {}", fault.path, fault.message)).collect()
        }
        other => panic!("expected faults, not {other:?}"),
    }
}

fn has_imports(batch: &Batch) -> bool {
    batch.events.iter().filter_map(|event| event.at).any(|at| times().is_import(at))
}

#[test]
fn an_event_is_read_with_all_its_fields() {
    let body = r#" { "data" : {"n": 1.10, "big": 1e999} , "at":"2026-11-20T10:29:59.1239+01:00",
        "type":"issue.opened", "actor":"\u0061da", "subject":"repo:octo:hello" } "#;
    let batch = json(body).unwrap();
    assert!(batch.single && !has_imports(&batch));
    let [event] = &batch.events[..] else { panic!() };
    assert_eq!((event.event_type.as_str(), event.actor.as_str()), ("issue.opened", "ada"));
    assert_eq!(event.subject.as_ref().unwrap().as_str(), "repo:octo:hello");
    assert_eq!(event.data.as_ref().unwrap().as_str(), r#"{"n": 1.10, "big": 1e999}"#);
    assert_eq!(event.at.unwrap().to_string(), "2026-11-20T09:29:59.123Z");
}

#[test]
fn every_fault_of_a_batch_is_named_at_once() {
    let body = json!([
        {"type": "t", "actor": "a"},
        {"type": "T", "actor": 7, "subject": null, "at": "yesterday"},
        {"a/b~c": 1},
        "event",
        {"type": "t", "actor": "a", "at": "2026-11-20T09:30:05.001Z"},
        {"type": "t", "actor": "a", "at": "2026-10-21T09:29:59.999Z"},
        {"type": "t", "actor": "a", "at": "1969-01-01T00:00:00Z"},
        null,
    ]);
    assert_eq!(
        faults(json(&body.to_string())),
        [
            "/1/type: event type: must start with a lower-case letter or a digit",
            "/1/actor: must be a string",
            "/1/subject: must be a string",
            "/1/at: time: must be RFC 3339 with an offset, such as 2026-11-20T09:30:00Z",
            "/2/a~1b~0c: is not a known field",
            "/2/type: must be given",
            "/2/actor: must be given",
            "/3: must be a JSON object",
            "/4/at: must not be more than 5 s in the future",
            "/5/at: must not be older than the topic's retention",
            "/6/at: time: must be in the years 1970 to 9999",
            "/7: must be a JSON object",
        ]
    );
}

#[test]
fn a_time_slightly_ahead_becomes_the_time_of_writing() {
    let at = |at: &str| json(&format!(r#"{{"type":"t","actor":"a","at":"{at}"}}"#)).unwrap().events[0].at;
    assert_eq!(at("2026-11-20T09:30:00.001Z"), None);
    assert_eq!(at("2026-11-20T09:30:05Z"), None);
    assert!(at("2026-11-20T09:30:00Z").is_some() && at("2026-11-20T09:29:59.999Z").is_some());
}

#[test]
fn a_repeated_field_is_a_fault_even_if_escaped() {
    let body = r#"{"type":"t","actor":"a","\u0074ype":"t","type":"u","x":1,"x":2}"#;
    assert_eq!(faults(json(body)), ["/type: must be given only once", "/x: is not a known field"]);
}

#[test]
fn a_body_of_unknown_fields_gets_a_short_response() {
    let fields: Vec<String> = (0..1000).map(|n| format!(r#""f{n}":{n}"#)).collect();
    let named = faults(json(&format!(r#"{{"type":"t","actor":"a",{}}}"#, fields.join(","))));
    assert_eq!(named.len(), NAMED_FIELDS + 1);
    assert_eq!(named[NAMED_FIELDS], ": has 984 more unknown, repeated or overlong fields");

    let long = "x".repeat(NAMED_FIELD_BYTES + 1);
    let named = faults(json(&format!(r#"[{{"type":"t","actor":"a","{long}":0}}]"#)));
    assert_eq!(named, ["/0: has 1 more unknown, repeated or overlong fields"]);
}

#[test]
fn malformed_json_is_reported_with_its_position() {
    let error = ndjson(&format!("{EVENT}\n\n  {{]\n{EVENT}")).unwrap_err();
    assert_eq!(error.to_string(), "not JSON at line 3, column 4");
    assert!(matches!(ndjson(&format!("{EVENT} {EVENT}")), Err(BatchError::Malformed(_))));
    assert!(matches!(ndjson(&format!("[\n{EVENT}\n]")), Err(BatchError::Malformed(_))));
}

#[test]
fn an_array_that_is_too_long_is_read_to_its_end() {
    let array = format!("[{}]", vec![EVENT; 501].join(","));
    assert_eq!(json(&array), Err(BatchError::TooManyEvents));
    let lines = json(&format!("{EVENT}\n{EVENT}")).unwrap_err().to_string();
    assert!(lines.contains("`Content-Type: application/x-ndjson`"), "{lines}");
    let marked = json(&format!("\u{feff}{EVENT}")).unwrap_err().to_string();
    assert!(marked.contains("byte order mark"), "{marked}");
    assert!(matches!(json(&format!("{array},")), Err(BatchError::Malformed(_))));
    assert!(matches!(json(&array.replace(']', ",]")), Err(BatchError::Malformed(_))));
}

/// An event of exactly this many bytes.
fn sized(bytes: usize) -> String {
    let (head, tail) = (r#"{"type":"t","actor":"a","data":""#, r#""}"#);
    format!("{head}{}{tail}", "x".repeat(bytes - head.len() - tail.len()))
}

#[test]
fn an_events_size_excludes_the_white_space_around_it() {
    let (fits, larger) = (sized(EVENT_BYTES), sized(EVENT_BYTES + 1));
    assert!(json(&format!("  {fits}\n  ")).is_ok());
    assert!(ndjson(&format!(" {fits} \r\n")).is_ok());
    assert_eq!(json(&larger), Err(BatchError::EventTooLarge { index: 0 }));
    assert_eq!(json(&format!("[{EVENT}, {larger}]")), Err(BatchError::EventTooLarge { index: 1 }));
    assert_eq!(ndjson(&format!("\n{EVENT}\n{larger}")), Err(BatchError::EventTooLarge { index: 1 }));
}

#[test]
fn deep_nesting_is_a_fault_and_never_recursion() {
    let nested = |depth| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    let event = |depth| format!(r#"[{{"type":"t","actor":"a","data":{}}}]"#, nested(depth));
    assert!(json(&event(DATA_DEPTH)).is_ok());
    assert_eq!(faults(json(&event(DATA_DEPTH + 1))), ["/0/data: must not be nested deeper than 60 levels"]);
    assert_eq!(faults(json(&event(100_000))), faults(json(&event(DATA_DEPTH + 1))));
    assert_eq!(faults(json(&nested(100_000))), ["/0: must be a JSON object"]);
    assert!(matches!(json(&"[".repeat(BODY_BYTES)), Err(BatchError::Malformed(_))));
    assert!(matches!(json(&"{\"a\":".repeat(BODY_BYTES / 5)), Err(BatchError::Malformed(_))));
    assert_eq!(
        faults(json(&format!(r#"{{"type":{},"actor":"a"}}"#, nested(100_000)))),
        ["/type: must be a string"]
    );
}

#[test]
fn an_event_more_than_a_minute_old_is_an_import() {
    let at = |at: &str| json(&format!(r#"{{"type":"t","actor":"a","at":"{at}"}}"#)).unwrap();
    assert!(!has_imports(&at("2026-11-20T09:29:00Z")));
    assert!(has_imports(&at("2026-11-20T09:28:59.999Z")));
}

/// JSON values, nested a little, as text with odd white space.
fn any_json() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("null".to_owned()),
        Just("-0.0e+10".to_owned()),
        any::<i128>().prop_map(|n| n.to_string()),
        any::<f64>().prop_filter("JSON has no infinities", |n| n.is_finite()).prop_map(|n| format!("{n:?}")),
        any::<String>().prop_map(|text| serde_json::to_string(&text).unwrap()),
    ];
    leaf.prop_recursive(4, 32, 4, |inner| {
        let members = prop::collection::vec((any::<String>(), inner.clone()), 0..4);
        prop_oneof![
            prop::collection::vec(inner, 0..4).prop_map(|items| format!("[ {}\n]", items.join(" ,"))),
            members.prop_map(|members| {
                let member = |(name, value): (String, String)| {
                    format!("{} :\t{value}", serde_json::to_string(&name).unwrap())
                };
                format!("{{{}}}", members.into_iter().map(member).collect::<Vec<_>>().join(","))
            }),
        ]
    })
}

proptest! {
    #[test]
    fn accepted_data_is_the_clients_own_text(data in prop::collection::vec(any_json(), 1..4), space in "[ \t\r\n]{0,3}") {
        let events: Vec<String> =
            data.iter().map(|data| format!(r#"{{"data":{space}{data}{space},"type":"t","actor":"a"}}"#)).collect();
        let batch = json(&format!("[{}]", events.join(","))).unwrap();
        for (event, data) in batch.events.iter().zip(&data) {
            prop_assert_eq!(event.data.as_ref().unwrap().as_str(), data.as_str());
        }
    }

    #[test]
    fn any_bytes_are_a_batch_or_an_error(body: Vec<u8>, near in "[\\[\\]{}\":,a-z0-9 \\\\\n]{0,60}") {
        for body in [&body[..], near.as_bytes()] {
            for form in [BodyForm::Json, BodyForm::Ndjson] {
                if let Ok(batch) = Batch::parse(body, form, times()) {
                    prop_assert!(!batch.events.is_empty());
                }
            }
        }
    }

    /// A valid event with one byte changed is refused, or read as serde reads it.
    #[test]
    fn a_damaged_event_is_read_as_serde_would_or_refused(at in 0..60_usize, byte: u8) {
        let mut body = br#"{"type":"post.created","actor":"ada","data":{"words":[1,2]}}"#.to_vec();
        body[at] = byte;
        if let Ok(batch) = Batch::parse(&body, BodyForm::Json, times()) {
            let value: serde_json::Value = serde_json::from_slice(&body).unwrap();
            let event = &batch.events[0];
            prop_assert_eq!(value["type"].as_str(), Some(event.event_type.as_str()));
            prop_assert_eq!(value["actor"].as_str(), Some(event.actor.as_str()));
            let data = event.data.as_ref().map(|data| serde_json::from_str(data.as_str()).unwrap());
            prop_assert_eq!(value.get("data").cloned(), data);
        }
    }

    #[test]
    fn an_array_and_ndjson_of_the_same_events_parse_alike(
        events in prop::collection::vec(prop_oneof![Just(EVENT), Just("{}"), Just("[1]"), Just(r#"{"type":"t","actor":"a","x":0}"#)], 1..6)
    ) {
        prop_assert_eq!(json(&format!("[{}]", events.join(","))), ndjson(&events.join("\n")));
    }
}
