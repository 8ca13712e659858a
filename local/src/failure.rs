//! Why a command failed, and the exit code of the process.
//!
//! | code | meaning |
//! | --- | --- |
//! | 0 | success |
//! | 1 | failed: the API or the table cannot be reached, or cannot answer now (5xx) |
//! | 2 | invalid command line |
//! | 3 | rejected (4xx), or invalid input |
//! | 4 | not found (404) |
//! | 5 | conflict (409, 412, 428) |
//!
//! Scripts depend on these codes, so a published code never changes.

use std::error::Error;
use std::fmt;
use std::io::{self, ErrorKind, Write};
use std::process::ExitCode;

use lately_client::Problem;
use lately_store::{ListError, TableError};
use reqwest::StatusCode;
use reqwest::header::CONTENT_TYPE;

use crate::text::plain;

/// The result of a command, or of a part of one.
pub type Result<T, E = Failure> = std::result::Result<T, E>;

/// Why a command failed. Nobody tells the errors of commands apart, so every error becomes a failure. Its exit code is 1,
/// unless the error is a response of the API or has a code of its own.
#[derive(Debug)]
pub struct Failure {
    error: Box<dyn Error + Send + Sync>,
    code: u8,
}

impl<E: Error + Send + Sync + 'static> From<E> for Failure {
    fn from(error: E) -> Self {
        Self { error: error.into(), code: 1 }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.problem() {
            Some(problem) => describe(problem, f),
            None => self.error.fmt(f),
        }
    }
}

/// Writes the sentence that says why a request failed.
fn describe(problem: &Problem, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let Problem { url, target, status, code, detail, request_id, errors, .. } = problem;
    match status {
        0 => {
            let check = "check that the API is running at the URL of --url";
            return write!(f, "no response from {url} ({detail}); {check}");
        }
        _ if is_of_dynamodb(problem) => {
            let prints = "the local program prints the URL of its API when it starts";
            return write!(f, "{url} is DynamoDB and not Lately's API; {prints}");
        }
        200..300 => return write!(f, "{}", Failure::foreign(detail)),
        _ => {}
    }
    match StatusCode::from_u16(*status) {
        Ok(status) => write!(f, "{status}")?,
        Err(_) => write!(f, "{status}")?,
    }
    // The client gives a code to responses that have none.
    if problem.is_lately() {
        write!(f, " {}", plain(code))?;
    }
    // The name of a topic that is being deleted is not free yet.
    let creation = creation(target, code).filter(|_| detail.contains("does not exist"));
    let reason = creation.unwrap_or_else(|| plain(detail).into_owned());
    if !reason.is_empty() {
        write!(f, ": {reason}")?;
    }
    if let Some(id) = request_id {
        write!(f, " (request {})", plain(id))?;
    }
    let mut faults = errors.iter();
    faults.try_for_each(|fault| write!(f, "\n  {}: {}", plain(&fault.path), plain(&fault.message)))
}

/// True if DynamoDB sent the response: its JSON has a type of its own.
fn is_of_dynamodb(problem: &Problem) -> bool {
    let content_type = problem.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    content_type.is_some_and(|content_type| content_type.starts_with("application/x-amz-json"))
}

