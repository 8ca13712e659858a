//! The bodies of requests from the page: their JSON, and the paths of their members.

use lately_kit::code::Code;
use lately_kit::problem::Problem;
use lately_model::{Fault, Faults};
use serde_json::Value;

/// The JSON pointer of a member.
pub(super) fn child(path: &str, name: &str) -> String {
    format!("{path}/{}", name.replace('~', "~0").replace('/', "~1"))
}

/// Parses a body as JSON; 400 `malformed-json` if it is not.
pub(super) fn json(body: &[u8]) -> Result<Value, Problem> {
    serde_json::from_slice(body).map_err(|error| Problem::new(Code::MalformedJson, error.to_string()))
}

/// The refusal of a body with one fault.
pub(in crate::serve) fn refused(path: &str, message: &str) -> Problem {
    let fault = Fault { path: path.to_owned(), message: message.to_owned() };
    Problem::of_faults(Code::InvalidBody, Faults::from(fault))
}
