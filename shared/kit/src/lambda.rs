//! Running functions on Lambda.
//!
//! A function with routes is an axum router behind `lambda_http`, with the repairs that `gateway.rs` describes. The
//! other functions take their kind of event from `lambda_runtime`. Everything that a function needs is made before its
//! first poll, so that wrong settings end the start and not the first request.

use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::response::Response;
use futures_util::Stream;
use lambda_http::{Adapter, Service, StreamAdapter};
use lambda_runtime::{Error, LambdaEvent, StreamResponse, service_fn};
use lately_store::Store;
use lately_table::Connection;
use serde::{Deserialize, Serialize};
use tower::ServiceExt;

use crate::limits::{OPERATION_BUDGET, TIME_TO_ANSWER};
use crate::log::{self, RequestId};
use crate::metrics::{Measured, Meters};
use crate::route::Routes;
use crate::settings::Settings;
use crate::world::World;
use crate::{aws, clock, edge};

mod gateway;

pub use gateway::{HttpEvent, UrlEvent};

/// Runs a function that serves routes: the whole of its `main`. `function` is also the function's name in its metrics.
///
/// # Errors
/// With everything that is wrong with the environment, or if the platform cannot be reached.
pub async fn start(function: &'static str, routes: Routes) -> Result<(), Error> {
    let (settings, store, meters) = begin(function)?;
    let routes = routes.with_store(&store).with_bodies_of(settings.body_bytes);
    lambda_runtime::run(service(observed(routes.into_router(), meters))).await
}

/// Runs a function that streams its responses, behind a function URL: the whole of its `main`.
pub async fn start_streaming(
    function: &'static str,
    routes: impl FnOnce(Store) -> Router,
) -> Result<(), Error> {
    let (_, store, meters) = begin(function)?;
    lambda_runtime::run(streaming_service(observed(routes(store), meters))).await
}

/// The router with its layers. A request's line of metrics replaces its line in the log.
fn observed(routes: Router, meters: Option<Meters>) -> Router {
    edge::observed(routes, move |answered| match &meters {
        Some(meters) => meters.answered(answered),
        None => log::request(answered),
    })
}

/// As [`service`], but behind a function URL, and the response is sent while it is made.
pub fn streaming_service(
    router: Router,
) -> impl Service<
    LambdaEvent<UrlEvent>,
    Response = StreamResponse<impl Stream<Item = Result<Bytes, axum::Error>> + Unpin + Send>,
    Error = Error,
    Future: Send,
> {
    StreamAdapter::from(answering(router)).map_request(gateway::invocation)
}

/// The service that Lambda invokes, made from a router: what `lambda_http::run` makes, with [`HttpEvent`] in front.
pub fn service(
    router: Router,
) -> impl Service<LambdaEvent<HttpEvent>, Response: Serialize, Error = Error, Future: Send> {
    Adapter::from(answering(router).map_response(gateway::Answer)).map_request(gateway::invocation)
}

/// The router as a service for the library's requests.
fn answering(
    router: Router,
) -> impl Service<lambda_http::Request, Response = Response, Error = Error, Future: Send> {
    service_fn(move |request| {
        let router = router.clone();
        async move {
            let mut response = router.oneshot(gateway::repaired(request)?).await?;
            gateway::give_one_value_each(response.headers_mut());
            Ok(response)
        }
    })
}

