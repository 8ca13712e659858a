//! Callers with limits: their 429s, their headers, and their price.

use lately_keys::UnixMillis;
use lately_kit::caller::{Caller, Identity};
use lately_kit::edge;
use lately_model::{RateLimits, Scope};
use serde_json::{Value, json};

use crate::support::{Answer, Api, event};

const POST: &str = "POST /topics/posts/events";
const GET: &str = "GET /topics/posts/events";

/// The token of a new session of ada with these limits.
async fn session(api: &Api, limits: Value) -> String {
    let mut body = json!({"user": "ada", "scopes": ["read", "write"], "ttl_seconds": 60});
    body.as_object_mut().unwrap().extend(limits.as_object().unwrap().clone());
    let made = api.call("dev", "POST /sessions", body.to_string()).await.is_ok(201).json();
    made["token"].as_str().unwrap().to_owned()
}

fn headers(answer: &Answer) -> [Option<&str>; 3] {
    ["ratelimit-policy", "ratelimit", "retry-after"].map(|name| answer.header(name))
}

/// Asserts that an answer is a 429 for a limit, and says when to try again.
#[track_caller]
fn assert_limited(answer: &Answer, policy: &str) {
    answer.is(429, "rate-limited");
    let [policy_header, rest, retry] = headers(answer);
    let seconds: u32 = retry.unwrap().parse().unwrap();
    assert!((1..=60).contains(&seconds), "{seconds}");
    let kind = policy.split(';').next().unwrap();
    assert_eq!((policy_header, rest), (Some(policy), Some(&*format!("{kind};r=0;t={seconds}"))));
}

#[tokio::test]
async fn a_session_over_its_limit_is_refused_until_a_stated_time() {
    let api = Api::with_posts().await.at_a_new_minute();
    let token = session(&api, json!({"writes_per_minute": 2, "reads_per_minute": 3})).await;
    let post = async || api.call(&token, POST, event().to_string()).await;
    for remaining in ["1", "0"] {
        let posted = post().await;
        let rest = format!("\"writes\";r={remaining}");
        assert_eq!(headers(posted.is_ok(201)), [Some("\"writes\";q=2;w=60"), Some(&*rest), None]);
    }
    let before = api.items().await;
    assert_limited(&post().await, "\"writes\";q=2;w=60");
    assert_limited(&api.call(&token, "PUT /users/ada/profile", "{}").await, "\"writes\";q=2;w=60");
    assert_eq!(api.items().await, before);

    // Reads have a limit of their own, which polls, heads and one's own session count for.
    for target in [GET, "HEAD /topics/posts/events", "GET /sessions/self"] {
        let read = api.call(&token, target, "").await;
        assert_eq!(read.status, 200);
        assert_eq!(read.header("ratelimit-policy"), Some("\"reads\";q=3;w=60"));
    }
    assert_limited(&api.call(&token, GET, "").await, "\"reads\";q=3;w=60");
    // Another session of the user has limits of its own.
    let other = session(&api, json!({"writes_per_minute": 2})).await;
    api.call(&other, POST, event().to_string()).await.is_ok(201);
    assert_eq!(headers(&api.call(&other, GET, "").await), [None; 3], "reads are not limited");
}

/// The read units that a response has cost.
fn read_units(answer: &Answer) -> f64 {
    let cost = answer.header("lately-cost").unwrap();
    cost.strip_prefix("read_units=").unwrap().split(',').next().unwrap().parse().unwrap()
}

#[tokio::test]
async fn a_read_counts_once_for_each_sixteen_units_that_it_used() {
    let api = Api::with_posts().await.at_a_new_minute();
    let token = session(&api, json!({"reads_per_minute": 60})).await;
    let large = json!({"type": "a", "actor": "ada", "data": "x".repeat(2_000)});
    let batch = Value::from(vec![large; 400]).to_string();
    api.call("dev", POST, batch).await.is_ok(201);
    let mut units = Vec::new();
    let mut rest = 60;
    loop {
        let page = api.call(&token, "GET /topics/posts/events?limit=200", "").await;
        if page.status != 200 {
            assert_limited(&page, "\"reads\";q=60;w=60");
            break;
        }
        let used = read_units(&page);
        units.push(used);
        let reads: u32 = (1..).find(|reads| used <= 16.0 * f64::from(*reads)).unwrap();
        rest = rest.max(reads) - reads;
        let headers = headers(&page);
        assert_eq!(headers, [Some("\"reads\";q=60;w=60"), Some(&*format!("\"reads\";r={rest}")), None]);
    }
    // A page of 400 KB is 50 units, and counts four times. All pages together stay within the limit, and the last one.
    assert!(units.iter().all(|units| (48.0..64.0).contains(units)), "{units:?}");
    assert_eq!((units.len(), rest), (15, 0));
    assert!(units.iter().sum::<f64>() <= 60.0 * 16.0 + 64.0, "{units:?}");
}

