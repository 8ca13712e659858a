//! Why a command of the API failed, and the exit code of the process.
//!
//! | code | meaning |
//! | --- | --- |
//! | 0 | success |
//! | 1 | failed: the API cannot be reached, or cannot answer now (5xx) |
//! | 2 | invalid command line |
//! | 3 | rejected (4xx), or invalid input |
//! | 4 | not found (404) |
//! | 5 | conflict (409, 412, 428) |
//!
//! Scripts depend on these codes, so a published code never changes.

use std::fmt;
use std::io::ErrorKind;
use std::time::Duration;

use reqwest::StatusCode;
use reqwest::header::RETRY_AFTER;

use crate::client::remote::{ProblemReply, Reply, cause};
use crate::client::text::plain;
use crate::operate::FeedError;

/// Why a command of the API failed.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// There was no response.
    #[error("no response from {url} ({cause}); check that the API is running at the URL of --url")]
    Unreachable {
        /// The API's URL.
        url: String,
        /// The cause.
        cause: String,
        /// True if a retry may succeed.
        passes: bool,
    },
    /// The URL is DynamoDB's, such as the local program's other port.
    #[error(
        "{url} is DynamoDB and not Lately's API; the local program prints the URL of its API when it starts"
    )]
    DynamoDb {
        /// The URL.
        url: String,
    },
    /// The response is an error.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// A response cannot be parsed.
    #[error("the response is not Lately's ({0}); check the URL of --url")]
    Foreign(#[from] serde_json::Error),
    /// The HTTP client could not be created.
    #[error(transparent)]
    Client(#[from] reqwest::Error),
    /// The input is invalid.
    #[error("{0}")]
    Input(String),
    /// The thing to create exists already.
    #[error("{0}")]
    Conflict(String),
    /// The command line is invalid.
    #[error("{0}")]
    Usage(String),
    /// The command stopped before its end. It says how to continue, and has the exit code of the cause.
    #[error("{told}")]
    Incomplete {
        /// The cause, and how to continue.
        told: String,
        /// The process's exit code.
        code: u8,
    },
    /// A feed could not be verified or rebuilt.
    #[error(transparent)]
    Feed(#[from] FeedError),
    /// Something could not be read or printed.
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

/// An error response.
#[derive(Debug)]
pub struct Refusal {
    /// The command that creates the thing that does not exist. The response names the request that creates it.
    creation: Option<String>,
    pub(crate) status: StatusCode,
    pub(crate) problem: Box<ProblemReply>,
    request_id: Option<String>,
    retry_after: Option<Duration>,
}

impl Refusal {
    /// The error response to a request for a target.
    pub(crate) fn of(target: &str, reply: &Reply) -> Self {
        let retry_after = reply.headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse().ok());
        let problem = reply.problem();
        Self {
            creation: creation(target, &problem.code),
            status: reply.status,
            problem: Box::new(problem),
            request_id: reply.request_id(),
            retry_after: retry_after.map(Duration::from_secs),
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { creation, status, problem, request_id, .. } = self;
        write!(f, "{status}")?;
        if !problem.code.is_empty() {
            write!(f, " {}", plain(&problem.code))?;
        }
        match (creation, problem.text()) {
            (Some(creation), _) => write!(f, ": {creation}")?,
            (None, "") => {}
            (None, text) => write!(f, ": {}", plain(text))?,
        }
        if let Some(id) = request_id {
            write!(f, " (request {})", plain(id))?;
        }
        let mut faults = problem.errors.iter();
        faults.try_for_each(|fault| write!(f, "\n  {}: {}", plain(&fault.path), plain(&fault.message)))
    }
}

impl std::error::Error for Refusal {}

/// The missing thing, and the command that creates it, by the target and the code of the problem.
fn creation(target: &str, code: &str) -> Option<String> {
    let path = target.split('?').next().unwrap_or(target);
    let parts: Vec<_> = path.trim_start_matches('/').split('/').collect();
    match (code, &parts[..]) {
        ("topic-not-found", ["topics", topic, ..]) => Some(format!(
            "the topic {topic} does not exist; `lately topic create {topic}` creates it (scope admin)"
        )),
        ("not-found", ["topics", topic, "consumers", name, ..]) => Some(format!(
            "the consumer {name} does not exist; `lately consumer create {topic} {name}` creates it"
        )),
        _ => None,
    }
}

impl Failure {
    pub(crate) fn unreachable(url: &str, error: &reqwest::Error) -> Self {
        Self::Unreachable { url: url.to_owned(), cause: cause(error), passes: !error.is_builder() }
    }

    /// The process's exit code: see the table at the top of this file.
    #[must_use]
    pub fn code(&self) -> u8 {
        match self {
            Self::Refused(refusal) => match refusal.status.as_u16() {
                404 => 4,
                409 | 412 | 428 => 5,
                400..500 => 3,
                _ => 1,
            },
            Self::Usage(_) => 2,
            Self::Input(_) => 3,
            Self::Conflict(_) => 5,
            Self::Incomplete { code, .. } => *code,
            Self::Unreachable { .. }
            | Self::DynamoDb { .. }
            | Self::Foreign(_)
            | Self::Client(_)
            | Self::Feed(_)
            | Self::Io(_) => 1,
        }
    }

    /// True if the reader of the output has closed it. Then the command has nothing left to do.
    #[must_use]
    pub fn is_closed_pipe(&self) -> bool {
        let io = match self {
            Self::Io(error) | Self::Feed(FeedError::Io(error)) => error,
            _ => return false,
        };
        io.kind() == ErrorKind::BrokenPipe
    }

    /// True if the API answered with this status.
    pub(crate) fn has_status(&self, status: StatusCode) -> bool {
        matches!(self, Self::Refused(refusal) if refusal.status == status)
    }

    /// True if a retry may succeed.
    pub(crate) fn passes(&self) -> bool {
        match self {
            Self::Unreachable { passes, .. } => *passes,
            Self::Refused(refusal) => {
                refusal.status.is_server_error() || refusal.status == StatusCode::TOO_MANY_REQUESTS
            }
            _ => false,
        }
    }

    /// True if the request certainly changed nothing.
    pub(crate) fn did_nothing(&self) -> bool {
        matches!(self, Self::Refused(refusal) if refusal.status.is_client_error())
    }

    /// The response's `Retry-After`.
    pub(crate) fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Refused(refusal) => refusal.retry_after,
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

    use super::*;

    fn refusal(status: u16, body: &str, headers: &[(&'static str, &'static str)]) -> Failure {
        let headers: HeaderMap = headers
            .iter()
            .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)))
            .collect();
        let status = StatusCode::from_u16(status).expect("a status");
        let reply = Reply { status, headers, body: body.into() };
        Refusal::of("/topics", &reply).into()
    }

    #[test]
    fn each_status_has_an_exit_code_and_some_may_be_retried() {
        let codes = [
            (400, 3, false),
            (401, 3, false),
            (403, 3, false),
            (404, 4, false),
            (409, 5, false),
            (412, 5, false),
            (413, 3, false),
            (422, 3, false),
            (428, 5, false),
            (429, 3, true),
            (500, 1, true),
            (503, 1, true),
            (302, 1, false),
        ];
        for (status, code, passes) in codes {
            let failure = refusal(status, "", &[]);
            assert_eq!((failure.code(), failure.passes()), (code, passes), "{status}");
        }
        assert_eq!(Failure::Usage(String::new()).code(), 2);
    }

    #[test]
    fn a_missing_topic_or_consumer_is_created_by_a_command() {
        let told = |target, code| creation(target, code).unwrap_or_default();
        for target in ["/topics/nope", "/topics/nope/events?limit=1", "/topics/nope/consumers/printer"] {
            assert!(told(target, "topic-not-found").contains("`lately topic create nope`"), "{target}");
        }
        let consumer = told("/topics/posts/consumers/printer/seek", "not-found");
        assert!(consumer.contains("`lately consumer create posts printer`"), "{consumer}");
        assert_eq!(creation("/users/ada/profile", "not-found"), None);
    }

    #[test]
    fn a_problem_is_printed_with_its_faults_and_without_control_characters() {
        let body = r#"{"code":"invalid-event","detail":"2 faults","request_id":"8f1c","errors":[
            {"path":"/type","message":"must be given"},{"path":"/\u001b[2J","message":"must be less\u0007"}]}"#;
        let failure = refusal(422, body, &[("retry-after", "7")]);
        let told = [
            "422 Unprocessable Entity invalid-event: 2 faults (request 8f1c)",
            "  /type: must be given",
            r"  /\u001b[2J: must be less\u0007",
        ];
        assert_eq!(failure.to_string(), told.join("\n"));
        assert_eq!(failure.retry_after(), Some(Duration::from_secs(7)));
        // A gateway's own error has only a message.
        let failure = refusal(429, r#"{"message":"Too Many Requests"}"#, &[]);
        assert_eq!(failure.to_string(), "429 Too Many Requests: Too Many Requests");
        assert_eq!(refusal(502, "<html>", &[]).to_string(), "502 Bad Gateway");
    }
}
