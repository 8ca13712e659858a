//! Error responses: problems (RFC 9457).
//!
//! A problem has two readers. The client gets a stable code, text that is safe to show and, for an invalid request,
//! every fault with its path. The operator gets the cause, in the log and nowhere else.
//!
//! Every error that a handler can meet converts into its problem with `From`, so a handler returns errors with `?`:
//! `refusal.rs` has the errors of the model, `events.rs` and `records.rs` have the errors of the store.

use std::borrow::Cow;
use std::error::Error;

use axum::http::header::{CONTENT_TYPE, RETRY_AFTER};
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use axum::response::{IntoResponse, Response};
use lately_model::{Faults, PartlyAccepted};
use serde::{Serialize, Serializer};

use crate::code::Code;
use crate::entropy::EntropyError;
use crate::log::RequestId;

/// Errors whose problem always has the same detail.
macro_rules! with_detail {
    ($($error:ident => $code:ident $detail:literal;)*) => {$(
        impl From<$error> for Problem {
            fn from(_: $error) -> Self {
                Self::new(Code::$code, $detail)
            }
        }
    )*};
}

mod events;
mod records;
mod refusal;

/// The seconds after which a client may retry a request that the table refused.
const RETRY_SECONDS: u32 = 1;

/// The reason why a request failed. Its JSON is
/// `{"type","title","status","code","detail","errors"?,"request_id"?}`.
///
/// ```
/// use axum::response::IntoResponse;
/// use lately_kit::{code::Code, problem::Problem};
///
/// let response = Problem::new(Code::TopicNotFound, "Create the topic with PUT /topics/posts.").into_response();
/// assert_eq!(response.status(), 404);
/// ```
#[derive(Debug)]
pub struct Problem(Box<ProblemParts>);

/// The reason why a request failed (RFC 9457). `code` is stable.
///
/// Boxed, since a problem is the rare half of most results.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[schema(as = Problem)]
pub(crate) struct ProblemParts {
    #[serde(rename = "type", serialize_with = "as_type")]
    #[schema(value_type = String, pattern = "^urn:lately:problem:[a-z-]+$")]
    kind: Code,
    title: &'static str,
    #[schema(minimum = 400, maximum = 599)]
    status: u16,
    /// The kind of problem. A published code never changes.
    #[schema(value_type = Code)]
    code: &'static str,
    #[schema(value_type = String)]
    detail: Cow<'static, str>,
    /// Every fault, with its position in the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<lately_model::Fault>>, min_items = 1)]
    errors: Option<Faults>,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    partly: Option<PartlyAccepted>,
    /// The request's id in the log; give it to the operator of the service.
    #[serde(skip_serializing_if = "Option::is_none")]
    request_id: Option<String>,
    #[serde(skip)]
    headers: HeaderMap,
    #[serde(skip)]
    cause: Option<String>,
}

/// The `type`: a URN that names the kind. It is not an address.
fn as_type<S: Serializer>(kind: &Code, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&format_args!("urn:lately:problem:{}", kind.as_str()))
}

impl Problem {
    /// A problem with a detail for the client.
    pub fn new(code: Code, detail: impl Into<Cow<'static, str>>) -> Self {
        Self(Box::new(ProblemParts {
            kind: code,
            title: code.title(),
            status: code.status().as_u16(),
            code: code.as_str(),
            detail: detail.into(),
            errors: None,
            partly: None,
            request_id: None,
            headers: HeaderMap::new(),
            cause: None,
        }))
    }

    /// The problem of a caller that may not do what it asked for.
    pub fn forbidden(detail: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Code::Forbidden, detail)
    }

    /// A problem that lists every fault.
    pub fn of_faults(code: Code, faults: Faults) -> Self {
        let count = faults.iter().len();
        let detail = if count == 1 {
            "The request has 1 fault to correct.".to_owned()
        } else {
            format!("The request has {count} faults to correct.")
        };
        let mut problem = Self::new(code, detail);
        problem.0.errors = Some(faults);
        problem
    }

    /// A problem that the client did not cause. The client does not learn the cause.
    pub fn unavailable(cause: &dyn Error) -> Self {
        Self::new(Code::Unavailable, "The service cannot answer now. Try again later.").caused_by(cause)
    }

    /// The problem of a batch of which only a part was written.
    pub fn partly_accepted(partly: PartlyAccepted) -> Self {
        let detail = "Send the request again with the same Idempotency-Key. \
                      Without a key, send only the rejected events again.";
        let mut problem = Self::new(Code::PartiallyAccepted, detail);
        problem.0.partly = Some(partly);
        problem
    }

    /// The problem and its cause, for the log.
    pub fn caused_by(mut self, cause: &dyn Error) -> Self {
        self.0.cause = Some(chain(cause));
        self
    }

    /// The problem with a header.
    pub fn header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.0.headers.insert(name, value);
        self
    }

    /// The problem, with the seconds after which a retry makes sense.
    pub fn retry_after(self, seconds: u32) -> Self {
        self.header(RETRY_AFTER, seconds.into())
    }

    /// The kind of problem.
    pub fn code(&self) -> Code {
        self.0.kind
    }
}

impl From<EntropyError> for Problem {
    fn from(error: EntropyError) -> Self {
        Self::unavailable(&error)
    }
}

/// An error and its sources on one line.
fn chain(error: &dyn Error) -> String {
    let sources = std::iter::successors(error.source(), |source| (*source).source());
    sources.fold(error.to_string(), |chain, source| format!("{chain}: {source}"))
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let Self(mut parts) = self;
        if let Some(cause) = parts.cause.take() {
            tracing::error!(code = parts.code, cause, "problem");
        }
        parts.request_id = RequestId::current().map(|RequestId(id)| id);
        let status = parts.kind.status();
        let body = serde_json::to_vec(&parts).expect("a problem is text, numbers and lists of them");
        parts.headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        (status, parts.headers, body).into_response()
    }
}
