//! Running a router under Lambda, behind an HTTP API (payload format 2.0).
//!
//! Written out rather than taken from a library, because what is told apart here is what libraries mix up:
//!
//! - The gateway hands on the path decoded and the query as it was sent. Pasted into one URI, a decoded `#` or
//!   `?` would cut the path short, and name another topic than the one that was asked for.
//! - An answer has at most 6 MB, as a JSON string. A page of 3 MB may double in size when its quotes are
//!   escaped, so it goes as base64 where that is shorter: never more than a third longer than it is.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::Request;
use axum::http::header::{HeaderMap, HeaderName, HeaderValue};
use axum::http::{Method, Uri};
use axum::response::Response;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use lambda_runtime::{Error, LambdaEvent, service_fn};
// For the linker alone.
#[cfg(feature = "lambda")]
use lately_pow as _;
use lately_store::Store;
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use serde::{Deserialize, Serialize};
use tower::ServiceExt;

use crate::aws::Environment;
use crate::caller::{Caller, Context, Identity};
use crate::limits::{OPERATION_BUDGET, TIME_TO_ANSWER};
use crate::log::{self, GatewayRequestId, RequestId};
use crate::metrics::{Measured, Meters};
use crate::route::Routes;
use crate::settings::Settings;
use crate::world::World;
use crate::{aws, clock, edge, path};

/// What a URI's query may not hold: nothing that the gateway lets through, to our knowledge.
const NO_QUERY: &AsciiSet = &CONTROLS.add(b' ').add(b'"').add(b'#').add(b'<').add(b'>');

/// How often tokio looks for what has come in before a poll has surely left. It takes two such turns where the connection
/// is there at once, as to an address of the same machine; the others take a few microseconds, or wait for a slower one.
const TURNS_TO_POLL: usize = 8;

/// A request, as the gateway tells of it.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HttpEvent {
    raw_path: String,
    #[serde(default)]
    raw_query_string: String,
    #[serde(default)]
    headers: HashMap<String, String>,
    request_context: RequestContext,
    body: Option<String>,
    #[serde(default)]
    is_base64_encoded: bool,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct RequestContext {
    http: Http,
    #[serde(default)]
    request_id: Option<String>,
    #[serde(default)]
    authorizer: Option<Authorizer>,
}

#[derive(Debug, Deserialize)]
struct Authorizer {
    /// What our authorizer said of the caller; none where the route has no authorizer.
    lambda: Option<serde_json::Value>,
}

#[derive(Debug, Deserialize)]
struct Http {
    method: String,
}

/// An answer, as the gateway takes it.
#[derive(Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HttpAnswer {
    status_code: u16,
    headers: HashMap<String, String>,
    body: String,
    is_base64_encoded: bool,
}

/// A function that serves routes, from its environment to its end: the whole of a `main`. Its metrics are under its name.
///
/// # Errors
/// With all that is wrong with the environment, or if the platform cannot be talked to.
pub async fn start(
    function: &'static str,
    routes: impl FnOnce(Store) -> Routes + Send + 'static,
) -> Result<(), Error> {
    let (settings, environment) = begin()?;
    let router = made_meanwhile(move || {
        let (store, meters) = made_of(&settings, &environment, function);
        let routes = routes(store).with_bodies_of(settings.body_bytes).into_router();
        match meters {
            Some(meters) => edge::observed(routes, move |answered| meters.answered(answered)),
            None => edge::observed(routes, log::request),
        }
    });
    lambda_runtime::run(service_fn(|event: LambdaEvent<HttpEvent>| {
        let router = Router::clone(&router);
        async move {
            let mut request = event.payload.into_request()?;
            request.extensions_mut().insert(RequestId(event.context.request_id));
            HttpAnswer::of(router.oneshot(request).await?).await
        }
    }))
    .await
}

