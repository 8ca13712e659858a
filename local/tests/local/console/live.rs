//! The console's live stream of server-sent events.

use std::time::{Duration, Instant};

use axum::body::BodyDataStream;
use futures_util::StreamExt;
use serde_json::{Value, json};

use crate::console::Running;
use crate::program::Program;
use crate::support::PATIENCE;

/// The longest time until a message about a new event.
const SOON: Duration = Duration::from_secs(8);

/// An open stream.
struct Live {
    body: BodyDataStream,
    text: String,
}

impl Live {
    async fn open(running: &Running, query: &str) -> Self {
        let mut live = Self::unread(running, query).await;
        assert!(live.more().await.unwrap().starts_with(':'), "the stream opens at once");
        live.text.clear();
        live
    }

    async fn unread(running: &Running, query: &str) -> Self {
        let answer = running.begin(Some("dev"), &format!("GET /local/live?{query}"), "").await;
        assert_eq!(
            (answer.status().as_u16(), &answer.headers()["content-type"]),
            (200, &"text/event-stream".parse().unwrap())
        );
        Self { body: answer.into_body().into_data_stream(), text: String::new() }
    }

    /// The next piece; `None` at the stream's end.
    async fn more(&mut self) -> Option<String> {
        let piece = self.body.next().await?.unwrap();
        let piece = String::from_utf8(piece.into()).unwrap();
        self.text.push_str(&piece);
        Some(piece)
    }

    /// The next message: its event and its data.
    async fn message(&mut self) -> (String, String) {
        let next = async {
            loop {
                if let Some((message, rest)) = self.text.split_once("\n\n") {
                    let lines: Vec<String> = message.lines().map(str::to_owned).collect();
                    self.text = rest.to_owned();
                    let field = |name: &str| -> Vec<String> {
                        lines.iter().filter_map(|line| line.strip_prefix(name)).map(str::to_owned).collect()
                    };
                    if let [event] = &field("event: ")[..] {
                        return (event.clone(), field("data: ").join("\n"));
                    }
                    continue;
                }
                self.more().await.expect("the stream is open");
            }
        };
        tokio::time::timeout(PATIENCE, next).await.expect("there is a message")
    }
}

