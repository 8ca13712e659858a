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

use lately_client::Problem;
use reqwest::StatusCode;

use crate::client::text::plain;
use crate::operate::{ErasureCheckError, FeedError};

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
    Foreign(String),
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
    #[error("{text}")]
    Incomplete {
        /// The cause, and how to continue.
        text: String,
        /// The process's exit code.
        code: u8,
    },
    /// A feed could not be verified or rebuilt.
    #[error(transparent)]
    Feed(#[from] FeedError),
    /// An erasure could not be proven.
    #[error(transparent)]
    Erasure(#[from] ErasureCheckError),
    /// Something could not be read or printed.
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

/// An error response.
#[derive(Debug)]
pub struct Refusal {
    /// The command that creates the thing that does not exist. The response names the request that creates it.
    pub(crate) creation: Option<String>,
    pub(crate) problem: Box<Problem>,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { creation, problem } = self;
        let Problem { status, code, detail, request_id, errors, .. } = &**problem;
        match StatusCode::from_u16(*status) {
            Ok(status) => write!(f, "{status}")?,
            Err(_) => write!(f, "{status}")?,
        }
        // The client gives a code to responses that have none.
        if problem.is_lately() {
            write!(f, " {}", plain(code))?;
        }
        match (creation, &**detail) {
            (Some(creation), _) => write!(f, ": {creation}")?,
            (None, "") => {}
            (None, text) => write!(f, ": {}", plain(text))?,
        }
        if let Some(id) = request_id {
            write!(f, " (request {})", plain(id))?;
        }
        let mut faults = errors.iter();
        faults.try_for_each(|fault| write!(f, "\n  {}: {}", plain(&fault.path), plain(&fault.message)))
    }
}

impl std::error::Error for Refusal {}

impl Failure {
    /// The process's exit code: see the table at the top of this file.
    pub fn code(&self) -> u8 {
        match self {
            Self::Refused(refusal) => match refusal.problem.status {
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
            | Self::Erasure(_)
            | Self::Io(_) => 1,
        }
    }

    /// True if the reader of the output has closed it. Then the command has nothing more to do.
    pub fn is_closed_pipe(&self) -> bool {
        let io = match self {
            Self::Io(error)
            | Self::Feed(FeedError::Io(error))
            | Self::Erasure(ErasureCheckError::Io(error)) => error,
            _ => return false,
        };
        io.kind() == ErrorKind::BrokenPipe
    }

    /// True if the API answered with this status.
    pub(crate) fn has_status(&self, status: StatusCode) -> bool {
        matches!(self, Self::Refused(refusal) if refusal.problem.status == status.as_u16())
    }
}

impl From<serde_json::Error> for Failure {
    fn from(error: serde_json::Error) -> Self {
        Self::Foreign(error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(status: u16, body: &str) -> Failure {
        Refusal { creation: None, problem: Box::new(Problem::of_body(status, body.as_bytes())) }.into()
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
        assert_eq!(Failure::Usage(String::new()).code(), 2);
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
}
