//! Feeds, follows and timelines of sources: from the routes through the stream and back.

use std::collections::BTreeSet;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use lately_keys::EventId;
use lately_model::Scope;
use lately_pump::{Destination, PumpFaults, PumpHandle};
use serde_json::{Value, json};

use crate::support::{Answer, Api, event, event_ago, request};

/// The API with a running fan-out.
struct Running {
    api: Api,
    pump: PumpHandle,
    failures: Destination,
}

impl Running {
    async fn new() -> Self {
        let api = Api::with_posts().await;
        let (pump, failures) = api.fan_out();
        Self { api, pump, failures }
    }

    async fn call(&self, token: &str, line: &str, body: &Value) -> Answer {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        self.api.call(token, line, body).await
    }

    /// Posts an event. The result is its id.
    async fn post(&self, token: &str, topic: &str, event: &Value) -> String {
        let posted = self.call(token, &format!("POST /topics/{topic}/events"), event).await;
        posted.is_ok(201).json()["id"].as_str().unwrap().to_owned()
    }

    /// Waits until fan-out has handled everything. The result is a page and the ids of its events.
    async fn settled(&self, token: &str, target: &str) -> (Value, Vec<String>) {
        self.pump.settled().await;
        assert_eq!(self.failures.list().unwrap(), Vec::<String>::new());
        let page = self.call(token, &format!("GET {target}"), &Value::Null).await;
        let page = page.is_ok(200).json();
        let events = page["events"].as_array().unwrap().iter();
        let ids = events.map(|event| event["id"].as_str().unwrap().to_owned()).collect();
        (page, ids)
    }

    async fn follow(&self, user: &str, source: &str, body: &Value) -> Answer {
        self.call(user, &format!("PUT /users/{user}/following/{source}"), body).await
    }
}

fn post_of(actor: &str, subject: Option<&str>) -> Value {
    let mut event = json!({"type": "post.created", "actor": actor, "data": {"words": 7}});
    if let Some(subject) = subject {
        event["subject"] = json!(subject);
    }
    event
}

#[tokio::test]
async fn a_post_appears_in_its_authors_and_its_followers_feeds() {
    let running = Running::new().await;
    running.follow("bob", "actor:ada", &Value::Null).await.is_ok(201);
    let id = running.post("ada", "posts", &post_of("ada", Some("repo:octo:hello"))).await;
    let own = running.call("ada", "GET /feeds/ada?consistent=true", &Value::Null).await.is_ok(200).json();
    assert_eq!(own["events"][0]["id"], json!(id));

    let (page, ids) = running.settled("bob", "/feeds/bob").await;
    assert_eq!(ids, std::slice::from_ref(&id));
    let first = &page["events"][0];
    assert_eq!((&first["topic"], &first["actor"]), (&json!("posts"), &json!("ada")));
    assert_eq!((&first["subject"], &first["data"]), (&json!("repo:octo:hello"), &json!({"words": 7})));
    for target in ["/actors/ada/events", "/subjects/repo:octo:hello/events", "/actors/ada/events?topic=posts"]
    {
        assert_eq!(running.settled("carol", target).await.1, std::slice::from_ref(&id), "{target}");
    }
    assert!(running.settled("carol", "/actors/ada/events?topic=billing").await.1.is_empty());
    assert!(running.settled("carol", "/actors/bob/events").await.1.is_empty());
    assert!(running.settled("carol", "/feeds/carol").await.1.is_empty());

    running.call("ada", &format!("DELETE /topics/posts/events/{id}"), &Value::Null).await.is_ok(204);
    for (token, target) in [("ada", "/feeds/ada"), ("bob", "/feeds/bob"), ("bob", "/actors/ada/events")] {
        assert!(running.settled(token, target).await.1.is_empty(), "{target}");
    }
}

