//! The examples of the document: requests that are made one after the other, and their real answers.
//!
//! Time stands still during a request, and all random bits follow from the request's number. So the same code always
//! gives the same examples.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use futures_util::future::join_all;
use lately_items::RepositoryKey;
use lately_kit::code::Code;
use lately_kit::document::Operation;
use lately_kit::limits::OPERATION_BUDGET;
use lately_kit::problem::Problem;
use lately_model::{AcceptedEvent, PartlyAccepted, RejectedEvent};
use lately_pump::{Destination, PumpFaults};
use lately_store::{Ambient, ConsumerError, FollowError, OpenIssueError, Store};
use lately_table::Connection;
use serde_json::Value;
use tower::ServiceExt;

use crate::support::{Api, request};

const EVENT: &str = r#"{"type":"post.created","actor":"ada","subject":"repo:octo:hello","data":{"title":"Newest first","words":312}}"#;
const BATCH: &str =
    r#"[{"type":"post.created","actor":"ada"},{"type":"post.liked","actor":"bob","subject":"post:1"}]"#;
const LINES: &str = "{\"type\":\"post.created\",\"actor\":\"ada\"}\n{\"type\":\"post.liked\",\"actor\":\"bob\",\"subject\":\"post:1\"}\n";
const KEY: &str = "idempotency-key: 2f1c7b9e-post-1";
const NDJSON: &str = "content-type: application/x-ndjson";
const OLD: &str = "018e3f5e-7c00-7000-8000-5f3c9e1d2a77";

