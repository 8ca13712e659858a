//! `DELETE /topics/{topic}`, `GET /topics/{topic}/deletion` and `/erasures`, and another retention for events that are
//! there.

use serde_json::{Value, json};

use crate::support::{Api, event, event_ago};

/// A topic's deletion, with the confirmation.
const DELETE: &str = "DELETE /topics/posts?confirm=posts";

#[tokio::test]
async fn a_topic_is_deleted_only_under_its_name() {
    let api = Api::with_posts().await;
    let before = api.items().await;
    for query in ["", "?confirm=", "?confirm=Posts", "?confirm=other&dry_run=true", "?confirm=posts&force=1"]
    {
        let refused = api.call("dev", &format!("DELETE /topics/posts{query}"), "").await;
        let faults = refused.is(400, "invalid-query").faults();
        assert!(faults.iter().all(|path| path == "/confirm" || path == "/force"), "{query}: {faults:?}");
    }
    api.call("dev", "DELETE /topics/nowhere?confirm=nowhere", "").await.is(404, "topic-not-found");
    api.call("dev", "DELETE /topics/nowhere?dry_run=true", "").await.is(404, "topic-not-found");
    api.call("dev", "GET /topics/posts/deletion", "").await.is(404, "not-found");
    assert_eq!(api.items().await, before);
}

#[tokio::test]
async fn a_dry_run_counts_and_deletes_nothing() {
    let api = Api::with_posts().await;
    let events = vec![event(); 30];
    api.call("dev", "POST /topics/posts/events", Value::from(events).to_string()).await.is_ok(201);
    api.call("dev", "PUT /topics/posts/consumers/nightly", "").await.is_ok(201);
    let before = api.items().await;
    let preview = api.call("dev", "DELETE /topics/posts?dry_run=true", "").await.is_ok(200).json();
    let counts = ["buckets", "shards", "consumers"].map(|name| &preview[name]);
    assert_eq!(counts, [1, 1, 1].map(Value::from).each_ref(), "{preview}");
    assert!(preview["oldest"].is_string() && preview["oldest"] == preview["newest"], "{preview}");
    assert_eq!(api.items().await, before);
}

#[tokio::test]
async fn a_topic_that_is_being_deleted_is_hidden_and_takes_no_writes() {
    let api = Api::with_posts().await;
    let posted = api.call("ada", "POST /topics/posts/events", event().to_string()).await.is_ok(201).json();
    let id = posted["id"].as_str().unwrap();
    let begun = api.call("dev", DELETE, "").await;
    assert_eq!(begun.is_ok(202).header("location"), Some("/topics/posts/deletion"));
    let begun = begun.json();
    assert_eq!((&begun["topic"], &begun["state"]), (&json!("posts"), &json!("deleting")));
    for line in ["GET /topics/posts", "GET /topics/posts/events", &format!("GET /topics/posts/events/{id}")] {
        api.call("ada", line, "").await.is(404, "topic-not-found");
    }
    assert_eq!(api.call("ada", "GET /topics", "").await.is_ok(200).json()["topics"], json!([]));
    for (token, line, body) in [
        ("ada", "POST /topics/posts/events", event().to_string()),
        ("ada", &format!("DELETE /topics/posts/events/{id}"), String::new()),
        ("dev", "PUT /topics/posts", "{}".to_owned()),
    ] {
        api.call(token, line, body).await.is(409, "topic-is-being-deleted");
    }
    // The same request returns the deletion that is under way.
    assert_eq!(api.call("dev", DELETE, "").await.is_ok(202).json(), begun);
    assert_eq!(api.call("dev", "GET /topics/posts/deletion", "").await.is_ok(200).json(), begun);
}

#[tokio::test]
async fn a_deletion_counts_what_it_deletes_and_frees_the_name() {
    let api = Api::with_posts().await;
    let (pump, _) = api.fan_out();
    for event in [event(), event_ago(3 * 24 * 60 * 60)] {
        api.call("dev", "POST /topics/posts/events", event.to_string()).await.is_ok(201);
    }
    api.call("dev", "PUT /topics/posts/consumers/nightly", "").await.is_ok(201);
    pump.settled().await;
    api.call("dev", DELETE, "").await.is_ok(202);
    pump.settled().await;
    let shown = api.call("dev", "GET /topics/posts/deletion", "").await.is_ok(200).json();
    let counts = ["events", "buckets", "consumers"].map(|name| shown[name].as_u64().unwrap());
    assert_eq!(counts, [2, 2, 1], "{shown}");
    // No request that has read the topic before is under way a minute later. Until then, the name is not free.
    assert_eq!(shown["state"], "deleting");
    api.call("dev", "PUT /topics/posts", "{}").await.is(409, "topic-is-being-deleted");
    let later = api.later(120);
    let done = later.call("dev", "GET /topics/posts/deletion", "").await.is_ok(200).json();
    assert_eq!(done["state"], "done");
    assert!(done["finished_at"].as_str() > done["begun_at"].as_str(), "{done}");
    later.call("dev", DELETE, "").await.is(404, "topic-not-found");
    later.call("dev", "PUT /topics/posts", "{}").await.is_ok(201);
    let empty = later.call("ada", "GET /topics/posts/events", "").await.is_ok(200).json();
    assert_eq!(empty["events"], json!([]));
    let next_week = api.later(7 * 24 * 60 * 60);
    next_week.call("dev", "GET /topics/posts/deletion", "").await.is(404, "not-found");
}

