//! What is logged: JSON lines on standard output, one for each request, and one for each problem with a cause.
//!
//! No line holds what a client sent: a request is named by its route's template, never by its path or its
//! query, and bodies and tokens are never logged.

use axum::extract::{MatchedPath, Request};
use axum::middleware::Next;
use axum::response::Response;
use tracing::{Level, Subscriber};
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::{SubscriberInitExt, TryInitError};

use crate::clock;

/// The header that tells what a request cost at DynamoDB.
pub const COST_HEADER: &str = "lately-cost";

/// What the platform calls a request. Put into a request's extensions by who knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestId(pub String);

/// Starts logging: our own events up to a level, warnings of everyone else.
///
/// # Errors
/// If the process logs already.
pub fn start(level: Level) -> Result<(), TryInitError> {
    subscriber(level, std::io::stdout).try_init()
}

fn subscriber<W>(level: Level, writer: W) -> impl Subscriber + Send + Sync
where
    W: for<'w> MakeWriter<'w> + Send + Sync + 'static,
{
    let lines = tracing_subscriber::fmt::layer().json().flatten_event(true).with_writer(writer);
    let lines = lines.with_current_span(false).with_span_list(false);
    let targets = Targets::new().with_default(Level::WARN).with_target("lately", level);
    tracing_subscriber::registry().with(lines).with(targets)
}

/// Logs a request when it is answered.
pub(crate) async fn access(request: Request, next: Next) -> Response {
    let started = clock::monotonic_now();
    let method = request.method().clone();
    let route = request.extensions().get::<MatchedPath>().cloned();
    let request_id = request.extensions().get::<RequestId>().cloned();
    let response = next.run(request).await;
    let elapsed = clock::monotonic_now().duration_since(started);
    tracing::info!(
        method = method.as_str(),
        route = route.as_ref().map(MatchedPath::as_str),
        status = response.status().as_u16(),
        duration_us = u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX),
        cost = response.headers().get(COST_HEADER).and_then(|cost| cost.to_str().ok()),
        request_id = request_id.map(|id| id.0),
        "request"
    );
    response
}

#[cfg(test)]
mod tests {
    use std::io::{self, Write};
    use std::sync::{Arc, Mutex};

    use axum::Router;
    use axum::body::Body;
    use axum::routing::get;
    use serde_json::Value;
    use tower::ServiceExt;

    use super::*;
    use crate::code::Code;
    use crate::edge;
    use crate::problem::Problem;

    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);

    impl Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// What is logged while a request for `/topics/secret` is answered.
    async fn logged(level: Level, handler: axum::routing::MethodRouter) -> Vec<Value> {
        let lines = Lines::default();
        let writer = lines.clone();
        let guard = tracing::subscriber::set_default(subscriber(level, move || writer.clone()));
        let router = edge::around(Router::new().route("/topics/{topic}", handler));
        let mut request = Request::get("/topics/secret?type=secret").header("authorization", "Bearer secret");
        request = request.extension(RequestId("8f1c".to_owned()));
        router.oneshot(request.body(Body::from("secret")).unwrap()).await.unwrap();
        drop(guard);
        let text = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
        assert!(!text.contains("secret"), "{text}");
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    #[tokio::test]
    async fn a_request_is_one_line_without_what_was_sent() {
        let lines = logged(Level::INFO, get(|| async { [(COST_HEADER, "read_units=4.5, calls=9")] })).await;
        let [line] = &lines[..] else { panic!("{lines:?}") };
        assert_eq!((&line["method"], &line["route"]), (&"GET".into(), &"/topics/{topic}".into()));
        assert_eq!((&line["status"], &line["request_id"]), (&200.into(), &"8f1c".into()));
        assert_eq!((&line["cost"], &line["message"]), (&"read_units=4.5, calls=9".into(), &"request".into()));
        assert!(line["duration_us"].is_u64());
    }

    #[tokio::test]
    async fn a_cause_is_logged_and_a_quiet_log_has_no_requests() {
        let failing = || async { Problem::new(Code::Unavailable, "").caused_by(&std::fmt::Error) };
        let lines = logged(Level::ERROR, get(failing)).await;
        let [line] = &lines[..] else { panic!("{lines:?}") };
        assert_eq!((&line["code"], &line["level"]), (&"unavailable".into(), &"ERROR".into()));
    }
}
