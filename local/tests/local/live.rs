//! Live streams over HTTP: messages, resumption, refusals, and the end of access.

use std::time::Duration;

use axum::body::{Body, BodyDataStream};
use futures_util::StreamExt;
use serde_json::{Value, json};
use tower::ServiceExt;

use crate::support::{Api, PATIENCE, event, event_ago, request};

/// A message of a stream.
#[derive(Debug, Default, PartialEq, Eq)]
struct Message {
    event: String,
    id: Option<String>,
    data: String,
}

/// A stream that is being read.
struct Stream {
    body: BodyDataStream,
    text: String,
}

impl Stream {
    async fn open(api: &Api, token: &str, target: &str, last_id: Option<&str>) -> Self {
        let mut request =
            request(&format!("GET {target}")).header("authorization", format!("Bearer {token}"));
        if let Some(id) = last_id {
            request = request.header("last-event-id", id);
        }
        let response = api.router().oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
        assert_eq!(response.status(), 200, "{target}");
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        assert_eq!(response.headers()["cache-control"], "no-store");
        Self { body: response.into_body().into_data_stream(), text: String::new() }
    }

    /// The next message; `None` at the end.
    async fn message(&mut self) -> Option<Message> {
        loop {
            if let Some((piece, rest)) = self.text.split_once("\n\n") {
                let mut message = Message::default();
                for line in piece.lines() {
                    match line.split_once(": ") {
                        Some(("event", event)) => event.clone_into(&mut message.event),
                        Some(("id", id)) => message.id = Some(id.to_owned()),
                        Some(("data", data)) => message.data.push_str(data),
                        _ => {}
                    }
                }
                self.text = rest.to_owned();
                if !message.event.is_empty() {
                    return Some(message);
                }
                continue;
            }
            let piece = self.body.next().await?.unwrap();
            self.text.push_str(std::str::from_utf8(&piece).unwrap());
        }
    }

    /// The next message of a kind, and its data.
    async fn next(&mut self, event: &str) -> (Message, Value) {
        let wanted = async {
            loop {
                let message = self.message().await.expect("the stream goes on");
                if message.event == event {
                    let data = serde_json::from_str(&message.data).unwrap();
                    return (message, data);
                }
            }
        };
        tokio::time::timeout(PATIENCE, wanted).await.expect("a message comes")
    }
}

async fn post(api: &Api, event: &Value) -> Value {
    api.call("ada", "POST /topics/posts/events", event.to_string()).await.is_ok(201).json()
}

#[tokio::test]
async fn events_are_streamed_as_pages_show_them() {
    let api = Api::with_posts().await;
    api.fan_out();
    api.call("bob", "PUT /users/bob/following/actor:ada", "").await.is_ok(201);
    let mut topic = Stream::open(&api, "bob", "/topics/posts/live", None).await;
    let mut actor = Stream::open(&api, "bob", "/actors/ada/live?topic=posts", None).await;
    let mut feed = Stream::open(&api, "bob", "/feeds/bob/live", None).await;
    let subject = "/subjects/repo:octo:hello/live?type=post.created";
    let mut subject = Stream::open(&api, "bob", subject, None).await;
    topic.next("settled").await;
    let posted =
        json!({"type": "post.created", "actor": "ada", "subject": "repo:octo:hello", "data": {"n": 1.50}});
    let posted = post(&api, &posted).await;
    let mut shown = posted.clone();
    assert_eq!(topic.next("event").await.1, shown);
    shown["topic"] = "posts".into();
    for stream in [&mut actor, &mut feed, &mut subject] {
        assert_eq!(stream.next("event").await.1, shown);
    }
    // An import is late.
    let import = api.call("dev", "POST /topics/posts/events", event_ago(3_600).to_string()).await;
    assert_eq!(topic.next("late").await.1["id"], import.is_ok(201).json()["id"]);
}

#[tokio::test]
async fn the_last_id_continues_a_stream_and_wins_over_the_cursor() {
    let api = Api::with_posts().await;
    let mut stream = Stream::open(&api, "ada", "/topics/posts/live", None).await;
    let begin = stream.next("settled").await.0.id.unwrap();
    let first = post(&api, &event()).await;
    stream.next("event").await;
    drop(stream);
    let second = post(&api, &event()).await;
    let page = api.call("ada", &format!("GET /topics/posts/events?cursor={begin}&wait=10"), "").await;
    let page = page.is_ok(200).json();
    assert_eq!(page["events"][0], first);
    let next = page["next"].as_str().unwrap();
    let mut stream =
        Stream::open(&api, "ada", &format!("/topics/posts/live?cursor={next}"), Some(&begin)).await;
    assert_eq!(stream.next("event").await.1, first);
    assert_eq!(stream.next("event").await.1, second);
    // A stream ends with its last position when the program stops.
    api.system.end_streams();
    let mut last = None;
    while let Some(message) = stream.message().await {
        last = Some(message);
    }
    assert_eq!(last.unwrap().event, "settled");
}

