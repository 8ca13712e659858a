//! Requests from the edge to a handler and back, both as the gateway sends them and as they come elsewhere.

use std::fs;
use std::path::Path;

use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::Request;
use axum::http::{Method, StatusCode};
use axum::response::Response;
use axum::routing::{get, post};
use lately_keys::{EventId, Topic};
use lately_model::RateLimits;
use lately_model::limits::BODY_BYTES;
use serde_json::Value;
use tower::ServiceExt;

use crate::body::Whole;
use crate::caller::{Caller, Identity};
use crate::idempotency::Idempotency;
use crate::lambda::HttpEvent;
use crate::path::Part;
use crate::route::Routes;
use crate::{answer, edge};

const SESSION: &str = "00000000-0000-4000-8000-000000000000";
const ID: &str = "0190868b-57e7-7000-80c0-0dd011ec70b5";

fn router() -> Router {
    async fn topic(_: Caller, Part(topic): Part<Topic>) -> Response {
        answer::json(StatusCode::OK, &topic)
    }
    async fn event(Part(topic): Part<Topic>, Part(id): Part<EventId>) -> Response {
        answer::json(StatusCode::OK, &(topic, id))
    }
    async fn length(Idempotency(key): Idempotency, Whole(body): Whole) -> Response {
        answer::json(StatusCode::OK, &(key.map(|key| key.to_string()), body.len()))
    }
    async fn broken() -> StatusCode {
        panic!("a secret")
    }
    let routes = Router::new()
        .route("/topics/{topic}", get(topic))
        .route("/topics/{topic}/events/{id}", get(event))
        .route("/length", post(length))
        .route("/broken", get(broken));
    edge::around(routes)
}

/// The response's status, and its body, which is always JSON.
async fn send(request: Request) -> (u16, Value) {
    let response = router().oneshot(request).await.unwrap();
    let (parts, body) = response.into_parts();
    let body = to_bytes(body, usize::MAX).await.unwrap();
    let value: Value = serde_json::from_slice(&body).unwrap();
    let kind = if parts.status.is_success() { "application/json" } else { "application/problem+json" };
    assert_eq!(parts.headers["content-type"], kind);
    assert_eq!(parts.status == 401, parts.headers.contains_key("www-authenticate"));
    (parts.status.as_u16(), value)
}

/// The identity of a user's token.
fn known(user: &str) -> Identity {
    let session = SESSION.parse().ok();
    let scopes = "read write".parse().unwrap();
    let user = user.parse().ok();
    Identity::Known(Caller {
        session,
        user,
        scopes,
        topics: None,
        expires_at: None,
        issuer: None,
        limits: RateLimits::default(),
    })
}

async fn get_as(user: &str, target: &str) -> (u16, Value) {
    send(Request::get(target).extension(known(user)).body(Body::empty()).unwrap()).await
}

/// The status and the code of a problem.
async fn problem(request: Request) -> (u16, String) {
    let (status, body) = send(request).await;
    assert_eq!(body["status"], status);
    (status, body["code"].as_str().unwrap().to_owned())
}

fn refused(status: u16, code: &str) -> (u16, String) {
    (status, code.to_owned())
}

fn bare(method: Method, target: &str) -> Request {
    Request::builder().method(method).uri(target).body(Body::empty()).unwrap()
}

#[tokio::test]
async fn a_handler_with_a_caller_does_not_run_without_one() {
    assert_eq!(get_as("ada", "/topics/posts").await, (200, "posts".into()));
    assert_eq!(problem(bare(Method::GET, "/topics/posts")).await, refused(401, "missing-token"));
    let unknown = Request::get("/topics/posts").extension(Identity::Refused).body(Body::empty());
    assert_eq!(problem(unknown.unwrap()).await, refused(403, "invalid-token"));
    let open = format!("/topics/posts/events/{ID}");
    assert_eq!(send(bare(Method::GET, &open)).await.0, 200);
}

#[tokio::test]
async fn an_unknown_route_is_not_found() {
    for (method, target) in [(Method::GET, "/"), (Method::GET, "/topics"), (Method::GET, "/topics/a/b")] {
        assert_eq!(problem(bare(method, target)).await, refused(404, "route-not-found"), "{target}");
    }
    for (method, target) in [(Method::DELETE, "/topics/posts"), (Method::GET, "/length")] {
        assert_eq!(problem(bare(method, target)).await, refused(405, "method-not-allowed"), "{target}");
    }
}

