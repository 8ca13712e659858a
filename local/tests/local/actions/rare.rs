//! Rare cases: each is provoked, so that the witnesses record the functions' calls.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::AttributeValue;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use lately_engine::Operation;
use lately_engine::fault::{Fault, Faults, Moment, Target, Throttle, When};
use lately_engine::stream::Record;
use lately_items::{ConsumerKey, LateLogKey, Timeline};
use lately_keys::TableKey;
use lately_kit::edge;
use lately_kit::limits::OPERATION_BUDGET;
use lately_kit::world::World;
use lately_model::{LiveQuery, NewEvent, RunSpec};
use lately_report::{Outcome, Report};
use lately_store::{Idempotency, LiveFollower, LiveMessage, Store, Submission};
use lately_table::Connection;
use serde_json::{Value, json};

use crate::actions::{WitnessedSystem, live_of};
use crate::support::{Api, PATIENCE, Skew, ago, event, event_ago, if_written, old_issue, put_item, request};

/// The time of an invocation of the report function.
const TIME: Duration = Duration::from_secs(292);

/// A client whose first matching calls fail.
fn hurt(api: &Api, target: Target, times: u64, fault: Fault) -> Client {
    api.system.engine.client_with(Faults::default().rule(target, When::First(times), fault)).client()
}

/// Posts an event, and waits until fan-out and all work in the background are done with everything.
async fn post(watched: &WitnessedSystem, topic: &str, event: &Value) -> String {
    let id = post_at_once(watched, topic, event).await;
    watched.pump.settled().await;
    id
}

async fn post_at_once(watched: &WitnessedSystem, topic: &str, event: &Value) -> String {
    let posted = watched.api.call("dev", &format!("POST /topics/{topic}/events"), event.to_string()).await;
    posted.is_ok(201).json()["id"].as_str().unwrap_or_default().to_owned()
}

/// Creates the topic of issues with the view by type, and with many shards. A second type of event in a bucket then
/// updates the directory, and a throttled write counts the events of its shard.
pub(super) async fn before_the_first_issue(watched: &WitnessedSystem) {
    let views = r#"{"views":["actor","subject","type"],"min_shards":32}"#;
    watched.api.call("dev", "PUT /topics/issues", views).await.is_ok(201);
}

