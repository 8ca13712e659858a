//! The console's faults: they are injected, have effects, and the system recovers.

use std::collections::BTreeSet;
use std::time::Duration;

use futures_util::future::join_all;
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::console::Running;
use crate::support::event;

/// No faults.
fn none() -> Value {
    json!({"paused": false, "delay_seconds": 0.0, "duplicate": 0.0, "crash_before": 0.0, "crash_after": 0.0})
}

/// The partition of the newest bucket's first shard.
async fn partition(running: &Running) -> String {
    let id = running.post(&event()).await;
    let items = running.get(&format!("/local/storage/events/posts/{id}")).await;
    items["items"][0]["pk"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn faults_are_set_in_part_shown_and_ended() {
    let running = Running::new().await;
    let nothing = json!({"stream": none(), "throttles": [], "index_delay_seconds": 0.0, "injected": []});
    assert_eq!(running.get("/local/faults").await, nothing);
    let throttle = json!({"partition": "EVENTS#posts#", "chance": 0.5, "seconds": 300});
    let body = json!({"stream": {"duplicate": 0.25}, "throttles": [throttle]});
    let view = running.call("PUT /local/faults", &body).await.is_ok(200).json();
    assert_eq!((&view["stream"]["duplicate"], &view["throttles"][0]["chance"]), (&json!(0.25), &json!(0.5)));
    assert!(view["throttles"][0]["seconds_left"].as_f64().unwrap() > 290.0);
    // A fault that the request does not name stays.
    let body = json!({"stream": {"delay_seconds": 1.5}, "index_delay_seconds": 2});
    let view = running.call("PUT /local/faults", &body).await.is_ok(200).json();
    assert_eq!((&view["stream"]["duplicate"], &view["stream"]["delay_seconds"]), (&json!(0.25), &json!(1.5)));
    assert_eq!((view["throttles"].as_array().unwrap().len(), &view["index_delay_seconds"]), (1, &json!(2.0)));
    assert_eq!(running.call("DELETE /local/faults", &Value::Null).await.is_ok(200).json(), nothing);
    assert_eq!(running.get("/local/faults").await, nothing);
}

#[tokio::test]
async fn an_invalid_body_is_refused_whole_with_every_fault() {
    let running = Running::new().await;
    let before = running.get("/local/faults").await;
    for (body, paths) in [
        (json!([]), vec![""]),
        (json!({"x/y": 1}), vec!["/x~1y"]),
        (json!({"stream": 1}), vec!["/stream"]),
        (
            json!({"stream": {"paused": 1, "delay_seconds": 61, "duplicate": 1.1, "crash_before": "a", "crash_after": -1, "z": 0}}),
            vec![
                "/stream/crash_after",
                "/stream/crash_before",
                "/stream/delay_seconds",
                "/stream/duplicate",
                "/stream/paused",
                "/stream/z",
            ],
        ),
        (json!({"stream": {"paused": true}, "index_delay_seconds": 61}), vec!["/index_delay_seconds"]),
        (json!({"throttles": {}}), vec!["/throttles"]),
        (
            json!({"throttles": [{"partition": "a", "chance": 1, "seconds": 1}, {"partition": "", "seconds": 301, "n": 1}]}),
            vec!["/throttles/1/n", "/throttles/1/partition", "/throttles/1/chance", "/throttles/1/seconds"],
        ),
        (
            json!({"throttles": vec![json!({"partition": "a", "chance": 1, "seconds": 1}); 21]}),
            vec!["/throttles"],
        ),
    ] {
        let refused = running.call("PUT /local/faults", &body).await;
        assert_eq!(refused.is(422, "invalid-body").faults(), paths, "{body}");
    }
    running.send(Some("dev"), "PUT /local/faults", "{").await.is(400, "malformed-json");
    assert_eq!(running.get("/local/faults").await, before, "no part took effect");
}

#[tokio::test]
async fn a_throttled_shard_grows_its_bucket_and_loses_nothing() {
    let running = Running::new().await;
    running.follow("bob", "actor:ada").await;
    let hot = partition(&running).await;
    let throttle = json!({"throttles": [{"partition": hot, "chance": 0.5, "seconds": 2}]});
    running.call("PUT /local/faults", &throttle).await.is_ok(200);
    let batch = json!([event(), event(), event(), event()]);
    let posts = (0..40).map(|_| async { running.post(&event()).await });
    let batches = (0..5).map(|_| running.api.call("ada", "POST /topics/posts/events", batch.to_string()));
    let (posted, batches) = tokio::join!(join_all(posts), join_all(batches));
    let mut posted: BTreeSet<String> = posted.into_iter().collect();
    for answer in batches {
        let accepted = answer.is_ok(201).json();
        let events = accepted["events"].as_array().unwrap().iter();
        posted.extend(events.map(|event| event["id"].as_str().unwrap().to_owned()));
    }
    assert_eq!(posted.len(), 60, "all events were accepted");

    let faults = running.get("/local/faults").await;
    let injected = faults["injected"].as_array().unwrap();
    assert!((1..=50).contains(&injected.len()));
    assert!(injected.iter().all(|it| it["partition"] == json!(hot) && it["at"].is_string()));
    let operations: BTreeSet<_> = injected.iter().map(|it| it["operation"].as_str().unwrap()).collect();
    assert!(
        operations.contains("PutItem")
            && operations.iter().all(|it| ["PutItem", "BatchWriteItem"].contains(it))
    );
    let stored = running.get("/local/storage/topics/posts").await;
    assert!(stored["buckets"][0]["shards"].as_u64().unwrap() >= 2, "{stored}");
    let healed = running.until("/local/faults", |faults| faults["throttles"] == json!([])).await;

    // The throttle has ended: a later write meets no fault.
    posted.insert(running.post(&event()).await);
    assert_eq!(running.get("/local/faults").await["injected"], healed["injected"]);
    running.pump.settled().await;
    for target in ["/topics/posts/events?limit=200&consistent=true", "/feeds/bob?limit=200&consistent=true"] {
        let ids = running.ids(target).await;
        let found: BTreeSet<_> = ids.iter().cloned().collect();
        assert_eq!(ids.len(), found.len(), "each once: {target}");
        assert!(posted.is_subset(&found), "nothing is lost: {target}");
    }
}

#[tokio::test]
async fn wait_for_waits_for_a_delayed_index() {
    let running = Running::new().await;
    running.call("PUT /local/faults", &json!({"index_delay_seconds": 3})).await.is_ok(200);
    let issues = "/repos/octo/hello/issues";
    let mut last = Value::Null;
    for number in 1..=8 {
        let opened =
            running.api.call("ada", &format!("POST {issues}"), json!({"title": "t"}).to_string()).await;
        last = opened.is_ok(201).json();
        assert_eq!(last["number"], number);
    }
    let list = async |query: &str| {
        let listed = running.api.call("ada", &format!("GET {issues}?status=open{query}"), "").await;
        listed.is_ok(200).json()["issues"].as_array().unwrap().len()
    };
    assert!(list("").await < 8, "the index lacks some issues");
    let awaited = format!("&wait_for=8@{}", last["revision"]);
    assert_eq!(list(&awaited).await, 8);
    running.call("DELETE /local/faults", &Value::Null).await.is_ok(200);
    running.api.call("ada", &format!("POST {issues}"), json!({"title": "t"}).to_string()).await.is_ok(201);
    assert_eq!(list("").await, 9, "without the delay the index has the issue at once");
}

#[tokio::test]
async fn a_fan_out_that_crashes_falls_behind_and_catches_up() {
    let running = Running::new().await;
    running.follow("bob", "actor:ada").await;
    running.call("PUT /local/faults", &json!({"stream": {"crash_before": 1.0}})).await.is_ok(200);
    let mut posted = Vec::new();
    for _ in 0..5 {
        posted.insert(0, running.post(&event()).await);
    }
    let lag = |state: &Value| {
        let shards = state["stream"].as_array().unwrap().iter();
        shards.map(|shard| shard["lag_seconds"].as_f64().unwrap()).fold(0.0, f64::max)
    };
    let first = running.until("/local/state", |state| lag(state) > 0.0).await;
    let is_failing =
        |state: &Value| state["stream"].as_array().unwrap().iter().any(|shard| shard["failures"] != 0);
    running.until("/local/state", |state| lag(state) > lag(&first) && is_failing(state)).await;
    assert!(running.ids("/feeds/bob").await.is_empty());
    running.call("PUT /local/faults", &json!({"stream": {"crash_before": 0}})).await.is_ok(200);
    running.pump.settled().await;
    assert_eq!(running.ids("/feeds/bob").await, posted);
    assert_eq!(lag(&running.get("/local/state").await), 0.0);
    assert_eq!(running.failures.list().unwrap(), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn a_batch_that_fan_out_gave_up_on_is_listed_and_redriven() {
    let running = Running::new().await;
    // The first event of a bucket also puts the bucket into the directory.
    let first = running.post(&event()).await;
    running.follow("bob", "actor:ada").await;
    running.pump.settled().await;
    running.call("PUT /local/faults", &json!({"stream": {"crash_before": 1.0}})).await.is_ok(200);
    let id = running.post(&event()).await;
    running.pump.settled().await;
    let listed = running.get("/local/failures").await;
    let [failure] = &listed["failures"].as_array().unwrap()[..] else { panic!("{listed}") };
    assert_eq!((&failure["reason"], failure["at"].is_string()), (&json!("RetryAttemptsExhausted"), true));
    let [record] = &failure["records"].as_array().unwrap()[..] else { panic!("{listed}") };
    assert_eq!(record["event_name"], "INSERT");
    assert!(record["pk"].as_str().unwrap().starts_with("EVENTS#posts#"), "{record}");
    let named = &record["event"];
    assert_eq!((&named["topic"], &named["id"]), (&json!("posts"), &json!(id.as_str())), "{record}");
    assert_eq!(running.get("/local/state").await["failures"], 1);
    running.call("DELETE /local/faults", &Value::Null).await.is_ok(200);
    assert_eq!(running.ids("/feeds/bob").await, [first.as_str()]);

    let name = failure["name"].as_str().unwrap();
    let mut expired: Value = serde_json::from_slice(&running.failures.read(name).unwrap()).unwrap();
    let redrive = format!("POST /local/failures/{}/redrive", name.replace('/', "%2F"));
    let throttle = |partition| json!({"partition": partition, "chance": 1, "seconds": 300});
    // Writes to the feed and to its backlog are throttled.
    let busy = json!({"throttles": [throttle("FEED#bob"), throttle("JOB#BACKLOG#FEED#bob")]});
    running.call("PUT /local/faults", &busy).await.is_ok(200);
    running.call(&redrive, &Value::Null).await.is(503, "unavailable");
    assert_eq!(running.get("/local/failures").await, listed, "the batch is still stored");
    running.call("DELETE /local/faults", &Value::Null).await.is_ok(200);
    let done = running.call(&redrive, &Value::Null).await.is_ok(200).json();
    assert_eq!(done, json!({"records": 1}));
    assert_eq!(running.ids("/feeds/bob").await, [id.as_str(), first.as_str()]);
    assert_eq!(running.get("/local/failures").await, json!({"failures": []}));
    running.call(&redrive, &Value::Null).await.is(404, "not-found");
    for name in ["nothing", "..%2F..%2Fetc%2Fpasswd", "%2Fetc%2Fpasswd"] {
        running
            .call(&format!("POST /local/failures/{name}/redrive"), &Value::Null)
            .await
            .is(404, "not-found");
    }

    // A page of a job from 2023, which is gone by now.
    let mut payload: Value = serde_json::from_str(expired["payload"].as_str().unwrap()).unwrap();
    let change = &mut payload["Records"][0]["dynamodb"];
    change["ApproximateCreationDateTime"] = json!(1_700_000_000);
    change["Keys"] = json!({"pk": {"S": format!("JOB#PUSH#{first}#actor:ada#0")}, "sk": {"S": "00000000"}});
    expired["payload"] = json!(payload.to_string());
    running.failures.put("expired", expired.to_string().as_bytes()).unwrap();
    running.call("POST /local/failures/expired/redrive", &Value::Null).await.is(503, "unavailable");
    assert_eq!(running.failures.list().unwrap(), ["expired"]);
}

#[tokio::test]
async fn pauses_and_duplicates_do_not_change_the_result() {
    let running = Running::new().await;
    running.follow("bob", "actor:ada").await;
    running.call("PUT /local/faults", &json!({"stream": {"paused": true, "duplicate": 1}})).await.is_ok(200);
    let id = running.post(&event()).await;
    sleep(Duration::from_millis(200)).await;
    assert!(running.ids("/feeds/bob").await.is_empty());
    running.call("PUT /local/faults", &json!({"stream": {"paused": false}})).await.is_ok(200);
    running.pump.settled().await;
    assert_eq!(running.ids("/feeds/bob").await, [id]);
}
