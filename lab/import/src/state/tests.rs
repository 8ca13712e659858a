//! The state file decides whether an import starts, continues or is rejected.

use super::*;

fn time(text: &str) -> Timestamp {
    text.parse().expect("a time")
}

fn count(shards: u16) -> ShardCount {
    ShardCount::new(shards).expect("a power of two")
}

fn users(names: &[&str]) -> Vec<User> {
    names.iter().map(|name| name.parse().expect("a name")).collect()
}

fn asked() -> ImportRequest {
    ImportRequest {
        import: BTreeMap::from([
            ("table".to_owned(), "old".to_owned()),
            ("type".to_owned(), "post".to_owned()),
        ]),
        shards: None,
        default_shards: count(2),
        users: users(&["ada", "bob"]),
        since: Some(time("2026-01-01T00:00:00Z")),
        until: None,
        latest: time("2026-03-14T12:00:00Z"),
        needs_since: true,
    }
}

fn plan(saved: Option<&State>, asked: ImportRequest) -> Result<State, StateError> {
    State::plan(saved.cloned(), asked, Path::new("state.json"))
}

fn new() -> State {
    plan(None, asked()).expect("it may begin")
}

fn done() -> State {
    let mut state = new();
    state.end_timeline(2);
    state.end_timeline(2);
    state
}

fn behind() -> Position {
    let key = |text: &str| KeyValue::S(text.to_owned());
    Position::Behind(WriteKey { pk: key("EVENTS#2026-01-02#SHARD3"), sk: KeyValue::N(-7) })
}

#[test]
fn a_new_import_has_the_topics_shards_and_the_latest_end() {
    let state = new();
    assert_eq!((state.shards, state.timelines, state.position()), (count(2), 0, None));
    assert_eq!((state.since, state.until), (time("2026-01-01T00:00:00Z"), time("2026-03-14T12:00:00Z")));
    assert_eq!(
        plan(None, ImportRequest { shards: Some(count(8)), ..asked() }).expect("it may begin").shards,
        count(8)
    );
    let without = |needs_since| plan(None, ImportRequest { since: None, needs_since, ..asked() });
    assert!(matches!(without(true), Err(StateError::NoSince)));
    assert_eq!(without(false).expect("it may begin").since, Timestamp::UNIX_EPOCH);
}

#[test]
fn an_unfinished_import_continues_at_its_position() {
    let mut saved = new();
    saved.end_timeline(2);
    saved.stand_at(behind());
    saved.events = 7;
    let later = ImportRequest {
        latest: time("2026-03-20T00:00:00Z"),
        default_shards: count(64),
        since: None,
        ..asked()
    };
    assert_eq!(plan(Some(&saved), later).expect("it goes on"), saved);
    for (option, other) in [
        ("another --since", ImportRequest { since: Some(time("2026-01-02T00:00:00Z")), ..asked() }),
        ("another --until", ImportRequest { until: Some(time("2026-01-02T00:00:00Z")), ..asked() }),
        ("another --user", ImportRequest { users: users(&["ada"]), ..asked() }),
    ] {
        let refused = plan(Some(&saved), other);
        assert!(
            matches!(refused, Err(StateError::Unfinished { option: named, .. }) if named == option),
            "{option}"
        );
    }
}

#[test]
fn a_finished_import_continues_with_newer_items() {
    let saved = done();
    let later = ImportRequest { latest: time("2026-03-20T00:00:00Z"), default_shards: count(64), ..asked() };
    let next = plan(Some(&saved), ImportRequest { since: None, ..later.clone() }).expect("it may begin");
    assert_eq!((next.since, next.until, next.shards), (saved.until, time("2026-03-20T00:00:00Z"), count(2)));
    assert_eq!((next.timelines, next.position(), next.events), (0, None, 0));
    // Once more from the beginning, under the same ids.
    let again = plan(Some(&saved), later.clone()).expect("it may begin");
    assert_eq!((again.since, again.shards), (saved.since, count(2)));
    // Other users were never imported, so their import does not start where this one ended.
    let others = ImportRequest { users: users(&["carol"]), since: None, ..later };
    assert!(matches!(plan(Some(&saved), others), Err(StateError::NoSince)));
    assert!(matches!(
        plan(Some(&saved), ImportRequest { since: None, ..asked() }),
        Err(StateError::Empty(..))
    ));
}

