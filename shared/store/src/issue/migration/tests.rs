use std::collections::BTreeSet;

use aws_sdk_dynamodb::types::AttributeValue;
use proptest::prelude::*;

use super::*;
use crate::issue::stored::{ReadIssue, encode};

/// An item as tables of the first schema keep it.
fn first() -> Item {
    let labels = AttributeValue::L(vec![text("ui"), text("critical")]);
    [
        ("pk", text("REPO#octo#hello")),
        ("sk", text("ISSUE#00000007")),
        ("gsi1pk", text("REPO#octo#hello")),
        ("gsi1sk", text("ISSUE#OPEN#00000007")),
        ("title", text("It is slow")),
        ("labels", labels),
        ("status", text("open")),
        ("opened_by", text("ada")),
        ("opened_at", number(1_720_900_000_123_u64)),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into()
}

/// What one item has that the other has not, or has otherwise.
fn differing(before: &Item, after: &Item) -> BTreeSet<String> {
    let differs = |name: &&String| before.get(*name) != after.get(*name);
    before.keys().chain(after.keys()).filter(differs).cloned().collect()
}

fn names<const N: usize>(names: [&str; N]) -> BTreeSet<String> {
    names.map(str::to_owned).into()
}

/// The item after so many steps.
fn stepped(steps: usize) -> Item {
    let item = STEPS[..steps].iter().try_fold(first(), |item, step| step(item));
    item.unwrap()
}

#[test]
fn each_step_adds_what_its_schema_has_and_nothing_else() {
    let second = stepped(1);
    assert_eq!(differing(&first(), &second), names(["revision", "updated_at"]));
    assert_eq!(second["revision"], number(1_720_900_000_123_000_u64));
    assert_eq!(second["updated_at"], number(1_720_900_000_123_u64));
    let third = stepped(2);
    assert_eq!(differing(&second, &third), names(["priority", "gsi2pk", "gsi2sk"]));
    assert_eq!(third["priority"], text("high"));
    assert_eq!(third["gsi2pk"], text("REPO#octo#hello"));
    assert_eq!(third["gsi2sk"], text("PRIORITY#HIGH#00000007"));
}

#[test]
fn an_item_of_any_schema_becomes_the_same() {
    let wanted = upgraded(&first()).unwrap();
    assert_eq!(wanted["schema"], number(SCHEMA));
    for steps in 0..STEPS.len() {
        let mut item = stepped(steps);
        if steps > 0 {
            item.insert("schema".to_owned(), number(u64::try_from(steps + 1).unwrap()));
        }
        assert_eq!(upgraded(&item).unwrap(), wanted, "{steps} steps");
    }
}

#[test]
fn an_item_of_a_newer_schema_is_left_as_it_is() {
    let mut item = first();
    item.insert("schema".to_owned(), number(SCHEMA + 1));
    item.insert("gsi1sk".to_owned(), text("ISSUE#ELSEWHERE#00000007"));
    assert_eq!(upgraded(&item).unwrap(), item);
}

#[test]
fn what_is_no_issue_of_any_schema_is_corrupt() {
    for (name, value) in [
        ("schema", number(0_u64)),
        ("schema", text("2")),
        ("sk", text("ISSUE#7")),
        ("status", text("OPEN")),
        ("labels", text("critical")),
        ("labels", AttributeValue::L(vec![number(7_u64)])),
        ("labels", AttributeValue::L(vec![text("a"), text("a")])),
        ("opened_at", text("2024")),
        ("opened_at", number(u64::MAX)),
        ("title", text("")),
        ("opened_by", text("a#b")),
    ] {
        let mut item = first();
        item.insert(name.to_owned(), value.clone());
        assert!(ReadIssue::of(item).is_err(), "{name}: {value:?}");
    }
    for name in ["sk", "status", "opened_at", "title", "opened_by"] {
        let mut item = first();
        item.remove(name);
        assert!(ReadIssue::of(item).is_err(), "{name}");
    }
}

/// Items of every schema, by whoever left them: some attributes older than others, keys that do not follow, and
/// attributes that nobody knows.
fn items() -> impl Strategy<Value = Item> {
    let labels = prop::collection::btree_set(prop_oneof!["critical", "enhancement", "[a-c]{1,2}"], 0..4);
    let word = |words: &'static [&'static str]| prop::option::of(prop::sample::select(words));
    let unknown = prop::collection::btree_map("x_[a-z]{1,6}", "\\PC{0,8}", 0..3);
    let written = (
        prop::option::of(2..=SCHEMA),
        prop::option::of(1_720_900_000_123_000..1_790_000_000_000_000_u64),
        prop::option::of(1_720_900_000_123..1_790_000_000_000_u64),
        prop::option::of("\\PC{0,20}"),
    );
    let placed = (
        prop::sample::select(&["open", "closed"][..]),
        word(&["high", "medium", "low"]),
        any::<bool>(),
        word(&["ISSUE#OPEN#00000007", "ISSUE#CLOSED#00000007"]),
        word(&["PRIORITY#HIGH#00000007", "PRIORITY#LOW#00000007"]),
    );
    (prop::option::of(labels), written, placed, unknown).prop_map(|(labels, written, placed, unknown)| {
        let (schema, revision, updated_at, body) = written;
        let (status, priority, by_hand, gsi1sk, gsi2sk) = placed;
        let mut item = first();
        item.retain(|name, _| !["labels", "gsi1pk", "gsi1sk"].contains(&name.as_str()));
        let mut put = |name: &str, value: Option<AttributeValue>| {
            item.extend(value.map(|value| (name.to_owned(), value)));
        };
        put("labels", labels.map(|labels| AttributeValue::L(labels.into_iter().map(text).collect())));
        // An item says its schema from the second on, and then has what the second has.
        put("schema", schema.map(number));
        put("revision", revision.or(schema.map(|_| 1_720_900_000_123_000)).map(number));
        put("updated_at", updated_at.or(schema.map(|_| 1_720_900_000_123)).map(number));
        put("body", body.filter(|body| !body.contains(char::is_control)).map(text));
        put("status", Some(text(status)));
        put("priority", priority.map(text));
        put("by_hand", by_hand.then_some(AttributeValue::Bool(true)));
        put("gsi1pk", gsi1sk.map(|_| text("REPO#octo#hello")));
        put("gsi1sk", gsi1sk.map(text));
        put("gsi2pk", gsi2sk.map(|_| text("REPO#octo#hello")));
        put("gsi2sk", gsi2sk.map(text));
        for (name, value) in unknown {
            put(&name, Some(text(value)));
        }
        item
    })
}

