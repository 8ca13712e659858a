//! The faults of a request from the page. Each has a path, and all are reported at once, as the API reports them.

use std::fmt::Display;

use lately_kit::code::Code;
use lately_kit::problem::Problem;
use lately_model::{Fault, Faults};
use serde_json::Value;

/// The faults that were found so far.
#[derive(Debug, Default)]
pub(super) struct Refusals(Vec<Fault>);

impl Refusals {
    pub(super) fn add(&mut self, path: impl Into<String>, message: impl Display) {
        self.0.push(Fault { path: path.into(), message: message.to_string() });
    }

    /// Adds a parameter or a field that the console does not know.
    pub(super) fn unknown(&mut self, path: impl Into<String>) {
        self.add(path, "is unknown");
    }

    /// The value, if there are no faults.
    pub(super) fn or<T>(self, value: T) -> Result<T, Faults> {
        Faults::new(self.0).map_or(Ok(value), Err)
    }
}

/// The JSON pointer of a member.
pub(super) fn child(path: &str, name: &str) -> String {
    format!("{path}/{}", name.replace('~', "~0").replace('/', "~1"))
}

/// Parses a body as JSON; 400 `malformed-json` if it is not.
pub(super) fn json(body: &[u8]) -> Result<Value, Problem> {
    serde_json::from_slice(body).map_err(|error| Problem::new(Code::MalformedJson, error.to_string()))
}