#[tokio::test]
async fn a_follow_backfills_and_an_unfollow_removes_its_events() {
    let running = Running::new().await;
    let mut of_ada = Vec::new();
    for subject in [None, Some("repo:octo:hello"), None] {
        of_ada.insert(0, running.post("ada", "posts", &post_of("ada", subject)).await);
    }
    let own = running.post("bob", "posts", &post_of("bob", None)).await;
    running.pump.settled().await;

    let followed = running.follow("bob", "actor:ada", &json!({"backfill": 2})).await;
    let since = followed.is_ok(201).json()["since"].clone();
    assert_eq!(
        running.settled("bob", "/feeds/bob").await.1,
        [own.clone(), of_ada[0].clone(), of_ada[1].clone()]
    );
    // A second follow changes nothing and backfills nothing.
    let again = running.follow("bob", "actor:ada", &json!({"backfill": 200})).await;
    assert_eq!(again.is_ok(200).json(), json!({"source": "actor:ada", "since": since}));
    assert_eq!(running.settled("bob", "/feeds/bob").await.1.len(), 3);

    running.follow("bob", "subject:repo:octo:hello", &json!({})).await.is_ok(201);
    let list = running.call("bob", "GET /users/bob/following", &Value::Null).await.is_ok(200).json();
    let sources: BTreeSet<_> =
        list["following"].as_array().unwrap().iter().map(|it| it["source"].as_str().unwrap()).collect();
    assert_eq!(sources, BTreeSet::from(["actor:ada", "subject:repo:octo:hello"]));
    let first = running.call("bob", "GET /users/bob/following?limit=1", &Value::Null).await.is_ok(200).json();
    let next = first["next"].as_str().unwrap();
    let second =
        running.call("bob", &format!("GET /users/bob/following?limit=1&cursor={next}"), &Value::Null).await;
    assert_eq!(second.is_ok(200).json()["following"].as_array().unwrap().len(), 1);
    let followers =
        running.call("carol", "GET /sources/actor:ada/followers", &Value::Null).await.is_ok(200).json();
    assert_eq!(followers, json!({"followers": [{"user": "bob", "since": since}], "next": null}));
    let source = running.call("carol", "GET /sources/actor:ada", &Value::Null).await.is_ok(200).json();
    assert_eq!(source, json!({"source": "actor:ada", "followers": 1, "mode": "push"}));

    running.follow("bob", "actor:bob", &json!({})).await.is_ok(201);
    running.pump.settled().await;
    for source in ["actor:ada", "actor:ada", "actor:bob"] {
        running.call("bob", &format!("DELETE /users/bob/following/{source}"), &Value::Null).await.is_ok(204);
    }
    // His own event, and the event of the subject that he still follows.
    assert_eq!(running.settled("bob", "/feeds/bob").await.1, [own, of_ada[1].clone()]);
    let nobody = running.call("carol", "GET /sources/actor:ada", &Value::Null).await.is_ok(200).json();
    assert_eq!(nobody["followers"], 0);
}

#[tokio::test]
async fn seen_events_and_own_events_are_not_unread() {
    let running = Running::new().await;
    running.follow("bob", "actor:ada", &Value::Null).await.is_ok(201);
    let mut ids = Vec::new();
    for _ in 0..3 {
        ids.push(running.post("ada", "posts", &event()).await);
    }
    running.post("bob", "posts", &post_of("bob", None)).await;
    let unread = async |page: &str| {
        let (page, _) = running.settled("bob", page).await;
        let exact = running.call("bob", "GET /feeds/bob/unread", &Value::Null).await.is_ok(200).json();
        (page["unread"].clone(), page["unread_more"].clone(), exact["unread"].clone())
    };
    assert_eq!(unread("/feeds/bob").await, (json!(3), json!(false), json!(3)));
    assert_eq!(unread("/feeds/bob?limit=2").await, (json!(1), json!(true), json!(3)));
    running.call("bob", "PUT /feeds/bob/seen", &json!({"id": ids[1]})).await.is_ok(204);
    assert_eq!(unread("/feeds/bob").await, (json!(1), json!(false), json!(1)));
    // The seen mark never moves back.
    running.call("bob", "PUT /feeds/bob/seen", &json!({"id": ids[0]})).await.is_ok(204);
    assert_eq!(unread("/feeds/bob").await.2, json!(1));
    let future = "0fffffff-ffff-7000-8000-5f3c9e1d2a77";
    let refused = running.call("bob", "PUT /feeds/bob/seen", &json!({"id": future})).await;
    assert_eq!(refused.is(422, "invalid-body").faults(), ["/id"]);
    for (target, has) in [("/feeds/bob?type=a", false), ("/feeds/bob?order=asc", false), ("/feeds/bob", true)]
    {
        assert_eq!(running.settled("bob", target).await.0.get("unread").is_some(), has, "{target}");
    }
}

