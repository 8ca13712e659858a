use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::attribute::Value;

/// An item of the first schema.
fn first() -> Item {
    Item::from([
        ("pk", "REPO#octo#hello"),
        ("sk", "ISSUE#00000007"),
        ("gsi1pk", "REPO#octo#hello"),
        ("gsi1sk", "ISSUE#OPEN#00000007"),
        ("title", "It is slow"),
        ("status", "open"),
        ("opened_by", "ada"),
    ])
    .with("labels", Value::list(["ui", "critical"]))
    .with("opened_at", 1_720_900_000_123_u64)
}

/// The names of the attributes that two items do not share.
fn differing(before: &Item, after: &Item) -> BTreeSet<String> {
    let differs = |name: &&str| before.value(name) != after.value(name);
    before.names().chain(after.names()).filter(differs).map(str::to_owned).collect()
}

fn names<const N: usize>(names: [&str; N]) -> BTreeSet<String> {
    names.map(str::to_owned).into()
}

/// The steps from each schema to the next.
const STEPS: [fn(Item) -> Result<Item, Corrupt>; SCHEMA as usize - 1] = [with_revision, with_derived];

/// The first item after a number of steps.
fn stepped(steps: usize) -> Item {
    STEPS[..steps].iter().try_fold(first(), |item, step| step(item)).unwrap()
}

#[test]
fn each_step_adds_only_the_attributes_of_its_schema() {
    let second = stepped(1);
    assert_eq!(differing(&first(), &second), names(["revision", "updated_at"]));
    assert_eq!(second.get("revision"), Ok(1_720_900_000_123_000_u64));
    assert_eq!(second.get("updated_at"), Ok(1_720_900_000_123_u64));
    let third = stepped(2);
    assert_eq!(differing(&second, &third), names(["priority", "gsi2pk", "gsi2sk"]));
    assert_eq!(third.text("priority"), Ok("high"));
    assert_eq!(third.text("gsi2pk"), Ok("REPO#octo#hello"));
    assert_eq!(third.text("gsi2sk"), Ok("PRIORITY#HIGH#00000007"));
}

#[test]
fn an_item_of_any_schema_upgrades_to_the_same_item() {
    let wanted = upgraded(&first()).unwrap();
    assert_eq!(wanted.get("schema"), Ok(SCHEMA));
    for steps in 0..STEPS.len() {
        let mut item = stepped(steps);
        if steps > 0 {
            item.set("schema", u32::try_from(steps + 1).unwrap());
        }
        assert_eq!(upgraded(&item).unwrap(), wanted, "{steps} steps");
    }
}

#[test]
fn an_item_of_a_newer_schema_stays_as_it_is() {
    let item = first().with("schema", SCHEMA + 1).with("gsi1sk", "ISSUE#ELSEWHERE#00000007");
    assert_eq!(upgraded(&item).unwrap(), item);
}

#[test]
fn an_item_that_is_no_issue_is_corrupt() {
    for (name, value) in [
        ("schema", Value::from(0_u64)),
        ("schema", "2".into()),
        ("sk", "ISSUE#7".into()),
        ("status", "OPEN".into()),
        ("labels", "critical".into()),
        ("labels", Value::list([7_u64])),
        ("labels", Value::list(["a", "a"])),
        ("opened_at", "2024".into()),
        ("opened_at", u64::MAX.into()),
        ("title", "".into()),
        ("opened_by", "a#b".into()),
    ] {
        assert!(ReadIssue::of(first().with(name, value.clone())).is_err(), "{name}: {value:?}");
    }
    for name in ["sk", "status", "opened_at", "title", "opened_by"] {
        let mut item = first();
        item.remove(name);
        assert!(ReadIssue::of(item).is_err(), "{name}");
    }
}

/// Items of every schema, as any writer may leave them: some attributes are of an older schema than others, some keys
/// do not follow from status and priority, and some attributes are unknown.
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
        for name in ["labels", "gsi1pk", "gsi1sk"] {
            item.remove(name);
        }
        let item = item
            .with_some("labels", labels.map(Value::list))
            // An item has an attribute `schema` from the second schema on, and then the second's other attributes too.
            .with_some("schema", schema)
            .with_some("revision", revision.or(schema.map(|_| 1_720_900_000_123_000)))
            .with_some("updated_at", updated_at.or(schema.map(|_| 1_720_900_000_123)))
            .with_some("body", body.filter(|body| !body.contains(char::is_control)))
            .with("status", status)
            .with_some("priority", priority)
            .with_flag("by_hand", by_hand)
            .with_some("gsi1pk", gsi1sk.map(|_| "REPO#octo#hello"))
            .with_some("gsi1sk", gsi1sk)
            .with_some("gsi2pk", gsi2sk.map(|_| "REPO#octo#hello"))
            .with_some("gsi2sk", gsi2sk);
        unknown.into_iter().fold(item, |item, (name, value)| item.with(name, value))
    })
}

proptest! {
    #[test]
    fn an_upgraded_item_needs_no_upgrade(item in items()) {
        let once = upgraded(&item).unwrap();
        prop_assert_eq!(&upgraded(&once).unwrap(), &once);
        let read = ReadIssue::of(once.clone()).unwrap();
        prop_assert_eq!(&read.upgraded, &read.stored);
        // Every attribute is as if the issue were written now, except for an empty list of labels, which may be absent.
        let now = encode(&read.issue);
        for name in now.names() {
            if name != "labels" || !read.issue.labels.iter().as_slice().is_empty() {
                prop_assert_eq!(once.value(name), now.value(name), "{}", name);
            }
        }
    }

    #[test]
    fn a_step_changes_nothing_the_second_time(item in items(), at: prop::sample::Index) {
        let step = at.get(&STEPS);
        let once = step(item).unwrap();
        prop_assert_eq!(step(once.clone()).unwrap(), once);
    }

    #[test]
    fn an_upgrade_touches_only_added_and_derived_attributes(item in items()) {
        let touched = differing(&item, &upgraded(&item).unwrap());
        let known = names([
            "schema", "revision", "updated_at", "priority", "gsi1pk", "gsi1sk", "gsi2pk", "gsi2sk",
        ]);
        prop_assert!(touched.is_subset(&known), "{touched:?}");
        for name in ["revision", "updated_at"] {
            prop_assert!(!item.has(name) || !touched.contains(name), "{name} was there");
        }
    }

    #[test]
    fn a_change_leaves_unknown_attributes_alone(item in items(), title in "[a-z]{1,9}") {
        let read = ReadIssue::of(item.clone()).unwrap();
        let next = lately_model::Issue {
            title: title.parse().unwrap(),
            body: None,
            revision: read.issue.revision.next(),
            ..read.issue.clone()
        };
        let changed = read.item_of(&next);
        let touched = differing(&item, &changed);
        prop_assert!(!touched.iter().any(|name| name.starts_with("x_")), "{touched:?}");
        prop_assert!(!changed.has("body"));
        prop_assert_eq!(changed.get("revision"), Ok(next.revision.get()));
        prop_assert_eq!(changed.text("title"), Ok(title.as_str()));
        prop_assert_ne!(&changed, &read.stored);
    }
}
