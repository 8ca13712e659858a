//! The same request through the gateway and to the program: the same answer.
//!
//! The gateway decodes the path once, chooses a route, and sends the decoded path and the query as it came.

use axum::body::Body;
use axum::extract::Request;
use lately_kit::edge;
use lately_kit::lambda::HttpEvent;
use percent_encoding::percent_decode_str;
use serde_json::{Value, json};

use crate::support::{Answer, Api, event};

/// The answer of the functions to the event that the gateway would send for a target.
async fn behind_the_gateway(api: &Api, method: &str, target: &str) -> Answer {
    let functions = api.through(edge::around(api.system.routes().into_router()));
    let event: HttpEvent = serde_json::from_value(gateway_event(method, target, json!({}))).unwrap();
    functions.send_whole(event.into_request().unwrap()).await
}

fn gateway_event(method: &str, target: &str, headers: Value) -> Value {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let path = percent_decode_str(path).decode_utf8().unwrap();
    json!({
        "version": "2.0", "rawPath": path, "rawQueryString": query, "headers": headers,
        "requestContext": {
            "http": {"method": method, "path": path}, "stage": "$default",
            "authorizer": {"lambda": {
                "session": "00000000-0000-4000-8000-0000000000ff", "user": "ada", "scopes": "read write",
            }},
        },
        "isBase64Encoded": false,
    })
}

/// The program's answer to a target that is sent as it is.
async fn here(api: &Api, method: &str, target: &str) -> Answer {
    let request = Request::builder().method(method).uri(target).header("authorization", "Bearer ada");
    api.send_whole(request.body(Body::empty()).unwrap()).await
}

/// An answer without the request's id, which differs each time.
fn told(answer: &Answer) -> (u16, String) {
    let id = answer.text.split_once("\"request_id\":\"").and_then(|(_, id)| id.split('"').next());
    (answer.status, id.map_or_else(|| answer.text.clone(), |id| answer.text.replace(id, "")))
}

#[tokio::test]
async fn names_paths_and_queries_are_answered_as_by_the_program() {
    let api = Api::with_posts().await;
    api.call("ada", "POST /topics/posts/events", event().to_string()).await.is_ok(201);
    let parts = [
        "posts",
        "%70osts",
        "a%23b",
        "a%3Fb",
        "posts%3Flimit=1",
        "posts%23x",
        "a%25b",
        "%2570osts",
        "a%252Fb",
        "a%20b",
        "a+b",
        "%C3%A9t%C3%A9",
        "..",
        ".",
        "%2e%2e",
        "%00",
        "a%0Ab",
        "a%5Cb",
        "a;b",
        "a:b",
        "@",
        "%7B%7D",
        "|",
        "^",
    ];
    let queries = [
        "",
        "?",
        "?limit=1",
        "?limit=%31",
        "?limit=1&limit=2",
        "?limit",
        "?=",
        "?&&",
        "?a=b=c",
        "?limit=1%23x",
        "?a%20b=%2B+",
        "?type=%C3%A9",
        "?type=%ff",
        "?type=a/b?c",
        "?cursor=%",
        "?cursor=%zz",
        "?cursor=a%00",
        "?[]={}|^`",
    ];
    let mut targets: Vec<String> = Vec::new();
    for part in parts {
        targets.extend(["", "/", "/events", "//events"].map(|rest| format!("/topics/{part}{rest}")));
    }
    targets.extend(queries.map(|query| format!("/topics/posts/events{query}")));
    targets.extend(
        ["/", "//", "//topics/posts", "/topics//posts", "/topics/", "/topics/../health", "/./topics"]
            .map(str::to_owned),
    );
    for method in ["GET", "DELETE"] {
        for target in &targets {
            let answers = (behind_the_gateway(&api, method, target).await, here(&api, method, target).await);
            assert_eq!(told(&answers.0), told(&answers.1), "{method} {target}");
        }
    }
    assert_eq!(
        here(&api, "GET", "/topics/posts/events?limit=1").await.status,
        200,
        "and not all are refused"
    );
}

#[tokio::test]
async fn a_slash_in_a_name_is_no_name_anywhere() {
    let api = Api::with_posts().await;
    // The gateway decodes it before it chooses a route, and answers itself: the functions have no such route either.
    assert_eq!(behind_the_gateway(&api, "GET", "/topics/a%2Fb").await.code(), "route-not-found");
    assert_eq!(here(&api, "GET", "/topics/a%2Fb").await.code(), "invalid-name");
}
