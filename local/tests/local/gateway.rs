//! A request gets the same response behind the gateway as from the local program.
//!
//! The gateway decodes the path once and chooses a route. It sends the function the decoded path and the raw query.

use std::io::Read;

use axum::body::Body;
use axum::extract::Request;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::read::GzDecoder;
use lambda_runtime::{Context, LambdaEvent};
use lately_keys::UnixMillis;
use lately_kit::edge;
use lately_kit::lambda::{HttpEvent, service};
use lately_kit::limits::ANSWER_BYTES;
use lately_model::limits::EVENT_BYTES;
use lately_store::limits::PAGE_BYTES;
use percent_encoding::percent_decode_str;
use serde_json::{Value, json};
use tower::{Service, ServiceExt};

use crate::support::{Answer, Api, event};

/// The functions' response to the event that the gateway would send for a target.
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
                "expires_at": UnixMillis::MAX,
            }},
        },
        "isBase64Encoded": false,
    })
}

/// The local program's response to a target.
async fn here(api: &Api, method: &str, target: &str) -> Answer {
    let request = Request::builder().method(method).uri(target).header("authorization", "Bearer ada");
    api.send_whole(request.body(Body::empty()).unwrap()).await
}

/// A response without the parts that differ each time: the request's id and the cursor `newer`.
fn comparable(answer: &Answer) -> (u16, Value) {
    let mut body = without_newer(&answer.text);
    if let Some(problem) = body.as_object_mut() {
        problem.remove("request_id");
    }
    (answer.status, body)
}

/// A page without the cursor `newer`, which begins two seconds before the page was read.
fn without_newer(page: &str) -> Value {
    let mut page = serde_json::from_str(page).unwrap_or(Value::Null);
    if let Some(page) = page.as_object_mut() {
        page.remove("newer");
    }
    page
}

#[tokio::test]
async fn names_paths_and_queries_get_the_same_response() {
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
            assert_eq!(comparable(&answers.0), comparable(&answers.1), "{method} {target}");
        }
    }
    assert_eq!(here(&api, "GET", "/topics/posts/events?limit=1").await.status, 200, "some are accepted");
}

#[tokio::test]
async fn a_slash_in_a_name_is_refused_in_both() {
    let api = Api::with_posts().await;
    // The gateway decodes the slash before it chooses a route, finds none and responds itself. The functions have no
    // such route either.
    assert_eq!(behind_the_gateway(&api, "GET", "/topics/a%2Fb").await.code(), "route-not-found");
    assert_eq!(here(&api, "GET", "/topics/a%2Fb").await.code(), "invalid-name");
}

/// A function's whole response to a GET of a target, as Lambda passes it to the gateway.
async fn handed_over(api: &Api, target: &str, headers: Value) -> Value {
    let event = gateway_event("GET", target, headers);
    let routes = api.system.routes().into_router();
    let mut function = service(edge::around(routes));
    let event = LambdaEvent::new(serde_json::from_value(event).unwrap(), Context::default());
    serde_json::to_value(function.ready().await.unwrap().call(event).await.unwrap()).unwrap()
}

#[tokio::test]
async fn the_largest_page_fits_lambdas_response_limit() {
    let api = Api::with_posts().await;
    // Each backslash is two bytes in the event's JSON, and four in Lambda's response.
    let mut large = event();
    large["data"] = Value::from("\\".repeat(EVENT_BYTES / 2 - 200));
    for _ in 0..10 {
        api.call("ada", "POST /topics/posts/events", large.to_string()).await.is_ok(201);
    }
    let target = "/topics/posts/events?limit=200";
    let plain = handed_over(&api, target, json!({})).await;
    let body = plain["body"].as_str().unwrap();
    assert_eq!((&plain["statusCode"], &plain["isBase64Encoded"]), (&json!(200), &json!(false)));
    assert!(body.len() > PAGE_BYTES * 9 / 10, "{} bytes", body.len());
    let sent = plain.to_string().len();
    assert!(sent > body.len() * 19 / 10 && sent <= ANSWER_BYTES, "{sent} bytes");

    let packed = handed_over(&api, target, json!({"accept-encoding": "gzip, br"})).await;
    assert_eq!(packed["isBase64Encoded"], true);
    assert_eq!(
        (&packed["headers"]["content-encoding"], &packed["headers"]["vary"]),
        (&json!("gzip"), &json!("accept-encoding"))
    );
    let unpacked = unpacked(&STANDARD.decode(packed["body"].as_str().unwrap()).unwrap());
    assert_eq!(without_newer(&unpacked), without_newer(body));
    assert!(packed.to_string().len() < ANSWER_BYTES / 100);
}

#[tokio::test]
async fn large_responses_are_compressed_if_gzip_is_accepted() {
    let api = Api::with_posts().await;
    let encoding = async |target, accepted: &str| {
        let answer = handed_over(&api, target, json!({"accept-encoding": accepted})).await;
        answer["headers"]["content-encoding"].as_str().map(str::to_owned)
    };
    assert_eq!(encoding("/openapi.json", "gzip").await.as_deref(), Some("gzip"));
    for accepted in ["", "identity", "br", "gzip;q=0"] {
        assert_eq!(encoding("/openapi.json", accepted).await, None, "{accepted}");
    }
    assert_eq!(encoding("/health", "gzip").await, None);
}

fn unpacked(gzip: &[u8]) -> String {
    let mut text = String::new();
    GzDecoder::new(gzip).read_to_string(&mut text).unwrap();
    text
}