/// Token, request, header and body. `<operation.field>` stands for a field of the operation's last success, and
/// `<operation.etag>` for its `ETag`. A request without a token has none.
#[rustfmt::skip]
const STORY: &[(&str, &str, &str, &str)] = &[
    ("dev", "PUT /topics/posts", "", r#"{"bucket":"day","retention_days":365,"views":["actor","subject","type"]}"#),
    ("dev", "PUT /topics/posts", "", "{}"),
    ("dev", "PUT /topics/posts", "", r#"{"bucket":"hour"}"#),
    ("dev", "PUT /topics/others", "", r#"{"colour":"red","views":["author"]}"#),
    ("ada", "PUT /topics/others", "", ""),
    ("ada", "POST /topics/posts/events", KEY, EVENT),
    ("ada", "POST /topics/posts/events", KEY, EVENT),
    ("ada", "POST /topics/posts/events", KEY, r#"{"type":"post.liked","actor":"ada"}"#),
    ("dev", "POST /topics/posts/events", "", BATCH),
    ("dev", "POST /topics/posts/events", NDJSON, LINES),
    ("dev", "POST /topics/posts/events", "", r#"[{"type":"post.created","actor":"ada"},{"type":"Post","colour":"red"}]"#),
    ("dev", "POST /topics/posts/events", "", r#"{"type": post.created}"#),
    ("dev", "POST /topics/nothing/events", "", EVENT),
    ("dev", "POST /topics/posts/events", "idempotency-key: ", EVENT),
    ("ada", "GET /topics", "", ""),
    ("ada", "GET /topics/posts", "", ""),
    ("ada", "GET /topics/a~b", "", ""),
    ("ada", "GET /topics/posts?dry_run=true", "", ""),
    ("ada", "GET /topics/posts", "content-encoding: gzip", ""),
    ("", "GET /topics/posts", "", ""),
    ("eve", "GET /topics/posts", "", ""),
    ("ada", "GET /topics/posts", "", "{}"),
    ("ada", "GET /topics/posts", KEY, ""),
    ("ada", "GET /topics/posts/events?from=2025-11-01T00:00:00Z&to=2025-12-01T00:00:00Z&type=post.created&limit=2", "", ""),
    ("ada", "GET /topics/posts/events?limit=0", "", ""),
    ("ada", "GET /topics/posts/events?cursor=AQ", "", ""),
    ("ada", "GET /topics/posts/events/<postEvents.events.0.id>", "", ""),
    ("ada", "GET /topics/posts/events/018e3f5e-7c00-7000-8000-5f3c9e1d2a77", "", ""),
    ("ada", "GET /topics/posts/events/7", "", ""),
    ("bob", "PUT /users/bob/following/actor:ada", "", r#"{"backfill":20}"#),
    ("bob", "PUT /users/bob/following/actor:ada", "", r#"{"backfill":20}"#),
    ("bob", "PUT /users/bob/following/actor:ada", "", r#"{"backfill":201}"#),
    ("bob", "GET /users/bob/following", "", ""),
    ("bob", "GET /users/ada/following", "", ""),
    ("bob", "GET /sources/actor:ada/followers", "", ""),
    ("bob", "GET /sources/actor:ada", "", ""),
    ("bob", "GET /actors/ada/events?topic=posts&month=2025-11&limit=2", "", ""),
    ("bob", "GET /actors/ada/events?wait_for=018e3f5e-7c00-7000-8000-5f3c9e1d2a77", "", ""),
    ("bob", "GET /subjects/repo:octo:hello/events", "", ""),
    ("bob", "GET /feeds/bob?limit=2", "", ""),
    ("bob", "GET /feeds/bob/unread", "", ""),
    ("bob", "PUT /feeds/bob/seen", "", r#"{"id":"<postEvents.events.0.id>"}"#),
    ("bob", "DELETE /users/bob/following/actor:ada", "", ""),
    ("ada", "DELETE /topics/posts/events/<postEvents.events.0.id>", "", ""),
    ("ada", "PUT /users/ada/profile", "", r#"{"name":"Ada","languages":["en","fr"]}"#),
    ("ada", "PUT /users/ada/profile", "if-match: <putProfile.etag>", r#"{"name":"Ada L."}"#),
    ("ada", "PUT /users/ada/profile", "", r#"{"name":"Ada L."}"#),
    ("ada", "PUT /users/ada/profile", "if-match: \"1\"", r#"{"name":"Ada L."}"#),
    ("ada", "PUT /users/ada/profile", "if-match: *", r#"{"name":"Ada L."}"#),
    ("ada", "PUT /users/ada/profile", "", "[]"),
    ("ada", "PUT /users/ada/profile", "content-length: 65537", "{}"),
    ("ada", "GET /users/ada/profile", "", ""),
    ("ada", "DELETE /users/ada/profile", "if-match: <putProfile.etag>", ""),
    ("ada", "GET /users/ada/profile", "", ""),
    ("dev", "PUT /settings/web", "", r#"{"theme":"dark","page_size":50}"#),
    ("dev", "PUT /settings/web", "if-match: <putSettings.etag>", r#"{"theme":"light","page_size":50}"#),
    ("ada", "GET /settings/web", "", ""),
    ("dev", "DELETE /settings/web", "if-match: <putSettings.etag>", ""),
    ("ada", "POST /repos/octo/hello/issues", "", r#"{"title":"The counter runs backwards","body":"It shows 9 after 10.","labels":["critical","ui"]}"#),
    ("ada", "POST /repos/octo/hello/issues", "", r#"{"title":"","labels":["ui","ui"]}"#),
    ("ada", "GET /repos/octo/hello/issues?from=1&to=9&limit=20", "", ""),
    ("ada", "GET /repos/octo/hello/issues?status=open&wait_for=1@<postIssue.revision>", "", ""),
    ("ada", "GET /repos/octo/hello/issues/1", "", ""),
    ("ada", "GET /repos/octo/hello/issues/9", "", ""),
    ("ada", "PATCH /repos/octo/hello/issues/1", "if-match: <postIssue.etag>", r#"{"status":"closed","labels":["critical"]}"#),
    ("ada", "PATCH /repos/octo/hello/issues/1", "if-match: <patchIssue.etag>", "{}"),
    ("dev", "POST /sessions", "", r#"{"user":"grace","scopes":["read","write"],"topics":["posts"],"ttl_seconds":3600,"writes_per_minute":1}"#),
    ("dev", "POST /sessions", "", r#"{"scopes":[],"ttl_seconds":0}"#),
    ("<postSession.token>", "GET /sessions/self", "", ""),
    ("<postSession.token>", "POST /topics/posts/events", "", r#"[{"type":"post.created","actor":"grace"},{"type":"post.liked","actor":"grace"}]"#),
    ("<postSession.token>", "POST /topics/posts/events", "", r#"{"type":"post.created","actor":"grace"}"#),
    ("<postSession.token>", "POST /topics/posts/events", "", r#"{"type":"post.created","actor":"grace"}"#),
    ("dev", "GET /sessions?user=grace", "", ""),
    ("dev", "GET /sessions/<postSession.id>", "", ""),
    ("dev", "DELETE /sessions/<postSession.id>", "", ""),
    ("dev", "GET /sessions/<postSession.id>", "", ""),
    ("dev", "DELETE /sessions?user=grace", "", ""),
    ("dev", "PUT /topics/posts/consumers/nightly", "", r#"{"start":"earliest","settle_seconds":0}"#),
    ("dev", "PUT /topics/posts/consumers/nightly", "", r#"{"settle_seconds":10}"#),
    ("dev", "PUT /topics/posts/consumers/nightly", "", r#"{"settle_seconds":3601}"#),
    ("dev", "GET /topics/posts/consumers/nightly", "", ""),
    ("dev", "GET /topics/posts/consumers/hourly", "", ""),
    ("dev", "POST /topics/posts/consumers/nightly/poll", "", r#"{"limit":2}"#),
    ("dev", "POST /topics/posts/consumers/nightly/commit", "", r#"{"batch":"<poll.batch>"}"#),
    ("dev", "POST /topics/posts/consumers/nightly/commit", "", r#"{"batch":"1-1"}"#),
    ("dev", "POST /topics/posts/consumers/nightly/seek", "", r#"{"to":"2025-11-20T00:00:00Z"}"#),
    ("dev", "GET /topics/posts/consumers/nightly/runs", "", ""),
    ("dev", "DELETE /topics/posts/consumers/nightly", "", ""),
    ("", "GET /health", "", ""),
    ("dev", "POST /erasures", "", r#"{"actor":"ada","user":"ada","confirm":"ada"}"#),
    ("dev", "POST /erasures", "", r#"{"actor":"ada","confirm":"bob"}"#),
    ("dev", "POST /topics/posts/events", "", EVENT),
    ("dev", "GET /erasures", "", ""),
    ("dev", "GET /erasures/<postErasure.id>", "", ""),
    ("dev", "DELETE /topics/posts?dry_run=true", "", ""),
    ("dev", "DELETE /topics/posts?confirm=others", "", ""),
    ("dev", "GET /topics/posts/deletion", "", ""),
    ("dev", "DELETE /topics/posts?confirm=posts", "", ""),
    ("dev", "GET /topics/posts/deletion", "", ""),
    ("dev", "PUT /topics/posts", "", "{}"),
];

/// A request of the story, and its answer.
#[derive(Debug)]
pub(super) struct Exchange {
    pub(super) operation: String,
    pub(super) target: String,
    pub(super) header: Option<(String, String)>,
    pub(super) sent: String,
    pub(super) status: u16,
    pub(super) headers: HeaderMap,
    pub(super) answered: String,
    pub(super) code: Option<Code>,
}

impl Exchange {
    /// The answer without its random texts.
    pub(super) fn shown(&self) -> String {
        let json: Value = serde_json::from_str(&self.answered).unwrap_or_default();
        if let Some(token) = json["token"].as_str() {
            return self.answered.replace(token, "lately_0yJ3cQwq1r7Vn0m5n1o0mXkq4m0c2bJm8m2o3s1dG9A");
        }
        let id = json["request_id"].as_str().unwrap_or_default();
        self.answered.replace(&format!(",\"request_id\":\"{id}\""), "")
    }
}

/// The exchanges of the story.
#[derive(Debug)]
pub(super) struct Story(Vec<Exchange>);

impl Story {
    /// The story, with the answers of these routes.
    pub(super) async fn of(operations: &[Operation]) -> Self {
        let time = Arc::new(AtomicU64::new(0));
        let mut api = Api::empty().await;
        let client = api.system.engine.client();
        let store =
            |ambient| Store::new(Connection::new(client.clone(), "lately", ambient, OPERATION_BUDGET));
        // Fan-out draws random bits of its own, so that they do not depend on when it runs.
        let [requests, of_fan_out] = [(); 2].map(|()| StoryAmbient::at(&time));
        api.system.store = store(of_fan_out.clone());
        let pump = api.system.pump(Destination::memory(), PumpFaults::default(), None).unwrap();
        let fan_out = pump.handle();
        let mut running = Some(tokio::spawn(pump.run()));
        api.system.store = store(requests.clone());
        let router = crate::support::api(&api.system);
        let (mut exchanges, mut known) = (Vec::new(), BTreeMap::new());
        for (token, line, header, body) in STORY {
            let [token, line, header, body] = [token, line, header, body].map(|text| filled(text, &known));
            let (method, target) = line.split_once(' ').unwrap();
            let operation = operations.iter().find(|it| it.method == method && has_form(target, it.path));
            let operation = operation.unwrap_or_else(|| panic!("{line} is no operation")).name();
            // Erasures and deletions are shown under way.
            if line.contains("/erasures")
                && let Some(running) = running.take()
            {
                fan_out.stop();
                running.await.unwrap().unwrap();
            }
            let header = header.split_once(": ").map(|(name, value)| (name.to_owned(), value.to_owned()));
            let mut exchange = ask(&router, &token, &line, header, body).await;
            exchange.operation = operation.clone();
            if exchange.status < 300 {
                remember(&operation, &exchange, &mut known);
            }
            exchanges.push(exchange);
            if running.is_some() {
                fan_out.settled().await;
            }
            time.fetch_add(1, Ordering::Relaxed);
            for ambient in [&requests, &of_fan_out] {
                ambient.drawn.store(0, Ordering::Relaxed);
            }
        }
        exchanges.extend(unseen().await);
        Self(exchanges)
    }

    /// The exchanges of an operation with this status.
    pub(super) fn successes<'a>(
        &'a self,
        operation: &'a str,
        status: u16,
    ) -> impl Iterator<Item = &'a Exchange> {
        self.0.iter().filter(move |it| it.operation == operation && it.status == status)
    }

    /// All successful exchanges of an operation.
    pub(super) fn all_successes<'a>(&'a self, operation: &'a str) -> impl Iterator<Item = &'a Exchange> {
        self.0.iter().filter(move |it| it.operation == operation && it.status < 300)
    }

    /// A problem of an operation, or else of another.
    pub(super) fn problem(&self, operation: &str, code: Code) -> Option<&Exchange> {
        let mut with_code = self.0.iter().filter(|it| it.code == Some(code));
        with_code.clone().find(|it| it.operation == operation).or_else(|| with_code.next())
    }
}

async fn ask(
    router: &Router,
    token: &str,
    line: &str,
    header: Option<(String, String)>,
    sent: String,
) -> Exchange {
    let mut building = request(line);
    if !token.is_empty() {
        building = building.header("authorization", format!("Bearer {token}"));
    }
    if let Some((name, value)) = &header {
        building = building.header(name, value);
    }
    let response = router.clone().oneshot(building.body(Body::from(sent.clone())).unwrap()).await.unwrap();
    let (target, operation) = (line.split_once(' ').unwrap().1.to_owned(), String::new());
    Exchange { target, header, sent, operation, ..recorded(response).await }
}

async fn recorded(response: Response) -> Exchange {
    let (parts, body) = response.into_parts();
    let text = String::from_utf8(to_bytes(body, usize::MAX).await.unwrap().into()).unwrap();
    let json: Value = serde_json::from_str(&text).unwrap_or_default();
    let code = Code::ALL.iter().find(|code| json["code"] == code.as_str()).copied();
    Exchange {
        operation: String::new(),
        target: String::new(),
        header: None,
        sent: String::new(),
        status: parts.status.as_u16(),
        headers: parts.headers,
        answered: text,
        code,
    }
}

/// Problems that a story cannot meet.
async fn unseen() -> Vec<Exchange> {
    let id = OLD.parse().unwrap();
    let partly = PartlyAccepted {
        accepted: vec![AcceptedEvent { index: 0, id }],
        rejected: vec![RejectedEvent { index: 1, code: Code::Unavailable.as_str().into() }],
    };
    let unavailable = Problem::unavailable(&std::io::Error::other("the table does not answer"));
    let (user, followed) = ("bob".parse().unwrap(), "actor:ada".parse().unwrap());
    let repository = RepositoryKey { owner: "octo".parse().unwrap(), repo: "hello".parse().unwrap() };
    let problems = [
        Problem::partly_accepted(partly),
        unavailable,
        FollowError::TooManyPullSources { user, followed }.into(),
        ConsumerError::TooManyConsumers.into(),
        ConsumerError::HasRuns.into(),
        OpenIssueError::TooManyIssues { repository }.into(),
    ];
    join_all(problems.map(|problem| recorded(problem.into_response()))).await
}

/// A text with the fields of earlier answers.
fn filled(text: &str, known: &BTreeMap<String, String>) -> String {
    known.iter().fold(text.to_owned(), |text, (name, value)| text.replace(&format!("<{name}>"), value))
}

fn remember(operation: &str, exchange: &Exchange, known: &mut BTreeMap<String, String>) {
    if let Some(tag) = exchange.headers.get("etag") {
        known.insert(format!("{operation}.etag"), tag.to_str().unwrap().to_owned());
    }
    let json: Value = serde_json::from_str(&exchange.answered).unwrap_or_default();
    if let Some(revision) = json["revision"].as_u64() {
        known.insert(format!("{operation}.revision"), revision.to_string());
    }
    for field in ["id", "batch", "token", "events.0.id"] {
        let pointer = format!("/{}", field.replace('.', "/"));
        if let Some(value) = json.pointer(&pointer).and_then(Value::as_str) {
            known.insert(format!("{operation}.{field}"), value.to_owned());
        }
    }
}

/// True if a target has the parts of a path.
pub(super) fn has_form(target: &str, path: &str) -> bool {
    let parts: Vec<_> = target.split('?').next().unwrap_or_default().split('/').collect();
    let names: Vec<_> = path.split('/').collect();
    let fits = |(part, name): (&&str, &str)| name.starts_with('{') || *part == name;
    parts.len() == names.len() && parts.iter().zip(names).all(fits)
}

/// The clock and the random bits of the story.
#[derive(Clone, Debug)]
struct StoryAmbient {
    /// The number of the present request.
    request: Arc<AtomicU64>,
    /// The random numbers that were drawn during this request.
    drawn: Arc<AtomicU64>,
}

impl StoryAmbient {
    fn at(request: &Arc<AtomicU64>) -> Self {
        Self { request: Arc::clone(request), drawn: Arc::default() }
    }

    fn request(&self) -> u64 {
        self.request.load(Ordering::Relaxed)
    }
}

impl Ambient for StoryAmbient {
    /// Ten seconds pass between two requests, from 2025-11-20T10:00:00Z.
    fn since_epoch(&self) -> Duration {
        Duration::from_secs(1_763_632_800) + self.monotonic()
    }

    fn monotonic(&self) -> Duration {
        Duration::from_secs(10 * self.request())
    }

    fn entropy(&self) -> u128 {
        let draw = u128::from(self.request()) << 16 | u128::from(self.drawn.fetch_add(1, Ordering::Relaxed));
        // An odd factor spreads the bits.
        (draw + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835)
    }
}
