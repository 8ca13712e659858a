//! The commands that end things: the deletion of a topic, the erasure of a person, and the proof of an erasure.

use serde_json::json;

use crate::cli::{cells, run};
use crate::program::{Program, call_dynamodb, command, until};

#[test]
fn a_topic_is_deleted_under_its_name_and_shows_its_progress() {
    let program = Program::started(&["--no-demo"]);
    let api = program.api();
    run(api, &["topic", "delete", "posts", "--confirm", "posts"]).failed(4, &["topic-not-found"]);
    run(api, &["topic", "create", "posts"]).fine();
    run(api, &["post", "posts", "--type", "a", "--actor", "ada"]).fine();
    let preview = run(api, &["topic", "delete", "posts", "--dry-run"]).fine();
    let shown = |name: &str| cells(&preview).into_iter().find(|row| row[0] == name).unwrap()[1].to_owned();
    assert_eq!((shown("buckets"), shown("shards")), ("1".to_owned(), "1".to_owned()));
    let preview = run(api, &["topic", "delete", "posts", "--dry-run", "--json"]).json();
    assert_eq!(preview["newest"], shown("newest"));

    // Without a terminal, nobody can be asked for the name.
    run(api, &["topic", "delete", "posts"]).failed(2, &["add --confirm posts"]);
    run(api, &["topic", "delete", "posts", "--confirm", "Posts"]).failed(3, &["400", "/confirm"]);
    run(api, &["topic", "delete", "posts", "--confirm", "posts", "--token", "ada"])
        .failed(3, &["403", "admin"]);
    run(api, &["topic", "delete", "posts", "--confirm", "posts", "--dry-run"]).failed(2, &["--dry-run"]);
    run(api, &["topic", "deletion", "posts"]).failed(4, &["not-found"]);
    run(api, &["topic", "show", "posts"]).fine();

    let begun = run(api, &["topic", "delete", "posts", "--confirm", "posts"]);
    assert_eq!(begun.last(), "the deletion continues: lately topic deletion posts --wait");
    assert!(begun.fine().starts_with("topic        posts\nstate        deleting\n"));
    let deletion = || run(api, &["topic", "deletion", "posts", "--json"]).json();
    until("the event is deleted", || deletion()["events"] == 1);
    assert_eq!(deletion()["state"], json!("deleting"));
    run(api, &["topic", "create", "posts"]).failed(5, &["409", "topic-is-being-deleted"]);
    run(api, &["latest", "posts"])
        .failed(4, &["topic-not-found: The topic posts is being deleted. See GET "]);
}

#[test]
fn a_person_is_erased_and_the_receipt_has_the_names() {
    let program = Program::started(&["--no-demo"]);
    let api = program.api();
    run(api, &["topic", "create", "posts"]).fine();
    run(api, &["post", "posts", "--type", "a", "--actor", "eve"]).fine();
    run(api, &["profile", "set", "eve", "{}"]).fine();
    run(api, &["erase"]).failed(2, &["--actor", "--user"]);
    // Without a terminal, nobody can be asked for the name.
    run(api, &["erase", "--user", "eve"]).failed(2, &["add --confirm eve"]);
    run(api, &["erase", "--user", "eve", "--confirm", "Eve"]).failed(3, &["422", "/confirm"]);
    run(api, &["erase", "--user", "eve", "--confirm", "eve", "--token", "ada"]).failed(3, &["403", "admin"]);
    run(api, &["erase", "show", "019aa0b7-9a40-7c3e-8000-5f3c9e1d2a77"]).failed(4, &["not-found"]);
    run(api, &["profile", "show", "eve"]).fine();

    let begun = run(api, &["erase", "--actor", "eve", "--user", "eve", "--confirm", "eve"]);
    let id = begun.last().rsplit(' ').nth(1).unwrap().to_owned();
    assert_eq!(begun.last(), format!("the erasure continues: lately erase show {id} --wait"));
    assert!(begun.fine().contains("\nactor        eve\nuser         eve\nstate        erasing\n"));
    let show = |more: &[&str]| run(api, &[&["erase", "show", &*id], more].concat());
    until("everything is erased", || show(&["--json"]).json()["state"] == "done");
    let receipt = show(&["--actor", "eve", "--user", "eve", "--json"]).json();
    assert_eq!((&receipt["actor"], &receipt["user"]), (&json!("eve"), &json!("eve")));
    assert_eq!((&receipt["id"], &receipt["counts"]["events"]), (&json!(id), &json!(1)));
    assert!(show(&[]).fine().contains("not covered  report files\n"));
    let list = run(api, &["erase", "list"]).fine();
    assert_eq!(cells(&list).last().unwrap()[..2], [&*id, "done"]);
    run(api, &["profile", "show", "eve"]).failed(4, &["404"]);
}

#[test]
fn an_erasure_is_proven_by_its_receipt() {
    let program = Program::started(&["--no-demo"]);
    let api = program.api();
    run(api, &["topic", "create", "posts"]).fine();
    run(api, &["follow", "bob", "actor:eve"]).fine();
    for actor in ["eve", "eve", "bob"] {
        run(api, &["post", "posts", "--type", "a", "--actor", actor]).fine();
    }
    let shown = || run(api, &["feed", "show", "bob", "--json"]).json();
    until("the events are in the feed", || shown()["events"].as_array().unwrap().len() == 3);
    let receipt =
        run(api, &["erase", "--actor", "eve", "--user", "eve", "--confirm", "eve", "--wait", "--json"])
            .json();
    // The events are in eve's own feed, too.
    let counts = ["events", "followers", "feed"].map(|kind| &receipt["counts"][kind]);
    assert_eq!(counts, [&json!(2), &json!(1), &json!(2)]);
    assert_eq!(shown()["events"].as_array().unwrap().len(), 1);

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("receipt.json");
    let verify = |receipt: &serde_json::Value| {
        std::fs::write(&path, receipt.to_string()).unwrap();
        command(&program, &["erase", "verify", path.to_str().unwrap(), "--table", "lately"])
    };
    let proven = || verify(&receipt);
    let (done, out, err) = proven();
    assert!(done, "{out} {err}");
    assert!(out.contains("left           0\n") && out.contains("receipt        as in the table\n"), "{out}");
    assert!(out.contains("ids            as in the table\n") && err.contains("read_units="), "{out} {err}");

    // An item of eve that nothing has erased.
    let item =
        json!({"pk": {"S": "USER#eve"}, "sk": {"S": "PROFILE"}, "d": {"S": "{}"}, "revision": {"N": "1"}});
    call_dynamodb(&program, "PutItem", &json!({"TableName": "lately", "Item": item}));
    let (done, out, err) = proven();
    assert!(!done && out.starts_with("left  USER#eve / PROFILE\n"), "{out}");
    assert!(err.contains("1 item of the erased person left"), "{err}");
    let key = json!({"pk": {"S": "USER#eve"}, "sk": {"S": "PROFILE"}});
    call_dynamodb(&program, "DeleteItem", &json!({"TableName": "lately", "Key": key}));

    let mut other = receipt.clone();
    other["counts"]["events"] = json!(3);
    assert!(verify(&other).2.contains("the receipt is not the one in the table"));
    other["state"] = json!("erasing");
    assert!(verify(&other).2.contains("the erasure was not done yet"));
    for name in ["actor", "user"] {
        other.as_object_mut().unwrap().remove(name);
    }
    assert!(verify(&other).2.contains("the receipt names nobody"));
    assert!(verify(&json!({})).2.contains("the file is no receipt of an erasure"));
}
