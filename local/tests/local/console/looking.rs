//! The console's views of the inside: stored items, traces of reads, consumers and report files.

use std::fs;

use lately::TEMPLATE;
use lately_template::Template;
use serde_json::{Value, json};

use crate::console::{Running, header};
use crate::support::{ago, event};

#[tokio::test]
async fn a_topic_is_shown_with_its_buckets_and_shards() {
    let running = Running::new().await;
    let quiet = r#"{"bucket":"hour","min_shards":4,"views":["type"],"fan_out":false}"#;
    running.api.call("dev", "PUT /topics/logs", quiet).await.is_ok(201);
    let at = |n: i64| json!({"type": format!("t.{}", n % 2), "actor": "ada", "at": ago(n * 3_600 + 60)});
    let batch: Vec<Value> = (0..40).map(at).collect();
    running.api.call("dev", "POST /topics/logs/events", json!(batch).to_string()).await.is_ok(201);
    let answer = running.get("/local/storage/topics/logs").await;
    assert_eq!(
        (&answer["topic"], &answer["bucket"], &answer["more"]),
        (&json!("logs"), &json!("hour"), &json!(true))
    );
    let buckets = answer["buckets"].as_array().unwrap();
    assert_eq!(buckets.len(), 32);
    let labels: Vec<_> = buckets.iter().map(|bucket| bucket["label"].as_str().unwrap()).collect();
    assert!(labels.is_sorted_by(|a, b| a > b), "newest first: {labels:?}");
    for bucket in buckets {
        let counts = bucket["counts"].as_array().unwrap();
        assert_eq!((&bucket["shards"], counts.len(), &bucket["capped"]), (&json!(4), 4, &json!(false)));
        assert_eq!(counts.iter().map(|count| count.as_u64().unwrap()).sum::<u64>(), 1, "{bucket}");
        assert_eq!(bucket["types"].as_array().unwrap().len(), 1, "{bucket}");
    }
    let posts = running.get("/local/storage/topics/posts").await;
    assert_eq!((&posts["buckets"], &posts["more"]), (&json!([]), &json!(false)));
    running.call("GET /local/storage/topics/nothing", &Value::Null).await.is(404, "topic-not-found");
    running.call("GET /local/storage/topics/a%23", &Value::Null).await.is(400, "invalid-name");
}