/// A function that answers events of its own kind, each within the time that it is given: the same for it.
///
/// # Errors
/// As [`start`].
pub async fn start_handling<E, A, F, Handling>(function: &'static str, handle: F) -> Result<(), Error>
where
    F: Fn(Store, E, Duration) -> Handling,
    Handling: Future<Output = Result<A, Error>>,
    E: for<'de> Deserialize<'de>,
    A: Serialize + Measured,
{
    let (settings, environment) = begin()?;
    let made = made_meanwhile(move || made_of(&settings, &environment, function));
    lambda_runtime::run(service_fn(|event: LambdaEvent<E>| {
        let (store, meters) = &**made;
        // The platform ends the process at its deadline.
        let deadline = Duration::from_millis(event.context.deadline);
        let time = deadline.saturating_sub(clock::unix_now()).saturating_sub(TIME_TO_ANSWER);
        // Boxed: what is in a future of the store is many layers deep.
        let handling = Box::pin(handle(store.clone(), event.payload, time));
        RequestId(event.context.request_id).during(measured(meters.as_ref(), handling))
    }))
    .await
}

/// What a function needs for an event and not for its first poll: made while the platform answers that, or for the event,
/// should it be there before.
fn made_meanwhile<T, Make>(make: Make) -> Arc<LazyLock<T, Make>>
where
    T: Send + Sync + 'static,
    Make: FnOnce() -> T + Send + 'static,
{
    let made = Arc::new(LazyLock::new(make));
    tokio::spawn({
        let made = Arc::clone(&made);
        async move {
            for _ in 0..TURNS_TO_POLL {
                tokio::task::yield_now().await;
            }
            LazyLock::force(&made);
        }
    });
    made
}

/// Does what is to be done for an invocation, and writes its line.
async fn measured<A: Measured>(
    meters: Option<&Meters>,
    handling: impl Future<Output = Result<A, Error>>,
) -> Result<A, Error> {
    let started = clock::monotonic_now();
    let answer = handling.await;
    if let Err(error) = &answer {
        tracing::error!(%error, "the invocation failed");
    }
    if let Some(meters) = meters {
        meters.invoked(answer.as_ref().ok(), clock::monotonic_now().duration_since(started));
    }
    answer
}

/// What the environment says.
fn begin() -> Result<(Settings, Environment), Error> {
    let settings = Settings::from_env()?;
    log::start(settings.log_level)?;
    log::last_words();
    Ok((settings, aws::environment()?))
}

/// A function's store, and its metrics, if they are wanted.
fn made_of(
    settings: &Settings,
    environment: &Environment,
    function: &'static str,
) -> (Store, Option<Meters>) {
    let client = aws::client(&environment.sdk);
    let store = Store::new(client, &*settings.table_name, World::new(), OPERATION_BUDGET);
    let store = store.with_feeds(settings.feeds);
    let namespace = settings.metrics_namespace.as_deref();
    let meters = namespace.map(|namespace| Meters::new(namespace, function, store.clone(), log::line));
    (store, meters)
}

impl HttpEvent {
    /// The request itself.
    ///
    /// # Errors
    /// If the event is none of a gateway's.
    pub fn into_request(self) -> Result<Request, Error> {
        let body = self.body.unwrap_or_default();
        let body = if self.is_base64_encoded { STANDARD.decode(body)? } else { body.into_bytes() };
        let mut request = Request::new(Body::from(body));
        request.extensions_mut().insert(identity(self.request_context.authorizer));
        if let Some(id) = self.request_context.request_id {
            request.extensions_mut().insert(GatewayRequestId(id));
        }
        *request.method_mut() = Method::from_bytes(self.request_context.http.method.as_bytes())?;
        *request.uri_mut() = target(&self.raw_path, &self.raw_query_string).parse::<Uri>()?;
        for (name, value) in &self.headers {
            let header = (HeaderName::from_bytes(name.as_bytes()), HeaderValue::from_bytes(value.as_bytes()));
            // One that is no header, a server would not have passed on either.
            if let (Ok(name), Ok(value)) = header {
                request.headers_mut().append(name, value);
            }
        }
        Ok(request)
    }
}

/// Who is asking, by what the authorizer said.
fn identity(authorizer: Option<Authorizer>) -> Identity {
    let Some(context) = authorizer.and_then(|authorizer| authorizer.lambda) else { return Identity::Missing };
    let context = serde_json::from_value::<Context>(context).map_err(|error| error.to_string());
    match context.and_then(|context| Caller::try_from(context).map_err(|error| error.to_string())) {
        Ok(caller) => Identity::Known(caller),
        Err(error) => {
            tracing::error!(error, "the authorizer's context is not one of ours");
            Identity::Refused
        }
    }
}

fn target(path: &str, query: &str) -> String {
    let path = path::encoded(path);
    if query.is_empty() { path } else { format!("{path}?{}", utf8_percent_encode(query, NO_QUERY)) }
}

impl HttpAnswer {
    /// A response as an answer. Its body is whole already: no route streams.
    ///
    /// # Errors
    /// If the body cannot be read.
    pub async fn of(response: Response) -> Result<Self, Error> {
        let (parts, body) = response.into_parts();
        let (body, is_base64_encoded) = text(to_bytes(body, usize::MAX).await?);
        Ok(Self {
            status_code: parts.status.as_u16(),
            headers: joined(&parts.headers),
            body,
            is_base64_encoded,
        })
    }
}

/// The headers, those of one name as one.
fn joined(headers: &HeaderMap) -> HashMap<String, String> {
    let mut joined = HashMap::<String, String>::new();
    for (name, value) in headers {
        let value = String::from_utf8_lossy(value.as_bytes());
        joined
            .entry(name.to_string())
            .and_modify(|values| *values = format!("{values}, {value}"))
            .or_insert_with(|| value.into_owned());
    }
    joined
}

/// A body as text, and whether that is base64: if it is no text, or longer when escaped.
fn text(body: Bytes) -> (String, bool) {
    let escapes: usize = body.iter().map(|&byte| escape_bytes(byte)).sum();
    if escapes > body.len() / 3 {
        return (STANDARD.encode(&body), true);
    }
    match String::from_utf8(body.into()) {
        Ok(text) => (text, false),
        Err(error) => (STANDARD.encode(error.as_bytes()), true),
    }
}

/// How many bytes a byte grows by in a JSON string.
fn escape_bytes(byte: u8) -> usize {
    match byte {
        b'"' | b'\\' | b'\n' | b'\r' | b'\t' | 0x08 | 0x0c => 1,
        0..0x20 => 5,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use crate::metrics::{Measures, Metric};
    use axum::http::StatusCode;
    use axum::response::IntoResponse;
    use lately_keys::UnixMillis;
    use proptest::prelude::*;

    #[tokio::test]
    async fn an_answer_is_text_where_that_is_shorter() {
        let headers = [("lately-cost", "read_units=0.5"), ("vary", "a")];
        let plain = (StatusCode::CREATED, headers, r#"{"a":1}"#).into_response();
        let answer = serde_json::to_value(HttpAnswer::of(plain).await.unwrap()).unwrap();
        assert_eq!(
            answer,
            serde_json::json!({
                "statusCode": 201, "body": r#"{"a":1}"#, "isBase64Encoded": false,
                "headers": {"content-type": "text/plain; charset=utf-8", "lately-cost": "read_units=0.5", "vary": "a"},
            })
        );
        assert_eq!(text(Bytes::from_static(b"\xff\xfe")), ("//4=".to_owned(), true));
    }

    #[tokio::test]
    async fn what_an_event_needs_is_made_after_the_poll_or_for_the_event() {
        let made = made_meanwhile(|| 1);
        assert_eq!(**made, 1);

        let (told, hear) = std::sync::mpsc::channel();
        drop(made_meanwhile(move || told.send(2)));
        for turn in 0..=TURNS_TO_POLL {
            assert!(hear.try_recv().is_err(), "made before the poll, at turn {turn}");
            tokio::task::yield_now().await;
        }
        assert_eq!(hear.try_recv(), Ok(2));
    }

    struct Counted(u64);

    impl Measured for Counted {
        fn outcome(&self) -> &'static str {
            "done"
        }

        fn measures(&self, _: UnixMillis) -> Measures {
            Measures::default().count(Metric::Records, self.0)
        }
    }

    static LINES: Mutex<Vec<String>> = Mutex::new(Vec::new());

    #[tokio::test]
    async fn an_invocation_is_one_line_also_if_it_fails() {
        let config = aws::bounded(aws_sdk_dynamodb::config::Builder::new()).build();
        let client = aws_sdk_dynamodb::Client::from_conf(config);
        let store = Store::new(client, "lately", World::new(), OPERATION_BUDGET);
        let meters =
            Meters::new("Lately", "fan-out", store, |line| LINES.lock().unwrap().push(line.to_owned()));
        let id = || RequestId("8f1c".to_owned());
        let done = id().during(measured(Some(&meters), async { Ok(Counted(3)) })).await.unwrap();
        assert_eq!(done.0, 3);
        let failing = async { Err::<Counted, Error>("a cause".into()) };
        assert_eq!(id().during(measured(Some(&meters), failing)).await.err().unwrap().to_string(), "a cause");
        assert!(measured(None, async { Ok(Counted(1)) }).await.is_ok());
        let lines: Vec<serde_json::Value> =
            LINES.lock().unwrap().iter().map(|line| serde_json::from_str(line).unwrap()).collect();
        let told = lines.iter().map(|line| (line["Outcome"].as_str(), line["Records"].as_u64()));
        assert_eq!(told.collect::<Vec<_>>(), [(Some("done"), Some(3)), (Some("failed"), None)]);
        assert!(lines.iter().all(|line| line["request_id"] == "8f1c" && line["Function"] == "fan-out"));
    }

    proptest! {
        #[test]
        fn an_answer_is_never_much_longer_than_its_body(body: Vec<u8>, near in "[\"\\\\\n\u{1}a]{0,200}") {
            for body in [body, near.into_bytes()] {
                let (text, is_base64) = text(Bytes::from(body.clone()));
                let sent = serde_json::to_string(&text).unwrap().len();
                prop_assert!(sent <= body.len().div_ceil(3) * 4 + 2);
                let back = if is_base64 { STANDARD.decode(text).unwrap() } else { text.into_bytes() };
                prop_assert_eq!(back, body);
            }
        }

        #[test]
        fn any_path_and_query_are_a_uri(path in "\\PC{0,20}", query in "\\PC{0,20}") {
            let uri: Uri = target(&path, &query).parse().unwrap();
            prop_assert_eq!(uri.query().is_some(), !query.is_empty());
        }
    }
}