#[tokio::test]
async fn a_shorter_retention_hides_at_once_and_a_longer_one_restores_nothing() {
    let api = Api::with_posts().await;
    let (pump, _) = api.fan_out();
    let day = 24 * 60 * 60;
    for days in [1, 5] {
        let event = event_ago(days * day).to_string();
        api.call("dev", "POST /topics/posts/events", event).await.is_ok(201);
    }
    let shown = async || {
        let page = api.call("ada", "GET /topics/posts/events", "").await.is_ok(200).json();
        page["events"].as_array().unwrap().len()
    };
    assert_eq!(shown().await, 2);
    for days in [json!(3), json!(30), Value::Null] {
        let change = json!({ "retention_days": days }).to_string();
        api.call("dev", "PUT /topics/posts", change).await.is_ok(200);
        assert_eq!(shown().await, 1, "{days}");
        pump.settled().await;
        assert_eq!(shown().await, 1, "{days}");
    }
}

#[tokio::test]
async fn an_erasure_names_a_person_and_needs_an_admin() {
    let api = Api::with_posts().await;
    let before = api.items().await;
    for (body, faults) in [
        ("{}", vec![""]),
        (r#"{"actor":"a#b","user":null,"name":"ada","confirm":"ada"}"#, vec!["/name", "/actor", "/user"]),
        (r#"{"user":"ada","confirm":"ada","dry_run":true}"#, vec!["/dry_run"]),
        (r#"{"user":"ada"}"#, vec!["/confirm"]),
        (r#"{"actor":"ada","user":"bob","confirm":"bob"}"#, vec!["/confirm"]),
    ] {
        let refused = api.call("dev", "POST /erasures", body).await;
        assert_eq!(refused.is(422, "invalid-body").faults(), faults, "{body}");
    }
    api.call("dev", "POST /erasures", "").await.is(400, "malformed-json");
    api.call("ada", "POST /erasures", r#"{"user":"ada","confirm":"ada"}"#).await.is(403, "forbidden");
    api.call("ada", "GET /erasures", "").await.is(403, "forbidden");
    api.call("dev", "GET /erasures?state=done", "").await.is(400, "invalid-query");
    api.call("dev", "GET /erasures/42", "").await.is(400, "invalid-id");
    let unknown = "GET /erasures/019aa0b7-9a40-7c3e-8000-5f3c9e1d2a77";
    api.call("dev", unknown, "").await.is(404, "not-found");
    api.call("ada", unknown, "").await.is(403, "forbidden");
    assert_eq!(api.items().await, before);
}

#[tokio::test]
async fn a_person_is_erased_and_nobody_else() {
    let api = Api::with_posts().await;
    let (pump, _) = api.fan_out();
    for user in ["ada", "bob"] {
        api.call(user, &format!("PUT /users/{user}/profile"), "{}").await.is_ok(201);
        let event = json!({"type": "post.created", "actor": user}).to_string();
        api.call(user, "POST /topics/posts/events", event).await.is_ok(201);
    }
    api.call("bob", "PUT /users/bob/following/actor:ada", "").await.is_ok(201);
    pump.settled().await;
    let actors = async |line: &str| -> Vec<String> {
        let page = api.call("dev", line, "").await.is_ok(200).json();
        let events = page["events"].as_array().unwrap();
        events.iter().map(|event| event["actor"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(actors("GET /feeds/bob").await, ["bob", "ada"]);

    let ada = json!({"actor": "ada", "user": "ada", "confirm": "ada"});
    let begun = api.call("dev", "POST /erasures", ada.to_string()).await;
    let erasure = begun.is_ok(202).json();
    let at = format!("/erasures/{}", erasure["id"].as_str().unwrap());
    assert_eq!((begun.header("location"), &erasure["state"]), (Some(&*at), &json!("erasing")));
    // Another process does not know of topics and erasures yet.
    let other = api.later(3);
    let event = json!({"type": "post.created", "actor": "ada"}).to_string();
    for line in ["POST /topics/posts/events", "POST /repos/octo/hello/issues"] {
        let body =
            if line.contains("issues") { json!({"title": "It forgets"}).to_string() } else { event.clone() };
        other.call("ada", line, body).await.is(409, "actor-is-being-erased");
    }
    let list = api.call("dev", "GET /erasures", "").await.is_ok(200).json();
    assert_eq!((&list["erasures"][0], &list["next"]), (&erasure, &Value::Null));
    pump.settled().await;
    let receipt = api.later(120).call("dev", &format!("GET {at}"), "").await.is_ok(200).json();
    assert_eq!(receipt["state"], "done", "{receipt}");
    let counted = ["events", "followers", "profile"].map(|kind| receipt["counts"][kind].as_u64().unwrap());
    assert_eq!(counted, [1, 1, 1], "{receipt}");
    assert_eq!(receipt["ids_sha256"].as_str().unwrap().len(), 64);
    assert!(!receipt["not_covered"].as_array().unwrap().is_empty(), "{receipt}");
    // The letters of a name may stand in an id or in a hash by chance.
    let mut named = receipt.clone();
    for random in ["id", "ids_sha256"] {
        named[random].take();
    }
    assert!(!named.to_string().contains("ada"), "the receipt has no name: {receipt}");

    assert_eq!(actors("GET /topics/posts/events").await, ["bob"]);
    assert_eq!(actors("GET /feeds/bob").await, ["bob"]);
    assert_eq!(actors("GET /actors/ada/events").await, Vec::<String>::new());
    // The sessions of the user are erased, so only another token can ask.
    api.call("dev", "GET /users/ada/profile", "").await.is(404, "not-found");
    api.call("bob", "GET /users/bob/profile", "").await.is_ok(200);
}