#[tokio::test]
async fn a_feed_waits_for_an_event_or_is_not_yet_visible() {
    let running = Running::new().await;
    running.follow("bob", "actor:ada", &Value::Null).await.is_ok(201);
    running
        .pump
        .set_faults(PumpFaults { delay: std::time::Duration::from_millis(300), ..PumpFaults::default() });
    let id = running.post("ada", "posts", &event()).await;
    for target in ["/feeds/bob", "/actors/ada/events"] {
        let page = running.call("bob", &format!("GET {target}?wait_for={id}"), &Value::Null).await;
        assert_eq!(page.is_ok(200).json()["events"][0]["id"], json!(id), "{target}");
    }
    let never = "019a9fb1-7d40-7000-8000-5f3c9e1d2a77";
    let late = running.call("bob", &format!("GET /actors/ada/events?wait_for={never}"), &Value::Null).await;
    assert!(late.is(504, "not-yet-visible").header("retry-after").is_some());
    let both = format!("GET /feeds/bob?wait_for={never}&cursor=x");
    running.call("bob", &both, &Value::Null).await.is(400, "invalid-query");
}

#[tokio::test]
async fn a_repositorys_follower_gets_the_events_of_its_issues() {
    let running = Running::new().await;
    running.follow("bob", "subject:repo:octo:hello", &Value::Null).await.is_ok(201);
    let issues = "/repos/octo/hello/issues";
    let opened = running.call("ada", &format!("POST {issues}"), &json!({"title": "It is slow"})).await;
    let own = running.call("ada", "GET /feeds/ada?consistent=true", &Value::Null).await.is_ok(200).json();
    assert_eq!(own["events"][0]["type"], "issue.opened", "in the author's feed at once");
    let mut tag = opened.is_ok(201).header("etag").unwrap().to_owned();
    for body in
        [r#"{"labels":["critical"]}"#, r#"{"status":"closed","title":"It was slow"}"#, r#"{"status":"open"}"#]
    {
        let patch = request(&format!("PATCH {issues}/1")).header("authorization", "Bearer carol");
        let changed = running.api.send(patch.header("if-match", &tag), body).await;
        changed.is_ok(200).header("etag").unwrap().clone_into(&mut tag);
    }
    let own = running.call("carol", "GET /feeds/carol?consistent=true", &Value::Null).await.is_ok(200).json();
    assert_eq!(own["events"][0]["type"], "issue.reopened");
    // An issue of another repository, which bob does not follow.
    running.call("ada", "POST /repos/octo/engine/issues", &json!({"title": "t"})).await.is_ok(201);

    let (page, _) = running.settled("bob", "/feeds/bob").await;
    let entries: Vec<_> = page["events"]
        .as_array()
        .unwrap()
        .iter()
        .map(|event| {
            assert_eq!((&event["topic"], &event["subject"]), (&json!("issues"), &json!("repo:octo:hello")));
            (
                event["type"].as_str().unwrap(),
                event["actor"].as_str().unwrap(),
                event["data"]["changed"].clone(),
            )
        })
        .collect();
    assert_eq!(
        entries,
        [
            ("issue.reopened", "carol", json!(["status"])),
            ("issue.closed", "carol", json!(["title", "status"])),
            ("issue.updated", "carol", json!(["labels", "priority"])),
            ("issue.opened", "ada", json!([])),
        ]
    );
    assert_eq!(running.settled("dev", "/subjects/repo:octo:hello/events").await.1.len(), 4);
    assert_eq!(running.settled("ada", "/actors/ada/events?topic=issues").await.1.len(), 2);
}

#[tokio::test]
async fn a_limited_session_sees_only_its_topics_in_feeds() {
    let running = Running::new().await;
    running.call("dev", "PUT /topics/billing", &json!({})).await.is_ok(201);
    running.follow("bob", "actor:ada", &Value::Null).await.is_ok(201);
    let post = running.post("ada", "posts", &event_ago(12)).await;
    let bill = running.post("ada", "billing", &event_ago(10)).await;
    assert_eq!(running.settled("bob", "/feeds/bob").await.1, [bill.clone(), post.clone()]);
    let limited = running.api.of(Some("bob"), &[Scope::Read], Some(&["posts"]));
    for target in ["/feeds/bob", "/actors/ada/events", "/feeds/bob?order=asc", "/actors/ada/events?limit=1"] {
        let page = limited.call("", &format!("GET {target}"), "").await.is_ok(200).json();
        let ids: Vec<_> =
            page["events"].as_array().unwrap().iter().map(|event| event["id"].clone()).collect();
        assert_eq!(ids, [json!(post)], "{target}");
    }
    let unread = limited.call("", "GET /feeds/bob/unread", "").await.is_ok(200).json();
    assert_eq!(unread, json!({"unread": 1, "more": false}));
}

/// True if a text, or any part of it decoded from base64, contains these bytes.
fn holds(text: &str, secret: &[u8]) -> bool {
    let within = |bytes: &[u8]| bytes.windows(secret.len()).any(|window| window == secret);
    let parts = text.split(|letter: char| !letter.is_ascii_alphanumeric() && !"-_".contains(letter));
    let decoded = parts.filter_map(|part| URL_SAFE_NO_PAD.decode(part).ok());
    within(text.as_bytes()) || decoded.into_iter().any(|bytes| within(&bytes))
}

#[tokio::test]
async fn no_response_leaks_other_topics_to_a_limited_session() {
    let running = Running::new().await;
    let names = ["aa-canary", "posts", "qq-canary", "zz-canary"];
    for name in names.iter().filter(|name| name.ends_with("canary")) {
        running.call("dev", &format!("PUT /topics/{name}"), &json!({})).await.is_ok(201);
    }
    running.follow("bob", "actor:ada", &Value::Null).await.is_ok(201);
    let (mut shown, mut secrets) = (Vec::new(), Vec::new());
    for n in 0..24_usize {
        let name = names[n % 4];
        let mut event = event_ago(50 - i64::try_from(n).unwrap());
        event["subject"] = json!("repo:octo:hello");
        let id = running.post("ada", name, &event).await;
        if name == "posts" {
            shown.push(id);
        } else {
            secrets.extend([
                id.clone().into_bytes(),
                id.parse::<EventId>().unwrap().as_uuid().as_bytes().to_vec(),
            ]);
        }
    }
    secrets.push(b"canary".to_vec());
    running.settled("bob", "/feeds/bob").await;
    shown.reverse();

    let limited = running.api.of(Some("bob"), &[Scope::Read, Scope::Write, Scope::Consume], Some(&["posts"]));
    let ask = async |target: &str| {
        let answer = limited.call("", &format!("GET {target}"), "").await;
        let answer_text = format!("{:?} {}", answer.headers, answer.text);
        for secret in &secrets {
            assert!(!holds(&answer_text, secret), "{target} leaks {}", String::from_utf8_lossy(secret));
        }
        answer
    };
    for list in
        ["/topics?", "/actors/ada/events?", "/subjects/repo:octo:hello/events?order=asc&", "/feeds/bob?"]
    {
        for limit in [1, 4, 6, 200] {
            let (mut cursor, mut found, mut pages) = (String::new(), Vec::new(), 0);
            loop {
                let answer = ask(&format!("{list}limit={limit}{cursor}")).await;
                let page = answer.is_ok(200).json();
                let entries = page["events"].as_array().or(page["topics"].as_array()).unwrap().clone();
                let items = answer.header("lately-cost").unwrap().split("items=").nth(1).unwrap().to_owned();
                let items: usize = items.split(',').next().unwrap().parse().unwrap();
                assert!(items == entries.len(), "{list}: {items} items of {entries:?}");
                pages += 1;
                let ids = entries
                    .iter()
                    .map(|one| one.get("id").unwrap_or(&one["topic"]).as_str().unwrap().to_owned());
                found.extend(ids);
                if page["next"].is_null() || page["has_more"] == false {
                    break;
                }
                cursor = format!("&cursor={}", page["next"].as_str().unwrap());
            }
            if list.contains("asc") {
                found.reverse();
            }
            if list == "/topics?" {
                assert_eq!((&found, pages), (&vec!["posts".to_owned()], 1));
            } else {
                assert_eq!((&found, pages), (&shown, shown.len().div_ceil(limit)), "{list}");
            }
        }
    }
    for target in [
        "/feeds/bob/unread",
        "/topics/posts",
        "/topics/posts/events",
        "/topics/aa-CANARY/events",
        "/users/bob/following",
        "/sources/actor:ada",
        "/sources/actor:ada/followers",
        "/actors/ada/events?topic=other",
        "/actors/ada/events?month=2026-01",
        "/repos/octo/hello/issues",
        "/users/bob/profile",
        "/settings/web",
        "/topics/posts/consumers/nightly",
    ] {
        ask(target).await;
    }
    let unread = ask("/feeds/bob/unread").await.json();
    assert_eq!(unread, json!({"unread": shown.len(), "more": false}));
}

#[tokio::test]
async fn imports_and_quiet_topics_are_in_timelines_only() {
    let running = Running::new().await;
    running.call("dev", "PUT /topics/quiet", &json!({"fan_out": false})).await.is_ok(201);
    running.call("dev", "PUT /topics/bare", &json!({"fan_out": false, "views": []})).await.is_ok(201);
    running.follow("bob", "actor:ada", &json!({"backfill": 0})).await.is_ok(201);
    let import = running.post("dev", "posts", &event_ago(300)).await;
    let quiet = running.post("ada", "quiet", &event()).await;
    running.post("ada", "bare", &event()).await;
    assert_eq!(running.settled("bob", "/actors/ada/events").await.1, [quiet, import.clone()]);
    assert!(running.settled("bob", "/feeds/bob").await.1.is_empty());
    assert!(running.settled("ada", "/feeds/ada").await.1.is_empty());
    // A later backfill may add the import.
    running.follow("carol", "actor:ada", &Value::Null).await.is_ok(201);
    assert_eq!(running.settled("carol", "/feeds/carol").await.1, [import]);
}

#[tokio::test]
async fn invalid_sources_and_queries_are_refused() {
    let running = Running::new().await;
    for source in ["ada", "user:ada", "actor:", "actor:a:b", "actor:a%2Fb", "subject:"] {
        running.follow("bob", source, &Value::Null).await.is(400, "invalid-name");
        running.call("bob", &format!("GET /sources/{source}"), &Value::Null).await.is(400, "invalid-name");
    }
    let line = "PUT /users/bob/following/actor:ada";
    running.api.call("bob", line, "{").await.is(400, "malformed-json");
    for body in ["[]", r#"{"k":1}"#, r#"{"backfill":201}"#, r#"{"backfill":-1}"#, r#"{"backfill":null}"#] {
        running.api.call("bob", line, body).await.is(422, "invalid-body");
    }
    for query in
        ["month=2026-13", "month=2026-11&from=2026-11-01T00:00:00Z", "wait_for=1", "topic=a%23", "user=a"]
    {
        let line = format!("GET /actors/ada/events?{query}");
        running.call("bob", &line, &Value::Null).await.is(400, "invalid-query");
    }
    for query in ["topic=posts", "month=2026-11", "limit=0"] {
        running.call("bob", &format!("GET /feeds/bob?{query}"), &Value::Null).await.is(400, "invalid-query");
    }
    let page = running.settled("bob", "/actors/ada/events").await.0;
    let cursor = page["newer"].as_str().unwrap().to_owned();
    let other = format!("GET /actors/bob/events?cursor={cursor}");
    running.call("bob", &other, &Value::Null).await.is(400, "invalid-cursor");
}

#[tokio::test]
async fn a_cursor_is_valid_only_for_its_own_list() {
    let api = Api::with_posts().await;
    for (who, what) in [("bob", "actor:ada"), ("bob", "actor:cy"), ("carol", "actor:ada")] {
        api.call("dev", &format!("PUT /users/{who}/following/{what}"), "").await.is_ok(201);
    }
    let [bobs, carols] = ["bob", "carol"].map(|user| format!("GET /users/{user}/following"));
    let [adas, cys] = ["ada", "cy"].map(|actor| format!("GET /sources/actor:{actor}/followers"));
    for (own, others) in [(&bobs, [&carols, &adas]), (&adas, [&cys, &bobs])] {
        let list = api.call("dev", &format!("{own}?limit=1"), "").await.is_ok(200).json();
        let next = list["next"].as_str().unwrap();
        api.call("dev", &format!("{own}?cursor={next}"), "").await.is_ok(200);
        for other in others {
            api.call("dev", &format!("{other}?cursor={next}"), "").await.is(400, "invalid-cursor");
        }
    }
}
