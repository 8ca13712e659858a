//! `POST` and `GET` of `/repos/{owner}/{repo}/issues`, and `GET` and `PATCH` of a single issue.

use std::time::Duration;

use lately_model::Scope;
use serde_json::{Value, json};

use super::records::{revision, tag, under};
use crate::support::{Answer, Api, if_written, old_issue, put_item, request};

const ISSUES: &str = "/repos/octo/hello/issues";

async fn open(api: &Api, who: &str, body: &Value) -> Answer {
    api.call(who, &format!("POST {ISSUES}"), body.to_string()).await
}

/// An API with issues that have various labels. Every third issue is closed.
async fn world_of(issues: usize) -> Api {
    let api = Api::empty().await;
    for number in 1..=issues {
        let labels = [&["critical"][..], &["enhancement"], &["ui"], &[]][number % 4];
        let opened = open(&api, "ada", &json!({"title": format!("Issue {number}"), "labels": labels})).await;
        assert_eq!(opened.is_ok(201).json()["number"], number);
        if number % 3 == 0 {
            change(&api, "ada", &opened, &json!({"status": "closed"})).await.is_ok(200);
        }
    }
    api
}

/// Changes the issue of a response, with the revision of that response.
async fn change(api: &Api, who: &str, seen: &Answer, body: &Value) -> Answer {
    let line = format!("PATCH {ISSUES}/{}", seen.json()["number"]);
    under(api, who, &line, ("if-match", &tag(seen)), &body.to_string()).await
}

/// The list for a query, and the numbers of its issues.
async fn list(api: &Api, query: &str) -> (Value, Vec<u64>) {
    let list = api.call("bob", &format!("GET {ISSUES}?{query}"), "").await.is_ok(200).json();
    let numbers = list["issues"].as_array().unwrap().iter();
    let numbers = numbers.map(|issue| issue["number"].as_u64().unwrap()).collect();
    (list, numbers)
}

/// The type, actor and data of the issues' events, newest first.
async fn events(api: &Api) -> Vec<(String, String, Value)> {
    let page = api.call("dev", "GET /topics/issues/events?consistent=true", "").await.is_ok(200).json();
    let text = |event: &Value, name: &str| event[name].as_str().unwrap().to_owned();
    let events = page["events"].as_array().unwrap().iter();
    events.map(|event| (text(event, "type"), text(event, "actor"), event["data"].clone())).collect()
}

#[tokio::test]
async fn an_issue_is_opened_read_changed_closed_and_reopened() {
    let api = Api::empty().await;
    let new = json!({"title": "It is \"slow\"", "body": "Since\nyesterday.", "labels": ["ui", "critical"]});
    let opened = open(&api, "ada", &new).await;
    let issue = opened.is_ok(201).json();
    let expected = json!({
        "owner": "octo", "repo": "hello", "number": 1, "title": new["title"], "body": new["body"],
        "labels": new["labels"], "status": "open", "priority": "high", "opened_by": "ada",
        "opened_at": issue["opened_at"], "updated_at": issue["opened_at"], "revision": revision(&opened),
    });
    assert_eq!(issue, expected);
    let location = opened.header("location").unwrap();
    assert_eq!(location, format!("{ISSUES}/1"));
    let read = api.call("bob", &format!("GET {location}"), "").await;
    assert_eq!((read.is_ok(200).json(), tag(&read)), (issue.clone(), tag(&opened)));
    assert_eq!(read.header("lately-cost"), Some("read_units=0.5, calls=1, items=1, rounds=0"));
    let read = api.call("bob", &format!("GET {location}?consistent=true"), "").await;
    assert_eq!(read.is_ok(200).header("lately-cost"), Some("read_units=1.0, calls=1, items=1, rounds=0"));

    let edited =
        change(&api, "bob", &read, &json!({"title": "It is fast", "body": null, "labels": []})).await;
    let mut expected = issue.clone();
    expected["title"] = json!("It is fast");
    expected["labels"] = json!([]);
    expected["priority"] = json!("medium");
    expected["revision"] = json!(revision(&opened) + 1);
    expected["updated_at"] = edited.is_ok(200).json()["updated_at"].clone();
    expected.as_object_mut().unwrap().remove("body");
    assert_eq!((edited.json(), revision(&edited)), (expected, revision(&opened) + 1));
    let closed = change(&api, "ada", &edited, &json!({"status": "closed", "priority": "low"})).await;
    assert_eq!(
        (&closed.is_ok(200).json()["status"], revision(&closed)),
        (&json!("closed"), revision(&opened) + 2)
    );
    let reopened = change(&api, "dev", &closed, &json!({"status": "open"})).await;
    let read = api.call("bob", &format!("GET {location}?consistent=true"), "").await;
    assert_eq!((read.json(), tag(&read)), (reopened.is_ok(200).json(), tag(&reopened)));

    let data = |title: &str, status: &str, priority: &str, changed: &[&str]| {
        let mut data = json!({"number": 1, "title": title, "status": status, "priority": priority});
        data["changed"] = json!(changed);
        data
    };
    let dev = events(&api).await[0].1.clone();
    let expected = [
        ("issue.reopened", &*dev, data("It is fast", "open", "low", &["status"])),
        ("issue.closed", "ada", data("It is fast", "closed", "low", &["status", "priority"])),
        (
            "issue.updated",
            "bob",
            data("It is fast", "open", "medium", &["title", "body", "labels", "priority"]),
        ),
        ("issue.opened", "ada", data("It is \"slow\"", "open", "high", &[])),
    ];
    let expected = expected.map(|(kind, actor, data)| (kind.to_owned(), actor.to_owned(), data));
    assert_eq!(events(&api).await, expected);
    // The actor of a token without a user is its session.
    assert!(dev.parse::<lately_keys::SessionId>().is_ok(), "{dev}");
}