/// The missing thing, and the command that creates it, by the request's path and the problem's code. The response names
/// the request that creates it.
fn creation(target: &str, code: &str) -> Option<String> {
    // No other character of a name is encoded.
    let path = target.replace("%40", "@");
    let parts: Vec<_> = path.split(['/', '?']).skip(1).collect();
    match (code, &*parts) {
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
    /// A failure with an exit code of its own.
    pub(crate) fn new(code: u8, text: impl Into<String>) -> Self {
        Self { error: text.into().into(), code }
    }

    /// The failure of some work, from its error: `.map_err(Failure::of("the receipt cannot be read"))`.
    pub(crate) fn of<E: fmt::Display>(work: impl fmt::Display) -> impl FnOnce(E) -> Self {
        move |error| Self::new(1, format!("{work}: {error}"))
    }

    /// The command line is invalid.
    pub(crate) fn usage(text: impl Into<String>) -> Self {
        Self::new(2, text)
    }

    /// The response cannot be parsed.
    pub(crate) fn foreign(error: impl fmt::Display) -> Self {
        Self::new(1, format!("the response is not Lately's ({error}); check the URL of --url"))
    }

    /// The process's exit code: see the table at the top of this file.
    pub fn code(&self) -> u8 {
        match self.problem() {
            None => self.code,
            Some(problem) if is_of_dynamodb(problem) => 1,
            Some(Problem { status: 404, .. }) => 4,
            Some(Problem { status: 409 | 412 | 428, .. }) => 5,
            Some(Problem { status: 400..500, .. }) => 3,
            Some(_) => 1,
        }
    }

    /// Prints the failure of a command, such as `lately topic show`. The result is the process's exit code.
    pub fn end(&self, command: &str, stderr: &mut impl Write) -> ExitCode {
        // The reader of the output has closed it, so the command has nothing more to do.
        if self.error.downcast_ref().is_some_and(|io: &io::Error| io.kind() == ErrorKind::BrokenPipe) {
            return ExitCode::SUCCESS;
        }
        // If standard error is closed, nobody reads the message.
        drop(writeln!(stderr, "{command}: {self}"));
        if self.error.is::<TableError>() || self.error.is::<ListError>() {
            drop(writeln!(stderr, "Check the table's name, and that these credentials may use the table."));
        }
        self.code().into()
    }

    /// True if the API answered with this status.
    pub(crate) fn has_status(&self, status: StatusCode) -> bool {
        self.problem().is_some_and(|problem| problem.status == status.as_u16())
    }

    pub(crate) fn problem(&self) -> Option<&Problem> {
        self.error.downcast_ref::<Box<Problem>>().map(Box::as_ref)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(status: u16, body: &str) -> Failure {
        Box::new(Problem::of_body(status, body.as_bytes())).into()
    }

    #[test]
    fn each_status_has_an_exit_code() {
        let codes = [
            (400, 3),
            (401, 3),
            (403, 3),
            (404, 4),
            (409, 5),
            (412, 5),
            (413, 3),
            (422, 3),
            (428, 5),
            (429, 3),
            (500, 1),
            (503, 1),
            (302, 1),
        ];
        for (status, code) in codes {
            assert_eq!(refusal(status, "").code(), code, "{status}");
        }
        assert_eq!(Failure::usage("").code(), 2);
    }

    #[test]
    fn a_problem_is_printed_with_its_faults_and_without_control_characters() {
        let body = r#"{"code":"invalid-event","detail":"2 faults","request_id":"8f1c","errors":[
            {"path":"/type","message":"must be given"},{"path":"/\u001b[2J","message":"must be less\u0007"}]}"#;
        let failure = refusal(422, body);
        let lines = [
            "422 Unprocessable Entity invalid-event: 2 faults (request 8f1c)",
            "  /type: must be given",
            r"  /\u001b[2J: must be less\u0007",
        ];
        assert_eq!(failure.to_string(), lines.join("\n"));
        // A gateway's own error has only a message.
        let failure = refusal(429, r#"{"message":"Too Many Requests"}"#);
        assert_eq!(failure.to_string(), "429 Too Many Requests: Too Many Requests");
        assert_eq!(refusal(502, "<html>").to_string(), "502 Bad Gateway");
    }

    #[test]
    fn a_missing_topic_or_consumer_is_created_by_a_command() {
        let hint = |target: &str, code: &str| creation(target, code).unwrap_or_default();
        assert!(
            hint("/topics/n%40pe/events?limit=1", "topic-not-found").contains("`lately topic create n@pe`")
        );
        let consumer = "/topics/nope/consumers/printer";
        assert!(hint(consumer, "not-found").contains("`lately consumer create nope printer`"));
        assert!(hint(&format!("{consumer}/poll"), "topic-not-found").contains("`lately topic create nope`"));
        assert_eq!((hint("/topics/nope", "not-found"), hint("", "topic-not-found")), Default::default());
    }
}
