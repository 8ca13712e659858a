//! The log: JSON lines on standard output, one for each request and one for each problem with a cause.
//!
//! The subscriber is our own because it is so small. A subscriber with spans builds tables for them at every start and
//! writes a request's id only inside a span (docs/adr/0013-libraries.md).
//!
//! Every line carries the id of its request (`request_id.rs`), wherever in the code it is written. No line holds
//! anything that a client sent (`observe.rs`). Bodies and tokens are never logged.

use std::any::Any;
use std::fmt;
use std::io::Write;
use std::panic::Location;

use lately_keys::UnixMillis;
use serde_json::{Map, Value};
use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::SetGlobalDefaultError;
use tracing::{Event, Level, Metadata, Subscriber};

use crate::clock;
use crate::limits::PANIC_MESSAGE_CHARS;

mod observe;
mod request_id;

pub use observe::{Answered, COST_HEADER};
pub(crate) use observe::{observe, request};
pub use request_id::{GatewayRequestId, RequestId};

/// Starts logging: our own events up to `level`, and warnings of all other crates.
///
/// # Errors
/// If logging was started before.
pub fn start(level: Level) -> Result<(), SetGlobalDefaultError> {
    tracing::subscriber::set_global_default(Lines { level, write: line })
}

/// Makes a function log a panic before the panic ends the process.
#[cfg(any(feature = "lambda", test))]
pub(crate) fn last_words() {
    std::panic::set_hook(Box::new(|info| panic(info.payload(), info.location())));
}

/// Logs a panic: its message, and its source location if that is known.
pub(crate) fn panic(payload: &(dyn Any + Send), at: Option<&Location<'_>>) {
    let message = payload.downcast_ref::<String>().map(String::as_str);
    let message = message.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("not text");
    let message: String = message.chars().take(PANIC_MESSAGE_CHARS).collect();
    tracing::error!(message, at = at.map(tracing::field::display), "panic");
}

/// Writes a line to standard output, at any log level. The line is written in one call, so that no other line is mixed
/// in.
pub fn line(line: &str) {
    // A failed write is ignored: there is no other way to report it.
    drop(std::io::stdout().write_all(format!("{line}\n").as_bytes()));
}

/// Writes each event as one JSON object. It ignores spans, which are not logged.
struct Lines<W> {
    level: Level,
    write: W,
}