#[tokio::test]
async fn each_repository_counts_its_own_issues() {
    let api = Api::empty().await;
    for (repository, number) in [("octo/hello", 1), ("octo/hello", 2), ("octo/engine", 1), ("hello/octo", 1)]
    {
        let line = format!("POST /repos/{repository}/issues");
        let opened = api.call("ada", &line, r#"{"title":"t"}"#).await;
        assert_eq!(opened.is_ok(201).json()["number"], number, "{repository}");
    }
    let elsewhere = api.call("ada", "GET /repos/octo/engine/issues", "").await.is_ok(200).json();
    assert_eq!(elsewhere["issues"].as_array().unwrap().len(), 1);
    let nowhere = api.call("ada", "GET /repos/octo/nowhere/issues", "").await.is_ok(200).json();
    assert_eq!(nowhere, json!({"issues": [], "next": null}));
}

#[tokio::test]
async fn an_issue_changes_only_with_its_current_revision() {
    let api = Api::empty().await;
    let first = open(&api, "ada", &json!({"title": "t"})).await;
    let second = change(&api, "ada", &first, &json!({"title": "u"})).await;
    let (stale, current) = (tag(&first), tag(second.is_ok(200)));
    let before = api.items().await;
    let line = format!("PATCH {ISSUES}/1");
    let body = r#"{"title":"v"}"#;
    let refused = api.call("ada", &line, body).await;
    assert_eq!(refused.is(428, "revision-required").header("etag"), Some(&*current));
    for precondition in [("if-match", &*stale), ("if-match", "\"0\""), ("if-none-match", "*")] {
        let refused = under(&api, "ada", &line, precondition, body).await;
        let etag = refused.is(412, "revision-mismatch").header("etag");
        assert_eq!(etag, Some(&*current), "{precondition:?}");
    }
    for precondition in [("if-match", "*"), ("if-match", "1"), ("if-none-match", &*current)] {
        under(&api, "ada", &line, precondition, body).await.is(400, "invalid-precondition");
    }
    assert_eq!(api.items().await, before);
    // The revision of the refusal is enough to retry.
    under(&api, "ada", &line, ("if-match", &current), body).await.is_ok(200);
}

#[tokio::test]
async fn an_unknown_issue_is_not_found_and_nothing_is_written() {
    let api = world_of(1).await;
    let before = api.items().await;
    for number in ["2", "99999999"] {
        api.call("ada", &format!("GET {ISSUES}/{number}"), "").await.is(404, "not-found");
        let line = format!("PATCH {ISSUES}/{number}");
        api.call("ada", &line, r#"{"status":"closed"}"#).await.is(404, "not-found");
        let refused =
            under(&api, "ada", &line, ("if-match", "\"1795167000000000\""), r#"{"status":"closed"}"#).await;
        assert!(refused.is(412, "revision-mismatch").header("etag").is_none());
    }
    assert_eq!(api.items().await, before);
}

#[tokio::test]
async fn a_change_without_effect_writes_nothing() {
    let api = Api::empty().await;
    let opened = open(&api, "ada", &json!({"title": "t", "labels": ["a"]})).await;
    let before = api.items().await;
    let body = json!({"title": "t", "labels": ["a"], "status": "open", "body": null});
    let changed = change(&api, "bob", &opened, &body).await;
    assert_eq!((changed.is_ok(200).json(), tag(&changed)), (opened.json(), tag(&opened)));
    assert!(changed.header("lately-cost").unwrap().starts_with("write_units=0.0, "));
    assert_eq!(api.items().await, before, "no event is written");
}

#[tokio::test]
async fn a_priority_follows_the_labels_until_it_is_set_by_hand() {
    let api = Api::empty().await;
    let mut issue = open(&api, "ada", &json!({"title": "t"})).await;
    for (body, priority) in [
        (json!({"labels": ["enhancement"]}), "low"),
        (json!({"labels": ["enhancement", "critical"]}), "high"),
        (json!({"labels": []}), "medium"),
        // The same priority, but now set by hand.
        (json!({"priority": "medium"}), "medium"),
        (json!({"labels": ["critical"]}), "medium"),
        (json!({"priority": "low", "labels": ["ui"]}), "low"),
    ] {
        issue = change(&api, "ada", &issue, &body).await;
        assert_eq!(issue.is_ok(200).json()["priority"], priority, "{body}");
        assert_eq!(list(&api, &format!("priority={priority}")).await.1, [1], "{body}");
    }
    for gone in ["high", "medium"] {
        assert_eq!(list(&api, &format!("priority={gone}")).await.1, [0; 0]);
    }
}

#[tokio::test]
async fn issues_are_listed_by_number_status_and_priority_both_ways() {
    let api = world_of(12).await;
    for (query, expected) in [
        ("", &[12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1][..]),
        ("order=asc", &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]),
        ("from=3&to=5", &[5, 4, 3]),
        ("from=11", &[12, 11]),
        ("to=2&order=asc", &[1, 2]),
        ("from=13", &[]),
        ("consistent=true&to=1", &[1]),
        ("status=closed", &[12, 9, 6, 3]),
        ("status=open&order=asc&from=2&to=8", &[2, 4, 5, 7, 8]),
        ("priority=high", &[12, 8, 4]),
        ("priority=low&order=asc", &[1, 5, 9]),
        ("priority=medium&from=3&to=7", &[7, 6, 3]),
    ] {
        let (whole, numbers) = list(&api, query).await;
        assert_eq!((&numbers[..], &whole["next"]), (expected, &Value::Null), "{query}");
        // The pages together equal the list, and the last page has no cursor, also if it is full.
        for limit in [1, 2, 3, 4] {
            let (mut paged, mut pages, mut cursor) = (Vec::new(), 0, String::new());
            loop {
                let (page, numbers) = list(&api, &format!("{query}&limit={limit}{cursor}")).await;
                paged.extend(numbers);
                pages += 1;
                let Some(next) = page["next"].as_str() else { break };
                cursor = format!("&cursor={next}");
            }
            assert_eq!(paged, expected, "{query} by {limit}");
            assert_eq!(pages, expected.len().div_ceil(limit).max(1), "{query} by {limit}");
        }
    }
    let (page, _) = list(&api, "order=asc&limit=2").await;
    let next = page["next"].as_str().unwrap();
    assert_eq!(list(&api, &format!("cursor={next}")).await.1[0], 3, "the cursor contains its order");
    for query in ["status=open", "from=1", "to=12", "order=desc"] {
        let line = format!("GET {ISSUES}?{query}&cursor={next}");
        api.call("ada", &line, "").await.is(400, "invalid-cursor");
    }
    let line = format!("GET /repos/octo/engine/issues?cursor={next}");
    api.call("ada", &line, "").await.is(400, "invalid-cursor");
}

#[tokio::test]
async fn a_list_waits_for_a_revision_or_is_not_yet_visible() {
    let api = world_of(1).await;
    let seen = api.call("ada", &format!("GET {ISSUES}/1"), "").await;
    let (number, next) = (1, revision(&seen) + 1);
    for query in ["", "status=open&", "priority=low&"] {
        let (_, numbers) = list(&api, &format!("{query}wait_for={number}@{}", revision(&seen))).await;
        assert_eq!(numbers, [1], "{query}");
    }
    let changing = async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        change(&api, "ada", &seen, &json!({"status": "closed"})).await
    };
    let query = format!("status=closed&wait_for={number}@{next}");
    let ((_, numbers), changed) = tokio::join!(list(&api, &query), changing);
    assert_eq!((numbers, revision(changed.is_ok(200))), (vec![1], next));
    // A later revision ends the wait too, also if the issue has left the list.
    for query in ["status=open", "status=closed", "priority=high"] {
        list(&api, &format!("{query}&wait_for={number}@{}", revision(&seen))).await;
    }

    let never = [format!("wait_for=1@{}", next + 1), format!("priority=low&wait_for=2@{next}")];
    let asked = never.map(|query| format!("GET {ISSUES}?{query}"));
    let [late, nothing] = &asked;
    for answer in <[Answer; 2]>::from(tokio::join!(api.call("ada", late, ""), api.call("ada", nothing, ""))) {
        assert!(answer.is(504, "not-yet-visible").header("retry-after").is_some());
    }
}

#[tokio::test]
async fn a_read_upgrades_an_issue_of_an_older_schema() {
    let api = Api::empty().await;
    put_item(&api, old_issue()).await;
    let missing = ["revision", "updated_at", "priority", "gsi2pk"];
    let stored = async || {
        let issue = api.items().await.into_iter().find(|item| item.contains("ISSUE#00000007")).unwrap();
        missing.iter().filter(|name| issue.contains(&format!("\"{name}\":"))).count()
    };
    assert_eq!(stored().await, 0);
    assert_eq!(list(&api, "priority=high").await.1, [0; 0]);
    let read = api.call("bob", &format!("GET {ISSUES}/7"), "").await;
    let expected = json!({
        "owner": "octo", "repo": "hello", "number": 7, "title": "The counter runs backwards",
        "labels": ["critical", "ui"], "status": "open", "priority": "high", "opened_by": "ada",
        "opened_at": "2026-11-20T09:30:00.000Z", "updated_at": "2026-11-20T09:30:00.000Z",
        "revision": 1_795_167_000_000_000_u64,
    });
    assert_eq!((read.is_ok(200).json(), revision(&read)), (expected, 1_795_167_000_000_000));
    assert_eq!(stored().await, missing.len(), "the upgraded issue is written back");
    assert_eq!(list(&api, "priority=high").await.1, [7]);
    let before = api.items().await;
    let again = api.call("bob", &format!("GET {ISSUES}/7?consistent=true"), "").await;
    assert_eq!((again.json(), api.items().await), (read.json(), before), "it is upgraded once");
    change(&api, "ada", &read, &json!({"status": "closed"})).await.is_ok(200);
    // The table's counter starts at 1, although an issue 7 exists.
    assert_eq!(open(&api, "ada", &json!({"title": "t"})).await.is_ok(201).json()["number"], 1);
}

#[tokio::test]
async fn an_invalid_issue_is_refused_with_every_fault() {
    let api = world_of(1).await;
    let before = api.items().await;
    let (post, patch) = (format!("POST {ISSUES}"), format!("PATCH {ISSUES}/1"));
    for (body, faults) in [
        (json!({}), &["/title"][..]),
        (
            json!({"title": "", "body": "\u{0}", "labels": ["a", "a"], "status": "open"}),
            &["/status", "/title", "/body", "/labels/1"],
        ),
        (json!({"title": "x".repeat(257)}), &["/title"]),
        (json!({"title": "t", "labels": vec!["a"; 21]}), &["/labels"]),
        (
            json!({"title": "t", "labels": ["", " a", "x".repeat(51), 1]}),
            &["/labels/0", "/labels/1", "/labels/2", "/labels/3"],
        ),
        (json!({"title": "a\nb"}), &["/title"]),
        (
            json!({"title": "t", "number": 7, "revision": 1, "pk": "x", "schema": 9}),
            &["/number", "/pk", "/revision", "/schema"],
        ),
    ] {
        let refused = api.call("ada", &post, body.to_string()).await;
        assert_eq!(refused.is(422, "invalid-body").faults(), faults, "{body}");
    }
    for (body, faults) in [
        (json!({}), &[""][..]),
        (
            json!({"status": "OPEN", "priority": "urgent", "by_hand": true}),
            &["/by_hand", "/status", "/priority"],
        ),
        (
            json!({"title": null, "labels": null, "status": null, "priority": null}),
            &["/title", "/labels", "/status", "/priority"],
        ),
        (json!({"opened_by": "bob"}), &["/opened_by", ""]),
    ] {
        // The body's faults are reported before the missing revision.
        let refused = api.call("ada", &patch, body.to_string()).await;
        assert_eq!(refused.is(422, "invalid-body").faults(), faults, "{body}");
    }
    let large = json!({"title": "t", "body": "x".repeat(64 * 1024)}).to_string();
    for line in [&post, &patch] {
        api.call("ada", line, large.clone()).await.is(413, "too-large");
    }
    assert_eq!(api.items().await, before);
    let fits = json!({"title": "ß".repeat(256), "body": "x".repeat(64_000), "labels": ["a", "A", "ß"]});
    let opened = open(&api, "ada", &fits).await;
    for (name, value) in fits.as_object().unwrap() {
        assert_eq!(&opened.is_ok(201).json()[name], value, "{name}");
    }
}

#[tokio::test]
async fn ill_formed_names_and_numbers_are_refused() {
    let api = Api::empty().await;
    let long = "a".repeat(61);
    for (owner, repo) in [(&*long, "hello"), ("octo", &*long)] {
        for line in [
            format!("GET /repos/{owner}/{repo}/issues"),
            format!("GET /repos/{owner}/{repo}/issues/1"),
            format!("POST /repos/{owner}/{repo}/issues"),
        ] {
            api.call("ada", &line, if_written(&line, r#"{"title":"t"}"#)).await.is(400, "invalid-name");
        }
    }
    for number in
        ["0", "-1", "+1", "1.0", "100000000", "99999999999999999999", "a", "%31%00", "1e1", "%D9%A4"]
    {
        for method in ["GET", "PATCH"] {
            let line = format!("{method} {ISSUES}/{number}");
            api.call("ada", &line, if_written(&line, r#"{"status":"open"}"#)).await.is(400, "invalid-name");
        }
    }
    api.call("ada", "GET /repos/octo/hello", "{}").await.is(404, "route-not-found");
}

#[tokio::test]
async fn a_token_limited_to_other_topics_sees_and_changes_no_issues() {
    let api = world_of(1).await;
    let before = api.items().await;
    let lines = [
        format!("GET {ISSUES}"),
        format!("GET {ISSUES}/1"),
        format!("POST {ISSUES}"),
        format!("PATCH {ISSUES}/1"),
    ];
    let limited = api.of(None, &[Scope::Admin], Some(&["posts"]));
    for line in &lines {
        limited.call("", line, r#"{"title":"t"}"#).await.is(403, "forbidden");
    }
    assert_eq!(api.items().await, before);
    let of_issues = api.of(Some("bob"), &[Scope::Read, Scope::Write], Some(&["issues"]));
    for (line, status) in lines.iter().zip([200, 200, 201, 428]) {
        let body = if_written(line, r#"{"title":"t"}"#);
        assert_eq!(of_issues.call("", line, body).await.status, status, "{line}");
    }
    assert_eq!(events(&api).await[0].1, "bob");
}

#[tokio::test]
async fn an_existing_topic_of_issues_keeps_its_settings() {
    let api = Api::empty().await;
    api.call("dev", "PUT /topics/issues", r#"{"bucket":"month","retention_days":7}"#).await.is_ok(201);
    open(&api, "ada", &json!({"title": "t"})).await.is_ok(201);
    let topic = api.call("ada", "GET /topics/issues", "").await.json();
    assert_eq!((&topic["bucket"], &topic["retention_days"]), (&json!("month"), &json!(7)));
    assert_eq!(events(&api).await.len(), 1);
    let fresh = Api::empty().await;
    open(&fresh, "ada", &json!({"title": "t"})).await.is_ok(201);
    let topic = fresh.call("ada", "GET /topics/issues", "").await.json();
    assert_eq!((&topic["bucket"], &topic["fan_out"]), (&json!("day"), &json!(true)));
    let put = request("PUT /topics/issues").header("authorization", "Bearer dev");
    fresh.send(put, r#"{"bucket":"hour"}"#).await.is(409, "bucket-is-fixed");
}

#[tokio::test]
async fn only_issues_and_admins_imports_write_issue_events() {
    let api = world_of(1).await;
    let before = api.items().await;
    let forged = |at: Option<&str>| {
        let mut forged = json!({"type": "issue.closed", "actor": "ada", "subject": "repo:octo:hello"});
        if let Some(at) = at {
            forged["at"] = at.into();
        }
        forged
    };
    let (now, old) = (forged(None), forged(Some("2026-01-01T00:00:00Z")));
    let importer = api.of(None, &[Scope::Read, Scope::Write, Scope::Import, Scope::ActAs], None);
    let line = "POST /topics/issues/events";
    for body in [now.clone(), json!([now]), json!([now, old])] {
        for token in ["ada", "dev"] {
            api.call(token, line, body.to_string()).await.is(403, "forbidden");
        }
        importer.call("", line, body.to_string()).await.is(403, "forbidden");
    }
    importer.call("", line, old.to_string()).await.is(403, "forbidden");
    let lines =
        request(line).header("authorization", "Bearer ada").header("content-type", "application/x-ndjson");
    api.send(lines, now.to_string()).await.is(403, "forbidden");
    assert_eq!(api.items().await, before);
    api.call("dev", line, old.to_string()).await.is_ok(201);
    api.call("dev", line, json!([old, old]).to_string()).await.is_ok(201);
}