#[tokio::test]
async fn ill_formed_streams_are_refused() {
    let api = Api::with_posts().await;
    let first = post(&api, &event()).await;
    let page = api.call("ada", "GET /topics/posts/events?limit=1", "").await.json();
    assert_eq!(page["events"][0], first);
    post(&api, &event()).await;
    let page = api.call("ada", "GET /topics/posts/events?limit=1", "").await.json();
    let [newer, next] = ["newer", "next"].map(|name| page[name].as_str().unwrap());
    for (target, status, code) in [
        ("/topics/posts/live?token=ada", 400, "invalid-query"),
        ("/topics/posts/live?order=asc", 400, "invalid-query"),
        ("/topics/posts/live?wait=5", 400, "invalid-query"),
        ("/topics/posts/live?topic=posts", 400, "invalid-query"),
        ("/actors/ada/live?month=2026-11", 400, "invalid-query"),
        ("/topics/posts/live?cursor=AQ", 400, "invalid-cursor"),
        (&format!("/topics/posts/live?cursor={next}"), 400, "invalid-cursor"),
        (&format!("/actors/ada/live?cursor={newer}"), 400, "invalid-cursor"),
        (&format!("/topics/posts/events?wait=5&cursor={next}"), 400, "invalid-query"),
        ("/topics/a%23b/live", 400, "invalid-name"),
        ("/topics/none/live", 404, "topic-not-found"),
        ("/feeds/bob/live", 403, "forbidden"),
    ] {
        api.call("ada", &format!("GET {target}"), "").await.is(status, code);
    }
    let refused = api.call("ada", "GET /topics/none/live", "").await;
    assert!(refused.header("lately-cost").unwrap().starts_with("read_units="), "{refused:?}");
    let request = request("GET /topics/posts/live").header("authorization", "Bearer ada");
    api.send(request.header("last-event-id", "nonsense"), "").await.is(400, "invalid-cursor");
    api.send(crate::support::request("GET /topics/posts/live?token=ada"), "").await.is(401, "missing-token");
}

#[tokio::test(start_paused = true)]
async fn a_stream_ends_with_a_problem_soon_after_its_token_is_revoked() {
    let api = Api::with_posts().await;
    let session = json!({"user": "eve", "scopes": ["read"], "ttl_seconds": 3600}).to_string();
    let session = api.call("dev", "POST /sessions", session).await.is_ok(201).json();
    let mut stream = Stream::open(&api, session["token"].as_str().unwrap(), "/topics/posts/live", None).await;
    stream.next("settled").await;
    let id = session["id"].as_str().unwrap();
    api.call("dev", &format!("DELETE /sessions/{id}"), "").await.is_ok(204);
    let begun = tokio::time::Instant::now();
    let (message, problem) = stream.next("problem").await;
    assert!(begun.elapsed() < Duration::from_secs(60));
    assert_eq!((message.id, &problem["code"]), (None, &json!("invalid-token")));
    assert_eq!(stream.message().await, None);
}

#[tokio::test(start_paused = true)]
async fn a_stream_ends_within_fourteen_minutes_with_its_position() {
    let api = Api::with_posts().await;
    let mut stream = Stream::open(&api, "ada", "/topics/posts/live", None).await;
    let begun = tokio::time::Instant::now();
    let mut last = None;
    while let Some(message) = stream.message().await {
        last = Some(message);
    }
    let seconds = begun.elapsed().as_secs();
    assert!((750..=840).contains(&seconds), "{seconds}");
    let last = last.unwrap();
    assert!(last.event == "settled" && last.id.is_some(), "{last:?}");
}

#[tokio::test]
async fn a_stream_of_a_deleted_topic_ends_with_a_problem() {
    let api = Api::with_posts().await;
    let mut stream = Stream::open(&api, "ada", "/topics/posts/live", None).await;
    stream.next("settled").await;
    api.call("dev", "DELETE /topics/posts?confirm=posts", "").await.is_ok(202);
    let begun = tokio::time::Instant::now();
    let (_, problem) = stream.next("problem").await;
    assert!(begun.elapsed() <= Duration::from_secs(2), "{:?}", begun.elapsed());
    assert_eq!(problem["code"], "topic-not-found");
    assert_eq!(stream.message().await, None);
}

#[tokio::test]
async fn a_caller_has_at_most_ten_open_streams() {
    let api = Api::with_posts().await;
    let open = |token: &'static str| Stream::open(&api, token, "/topics/posts/live", None);
    let mut streams = Vec::new();
    for _ in 0..10 {
        streams.push(open("ada").await);
    }
    let refused = api.call("ada", "GET /topics/posts/live", "").await;
    let wait: u64 = refused.headers["retry-after"].to_str().unwrap().parse().unwrap();
    assert!((700..=840).contains(&wait), "{wait}");
    refused.is(429, "rate-limited");
    open("bob").await;
    // A client that goes makes room for another.
    streams.pop();
    let again = async {
        while api.call("ada", "GET /topics/posts/live", "").await.status == 429 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(PATIENCE, again).await.expect("there is room");
}

#[tokio::test]
async fn opening_a_stream_and_each_page_of_its_history_are_reads() {
    let api = Api::with_posts().await;
    for _ in 0..3 {
        let batch = json!(vec![event(); 200]).to_string();
        api.call("ada", "POST /topics/posts/events", batch).await.is_ok(201);
    }
    let page = "GET /topics/posts/events?order=asc&limit=1";
    let page = api.call("ada", page, "").await.is_ok(200).json();
    // A minute must not end while the limit is used up. By then, the events are settled.
    let api = api.at_a_new_minute();
    let session = json!({"user": "eve", "scopes": ["read"], "ttl_seconds": 3600, "reads_per_minute": 2});
    let session = api.call("dev", "POST /sessions", session.to_string()).await.is_ok(201).json();
    let token = session["token"].as_str().unwrap();
    // The opening is the first read, and a page the second. The rest of the history waits for the next minute.
    let target = format!("/topics/posts/live?cursor={}", page["next"].as_str().unwrap());
    let mut stream = Stream::open(&api, token, &target, None).await;
    for _ in 0..200 {
        stream.next("event").await;
    }
    let rest = tokio::time::timeout(Duration::from_secs(1), stream.next("event")).await;
    assert!(rest.is_err());
    api.call(token, "GET /topics/posts/live", "").await.is(429, "rate-limited");
}
