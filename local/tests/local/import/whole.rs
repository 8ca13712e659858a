//! An import as an operator runs it: its documented costs, and every command of its documentation.

use lately_designs::{Design, KeyType, KeyValue, WriteKey};
use lately_table::Item;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::import::{Scene, at, designs, entropy, later};
use crate::program::{Program, call_dynamodb, command, http};

/// The documentation of imports.
const PAGE: &str = include_str!("../../../../docs/designs.md");

/// Attributes that make an item 512 bytes as stored.
fn of_512_bytes(key: &WriteKey) -> Item {
    let bytes = |value: &KeyValue| match value {
        KeyValue::S(text) => text.len(),
        KeyValue::N(number) => {
            number.unsigned_abs().to_string().len().div_ceil(2) + 1 + usize::from(*number < 0)
        }
    };
    let names = "partition".len() + "time".len() + "data".len();
    let data = "x".repeat(512 - names - bytes(&key.pk) - bytes(&key.sk));
    Item::new().with("data", data)
}

#[tokio::test]
async fn an_event_costs_one_write_unit_and_at_most_a_fifth_of_one_to_read() {
    let mut told = Vec::new();
    for design in designs() {
        let scene = Scene::with(design.clone(), r#"{"views":[],"fan_out":false}"#).await;
        // Three seconds apart, within the hour.
        let begin = at("2026-02-28T12:00:00Z");
        let event = |n: usize| {
            let at = later(begin, i64::try_from(n).unwrap() * 3_000_000_000);
            let key = scene.design.write_key(at, entropy(n)).unwrap();
            let item = of_512_bytes(&key);
            (key, item)
        };
        scene.table().write((0..1_000).map(event)).await.unwrap();
        let range = "--since 2026-02-28T12:00:00Z --until 2026-02-28T13:00:00Z";
        let ran = scene.run(scene.engine.client(), &format!("--type post --actor ada {range}")).await.done();
        let (read, written) = ran.told.trim_end().split_once("; ").unwrap();
        // The calls include the topic's settings and the directory: a read of the entry, a read of the one before, a
        // put.
        assert_eq!(written, "write_units=1001.0, calls=44");
        told.push(read.to_owned());
    }
    // Two full pages, and a third query because the second page may not be the last. A sharded day reads two pages of
    // each shard, and some items twice. Quarter hours are read one after the other.
    let one = "read_units=127.0, calls=3, items=1000, rounds=3";
    let sharded = "read_units=192.0, calls=8, items=1500, rounds=2";
    let quarters = "read_units=152.0, calls=6, items=1200, rounds=4";
    assert_eq!(told, [one, one, one, sharded, one, one, quarters]);
    let page = PAGE.split_whitespace().collect::<Vec<_>>().join(" ");
    for figure in
        ["127 read units and three queries", "152 from quarter hours", "1,001 write units in 44 calls"]
    {
        assert!(page.contains(figure), "{figure}");
    }
}

#[test]
fn an_operator_imports_a_table_with_its_own_credentials() {
    let program = Program::started(&["--no-demo"]);
    let attribute = |name: &str| json!({"AttributeName": name, "AttributeType": "S"});
    let key = |name: &str, kind: &str| json!({"AttributeName": name, "KeyType": kind});
    let table = json!({
        "TableName": "old", "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [attribute("day"), attribute("event")],
        "KeySchema": [key("day", "HASH"), key("event", "RANGE")],
    });
    call_dynamodb(&program, "CreateTable", &table);
    let put = |shard: u8, millis: u64, name: &str, kind: &str| {
        let item = json!({
            "day": {"S": format!("EVENTS#2026-03-14#SHARD{shard}")}, "event": {"S": format!("{millis}#{name}")},
            "kind": {"S": kind}, "who": {"S": name}, "amount": {"N": "1.5"},
        });
        call_dynamodb(&program, "PutItem", &json!({"TableName": "old", "Item": item}));
    };
    // 2026-03-14T12:00:00Z.
    put(0, 1_773_489_600_000, "ada", "post.created");
    put(3, 1_773_489_600_001, "bob", "post.created");
    put(1, 1_773_489_600_002, "carol", "Post");
    let admin = ["authorization: Bearer dev"];
    assert_eq!(http(program.api(), "PUT", "/topics/posts", &admin, "{}").0, 201);

    let folder = TempDir::new().unwrap();
    let state = folder.path().join("state.json");
    let usual = [
        "import",
        "--design",
        "sharded-day",
        "--day-shards",
        "4",
        "--table",
        "old",
        "--pk",
        "day",
        "--sk",
        "event",
        "--topic",
        "posts",
        "--type-from",
        "kind",
        "--actor-from",
        "who",
        "--since",
        "2026-03-14T00:00:00Z",
        "--until",
        "2026-03-15T00:00:00Z",
        "--state",
        state.to_str().unwrap(),
    ];
    let import = |more: &[&str]| command(&program, &[&usual, more].concat());
    let read = || {
        let (_, body) = http(program.api(), "GET", "/topics/posts/events?consistent=true", &admin, "");
        let page: Value = serde_json::from_str(&body).unwrap();
        page["events"].as_array().unwrap().clone()
    };

    let (shown, out, told) = import(&["--dry-run"]);
    assert!(shown && out.lines().count() == 2 && told.contains("1 are invalid"), "{told}");
    let (done, _, told) = import(&[]);
    assert!(
        !done
            && told
                .contains("lately import: EVENTS#2026-03-14#SHARD1 / 1773489600002#carol: the item's kind"),
        "{told}"
    );
    assert!(read().is_empty());
    let (done, out, told) = import(&["--skip-invalid"]);
    assert!(done && out.starts_with("imported  2\nskipped   1\n"), "{out}{told}");
    let events = read();
    assert_eq!(events[0]["at"], "2026-03-14T12:00:00.001Z");
    assert_eq!((&events[0]["actor"], &events[0]["data"]), (&json!("bob"), &json!({"amount": 1.5})));
    put(1, 1_773_489_600_002, "carol", "post");
    assert!(import(&[]).0);
    assert_eq!(read().len(), 3);
    assert_eq!(read()[1..], events);

    for (more, word) in [
        (&["--shards", "2"][..], "imported with --shards 1"),
        (&["--user", "ada"], "this design does not take --user"),
        (&["--into", "nowhere"], "Check the table's name"),
        (&["--subject-from", "about"], "with --subject-from not given. Choose another file with --state"),
        (&["--type", "x"], "cannot be used with"),
    ] {
        let (done, out, told) = import(more);
        assert!(!done && out.is_empty() && told.contains(word), "{more:?}: {told}");
    }
    program.stopped("-TERM");
}

/// The import commands of the documentation.
fn lines() -> Vec<Vec<&'static str>> {
    let lines = PAGE.lines().filter_map(|line| line.strip_prefix("lately "));
    lines.map(|line| line.split(' ').collect()).collect()
}

