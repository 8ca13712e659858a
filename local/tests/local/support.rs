//! A system for one test, and requests to it.
//!
//! Every response is checked against the OpenAPI document before a test sees it. Its status, code, content type and
//! headers must be documented for its route, and a response that is not 2xx must be a complete problem.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Debug;
use std::sync::LazyLock;
use std::time::Duration;

use aws_sdk_dynamodb::types::AttributeValue;
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::http::HeaderMap;
use axum::http::header::CONTENT_TYPE;
use axum::http::request::Builder;
use axum::middleware::from_fn_with_state;
use lately::System;
use lately_authorize::{Authorizer, Issuers};
use lately_engine::OpenProgress;
use lately_keys::UnixMillis;
use lately_kit::caller::{Caller, Identity};
use lately_kit::code::Code;
use lately_kit::limits::OPERATION_BUDGET;
use lately_kit::route::Routes;
use lately_kit::world::World;
use lately_kit::{clock, edge};
use lately_model::{RateLimits, Scope};
use lately_pump::{Destination, PumpFaults, PumpHandle};
use lately_store::{Ambient, Store};
use lately_table::Connection;
use serde_json::{Value, json};
use tokio::time::Instant;
use tower::ServiceExt;

use crate::drift::expected;

/// The OpenAPI document.
pub(crate) static OPENAPI: LazyLock<Value> =
    LazyLock::new(|| serde_json::from_str(&lately_records::openapi()).expect("the document is JSON"));

/// An API on a table of its own.
#[derive(Clone)]
pub(crate) struct Api {
    pub(crate) system: System,
    router: Router,
}

/// The world, some time ahead. Its monotonic clock is tokio's, which a test may pause.
#[derive(Debug)]
pub(crate) struct Skew {
    world: World,
    by: Duration,
    started: Instant,
}

impl Skew {
    /// The world, so many seconds ahead.
    pub(crate) fn by(seconds: u64) -> Self {
        Self { world: World::new(), by: Duration::from_secs(seconds), started: Instant::now() }
    }
}

impl Ambient for Skew {
    fn since_epoch(&self) -> Duration {
        self.world.since_epoch() + self.by
    }

    fn monotonic(&self) -> Duration {
        self.started.elapsed()
    }

    fn entropy(&self) -> u128 {
        self.world.entropy()
    }
}

/// A response with its whole body.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
}

/// The functions' routes behind the authorizer and the gateway's layers.
pub(crate) fn api(system: &System) -> Router {
    edge::around(system.authorized(system.routes().into_router()))
}

impl Api {
    /// An API without topics.
    pub(crate) async fn empty() -> Self {
        let system = System::open(None, OpenProgress::default()).await.unwrap();
        let router = api(&system);
        Self { system, router }
    }

    /// An API with the topic `posts`, which has all views.
    pub(crate) async fn with_posts() -> Self {
        let api = Self::empty().await;
        let views = r#"{"views":["actor","subject","type"]}"#;
        assert_eq!(api.call("dev", "PUT /topics/posts", views).await.status, 201);
        api
    }

    /// Starts fan-out. The result is its handle and the destination of the batches that it gives up on.
    pub(crate) fn fan_out(&self) -> (PumpHandle, Destination) {
        let failures = Destination::memory();
        let pump = self.system.pump(failures.clone(), PumpFaults::default(), None).unwrap();
        let handle = pump.handle();
        tokio::spawn(pump.run());
        (handle, failures)
    }

    /// The same table, as functions see it so many seconds later.
    pub(crate) fn later(&self, seconds: u64) -> Self {
        let client = self.system.faults.client();
        let connection = Connection::new(client, "lately", Skew::by(seconds), OPERATION_BUDGET);
        let mut system = self.system.clone();
        system.store = Store::new(connection);
        let router = api(&system);
        Self { system, router }
    }

    /// The same table, as functions see it at the beginning of a minute, which is at least one minute later.
    pub(crate) fn at_a_new_minute(&self) -> Self {
        self.later(120 - clock::unix_now().as_secs() % 60)
    }

    /// The router of all routes.
    pub(crate) fn router(&self) -> Router {
        self.router.clone()
    }

    /// The same table behind another router.
    pub(crate) fn through(&self, router: Router) -> Self {
        Self { router, ..self.clone() }
    }

    /// The same table and tokens with these routes.
    pub(crate) fn serving(&self, routes: Routes) -> Self {
        let authorizer = Authorizer::new(self.system.store.clone(), Issuers::default());
        let authorizer = from_fn_with_state(authorizer, lately_authorize::authorize);
        self.through(edge::around(routes.into_router().route_layer(authorizer)))
    }

