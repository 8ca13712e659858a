//! `/topics/{topic}/consumers/{name}`: create, poll, commit, seek and delete, and the runs of a reporting consumer.

use std::time::Duration;

use lately_items::ConsumerKey;
use lately_model::RunSpec;
use lately_pump::{Destination, PumpFaults};
use lately_report::{Outcome, Output, Report};
use serde_json::{Value, json};

use crate::support::{Answer, Api, event, event_ago, if_written};

const NIGHTLY: &str = "/topics/posts/consumers/nightly";

/// The time of the report function.
const TIME: Duration = Duration::from_secs(292);

/// An API with a consumer of `posts` that has no settle time, so that it gets new events at once.
async fn eager(start: &str) -> Api {
    let api = Api::with_posts().await;
    let body = json!({"start": start, "settle_seconds": 0});
    api.call("dev", &format!("PUT {NIGHTLY}"), body.to_string()).await.is_ok(201);
    api
}

/// Sends an operation to the consumer.
async fn ask(api: &Api, operation: &str, body: &Value) -> Answer {
    api.call("dev", &format!("POST {NIGHTLY}/{operation}"), body.to_string()).await
}

async fn poll(api: &Api, limit: u16) -> Value {
    ask(api, "poll", &json!({"limit": limit})).await.is_ok(200).json()
}

async fn commit(api: &Api, polled: &Value) {
    ask(api, "commit", &json!({"batch": polled["batch"]})).await.is_ok(204);
}

async fn status(api: &Api) -> Value {
    api.call("dev", &format!("GET {NIGHTLY}"), "").await.is_ok(200).json()
}

/// Posts events. The result is their ids.
async fn post(api: &Api, count: usize) -> Vec<String> {
    let batch = Value::from(vec![event(); count]).to_string();
    let posted = api.call("dev", "POST /topics/posts/events", batch).await;
    ids(&posted.is_ok(201).json()["events"])
}