#[test]
fn the_number_of_shards_never_changes() {
    for saved in [new(), done()] {
        let other = ImportRequest { shards: Some(count(4)), ..asked() };
        assert!(matches!(plan(Some(&saved), other), Err(StateError::Shards(shards)) if shards == count(2)));
        let same = ImportRequest { shards: Some(count(2)), ..asked() };
        assert_eq!(plan(Some(&saved), same).expect("it is the same").shards, count(2));
    }
}

#[test]
fn the_file_of_another_import_is_refused() {
    let of = |name: &str, value: Option<&str>| {
        let mut other = asked();
        other.import.remove(name);
        other.import.extend(value.map(|value| (name.to_owned(), value.to_owned())));
        other
    };
    for saved in [new(), done()] {
        for (other, option, was) in [
            (of("table", Some("other")), "table", "old"),
            (of("type", None), "type", "post"),
            (of("data-from", Some("d")), "data-from", "not given"),
        ] {
            match plan(Some(&saved), other) {
                Err(StateError::Other { option: named, was: named_was, .. }) => {
                    assert_eq!((named.as_str(), named_was.as_str()), (option, was));
                }
                planned => panic!("{option}: {planned:?}"),
            }
        }
    }
}

#[test]
fn a_range_lies_in_the_past_and_is_not_empty() {
    let until = |until: &str| plan(None, ImportRequest { until: Some(time(until)), ..asked() });
    assert!(until("2026-03-14T12:00:00Z").is_ok());
    assert!(matches!(until("2026-03-14T12:00:00.000000001Z"), Err(StateError::TooNew(_))));
    assert!(matches!(until("2026-01-01T00:00:00Z"), Err(StateError::Empty(..))));
}

#[test]
fn a_file_round_trips_and_invalid_files_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("state.json");
    assert_eq!(State::read(&path).expect("it is not there"), None);
    let mut state = new();
    for position in [Position::At(time("2026-01-02T03:04:05.000000006Z")), behind()] {
        state.stand_at(position.clone());
        state.write(&path).expect("it can be written");
        let read = State::read(&path).expect("it can be read").expect("it is there");
        assert_eq!((&read, read.position()), (&state, Some(position)));
    }
    assert_eq!(
        std::fs::read_dir(folder.path()).expect("it is there").count(),
        1,
        "nothing remains beside it"
    );

    let text = std::fs::read_to_string(&path).expect("it is there");
    for (from, to) in [("\"version\": 1", "\"version\": 2"), ("\"shards\": 2", "\"shards\": 3"), ("}", "")] {
        std::fs::write(&path, text.replace(from, to)).expect("it can be written");
        assert!(matches!(State::read(&path), Err(StateError::Foreign { .. })), "{from}");
    }
}

#[test]
fn golden_bytes() {
    let mut state = new();
    state.stand_at(behind());
    let expected = concat!(
        r#"{"version":1,"import":{"table":"old","type":"post"},"shards":2,"users":["ada","bob"],"#,
        r#""since":"2026-01-01T00:00:00Z","until":"2026-03-14T12:00:00Z","timelines":0,"#,
        r#""position":{"behind":{"pk":{"S":"EVENTS#2026-01-02#SHARD3"},"sk":{"N":-7}}},"#,
        r#""is_done":false,"events":0,"skipped":0}"#,
    );
    assert_eq!(serde_json::to_string(&state).expect("it has JSON"), expected);
}
