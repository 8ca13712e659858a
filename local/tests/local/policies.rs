//! What the template allows a function is what it does: each call that it makes is allowed, and nothing is allowed that
//! none of them needs.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::interceptors::BeforeTransmitInterceptorContextRef;
use aws_sdk_dynamodb::config::{ConfigBag, Intercept, RuntimeComponents};
use aws_sdk_dynamodb::error::BoxError;
use lately::TEMPLATE;
use lately_engine::pump::{Destination, PumpFaults};
use lately_engine::template::{Statement, Template};
use lately_keys::table::ConsumerKey;
use lately_kit::limits::OPERATION_BUDGET;
use lately_kit::world::World;
use lately_model::RunSpec;
use lately_report::{Outcome, Output, Place, Report};
use lately_store::Store;
use serde_json::{Value, json};

use crate::support::{Api, event, event_ago, old_issue, put_item, request};

/// An action as IAM names it, what it is done to as `Fn::Sub` would have it, and the partition.
type Deed = (String, String, String);

/// Writes down what is sent.
#[derive(Clone, Debug, Default)]
struct Witness(Arc<Mutex<BTreeSet<Deed>>>);

impl Witness {
    /// A store whose calls it writes down.
    fn store(&self, api: &Api) -> Store {
        let config = api.system.engine.client().config().to_builder().interceptor(self.clone()).build();
        Store::new(Client::from_conf(config), "lately", World::new(), OPERATION_BUDGET)
    }

    /// Passes if a function may do all that was done; answers what was not needed of what it may do to tables.
    #[track_caller]
    fn unneeded(&self, function: &str) -> Vec<String> {
        let mut statements = Template::parse(TEMPLATE).unwrap().statements(function).unwrap();
        statements.retain(|statement| statement.actions.iter().any(|action| action.starts_with("dynamodb:")));
        let done = self.0.lock().unwrap().clone();
        assert_ne!(done, BTreeSet::new(), "{function} did nothing");
        let mut used = BTreeSet::new();
        for (action, resource, partition) in &done {
            let allowing = statements.iter().find_map(|statement| {
                let allows = statement.actions.contains(action) && statement.resources.contains(resource);
                let pattern = patterns(statement).into_iter().find(|pattern| is_like(partition, pattern));
                pattern.filter(|_| allows).map(|pattern| (statement, pattern))
            });
            let (statement, pattern) =
                allowing.unwrap_or_else(|| panic!("{function}: {action} of {partition} in {resource}"));
            used.extend([action, resource, &pattern].map(|part| (statement.sid.clone(), part.clone())));
        }
        let allowed = statements.iter().flat_map(|statement| {
            assert_eq!(statement.effect, "Allow");
            let parts =
                [&statement.actions, &statement.resources, &patterns(statement)].map(Vec::clone).concat();
            parts.into_iter().map(|part| (statement.sid.clone(), part))
        });
        allowed.filter(|it| !used.contains(it)).map(|(sid, part)| format!("{part} of {sid:?}")).collect()
    }
}

impl Intercept for Witness {
    fn name(&self) -> &'static str {
        "Witness"
    }

    fn read_before_transmit(
        &self,
        context: &BeforeTransmitInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let request = context.request();
        let target = request.headers().get("x-amz-target").unwrap();
        let body = serde_json::from_slice(request.body().bytes().unwrap())?;
        self.0.lock().unwrap().extend(deeds(target.split_once('.').unwrap().1, &body));
        Ok(())
    }
}

/// What a call does, each part of a transaction by itself, as IAM looks at it.
fn deeds(operation: &str, body: &Value) -> Vec<Deed> {
    let of_table =
        |action: &str, pk: &Value| (format!("dynamodb:{action}"), "${Table.Arn}".to_owned(), partition(pk));
    match operation {
        "GetItem" | "UpdateItem" | "DeleteItem" => vec![of_table(operation, &body["Key"]["pk"])],
        "PutItem" => vec![of_table(operation, &body["Item"]["pk"])],
        "BatchGetItem" => {
            let keys = body["RequestItems"]["lately"]["Keys"].as_array().unwrap();
            keys.iter().map(|key| of_table(operation, &key["pk"])).collect()
        }
        "BatchWriteItem" => {
            let writes = body["RequestItems"]["lately"].as_array().unwrap();
            let keys = writes.iter().map(|write| match &write["PutRequest"]["Item"]["pk"] {
                Value::Null => &write["DeleteRequest"]["Key"]["pk"],
                pk => pk,
            });
            keys.map(|pk| of_table(operation, pk)).collect()
        }
        "Query" => {
            let condition = body["KeyConditionExpression"].as_str().unwrap();
            let place = condition.split(" AND ").next().unwrap().split_once(" = ").unwrap().1;
            let (action, table, pk) = of_table(operation, &body["ExpressionAttributeValues"][place]);
            let index = body["IndexName"].as_str().map(|index| format!("{table}/index/{index}"));
            vec![(action, index.unwrap_or(table), pk)]
        }
        "TransactWriteItems" => {
            let parts = body["TransactItems"].as_array().unwrap().iter();
            parts
                .map(|part| match part.as_object().unwrap().iter().next().unwrap() {
                    (kind, put) if kind == "Put" => of_table("PutItem", &put["Item"]["pk"]),
                    (kind, update) if kind == "Update" => of_table("UpdateItem", &update["Key"]["pk"]),
                    (kind, _) => panic!("{kind}"),
                })
                .collect()
        }
        _ => panic!("{operation}"),
    }
}