#[tokio::test]
async fn an_event_is_shown_with_all_its_items() {
    let running = Running::new().await;
    running.follow("bob", "actor:ada").await;
    running.follow("carol", "subject:repo:octo:hello").await;
    let event =
        json!({"type": "post.created", "actor": "ada", "subject": "repo:octo:hello", "data": {"a": 1}});
    let id = running.post(&event).await;
    running.pump.settled().await;
    let answer = running.get(&format!("/local/storage/events/posts/{id}")).await;
    let items = answer["items"].as_array().unwrap();
    let keys: Vec<_> = items
        .iter()
        .map(|item| {
            let pk = item["pk"].as_str().unwrap();
            (item["place"].as_str().unwrap(), item["index"].as_str(), pk.split("#posts#").next().unwrap())
        })
        .collect();
    let expected = [
        ("event", None, "EVENTS"),
        ("source", None, "SOURCE#actor:ada"),
        ("source", None, "SOURCE#subject:repo:octo:hello"),
        ("feed", None, "FEED#ada"),
        ("feed", None, "FEED#bob"),
        ("feed", None, "FEED#carol"),
        ("index", Some("gsi1"), "TYPE"),
    ];
    assert_eq!(keys, expected);
    assert!(items.iter().all(|item| item["sk"] == items[0]["sk"]), "{answer}");
    assert_eq!(items[0]["attributes"]["d"], json!({"S": r#"{"a": 1}"#.replace(": ", ":")}));
    assert_eq!(items[0]["attributes"]["gsi1pk"]["S"], items[6]["pk"]);
    assert!(items.iter().all(|item| item["attributes"].get("sk").is_none() || item["place"] == "index"));
    assert!(items[0]["bytes"].as_u64().unwrap() > items[1]["bytes"].as_u64().unwrap());

    running.api.call("ada", &format!("DELETE /topics/posts/events/{id}"), "").await.is_ok(204);
    running
        .call(&format!("GET /local/storage/events/posts/{id}"), &Value::Null)
        .await
        .is(404, "event-not-found");
    running.call("GET /local/storage/events/posts/7", &Value::Null).await.is(400, "invalid-id");
}

#[tokio::test]
async fn a_trace_lists_the_calls_of_a_read() {
    let running = Running::new().await;
    running.post(&event()).await;
    let target = "/topics/posts/events?limit=50&consistent=true";
    let trace = running.call("POST /local/trace", &json!({"target": target})).await.is_ok(200).json();
    // Only the events: the cursors `newer` differ, because both begin two seconds ago.
    assert_eq!(trace["body"]["events"], running.get(target).await["events"]);
    let calls = trace["calls"].as_array().unwrap();
    let operations: Vec<_> = calls.iter().map(|call| call["operation"].as_str().unwrap()).collect();
    assert_eq!(operations, ["GetItem", "Query", "Query"], "the topic, the directory, and the only shard");
    let read = &calls[2];
    assert!(read["partition"].as_str().unwrap().ends_with("#SHARD0"), "{read}");
    assert_eq!(
        (&read["items"], &read["consistent"], &read["index"]),
        (&json!(1), &json!(true), &Value::Null)
    );
    // The units of the calls add up to the price.
    let units: f64 = calls.iter().map(|call| call["read_units"].as_f64().unwrap()).sum();
    let cost = format!("read_units={units:.1}, calls={}, ", calls.len());
    assert!(trace["cost"].as_str().unwrap().starts_with(&cost), "{trace}");

    let by_type = json!({"target": "/topics/posts/events?type=post.created"});
    let trace = running.call("POST /local/trace", &by_type).await.is_ok(200).json();
    let last = trace["calls"].as_array().unwrap().last().unwrap();
    assert_eq!((&last["index"], &last["consistent"]), (&json!("gsi1"), &json!(false)));
    assert!(last["partition"].as_str().unwrap().starts_with("TYPE#posts#"), "{last}");
    let missing = json!({"target": "/topics/nothing/events"});
    let trace = running.call("POST /local/trace", &missing).await.is_ok(200).json();
    assert_eq!((&trace["status"], &trace["body"]["code"]), (&json!(404), &json!("topic-not-found")));
}

#[tokio::test]
async fn only_reads_of_the_api_are_traced() {
    let running = Running::new().await;
    let refused = [
        (json!({"target": "/nothing"}), "/target"),
        (json!({"target": "/local/state"}), "/target"),
        (json!({"target": "/"}), "/target"),
        (json!({"target": "/topics/posts/consumers/me/poll"}), "/target"),
        (json!({"target": "http://example.org/topics"}), "/target"),
        (json!({"target": "/topics /x"}), "/target"),
        (json!({"target": 1}), "/target"),
        (json!({}), "/target"),
        (json!({"target": "/topics", "method": "PUT"}), "/method"),
        (json!("/topics"), ""),
    ];
    for (body, path) in refused {
        let answer = running.call("POST /local/trace", &body).await;
        assert_eq!(answer.is(422, "invalid-body").faults(), [path], "{body}");
    }
    running.send(Some("dev"), "POST /local/trace", "{").await.is(400, "malformed-json");
}

#[tokio::test]
async fn consumers_of_all_topics_are_listed() {
    let running = Running::new().await;
    assert_eq!(running.get("/local/consumers").await, json!({"consumers": []}));
    running.api.call("dev", "PUT /topics/billing", "{}").await.is_ok(201);
    for (topic, name) in [("posts", "printer"), ("billing", "nightly")] {
        running.api.call("dev", &format!("PUT /topics/{topic}/consumers/{name}"), "{}").await.is_ok(201);
    }
    let listed = running.get("/local/consumers").await;
    let consumer = |topic: &str, name: &str| json!({"topic": topic, "name": name, "reports": false});
    assert_eq!(listed["consumers"], json!([consumer("billing", "nightly"), consumer("posts", "printer")]));
}

#[tokio::test]
async fn only_report_files_are_shown() {
    let running = Running::new().await;
    let folder = running.reports.join("billing/report/1");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("a--b.summary.json"), r#"{"events":1}"#).unwrap();
    fs::write(folder.join("a--b.ndjson"), "{\"n\":1}\n".repeat(200_000)).unwrap();
    fs::write(running.reports.parent().unwrap().join("lately-secret"), "s").unwrap();
    let summary = running.call("GET /local/reports/billing/report/1/a--b.summary.json", &Value::Null).await;
    assert_eq!(summary.is_ok(200).text, r#"{"events":1}"#);
    assert_eq!(header(&summary.headers, "content-type"), "text/plain; charset=utf-8");
    assert!(summary.header("lately-truncated").is_none());
    let lines = running.call("GET /local/reports/billing/report/1/a--b.ndjson", &Value::Null).await;
    assert_eq!(lines.is_ok(200).header("lately-truncated"), Some("true"));
    assert!(lines.text.len() <= 1024 * 1024 && lines.text.ends_with("}\n"));
    for name in [
        "billing",
        "billing/nothing",
        "..%2Flately-secret",
        "%2e%2e/lately-secret",
        "billing/../../lately-secret",
        "%2Fetc%2Fpasswd",
        ".attempts/a",
    ] {
        running.call(&format!("GET /local/reports/{name}"), &Value::Null).await.is(404, "not-found");
    }
}

#[test]
fn nothing_of_the_console_is_deployed() {
    let routes = Template::parse(TEMPLATE).unwrap().routes().unwrap();
    let ours = |path: &str| path == "/" || ["/local", "/console"].iter().any(|ours| path.starts_with(ours));
    assert!(routes.iter().all(|route| !ours(&route.path)), "{routes:?}");
    assert!(!TEMPLATE.contains("/local/"));
    // No function depends on the engine or on this crate, except in its tests.
    let functions = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../functions");
    let mut seen = 0;
    for function in fs::read_dir(functions).unwrap().map(|entry| entry.unwrap().path()) {
        let manifest = fs::read_to_string(function.join("Cargo.toml")).unwrap();
        let built = manifest.split("[dev-dependencies]").next().unwrap();
        assert!(!built.contains("lately-engine") && !built.contains("lately ="), "{manifest}");
        seen += 1;
    }
    assert_eq!(seen, 9);
    for shared in ["keys", "kit", "model", "store"] {
        let manifest = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared").join(shared);
        let manifest = fs::read_to_string(manifest.join("Cargo.toml")).unwrap();
        let built = manifest.split("[dev-dependencies]").next().unwrap();
        assert!(!built.contains("lately-engine"), "{shared}");
    }
}
