//! Requests from the edge to a handler: panics, callers, caps, and the payloads of `events/`.

use std::fs;
use std::path::Path;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::http::StatusCode;
use axum::routing::get;
use lately_keys::UnixMillis;
use lately_model::RateLimits;
use lately_model::limits::BODY_BYTES;
use serde_json::{Value, json};
use tower::ServiceExt;

use crate::answer::Json;
use crate::body::Whole;
use crate::caller::{Caller, Identity};
use crate::edge;
use crate::lambda::HttpEvent;
use crate::route::Routes;
use crate::routes;

const SESSION: &str = "00000000-0000-4000-8000-000000000000";

fn caller(user: Option<&str>, scopes: &str) -> Caller {
    Caller {
        session: SESSION.parse().ok(),
        user: user.map(|user| user.parse().unwrap()),
        scopes: scopes.parse().unwrap(),
        topics: None,
        expires_at: UnixMillis::MAX,
        issuer: None,
        limits: RateLimits::default(),
    }
}

#[tokio::test]
async fn a_panic_fails_one_request_and_reveals_nothing() {
    async fn broken() -> StatusCode {
        panic!("a secret")
    }
    let router = edge::around(Router::new().route("/broken", get(broken)));
    let response = router.oneshot(Request::get("/broken").body(Body::empty()).unwrap()).await.unwrap();
    assert_eq!(
        (response.status(), &response.headers()["content-type"]),
        (StatusCode::SERVICE_UNAVAILABLE, &"application/problem+json".parse().unwrap())
    );
    let body = to_bytes(response.into_body(), usize::MAX).await.unwrap();
    let body = std::str::from_utf8(&body).unwrap();
    assert!(body.contains(r#""code":"unavailable""#) && !body.contains("secret"), "{body}");
}

/// The identity that an authorizer's answer leads to.
fn identity_of(authorizer: Value) -> Identity {
    let event = json!({
        "rawPath": "/health", "requestContext": {"http": {"method": "GET"}, "authorizer": authorizer},
        "headers": {"authorization": "Bearer dev"},
    });
    let request = serde_json::from_value::<HttpEvent>(event).unwrap().into_request().unwrap();
    request.extensions().get::<Identity>().unwrap().clone()
}

#[test]
fn a_function_trusts_only_the_authorizers_context() {
    let ada =
        json!({"session": SESSION, "user": "ada", "scopes": "read write", "expires_at": UnixMillis::MAX});
    assert_eq!(identity_of(json!({"lambda": ada})), Identity::Known(caller(Some("ada"), "read write")));
    // The gateway sends no fields where a route has no authorizer.
    let without = ["null", "{}", r#"{"lambda": null}"#, r#"{"lambda": {}}"#];
    for none in without.map(|text| serde_json::from_str(text).unwrap()) {
        assert_eq!(identity_of(none), Identity::Missing);
    }
    for broken in [
        json!({"user": "ada", "expires_at": UnixMillis::MAX}),
        json!({"session": SESSION, "scopes": "read"}),
        json!({"session": SESSION, "scopes": "root", "expires_at": UnixMillis::MAX}),
        json!({"session": SESSION, "scopes": "read", "topics": "", "expires_at": UnixMillis::MAX}),
        json!({"session": SESSION, "scopes": ["read"], "expires_at": UnixMillis::MAX}),
    ] {
        assert_eq!(identity_of(json!({"lambda": broken})), Identity::Refused);
    }
}

#[tokio::test]
async fn a_lower_cap_on_bodies_applies() {
    let post = |bytes: usize| {
        let body = Body::from(vec![b' '; bytes]);
        Request::post("/sessions").extension(Identity::Known(caller(None, "admin"))).body(body).unwrap()
    };
    async fn length(Whole(body): Whole) -> Json<usize> {
        Json(body.len())
    }
    let routes: Routes =
        routes! { "Sessions" POST "/sessions" Unlimited(Admin) Write length {} }.with_bodies_of(10);
    let router = edge::around(routes.into_router());
    for (bytes, status) in [(10, 200), (11, 413)] {
        assert_eq!(router.clone().oneshot(post(bytes)).await.unwrap().status(), status);
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
