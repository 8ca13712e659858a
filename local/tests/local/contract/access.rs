//! Access rules that are not in the access table: acting as another user, imports, sessions. `matrix.rs` tests the
//! table.

use lately_kit::caller::Identity;
use lately_model::Scope;
use serde_json::{Value, json};

use crate::support::{Api, event, event_ago, request};

#[tokio::test]
async fn a_token_limited_to_topics_sees_and_writes_only_those() {
    let api = Api::with_posts().await;
    api.call("dev", "PUT /topics/billing", "").await.is_ok(201);
    let limited = api.of(None, &[Scope::Admin], Some(&["posts"]));
    limited.call("", "POST /topics/billing/events", event().to_string()).await.is(403, "forbidden");
    limited.call("", "POST /topics/posts/events", event().to_string()).await.is_ok(201);
    let topics = limited.call("", "GET /topics", "").await.is_ok(200).json();
    let names: Vec<_> = topics["topics"].as_array().unwrap().iter().map(|topic| &topic["topic"]).collect();
    assert_eq!(names, ["posts"]);
}

#[tokio::test]
async fn users_write_as_themselves_and_act_as_and_admin_as_anyone() {
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
    // The event is gone, so any caller gets 204.
    api.call("ada", &delete, "").await.is_ok(204);
    api.call("bob", &delete, "").await.is_ok(204);

    let event = post().await;
    api.of(Some("bob"), &[Scope::ActAs], None).call("", &format!("DELETE {event}"), "").await.is_ok(204);
    let event = post().await;
    api.call("dev", &format!("DELETE {event}"), "").await.is_ok(204);
    let page = api.call("ada", "GET /topics/posts/events?consistent=true", "").await.json();
    assert_eq!(page["events"], json!([]));
}

#[tokio::test]
async fn two_authorization_headers_are_refused() {
    let api = Api::with_posts().await;
    let twice =
        request("GET /topics").header("authorization", "Bearer dev").header("authorization", "Bearer dev");
    api.send(twice, "").await.is(403, "invalid-token");
    for authorization in ["Basic ZGV2", "Bearer", "dev", ""] {
        let request = request("GET /topics").header("authorization", authorization);
        api.send(request, "").await.is(401, "missing-token");
    }
}

#[tokio::test]
async fn a_created_session_is_valid_until_it_is_revoked() {
    let api = Api::with_posts().await;
    let body = json!({"user": "ada", "scopes": ["read", "write"], "topics": ["posts"], "ttl_seconds": 60});
    let made = api.call("dev", "POST /sessions", body.to_string()).await;
    let made = made.is_ok(201).json();
    let (id, token) = (made["id"].as_str().unwrap(), made["token"].as_str().unwrap());
    api.call(token, "POST /topics/posts/events", event().to_string()).await.is_ok(201);

    let session = api.call("dev", &format!("GET /sessions/{id}"), "").await;
    assert!(session.is_ok(200).header("lately-cost").unwrap().starts_with("read_units="));
    assert!(!session.text.contains(token));
    let mut session = session.json();
    assert!(session["created_at"].take().is_string());
    let expected = json!({
        "id": id, "user": "ada", "scopes": ["read", "write"], "topics": ["posts"],
        "created_at": null, "expires_at": made["expires_at"],
    });
    assert_eq!(session, expected);
    assert!(api.items().await.iter().all(|item| !item.contains(token)), "only its hash is stored");

    let own = api.call(token, "GET /sessions/self", "").await;
    assert_eq!(own.is_ok(200).header("lately-cost"), Some("read_units=0.0, calls=0, items=0, rounds=0"));
    let expected = json!({
        "user": "ada", "scopes": ["read", "write"], "topics": ["posts"], "expires_at": made["expires_at"],
    });
    assert_eq!(own.json(), expected);

    for _ in 0..2 {
        api.call("dev", &format!("DELETE /sessions/{id}"), "").await.is_ok(204);
        api.call(token, "GET /sessions/self", "").await.is(403, "invalid-token");
        api.call(token, "GET /topics/posts/events", "").await.is(403, "invalid-token");
        api.call("dev", &format!("GET /sessions/{id}"), "").await.is(404, "not-found");
    }
}

