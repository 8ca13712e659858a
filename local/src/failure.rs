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

use crate::text::plain;

/// Why a command failed. Nobody tells the errors of commands apart, so every error becomes a failure. Its exit code is 1,
/// unless the error is a response of the API or has a code of its own.
#[derive(Debug)]
pub struct Failure {
    error: Box<dyn Error + Send + Sync>,
    code: u8,
}

/// An error response.
#[derive(Debug)]
pub(crate) struct Refusal {
    /// The command that creates the thing that does not exist. The response names the request that creates it.
    pub(crate) creation: Option<String>,
    pub(crate) problem: Box<Problem>,
}

impl<E: Error + Send + Sync + 'static> From<E> for Failure {
    fn from(error: E) -> Self {
        Self { error: error.into(), code: 1 }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
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

impl Error for Refusal {}

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
        match self.error.downcast_ref().map(|refusal: &Refusal| refusal.problem.status) {
            None => self.code,
            Some(404) => 4,
            Some(409 | 412 | 428) => 5,
            Some(400..500) => 3,
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
        self.error.downcast_ref().is_some_and(|refusal: &Refusal| refusal.problem.status == status.as_u16())
    }

    /// The error response, if the API answered with one.
    pub(crate) fn refusal_mut(&mut self) -> Option<&mut Refusal> {
        self.error.downcast_mut()
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
}
