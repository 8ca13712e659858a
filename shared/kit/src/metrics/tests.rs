//! The metrics lines, checked against CloudWatch's specification:
//! <https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html>

use std::sync::Mutex;

use axum::body::Body;
use axum::extract::Request;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use tower::ServiceExt;

use super::*;
use crate::body::Whole;
use crate::code::Code;
use crate::problem::Problem;
use crate::route::Routes;
use crate::routes;
use crate::{edge, world::World};

const AT: Duration = Duration::from_millis(1_795_167_000_123);

fn names(route: Option<&'static str>) -> Names<'static> {
    Names { namespace: "Lately", function: "write-event", outcome: "ok", route, table: "lately" }
}

fn all() -> Measures {
    let measure = |measures: Measures, metric: Metric| match metric.unit() {
        "Count" => measures.count(metric, 7),
        _ => measures.time(metric, Duration::from_millis(1_500)),
    };
    Metric::ALL.iter().copied().fold(Measures::default(), measure)
}

/// The requirements of the specification and its JSON schema.
fn must_be_valid(line: &str) {
    let line: Value = serde_json::from_str(line).expect("the whole of a log event is one JSON object");
    assert!(line.to_string().len() < 1024 * 1024);
    let timestamp = line["_aws"]["Timestamp"].as_u64().expect("milliseconds since 1970");
    assert!(timestamp > 1_000_000_000_000);
    let directives = line["_aws"]["CloudWatchMetrics"].as_array().expect("an array of directives");
    assert!(!directives.is_empty());
    let name = |value: &Value, longest: usize| {
        let name = value.as_str().expect("a name is a string").to_owned();
        assert!((1..=longest).contains(&name.len()), "{name}");
        name
    };
    for directive in directives {
        let members: Vec<_> = directive.as_object().unwrap().keys().collect();
        assert_eq!(members, ["Dimensions", "Metrics", "Namespace"], "and no other");
        name(&directive["Namespace"], 255);
        let dimensions = directive["Dimensions"].as_array().unwrap();
        assert!(!dimensions.is_empty());
        for set in dimensions {
            let set = set.as_array().unwrap();
            assert!((1..=30).contains(&set.len()));
            for dimension in set {
                // The target member: the value of the dimension.
                let value = line[name(dimension, 250)].as_str().expect("a dimension is a string");
                assert!((1..=1024).contains(&value.len()) && value.is_ascii(), "{value}");
            }
        }
        let metrics = directive["Metrics"].as_array().unwrap();
        assert!((1..=100).contains(&metrics.len()));
        for metric in metrics {
            let members: Vec<_> = metric.as_object().unwrap().keys().collect();
            assert_eq!(members, ["Name", "Unit"]);
            assert!(["Milliseconds", "Seconds", "Count"].contains(&metric["Unit"].as_str().unwrap()));
            assert!(line[name(&metric["Name"], 1024)].is_number(), "{metric}");
        }
    }
}

#[test]
fn the_line_of_a_request_matches_byte_for_byte() {
    let cost = Cost { calls: 2, read_units: Units { halves: 9 }, items: 50, ..Cost::default() };
    let measures = Measures::of(Duration::from_micros(12_500), Tally { cost, ..Tally::default() });
    let line = names(Some("GET /topics/{topic}/events")).line(AT, &measures, [("status", 200.into())]);
    must_be_valid(&line);
    let latency = r#"{"Name":"Latency","Unit":"Milliseconds"}"#;
    let all = format!(
        r#"{latency},{{"Name":"DynamoDbCalls","Unit":"Count"}},{{"Name":"ReadUnits","Unit":"Count"}},{{"Name":"Items","Unit":"Count"}}"#
    );
    assert_eq!(
        line,
        [
            r#"{"DynamoDbCalls":2,"Function":"write-event","Items":50,"Latency":12.5,"Outcome":"ok","ReadUnits":4.5,"#,
            r#""Route":"GET /topics/{topic}/events","_aws":{"CloudWatchMetrics":["#,
            &format!(r#"{{"Dimensions":[["Function"]],"Metrics":[{all}],"Namespace":"Lately"}},"#),
            &format!(r#"{{"Dimensions":[["Function","Outcome"],["Route"]],"Metrics":[{latency}],"Namespace":"Lately"}}"#),
            r#"],"Timestamp":1795167000123},"level":"INFO","status":200}"#,
        ]
        .concat()
    );
}

#[test]
fn throttles_are_also_metrics_of_the_table() {
    let tally = Tally { throttles: 3, throttles_given_up: 1, ..Tally::default() };
    let line = names(None).line(AT, &Measures::of(Duration::ZERO, tally), []);
    must_be_valid(&line);
    let line: Value = serde_json::from_str(&line).unwrap();
    let directive = &line["_aws"]["CloudWatchMetrics"][2];
    let metrics =
        json!([{"Name": "Throttles", "Unit": "Count"}, {"Name": "ThrottlesGivenUp", "Unit": "Count"}]);
    assert_eq!((&directive["Dimensions"], &directive["Metrics"]), (&json!([["Table"]]), &metrics));
    assert_eq!(
        (&line["Table"], &line["Throttles"], &line["ThrottlesGivenUp"]),
        (&"lately".into(), &3.into(), &1.into())
    );
    assert_eq!(line["_aws"]["CloudWatchMetrics"][1]["Dimensions"], json!([["Function", "Outcome"]]));
}

#[test]
fn every_metric_has_a_unique_name_and_a_valid_line() {
    must_be_valid(&names(Some("GET /health")).line(AT, &all(), []));
    let names: std::collections::BTreeSet<_> = Metric::ALL.iter().copied().map(Metric::name).collect();
    assert_eq!(names.len(), Metric::ALL.len());
    assert!(
        names.iter().all(|name| name.starts_with(|c: char| c.is_ascii_uppercase())),
        "as no property does"
    );
}

/// The written lines. Only one test writes.
static LINES: Mutex<Vec<String>> = Mutex::new(Vec::new());

#[tokio::test]
async fn clients_cannot_choose_the_dimensions_of_a_line() {
    let config = crate::aws::bounded(aws_sdk_dynamodb::config::Builder::new()).build();
    let client = aws_sdk_dynamodb::Client::from_conf(config);
    let store =
        Store::new(lately_table::Connection::new(client, "lately", World::new(), Duration::from_secs(1)));
    let meters = Meters::new("Lately", "records", store, |line| LINES.lock().unwrap().push(line.to_owned()));
    let working = async |_: Whole| StatusCode::NO_CONTENT;
    let failing = async |_: Whole| Problem::new(Code::Unavailable, "").into_response();
    let routes: Routes = routes! { "Other"
        GET "/health" Open Free working {}
        GET "/openapi.json" Open Free failing {}
    };
    let router = routes.into_router();
    let router = edge::observed(router, move |answered| meters.answered(answered));
    for (method, target) in [
        ("GET", "/health"),
        ("GET", "/health?secret=secret"),
        ("GET", "/secret"),
        ("SECRET", "/health"),
        ("GET", "/openapi.json"),
    ] {
        let request = Request::builder().method(method).uri(target).header("secret", "secret");
        let request =
            request.extension(RequestId("8f1c".to_owned())).extension(GatewayRequestId("R=".to_owned()));
        router.clone().oneshot(request.body(Body::from("secret")).unwrap()).await.unwrap();
    }
    let lines = std::mem::take(&mut *LINES.lock().unwrap());
    lines.iter().for_each(|line| must_be_valid(line));
    assert!(lines.iter().all(|line| !line.to_lowercase().contains("secret")), "{lines:?}");
    let lines: Vec<Value> = lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(lines.iter().all(|line| line["request_id"] == "8f1c" && line["gateway_request_id"] == "R="));
    let rows: Vec<_> = lines.iter().map(|line| (&line["Route"], &line["Outcome"], &line["status"])).collect();
    let (health, document) = (Value::from("GET /health"), Value::from("GET /openapi.json"));
    assert_eq!(
        rows,
        [
            (&health, &"ok".into(), &204.into()),
            (&health, &"refused".into(), &400.into()),
            (&Value::Null, &"refused".into(), &404.into()),
            (&Value::Null, &"refused".into(), &405.into()),
            (&document, &"failed".into(), &503.into()),
        ]
    );
}
