//! `POST /topics/{topic}/events`.

use std::time::Duration;

use lately_engine::Operation;
use lately_engine::fault::{Fault, Faults, Target};
use lately_kit::world::World;
use lately_model::limits::{BATCH_EVENTS, BODY_BYTES, EVENT_BYTES};
use lately_store::Store;
use lately_table::Connection;
use serde_json::{Value, json};

use crate::support::{Answer, Api, ago, event, event_ago, request};

const POST: &str = "POST /topics/posts/events";

/// All items but the entries of the directory.
fn without_directory(items: Vec<String>) -> impl Iterator<Item = String> {
    items.into_iter().filter(|item| !item.contains(r#""sk": S("BUCKET#"#))
}

async fn post_with_key(api: &Api, key: &str, body: impl Into<axum::body::Body>) -> Answer {
    let request = request(POST).header("authorization", "Bearer dev").header("idempotency-key", key);
    api.send(request, body).await
}

#[tokio::test]
async fn a_posted_event_is_returned_and_found_at_its_location() {
    let api = Api::with_posts().await;
    let body = r#"{"type":"post.created","actor":"ada","subject":"repo:octo:hello","data":{"b":1.10,"a":[12345678901234567890123]}}"#;
    let posted = api.call("ada", POST, body).await;
    let event = posted.is_ok(201).json();
    let id = event["id"].as_str().unwrap();
    assert_eq!(posted.header("location"), Some(format!("/topics/posts/events/{id}").as_str()));
    assert!(posted.header("lately-cost").unwrap().starts_with("write_units="));
    assert_eq!(event["at"], id.parse::<lately_keys::EventId>().unwrap().at().to_string());
    assert!(
        posted.text.contains(r#""data":{"b":1.10,"a":[12345678901234567890123]}"#),
        "the data is the text as it was sent"
    );
    let got = api.call("bob", &format!("GET {}", posted.header("location").unwrap()), "").await;
    assert_eq!(got.is_ok(200).text, posted.text);
}

#[tokio::test]
async fn an_array_or_lines_are_a_batch_even_with_one_event() {
    let api = Api::with_posts().await;
    let (one, two) = (event(), json!({"type": "post.liked", "actor": "ada", "data": null}));
    for batch in [vec![&one], vec![&one, &two]] {
        let lines: String = batch.iter().map(|event| format!("{event}\r\n\n")).collect();
        let ndjson = request(POST).header("authorization", "Bearer ada");
        let ndjson = ndjson.header("content-type", "Application/X-NDJSON; charset=utf-8");
        for answer in [api.call("ada", POST, json!(batch).to_string()).await, api.send(ndjson, lines).await] {
            let accepted = answer.is_ok(201).json();
            assert_eq!(accepted["accepted"], batch.len());
            assert_eq!(answer.header("location"), None);
            let mut events = accepted["events"].as_array().unwrap().clone();
            let ids: Vec<_> = events.iter().map(|event| event["id"].as_str().unwrap().to_owned()).collect();
            assert!(ids.is_sorted(), "in the order of the batch");
            for event in &mut events {
                let fields = event.as_object_mut().unwrap();
                assert!(fields.remove("id").is_some() && fields.remove("at").is_some());
            }
            assert_eq!(events.iter().collect::<Vec<_>>(), batch);
        }
    }
    let page = api.call("ada", "GET /topics/posts/events", "").await.json();
    assert_eq!(page["events"].as_array().unwrap().len(), 6);
}

#[tokio::test]
async fn a_batch_has_at_most_500_events() {
    let api = Api::with_posts().await;
    let batch = |count| Value::from(vec![event(); count]).to_string();
    let accepted = api.call("ada", POST, batch(BATCH_EVENTS)).await.is_ok(201).json();
    assert_eq!(accepted["accepted"], BATCH_EVENTS);
    let before = api.items().await;
    api.call("ada", POST, batch(BATCH_EVENTS + 1)).await.is(422, "too-many-events");
    assert_eq!(api.call("ada", POST, "[]").await.is(422, "invalid-event").faults(), [""]);
    let nothing =
        request(POST).header("authorization", "Bearer ada").header("content-type", "application/x-ndjson");
    assert_eq!(api.send(nothing, "\n \n").await.is(422, "invalid-event").faults(), [""]);
    assert_eq!(api.items().await, before);
}

#[tokio::test]
async fn every_fault_is_located_and_nothing_is_written() {
    let api = Api::with_posts().await;
    let before = api.items().await;
    let bad = json!({"type": "Post", "actor": "a b", "subject": "#", "at": "yesterday", "colour": "red"});
    let expected = ["/colour", "/type", "/actor", "/subject", "/at"];
    assert_eq!(api.call("ada", POST, bad.to_string()).await.is(422, "invalid-event").faults(), expected);
    let batch = json!([event(), bad, event(), {"actor": "ada"}]);
    let expected = ["/1/colour", "/1/type", "/1/actor", "/1/subject", "/1/at", "/3/type"];
    assert_eq!(api.call("ada", POST, batch.to_string()).await.is(422, "invalid-event").faults(), expected);
    let lines = format!("{}\n\n{}\n", event(), json!({"type": "a"}));
    let ndjson =
        request(POST).header("authorization", "Bearer ada").header("content-type", "application/x-ndjson");
    assert_eq!(api.send(ndjson, lines).await.is(422, "invalid-event").faults(), ["/1/actor"]);
    assert_eq!(api.items().await, before);
}

#[tokio::test]
async fn a_time_lies_within_the_retention_or_seconds_ahead() {
    let api = Api::with_posts().await;
    api.call("dev", "PUT /topics/posts", r#"{"retention_days":2}"#).await.is_ok(200);
    let before = api.items().await;
    let at = |at: String| json!({"type": "a", "actor": "ada", "at": at}).to_string();
    assert_eq!(api.call("dev", POST, at(ago(-60))).await.is(422, "invalid-event").faults(), ["/at"]);
    let old = 2 * 86_400 + 1;
    assert_eq!(api.call("dev", POST, at(ago(old))).await.is(422, "invalid-event").faults(), ["/at"]);
    let batch = json!([event_ago(1), event_ago(old)]).to_string();
    assert_eq!(api.call("dev", POST, batch).await.is(422, "invalid-event").faults(), ["/1/at"]);
    assert_eq!(api.items().await, before);
    api.call("dev", POST, at(ago(-4))).await.is_ok(201);
    api.call("dev", POST, at(ago(old - 60))).await.is_ok(201);
}

#[tokio::test]
async fn size_limits_apply_to_the_text_as_sent() {
    let api = Api::with_posts().await;
    let sized = |bytes: usize| {
        let around = r#"{"type":"a","actor":"ada","data":""}"#.len();
        format!(r#"{{"type":"a","actor":"ada","data":"{}"}}"#, "x".repeat(bytes - around))
    };
    api.call("ada", POST, sized(EVENT_BYTES)).await.is_ok(201);
    let before = api.items().await;
    api.call("ada", POST, sized(EVENT_BYTES + 1)).await.is(413, "too-large");
    api.call("ada", POST, format!("[{},{}]", event(), sized(EVENT_BYTES + 1))).await.is(413, "too-large");
    let padded = |bytes: usize| format!("{}{}", event(), " ".repeat(bytes - event().to_string().len()));
    api.call("ada", POST, padded(BODY_BYTES + 1)).await.is(413, "too-large");
    assert_eq!(api.items().await, before);
    api.call("ada", POST, padded(BODY_BYTES)).await.is_ok(201);
}

#[tokio::test]
async fn a_repeated_key_and_body_get_the_first_response() {
    let api = Api::with_posts().await;
    let batch = json!([event(), event()]).to_string();
    for (key, body) in [("one", event().to_string()), ("two", batch), ("~ three", event_ago(90).to_string())]
    {
        let first = post_with_key(&api, key, body.clone()).await;
        assert_eq!(first.is_ok(201).header("idempotent-replayed"), None);
        let written = api.items().await;
        let again = post_with_key(&api, key, body).await;
        assert_eq!(again.is_ok(200).header("idempotent-replayed"), Some("true"));
        assert_eq!((again.text, again.headers.get("location")), (first.text, first.headers.get("location")));
        assert_eq!(api.items().await, written, "written once");
        let other = json!({"type": "other", "actor": "ada"}).to_string();
        post_with_key(&api, key, other).await.is(422, "idempotency-key-reused");
        // The directory may list more types than exist, because it covers an event before the key is checked.
        assert!(without_directory(api.items().await).eq(without_directory(written)));
    }
}

#[tokio::test]
async fn a_key_belongs_to_its_caller_and_topic() {
    let api = Api::with_posts().await;
    api.call("dev", "PUT /topics/others", "").await.is_ok(201);
    let body = event().to_string();
    for (token, line) in [("dev", POST), ("ada", POST), ("dev", "POST /topics/others/events")] {
        let request = request(line).header("authorization", format!("Bearer {token}"));
        api.send(request.header("idempotency-key", "same"), body.clone()).await.is_ok(201);
    }
    // A user's sessions share keys.
    let other_session = api.of(Some("ada"), &[lately_model::Scope::Write], None);
    let again = other_session.send(request(POST).header("idempotency-key", "same"), body).await;
    assert_eq!(again.is_ok(200).header("idempotent-replayed"), Some("true"));
}

#[tokio::test]
async fn an_ill_formed_key_is_refused() {
    let api = Api::with_posts().await;
    let before = api.items().await;
    let longest = "k".repeat(128);
    for key in [String::new(), "k".repeat(129), "caf\u{e9}".to_owned(), "a\tb".to_owned()] {
        post_with_key(&api, &key, event().to_string()).await.is(400, "invalid-idempotency-key");
    }
    assert_eq!(api.items().await, before);
    post_with_key(&api, &longest, event().to_string()).await.is_ok(201);
    // Two headers are joined into one value, as the gateway does.
    let twice = request(POST).header("authorization", "Bearer dev");
    let twice = twice.header("idempotency-key", "a").header("idempotency-key", "b");
    api.send(twice, event().to_string()).await.is_ok(201);
    post_with_key(&api, "a,b", event().to_string()).await.is_ok(200);
}

/// The API with a faulty DynamoDB client, and a time for retries.
fn faulty(api: &Api, faults: Faults, time: Duration) -> Api {
    let client = api.system.engine.client_with(faults).client();
    let store = Store::new(Connection::new(client, "lately", World::new(), time));
    let routes = lately_write_event::routes()
        .and(lately_query_latest::routes())
        .and(lately_records::routes())
        .with_store(&store);
    api.serving(routes)
}

#[tokio::test]
async fn a_partly_written_batch_is_reported_and_a_retry_finishes_it() {
    let api = Api::with_posts().await;
    let days = ["2026-11-01", "2026-11-02", "2026-11-01"];
    let batch: Vec<_> = days
        .iter()
        .map(|day| json!({"type": "a", "actor": "ada", "at": format!("{day}T10:00:00Z")}))
        .collect();
    let batch = Value::from(batch).to_string();
    let second = |operation| Target::operation(operation).partition("EVENTS#posts#2026-11-02");
    let faults = Faults::seeded(1)
        .sometimes(1.0, second(Operation::BatchWriteItem), Fault::Unprocessed(1.0))
        .sometimes(1.0, second(Operation::PutItem), Fault::ServiceUnavailable);
    let answer = post_with_key(&faulty(&api, faults, Duration::from_secs(3)), "half", batch.clone()).await;
    let problem = answer.is(503, "partially-accepted").json();
    assert_eq!(problem["rejected"], json!([{"index": 1, "code": "unavailable"}]));
    assert!(answer.header("retry-after").is_some());
    let accepted = problem["accepted"].as_array().unwrap();
    assert_eq!(accepted.iter().map(|event| &event["index"]).collect::<Vec<_>>(), [0, 2]);
    let latest = "GET /topics/posts/events?consistent=true";
    let page = api.call("ada", latest, "").await.json();
    assert_eq!(page["events"].as_array().unwrap().len(), 2);

    let finished = post_with_key(&api, "half", batch).await;
    let events = finished.is_ok(200).json()["events"].clone();
    for event in accepted {
        let index = usize::try_from(event["index"].as_u64().unwrap()).unwrap();
        assert_eq!(events[index]["id"], event["id"], "an accepted event keeps its id");
    }
    let page = api.call("ada", latest, "").await.json();
    assert_eq!(page["events"].as_array().unwrap().len(), 3);
}

#[tokio::test]
async fn an_unreachable_table_is_a_503_without_the_cause() {
    let posts = Api::with_posts().await;
    let down = Faults::seeded(1).sometimes(1.0, Target::any(), Fault::ServiceUnavailable);
    let api = faulty(&posts, down, Duration::from_millis(300));
    for (line, body) in [
        (POST, event().to_string()),
        ("GET /topics/posts/events", String::new()),
        ("GET /topics/posts/events/019aa0b7-9a40-7000-8000-5f3c9e1d2a77", String::new()),
        ("DELETE /topics/posts/events/019aa0b7-9a40-7000-8000-5f3c9e1d2a77", String::new()),
        ("PUT /topics/posts", String::new()),
        ("GET /topics/posts", String::new()),
        ("GET /topics", String::new()),
    ] {
        let answer = api.call("dev", line, body).await;
        assert_eq!(
            answer.is(503, "unavailable").json()["detail"],
            "The service cannot answer now. Try again later.",
            "{line}"
        );
        assert!(answer.header("retry-after").is_some(), "{line}");
    }
    api.call("dev", "GET /health", "").await.is_ok(200);
}
