//! An import as an operator runs it: its documented costs, and every command of its documentation.

use std::process::Command;

use lately_designs::{Design, KeyValue, WriteKey};
use lately_table::Item;
use tokio::net::TcpListener;

use crate::{NAMES, Names, Scene, USUAL, at, designs, entropy, later, sharded_day, times};

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

#[tokio::test(start_paused = true)]
async fn an_event_costs_one_write_unit_and_at_most_a_fifth_of_one_to_read() {
    let mut reads = Vec::new();
    for design in designs() {
        let scene = Scene::with(design.clone(), NAMES, r#"{"views":[],"fan_out":false}"#).await;
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
        let (read, written) = ran.messages.trim_end().split_once("; ").unwrap();
        // The calls include the topic's settings, the erasures, and the directory: a read of the entry, a read of the
        // one before, a put.
        assert_eq!(written, "write_units=1001.0, calls=45");
        reads.push(read.to_owned());
    }
    // Two full pages, and a third query because the second page may not be the last. A sharded day reads two pages of
    // each shard, and some items twice. Quarter hours are read one after the other.
    let one = "read_units=127.0, calls=3, items=1000, rounds=3";
    let sharded = "read_units=192.0, calls=8, items=1500, rounds=2";
    let quarters = "read_units=152.0, calls=6, items=1200, rounds=4";
    assert_eq!(reads, [one, one, one, sharded, one, one, quarters]);
    let page = PAGE.split_whitespace().collect::<Vec<_>>().join(" ");
    for figure in
        ["127 read units and three queries", "152 from quarter hours", "1,001 write units in 45 calls"]
    {
        assert!(page.contains(figure), "{figure}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_program_imports_with_the_credentials_and_the_endpoint_of_its_environment() {
    let scene = Scene::new(sharded_day()).await;
    scene.write(times(12)).await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    let engine = scene.engine.clone();
    tokio::spawn(async move { engine.serve(listener, std::future::pending()).await });
    let import = |more: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_lately-import"));
        command.args(scene.words(&scene.line(&format!("{USUAL} {more}")))).env_clear();
        command.env("AWS_ENDPOINT_URL", &endpoint).env("AWS_REGION", "eu-west-1");
        command.env("AWS_ACCESS_KEY_ID", "x").env("AWS_SECRET_ACCESS_KEY", "x");
        let done = command.output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (done.status.code(), text(done.stdout), text(done.stderr))
    };
    let (code, out, messages) = import("");
    assert_eq!(code, Some(0), "{messages}");
    assert!(out.starts_with("imported  12\nskipped   0\n"), "{out}");
    assert_eq!(scene.read().await.len(), 12);
    for (more, code, word) in [
        ("--shards 2", 1, "lately-import: these events were imported with --shards 1"),
        ("--user ada", 1, "this design does not take --user"),
        ("--type x", 2, "cannot be used with"),
    ] {
        let (ended, out, messages) = import(more);
        assert!(ended == Some(code) && out.is_empty() && messages.contains(word), "{more}: {messages}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_documented_commands_import() {
    let lines: Vec<_> = PAGE.lines().filter_map(|line| line.strip_prefix("lately-import ")).collect();
    assert_eq!(lines.len(), 6);
    for line in lines {
        let value = |option: &str| line.split_once(option)?.1.split(' ').next();
        let names = Names {
            table: value("--table ").unwrap(),
            pk: value("--pk ").unwrap_or("pk"),
            sk: value("--sk ").unwrap_or("sk"),
            topic: value("--topic ").unwrap(),
        };
        let is_named = |design: &Design| value("--design ") == Some(design.name());
        let scene = Scene::with(designs().into_iter().find(is_named).unwrap(), names, "{}").await;
        let key = scene.design.write_key(at("2026-03-14T09:00:00Z"), entropy(0)).unwrap();
        let item = Item::from([("kind", "note"), ("who", "ada")]);
        scene.table().write([(key, item)]).await.unwrap();
        let ran = scene.run_line(scene.engine.client(), line).await.done();
        assert_eq!((ran.counted("imported"), ran.counted("skipped")), ("1", "0"), "{line}");
        assert_eq!(scene.read().await[0].event_type.as_str(), "note", "{line}");
    }
}
