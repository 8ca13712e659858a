//! Items that an import cannot turn into events: they stop it with an error, or are skipped.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;
use lately_designs::{Design, KeyValue, WriteKey};
use lately_engine::fault::Faults;
use lately_model::Event;
use serde_json::{Value, json};

use crate::{NAMES, Scene, USUAL, attributes, entropy, sharded_day, times, user};

/// Puts an item into the table under the design's key of the `n`th time.
async fn put(scene: &Scene, n: usize, more: &[(&str, AttributeValue)]) {
    let mut item = attributes(n);
    for (name, value) in more {
        item.set(*name, value.clone());
    }
    let key = scene.design.write_key(times(n + 1)[n].1, entropy(n)).unwrap();
    scene.table().write([(key, item)]).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn attributes_become_the_requested_fields() {
    let scene = Scene::new(sharded_day()).await;
    let text = |text: &str| AttributeValue::S(text.to_owned());
    let body = AttributeValue::M(HashMap::from([
        ("tags".to_owned(), AttributeValue::Ss(vec!["b".to_owned(), "c".to_owned()])),
        ("small".to_owned(), AttributeValue::N("0.0000001".to_owned())),
    ]));
    put(&scene, 0, &[("who", text("bob")), ("about", text("repo:octo:hello")), ("body", body)]).await;
    put(&scene, 1, &[("who", AttributeValue::N("7".to_owned()))]).await;
    let more = "--type-from kind --actor-from who --subject-from about --data-from body --since 2026-02-27T00:00:00Z --until 2026-03-03T00:00:00Z";
    scene.run(scene.engine.client(), more).await.done();
    let mut events = scene.read().await;
    events.sort_by_key(|event| event.actor.to_string());
    let fields = |event: &Event| {
        let subject = event.subject.as_ref().map(ToString::to_string);
        (event.actor.to_string(), subject, event.data.as_ref().map(|data| data.as_str().to_owned()))
    };
    assert_eq!(fields(&events[0]), ("7".to_owned(), None, None));
    let data = r#"{"small":0.0000001,"tags":["b","c"]}"#.to_owned();
    assert_eq!(fields(&events[1]), ("bob".to_owned(), Some("repo:octo:hello".to_owned()), Some(data)));
}

#[tokio::test(start_paused = true)]
async fn an_invalid_item_stops_it_until_corrected_or_skipped() {
    let text = |text: &str| AttributeValue::S(text.to_owned());
    for (invalid, why) in [
        (("kind", text("Post Created")), "the item's kind: "),
        (("kind", AttributeValue::Bool(true)), "the item's kind is neither a string nor a number"),
        (("large", text(&"x".repeat(300_000))), "the item's data is larger than 256 KiB"),
    ] {
        let scene = Scene::new(Design::QuarterHour).await;
        scene.write(times(30)).await;
        put(&scene, 13, std::slice::from_ref(&invalid)).await;
        let stopped = scene.import("").await;
        let key = scene.design.write_key(times(14)[13].1, entropy(13)).unwrap();
        let named = format!("{} / {}: {why}", key.pk, key.sk);
        assert!(stopped.error().starts_with(&named), "{}", stopped.error());
        assert_eq!(scene.read().await.len(), 0, "no event of its page is written");

        let skipping = scene.import("--skip-invalid").await.done();
        assert_eq!((skipping.counted("imported"), skipping.counted("skipped")), ("29", "1"));
        assert!(skipping.messages.starts_with(&format!("skipped  {named}")), "{}", skipping.messages);
        put(&scene, 13, &[("large", AttributeValue::Null(true))]).await;
        assert_eq!(scene.import("").await.done().counted("imported"), "30");
        assert_eq!(scene.read().await.len(), 30);
    }
}

#[tokio::test(start_paused = true)]
async fn an_item_with_a_foreign_key_always_stops_it() {
    let scene = Scene::new(Design::QuarterHour).await;
    scene.write(times(6)).await;
    let key =
        |sk: &str| WriteKey { pk: KeyValue::S("202602271800".to_owned()), sk: KeyValue::S(sk.to_owned()) };
    scene.table().write([(key("2026-02-27T18:00:00.no token"), attributes(7))]).await.unwrap();
    for more in ["", "--skip-invalid"] {
        let error = scene.import(more).await.error();
        assert!(
            error.contains("the item under 202602271800 / 2026-02-27T18:00:00.no token is corrupt"),
            "{error}"
        );
    }
    assert!(scene.read().await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_stopped_import_continues_after_the_item_is_corrected() {
    let scene = Scene::new(Design::ReverseTicks { user: user() }).await;
    scene.write(times(620)).await;
    put(&scene, 555, &[("kind", AttributeValue::S("?".to_owned()))]).await;
    assert!(scene.import("").await.error().contains("the item's kind"));
    assert_eq!(scene.read().await.len(), 500, "the page before is written");
    put(&scene, 555, &[]).await;
    let client = scene.engine.client_with(Faults::default());
    let ran = scene.run(client.client(), USUAL).await.done();
    assert_eq!((ran.counted("imported"), scene.read().await.len()), ("620", 620));
    // It reads the topic, its directory and a page of 120, and writes that page in five calls.
    assert!(client.calls().len() < 12, "{:?}", client.calls());
}

#[tokio::test(start_paused = true)]
async fn items_beyond_the_retention_are_reported() {
    // The events are older than the retention.
    let scene = Scene::with(Design::QuarterHour, NAMES, r#"{"retention_days":7}"#).await;
    scene.write(times(12)).await;
    assert!(scene.import("").await.error().contains("older than the topic's retention"));
    let ran = scene.import("--skip-invalid").await.done();
    assert_eq!((ran.counted("imported"), ran.counted("skipped")), ("0", "12"));
}

#[tokio::test(start_paused = true)]
async fn a_dry_run_shows_the_first_events_and_writes_nothing() {
    let scene = Scene::new(sharded_day()).await;
    scene.write(times(30)).await;
    put(&scene, 3, &[("kind", AttributeValue::S("?".to_owned()))]).await;
    let before = scene.items().await;
    let ran = scene.import("--dry-run --shards 2").await.done();
    assert_eq!(scene.items().await, before);
    assert!(!scene.state().exists());
    let shown: Vec<Value> = ran.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(shown.len(), 10);
    assert!(
        ran.messages.starts_with("invalid  ") && ran.messages.contains("nothing was written"),
        "{}",
        ran.messages
    );
    assert!(ran.messages.contains("a page of 30 items from 2026-02-27T00:00:00Z until "), "{}", ran.messages);
    scene.import("--skip-invalid --shards 2").await.done();
    let ids: Vec<_> = scene.read().await.iter().map(|event| json!(event.id)).collect();
    assert!(shown.iter().all(|event| ids.contains(&event["id"])), "the dry run shows the ids of the import");
}

#[tokio::test(start_paused = true)]
async fn other_shards_or_options_than_the_files_are_refused() {
    let scene = Scene::with(sharded_day(), NAMES, r#"{"max_shards":8}"#).await;
    scene.write(times(6)).await;
    assert!(scene.import("--shards 16").await.error().contains("max_shards, which is 8"));
    scene.import("--shards 4").await.done();
    assert!(scene.import("--shards 2").await.error().contains("imported with --shards 4"));
    assert!(scene.import("--subject-from n").await.error().contains("with --subject-from not given"));
    // Without --shards, the file's number is used, also after the topic's number has changed.
    scene.change_topic(r#"{"min_shards":8}"#).await;
    scene.import("").await.done();
    assert_eq!(scene.read().await.len(), 6);
}
