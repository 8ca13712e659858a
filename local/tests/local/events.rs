//! Every payload of `events/` gets the answer of `events/expected.json`, as it would behind the gateway or the function
//! URL. The file also lists the state of the system that the answers assume. `scripts/emulator` checks the deployed
//! functions with the same file.

use std::collections::BTreeMap;
use std::time::Duration;

use futures_util::StreamExt;
use lambda_runtime::{Context, LambdaEvent};
use lately_authorize::{Authorizer, Issuers};
use lately_kit::edge;
use lately_kit::lambda::{HttpEvent, streaming_service};
use lately_live::Live;
use lately_report::{Outcome, Output};
use serde::Deserialize;
use serde_json::Value;
use tower::{Service, ServiceExt};

use crate::drift::{expected, payloads};
use crate::support::{Api, put_item};

/// The expected answer to a payload.
#[derive(Deserialize)]
#[serde(untagged)]
enum Expected {
    /// The status of a response to a request, and the code if the response is a problem. A live stream also has these
    /// headers and these texts.
    Http {
        status: u16,
        #[serde(default)]
        code: String,
        #[serde(default)]
        headers: BTreeMap<String, String>,
        #[serde(default)]
        holds: Vec<String>,
    },
    /// An answer that contains these values, and maybe others.
    Holds { answer: Value },
}

/// The expected answers, by the payloads' file names.
fn answers() -> BTreeMap<String, Expected> {
    serde_json::from_value(expected()["answers"].clone()).unwrap()
}

/// The values that the answer to a payload must contain.
fn held(name: &str) -> Value {
    match answers().remove(name) {
        Some(Expected::Holds { answer }) => answer,
        _ => panic!("{name} is not expected to contain values"),
    }
}

/// True if an answer contains the expected values.
fn holds(answer: &Value, expected: &Value) -> bool {
    match (answer, expected) {
        (Value::Object(answer), Value::Object(expected)) => {
            expected.iter().all(|(name, value)| answer.get(name).is_some_and(|it| holds(it, value)))
        }
        (Value::Array(answer), Value::Array(expected)) => {
            answer.len() == expected.len() && answer.iter().zip(expected).all(|(it, value)| holds(it, value))
        }
        _ => answer == expected,
    }
}

/// A system in the state that the answers assume.
async fn given() -> Api {
    let (api, expected) = (Api::empty().await, expected());
    let calls: Vec<(String, String, Value)> =
        serde_json::from_value(expected["given"]["calls"].clone()).unwrap();
    for (token, line, body) in calls {
        api.call(&token, &line, body.to_string()).await.is_ok(201);
    }
    for item in expected["given"]["items"].as_array().unwrap() {
        put_item(&api, item.clone()).await;
    }
    api
}

/// The time for a batch of the stream.
const TIME: Duration = Duration::from_secs(10);

/// The time of the report function, which reserves a part of it.
const REPORT_TIME: Duration = Duration::from_secs(292);

/// The time of a live stream.
const STREAM_TIME: Duration = Duration::from_secs(1);

/// The payloads of routes behind the gateway.
fn http_payloads() -> BTreeMap<String, String> {
    let others = ["authorize", "fan-out", "live", "report"];
    let is_http = |name: &str| !others.iter().any(|other| name.starts_with(other));
    payloads().into_iter().filter(|(name, _)| is_http(name)).collect()
}

/// The functions alone. They get the caller from the authorizer's context in the payload, and see no token.
fn behind_the_gateway(api: &Api) -> Api {
    api.through(edge::around(api.system.routes().into_router()))
}

#[tokio::test]
async fn each_payload_of_the_authorizer_is_answered_as_expected() {
    let authorizer = Authorizer::new(Api::empty().await.system.store, Issuers::default());
    for (name, text) in payloads().into_iter().filter(|(name, _)| name.starts_with("authorize")) {
        let question = serde_json::from_str(&text).unwrap();
        let answer = authorizer.answer(question).await.unwrap();
        let answer = serde_json::to_value(answer).unwrap();
        assert!(holds(&answer, &held(&name)), "{name}: {answer}");
        assert_eq!(answer["isAuthorized"], answer["context"]["session"].is_string(), "{name}: {answer}");
    }
}