    /// The same API for a caller without a literal token. Any token that a request sends is ignored.
    pub(crate) fn of(&self, user: Option<&str>, scopes: &[Scope], topics: Option<&[&str]>) -> Self {
        let caller = Caller {
            session: "00000000-0000-4000-8000-0000000000ff".parse().ok(),
            user: user.map(|user| user.parse().unwrap()),
            scopes: scopes.iter().copied().collect(),
            topics: topics.map(|topics| topics.iter().map(|topic| topic.parse().unwrap()).collect()),
            expires_at: UnixMillis::MAX,
            issuer: None,
            limits: RateLimits::default(),
        };
        let identity = axum::Extension(Identity::Known(caller));
        self.through(edge::around(self.system.routes().into_router().layer(identity)))
    }

    /// Sends `"METHOD /target"` with a token and a body.
    pub(crate) async fn call(&self, token: &str, line: &str, body: impl Into<Body>) -> Answer {
        self.send(request(line).header("authorization", format!("Bearer {token}")), body).await
    }

    /// Sends a request, and checks the response against the document.
    pub(crate) async fn send(&self, request: Builder, body: impl Into<Body>) -> Answer {
        self.send_whole(request.body(body.into()).unwrap()).await
    }

    pub(crate) async fn send_whole(&self, request: Request) -> Answer {
        let (method, path) = (request.method().to_string(), request.uri().path().to_owned());
        let response = self.router.clone().oneshot(request).await.unwrap();
        let (parts, body) = response.into_parts();
        // A live stream does not end.
        let is_stream = parts.headers.get(CONTENT_TYPE).is_some_and(|kind| kind == "text/event-stream");
        let body = if is_stream { Body::empty() } else { body };
        let text = String::from_utf8(to_bytes(body, usize::MAX).await.unwrap().into()).unwrap();
        let answer = Answer { status: parts.status.as_u16(), headers: parts.headers, text };
        // A response to HEAD has no body to check.
        if method != "HEAD" {
            answer.is_documented(&method, &path);
        }
        answer
    }

    /// Every item of the table as text, sorted.
    pub(crate) async fn items(&self) -> Vec<String> {
        let client = self.system.engine.client();
        let (mut items, mut start) = (Vec::new(), None);
        loop {
            let scan = client.scan().table_name("lately").set_exclusive_start_key(start);
            let page = scan.consistent_read(true).send().await.unwrap();
            items.extend(page.items().iter().map(sorted));
            start = page.last_evaluated_key().cloned();
            if start.is_none() {
                items.sort();
                return items;
            }
        }
    }
}

/// An item as text, its attributes by name.
fn sorted<V: Debug>(item: &HashMap<String, V>) -> String {
    format!("{:?}", item.iter().collect::<BTreeMap<_, _>>())
}

/// `"METHOD /target"` as the beginning of a request.
pub(crate) fn request(line: &str) -> Builder {
    let (method, target) = line.split_once(' ').unwrap();
    Request::builder().method(method).uri(target)
}

/// The body for a call whose route may have none.
pub(crate) fn if_written(line: &str, body: &str) -> String {
    if line.starts_with("GET") || line.starts_with("DELETE") { String::new() } else { body.to_owned() }
}

/// The longest wait for something that takes milliseconds: only a failure takes this long.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// The time this many seconds ago; a negative number is in the future.
pub(crate) fn ago(seconds: i64) -> String {
    let now = i64::try_from(clock::unix_now().as_millis()).unwrap();
    UnixMillis::new(u64::try_from(now - seconds * 1000).unwrap()).unwrap().to_string()
}

/// An event of the actor ada.
pub(crate) fn event() -> Value {
    json!({"type": "post.created", "actor": "ada"})
}

/// An event of the actor ada, some seconds ago.
pub(crate) fn event_ago(seconds: i64) -> Value {
    json!({"type": "post.created", "actor": "ada", "at": ago(seconds), "data": seconds})
}

/// An issue as it was stored by the schema without revisions and priorities.
pub(crate) fn old_issue() -> Value {
    expected()["given"]["items"][0].clone()
}

/// Puts an item, in DynamoDB's JSON.
pub(crate) async fn put_item(api: &Api, item: Value) {
    let Value::Object(attributes) = item else { panic!("an item is an object") };
    let put = api.system.engine.client().put_item().table_name("lately");
    let put = attributes.iter().fold(put, |put, (name, value)| put.item(name, attribute(value)));
    put.send().await.unwrap();
}

