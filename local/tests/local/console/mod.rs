//! The console's own routes and files. They show the inside of the program, and inject faults.

mod faults;
mod files;
mod looking;

use std::collections::HashMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;
use lately::serve::console::ConsoleParts;
use lately::serve::issuer::LocalIssuer;
use lately_pump::{Destination, PumpHandle};
use serde_json::{Value, json};
use tempfile::TempDir;
use tower::ServiceExt;

use crate::support::{Answer, Api, PATIENCE, request};

/// A running program with its console.
struct Running {
    api: Api,
    router: Router,
    pump: PumpHandle,
    failures: Destination,
    reports: PathBuf,
    /// The folder of the reports. It is removed at the end.
    _folder: TempDir,
}

impl Running {
    /// Starts a program with the topic `posts` and a running fan-out.
    async fn new() -> Self {
        let api = Api::with_posts().await.later(0);
        let (pump, failures) = api.fan_out();
        let folder = tempfile::tempdir().unwrap();
        let reports = folder.path().join("reports");
        let console = ConsoleParts {
            system: api.system.clone(),
            issuer: LocalIssuer::new(([127, 0, 0, 1], 3000).into()).unwrap(),
            pump: pump.clone(),
            failures: failures.clone(),
            reports: reports.clone(),
            report_every: Some(Duration::from_secs(60)),
            pumps: vec![("fan-out", pump.clone())],
            data: None,
        };
        Self { api, router: console.router(), pump, failures, reports, _folder: folder }
    }

    /// Sends `"METHOD /target"`.
    async fn send(&self, token: Option<&str>, line: &str, body: &str) -> Answer {
        let authorization = token.map(|token| format!("Bearer {token}"));
        let request = authorization.iter().fold(request(line), |it, token| it.header(AUTHORIZATION, token));
        let request = request.body(Body::from(body.to_owned())).unwrap();
        let (parts, body) = self.router.clone().oneshot(request).await.unwrap().into_parts();
        let bytes = to_bytes(body, usize::MAX).await.unwrap();
        let text = String::from_utf8(bytes.into()).unwrap();
        Answer { status: parts.status.as_u16(), headers: parts.headers, text }
    }

    /// Sends a request as the admin.
    async fn call(&self, line: &str, body: &Value) -> Answer {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        self.send(Some("dev"), line, &body).await
    }

    async fn get(&self, target: &str) -> Value {
        self.call(&format!("GET {target}"), &Value::Null).await.is_ok(200).json()
    }

    /// Posts an event as ada. The result is its id.
    async fn post(&self, event: &Value) -> String {
        let posted = self.api.call("ada", "POST /topics/posts/events", event.to_string()).await;
        posted.is_ok(201).json()["id"].as_str().unwrap().to_owned()
    }

    async fn follow(&self, user: &str, source: &str) {
        self.api.call(user, &format!("PUT /users/{user}/following/{source}"), "").await.is_ok(201);
        self.pump.settled().await;
    }

    /// The ids of a page's events.
    async fn ids(&self, target: &str) -> Vec<String> {
        let page = self.api.call("dev", &format!("GET {target}"), "").await.is_ok(200).json();
        let events = page["events"].as_array().unwrap().iter();
        events.map(|event| event["id"].as_str().unwrap().to_owned()).collect()
    }