#[tokio::test]
async fn a_part_of_a_path_is_decoded_once_and_parsed() {
    assert_eq!(get_as("ada", "/topics/%70osts").await, (200, "posts".into()));
    for part in
        ["a%2Fb", "%2570osts", "a%00b", "%ff", "a%20b", "..%2f", "..", "a+b", "%zz", "%", "a%23", "%C3%A9"]
    {
        let (status, body) = get_as("ada", &format!("/topics/{part}")).await;
        assert_eq!((status, body["code"].as_str()), (400, Some("invalid-name")), "{part}");
    }
    for id in ["42", "%ff", "0190868b-57e7-4000-80c0-0dd011ec70b5", "0190868b57e7700080c00dd011ec70b5"] {
        let request = bare(Method::GET, &format!("/topics/posts/events/{id}"));
        assert_eq!(problem(request).await, refused(400, "invalid-id"), "{id}");
    }
    let request = bare(Method::GET, "/topics/a%2Fb/events/42");
    assert_eq!(problem(request).await, refused(400, "invalid-name"));
}

#[tokio::test]
async fn a_panic_fails_one_request_and_reveals_nothing() {
    let (status, body) = send(bare(Method::GET, "/broken")).await;
    assert_eq!((status, body["code"].as_str()), (503, Some("unavailable")));
    assert!(!body.to_string().contains("secret"));
}

/// A body that arrives in pieces, without an announced length.
fn pieces(count: usize, bytes: usize) -> Body {
    struct Pieces(usize, Bytes);
    impl axum::body::HttpBody for Pieces {
        type Data = Bytes;
        type Error = std::convert::Infallible;

        fn poll_frame(
            mut self: std::pin::Pin<&mut Self>,
            _: &mut std::task::Context<'_>,
        ) -> std::task::Poll<Option<Result<http_body::Frame<Bytes>, Self::Error>>> {
            let Some(left) = self.0.checked_sub(1) else { return std::task::Poll::Ready(None) };
            self.0 = left;
            std::task::Poll::Ready(Some(Ok(http_body::Frame::data(self.1.clone()))))
        }
    }
    Body::new(Pieces(count, Bytes::from(vec![b' '; bytes])))
}

#[tokio::test]
async fn a_body_is_read_only_up_to_its_cap() {
    let post = |body| Request::post("/length").body(body).unwrap();
    let fits = BODY_BYTES / 1024;
    assert_eq!(send(post(pieces(fits, 1024))).await, (200, serde_json::json!([null, BODY_BYTES])));
    assert_eq!(problem(post(pieces(fits + 1, 1024))).await, refused(413, "too-large"));
    // This body is endless, so the test ends only if reading stops.
    assert_eq!(problem(post(pieces(usize::MAX, 1024))).await, refused(413, "too-large"));
    assert_eq!(problem(post(Body::from(vec![0; BODY_BYTES + 1]))).await, refused(413, "too-large"));
}

#[tokio::test]
async fn repeated_idempotency_keys_are_joined_as_by_the_gateway() {
    let post = |keys: &[&[u8]]| {
        let request = keys
            .iter()
            .fold(Request::post("/length"), |request, key| request.header("Idempotency-Key", *key));
        request.body(Body::empty()).unwrap()
    };
    assert_eq!(send(post(&[b"order 66"])).await, (200, serde_json::json!(["order 66", 0])));
    assert_eq!(send(post(&[])).await, (200, serde_json::json!([null, 0])));
    assert_eq!(send(post(&[b"a", b"b"])).await, send(post(&[b"a,b"])).await);
    for keys in [
        &[&b""[..]][..],
        &[b"a", b"\xff"],
        &[&[b'x'; 64], &[b'x'; 64]],
        &[b"caf\xc3\xa9"],
        &[b"a\tb"],
        &[&[b'x'; 129]],
    ] {
        assert_eq!(problem(post(keys)).await, refused(400, "invalid-idempotency-key"), "{keys:?}");
    }
}

/// An event as the gateway sends it, with a decoded path.
fn from_gateway(path: &str, query: &str) -> Request {
    let event = serde_json::json!({
        "version": "2.0", "routeKey": "GET /topics/{topic}", "rawPath": path, "rawQueryString": query,
        "headers": {"authorization": "Bearer ada", "host": "api.example.org"},
        "requestContext": {
            "http": {"method": "GET", "path": path, "protocol": "HTTP/1.1", "sourceIp": "203.0.113.7"},
            "authorizer": {"lambda": {"session": SESSION, "user": "ada", "scopes": "read write"}},
            "stage": "$default", "timeEpoch": 0,
        },
        "isBase64Encoded": false,
    });
    serde_json::from_value::<HttpEvent>(event).unwrap().into_request().unwrap()
}