#[test]
fn the_documented_commands_import() {
    let program = Program::started(&["--no-demo"]);
    let folder = TempDir::new().unwrap();
    let lines = lines();
    assert_eq!(lines.len(), 6);
    for (n, line) in lines.into_iter().enumerate() {
        let said = |option: &str| {
            let place = line.iter().position(|word| *word == option);
            place.map(|place| line[place + 1])
        };
        let (table, pk, sk) =
            (said("--table").unwrap(), said("--pk").unwrap_or("pk"), said("--sk").unwrap_or("sk"));
        let named = |design: &Design| said("--design") == Some(design.name());
        let design = designs().into_iter().find(named).unwrap();

        let types = design.key_types();
        let kind = |of: KeyType| if of == KeyType::S { "S" } else { "N" };
        let definition = json!({
            "TableName": table, "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": [
                {"AttributeName": pk, "AttributeType": kind(types.pk)}, {"AttributeName": sk, "AttributeType": kind(types.sk)},
            ],
            "KeySchema": [{"AttributeName": pk, "KeyType": "HASH"}, {"AttributeName": sk, "KeyType": "RANGE"}],
        });
        // Two commands import the same table.
        if said("--design") != Some("user-month") {
            call_dynamodb(&program, "CreateTable", &definition);
        }
        let key = design.write_key(at("2026-03-14T12:00:00Z"), entropy(n)).unwrap();
        let item = json!({
            pk: {kind(types.pk): key.pk.to_string()}, sk: {kind(types.sk): key.sk.to_string()},
            "kind": {"S": "note"}, "who": {"S": "ada"},
        });
        call_dynamodb(&program, "PutItem", &json!({"TableName": table, "Item": item}));
        let topic = said("--topic").unwrap();
        let admin = ["authorization: Bearer dev"];
        assert_eq!(http(program.api(), "PUT", &format!("/topics/{topic}"), &admin, "{}").0, 201, "{topic}");

        let state = folder.path().join(topic);
        // A fixed end: without it, the import reads more partitions each day.
        let until = if said("--until").is_none() { &["--until", "2026-03-15T00:00:00Z"][..] } else { &[] };
        let state = ["--state", state.to_str().unwrap()];
        let (done, out, told) = command(&program, &[&line, &state[..], until].concat());
        assert!(done && out.starts_with("imported  1\nskipped   0\n"), "{line:?}: {out}{told}");
        let (_, page) =
            http(program.api(), "GET", &format!("/topics/{topic}/events?consistent=true"), &admin, "");
        assert!(page.contains(r#""type":"note""#), "{topic}: {page}");
    }
    program.stopped("-TERM");
}