proptest! {
    #[test]
    fn what_was_upgraded_is_an_issue_and_needs_no_upgrade(item in items()) {
        let once = upgraded(&item).unwrap();
        prop_assert_eq!(&upgraded(&once).unwrap(), &once);
        let read = ReadIssue::of(once.clone()).unwrap();
        prop_assert!(read.upgrade().is_none());
        // All that an issue has stands as it would if it were written now, but an empty list of labels that is not there.
        for (name, value) in encode(&read.issue) {
            if name != "labels" || !read.issue.labels.iter().as_slice().is_empty() {
                prop_assert_eq!(once.get(&name), Some(&value), "{}", name);
            }
        }
    }

    #[test]
    fn each_step_twice_is_the_step_once(item in items(), at: prop::sample::Index) {
        let step = at.get(&STEPS);
        let once = step(item).unwrap();
        prop_assert_eq!(step(once.clone()).unwrap(), once);
    }

    #[test]
    fn an_upgrade_touches_only_what_it_adds_or_what_follows(item in items()) {
        let touched = differing(&item, &upgraded(&item).unwrap());
        let known = names([
            "schema", "revision", "updated_at", "priority", "gsi1pk", "gsi1sk", "gsi2pk", "gsi2sk",
        ]);
        prop_assert!(touched.is_subset(&known), "{touched:?}");
        for name in ["revision", "updated_at"] {
            prop_assert!(!item.contains_key(name) || !touched.contains(name), "{name} was there");
        }
    }

    #[test]
    fn a_change_sets_what_it_changes_and_leaves_the_unknown_alone(item in items(), title in "[a-z]{1,9}") {
        let read = ReadIssue::of(item.clone()).unwrap();
        let next = lately_model::Issue {
            title: title.parse().unwrap(),
            body: None,
            revision: read.issue.revision.next(),
            ..read.issue.clone()
        };
        let edit = read.edit_to(&next).unwrap();
        prop_assert!(!edit.names.keys().any(|name| name.starts_with("#x_")));
        prop_assert_eq!(edit.names.contains_key("#body"), item.contains_key("body"));
        prop_assert_eq!(edit.values.get(":new_revision"), Some(&number(next.revision.get())));
    }
}
