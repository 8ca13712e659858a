//! Every payload of `events/`, answered as it would be behind the gateway.

use lately_kit::lambda::HttpEvent;
use serde_json::Value;

use crate::drift::payloads;
use crate::support::{Api, event};

/// What each payload is answered with, where there is the topic `posts` with one event: status, and code.
const EXPECTED: [(&str, u16, &str); 29] = [
    ("delete-event.json", 204, ""),
    ("get-event-invalid-id.json", 400, "invalid-id"),
    // Its id is from another table.
    ("get-event.json", 404, "event-not-found"),
    ("get-latest-filtered.json", 200, ""),
    ("get-latest-invalid-cursor.json", 400, "invalid-cursor"),
    ("get-latest-invalid-query.json", 400, "invalid-query"),
    ("get-latest-invalid-token.json", 403, "invalid-token"),
    ("get-latest-missing-token.json", 401, "missing-token"),
    ("get-latest.json", 200, ""),
    ("get-topic-unknown.json", 404, "topic-not-found"),
    ("get-topic.json", 200, ""),
    ("health.json", 200, ""),
    ("list-topics.json", 200, ""),
    ("openapi.json", 200, ""),
    ("post-batch-invalid.json", 422, "invalid-event"),
    ("post-batch.json", 201, ""),
    ("post-event-forbidden.json", 403, "forbidden"),
    ("post-event-idempotent.json", 201, ""),
    ("post-event-import.json", 201, ""),
    ("post-event-invalid.json", 422, "invalid-event"),
    ("post-event-malformed.json", 400, "malformed-json"),
    ("post-event-unknown-topic.json", 404, "topic-not-found"),
    ("post-event.json", 201, ""),
    ("post-ndjson.json", 201, ""),
    ("put-topic-defaults.json", 201, ""),
    ("put-topic-forbidden.json", 403, "forbidden"),
    ("put-topic-invalid-name.json", 400, "invalid-name"),
    ("put-topic-invalid.json", 422, "invalid-topic"),
    ("put-topic.json", 200, ""),
];

#[tokio::test]
async fn each_payload_is_answered_as_expected() {
    let payloads = payloads();
    let names: Vec<_> = EXPECTED.iter().map(|(name, ..)| *name).collect();
    assert_eq!(payloads.keys().collect::<Vec<_>>(), names, "each payload has an expectation");
    for (name, status, code) in EXPECTED {
        let api = Api::with_posts().await;
        api.call("ada", "POST /topics/posts/events", event().to_string()).await.is_ok(201);
        let before = api.items().await;
        let payload: HttpEvent = serde_json::from_str(&payloads[name]).unwrap();
        let answer = api.send_whole(payload.into_request().unwrap()).await;
        assert_eq!((answer.status, answer.code().as_str()), (status, code), "{name}: {}", answer.text);
        assert!(
            answer.status < 300 || api.items().await == before,
            "{name}: what is refused changes nothing"
        );
    }
}

#[tokio::test]
async fn a_repeated_payload_with_a_key_is_answered_as_the_first() {
    let (api, payloads) = (Api::with_posts().await, payloads());
    let send = async || {
        let payload: HttpEvent = serde_json::from_str(&payloads["post-event-idempotent.json"]).unwrap();
        api.send_whole(payload.into_request().unwrap()).await
    };
    let (first, second) = (send().await, send().await);
    assert_eq!((first.status, second.status, second.header("idempotent-replayed")), (201, 200, Some("true")));
    assert_eq!((first.text, first.headers.get("location")), (second.text, second.headers.get("location")));
}

#[tokio::test]
async fn a_posted_payload_is_read_back_by_the_payload_that_reads_the_latest() {
    let (api, payloads) = (Api::with_posts().await, payloads());
    let send = async |name: &str| {
        let payload: HttpEvent = serde_json::from_str(&payloads[name]).unwrap();
        api.send_whole(payload.into_request().unwrap()).await.json()
    };
    let batch: Value = send("post-ndjson.json").await;
    let page: Value = send("get-latest.json").await;
    let mut newest_first = batch["events"].as_array().unwrap().clone();
    newest_first.reverse();
    assert_eq!(page["events"], Value::from(newest_first));
}