#[tokio::test]
async fn a_caller_without_limits_makes_no_call_for_them() {
    let api = Api::with_posts().await.at_a_new_minute();
    for token in ["dev", "ada"] {
        let own = api.call(token, "GET /sessions/self", "").await;
        assert_eq!(own.is_ok(200).header("lately-cost"), Some("read_units=0.0, calls=0, items=0, rounds=0"));
        assert_eq!(headers(&own), [None; 3]);
    }
    assert!(api.items().await.iter().all(|item| !item.contains("QUOTA#")));
    // A block is part of the price of the request that takes it, and of no other.
    let token = session(&api, json!({"reads_per_minute": 100})).await;
    let costs = ["read_units=0.0, calls=1, items=0, rounds=0", "read_units=0.0, calls=0, items=0, rounds=0"];
    for cost in costs {
        let own = api.call(&token, "GET /sessions/self", "").await;
        assert_eq!(own.is_ok(200).header("lately-cost"), Some(cost));
    }
}

#[tokio::test]
async fn a_refused_request_counts_only_if_it_was_allowed() {
    let api = Api::with_posts().await.at_a_new_minute();
    let token = session(&api, json!({"writes_per_minute": 1})).await;
    for _ in 0..3 {
        api.call(&token, "PUT /topics/posts", "").await.is(403, "forbidden");
    }
    api.call(&token, POST, "{}").await.is(422, "invalid-event");
    assert_limited(&api.call(&token, POST, event().to_string()).await, "\"writes\";q=1;w=60");
}

#[tokio::test]
async fn a_batch_counts_its_events_and_is_written_whole_or_not_at_all() {
    let api = Api::with_posts().await.at_a_new_minute();
    let token = session(&api, json!({"writes_per_minute": 20})).await;
    let batch = |count: usize| Value::from(vec![event(); count]).to_string();
    let before = api.items().await.len();
    let never = api.call(&token, POST, batch(21)).await;
    never.is(422, "too-many-events");
    assert!(never.text.contains("may make 20 writes a minute"), "{}", never.text);
    api.call(&token, POST, batch(15)).await.is_ok(201);
    let written = api.items().await.len();
    assert!(written >= before + 15);
    assert_limited(&api.call(&token, POST, batch(8)).await, "\"writes\";q=20;w=60");
    assert_eq!(api.items().await.len(), written);
    // Each refused batch counts as one request: 20 - 15 - 2.
    api.call(&token, POST, batch(3)).await.is_ok(201);
    assert_limited(&api.call(&token, POST, batch(1)).await, "\"writes\";q=20;w=60");
}

#[tokio::test]
async fn the_jwts_of_a_user_share_a_limit() {
    let api = Api::with_posts().await.at_a_new_minute();
    let of = |user: &str| {
        let caller = Caller {
            session: None,
            user: user.parse().ok(),
            scopes: [Scope::Write].into_iter().collect(),
            topics: None,
            expires_at: UnixMillis::MAX,
            issuer: Some("https://id.example.org/".to_owned()),
            limits: RateLimits { writes_per_minute: "1".parse().ok(), reads_per_minute: None },
        };
        api.through(edge::around(
            api.system.routes().into_router().layer(axum::Extension(Identity::Known(caller))),
        ))
    };
    let post = async |user: &str| {
        let body = json!({"type": "a", "actor": user}).to_string();
        of(user).call("", POST, body).await
    };
    post("ada").await.is_ok(201);
    assert_limited(&post("ada").await, "\"writes\";q=1;w=60");
    post("bob").await.is_ok(201);
}

#[tokio::test]
async fn limits_are_shown_and_checked() {
    let api = Api::with_posts().await.at_a_new_minute();
    let token = session(&api, json!({"writes_per_minute": 600, "reads_per_minute": 100_000})).await;
    let own = api.call(&token, "GET /sessions/self", "").await.is_ok(200).json();
    let listed = api.call("dev", "GET /sessions?user=ada", "").await.is_ok(200).json();
    let limited: Vec<_> = listed["sessions"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|it| it.get("writes_per_minute").is_some())
        .collect();
    assert_eq!(limited.len(), 1);
    for shown in [&own, limited[0]] {
        assert_eq!((&shown["writes_per_minute"], &shown["reads_per_minute"]), (&json!(600), &json!(100_000)));
    }
    let body =
        json!({"scopes": ["read"], "ttl_seconds": 60, "writes_per_minute": 0, "reads_per_minute": 100_001});
    let refused = api.call("dev", "POST /sessions", body.to_string()).await;
    refused.is(422, "invalid-body");
    let paths: Vec<_> =
        refused.json()["errors"].as_array().unwrap().iter().map(|it| it["path"].clone()).collect();
    assert_eq!(paths, ["/writes_per_minute", "/reads_per_minute"]);
}