    /// Reads a target until its JSON satisfies `ok`.
    async fn until(&self, target: &str, ok: impl Fn(&Value) -> bool) -> Value {
        let started = Instant::now();
        loop {
            let json = self.get(target).await;
            if ok(&json) {
                return json;
            }
            assert!(started.elapsed() < PATIENCE, "{json}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

fn header<'a>(headers: &'a HeaderMap, name: &str) -> &'a str {
    headers.get(name).unwrap_or_else(|| panic!("no {name}")).to_str().unwrap()
}

/// The routes for admins beside the API.
const LOCAL: [&str; 13] = [
    "GET /local/state",
    "GET /local/storage/topics/posts",
    "GET /local/storage/events/posts/019a9fb1-7d40-7000-8000-5f3c9e1d2a77",
    "POST /local/trace",
    "GET /local/faults",
    "PUT /local/faults",
    "DELETE /local/faults",
    "GET /local/failures",
    "POST /local/failures/a/redrive",
    "GET /local/consumers",
    "GET /local/reports/a",
    "GET /metrics",
    "POST /local/issuer/tokens",
];

#[tokio::test]
async fn local_routes_are_for_admins_and_others_do_not_exist() {
    let running = Running::new().await;
    for line in LOCAL {
        running.send(None, line, "").await.is(401, "missing-token");
        running.send(Some("nobody"), line, "").await.is(403, "invalid-token");
        running.send(Some("ada"), line, "").await.is(403, "forbidden");
    }
    let limited = json!({"scopes": ["admin"], "topics": ["posts"], "ttl_seconds": 60});
    let limited = running.call("POST /sessions", &limited).await.is_ok(201).json();
    running.send(limited["token"].as_str(), "GET /local/state", "").await.is(403, "forbidden");
    for line in ["GET /nothing", "GET /local", "GET /local/nothing", "GET /console"] {
        running.send(Some("dev"), line, "").await.is(404, "route-not-found");
    }
    for (line, allowed) in
        [("POST /", "GET,HEAD"), ("PUT /local/state", "GET,HEAD"), ("GET /local/trace", "POST")]
    {
        let answer = running.send(Some("dev"), line, "").await;
        assert_eq!(answer.is(405, "method-not-allowed").header("allow"), Some(allowed), "{line}");
    }
    // The API's own routes are unchanged.
    let posts = running.get("/topics/posts").await;
    assert_eq!(posts["topic"], "posts");
    assert_eq!(running.api.call("dev", "GET /local/state", "").await.code(), "route-not-found");
}

#[tokio::test]
async fn local_routes_refuse_what_they_do_not_read() {
    let running = Running::new().await;
    for line in LOCAL {
        let separator = if line.contains('?') { '&' } else { '?' };
        let answer = running.send(Some("dev"), &format!("{line}{separator}bogus=1"), "").await;
        assert!(answer.is(400, "invalid-query").faults().contains(&"/bogus".to_owned()), "{line}");
        let reads_a_body = ["PUT /local/faults", "POST /local/trace", "POST /local/issuer/tokens"];
        if !reads_a_body.contains(&line) {
            running.send(Some("dev"), line, "{}").await.is(422, "invalid-body");
        }
    }
}

#[tokio::test]
async fn the_state_has_the_counts_of_the_stream() {
    let running = Running::new().await;
    // The first event of a bucket also puts the bucket into the directory.
    running.post(&json!({"type": "post.created", "actor": "ada"})).await;
    running.pump.settled().await;
    let before = running.get("/local/state").await;
    assert_eq!(before["report"], json!({"topic": "billing", "consumer": "report", "every_seconds": 60}));
    assert_eq!((&before["failures"], before["stream"].as_array().unwrap().len()), (&json!(0), 4));
    assert_eq!(before["faults"], running.get("/local/faults").await);
    running.post(&json!({"type": "post.created", "actor": "ada"})).await;
    running.pump.settled().await;
    let after = running.get("/local/state").await;
    let sum = |state: &Value, name: &str| -> u64 {
        state["stream"].as_array().unwrap().iter().map(|shard| shard[name].as_u64().unwrap()).sum()
    };
    assert_eq!(sum(&after, "delivered"), sum(&before, "delivered") + 1);
    assert!(after["records"].as_u64() > before["records"].as_u64());
    assert!(after["stream"].as_array().unwrap().iter().all(|shard| shard["lag_seconds"] == 0.0));
    assert_eq!(after["stream"][3]["shard"], 3);
}

#[tokio::test]
async fn the_metrics_are_those_of_a_deployed_stack() {
    let running = Running::new().await;
    running.follow("bob", "actor:ada").await;
    running.post(&json!({"type": "a", "actor": "ada"})).await;
    running.pump.settled().await;
    let read = async || {
        let answer = running.call("GET /metrics", &Value::Null).await;
        assert_eq!(answer.is_ok(200).header("content-type"), Some("text/plain; version=0.0.4"));
        let figures = answer.text.lines().filter(|line| !line.starts_with('#'));
        let figures = figures.map(|line| line.rsplit_once(' ').unwrap());
        figures
            .map(|(name, value)| (name.to_owned(), value.parse::<f64>().unwrap()))
            .collect::<HashMap<_, _>>()
    };
    let before = read().await;
    for (name, least) in [
        ("lately_deliveries_total", 1.0),
        ("lately_records_total", 2.0),
        ("lately_write_units_total", 2.0),
        ("lately_fan_out_lag_seconds_count", 1.0),
        ("lately_healthy", 1.0),
    ] {
        assert!(before[name] >= least, "{name}: {}", before[name]);
    }
    assert_eq!(before["lately_throttles_total"], 0.0);
    assert_eq!(before["lately_iterator_age_seconds{function=\"fan-out\"}"], 0.0);
    running.call("GET /topics/posts/events", &Value::Null).await.is_ok(200);
    running.call("HEAD /topics/posts/events", &Value::Null).await.is_ok(200);
    running.call("GET /topics/none", &Value::Null).await.is(404, "topic-not-found");
    let after = read().await;
    let latency = |outcome: &str, route: &str| {
        after[&format!("lately_latency_seconds_count{{outcome=\"{outcome}\",route=\"{route}\"}}")]
    };
    assert_eq!(latency("ok", "GET /topics/{topic}/events"), 2.0);
    assert_eq!(latency("refused", "GET /topics/{topic}"), 1.0);
    assert!(after["lately_dynamo_db_calls_total"] > before["lately_dynamo_db_calls_total"]);
}