/// Writes that are throttled, partly unprocessed, or retried late.
pub(super) async fn writes(watched: &WitnessedSystem) {
    let WitnessedSystem { api, write_event, .. } = watched;
    api.call("dev", "PUT /topics/posts", "").await.is_ok(201);
    // An event that is stored seconds after its time, so fan-out looks whether its deletion was noted.
    post(watched, "posts", &event_ago(5)).await;
    let puts = || Target::operation(Operation::PutItem).partition("EVENTS#");
    let hot = hurt(api, puts(), 3, Fault::Throttle(Throttle::TableKeyRange));
    let batches = Target::operation(Operation::BatchWriteItem);
    let half = hurt(api, batches, 1, Fault::Unprocessed(0.5));
    for (client, body) in [(hot, event()), (half, vec![event(); 10].into())] {
        let routes = lately_write_event::routes().with_store(&write_event.store(&client));
        let posted = api.serving(routes).call("dev", "POST /topics/posts/events", body.to_string()).await;
        posted.is_ok(201);
    }
    // A wide topic that is throttled: the events of the shard are counted.
    api.call("dev", "PUT /topics/wide", r#"{"min_shards":32}"#).await.is_ok(201);
    let hot = hurt(api, puts(), 3, Fault::Throttle(Throttle::TableKeyRange));
    let routes = lately_write_event::routes().with_store(&write_event.store(&hot));
    api.serving(routes).call("dev", "POST /topics/wide/events", event().to_string()).await.is_ok(201);
    // Retried so late that the event's time would not be accepted now.
    let store = write_event.store(&api.system.engine.client());
    let posts = "posts".parse().unwrap();
    let submission = |may_import| {
        let at = Some(store.now().saturating_sub(3_600_000));
        let (event_type, actor) = ("a".parse().unwrap(), "ada".parse().unwrap());
        Submission {
            events: vec![NewEvent { event_type, actor, subject: None, data: None, at }],
            may_import,
            idempotency: Some(Idempotency {
                caller: lately_keys::Caller::User("ada".parse().unwrap()),
                key: "late".parse().unwrap(),
                body_hash: [7; 32],
            }),
        }
    };
    // The write is not marked as done when it is retried; then its event is deleted.
    let marks = Target::operation(Operation::UpdateItem).partition("IDEMPOTENCY#");
    let dying = Faults::default().nth(1, marks, Fault::Crash(Moment::Before));
    let dying = api.system.engine.client_with(dying);
    let victim = write_event.store(&dying.client());
    assert!(Box::pin(dying.run(victim.op().topic(&posts).write(submission(true)))).await.is_none());
    let written = store.op().topic(&posts).write(submission(false)).await.unwrap();
    assert!(written.replayed);
    store.op().event(&posts, written.events[0].id).delete(None).await.unwrap();
    // The responses to these writes are lost.
    let batches = Target::operation(Operation::BatchWriteItem);
    let lost = Faults::default().rule(batches, When::Always, Fault::Unprocessed(0.5)).rule(
        puts(),
        When::Always,
        Fault::Throttle(Throttle::Account),
    );
    let lost = write_event.client(&api.system.engine.client_with(lost).client());
    let hurried = Store::new(Connection::new(lost, "lately", World::new(), Duration::from_millis(200)));
    let routes = lately_write_event::routes().with_store(&hurried);
    let body = Value::from(vec![event(); 25]).to_string();
    let part = api.serving(routes).call("dev", "POST /topics/posts/events", body).await;
    part.is(503, "partially-accepted");
}

/// Large events, large audiences, and follows that race.
pub(super) async fn follows_and_feeds(watched: &WitnessedSystem) {
    let WitnessedSystem { api, pump, follow, .. } = watched;
    let get = async |target: &str| api.call("dev", &format!("GET {target}"), "").await.is_ok(200).json();
    let followed = async |user: &str, source: &str| {
        api.call("dev", &format!("PUT /users/{user}/following/{source}"), "").await.is_ok(201);
        pump.settled().await;
    };
    let post_of = |actor: &str, bytes: usize| json!({"type": "post.created", "actor": actor, "data": {"text": "x".repeat(bytes)}});
    // The copies of a large event are pointers.
    let large = post(watched, "posts", &post_of("ada", 5_000)).await;
    let page = get(&format!("/actors/ada/events?wait_for={large}")).await;
    // The other parts of the test write events of the same actor meanwhile.
    assert!(page["events"].as_array().unwrap().iter().any(|event| event["id"] == large), "{page}");

    // Two followers need jobs, and three make the source pulled.
    for (source, mode, followers) in [("actor:dora", "push", 2), ("actor:carol", "pull", 3)] {
        for n in 0..followers {
            followed(&format!("user{n}"), source).await;
        }
        assert_eq!(get(&format!("/sources/{source}")).await["mode"], mode);
    }
    followed("user3", "actor:carol").await;
    for actor in ["dora", "carol"] {
        let id = post(watched, "posts", &post_of(actor, 1)).await;
        let feed = get(&format!("/feeds/user1?wait_for={id}")).await;
        assert_eq!(feed["events"][0]["id"], id, "{actor}");
    }
    get("/feeds/user1/unread").await;
    // A page that waits is counted among its caller's open streams.
    let newest = get("/topics/posts/events?limit=1").await;
    let newer = newest["newer"].as_str().unwrap();
    get(&format!("/topics/posts/events?cursor={newer}&wait=1")).await;

    for (user, fault) in
        [("user4", Fault::TransactionConflict), ("user5", Fault::Throttle(Throttle::TableKeyRange))]
    {
        let in_shard = Target::operation(Operation::TransactWriteItems).partition("FOLLOWERS#");
        let busy = hurt(api, in_shard, 1, fault);
        let follows = api.serving(lately_follow::routes().with_store(&follow.store(&busy)));
        follows.call("dev", &format!("PUT /users/{user}/following/actor:eve"), "").await.is_ok(201);
    }
}

/// The latest record of a put in a partition with a prefix, as Lambda hands it over.
fn latest(api: &Api, prefix: &str) -> String {
    let stream = api.system.engine.stream("lately").unwrap();
    let is_wanted = |record: &Arc<Record>| {
        record.new_image().is_some() && record.keys()["pk"].as_s().unwrap().starts_with(prefix)
    };
    stream.lambda_event(&[stream.all().into_iter().rfind(is_wanted).unwrap()])
}

/// A timeline that is throttled for a moment.
pub(super) async fn overload(watched: &WitnessedSystem) {
    let WitnessedSystem { api, pump, fan_out, .. } = watched;
    post(watched, "posts", &event()).await;
    let entries = Target::operation(Operation::BatchWriteItem).partition("SOURCE#");
    let store = fan_out.store(&hurt(api, entries, 20, Fault::Throttle(Throttle::TableKeyRange)));
    let answer = lately_fan_out::handle(&store, latest(api, "EVENTS#posts#").as_bytes(), TIME).await.unwrap();
    assert!(answer.is_done() && answer.handled().deferred > 0, "{answer:?}");
    pump.settled().await;

    // A page of a job is put away, because its reads are throttled.
    let pages = hurt(api, Target::reads().partition("JOB#"), 20, Fault::Throttle(Throttle::TableKeyRange));
    let page = latest(api, "JOB#PUSH#");
    let answer = lately_fan_out::handle(&fan_out.store(&pages), page.as_bytes(), TIME).await.unwrap();
    assert!(answer.is_done() && answer.handled().put_away > 0, "{answer:?}");
    pump.settled().await;
}

/// Issues of an older schema, issues of a throttled topic, and a session that is limited to some topics.
pub(super) async fn records(watched: &WitnessedSystem) {
    let WitnessedSystem { api, records, .. } = watched;
    let limited = json!({"scopes": ["read"], "topics": ["posts"], "ttl_seconds": 60});
    let made = api.call("dev", "POST /sessions", limited.to_string()).await.is_ok(201).json();
    api.call(made["token"].as_str().unwrap(), "GET /topics", "").await.is_ok(200);
    let eves = json!({"user": "eve", "scopes": ["read"], "ttl_seconds": 60});
    api.call("dev", "POST /sessions", eves.to_string()).await.is_ok(201);
    for call in ["GET /sessions", "GET /sessions?user=eve", "DELETE /sessions?user=eve"] {
        api.call("dev", call, "").await.is_ok(200);
    }
    put_item(api, old_issue()).await;
    for query in ["/7", "", "?status=open", "?priority=high"] {
        api.call("ada", &format!("GET /repos/octo/hello/issues{query}"), "").await.is_ok(200);
    }
    let target = Target::operation(Operation::TransactWriteItems).partition("EVENTS#");
    for fault in [Fault::TransactionConflict, Fault::Throttle(Throttle::TableKeyRange)] {
        let hot = hurt(api, target.clone(), 3, fault);
        let issues = api.serving(lately_records::routes().with_store(&records.store(&hot)));
        issues.call("ada", "POST /repos/octo/hello/issues", r#"{"title":"t"}"#).await.is_ok(201);
    }
}

/// A caller with limits. Every function with routes asks for its requests.
pub(super) async fn limits(watched: &WitnessedSystem) {
    let WitnessedSystem { api, .. } = watched;
    let limited = json!({
        "user": "ada", "scopes": ["read", "write", "consume"], "ttl_seconds": 60,
        "writes_per_minute": 100, "reads_per_minute": 100,
    });
    let made = api.call("dev", "POST /sessions", limited.to_string()).await.is_ok(201).json();
    let token = made["token"].as_str().unwrap();
    api.call(token, "POST /topics/posts/events", event().to_string()).await.is_ok(201);
    for read in
        ["/topics/posts/events", "/sources/actor:ada", "/sessions/self", "/topics/posts/consumers/none"]
    {
        let read = api.call(token, &format!("GET {read}"), "").await;
        assert!(read.header("ratelimit").is_some(), "{read:?}");
    }
}

/// Reports in parts, with late events, and after a process that died.
pub(super) async fn reports(watched: &WitnessedSystem) {
    let WitnessedSystem { api, objects, report, .. } = watched;
    api.call("dev", "PUT /topics/billing", "").await.is_ok(201);
    let (client, output) = (api.system.engine.client(), watched.output_of(objects.clone()));
    let store = report.store(&client);
    let name = "report".parse().unwrap();
    let due = Report {
        consumer: ConsumerKey { topic: "billing".parse().unwrap(), name },
        spec: RunSpec::default(),
    };
    let run = async |output, time| lately_report::run(&store, output, &due, time).await;

    // Large enough for an upload in several parts.
    let mut large = event_ago(3_600);
    large["data"] = "x".repeat(250_000).into();
    for _ in 0..4 {
        post(watched, "billing", &vec![large.clone(); 10].into()).await;
    }
    let outcome = run(&output, Duration::ZERO).await.unwrap();
    assert!(matches!(outcome, Outcome::Unfinished { .. }), "{outcome:?}");
    let broken = watched.output_of(objects.failing());
    run(&broken, TIME).await.unwrap_err();
    let done = run(&output, TIME).await.unwrap();
    assert!(matches!(done, Outcome::Finished { events: 40, .. }), "{done:?}");
    // Events that are late for one report, and for two.
    for _ in 0..2 {
        leave_gap(&client, "billing").await;
        post(watched, "billing", &event_ago(3_000)).await;
        let done = run(&output, TIME).await.unwrap();
        assert!(matches!(done, Outcome::Finished { late: 1, .. }), "{done:?}");
    }

    // A process dies when it commits its run, and another process finishes the run an hour later.
    let died = Target::operation(Operation::PutItem).partition("CONSUMER#");
    let dying = Faults::default().nth(1, died, Fault::Crash(Moment::Before));
    let dying = api.system.engine.client_with(dying);
    let victim = report.store(&dying.client());
    assert!(Box::pin(dying.run(lately_report::run(&victim, &output, &due, TIME))).await.is_none());
    let later =
        Store::new(Connection::new(report.client(&client), "lately", Skew::by(3_600), OPERATION_BUDGET));
    let done = lately_report::run(&later, &output, &due, TIME).await.unwrap();
    assert!(matches!(done, Outcome::Finished { .. }), "{done:?}");
    for operation in ["GET /topics/billing/consumers/report/runs", "DELETE /topics/billing/consumers/report"]
    {
        assert!(api.call("dev", operation, "").await.status < 300, "{operation}");
    }
}

/// Live streams: one for each kind of timeline, with late events and large ones.
pub(super) async fn live(watched: &WitnessedSystem) {
    let WitnessedSystem { api, .. } = watched;
    let store = watched.live.store(&api.system.engine.client());
    // The function checks the token itself.
    let alone = api.through(edge::around(lately_live::router(live_of(store.clone(), &watched.issuers))));
    alone.call("dev", "GET /topics/posts/live", "").await.is_ok(200);
    // Opening a stream is a read of a caller with a limit.
    let session = json!({"scopes": ["read"], "ttl_seconds": 3600, "reads_per_minute": 100}).to_string();
    let session = api.call("dev", "POST /sessions", session).await.is_ok(201).json();
    alone.call(session["token"].as_str().unwrap(), "GET /topics/posts/live", "").await.is_ok(200);
    // The keys of a JWT's issuer are fetched and stored, whatever its signature is.
    let parts = [json!({"alg": "ES256"}), json!({"iss": watched.issuer})];
    let [header, claims] = parts.map(|part| URL_SAFE_NO_PAD.encode(part.to_string()));
    let jwt = format!("{header}.{claims}.AA");
    for api in [api, &alone] {
        api.call(&jwt, "GET /topics/posts/live", "").await.is(403, "invalid-token");
    }
    let page = api.call("dev", "GET /topics/issues/events?type=issue.opened&limit=1", "").await.json();
    let cursor = page["newer"].as_str().unwrap();
    let target = format!("GET /topics/issues/live?type=issue.opened&cursor={cursor}");
    alone.call("dev", &target, "").await.is_ok(200);
    api.call("dev", "PUT /users/lea/following/actor:nora", "").await.is_ok(201);
    let mut posts = follow(&store, Timeline::Topic("posts".parse().unwrap())).await;
    let mut nora = follow(&store, Timeline::Source("actor:nora".parse().unwrap())).await;
    let typed = LiveQuery { cursor: Some(cursor.to_owned()), event_type: "issue.opened".parse().ok() };
    let issues = Timeline::Topic("issues".parse().unwrap());
    let mut typed = store.op().follow(issues, &typed, None).await.unwrap();
    typed.next().await.unwrap();
    // A large import is late on the topic and on the actor's timeline.
    leave_gap(&api.system.engine.client(), "posts").await;
    let mut import = event_ago(3_600);
    import["actor"] = "nora".into();
    import["data"] = "x".repeat(5_000).into();
    let import = post_at_once(watched, "posts", &import).await;
    wait_for_late(&mut posts, &import).await;
    wait_for_late(&mut nora, &import).await;
    // A post is late in a feed if fan-out handles it seconds later.
    let posted = post_at_once(watched, "posts", &json!({"type": "post.created", "actor": "nora"})).await;
    tokio::time::sleep(Duration::from_millis(2_500)).await;
    let mut feed = follow(&store, Timeline::Feed("lea".parse().unwrap())).await;
    let slow = watched.fan_out.store(&api.system.engine.client());
    let records = lately_store::Record::batch(latest(api, "EVENTS#posts#").as_bytes()).unwrap();
    assert_eq!(slow.op_within(TIME).fan_out(&records).await.failed, None);
    wait_for_late(&mut feed, &posted).await;
}

async fn follow(store: &Store, timeline: Timeline) -> LiveFollower {
    store.op().follow(timeline, &LiveQuery::default(), None).await.unwrap()
}

async fn wait_for_late(follower: &mut LiveFollower, late: &str) {
    let late_message = async {
        loop {
            match follower.next().await.unwrap() {
                LiveMessage::Late { event, .. } if event.event.id.to_string() == late => break,
                _ => {}
            }
        }
    };
    tokio::time::timeout(PATIENCE, late_message).await.expect("the follower sends the event");
}

/// Raises the end of a topic's late log, as a process that dies before it puts its item.
async fn leave_gap(client: &Client, topic: &str) {
    let end = LateLogKey { topic: topic.parse().unwrap() }.encode();
    client
        .update_item()
        .table_name("lately")
        .key("pk", AttributeValue::S(end.pk))
        .key("sk", AttributeValue::S(end.sk))
        .update_expression("ADD n :one")
        .expression_attribute_values(":one", AttributeValue::N("1".to_owned()))
        .send()
        .await
        .unwrap();
}

/// Topics that are deleted or get another retention, with late events, a consumer, and an event that arrives after.
pub(super) async fn ends(watched: &WitnessedSystem) {
    let WitnessedSystem { api, pump, .. } = watched;
    let client = api.system.engine.client();
    api.call("dev", "PUT /topics/ended", r#"{"retention_days":40}"#).await.is_ok(201);
    let consumer = "/topics/ended/consumers/nightly";
    api.call("dev", &format!("PUT {consumer}"), r#"{"settle_seconds":0}"#).await.is_ok(201);
    let day = 24 * 60 * 60;
    for days in [1, 5, 20] {
        post(watched, "ended", &event_ago(days * day)).await;
    }
    // A late event is in the topic's late log, and a new one is in its author's feed.
    api.call("dev", &format!("POST {consumer}/seek"), r#"{"to":"earliest"}"#).await.is_ok(200);
    leave_gap(&client, "ended").await;
    api.call("dev", &format!("POST {consumer}/poll"), "").await.is_ok(200);
    for event in [event_ago(day), event()] {
        post(watched, "ended", &event).await;
    }
    // A shorter retention deletes events, and a longer one gives the remaining events another expiry.
    for days in [10, 30] {
        let change = json!({"retention_days": days}).to_string();
        api.call("dev", "PUT /topics/ended", change).await.is_ok(200);
        pump.settled().await;
    }
    let items = client.scan().table_name("lately").consistent_read(true).send().await.unwrap();
    let is_event = |item: &&HashMap<String, AttributeValue>| {
        item["pk"].as_s().is_ok_and(|pk| pk.starts_with("EVENTS#ended#"))
    };
    let event = items.items().iter().find(is_event).cloned();
    api.call("dev", "DELETE /topics/ended?dry_run=true", "").await.is_ok(200);
    api.call("dev", "DELETE /topics/ended?confirm=ended", "").await.is_ok(202);
    pump.settled().await;
    // A process that did not know of the deletion writes an event.
    client.put_item().table_name("lately").set_item(event).send().await.unwrap();
    pump.settled().await;
    let deletion = api.call("dev", "GET /topics/ended/deletion", "").await.is_ok(200).json();
    assert_eq!((&deletion["events"], &deletion["consumers"]), (&json!(4), &json!(1)), "{deletion}");
}

/// A person with items everywhere is erased.
pub(super) async fn erasures(watched: &WitnessedSystem) {
    let WitnessedSystem { api, pump, .. } = watched;
    let call =
        async |line: &str, body: &Value| api.call("dev", line, if_written(line, &body.to_string())).await;
    // A topic that does not list events by actor is walked through.
    let unlisted = json!({"fan_out": false, "views": []});
    call("PUT /topics/unlisted", &unlisted).await.is_ok(201);
    call("PUT /topics/unlisted/consumers/nightly", &json!({"start": "earliest", "settle_seconds": 0}))
        .await
        .is_ok(201);
    call("POST /topics/unlisted/consumers/nightly/poll", &json!({})).await;
    call("PUT /users/gus/profile", &json!({"name": "Gus"})).await.is_ok(201);
    for (user, source) in [("gus", "actor:ada"), ("lea", "actor:gus")] {
        call(&format!("PUT /users/{user}/following/{source}"), &json!({})).await.is_ok(201);
        pump.settled().await;
    }
    let session = json!({"user": "gus", "scopes": ["read", "write", "import"], "ttl_seconds": 600});
    let made = call("POST /sessions", &session).await.is_ok(201).json();
    let token = made["token"].as_str().unwrap();
    let of_gus = |at: Option<String>| {
        let mut event =
            json!({"type": "post.created", "actor": "gus", "subject": "thing:1", "data": {"n": 1}});
        at.into_iter().for_each(|at| event["at"] = at.into());
        event
    };
    for (topic, event) in [
        ("posts", of_gus(None)),
        ("posts", of_gus(Some(ago(3_600)))),
        ("unlisted", of_gus(None)),
        ("unlisted", of_gus(Some(ago(3_600)))),
    ] {
        let line = format!("POST /topics/{topic}/events");
        let request = request(&line).header("authorization", format!("Bearer {token}"));
        let request = request.header("idempotency-key", format!("{topic}-{}", event["at"].is_null()));
        api.send(request, event.to_string()).await.is_ok(201);
        pump.settled().await;
    }
    let page = api.call("dev", "GET /feeds/gus", "").await.is_ok(200).json();
    call("PUT /feeds/gus/seen", &json!({"id": page["events"][0]["id"]})).await.is_ok(204);
    let issue = json!({"title": "It forgets"});
    api.call(token, "POST /repos/octo/hello/issues", issue.to_string()).await.is_ok(201);
    pump.settled().await;
    let names = json!({"actor": "gus", "user": "gus", "confirm": "gus"});
    let begun = call("POST /erasures", &names).await;
    let id = begun.is_ok(202).json()["id"].as_str().unwrap().to_owned();
    call("POST /erasures", &names).await.is_ok(202);
    // Nora's timeline was followed live, with a late event.
    call("POST /erasures", &json!({"actor": "nora", "confirm": "nora"})).await.is_ok(202);
    pump.settled().await;
    call("GET /erasures", &Value::Null).await.is_ok(200);
    let done = call(&format!("GET /erasures/{id}"), &Value::Null).await.is_ok(200).json();
    assert_eq!((&done["counts"]["events"], &done["counts"]["issues"]), (&json!(5), &json!(1)), "{done}");
}
