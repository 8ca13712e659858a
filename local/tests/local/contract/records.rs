//! `GET`, `PUT` and `DELETE` of `/users/{user}/profile` and `/settings/{app}`.

use serde_json::{Value, json};

use crate::support::{Answer, Api, if_written, request};

/// The two kinds of records, each with a token that may write it.
const RECORDS: [(&str, &str); 2] = [("/users/ada/profile", "ada"), ("/settings/web", "dev")];

/// The largest size of a document.
const DOCUMENT_BYTES: usize = 64 * 1024;

/// Sends a request with a precondition header.
pub(super) async fn under(
    api: &Api,
    who: &str,
    line: &str,
    (name, value): (&str, &str),
    body: &str,
) -> Answer {
    let request = request(line).header("authorization", format!("Bearer {who}")).header(name, value);
    api.send(request, if_written(line, body)).await
}

/// The revision in a response's `ETag`.
#[track_caller]
pub(super) fn revision(answer: &Answer) -> u64 {
    let tag = answer.header("etag").unwrap();
    tag.strip_prefix('"').unwrap().strip_suffix('"').unwrap().parse().unwrap()
}

pub(super) fn tag(answer: &Answer) -> String {
    answer.header("etag").unwrap().to_owned()
}

#[tokio::test]
async fn a_record_is_created_read_replaced_and_deleted() {
    for (path, who) in RECORDS {
        let api = Api::empty().await;
        let before = api.items().await;
        let [get, put, delete] = ["GET", "PUT", "DELETE"].map(|method| format!("{method} {path}"));
        api.call("ada", &get, "").await.is(404, "not-found");
        api.call(who, &delete, "").await.is_ok(204);

        let text = r#"{"name": "Ada", "ratio": 1.10, "big": 123456789012345678901234567890}"#;
        let created = api.call(who, &put, format!("\n {text}\t")).await;
        assert_eq!(created.is_ok(201).text, text, "the text as it was sent");
        assert!(created.header("lately-cost").unwrap().starts_with("write_units=1.0, calls=1"));
        let read = api.call("ada", &get, "").await;
        assert_eq!((&*read.is_ok(200).text, tag(&read)), (text, tag(&created)));
        assert_eq!(read.header("lately-cost"), Some("read_units=0.5, calls=1, items=1, rounds=0"));
        let read = api.call("ada", &format!("{get}?consistent=true"), "").await;
        assert_eq!(read.is_ok(200).header("lately-cost"), Some("read_units=1.0, calls=1, items=1, rounds=0"));

        let replaced = under(&api, who, &put, ("if-match", &tag(&read)), r#"{"name":"Countess"}"#).await;
        assert_eq!(replaced.is_ok(200).text, r#"{"name":"Countess"}"#);
        assert_eq!(revision(&replaced), revision(&created) + 1, "revisions rise");
        let read = api.call("ada", &get, "").await;
        assert_eq!((&read.text, tag(&read)), (&replaced.text, tag(&replaced)));

        let deleted = under(&api, who, &delete, ("if-match", &tag(&read)), "").await;
        assert!(deleted.is_ok(204).header("etag").is_none());
        assert!(deleted.header("lately-cost").unwrap().starts_with("write_units="));
        api.call("ada", &get, "").await.is(404, "not-found");
        assert_eq!(api.items().await, before, "nothing remains");
        let again = under(&api, who, &put, ("if-none-match", "*"), "{}").await;
        assert!(revision(again.is_ok(201)) > revision(&replaced), "a revision is never used again");
    }
}

#[tokio::test]
async fn a_record_changes_only_with_its_current_revision() {
    for (path, who) in RECORDS {
        let api = Api::empty().await;
        let [get, put, delete] = ["GET", "PUT", "DELETE"].map(|method| format!("{method} {path}"));
        let first = api.call(who, &put, r#"{"a":1}"#).await;
        let second = under(&api, who, &put, ("if-match", &tag(first.is_ok(201))), r#"{"a":2}"#).await;
        let (stale, current) = (tag(&first), tag(second.is_ok(200)));
        let before = api.items().await;

        for line in [&put, &delete] {
            let refused = api.call(who, line, if_written(line, "{}")).await;
            assert!(refused.is(428, "revision-required").header("etag").is_none());
            for precondition in [("if-match", &*stale), ("if-match", "\"0\""), ("if-none-match", "*")] {
                let refused = under(&api, who, line, precondition, "{}").await;
                let etag = refused.is(412, "revision-mismatch").header("etag");
                assert_eq!(etag, Some(&*current), "{line} {precondition:?}");
            }
        }
        assert_eq!(api.items().await, before);
        assert_eq!(api.call("ada", &get, "").await.is_ok(200).text, r#"{"a":2}"#);
        // The revision of the refusal is enough to retry.
        under(&api, who, &put, ("if-match", &current), "{}").await.is_ok(200);
    }
}

#[tokio::test]
async fn a_precondition_on_a_missing_record_writes_nothing() {
    for (path, who) in RECORDS {
        let api = Api::empty().await;
        let [put, delete] = ["PUT", "DELETE"].map(|method| format!("{method} {path}"));
        let before = api.items().await;
        let refused = under(&api, who, &put, ("if-match", "\"1795167000000000\""), "{}").await;
        assert!(refused.is(412, "revision-mismatch").header("etag").is_none());
        for precondition in [("if-match", "\"1795167000000000\""), ("if-none-match", "*")] {
            under(&api, who, &delete, precondition, "").await.is_ok(204);
        }
        assert_eq!(api.items().await, before);
    }
}

#[tokio::test]
async fn an_invalid_precondition_is_refused_and_not_ignored() {
    let api = Api::empty().await;
    let created = api.call("ada", "PUT /users/ada/profile", "{}").await;
    let (current, before) = (tag(created.is_ok(201)), api.items().await);
    for line in ["PUT /users/ada/profile", "DELETE /users/ada/profile"] {
        let weak = format!("W/{current}");
        let list = format!("{current}, \"1\"");
        for value in ["*", "", "1", "\"\"", "\"abc\"", "\"01\"", "\"18446744073709551616\"", &*weak, &*list] {
            let refused = under(&api, "ada", line, ("if-match", value), "{}").await;
            refused.is(400, "invalid-precondition");
            assert!(refused.text.contains("a write names the revision that it replaces"), "{}", refused.text);
        }
        for value in ["", "\"*\"", &*current] {
            let refused = under(&api, "ada", line, ("if-none-match", value), "{}").await;
            refused.is(400, "invalid-precondition");
        }
        let both = request(line)
            .header("authorization", "Bearer ada")
            .header("if-match", &current)
            .header("if-none-match", "*");
        api.send(both, if_written(line, "{}")).await.is(400, "invalid-precondition");
        let twice = request(line)
            .header("authorization", "Bearer ada")
            .header("if-match", &current)
            .header("if-match", &current);
        api.send(twice, if_written(line, "{}")).await.is(400, "invalid-precondition");
    }
    assert_eq!(api.items().await, before);
}

#[tokio::test]
async fn a_document_must_be_a_json_object() {
    for (path, who) in RECORDS {
        let api = Api::empty().await;
        let put = format!("PUT {path}");
        for body in ["[]", "null", "1", "true", "\"{}\"", "[{}]"] {
            let refused = api.call(who, &put, body).await;
            assert_eq!(refused.is(422, "invalid-body").faults(), [""], "{body}");
        }
        let deep = format!("{{\"a\":{}{}}}", "[".repeat(60), "]".repeat(60));
        assert_eq!(api.call(who, &put, deep).await.is(422, "invalid-body").faults(), [""]);
        let bodies: [&[u8]; 9] = [
            b"",
            b" ",
            b"{",
            b"{}{}",
            b"{'a':1}",
            b"{\"a\":\"\\ud800\"}",
            b"\xef\xbb\xbf{}",
            b"{\"a\":\"\xff\"}",
            b"{\"a\":01}",
        ];
        for body in bodies {
            api.call(who, &put, body).await.is(400, "malformed-json");
        }
        api.call("ada", &format!("GET {path}"), "").await.is(404, "not-found");
    }
}

#[tokio::test]
async fn a_document_has_up_to_64_kib_as_sent() {
    for (path, who) in RECORDS {
        let api = Api::empty().await;
        let put = format!("PUT {path}");
        let of_bytes = |bytes: usize| format!("{{\"a\":\"{}\"}}", "x".repeat(bytes - 8));
        api.call(who, &put, of_bytes(DOCUMENT_BYTES + 1)).await.is(413, "too-large");
        // The size of the body counts, with its white space.
        api.call(who, &put, format!("{{}}{}", " ".repeat(DOCUMENT_BYTES - 1))).await.is(413, "too-large");
        let largest = of_bytes(DOCUMENT_BYTES);
        let created = api.call(who, &put, largest.clone()).await;
        assert_eq!(created.is_ok(201).text, largest);
        let read = api.call("ada", &format!("GET {path}"), "").await;
        assert_eq!(read.is_ok(200).text, largest);
        let replaced = under(&api, who, &put, ("if-match", &tag(&read)), &largest).await;
        let refused = under(&api, who, &put, ("if-match", &tag(&read)), &largest).await;
        assert_eq!(refused.is(412, "revision-mismatch").header("etag"), replaced.header("etag"));
    }
}

#[tokio::test]
async fn names_of_stored_attributes_are_ordinary_fields() {
    let api = Api::empty().await;
    let names =
        ["pk", "sk", "gsi1pk", "gsi1sk", "gsi2pk", "gsi2sk", "revision", "expires_at", "owner", "d", "w"];
    let document: serde_json::Map<_, _> =
        names.iter().map(|name| ((*name).to_owned(), json!("owned"))).collect();
    let text = Value::from(document).to_string();
    let before = api.items().await;
    let created = api.call("ada", "PUT /users/ada/profile", text.clone()).await;
    let read = api.call("ada", "GET /users/ada/profile", "").await;
    assert_eq!((&read.is_ok(200).text, tag(&read)), (&text, tag(created.is_ok(201))));
    let written: Vec<_> = api.items().await.into_iter().filter(|item| !before.contains(item)).collect();
    let [item] = &written[..] else { panic!("{written:?}") };
    for name in names {
        let is_attribute = item.contains(&format!("\"{name}\": "));
        assert_eq!(is_attribute, ["pk", "sk", "revision", "d", "w"].contains(&name), "{name} of {item}");
    }
    assert!(item.contains("\"pk\": S(\"USER#ada\")"), "{item}");
}

#[tokio::test]
async fn each_user_and_app_has_its_own_record() {
    let api = Api::empty().await;
    api.call("ada", "PUT /users/ada/profile", r#"{"of":"ada"}"#).await.is_ok(201);
    api.call("bob", "PUT /users/bob/profile", r#"{"of":"bob"}"#).await.is_ok(201);
    api.call("dev", "PUT /settings/ada", r#"{"of":"web"}"#).await.is_ok(201);
    for (line, who, of) in [
        ("GET /users/ada/profile", "ada", "ada"),
        ("GET /users/bob/profile", "dev", "bob"),
        ("GET /settings/ada", "bob", "web"),
    ] {
        assert_eq!(api.call(who, line, "").await.is_ok(200).json(), json!({"of": of}));
    }
    for method in ["GET", "PUT", "DELETE"] {
        api.call("bob", &format!("{method} /users/ada/profile"), "{}").await.is(403, "forbidden");
    }
    for method in ["PUT", "DELETE"] {
        api.call("ada", &format!("{method} /settings/ada"), "{}").await.is(403, "forbidden");
    }
    // A user's follows are stored beside the profile, and are not part of it.
    api.call("ada", "PUT /users/ada/following/actor:bob", "").await.is_ok(201);
    assert_eq!(api.call("ada", "GET /users/ada/profile", "").await.json(), json!({"of": "ada"}));
}

#[tokio::test]
async fn ill_formed_names_and_queries_are_refused() {
    let api = Api::empty().await;
    for line in ["/users/a%23b/profile", "/users/%20/profile", "/settings/a%2Fb", "/settings/.a"] {
        for method in ["GET", "PUT", "DELETE"] {
            let body = if_written(method, "{}");
            api.call("dev", &format!("{method} {line}"), body).await.is(400, "invalid-name");
        }
    }
    for query in ["consistent=yes", "limit=1", "consistent=true&consistent=true"] {
        let refused = api.call("dev", &format!("GET /settings/web?{query}"), "").await;
        refused.is(400, "invalid-query");
    }
    for line in ["GET /settings", "GET /users/ada"] {
        api.call("dev", line, "{}").await.is(404, "route-not-found");
    }
}