fn attribute(value: &Value) -> AttributeValue {
    let (kind, value) = value.as_object().unwrap().iter().next().unwrap();
    let text = || value.as_str().unwrap().to_owned();
    match kind.as_str() {
        "S" => AttributeValue::S(text()),
        "N" => AttributeValue::N(text()),
        "L" => AttributeValue::L(value.as_array().unwrap().iter().map(attribute).collect()),
        _ => panic!("{kind}"),
    }
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {}", self.text))
    }

    /// The problem's code; empty for a 2xx.
    pub(crate) fn code(&self) -> String {
        if self.status < 300 { String::new() } else { self.json()["code"].as_str().unwrap().to_owned() }
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    /// Passes if the response is a problem with this status and code.
    #[track_caller]
    pub(crate) fn is(&self, status: u16, code: &str) -> &Self {
        assert_eq!((self.status, self.code().as_str()), (status, code), "{}", self.text);
        self
    }

    /// Passes if the response has this 2xx status.
    #[track_caller]
    pub(crate) fn is_ok(&self, status: u16) -> &Self {
        assert_eq!(self.status, status, "{}", self.text);
        self
    }

    /// The paths of all faults.
    pub(crate) fn faults(&self) -> Vec<String> {
        let json = self.json();
        let errors = json["errors"].as_array().unwrap();
        errors.iter().map(|fault| fault["path"].as_str().unwrap().to_owned()).collect()
    }

    fn is_documented(&self, method: &str, path: &str) {
        let call = format!("{method} {path}: {} {}", self.status, self.text.get(..300).unwrap_or(&self.text));
        if self.status >= 300 {
            self.is_a_problem(&call);
        }
        let Some(operation) = operation(method, path) else {
            let is_path = methods_of(path).is_some();
            let expected = if is_path { (405, "method-not-allowed") } else { (404, "route-not-found") };
            assert_eq!((self.status, self.code().as_str()), expected, "{call}");
            return;
        };
        let response = resolved(&operation["responses"][self.status.to_string()]);
        assert!(response.is_object(), "undocumented: {call}");
        match self.header("content-type") {
            Some(content_type) => {
                let content = &response["content"][content_type];
                assert!(content.is_object(), "undocumented type {content_type}: {call}");
                if self.status >= 300 {
                    let codes =
                        content["schema"]["allOf"][1]["properties"]["code"]["enum"].as_array().unwrap();
                    assert!(codes.contains(&self.code().into()), "undocumented code: {call}");
                }
            }
            None => assert!(self.text.is_empty() && response.get("content").is_none(), "no type: {call}"),
        }
        let documented = response["headers"].as_object();
        for (name, header) in documented.into_iter().flatten() {
            let required = resolved(header)["required"] == true;
            assert!(!required || self.headers.contains_key(name), "header {name} is missing: {call}");
        }
        // The document describes compression and the headers of limits once for all responses, and `vary` belongs to
        // compression.
        let of_every_response = ["content-type", "content-length", "vary", "ratelimit", "ratelimit-policy"];
        for name in self.headers.keys().filter(|name| !of_every_response.contains(&name.as_str())) {
            let is_known = |known: &String| known.eq_ignore_ascii_case(name.as_str());
            assert!(
                documented.is_some_and(|known| known.keys().any(is_known)),
                "undocumented {name}: {call}"
            );
        }
    }

    fn is_a_problem(&self, call: &str) {
        assert_eq!(self.header("content-type"), Some("application/problem+json"), "{call}");
        let problem = self.json();
        let code = Code::ALL.iter().find(|code| problem["code"] == code.as_str()).expect(call);
        assert_eq!(problem["type"], format!("urn:lately:problem:{}", code.as_str()), "{call}");
        assert_eq!(problem["title"], code.title(), "{call}");
        assert_eq!(
            (&problem["status"], code.status().as_u16()),
            (&json!(self.status), self.status),
            "{call}"
        );
        assert!(problem["detail"].is_string(), "{call}");
        assert!(problem["request_id"].is_string(), "{call}");
        for name in problem.as_object().unwrap().keys() {
            let known =
                ["type", "title", "status", "code", "detail", "errors", "accepted", "rejected", "request_id"];
            assert!(known.contains(&name.as_str()), "{call}");
        }
    }
}

/// The document's operation for a request.
fn operation(method: &str, path: &str) -> Option<&'static Value> {
    methods_of(path)?.get(method.to_lowercase())
}

/// The document's operations of a path.
fn methods_of(path: &str) -> Option<&'static Value> {
    let parts: Vec<_> = path.split('/').collect();
    let matches = |template: &str| {
        let template: Vec<_> = template.split('/').collect();
        template.len() == parts.len()
            // A parameter at the end of a path is not empty.
            && parts.last() != Some(&"")
            && template.iter().zip(&parts).all(|(template, part)| template.starts_with('{') || template == part)
    };
    let paths = OPENAPI["paths"].as_object().unwrap();
    paths.iter().find(|(template, _)| matches(template)).map(|(_, item)| item)
}

/// The target of a reference in the document.
pub(crate) fn resolved(value: &'static Value) -> &'static Value {
    match value["$ref"].as_str() {
        Some(reference) => OPENAPI.pointer(reference.trim_start_matches('#')).expect(reference),
        None => value,
    }
}
