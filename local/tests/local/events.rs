//! Every payload of `events/`, answered as it would be behind the gateway.

use std::collections::BTreeMap;
use std::time::Duration;

use lately_kit::edge;
use lately_kit::lambda::HttpEvent;
use lately_report::{Outcome, Output};
use serde_json::{Value, json};

use crate::drift::payloads;
use crate::support::{Api, event, old_issue, put_item};

/// What each payload is answered with, where there is the topic `posts` with one event and the consumer `nightly`, ada's
/// profile, the settings of `web` and an issue of an older schema: status, and code.
const EXPECTED: [(&str, u16, &str); 97] = [
    ("commit-malformed.json", 400, "malformed-json"),
    ("commit-stale.json", 409, "stale-batch"),
    ("delete-consumer.json", 204, ""),
    ("delete-event.json", 204, ""),
    ("delete-following.json", 204, ""),
    ("delete-profile-conflict.json", 412, "revision-mismatch"),
    ("delete-profile.json", 204, ""),
    ("delete-session.json", 204, ""),
    ("delete-settings-missing-if-match.json", 428, "revision-required"),
    ("delete-settings.json", 204, ""),
    ("get-actor-events.json", 200, ""),
    ("get-consumer-unknown.json", 404, "not-found"),
    ("get-consumer.json", 200, ""),
    ("get-event-invalid-id.json", 400, "invalid-id"),
    // Its id is from another table.
    ("get-event.json", 404, "event-not-found"),
    ("get-feed-forbidden.json", 403, "forbidden"),
    ("get-feed.json", 200, ""),
    ("get-issue-invalid-number.json", 400, "invalid-name"),
    ("get-issue-unknown.json", 404, "not-found"),
    ("get-issue.json", 200, ""),
    ("get-latest-filtered.json", 200, ""),
    ("get-latest-invalid-cursor.json", 400, "invalid-cursor"),
    ("get-latest-invalid-query.json", 400, "invalid-query"),
    ("get-latest.json", 200, ""),
    ("get-profile-forbidden.json", 403, "forbidden"),
    ("get-profile-unknown.json", 404, "not-found"),
    ("get-profile.json", 200, ""),
    ("get-session-invalid-id.json", 400, "invalid-id"),
    ("get-session.json", 404, "not-found"),
    ("get-settings.json", 200, ""),
    ("get-source.json", 200, ""),
    ("get-subject-events.json", 200, ""),
    ("get-topic-unknown.json", 404, "topic-not-found"),
    ("get-topic.json", 200, ""),
    ("get-unread.json", 200, ""),
    ("health.json", 200, ""),
    ("list-followers.json", 200, ""),
    ("list-following.json", 200, ""),
    ("list-issues-by-priority.json", 200, ""),
    ("list-issues-by-status.json", 200, ""),
    ("list-issues-invalid-cursor.json", 400, "invalid-cursor"),
    ("list-issues-invalid-query.json", 400, "invalid-query"),
    ("list-issues.json", 200, ""),
    ("list-runs-invalid-query.json", 400, "invalid-query"),
    ("list-runs.json", 200, ""),
    ("list-topics.json", 200, ""),
    ("openapi.json", 200, ""),
    ("patch-issue-conflict.json", 412, "revision-mismatch"),
    ("patch-issue-invalid-precondition.json", 400, "invalid-precondition"),
    ("patch-issue-invalid.json", 422, "invalid-body"),
    ("patch-issue-missing-if-match.json", 428, "revision-required"),
    ("patch-issue-unknown.json", 404, "not-found"),
    ("patch-issue.json", 200, ""),
    ("poll-invalid.json", 422, "invalid-body"),
    ("poll-unknown.json", 404, "not-found"),
    ("poll.json", 200, ""),
    ("post-batch-invalid.json", 422, "invalid-event"),
    ("post-batch.json", 201, ""),
    ("post-event-forbidden.json", 403, "forbidden"),
    ("post-event-idempotent.json", 201, ""),
    ("post-event-import.json", 201, ""),
    ("post-event-invalid.json", 422, "invalid-event"),
    ("post-event-malformed.json", 400, "malformed-json"),
    ("post-event-unknown-topic.json", 404, "topic-not-found"),
    ("post-event.json", 201, ""),
    ("post-issue-forbidden.json", 403, "forbidden"),
    ("post-issue-invalid.json", 422, "invalid-body"),
    ("post-issue-malformed.json", 400, "malformed-json"),
    ("post-issue.json", 201, ""),
    ("post-ndjson.json", 201, ""),
    ("post-session-forbidden.json", 403, "forbidden"),
    ("post-session-invalid.json", 422, "invalid-body"),
    ("post-session.json", 201, ""),
    ("put-consumer-forbidden.json", 403, "forbidden"),
    ("put-consumer-invalid-name.json", 400, "invalid-name"),
    ("put-consumer-invalid.json", 422, "invalid-body"),
    ("put-consumer-unknown-topic.json", 404, "topic-not-found"),
    ("put-consumer.json", 201, ""),
    ("put-following-invalid-source.json", 400, "invalid-name"),
    ("put-following-invalid.json", 422, "invalid-body"),
    ("put-following.json", 201, ""),
    ("put-profile-conflict.json", 412, "revision-mismatch"),
    ("put-profile-invalid-precondition.json", 400, "invalid-precondition"),
    ("put-profile-invalid.json", 422, "invalid-body"),
    ("put-profile-missing-if-match.json", 428, "revision-required"),
    ("put-profile.json", 201, ""),
    ("put-seen-invalid.json", 422, "invalid-body"),
    ("put-seen.json", 204, ""),
    ("put-settings-forbidden.json", 403, "forbidden"),
    ("put-settings.json", 201, ""),
    ("put-topic-defaults.json", 201, ""),
    ("put-topic-forbidden.json", 403, "forbidden"),
    ("put-topic-invalid-name.json", 400, "invalid-name"),
    ("put-topic-invalid.json", 422, "invalid-topic"),
    ("put-topic.json", 200, ""),
    ("seek-invalid.json", 422, "invalid-body"),
    ("seek.json", 200, ""),
];

