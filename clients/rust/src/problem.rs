//! The one error of this client. Act on `code`, which is stable.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use lately_model::{AcceptedEvent, Fault, RejectedEvent};
use reqwest::header::HeaderMap;
use serde::Deserialize;

use crate::cost::Cost;

/// A request that failed: a problem of the API, no response (`unreachable`), or one that is not Lately's
/// (`invalid-response`).
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Problem {
    /// The status; 0 if no response came.
    pub status: u16,
    /// The stable code.
    pub code: String,
    /// The code's meaning.
    pub title: String,
    /// The reason.
    pub detail: String,
    /// The faults of single fields.
    pub errors: Vec<Fault>,
    /// With `partially-accepted`: the events that were written.
    pub accepted: Vec<AcceptedEvent>,
    /// With `partially-accepted`: the events that were not written.
    pub rejected: Vec<RejectedEvent>,
    /// The request's id in the logs.
    pub request_id: Option<String>,
    /// The time that the server asks to wait.
    pub retry_after: Option<Duration>,
    /// With `revision-mismatch`: the current revision, if the record exists.
    pub revision: Option<String>,
    /// The price of the failed call.
    pub cost: Cost,
    /// The headers of the response.
    pub headers: HeaderMap,
    /// The API's address.
    pub url: String,
    /// The path of the request, with its query if it has one.
    pub target: String,
    /// With `unreachable`: the error of the HTTP client, if it has one.
    pub cause: Option<Arc<reqwest::Error>>,
    pub(crate) is_lately: bool,
}

/// The body of an error response. A gateway's own error has only a message.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Body {
    status: u16,
    code: Option<String>,
    title: Option<String>,
    detail: Option<String>,
    message: Option<String>,
    errors: Vec<Fault>,
    accepted: Vec<AcceptedEvent>,
    rejected: Vec<RejectedEvent>,
    request_id: Option<String>,
}

impl Problem {
    /// A problem that this client finds itself.
    pub(crate) fn new(status: u16, code: &str, detail: impl Into<String>) -> Self {
        Self {
            status,
            code: code.to_owned(),
            title: code.to_owned(),
            detail: detail.into(),
            ..Self::default()
        }
    }

    /// The problem that the body of a response says.
    pub fn of_body(status: u16, body: &[u8]) -> Self {
        let body: Body = serde_json::from_slice(body).unwrap_or_default();
        let code = body.code.as_deref().unwrap_or_else(|| gateways_code(status));
        Self {
            title: body.title.unwrap_or_else(|| code.to_owned()),
            errors: body.errors,
            accepted: body.accepted,
            rejected: body.rejected,
            request_id: body.request_id,
            is_lately: body.code.is_some(),
            ..Self::new(status, code, body.detail.or(body.message).unwrap_or_default())
        }
    }

    /// The problem that a stream says before it ends.
    pub(crate) fn of_stream(data: &str) -> Self {
        let status = serde_json::from_str(data).map_or(0, |body: Body| body.status);
        Self::of_body(status, data.as_bytes())
    }

    /// The problem of a request that got no response, or only a part of it.
    pub(crate) fn unreachable(cause: reqwest::Error) -> Box<Self> {
        let mut deepest: &dyn std::error::Error = &cause;
        while let Some(source) = deepest.source() {
            deepest = source;
        }
        let problem = Self::new(0, "unreachable", deepest.to_string());
        Box::new(Self { cause: Some(Arc::new(cause)), ..problem })
    }

    /// The problem of a request that got no response in time.
    pub(crate) fn silent(time: Duration) -> Box<Self> {
        Box::new(Self::new(0, "unreachable", format!("nothing came for {} s", time.as_secs_f32())))
    }

    /// The problem of a response that is not Lately's.
    pub(crate) fn foreign(status: u16, error: &serde_json::Error) -> Box<Self> {
        Box::new(Self::new(status, "invalid-response", error.to_string()))
    }

    /// True if the API itself said the problem: a gateway's own responses have no code.
    pub fn is_lately(&self) -> bool {
        self.is_lately
    }

    /// True if the same request may succeed later.
    pub fn is_temporary(&self) -> bool {
        match self.status {
            // A request that cannot be built is never sent.
            0 => !self.cause.as_ref().is_some_and(|cause| cause.is_builder()),
            429 | 502 | 503 => true,
            504 => self.code != "not-yet-visible",
            _ => false,
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { status, code, detail, .. } = self;
        if *status > 0 {
            write!(f, "{status} ")?;
        }
        write!(f, "{code}")?;
        if detail.is_empty() { Ok(()) } else { write!(f, ": {detail}") }
    }
}

impl std::error::Error for Problem {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.cause.as_deref().map(|cause| cause as _)
    }
}

/// The code of a response that the gateway makes itself.
fn gateways_code(status: u16) -> &'static str {
    match status {
        401 => "missing-token",
        403 => "forbidden",
        404 => "route-not-found",
        413 => "too-large",
        429 => "rate-limited",
        502..=504 => "unavailable",
        _ => "invalid-response",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_problems_are_temporary() {
        let temporary = [0, 429, 502, 503, 504];
        for status in [0, 302, 400, 403, 404, 409, 412, 422, 429, 500, 502, 503, 504] {
            let problem = Problem::of_body(status, b"");
            assert_eq!(problem.is_temporary(), temporary.contains(&status), "{status}");
        }
        assert!(!Problem::of_body(504, br#"{"code": "not-yet-visible"}"#).is_temporary());
    }

    #[test]
    fn a_response_without_a_code_gets_one() {
        let problem = Problem::of_body(429, br#"{"message": "Too Many Requests"}"#);
        assert_eq!(problem.to_string(), "429 rate-limited: Too Many Requests");
        assert!(!problem.is_lately());
        let problem =
            Problem::of_body(409, br#"{"code": "too-purple", "detail": "Paint it.", "later": [1]}"#);
        assert_eq!((problem.to_string().as_str(), problem.is_lately()), ("409 too-purple: Paint it.", true));
    }
}