impl<W: Fn(&str) + 'static> Subscriber for Lines<W> {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        let level = if metadata.target().starts_with("lately") { self.level } else { Level::WARN };
        metadata.is_event() && *metadata.level() <= level
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(self.level.max(Level::WARN).into())
    }

    fn event(&self, event: &Event<'_>) {
        let mut line = Members(Map::new());
        let millis = u64::try_from(clock::unix_now().as_millis()).unwrap_or(u64::MAX);
        line.put("timestamp", UnixMillis::new(millis).unwrap_or(UnixMillis::MAX).to_string());
        line.put("level", event.metadata().level().as_str());
        event.record(&mut line);
        line.put("target", event.metadata().target());
        if let Some(RequestId(id)) = RequestId::current() {
            line.put("request_id", id);
        }
        (self.write)(&Value::Object(line.0).to_string());
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// The members of a line.
struct Members(Map<String, Value>);

impl Members {
    fn put(&mut self, name: &str, value: impl Into<Value>) {
        self.0.insert(name.to_owned(), value.into());
    }
}

impl Visit for Members {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.put(field.name(), format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.put(field.name(), value);
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.put(field.name(), value);
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.put(field.name(), value);
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.put(field.name(), value);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use axum::Router;
    use axum::body::Body;
    use axum::extract::Request;
    use axum::routing::get;
    use tower::ServiceExt;

    use super::*;
    use crate::code::Code;
    use crate::edge;
    use crate::problem::Problem;

    /// The lines that are logged while a request for `/topics/secret` is answered, and the response.
    async fn logged(level: Level, handler: axum::routing::MethodRouter) -> (Vec<Value>, String) {
        let lines = Arc::new(Mutex::new(String::new()));
        let written = Arc::clone(&lines);
        let write = move |line: &str| *written.lock().unwrap() += &format!("{line}\n");
        let guard = tracing::subscriber::set_default(Lines { level, write });
        let router = edge::around(Router::new().route("/topics/{topic}", handler));
        let mut request = Request::get("/topics/secret?type=secret").header("authorization", "Bearer secret");
        request = request.extension(RequestId("8f1c".to_owned()));
        let response = router.oneshot(request.body(Body::from("secret")).unwrap()).await.unwrap();
        drop(guard);
        let body = axum::body::to_bytes(response.into_body(), usize::MAX).await.unwrap();
        let text = lines.lock().unwrap().clone();
        assert!(!text.contains("secret"), "{text}");
        let lines = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        (lines, String::from_utf8(body.into()).unwrap())
    }

    #[tokio::test]
    async fn a_request_is_one_line_without_the_clients_data() {
        let handler = get(|| async { [(COST_HEADER, "read_units=4.5, calls=9")] });
        let (lines, _) = logged(Level::INFO, handler).await;
        let [line] = &lines[..] else { panic!("{lines:?}") };
        assert_eq!((&line["method"], &line["route"]), (&"GET".into(), &"/topics/{topic}".into()));
        assert_eq!((&line["status"], &line["request_id"]), (&200.into(), &"8f1c".into()));
        assert_eq!((&line["cost"], &line["message"]), (&"read_units=4.5, calls=9".into(), &"request".into()));
        assert!(line["duration_us"].is_u64() && line["target"] == "lately_kit::log::observe");
        assert!(line["timestamp"].as_str().unwrap().ends_with('Z'));
    }

    #[tokio::test]
    async fn only_warnings_of_other_crates_are_logged_at_any_level() {
        let talking = || async {
            tracing::debug!("ours");
            tracing::debug!(target: "hyper", "theirs");
            tracing::warn!(target: "hyper", "theirs");
            tracing::warn_span!("a span").in_scope(|| tracing::trace!("ours"));
        };
        for (level, count) in [(Level::ERROR, 1), (Level::INFO, 2), (Level::DEBUG, 3), (Level::TRACE, 4)] {
            let (lines, _) = logged(level, get(talking)).await;
            assert_eq!(lines.len(), count, "{level} {lines:?}");
            assert_eq!(lines.iter().filter(|line| line["target"] == "hyper").count(), 1);
        }
    }

    #[tokio::test]
    async fn at_level_error_causes_are_logged_and_requests_are_not() {
        let failing = || async { Problem::new(Code::Unavailable, "").caused_by(&std::fmt::Error) };
        let (lines, _) = logged(Level::ERROR, get(failing)).await;
        let [line] = &lines[..] else { panic!("{lines:?}") };
        assert_eq!((&line["code"], &line["level"]), (&"unavailable".into(), &"ERROR".into()));
    }

    #[tokio::test]
    async fn every_line_and_every_problem_carries_the_request_id() {
        let failing = || async {
            tracing::warn!(
                answer = -1,
                odd = true,
                error = &std::fmt::Error as &dyn std::error::Error,
                "deep"
            );
            Problem::new(Code::Unavailable, "").caused_by(&std::fmt::Error)
        };
        let panicking = || async {
            if true {
                panic!("of no account");
            }
        };
        for (handler, count) in [(get(failing), 3), (get(panicking), 2)] {
            let (lines, problem) = logged(Level::INFO, handler).await;
            assert_eq!(lines.len(), count, "{lines:?}");
            assert!(lines.iter().all(|line| line["request_id"] == "8f1c"), "{lines:?}");
            assert_eq!(serde_json::from_str::<Value>(&problem).unwrap()["request_id"], "8f1c");
        }
        assert_eq!(RequestId::current(), None);
    }

    /// The next test runs this in another process.
    #[tokio::test]
    #[ignore = "it ends its process, as a panic ends a function"]
    async fn panics() {
        start(Level::INFO).unwrap();
        last_words();
        RequestId("8f1c".to_owned()).during(async { panic!("of no account") }).await
    }

    #[test]
    fn a_panic_is_logged_before_the_process_ends() {
        let mut process = std::process::Command::new(std::env::current_exe().unwrap());
        process.args(["--exact", "log::tests::panics", "--ignored", "--nocapture"]);
        let output = process.output().unwrap();
        assert!(!output.status.success());
        let text = String::from_utf8(output.stdout).unwrap();
        let line = text.lines().find(|line| line.starts_with('{')).unwrap();
        let line: Value = serde_json::from_str(line).unwrap();
        let fields = ["level", "message", "request_id"].map(|name| line[name].as_str().unwrap());
        assert_eq!(fields, ["ERROR", "of no account", "8f1c"]);
        assert!(line["at"].as_str().unwrap().contains("log.rs:"), "{line}");
    }
}