/// How long a batch of the stream may take.
const TIME: Duration = Duration::from_secs(10);

/// How long the function of reports has: it keeps a reserve of that.
const REPORT_TIME: Duration = Duration::from_secs(292);

/// The payloads of routes.
fn http_payloads() -> BTreeMap<String, String> {
    let others = ["authorize", "fan-out", "report"];
    let is_http = |name: &str| !others.iter().any(|other| name.starts_with(other));
    payloads().into_iter().filter(|(name, _)| is_http(name)).collect()
}

/// The functions alone: they know the caller by the authorizer's word in the payload, and see no token.
fn behind_the_gateway(api: &Api) -> Api {
    api.through(edge::around(api.system.routes().into_router()))
}

#[tokio::test]
async fn each_payload_of_the_authorizer_is_answered_as_expected() {
    let store = Api::empty().await.system.store;
    let mut contexts = BTreeMap::new();
    for (name, text) in payloads().into_iter().filter(|(name, _)| name.starts_with("authorize")) {
        let question = serde_json::from_str(&text).unwrap();
        let answer = lately_authorize::handle(store.clone(), question).await.unwrap();
        let mut answer = serde_json::to_value(answer).unwrap();
        let session = answer.pointer_mut("/context/session").map(Value::take);
        assert_eq!(answer["isAuthorized"], session.is_some());
        contexts.insert(name, answer["context"].clone());
    }
    let ada = json!({"session": null, "user": "ada", "scopes": "read write"});
    assert_eq!(
        contexts.into_iter().collect::<Vec<_>>(),
        [
            ("authorize-no-bearer.json".to_owned(), Value::Null),
            ("authorize-unknown.json".to_owned(), Value::Null),
            ("authorize.json".to_owned(), ada),
        ]
    );
}

#[tokio::test]
async fn each_payload_of_the_stream_is_answered_as_expected() {
    let api = Api::with_posts().await;
    let before = api.items().await;
    let answer = async |name: &str| {
        let event = &payloads()[name];
        let answer = lately_fan_out::handle(&api.system.store, event.as_bytes(), TIME).await.unwrap();
        serde_json::to_value(answer).unwrap()
    };
    assert_eq!(answer("fan-out.json").await, json!({"batchItemFailures": []}));
    let poison = json!({"batchItemFailures": [{"itemIdentifier": "100000000000000000044"}]});
    assert_eq!(answer("fan-out-poison.json").await, poison);
    // What they tell of is not in this table: nothing of it stays.
    assert_eq!(api.items().await, before);
}

#[tokio::test]
async fn each_payload_of_the_function_of_reports_is_answered_as_expected() {
    let api = Api::with_posts().await;
    let folder = tempfile::tempdir().unwrap();
    let output = Output::folder(folder.path()).unwrap();
    let answer = async |name: &str| {
        let event = &payloads()[name];
        let answer = lately_report::handle(&api.system.store, &output, event.as_bytes(), REPORT_TIME).await;
        answer.unwrap().outcomes
    };
    // The run that it tells of is of another table.
    let before = api.items().await;
    assert_eq!(answer("report-unfinished.json").await, [Outcome::Nothing]);
    assert_eq!(api.items().await, before);
    // Nothing is older than ten seconds here: it reports that.
    let scheduled = answer("report-schedule.json").await;
    let [Outcome::Finished { events: 0, late: 0, files, .. }] = &scheduled[..] else {
        panic!("{scheduled:?}")
    };
    assert!(files.iter().all(|file| folder.path().join(file).exists()), "{files:?}");
}

#[tokio::test]
async fn each_payload_is_answered_as_expected() {
    let payloads = http_payloads();
    let names: Vec<_> = EXPECTED.iter().map(|(name, ..)| *name).collect();
    assert_eq!(payloads.keys().collect::<Vec<_>>(), names, "each payload has an expectation");
    for (name, status, code) in EXPECTED {
        let api = Api::with_posts().await;
        api.call("ada", "POST /topics/posts/events", event().to_string()).await.is_ok(201);
        api.call("ada", "PUT /users/ada/profile", "{}").await.is_ok(201);
        api.call("dev", "PUT /settings/web", "{}").await.is_ok(201);
        put_item(&api, old_issue()).await;
        api.call("dev", "PUT /topics/posts/consumers/nightly", "").await.is_ok(201);
        let api = behind_the_gateway(&api);
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
    let (api, payloads) = (behind_the_gateway(&Api::with_posts().await), payloads());
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
    let (api, payloads) = (behind_the_gateway(&Api::with_posts().await), payloads());
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
