//! `PUT` and `GET /topics/{topic}`, `GET /topics`, and the routes that need no topic.

use serde_json::{Value, json};

use crate::support::{Api, OPENAPI, event, if_written, request};

#[tokio::test]
async fn a_topic_is_created_once_with_its_defaults() {
    let api = Api::empty().await;
    let created = api.call("dev", "PUT /topics/posts", "").await;
    let topic = created.is_ok(201).json();
    let expected = json!({
        "topic": "posts", "bucket": "day", "retention_days": null, "min_shards": 1, "max_shards": 64, "fan_out": true,
        "views": ["actor", "subject"], "created_at": topic["created_at"], "buckets": [],
    });
    assert_eq!(topic, expected);
    assert!(created.header("lately-cost").unwrap().starts_with("write_units="));
    assert_eq!(api.call("dev", "PUT /topics/posts", "{}").await.is_ok(200).json(), expected);
    let got = api.call("ada", "GET /topics/posts", "").await;
    assert_eq!(got.is_ok(200).json(), expected);
    assert!(got.header("lately-cost").unwrap().starts_with("read_units="));
}

#[tokio::test]
async fn absent_settings_stay_and_null_retention_is_for_ever() {
    let api = Api::empty().await;
    let body =
        json!({"bucket": "hour", "retention_days": 30, "min_shards": 4, "fan_out": false, "views": ["type"]});
    let created = api.call("dev", "PUT /topics/posts", body.to_string()).await.is_ok(201).json();
    let changed = api.call("dev", "PUT /topics/posts", r#"{"max_shards":8}"#).await.is_ok(200).json();
    let mut expected = created.clone();
    expected["max_shards"] = 8.into();
    assert_eq!(changed, expected);
    let changed = api.call("dev", "PUT /topics/posts", r#"{"retention_days":null,"bucket":"hour"}"#).await;
    expected["retention_days"] = Value::Null;
    assert_eq!(changed.is_ok(200).json(), expected);
    let refused = api.call("dev", "PUT /topics/posts", r#"{"fan_out":true}"#).await;
    assert_eq!(refused.is(422, "invalid-topic").faults(), ["/views"]);
    // Fan-out does not run here, so the change of the retention goes on.
    let mut got = api.call("ada", "GET /topics/posts", "").await.is_ok(200).json();
    let change = got.as_object_mut().unwrap().remove("retention_change").unwrap();
    assert_eq!((&change["events"], &change["bucket"]), (&json!(0), &Value::Null));
    assert_eq!(got, expected);
}

#[tokio::test]
async fn the_bucket_is_fixed_and_faults_change_nothing() {
    let api = Api::with_posts().await;
    let before = api.items().await;
    api.call("dev", "PUT /topics/posts", r#"{"bucket":"hour"}"#).await.is(409, "bucket-is-fixed");
    let body = r#"{"colour":"red","bucket":"week","retention_days":0,"min_shards":3,"max_shards":"64","fan_out":"no",
        "views":["actor","Type",1]}"#;
    let refused = api.call("dev", "PUT /topics/posts", body).await;
    assert_eq!(
        refused.is(422, "invalid-topic").faults(),
        [
            "/colour",
            "/bucket",
            "/retention_days",
            "/min_shards",
            "/max_shards",
            "/fan_out",
            "/views/1",
            "/views/2"
        ]
    );
    let body = r#"{"min_shards":128,"views":["type"]}"#;
    let refused = api.call("dev", "PUT /topics/posts", body).await;
    assert_eq!(refused.is(422, "invalid-topic").faults(), ["/min_shards", "/views"]);
    let refused = api.call("dev", "PUT /topics/new", r#"{"fan_out":true,"views":["actor"]}"#).await;
    assert_eq!(refused.is(422, "invalid-topic").faults(), ["/views"]);
    api.call("dev", "PUT /topics/posts", "{").await.is(400, "malformed-json");
    assert_eq!(api.items().await, before);
}

#[tokio::test]
async fn a_topic_lists_its_buckets_newest_first() {
    let api = Api::with_posts().await;
    for at in ["2026-11-01T10:00:00Z", "2026-11-03T10:00:00Z", "2026-11-02T10:00:00Z"] {
        let event = json!({"type": "a", "actor": "ada", "at": at}).to_string();
        api.call("dev", "POST /topics/posts/events", event).await.is_ok(201);
    }
    let topic = api.call("ada", "GET /topics/posts", "").await.is_ok(200).json();
    let days = ["2026-11-03", "2026-11-02", "2026-11-01"].map(|label| json!({"label": label, "shards": 1}));
    assert_eq!(topic["buckets"], Value::from(days.to_vec()));
}

#[tokio::test]
async fn topics_are_listed_by_name_page_by_page() {
    let api = Api::empty().await;
    for topic in ["b", "d", "a", "c", "B"] {
        api.call("dev", &format!("PUT /topics/{topic}"), "").await.is_ok(201);
    }
    let (mut names, mut target) = (Vec::new(), "GET /topics?limit=2".to_owned());
    loop {
        let page = api.call("ada", &target, "").await.is_ok(200).json();
        let topics = page["topics"].as_array().unwrap();
        assert!(topics.len() <= 2 && topics.iter().all(|topic| topic.get("buckets").is_none()));
        names.extend(topics.iter().map(|topic| topic["topic"].as_str().unwrap().to_owned()));
        let Some(next) = page["next"].as_str() else { break };
        target = format!("GET /topics?limit=2&cursor={next}");
    }
    assert_eq!(names, ["B", "a", "b", "c", "d"]);
    assert_eq!(api.call("ada", "GET /topics", "").await.json()["topics"].as_array().unwrap().len(), 5);
}

#[tokio::test]
async fn an_unknown_topics_error_says_how_to_create_it() {
    let api = Api::empty().await;
    let before = api.items().await;
    let id = "019aa0b7-9a40-7000-8000-5f3c9e1d2a77";
    for line in [
        "GET /topics/posts".to_owned(),
        "GET /topics/posts/events".to_owned(),
        "POST /topics/posts/events".to_owned(),
        format!("GET /topics/posts/events/{id}"),
        format!("DELETE /topics/posts/events/{id}"),
    ] {
        let answer = api.call("ada", &line, if_written(&line, &event().to_string())).await;
        assert!(answer.is(404, "topic-not-found").text.contains("PUT /topics/posts"), "{line}");
    }
    assert_eq!(api.items().await, before);
}

#[tokio::test]
async fn health_and_the_document_are_open_to_everyone() {
    let api = Api::empty().await;
    let health = api.send(request("GET /health"), "").await;
    assert_eq!(health.is_ok(200).json(), json!({"status": "ok"}));
    let document = api.send(request("GET /openapi.json"), "").await;
    assert_eq!(document.is_ok(200).json(), *OPENAPI);
    // An invalid token is ignored.
    api.call("eve", "GET /health", "").await.is_ok(200);
}

#[tokio::test]
async fn an_unknown_path_is_not_found() {
    let api = Api::with_posts().await;
    for line in [
        "GET /",
        "GET /topic",
        "GET /topics/",
        "GET /topics/posts/",
        "GET //topics",
        "GET /topics/posts/events/",
        "GET /topics/posts/events/a/b",
        "GET /Topics",
        "GET /actors/ada",
        "GET /actors/ada/b/events",
    ] {
        api.call("dev", line, "{}").await.is(404, "route-not-found");
    }
}
