//! Tokens, scopes, and acting as someone.

use lately_kit::caller::Scope;
use serde_json::json;

use crate::support::{Api, event, event_ago, request};

const ID: &str = "019aa0b7-9a40-7000-8000-5f3c9e1d2a77";

/// Every route that needs a token.
fn guarded() -> Vec<String> {
    vec![
        "PUT /topics/posts".to_owned(),
        "GET /topics/posts".to_owned(),
        "GET /topics".to_owned(),
        "POST /topics/posts/events".to_owned(),
        "GET /topics/posts/events".to_owned(),
        format!("GET /topics/posts/events/{ID}"),
        format!("DELETE /topics/posts/events/{ID}"),
    ]
}

#[tokio::test]
async fn without_a_token_the_answer_is_401_and_with_an_unknown_one_403() {
    let api = Api::with_posts().await;
    for line in guarded() {
        let answer = api.send(request(&line), event().to_string()).await;
        assert_eq!(answer.is(401, "missing-token").header("www-authenticate"), Some("Bearer"));
        api.call("eve", &line, event().to_string()).await.is(403, "invalid-token");
        for authorization in ["Basic ZGV2", "Bearer", "dev", ""] {
            let request = request(&line).header("authorization", authorization);
            api.send(request, event().to_string()).await.is(401, "missing-token");
        }
        // Two tokens are none: the gateway would join them.
        let twice =
            request(&line).header("authorization", "Bearer dev").header("authorization", "Bearer ada");
        api.send(twice, event().to_string()).await.is(403, "invalid-token");
    }
}

#[tokio::test]
async fn each_route_needs_its_scope() {
    let posts = Api::with_posts().await;
    for line in guarded() {
        let needed = match line.split_once(' ').unwrap().0 {
            "PUT" => Scope::Admin,
            "GET" => Scope::Read,
            _ => Scope::Write,
        };
        let body = if needed == Scope::Admin { String::new() } else { event().to_string() };
        for scope in Scope::ALL {
            let answer = posts.of(Some("ada"), &[scope], None).call("", &line, body.clone()).await;
            let holds =
                scope == needed || scope == Scope::Admin || (scope == Scope::ActAs && needed != Scope::Admin);
            if holds {
                assert_ne!(answer.status, 403, "{scope} {line}: {}", answer.text);
            } else {
                answer.is(403, "forbidden");
            }
        }
        let without = posts.of(Some("ada"), &[], None);
        without.call("", &line, body.clone()).await.is(403, "forbidden");
    }
    posts.call("ada", "PUT /topics/posts", "").await.is(403, "forbidden");
}

#[tokio::test]
async fn a_token_limited_to_topics_sees_and_writes_only_those() {
    let api = Api::with_posts().await;
    api.call("dev", "PUT /topics/billing", "").await.is_ok(201);
    let limited = api.of(None, &[Scope::Admin], Some(&["posts"]));
    for line in guarded().into_iter().filter(|line| line != "GET /topics") {
        let line = line.replace("/posts", "/billing");
        limited.call("", &line, event().to_string()).await.is(403, "forbidden");
    }
    limited.call("", "POST /topics/posts/events", event().to_string()).await.is_ok(201);
    let topics = limited.call("", "GET /topics", "").await.is_ok(200).json();
    let names: Vec<_> = topics["topics"].as_array().unwrap().iter().map(|topic| &topic["topic"]).collect();
    assert_eq!(names, ["posts"]);
}

#[tokio::test]
async fn a_user_writes_as_oneself_and_act_as_and_admin_as_anyone() {
    let api = Api::with_posts().await;
    let before = api.items().await;
    api.call("bob", "POST /topics/posts/events", event().to_string()).await.is(403, "forbidden");
    let batch = json!([{"type": "a", "actor": "bob"}, event()]).to_string();
    api.call("bob", "POST /topics/posts/events", batch).await.is(403, "forbidden");
    let service = api.of(None, &[Scope::Write], None);
    service.call("", "POST /topics/posts/events", event().to_string()).await.is(403, "forbidden");
    assert_eq!(api.items().await, before);
    api.call("ada", "POST /topics/posts/events", event().to_string()).await.is_ok(201);
    api.call("dev", "POST /topics/posts/events", event().to_string()).await.is_ok(201);
    let agent = api.of(Some("bob"), &[Scope::ActAs], None);
    agent.call("", "POST /topics/posts/events", event().to_string()).await.is_ok(201);
}

#[tokio::test]
async fn an_event_more_than_a_minute_ago_needs_the_scope_import() {
    let api = Api::with_posts().await;
    let before = api.items().await;
    let import = event_ago(90).to_string();
    api.call("ada", "POST /topics/posts/events", import.clone()).await.is(403, "forbidden");
    let batch = json!([event(), event_ago(90)]).to_string();
    api.call("ada", "POST /topics/posts/events", batch).await.is(403, "forbidden");
    let agent = api.of(Some("bob"), &[Scope::ActAs], None);
    agent.call("", "POST /topics/posts/events", import.clone()).await.is(403, "forbidden");
    assert_eq!(api.items().await, before);
    api.call("ada", "POST /topics/posts/events", event_ago(45).to_string()).await.is_ok(201);
    api.call("dev", "POST /topics/posts/events", import.clone()).await.is_ok(201);
    let importer = api.of(Some("ada"), &[Scope::Write, Scope::Import], None);
    importer.call("", "POST /topics/posts/events", import).await.is_ok(201);
}

#[tokio::test]
async fn an_event_is_deleted_by_its_actor_or_with_act_as() {
    let api = Api::with_posts().await;
    let post = async || {
        let posted = api.call("ada", "POST /topics/posts/events", event().to_string()).await;
        posted.is_ok(201).header("location").unwrap().to_owned()
    };
    let event = post().await;
    let delete = format!("DELETE {event}");
    api.call("bob", &delete, "").await.is(403, "forbidden");
    api.of(None, &[Scope::Write], None).call("", &delete, "").await.is(403, "forbidden");
    api.call("ada", &format!("GET {event}"), "").await.is_ok(200);
    let deleted = api.call("ada", &delete, "").await;
    assert!(deleted.is_ok(204).header("lately-cost").unwrap().starts_with("write_units="));
    api.call("ada", &format!("GET {event}"), "").await.is(404, "event-not-found");
    // Gone is gone, whoever asks.
    api.call("ada", &delete, "").await.is_ok(204);
    api.call("bob", &delete, "").await.is_ok(204);

    let event = post().await;
    api.of(Some("bob"), &[Scope::ActAs], None).call("", &format!("DELETE {event}"), "").await.is_ok(204);
    let event = post().await;
    api.call("dev", &format!("DELETE {event}"), "").await.is_ok(204);
    let page = api.call("ada", "GET /topics/posts/events?consistent=true", "").await.json();
    assert_eq!(page["events"], json!([]));
}
