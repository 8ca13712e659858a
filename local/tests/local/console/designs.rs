//! The console's comparison of the published designs with Lately's.

use serde_json::{Value, json};

use crate::console::Running;
use crate::support::ago;

#[tokio::test]
async fn six_designs_store_the_same_events_and_latelys_loses_none() {
    let running = Running::new().await;
    let at = ago(90_000);
    let mut batch: Vec<Value> = (0..50)
        .map(|n| json!({"type": "note", "actor": "ada", "at": ago(n * 1_800 + 60), "data": {"n": n}}))
        .collect();
    // Ten events in one millisecond, which may share a key in some designs.
    batch.extend((0..10).map(|n| json!({"type": "tie", "actor": "bob", "at": at, "data": n})));
    running.api.call("dev", "POST /topics/posts/events", json!(batch).to_string()).await.is_ok(201);

    let answer = running.get("/local/designs?topic=posts&limit=20").await;
    assert_eq!((&answer["events"], &answer["limit"]), (&json!(60), &json!(20)));
    let designs = answer["designs"].as_array().unwrap();
    let names: Vec<_> = designs.iter().map(|design| design["name"].as_str().unwrap()).collect();
    let expected =
        ["reverse-ticks", "chronological", "sharded-day", "inverted-uuid", "quarter-hour", "lately"];
    assert_eq!(names, expected);
    let newest = running.ids("/topics/posts/events?limit=1").await;
    for design in designs {
        let name = &design["name"];
        let (stored, lost) = (design["stored"].as_u64().unwrap(), design["lost"].as_u64().unwrap());
        assert_eq!(stored + lost, 60, "{name}");
        let partitions = design["partitions"].as_array().unwrap();
        let held: u64 = partitions.iter().map(|partition| partition["items"].as_u64().unwrap()).sum();
        assert_eq!(held, stored, "{name}");
        // An event replaces an earlier one with the same key. Chance decides whether any of the ten share a key.
        assert!(design["write_units"].as_f64() >= design["stored"].as_f64(), "{name}");
        let read = &design["read"];
        assert_eq!(read["complete"], true, "{name}");
        assert!(
            read["items"].as_u64().unwrap() >= 20 && read["read_units"].as_f64().unwrap() >= 0.5,
            "{read}"
        );
        let sample = design["sample"].as_array().unwrap();
        assert_eq!(
            (sample.len(), &sample[0]["actor"], &sample[0]["type"]),
            (10, &json!("ada"), &json!("note"))
        );
        assert!(partitions.iter().any(|partition| partition["pk"] == sample[0]["pk"]), "{name}");
    }
    assert_eq!(designs[0]["keys"], json!({"pk": "S", "sk": "N"}));
    assert_eq!(designs[0]["partitions"].as_array().unwrap().len(), 1, "a user has one partition");
    let ours = &designs[5];
    assert_eq!((&ours["lost"], newest.len()), (&json!(0), 1));
    let quarters = designs[4]["read"]["calls"].as_u64().unwrap();
    assert!(
        quarters > ours["read"]["calls"].as_u64().unwrap(),
        "a design without a directory reads empty partitions"
    );
}

#[tokio::test]
async fn an_empty_topic_is_compared_and_invalid_queries_are_refused() {
    let running = Running::new().await;
    let answer = running.get("/local/designs?topic=posts").await;
    assert_eq!((&answer["events"], &answer["limit"]), (&json!(0), &json!(50)));
    let empty = |design: &Value| design["stored"] == 0 && design["sample"] == json!([]);
    assert!(answer["designs"].as_array().unwrap().iter().all(empty), "{answer}");
    running.call("GET /local/designs?topic=nothing", &Value::Null).await.is(404, "topic-not-found");
    for (query, path) in [
        ("", "/topic"),
        ("topic=a%23", "/topic"),
        ("topic=posts&limit=0", "/limit"),
        ("topic=posts&x=1", "/x"),
    ] {
        let answer = running.call(&format!("GET /local/designs?{query}"), &Value::Null).await;
        assert_eq!(answer.is(400, "invalid-query").faults()[0], path, "{query}");
    }
}