/// Runs a function that handles events of another kind, each within the remaining time of the invocation.
pub async fn start_handling<E, A, F, Handling>(function: &'static str, handle: F) -> Result<(), Error>
where
    F: Fn(Store, E, Duration) -> Handling,
    Handling: Future<Output = Result<A, Error>>,
    E: for<'de> Deserialize<'de>,
    A: Serialize + Measured,
{
    let (_, store, meters) = begin(function)?;
    lambda_runtime::run(service_fn(|event: LambdaEvent<E>| {
        // The platform ends the process at the deadline.
        let deadline = Duration::from_millis(event.context.deadline);
        let time = deadline.saturating_sub(clock::unix_now()).saturating_sub(TIME_TO_ANSWER);
        // Boxed: the store's futures are many layers deep.
        let handling = Box::pin(handle(store.clone(), event.payload, time));
        RequestId(event.context.request_id).during(measured(meters.as_ref(), handling))
    }))
    .await
}

/// Handles an invocation and writes its line of metrics.
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

/// Reads the environment and starts the log. Makes the function's store, and its metrics if a namespace for them is set.
fn begin(function: &'static str) -> Result<(Settings, Store, Option<Meters>), Error> {
    let settings = Settings::from_env()?;
    log::start(settings.log_level)?;
    log::last_words();
    let client = aws::environment()?.client();
    let store = Store::new(Connection::new(client, &*settings.table_name, World::new(), OPERATION_BUDGET));
    let store = store.with_feeds(settings.feeds);
    let namespace = settings.metrics_namespace.as_deref();
    let meters = namespace.map(|namespace| Meters::new(namespace, function, store.clone(), log::line));
    Ok((settings, store, meters))
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use crate::metrics::{Measures, Metric};
    use axum::http::StatusCode;
    use axum::response::IntoResponse;
    use futures_util::StreamExt;
    use lately_keys::UnixMillis;

    #[tokio::test]
    async fn a_router_answers_events_of_the_gateway() {
        async fn echo(request: axum::extract::Request) -> axum::response::Response {
            let id = request.extensions().get::<RequestId>().map(|id| id.0.clone());
            let text = format!("{} {}", request.uri(), id.unwrap_or_default());
            (StatusCode::CREATED, [("vary", "a"), ("lately-cost", "read_units=0.5")], text).into_response()
        }
        let mut service = service(Router::new().fallback(echo));
        let event = serde_json::json!({
            "rawPath": "/topics/a%b?c#d", "rawQueryString": "e=%20f", "headers": {"host": "api.example.org"},
            "requestContext": {"http": {"method": "GET"}, "stage": "$default", "requestId": "JKJaX="},
        });
        let mut context = lambda_runtime::Context::default();
        context.request_id = "8f1c".to_owned();
        let event = LambdaEvent::new(serde_json::from_value(event).unwrap(), context);
        let answer = service.ready().await.unwrap().call(event).await.unwrap();
        assert_eq!(
            serde_json::to_value(answer).unwrap(),
            serde_json::json!({
                "statusCode": 201, "body": "/topics/a%25b%3Fc%23d?e=%20f 8f1c", "isBase64Encoded": false,
                "headers": {
                    "content-length": "33", "content-type": "text/plain; charset=utf-8",
                    "lately-cost": "read_units=0.5", "vary": "a",
                },
                "multiValueHeaders": {}, "cookies": [],
            })
        );
    }

    #[tokio::test]
    async fn a_streamed_response_is_sent_piece_by_piece() {
        let router = Router::new().route(
            "/live",
            axum::routing::get(|| async {
                let endless = futures_util::stream::repeat_with(|| Ok::<_, Error>("piece"));
                ([("content-type", "text/event-stream")], axum::body::Body::from_stream(endless))
            }),
        );
        let event = serde_json::json!({
            "rawPath": "/live", "rawQueryString": "", "headers": {"accept-encoding": "gzip"},
            "requestContext": {"http": {"method": "GET"}, "stage": "$default", "requestId": "8f1c"},
        });
        let event =
            LambdaEvent::new(serde_json::from_value(event).unwrap(), lambda_runtime::Context::default());
        let mut service = streaming_service(edge::around(router));
        let mut answer = service.ready().await.unwrap().call(event).await.unwrap();
        assert_eq!(answer.metadata_prelude.status_code, StatusCode::OK);
        let headers = &answer.metadata_prelude.headers;
        assert_eq!(headers["content-type"], "text/event-stream");
        // A stream is not compressed, so that each message is sent at once.
        assert!(!headers.contains_key("content-encoding"));
        for _ in 0..3 {
            assert_eq!(answer.stream.next().await.unwrap().unwrap(), "piece");
        }
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
    async fn every_invocation_is_one_line_even_if_it_fails() {
        let config = aws::bounded(aws_sdk_dynamodb::config::Builder::new()).build();
        let client = aws_sdk_dynamodb::Client::from_conf(config);
        let store = Store::new(Connection::new(client, "lately", World::new(), OPERATION_BUDGET));
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
        let outcomes = lines.iter().map(|line| (line["Outcome"].as_str(), line["Records"].as_u64()));
        assert_eq!(outcomes.collect::<Vec<_>>(), [(Some("done"), Some(3)), (Some("failed"), None)]);
        assert!(lines.iter().all(|line| line["request_id"] == "8f1c" && line["Function"] == "fan-out"));
    }
}
