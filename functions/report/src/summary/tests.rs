use super::*;
use lately_keys::EventId;
use proptest::prelude::*;

fn event(actor: &str, subject: Option<&str>, data: Option<&str>) -> Event {
    Event {
        id: EventId::MIN,
        event_type: "paid".parse().unwrap(),
        actor: actor.parse().unwrap(),
        subject: subject.map(|subject| subject.parse().unwrap()),
        data: data.map(|data| data.parse().unwrap()),
    }
}

fn spec(group_by: GroupBy, sum: Option<&str>) -> RunSpec {
    RunSpec { group_by, sum: sum.map(|sum| sum.parse().unwrap()) }
}

fn head(events: u64) -> SummaryHead {
    SummaryHead {
        topic: "billing".parse().unwrap(),
        consumer: "nightly".parse().unwrap(),
        from: UnixMillis::MIN,
        to: "2026-11-21T03:15:00Z".parse().unwrap(),
        events,
        late: 0,
        group_by: GroupBy::Actor,
        sum: None,
        not_summed: None,
    }
}

fn file(tally: &Tally, events: u64) -> String {
    String::from_utf8(tally.file(head(events)).flatten().collect()).unwrap()
}

fn tally(spec: RunSpec, events: &[Event]) -> Tally {
    let mut tally = Tally::new(spec);
    events.iter().for_each(|event| tally.add(event));
    tally
}

#[test]
fn golden_bytes() {
    let events = [
        event("bob", None, Some(r#"{"amount": 1.10}"#)),
        event("ada", None, Some(r#"{"amount": 12345678901234567890.5, "other": 1}"#)),
        event("bob", None, Some(r#"{"amount": "7"}"#)),
        event("bob", None, Some(r#"{"amount": 1e400}"#)),
        event("bob", None, None),
        event("bob", None, Some(r#"{"amount": 2.90}"#)),
    ];
    assert_eq!(
        file(&tally(spec(GroupBy::Actor, Some("amount")), &events), 6),
        concat!(
            r#"{"topic":"billing","consumer":"nightly","from":"1970-01-01T00:00:00.000Z","to":"2026-11-21T03:15:00.000Z","#,
            r#""events":6,"late":0,"group_by":"actor","sum":"amount","not_summed":1,"groups":["#,
            "\n",
            r#"{"key":"ada","count":1,"sum":"12345678901234567890.5","numbers":1},"#,
            "\n",
            r#"{"key":"bob","count":5,"sum":"4.00","numbers":2}"#,
            "\n]}\n",
        )
    );
    let events = [event("ada", Some("x"), None), event("ada", None, None)];
    let by_subject = file(&tally(spec(GroupBy::Subject, None), &events), 2);
    let groups = r#""group_by":"subject","groups":["#.to_owned()
        + "\n"
        + r#"{"key":null,"count":1},"#
        + "\n"
        + r#"{"key":"x","count":1}"#
        + "\n]}\n";
    assert!(by_subject.ends_with(&groups), "{by_subject}");
    assert!(file(&tally(spec(GroupBy::Type, None), &[]), 0).ends_with("\"groups\":[\n]}\n"));
    let by_type = file(&tally(spec(GroupBy::Type, None), &events), 2);
    assert!(by_type.ends_with("[\n{\"key\":\"paid\",\"count\":2}\n]}\n"), "{by_type}");
}

#[test]
fn the_last_top_level_field_of_a_name_is_found() {
    let found = |data| field(data, "a").map(RawValue::get);
    assert_eq!(found(r#"{"a": 1 }"#), Some("1"));
    assert_eq!(found(r#"{"\u0061":1.50,"b":{"a":2}}"#), Some("1.50"));
    assert_eq!(found(r#"{"a":1,"a":[2]}"#), Some("[2]"));
    for data in [r#"{"b":{"a":1}}"#, "[1]", "1", "null", r#""a""#, "{}"] {
        assert_eq!(found(data), None, "{data}");
    }
}

#[test]
fn groups_beyond_the_cap_are_counted_together() {
    let mut tally = Tally { most_groups: 2, ..Tally::new(spec(GroupBy::Actor, Some("n"))) };
    for actor in ["c", "b", "a", "c", "d"] {
        tally.add(&event(actor, None, Some(r#"{"n":2}"#)));
    }
    let summary: Summary = serde_json::from_str(&file(&tally, 5)).unwrap();
    let keys: Vec<_> = summary.groups.iter().map(|group| group.key.as_deref().unwrap()).collect();
    assert_eq!(keys, ["b", "c"]);
    let others = Counted { count: 2, sum: "4".parse().ok(), numbers: Some(2) };
    assert_eq!(summary.others, Some(others));
}

fn any_event() -> impl Strategy<Value = Event> {
    let data = prop_oneof![
        Just(None),
        (-999..999_i32, 0..4_u32).prop_map(|(n, e)| Some(format!("{{\"n\":{n}e-{e}}}"))),
        Just(Some("{\"n\":1e999}".to_owned())),
        Just(Some("{\"n\":null}".to_owned())),
    ];
    ("[a-f]", prop::option::of("[x-z]"), data)
        .prop_map(|(actor, subject, data)| event(&actor, subject.as_deref(), data.as_deref()))
}

proptest! {
    #[test]
    fn counts_add_up_and_continue_from_their_lines(
        events in prop::collection::vec(any_event(), 0..40),
        cut in any::<prop::sample::Index>(),
        most_groups in 1..4_usize,
        group_by in prop_oneof![Just(GroupBy::Actor), Just(GroupBy::Subject), Just(GroupBy::Type)],
        sum in prop::option::of(Just("n")),
    ) {
        let new = || Tally { most_groups, ..Tally::new(spec(group_by, sum)) };
        let mut whole = new();
        events.iter().for_each(|event| whole.add(event));

        let (before, after) = events.split_at(cut.index(events.len() + 1));
        let mut first = new();
        before.iter().for_each(|event| first.add(event));
        let mut resumed = new();
        let mut lines = first.lines();
        resumed.read_rest(&lines.next().unwrap()).unwrap();
        lines.for_each(|line| resumed.read_group(&line).unwrap());
        after.iter().for_each(|event| resumed.add(event));

        let text = file(&whole, events.len() as u64);
        prop_assert_eq!(&file(&resumed, events.len() as u64), &text);
        let summary: Summary = serde_json::from_str(&text).unwrap();
        let counts = summary.groups.iter().map(|group| &group.counted).chain(&summary.others);
        prop_assert_eq!(counts.map(|counted| counted.count).sum::<u64>(), events.len() as u64);
        prop_assert!(summary.groups.is_sorted_by_key(|group| &group.key));
    }
}