#[tokio::test]
async fn an_event_and_its_deletion_are_sent_at_once() {
    let running = Running::new().await;
    running.follow("bob", "actor:ada").await;
    let mut live = Live::open(&running, "topic=posts").await;
    let mut feed = Live::open(&running, "feed=bob").await;
    let mut quiet = Live::open(&running, "topic=billing&feed=carol").await;

    // The data has a number and white space that must stay as they were sent.
    let sent = r#"{"type":"post.created","actor":"ada","data":{"price": 1.10, "text":"<b>"}}"#;
    let started = Instant::now();
    let posted = running.api.call("ada", "POST /topics/posts/events", sent).await.is_ok(201).json();
    let (event, data) = live.message().await;
    assert!(started.elapsed() < SOON);
    let page = running.api.call("dev", "GET /topics/posts/events?limit=1", "").await.text;
    assert_eq!(event, "event");
    assert!(page.starts_with(&format!(r#"{{"events":[{data}],"#)), "{data} in {page}");
    let id = &posted["id"];
    let (event, data) = feed.message().await;
    let told: Value = serde_json::from_str(&data).unwrap();
    assert_eq!((event.as_str(), told), ("feed", json!({"user": "bob", "id": id, "gone": false})));

    running
        .api
        .call("ada", &format!("DELETE /topics/posts/events/{}", id.as_str().unwrap()), "")
        .await
        .is_ok(204);
    let (event, data) = live.message().await;
    let told: Value = serde_json::from_str(&data).unwrap();
    assert_eq!((event.as_str(), told), ("gone", json!({"topic": "posts", "id": id})));
    let (_, data) = feed.message().await;
    assert_eq!(serde_json::from_str::<Value>(&data).unwrap()["gone"], true);
    running.pump.settled().await;
    let silence = tokio::time::timeout(Duration::from_millis(200), quiet.more()).await;
    assert!(silence.is_err(), "{silence:?}");
}

#[tokio::test]
async fn data_of_several_lines_is_one_message() {
    let running = Running::new().await;
    let mut live = Live::open(&running, "topic=posts").await;
    let sent = "{\"type\":\"note\",\"actor\":\"ada\",\"data\":{\n  \"a\": 1,\r\n\r\n  \"b\": 2\n}}";
    running.api.call("ada", "POST /topics/posts/events", sent).await.is_ok(201);
    let (_, data) = live.message().await;
    let told: Value = serde_json::from_str(&data).unwrap();
    assert_eq!(told["data"], json!({"a": 1, "b": 2}));
}

#[tokio::test]
async fn the_state_is_sent_when_it_changes() {
    let running = Running::new().await;
    running.pump.settled().await;
    let mut live = Live::open(&running, "state=1").await;
    let (event, first) = live.message().await;
    assert_eq!(event, "state");
    let first: Value = serde_json::from_str(&first).unwrap();
    let now = running.get("/local/state").await;
    assert_eq!((&first["stream"], &first["faults"]), (&now["stream"], &now["faults"]));
    let silence = tokio::time::timeout(Duration::from_millis(1_200), live.more()).await;
    assert!(silence.is_err(), "nothing has changed: {silence:?}");
    running.call("PUT /local/faults", &json!({"stream": {"paused": true}})).await.is_ok(200);
    let (_, next) = live.message().await;
    assert_eq!(serde_json::from_str::<Value>(&next).unwrap()["faults"]["stream"]["paused"], true);
}

#[tokio::test]
async fn many_events_do_not_delay_the_state_or_the_end() {
    let running = Running::new().await;
    let mut live = Live::open(&running, "topic=posts&state=1").await;
    live.message().await;
    let post = async || {
        running.post(&json!({"type": "a", "actor": "ada"})).await;
    };
    let started = Instant::now();
    let mut events = 0;
    loop {
        // There is always another event to send.
        post().await;
        let (event, _) = live.message().await;
        events += 1;
        if event == "state" {
            break;
        }
        assert!(started.elapsed() < SOON, "{events} events and no state");
    }
    post().await;
    let Running { going_on, .. } = running;
    drop(going_on);
    assert_eq!(live.more().await, None);
}

#[tokio::test]
async fn a_slow_client_is_told_of_lost_events_and_continues() {
    let running = Running::new().await;
    let quiet = r#"{"fan_out":false,"views":[],"max_shards":4}"#;
    running.api.call("dev", "PUT /topics/quiet", quiet).await.is_ok(201);
    let mut slow = Live::unread(&running, "topic=quiet").await;
    let batch = json!(vec![json!({"type": "a", "actor": "ada"}); 500]).to_string();
    for _ in 0..11 {
        running.api.call("ada", "POST /topics/quiet/events", batch.clone()).await.is_ok(201);
    }
    assert_eq!(slow.message().await, ("lost".to_owned(), "{}".to_owned()));
    running.api.call("ada", "POST /topics/quiet/events", r#"{"type":"b","actor":"ada"}"#).await.is_ok(201);
    let (event, data) = slow.message().await;
    assert!(event == "event" && data.contains(r#""type":"b""#), "{event}: {data}");
    // A client that is only a little behind misses nothing.
    for n in 0..3_000 {
        if n % 500 == 0 {
            running.api.call("ada", "POST /topics/quiet/events", batch.clone()).await.is_ok(201);
        }
        let (event, _) = slow.message().await;
        assert_eq!(event, "event");
    }
}

#[tokio::test(start_paused = true)]
async fn an_open_stream_has_heartbeats_and_ends_with_the_program() {
    let running = Running::new().await;
    let mut live = Live::open(&running, "topic=posts").await;
    let started = tokio::time::Instant::now();
    assert_eq!(live.more().await.as_deref(), Some(":\n\n"));
    assert_eq!(started.elapsed().as_secs(), 10);
    let Running { going_on, .. } = running;
    drop(going_on);
    assert_eq!(live.more().await, None);
}

#[tokio::test]
async fn invalid_subscriptions_are_refused() {
    let running = Running::new().await;
    for (query, path) in [
        ("", ""),
        ("topic=a%23b", "/topic"),
        ("feed=", "/feed"),
        ("state=2", "/state"),
        ("state=1&x=1", "/x"),
    ] {
        let refused = running.call(&format!("GET /local/live?{query}"), &Value::Null).await;
        assert_eq!(refused.is(400, "invalid-query").faults()[0], path, "{query}");
    }
    Live::open(&running, "topic=a%40b").await;
}

#[test]
fn an_open_stream_does_not_delay_the_end_of_the_program() {
    use std::io::{BufRead, BufReader, Read, Write};
    let program = Program::started(&["--no-demo"]);
    let mut stream = std::net::TcpStream::connect(program.api()).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let head = format!("host: {}\r\nauthorization: Bearer dev", program.api());
    write!(stream, "GET /local/live?state=1 HTTP/1.1\r\n{head}\r\n\r\n").unwrap();
    let mut reader = BufReader::new(stream);
    let told = reader.by_ref().lines().map_while(Result::ok).find(|line| line == "event: state");
    assert!(told.is_some());
    assert_eq!(program.stopped("-TERM"), ["stopping"]);
    // Otherwise the program would wait five seconds for its last requests and then cut them off.
    let mut rest = String::new();
    reader.read_to_string(&mut rest).unwrap();
    assert!(rest.ends_with("\r\n0\r\n\r\n"), "the response ends properly: {rest:?}");
}