#[tokio::test]
async fn each_payload_of_the_stream_is_answered_as_expected() {
    let api = Api::with_posts().await;
    let before = api.items().await;
    for (name, event) in payloads().into_iter().filter(|(name, _)| name.starts_with("fan-out")) {
        let answer = lately_fan_out::handle(&api.system.store, event.as_bytes(), TIME).await.unwrap();
        assert_eq!(serde_json::to_value(answer).unwrap(), held(&name), "{name}");
    }
    // The items of these records are not in this table, so fan-out leaves nothing behind.
    assert_eq!(api.items().await, before);
}

#[tokio::test]
async fn each_payload_of_the_report_function_is_answered_as_expected() {
    let api = given().await;
    let folder = tempfile::tempdir().unwrap();
    let output = Output::folder(folder.path()).unwrap();
    let answer = async |name: &str| {
        let event = &payloads()[name];
        let answer = lately_report::handle(&api.system.store, &output, event.as_bytes(), REPORT_TIME).await;
        let answer = answer.unwrap();
        let answer_json = serde_json::to_value(&answer).unwrap();
        assert!(holds(&answer_json, &held(name)), "{name}: {answer_json}");
        answer.outcomes
    };
    // The run of this record is not in this table.
    let before = api.items().await;
    answer("report-unfinished.json").await;
    assert_eq!(api.items().await, before);
    // The only event is old, so it has settled.
    let scheduled = answer("report-schedule.json").await;
    let [Outcome::Finished { files, .. }] = &scheduled[..] else { panic!("{scheduled:?}") };
    assert!(files.iter().all(|file| folder.path().join(file).exists()), "{files:?}");
    assert!(!folder.path().join(".attempts").exists());
}

#[tokio::test]
async fn each_payload_is_answered_as_expected() {
    let (payloads, answers) = (payloads(), answers());
    assert_eq!(
        payloads.keys().collect::<Vec<_>>(),
        answers.keys().collect::<Vec<_>>(),
        "each payload has an expectation"
    );
    let mut api = behind_the_gateway(&given().await);
    let mut before = api.items().await;
    for (name, text) in http_payloads() {
        let Expected::Http { status, code, .. } = &answers[&name] else { panic!("{name} is a request") };
        let payload: HttpEvent = serde_json::from_str(&text).unwrap();
        let answer = api.send_whole(payload.into_request().unwrap()).await;
        assert_eq!((answer.status, &answer.code()), (*status, code), "{name}: {}", answer.text);
        if api.items().await != before {
            assert!(answer.status < 300, "{name}: a refused request changes nothing");
            api = behind_the_gateway(&given().await);
            before = api.items().await;
        }
    }
}

#[tokio::test]
async fn each_payload_of_the_function_url_is_answered_as_expected() {
    let answers = answers();
    for (name, text) in payloads().into_iter().filter(|(name, _)| name.starts_with("live")) {
        let Expected::Http { status, code, headers, holds } = &answers[&name] else {
            panic!("{name} is a request")
        };
        let store = given().await.system.store;
        let authorizer = Authorizer::new(store.clone(), Issuers::default());
        let routes = lately_live::router(Live::new(store, authorizer).lasting(STREAM_TIME));
        let mut function = streaming_service(edge::around(routes));
        let event = LambdaEvent::new(serde_json::from_str(&text).unwrap(), Context::default());
        let mut answer = function.ready().await.unwrap().call(event).await.unwrap();
        let mut body = Vec::new();
        while let Some(piece) = answer.stream.next().await {
            body.extend_from_slice(&piece.unwrap());
        }
        let body = String::from_utf8(body).unwrap();
        let prelude = answer.metadata_prelude;
        assert_eq!(prelude.status_code, *status, "{name}: {body}");
        if *status >= 300 {
            assert_eq!(serde_json::from_str::<Value>(&body).unwrap()["code"], **code, "{name}: {body}");
        }
        for (header, value) in headers {
            assert_eq!(prelude.headers[header], *value, "{name}");
        }
        assert!(holds.iter().all(|text| body.contains(text)), "{name}: {body}");
    }
}
