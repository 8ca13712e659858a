//! Hostile requests: each gets its documented error, never a 5xx, and writes nothing.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::Request;
use axum::http::{HeaderValue, Uri};
use lately_model::limits::BODY_BYTES;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};

use crate::support::{Answer, Api, event, request};

const POST: &str = "POST /topics/posts/events";
/// The requests that open an issue and change one.
const ISSUES: [&str; 2] = ["POST /repos/octo/hello/issues", "PATCH /repos/octo/hello/issues/1"];

/// Sends requests that must be refused.
struct Refusals {
    api: Api,
    before: Vec<String>,
}

impl Refusals {
    async fn new() -> Self {
        let api = Api::with_posts().await;
        api.call("ada", POST, event().to_string()).await.is_ok(201);
        api.call("ada", ISSUES[0], r#"{"title":"It is slow"}"#).await.is_ok(201);
        let before = api.items().await;
        Self { api, before }
    }

    async fn call(&self, line: &str, body: impl Into<Body>) -> Answer {
        self.api.call("dev", line, body).await
    }

    async fn nothing_was_written(self) {
        assert_eq!(self.api.items().await, self.before);
    }
}

/// A body in pieces, without a content length.
struct Pieces(usize, Bytes);

impl HttpBody for Pieces {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<http_body::Frame<Bytes>, Infallible>>> {
        let Some(remaining) = self.0.checked_sub(1) else { return Poll::Ready(None) };
        self.0 = remaining;
        Poll::Ready(Some(Ok(http_body::Frame::data(self.1.clone()))))
    }
}

fn pieces(count: usize, piece: &'static [u8]) -> Body {
    Body::new(Pieces(count, Bytes::from_static(piece)))
}

#[tokio::test]
async fn bodies_that_are_not_json() {
    let refusals = Refusals::new().await;
    let bodies: [&[u8]; 16] = [
        b"",
        b" ",
        b"{",
        b"[",
        b"[{}",
        b"nonsense",
        b"{}{}",
        b"{'type':'a'}",
        b"{\"type\":\"a\",}",
        b"{\"type\":\"a\" /* */}",
        b"\xff\xfe",
        b"\xef\xbb\xbf{}",
        b"{\"type\":\"\\ud800\"}",
        b"NaN",
        b"\0",
        b"{\"type\":\"a\",\"actor\":\"ada\",\"data\":01}",
    ];
    for body in bodies {
        for line in [POST, ISSUES[0], ISSUES[1]] {
            refusals.call(line, body).await.is(400, "malformed-json");
        }
        if !body.trim_ascii().is_empty() {
            refusals.call("PUT /topics/posts", body).await.is(400, "malformed-json");
        }
        // The same body without a content length.
        refusals.call(POST, pieces(1, body)).await.is(400, "malformed-json");
    }
    let lines =
        request(POST).header("authorization", "Bearer dev").header("content-type", "application/x-ndjson");
    refusals.api.send(lines, format!("{}\nnonsense", event())).await.is(400, "malformed-json");
    refusals.nothing_was_written().await;
}

#[tokio::test]
async fn bodies_that_are_json_of_another_shape() {
    let refusals = Refusals::new().await;
    for body in ["null", "true", "0", "\"\"", "{}", "[]", "[[]]", "[null]", "[{}]", "[[[{}]]]"] {
        refusals.call(POST, body).await.is(422, "invalid-event");
    }
    for body in ["null", "true", "0", "\"\"", "[]", "[{}]"] {
        refusals.call("PUT /topics/posts", body).await.is(422, "invalid-topic");
        for line in ISSUES {
            refusals.call(line, body).await.is(422, "invalid-body");
        }
    }
    let values =
        [json!(null), json!(1), json!(-1.5), json!(true), json!([]), json!({}), json!(""), json!("a b")];
    for value in &values {
        for field in ["type", "actor", "subject", "at"] {
            let mut event = event();
            event[field] = value.clone();
            let answer = refusals.call(POST, event.to_string()).await;
            assert_eq!(answer.is(422, "invalid-event").faults(), [format!("/{field}")], "{event}");
        }
        for field in ["title", "body", "labels", "status", "priority"] {
            let fits = match field {
                "title" => *value == json!("a b"),
                "body" => value.is_null() || value.is_string(),
                "labels" => *value == json!([]),
                _ => false,
            };
            if !fits {
                let answer = refusals.call(ISSUES[1], json!({field: value}).to_string()).await;
                assert_eq!(answer.is(422, "invalid-body").faults(), [format!("/{field}")]);
            }
        }
        for field in ["bucket", "retention_days", "min_shards", "max_shards", "fan_out", "views"] {
            let fits = [
                ("retention_days", json!(null)),
                ("retention_days", json!(1)),
                ("min_shards", json!(1)),
                ("max_shards", json!(1)),
                ("fan_out", json!(true)),
                ("views", json!([])),
            ];
            if !fits.contains(&(field, value.clone())) {
                let answer = refusals.call("PUT /topics/posts", json!({field: value}).to_string()).await;
                assert_eq!(answer.is(422, "invalid-topic").faults(), [format!("/{field}")]);
            }
        }
    }
    refusals.nothing_was_written().await;
}

#[tokio::test]
async fn unknown_and_repeated_fields() {
    let refusals = Refusals::new().await;
    for (field, path) in [("Type", "/Type"), ("id", "/id"), ("", "/"), ("a/b~c", "/a~1b~0c"), ("pk", "/pk")] {
        let mut event = event();
        event[field] = json!(1);
        assert_eq!(refusals.call(POST, event.to_string()).await.is(422, "invalid-event").faults(), [path]);
        let answer = refusals.call("PUT /topics/posts", json!({field: 1}).to_string()).await;
        assert_eq!(answer.is(422, "invalid-topic").faults(), [path]);
        for line in ISSUES {
            let answer = refusals.call(line, json!({"title": "t", field: 1}).to_string()).await;
            assert_eq!(answer.is(422, "invalid-body").faults(), [path]);
        }
    }
    for line in ISSUES {
        let twice = refusals.call(line, r#"{"title":"t","\u0074itle":"u"}"#).await;
        assert_eq!(twice.is(422, "invalid-body").faults(), ["/title"]);
        let labels = format!(r#"{{"title":"t","labels":[{}""]}}"#, "\"\",".repeat(20_000));
        assert!(refusals.call(line, labels).await.is(422, "invalid-body").text.len() < 4096);
    }
    let twice = r#"{"type":"a","actor":"ada","\u0061ctor":"bob"}"#;
    assert_eq!(refusals.call(POST, twice).await.is(422, "invalid-event").faults(), ["/actor"]);
    let many: String = (0..100_000).map(|number| format!("\"f{number}\":0,")).collect();
    let answer = refusals.call(POST, format!("{{{many}\"type\":\"a\",\"actor\":\"ada\"}}")).await;
    answer.is(413, "too-large");
    let many: String = (0..10_000).map(|number| format!("\"f{number}\":0,")).collect();
    let answer = refusals.call(POST, format!("{{{many}\"type\":\"a\",\"actor\":\"ada\"}}")).await;
    assert!(answer.is(422, "invalid-event").text.len() < 4096, "the response is short");
    refusals.nothing_was_written().await;
}

#[tokio::test]
async fn bodies_and_batches_beyond_their_caps() {
    let refusals = Refusals::new().await;
    let mebibyte: &'static [u8] = vec![b' '; 1024 * 1024].leak();
    for line in [POST, "PUT /topics/posts", ISSUES[0], ISSUES[1]] {
        refusals.call(line, vec![b' '; BODY_BYTES + 1]).await.is(413, "too-large");
        refusals.call(line, pieces(4, mebibyte)).await.is(413, "too-large");
        // This body never ends, so the server must refuse it without reading it whole.
        refusals.call(line, pieces(usize::MAX, mebibyte)).await.is(413, "too-large");
    }
    let batch = |count: usize| Value::from(vec![event(); count]).to_string();
    for count in [501, 20_000] {
        refusals.call(POST, batch(count)).await.is(422, "too-many-events");
    }
    let lines =
        request(POST).header("authorization", "Bearer dev").header("content-type", "application/x-ndjson");
    refusals.api.send(lines, format!("{}\n", event()).repeat(501)).await.is(422, "too-many-events");
    let large = json!({"type": "a", "actor": "ada", "data": "x".repeat(256 * 1024)}).to_string();
    refusals.call(POST, large.clone()).await.is(413, "too-large");
    refusals.call(POST, format!("[{},{large}]", event())).await.is(413, "too-large");
    refusals.nothing_was_written().await;
}

#[tokio::test]
async fn deep_nesting_and_huge_numbers() {
    let refusals = Refusals::new().await;
    let nested = |open: &str, close: &str, levels: usize| {
        let data = format!("{}0{}", open.repeat(levels), close.repeat(levels));
        format!(r#"{{"type":"a","actor":"ada","data":{data}}}"#)
    };
    for levels in [61, 1_000, 100_000] {
        for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
            let body = nested(open, close, levels);
            if body.len() <= 256 * 1024 {
                assert_eq!(refusals.call(POST, body).await.is(422, "invalid-event").faults(), ["/data"]);
            } else {
                refusals.call(POST, body).await.is(413, "too-large");
            }
        }
    }
    for body in ["[".repeat(100_000), "{\"a\":".repeat(100_000), "[".repeat(BODY_BYTES)] {
        refusals.call(POST, body.clone()).await.is(400, "malformed-json");
        // These routes accept bodies of at most 64 KiB.
        for line in ["PUT /topics/posts", ISSUES[0], ISSUES[1]] {
            refusals.call(line, body.clone()).await.is(413, "too-large");
            refusals.call(line, body[..60_000].to_owned()).await.is(400, "malformed-json");
        }
    }
    let nest = |levels| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    refusals.call(POST, nest(100_000)).await.is(422, "invalid-event");
    let deep = nest(30_000);
    refusals.call("PUT /topics/posts", deep.clone()).await.is(422, "invalid-topic");
    refusals.call("PUT /topics/posts", format!(r#"{{"views":{deep}}}"#)).await.is(422, "invalid-topic");
    for line in ISSUES {
        refusals.call(line, deep.clone()).await.is(422, "invalid-body");
        let labels = format!(r#"{{"title":"t","labels":[{deep}]}}"#);
        assert_eq!(refusals.call(line, labels).await.is(422, "invalid-body").faults(), ["/labels/0"]);
    }
    for number in ["1e999", "-1e999", "99999999999999999999", "-0", "1.0", "0.5", "4294967297", "65537"] {
        for field in ["retention_days", "min_shards", "max_shards"] {
            let body = format!(r#"{{"{field}":{number}}}"#);
            let answer = refusals.call("PUT /topics/posts", body).await;
            assert_eq!(answer.is(422, "invalid-topic").faults(), [format!("/{field}")], "{number}");
        }
    }
    refusals.nothing_was_written().await;
    // Numbers in an event's data may have any size.
    let api = Api::with_posts().await;
    let data = format!("[1e999,-0,{}]", "9".repeat(100_000));
    let posted = api.call("ada", POST, format!(r#"{{"type":"a","actor":"ada","data":{data}}}"#)).await;
    assert!(posted.is_ok(201).text.contains(&data));
    api.call("ada", POST, nested("[", "]", 60)).await.is_ok(201);
    let page = api.call("ada", "GET /topics/posts/events", "").await;
    assert!(page.is_ok(200).text.contains(&data));
}

/// Path segments that are not valid names.
fn bad_names() -> Vec<String> {
    let names = "%23 a%23b a%2Fb %2F ..%2F.. .. . a%20b %20 + a+b %00 a%0Ab %7F %1b %C3%A9 %F0%9F%98%80 %ff \
        a%80 %c0%af % a% %z %zz a%2 %25 %2561 -a _a @ a:b a* a%3F ~ $ %E2%80%8B a;b a=b a,b (a) '";
    let mut names: Vec<_> = names.split(' ').map(str::to_owned).collect();
    names.extend(["a".repeat(129), "a".repeat(2048), "%61".repeat(129), "%C3%A9".repeat(1024)]);
    names
}

#[tokio::test]
async fn names_outside_their_alphabet() {
    let refusals = Refusals::new().await;
    let id = "019aa0b7-9a40-7000-8000-5f3c9e1d2a77";
    for name in bad_names() {
        for (line, body) in [
            (format!("PUT /topics/{name}"), "{}".to_owned()),
            (format!("GET /topics/{name}"), String::new()),
            (format!("POST /topics/{name}/events"), event().to_string()),
            (format!("GET /topics/{name}/events"), String::new()),
            (format!("GET /topics/{name}/events/{id}"), String::new()),
            (format!("DELETE /topics/{name}/events/{id}"), String::new()),
            (format!("POST /repos/{name}/hello/issues"), "{}".to_owned()),
            (format!("GET /repos/octo/{name}/issues"), String::new()),
            (format!("GET /repos/{name}/{name}/issues/1"), String::new()),
            (format!("PATCH /repos/octo/{name}/issues/1"), "{}".to_owned()),
            (format!("GET /repos/octo/hello/issues/{name}"), String::new()),
            (format!("PATCH /repos/octo/hello/issues/{name}"), "{}".to_owned()),
        ] {
            refusals.call(&line, body).await.is(400, "invalid-name");
        }
        for method in ["GET", "DELETE"] {
            refusals.call(&format!("{method} /topics/posts/events/{name}"), "").await.is(400, "invalid-id");
        }
    }
    refusals.call("GET /topics//events", "").await.is(400, "invalid-name");
    refusals.call("GET /repos//hello/issues", "").await.is(400, "invalid-name");
    let raw = Uri::from_maybe_shared(Bytes::from_static(b"/topics/caf\xc3\xa9")).unwrap();
    let mut raw_request = Request::get(raw).body(Body::empty()).unwrap();
    raw_request.headers_mut().insert("authorization", HeaderValue::from_static("Bearer dev"));
    refusals.api.send_whole(raw_request).await.is(400, "invalid-name");
    for text in
        ["a#b", "a/b", "", " ", "a\n", "\u{0}", "\u{e9}", "\u{202e}", "EVENTS#posts", &"a".repeat(2048)]
    {
        for field in ["type", "actor", "subject"] {
            let mut event = event();
            event[field] = text.into();
            let answer = refusals.call(POST, event.to_string()).await;
            assert_eq!(answer.is(422, "invalid-event").faults(), [format!("/{field}")], "{text:?}");
        }
    }
    refusals.nothing_was_written().await;
}

#[tokio::test]
async fn queries_that_make_no_sense() {
    let refusals = Refusals::new().await;
    let everywhere = "limit=0 limit=201 limit=-1 limit=abc limit= limit limit=1.0 limit=%31%00 limit=1e1 \
        limit=99999999999999999999 limit=+1 limit=1&limit=1 limit=1&l%69mit=2 = =1 x %ff=1 LIMIT=1 \
        limit%20=1 limit=1;cursor=a wait_for=019aa0b7-9a40-7000-8000-5f3c9e1d2a77 %zz=%zz";
    let issues = "/repos/octo/hello/issues";
    for query in everywhere.split(' ') {
        let answer = refusals.call(&format!("GET /topics/posts/events?{query}"), "").await;
        assert_eq!((answer.status, answer.code().as_str()), (400, "invalid-query"), "{query}");
        refusals.call(&format!("GET /topics?{query}"), "").await.is(400, "invalid-query");
        refusals.call(&format!("GET {issues}?{query}"), "").await.is(400, "invalid-query");
        refusals.call(&format!("GET {issues}/1?{query}"), "").await.is(400, "invalid-query");
    }
    let of_issues = "order= order=DESC from= from=0 from=-1 from=+1 from=1.0 from=1e1 from=100000000 from=2&to=1 \
        to=99999999999999999999 status= status=OPEN status=done status=open&status=open priority=1 priority=High \
        status=open&priority=low wait_for= wait_for=1 wait_for=@ wait_for=1@ wait_for=1@-1 wait_for=0@1 wait_for=1@01 \
        wait_for=1@18446744073709551616 wait_for=1%401@1 wait_for=1@1&cursor=AQ consistent=1 type=a topic=issues \
        consistent=true&status=open consistent=true&priority=low consistent=true&consistent=true";
    for query in of_issues.split(' ') {
        let answer = refusals.call(&format!("GET {issues}?{query}"), "").await;
        assert_eq!((answer.status, answer.code().as_str()), (400, "invalid-query"), "{query}");
    }
    let of_events = "order= order=DESC order=asc&order=asc from= from=0 from=2026-11-20 from=2026-11-20T10:00:00 \
        from=2026-02-30T00:00:00Z to=1969-12-31T23:59:59Z to=10000-01-01T00:00:00Z type= type=A \
        type=a%23b consistent consistent=1 consistent=TRUE topic=posts \
        from=2026-11-20T10:00:00Z&to=2026-11-20T09:59:59.999Z";
    for query in of_events.split(' ') {
        let answer = refusals.call(&format!("GET /topics/posts/events?{query}"), "").await;
        assert_eq!((answer.status, answer.code().as_str()), (400, "invalid-query"), "{query}");
    }
    let long = "x=1&".repeat(4_000);
    let answer = refusals.call(&format!("GET /topics/posts/events?{long}"), "").await;
    assert!(answer.is(400, "invalid-query").text.len() < 4096);
    // Empty parts of a query are ignored.
    refusals.call("GET /topics/posts/events?&&limit=1&", "").await.is_ok(200);
    refusals.call("GET /topics/posts/events?", "").await.is_ok(200);
    refusals.nothing_was_written().await;
}

#[tokio::test]
async fn invalid_cursors_and_cursors_of_other_queries() {
    let refusals = Refusals::new().await;
    let good =
        refusals.call("GET /topics/posts/events", "").await.json()["newer"].as_str().unwrap().to_owned();
    let mut bad: Vec<String> = ["", "a", "%00", "%ff", "bm9uc2Vuc2U", "AAAA", "====", "null", "\u{e9}"]
        .map(|text| text.replace('\u{e9}', "%C3%A9"))
        .to_vec();
    bad.extend([
        format!("{good}A"),
        format!("{good}="),
        good[1..].to_owned(),
        good[..good.len() - 1].to_owned(),
    ]);
    bad.extend(["A".repeat(256), "A".repeat(257), "A".repeat(8_000), good.to_lowercase()]);
    for index in 0..good.len() {
        let mut text = good.clone().into_bytes();
        text[index] = if text[index] == b'A' { b'B' } else { b'A' };
        bad.push(String::from_utf8(text).unwrap());
    }
    for cursor in bad {
        refusals
            .call(&format!("GET /topics/posts/events?cursor={cursor}"), "")
            .await
            .is(400, "invalid-cursor");
        refusals.call(&format!("GET /topics?cursor={cursor}"), "").await.is(400, "invalid-cursor");
        for query in ["", "status=open&", "priority=low&"] {
            let line = format!("GET /repos/octo/hello/issues?{query}cursor={cursor}");
            refusals.call(&line, "").await.is(400, "invalid-cursor");
        }
    }
    // A valid cursor works only with its own query.
    let line = format!("GET /repos/octo/hello/issues?cursor={good}");
    refusals.call(&line, "").await.is(400, "invalid-cursor");
    refusals.call(&format!("GET /topics/posts/events?cursor={good}"), "").await.is_ok(200);
    refusals.nothing_was_written().await;
}

#[tokio::test]
async fn headers_that_are_repeated_or_strange() {
    let refusals = Refusals::new().await;
    let as_dev = || request(POST).header("authorization", "Bearer dev");
    let send = async |request| refusals.api.send(request, event().to_string()).await;
    send(request(POST).header("authorization", &b"Bearer \xff"[..])).await.is(401, "missing-token");
    send(request(POST).header("authorization", format!("Bearer {}", "x".repeat(8_000))))
        .await
        .is(403, "invalid-token");
    // An event on two lines is not NDJSON.
    let lines = as_dev().header("content-type", "application/x-ndjson");
    refusals.api.send(lines, "{\n\"type\":\"a\",\"actor\":\"ada\"}").await.is(400, "malformed-json");
    refusals.nothing_was_written().await;
}

#[tokio::test]
async fn any_other_content_type_is_read_as_json() {
    let api = Api::with_posts().await;
    for content_type in
        ["", "text/plain", "application/xml", "multipart/form-data; boundary=a", "a", "application/json;"]
    {
        let request =
            request(POST).header("authorization", "Bearer ada").header("content-type", content_type);
        api.send(request, event().to_string()).await.is_ok(201);
    }
}

/// Sends many requests to one system, and checks that no response is a 5xx.
fn never_a_5xx<S: Strategy>(inputs: S, request: impl Fn(S::Value) -> Option<Request>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let api = runtime.block_on(Api::with_posts());
    let mut runner = TestRunner::new(Config { cases: 400, failure_persistence: None, ..Config::default() });
    let answered = runner.run(&inputs, |input| {
        let Some(mut request) = request(input) else { return Err(TestCaseError::reject("no URI")) };
        request.headers_mut().insert("authorization", HeaderValue::from_static("Bearer dev"));
        let answer = runtime.block_on(api.send_whole(request));
        prop_assert!(answer.status < 500, "{}", answer.text);
        Ok(())
    });
    answered.unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn any_bytes_as_a_body_are_never_a_5xx() {
    let near = "[\\[\\]{}\":,a-z0-9 \\\\\n]{0,60}".prop_map(String::into_bytes);
    let fields = ("(type|actor|subject|data|at|x)", "[^\"\\\\\\p{C}]{0,20}", "[\\[{\"0-9a-z\\]}]{0,9}");
    let shaped = fields.prop_map(|(field, text, data)| {
        format!(r#"{{"type":"a","actor":"ada","{field}":"{text}","data":{data}}}"#).into_bytes()
    });
    let fields = ("(title|body|labels|status|priority|x)", "[\\[{\"0-9a-z\\]}]{0,20}");
    let issues = fields
        .prop_map(|(field, value)| format!(r#"{{"title":"t","body":"b","{field}":{value}}}"#).into_bytes());
    let consumers =
        ("(start|settle_seconds|limit|batch|to)", "[^\"\\\\\\p{C}]{0,20}|[0-9a-f]{1,16}-[0-9a-f]{1,16}");
    let consumers = prop_oneof![
        consumers.prop_map(|(field, text)| format!(r#"{{"{field}":"{text}"}}"#).into_bytes()),
        "\\{\"(settle_seconds|limit)\":-?[0-9]{1,6}\\}".prop_map(String::into_bytes),
    ];
    let bodies = prop_oneof![vec(any::<u8>(), 0..200), near, shaped, issues, consumers];
    let lines = prop::sample::select(vec![
        POST,
        "PUT /topics/posts",
        ISSUES[0],
        ISSUES[1],
        "PUT /topics/posts/consumers/a",
        "POST /topics/posts/consumers/a/poll",
        "POST /topics/posts/consumers/a/commit",
        "POST /topics/posts/consumers/a/seek",
    ]);
    let kinds = prop::sample::select(vec!["application/json", "application/x-ndjson"]);
    never_a_5xx((lines, kinds, bodies), |(line, kind, body)| {
        request(line).header("content-type", kind).body(Body::from(body)).ok()
    });
}

#[test]
fn any_bytes_as_a_path_or_a_query_are_never_a_5xx() {
    /// Bytes, plain or percent-encoded.
    fn bytes() -> impl Strategy<Value = String> {
        let byte =
            prop_oneof!["[!-~]", any::<u8>().prop_map(|byte| format!("%{byte:02x}")), "[a-z0-9._@-]{1,9}"];
        vec(byte, 0..12).prop_map(|bytes| bytes.concat())
    }
    let names = || prop_oneof![Just("posts".to_owned()), bytes()];
    let parameter = ("(limit|order|cursor|from|to|type|consistent|status|priority|[a-z]{1,3})", bytes());
    let queries = vec(parameter.prop_map(|(name, value)| format!("{name}={value}")), 0..4);
    let queries = prop_oneof![queries.prop_map(|parameters| parameters.join("&")), bytes()];
    let paths = prop_oneof![
        names().prop_map(|topic| format!("/topics/{topic}")),
        names().prop_map(|topic| format!("/topics/{topic}/events")),
        (names(), bytes()).prop_map(|(topic, id)| format!("/topics/{topic}/events/{id}")),
        (names(), bytes(), "(|/poll|/commit|/seek|/runs)")
            .prop_map(|(topic, name, operation)| format!("/topics/{topic}/consumers/{name}{operation}")),
        Just("/topics".to_owned()),
        (names(), names()).prop_map(|(owner, repo)| format!("/repos/{owner}/{repo}/issues")),
        bytes().prop_map(|number| format!("/repos/octo/hello/issues/{number}")),
        Just("/repos/octo/hello/issues".to_owned()),
        bytes().prop_map(|path| format!("/{path}")),
    ];
    let methods =
        prop::sample::select(vec!["GET", "GET", "PUT", "POST", "PATCH", "DELETE", "HEAD", "OPTIONS"]);
    never_a_5xx((methods, paths, queries), |(method, path, query)| {
        let target: Uri = format!("{path}?{query}").parse().ok()?;
        Request::builder().method(method).uri(target).body(Body::from("{}")).ok()
    });
}