fn partition(pk: &Value) -> String {
    pk["S"].as_str().unwrap().to_owned()
}

/// The partitions that a statement is limited to, as patterns; all if it is not.
fn patterns(statement: &Statement) -> Vec<String> {
    match statement.conditions.pointer("/ForAllValues:StringLike/dynamodb:LeadingKeys") {
        Some(Value::Array(patterns)) => patterns.iter().map(|it| it.as_str().unwrap().to_owned()).collect(),
        _ => vec!["*".to_owned()],
    }
}

fn is_like(text: &str, pattern: &str) -> bool {
    text.starts_with(pattern.strip_suffix('*').unwrap())
}

#[tokio::test]
async fn records_is_allowed_what_it_does_and_nothing_else() {
    let api = Api::empty().await;
    let witness = Witness::default();
    let records = api.serving(lately_records::routes(witness.store(&api)));
    for line in ["PUT /topics/posts", "GET /topics/posts", "GET /topics"] {
        assert!(records.call("dev", line, "").await.status < 300, "{line}");
    }
    for (path, who) in [("/users/ada/profile", "ada"), ("/settings/web", "dev")] {
        let put = records.call(who, &format!("PUT {path}"), "{}").await;
        records.call(who, &format!("GET {path}"), "").await.is_ok(200);
        let delete = request(&format!("DELETE {path}")).header("authorization", format!("Bearer {who}"));
        let tag = put.is_ok(201).header("etag").unwrap();
        records.send(delete.header("if-match", tag), "").await.is_ok(204);
    }
    let session = json!({"scopes": ["read"], "ttl_seconds": 60}).to_string();
    let session = records.call("dev", "POST /sessions", session).await.is_ok(201).json();
    for (method, status) in [("GET", 200), ("DELETE", 204)] {
        let line = format!("{method} /sessions/{}", session["id"].as_str().unwrap());
        records.call("dev", &line, "").await.is_ok(status);
    }
    let issues = "/repos/octo/hello/issues";
    let opened = records.call("ada", &format!("POST {issues}"), r#"{"title":"t"}"#).await;
    let patch = request(&format!("PATCH {issues}/1")).header("authorization", "Bearer ada");
    let patch = patch.header("if-match", opened.is_ok(201).header("etag").unwrap());
    records.send(patch, r#"{"status":"closed"}"#).await.is_ok(200);
    put_item(&api, old_issue()).await;
    for query in ["/7", "", "?status=open", "?priority=high", "?status=closed&wait_for=1@1"] {
        records.call("ada", &format!("GET {issues}{query}"), "").await.is_ok(200);
    }
    assert_eq!(witness.unneeded("RecordsFunction"), [""; 0]);
}

#[tokio::test]
async fn consumers_and_reports_are_allowed_what_they_do_and_nothing_else() {
    let api = Api::with_posts().await;
    let [fan_out, consume, report] = [(); 3].map(|()| Witness::default());
    let mut pumped = api.system.clone();
    pumped.store = fan_out.store(&api);
    let pump = pumped.pump(Destination::memory(), PumpFaults::default(), None).unwrap();
    let pumping = pump.handle();
    tokio::spawn(pump.run());
    let post = async |event: Value| {
        api.call("dev", "POST /topics/posts/events", event.to_string()).await.is_ok(201);
        pumping.settled().await;
    };

    let folder = tempfile::tempdir().unwrap();
    let output = Output::open(&Place::Folder(folder.path().to_owned())).await.unwrap();
    let consumers = api.serving(lately_consume::routes(consume.store(&api)));
    let ask = async |method: &str, operation: &str, body: Value| {
        let line = format!("{method} /topics/posts/consumers/nightly{operation}");
        let answer = consumers.call("dev", &line, body.to_string()).await;
        assert!(answer.status < 300, "{line}: {}", answer.text);
        if answer.text.is_empty() { Value::Null } else { answer.json() }
    };
    let reporter = report.store(&api);
    let name = "report".parse().unwrap();
    let due =
        Report { consumer: ConsumerKey { topic: "posts".parse().unwrap(), name }, spec: RunSpec::default() };
    let mut reported = 0;
    ask("PUT", "", json!({"start": "earliest", "settle_seconds": 0})).await;
    // The second time with what is late for both.
    for at in [event(), event_ago(3_600)] {
        post(at).await;
        let polled = ask("POST", "/poll", json!({})).await;
        ask("POST", "/commit", json!({"batch": polled["batch"]})).await;
        let time = Duration::from_secs(292);
        let done = lately_report::run(&reporter, &output, &due, time).await.unwrap();
        let Outcome::Finished { late, .. } = done else { panic!("{done:?}") };
        reported += late;
    }
    assert_eq!(reported, 1);
    ask("GET", "", Value::Null).await;
    ask("GET", "/runs", Value::Null).await;
    ask("POST", "/seek", json!({"to": "earliest"})).await;
    ask("DELETE", "", Value::Null).await;
    let line = "DELETE /topics/posts/consumers/report";
    consumers.call("dev", line, "").await.is_ok(204);
    fan_out.unneeded("FanOutFunction");
    assert_eq!(consume.unneeded("ConsumeFunction"), [""; 0]);
    assert_eq!(report.unneeded("ReportFunction"), [""; 0]);
}