fn ids(events: &Value) -> Vec<String> {
    events.as_array().unwrap().iter().map(|event| event["id"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn a_consumer_is_created_once_and_keeps_its_position() {
    let api = Api::with_posts().await;
    let put = format!("PUT {NIGHTLY}");
    let made = api.call("dev", &put, "").await;
    assert!(made.is_ok(201).header("lately-cost").unwrap().starts_with("write_units="));
    let made = made.json();
    assert_eq!(
        (&made["settle_seconds"], &made["outstanding"], &made["late"]),
        (&json!(10), &json!(null), &json!(0))
    );
    assert!(made["position"].is_string(), "it starts at the present: {made}");
    let again = api.call("dev", &put, r#"{"start":"earliest","settle_seconds":0}"#).await;
    let again = again.is_ok(200).json();
    assert_eq!((&again["position"], &again["settle_seconds"]), (&made["position"], &json!(0)));
    let again = api.call("dev", &put, "{}").await.is_ok(200).json();
    assert_eq!(again["settle_seconds"], 0, "a setting that is not given stays");
    let consumer = api.call("dev", &format!("GET {NIGHTLY}"), "").await;
    assert!(consumer.is_ok(200).header("lately-cost").unwrap().starts_with("read_units="));

    for _ in 0..2 {
        let gone = api.call("dev", &format!("DELETE {NIGHTLY}"), "").await;
        assert!(gone.is_ok(204).header("lately-cost").is_some());
        api.call("dev", &format!("GET {NIGHTLY}"), "").await.is(404, "not-found");
    }
    let earliest = api.call("dev", &put, r#"{"start":"earliest"}"#).await;
    assert_eq!(earliest.is_ok(201).json()["position"], json!(null), "a new consumer of the same name");
}

#[tokio::test]
async fn a_poll_repeats_its_batch_until_the_commit() {
    let api = eager("earliest").await;
    let posted = post(&api, 5).await;
    let first = poll(&api, 3).await;
    assert_eq!((ids(&first["events"]), &first["late"]), (posted[..3].to_vec(), &json!([])));
    assert_eq!(first["caught_up"], false);
    assert_eq!(poll(&api, 100).await["events"], first["events"], "the same batch, with any limit");
    assert_eq!(status(&api).await["outstanding"], first["batch"]);
    let page = api.call("ada", "GET /topics/posts/events?order=desc&consistent=true", "").await.json();
    assert_eq!(page["events"][4], first["events"][0], "the same event as in a page");

    commit(&api, &first).await;
    commit(&api, &first).await;
    let now = status(&api).await;
    assert_eq!((&now["position"], &now["outstanding"]), (&json!(posted[2]), &json!(null)));
    let second = poll(&api, 100).await;
    assert_eq!((ids(&second["events"]), &second["caught_up"]), (posted[3..].to_vec(), &json!(true)));
    commit(&api, &first).await;
    assert_eq!(status(&api).await["outstanding"], second["batch"], "the first batch was committed again");
    commit(&api, &second).await;

    let nothing = poll(&api, 100).await;
    assert_eq!(nothing, json!({"batch": null, "events": [], "late": [], "caught_up": true}));
    ask(&api, "commit", &json!({"batch": first["batch"]})).await.is(409, "stale-batch");
}

#[tokio::test]
async fn a_batch_of_a_deleted_consumer_of_that_name_is_stale() {
    let api = eager("earliest").await;
    post(&api, 1).await;
    let polled = poll(&api, 1).await;
    api.call("dev", &format!("DELETE {NIGHTLY}"), "").await.is_ok(204);
    ask(&api, "commit", &json!({"batch": polled["batch"]})).await.is(404, "not-found");
    api.call("dev", &format!("PUT {NIGHTLY}"), r#"{"start":"earliest","settle_seconds":0}"#).await.is_ok(201);
    assert_eq!(poll(&api, 1).await["events"], polled["events"]);
    ask(&api, "commit", &json!({"batch": polled["batch"]})).await.is(409, "stale-batch");
}

#[tokio::test]
async fn a_seek_moves_the_position_and_drops_the_batch() {
    let api = eager("latest").await;
    let posted = post(&api, 4).await;
    let before = poll(&api, 2).await;
    let sought = ask(&api, "seek", &json!({"to": posted[1]})).await;
    assert_eq!(sought.is_ok(200).json()["outstanding"], json!(null), "the outstanding batch is dropped");
    ask(&api, "commit", &json!({"batch": before["batch"]})).await.is(409, "stale-batch");
    assert_eq!(ids(&poll(&api, 10).await["events"]), posted[2..], "the events after that one");
    let at =
        api.call("ada", &format!("GET /topics/posts/events/{}", posted[0]), "").await.json()["at"].clone();
    for to in [json!("earliest"), json!("2020-01-01T00:00:00Z"), at] {
        ask(&api, "seek", &json!({"to": to})).await.is_ok(200);
        assert_eq!(ids(&poll(&api, 10).await["events"]), posted, "the events at that time and later: {to}");
    }
    ask(&api, "seek", &json!({"to": "latest"})).await.is_ok(200);
    assert_eq!(poll(&api, 10).await["events"], json!([]));
}

#[tokio::test]
async fn an_event_that_arrives_behind_the_position_is_late() {
    let api = eager("2020-01-01T00:00:00Z").await;
    let pump = api.system.pump(Destination::memory(), PumpFaults::default(), None).unwrap();
    let pumping = pump.handle();
    tokio::spawn(pump.run());
    post(&api, 2).await;
    commit(&api, &poll(&api, 10).await).await;
    pumping.settled().await;
    // Events that fan-out handled just after the poll may be returned again.
    let again = poll(&api, 10).await;
    if !again["batch"].is_null() {
        commit(&api, &again).await;
    }
    let import = api.call("dev", "POST /topics/posts/events", event_ago(3_600).to_string()).await;
    let id = import.is_ok(201).json()["id"].clone();
    pumping.settled().await;
    assert_eq!(status(&api).await["late"], 1);
    let polled = poll(&api, 10).await;
    assert_eq!((json!(ids(&polled["late"])), &polled["events"]), (json!([id]), &json!([])));
    commit(&api, &polled).await;
    assert_eq!(status(&api).await["late"], 0);
    assert_eq!(poll(&api, 10).await["late"], json!([]));
}

#[tokio::test]
async fn a_batch_is_at_most_as_large_as_a_page() {
    let api = eager("earliest").await;
    let large = json!({"type": "a", "actor": "ada", "data": "x".repeat(250_000)}).to_string();
    let mut posted = Vec::new();
    for _ in 0..15 {
        let event = api.call("ada", "POST /topics/posts/events", large.clone()).await;
        posted.push(event.is_ok(201).json()["id"].as_str().unwrap().to_owned());
    }
    let (mut given, mut batches) = (Vec::new(), 0);
    loop {
        let answer = ask(&api, "poll", &json!({"limit": 1000})).await;
        assert!(answer.is_ok(200).text.len() <= 3_001_000, "{}", answer.text.len());
        let polled = answer.json();
        if polled["batch"].is_null() {
            break;
        }
        given.extend(ids(&polled["events"]));
        commit(&api, &polled).await;
        batches += 1;
    }
    assert_eq!((given, batches), (posted, 2));
}

#[tokio::test]
async fn a_reporting_consumer_lists_its_runs_and_cannot_be_polled() {
    let api = eager("earliest").await;
    let posted = post(&api, 3).await;
    let folder = tempfile::tempdir().unwrap();
    let output = Output::folder(folder.path()).unwrap();
    let consumer = ConsumerKey { topic: "posts".parse().unwrap(), name: "nightly".parse().unwrap() };
    let report = Report { consumer, spec: RunSpec::default() };
    let mut ends = Vec::new();
    for events in [3, 0] {
        let done = lately_report::run(&api.system.store, &output, &report, TIME).await.unwrap();
        let Outcome::Finished { to, events: reported, .. } = done else { panic!("{done:?}") };
        assert_eq!(reported, events);
        ends.push(json!(to));
    }
    let runs = |query: &str| {
        let line = format!("GET {NIGHTLY}/runs{query}");
        let api = api.clone();
        async move { api.call("dev", &line, "").await }
    };
    let list = runs("?limit=1").await.is_ok(200).json();
    assert_eq!(
        (list["runs"].as_array().unwrap().len(), &list["runs"][0]["to"]),
        (1, &ends[1]),
        "newest first"
    );
    let next = list["next"].as_str().unwrap();
    let list = runs(&format!("?cursor={next}")).await.is_ok(200).json();
    let [run] = &list["runs"].as_array().unwrap()[..] else { panic!("{list}") };
    assert_eq!(
        (&run["to"], &run["events"], &run["late"], &list["next"]),
        (&ends[0], &json!(3), &json!(0), &json!(null))
    );
    assert_eq!((&run["group_by"], &run["sum"]), (&json!("actor"), &json!(null)));
    let file = folder.path().join(run["files"][0].as_str().unwrap());
    let lines = std::fs::read_to_string(file).unwrap();
    let reported: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(ids(&json!(reported)), posted);

    ask(&api, "poll", &json!({})).await.is(409, "has-runs");
    ask(&api, "seek", &json!({"to": "earliest"})).await.is(409, "has-runs");
    runs("?cursor=AAAA").await.is(400, "invalid-cursor");
    assert_eq!(status(&api).await["position"], ends[1]);
}

#[tokio::test]
async fn an_unknown_consumer_or_topic_is_not_found() {
    let api = Api::with_posts().await;
    let batch = r#"{"batch":"1-1"}"#;
    let operations = [
        ("GET", "", ""),
        ("POST", "/poll", ""),
        ("POST", "/commit", batch),
        ("POST", "/seek", r#"{"to":"latest"}"#),
        ("GET", "/runs", ""),
    ];
    let before = api.items().await;
    for (method, operation, body) in operations {
        api.call("dev", &format!("{method} {NIGHTLY}{operation}"), body).await.is(404, "not-found");
        let nowhere = format!("{method} /topics/nowhere/consumers/nightly{operation}");
        api.call("dev", &nowhere, body).await.is(404, "topic-not-found");
    }
    api.call("dev", "PUT /topics/nowhere/consumers/nightly", "").await.is(404, "topic-not-found");
    api.call("dev", "DELETE /topics/nowhere/consumers/nightly", "").await.is_ok(204);
    assert_eq!(api.items().await, before);
}

#[tokio::test]
async fn ill_formed_requests_are_refused_and_change_nothing() {
    let api = eager("earliest").await;
    let before = api.items().await;
    let faults: [(&str, &str, &[&str]); 14] = [
        ("PUT", r#"{"start":"now","settle_seconds":3601,"x":1}"#, &["/x", "/start", "/settle_seconds"]),
        ("PUT", r#"{"settle_seconds":-1}"#, &["/settle_seconds"]),
        ("PUT", r#"{"settle_seconds":1.5}"#, &["/settle_seconds"]),
        ("PUT", "[]", &[""]),
        ("POST poll", r#"{"limit":0}"#, &["/limit"]),
        ("POST poll", r#"{"limit":1001}"#, &["/limit"]),
        ("POST poll", r#"{"batch":"1-1"}"#, &["/batch"]),
        ("POST poll", "null", &[""]),
        ("POST commit", "{}", &["/batch"]),
        ("POST commit", r#"{"batch":"CONSUMER#posts#nightly"}"#, &["/batch"]),
        ("POST commit", r#"{"batch":7}"#, &["/batch"]),
        ("POST seek", "{}", &["/to"]),
        ("POST seek", r#"{"to":"2026-02-30T00:00:00Z"}"#, &["/to"]),
        ("POST seek", r#"{"to":"00000000-0000-4000-8000-000000000000"}"#, &["/to"]),
    ];
    for (operation, body, expected) in faults {
        let line = match operation.split_once(' ') {
            Some((method, operation)) => format!("{method} {NIGHTLY}/{operation}"),
            None => format!("{operation} {NIGHTLY}"),
        };
        assert_eq!(
            api.call("dev", &line, body).await.is(422, "invalid-body").faults(),
            expected,
            "{line} {body}"
        );
        for malformed in ["{", "nonsense", "{}{}"] {
            api.call("dev", &line, malformed).await.is(400, "malformed-json");
        }
        api.call("dev", &line, vec![b' '; 65_537]).await.is(413, "too-large");
    }
    for name in ["a%23b", "a%2Fb", "%20", "a:b", "%C3%A9", ".."] {
        for (method, operation) in
            [("PUT", ""), ("GET", ""), ("DELETE", ""), ("POST", "/poll"), ("GET", "/runs")]
        {
            let line = format!("{method} /topics/posts/consumers/{name}{operation}");
            api.call("dev", &line, if_written(&line, "{}")).await.is(400, "invalid-name");
        }
    }
    for query in ["limit=0", "limit=201", "order=asc", "cursor=a&cursor=b"] {
        api.call("dev", &format!("GET {NIGHTLY}/runs?{query}"), "").await.is(400, "invalid-query");
    }
    api.call("dev", "GET /topics/posts/consumers", "").await.is(404, "route-not-found");
    assert_eq!(api.items().await, before);
}