#[tokio::test]
async fn a_path_from_the_gateway_is_not_decoded_twice() {
    assert_eq!(send(from_gateway("/topics/posts", "limit=1")).await, (200, "posts".into()));
    assert_eq!(from_gateway("/topics/posts", "a=%20b&c=d").uri(), "/topics/posts?a=%20b&c=d");
    for path in [
        "/topics/%70osts",
        "/topics/posts#x",
        "/topics/posts?x",
        "/topics/é b",
        "/topics/..",
        "/topics/a\u{0}",
    ] {
        for query in ["", "limit=1"] {
            let request = from_gateway(path, query);
            assert_eq!(request.uri().query().unwrap_or_default(), query, "{path}");
            assert_eq!(problem(request).await, refused(400, "invalid-name"), "{path}");
        }
    }
    assert_eq!(problem(from_gateway("/topics/a/b", "")).await, refused(404, "route-not-found"));
}

/// The identity that an authorizer's answer leads to.
fn told(authorizer: Value) -> Identity {
    let event = serde_json::json!({
        "rawPath": "/health", "requestContext": {"http": {"method": "GET"}, "authorizer": authorizer},
        "headers": {"authorization": "Bearer dev"},
    });
    let request = serde_json::from_value::<HttpEvent>(event).unwrap().into_request().unwrap();
    request.extensions().get::<Identity>().unwrap().clone()
}

#[test]
fn a_function_trusts_only_the_authorizers_context() {
    let ada = serde_json::json!({"session": SESSION, "user": "ada", "scopes": "read write"});
    assert_eq!(told(serde_json::json!({"lambda": ada})), known("ada"));
    // The gateway sends no fields where a route has no authorizer.
    let without = ["null", "{}", r#"{"lambda": null}"#, r#"{"lambda": {}}"#];
    for none in without.map(|text| serde_json::from_str(text).unwrap()) {
        assert_eq!(told(none), Identity::Missing);
    }
    for broken in [
        serde_json::json!({"user": "ada"}),
        serde_json::json!({"session": SESSION, "scopes": "root"}),
        serde_json::json!({"session": SESSION, "scopes": "read", "topics": ""}),
        serde_json::json!({"session": SESSION, "scopes": ["read"]}),
    ] {
        assert_eq!(told(serde_json::json!({"lambda": broken})), Identity::Refused);
    }
}

#[tokio::test]
async fn a_lower_cap_on_bodies_applies() {
    let post = |bytes: usize| {
        let body = Body::from(vec![b' '; bytes]);
        Request::post("/sessions").extension(Identity::Known(admin())).body(body).unwrap()
    };
    async fn length(Whole(body): Whole) -> Response {
        answer::json(StatusCode::OK, &body.len())
    }
    let routes = Routes::new().on(Method::POST, "/sessions", length).with_bodies_of(10);
    let router = edge::around(routes.into_router());
    for (bytes, status) in [(10, 200), (11, 413)] {
        assert_eq!(router.clone().oneshot(post(bytes)).await.unwrap().status(), status);
    }
}

fn admin() -> Caller {
    Caller {
        session: SESSION.parse().ok(),
        user: None,
        scopes: "admin".parse().unwrap(),
        topics: None,
        expires_at: None,
        issuer: None,
        limits: RateLimits::default(),
    }
}

#[tokio::test]
async fn every_payload_of_events_becomes_a_request() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../events");
    let mut count = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let text = fs::read_to_string(entry.unwrap().path()).unwrap();
        let event: Value = serde_json::from_str(&text).unwrap();
        // Events of the stream, of the schedule and for the authorizer are not requests.
        if event.get("rawPath").is_none() || event["type"] == "REQUEST" {
            continue;
        }
        let request = serde_json::from_str::<HttpEvent>(&text).unwrap().into_request().unwrap();
        let (method, path) = (&event["requestContext"]["http"]["method"], event["rawPath"].as_str().unwrap());
        assert_eq!(method, request.method().as_str());
        assert_eq!(percent_encoding::percent_decode_str(request.uri().path()).decode_utf8().unwrap(), path);
        let announced = request.headers().get("content-length").cloned();
        let body = to_bytes(request.into_body(), BODY_BYTES).await.unwrap();
        let announced = announced.map_or(0, |length| length.to_str().unwrap().parse().unwrap());
        assert_eq!(body.len(), announced, "{path}");
        count += 1;
    }
    assert!(count > 20, "the payloads are there");
}