#[tokio::test]
async fn sessions_are_listed_and_revoked_by_user() {
    let api = Api::with_posts().await;
    let made = async |body: Value| {
        api.call("dev", "POST /sessions", body.to_string()).await.is_ok(201).json()["token"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    let first =
        made(json!({"user": "ada", "scopes": ["read"], "topics": ["posts"], "ttl_seconds": 60})).await;
    let second = made(json!({"user": "ada", "scopes": ["write"], "ttl_seconds": 60})).await;
    let service = made(json!({"scopes": ["read"], "ttl_seconds": 60})).await;
    let list =
        async |query: &str| api.call("dev", &format!("GET /sessions{query}"), "").await.is_ok(200).json();
    let all = list("").await;
    // With the four literal tokens.
    assert_eq!((all["sessions"].as_array().unwrap().len(), &all["next"]), (7, &Value::Null));
    assert!([&first, &second, &service].iter().all(|token| !all.to_string().contains(*token)));
    let page = list("?user=ada&limit=1").await;
    assert_eq!(
        (&page["sessions"][0]["scopes"], &page["sessions"][0]["user"]),
        (&json!(["write"]), &json!("ada"))
    );
    let cursor = page["next"].as_str().unwrap();
    let rest = list(&format!("?user=ada&cursor={cursor}")).await;
    assert_eq!((&rest["sessions"][0]["topics"], &rest["next"]), (&json!(["posts"]), &Value::Null));
    let refused = async |line: &str, code: &str| {
        api.call("dev", line, "").await.is(400, code);
    };
    refused(&format!("GET /sessions?cursor={cursor}"), "invalid-cursor").await;
    refused("GET /sessions?user=a%23b", "invalid-query").await;
    refused("DELETE /sessions", "invalid-query").await;
    api.call("ada", "GET /sessions?user=ada", "").await.is(403, "forbidden");

    // The literal token `ada` is a session of the user ada too.
    for revoked in [3, 0] {
        let answer = api.call("dev", "DELETE /sessions?user=ada", "").await;
        assert!(answer.header("lately-cost").unwrap().starts_with("write_units="));
        assert_eq!(answer.is_ok(200).json(), json!({"revoked": revoked}));
    }
    for token in [&*first, &second, "ada"] {
        api.call(token, "GET /topics/posts", "").await.is(403, "invalid-token");
    }
    api.call(&service, "GET /topics/posts", "").await.is_ok(200);
    assert_eq!(list("?user=ada").await, json!({"sessions": [], "next": null}));
}

#[tokio::test]
async fn names_of_stored_attributes_are_refused_as_fields() {
    let api = Api::with_posts().await;
    let before = api.items().await;
    let stored =
        ["pk", "sk", "gsi1pk", "gsi1sk", "revision", "expires_at", "owner", "created_at", "v", "hash", "id"];
    let bodies = [
        ("PUT /topics/posts", json!({}), "invalid-topic"),
        ("POST /topics/posts/events", event(), "invalid-event"),
        ("POST /sessions", json!({"scopes": ["read"], "ttl_seconds": 60}), "invalid-body"),
    ];
    for (line, body, code) in bodies {
        for field in stored {
            let mut body = body.clone();
            body[field] = json!("TOPIC#posts");
            let answer = api.call("dev", line, body.to_string()).await;
            assert_eq!(answer.is(422, code).faults(), [format!("/{field}")], "{line}");
        }
    }
    assert_eq!(api.items().await, before);
    // In an event's data these names are ordinary text.
    let data: serde_json::Map<_, _> =
        stored.iter().map(|field| ((*field).to_owned(), json!("owned"))).collect();
    let body = json!({"type": "a", "actor": "ada", "data": data});
    let posted = api.call("ada", "POST /topics/posts/events", body.to_string()).await;
    let id = posted.is_ok(201).json()["id"].as_str().unwrap().to_owned();
    let page = api.call("ada", "GET /topics/posts/events?consistent=true", "").await.json();
    assert_eq!((&page["events"][0]["id"], &page["events"][0]["data"]), (&json!(id), &json!(data)));
}

#[tokio::test]
async fn a_function_without_an_authorizer_refuses_every_token() {
    let api = Api::with_posts().await;
    let bare = api.through(lately_kit::edge::around(api.system.routes().into_router()));
    bare.call("dev", "GET /topics", "").await.is(401, "missing-token");
    let refused = api.system.routes().into_router().layer(axum::Extension(Identity::Refused));
    api.through(lately_kit::edge::around(refused))
        .call("dev", "GET /topics", "")
        .await
        .is(403, "invalid-token");
}

#[tokio::test]
async fn errors_also_have_the_cost_header() {
    let api = Api::with_posts().await;
    let missing = api.call("dev", "GET /topics/none/events", "").await;
    let cost = missing.is(404, "topic-not-found").header("lately-cost").unwrap().to_owned();
    assert!(cost.starts_with("read_units=") && cost.contains("calls=1, "), "{cost}");
    let refused = api.call("bob", "POST /topics/posts/events", event().to_string()).await;
    assert_eq!(refused.is(403, "forbidden").header("lately-cost"), Some("write_units=0.0, calls=0"));
    let limited = api.of(Some("ada"), &[Scope::Read], Some(&["posts"]));
    let faulty = limited.call("", "GET /feeds/ada?limit=0", "").await;
    assert_eq!(faulty.is(400, "invalid-query").header("lately-cost"), Some("items=0"));
    assert_eq!(api.call("dev", "GET /health", "").await.is_ok(200).header("lately-cost"), None);
}
