//! Request bodies: read whole, up to a cap, and parsed by the model.

use std::error::Error;

use axum::body::{Body as RequestBody, Bytes, HttpBody, to_bytes};
use axum::extract::{FromRequest, Request};
use axum::http::HeaderMap;
use axum::http::header::CONTENT_LENGTH;
use lately_model::limits::BODY_BYTES;

use lately_model::{
    BodyError, Commit, Document, Follow, IssueChange, NewConsumer, NewErasure, NewIssue, NewSession,
    PollRequest, Seek, Seen, TopicChange,
};

use crate::code::Code;
use crate::problem::Problem;

/// The cap on the bodies of all routes of one function, in bytes, if it is below the general cap of 3 MiB.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cap(pub(crate) usize);

/// A request's whole body: at most 3 MiB, or the route's lower cap. A larger body is refused with 413 `too-large`:
/// at once if its length is announced, else as soon as more than the cap has arrived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Whole(pub Bytes);

impl<S: Send + Sync> FromRequest<S> for Whole {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Self, Problem> {
        let cap = request.extensions().get::<Cap>().map_or(BODY_BYTES, |cap| cap.0.min(BODY_BYTES));
        let announced = announced(request.headers());
        let body = request.into_body();
        let too_large =
            || Problem::new(Code::TooLarge, format!("The body is too large. Send at most {cap} bytes."));
        if body.size_hint().lower().max(announced) > cap as u64 {
            return Err(too_large());
        }
        to_bytes(body, cap).await.map(Self).map_err(|error| {
            if error.source().is_some_and(|source| source.is::<http_body_util::LengthLimitError>()) {
                too_large()
            } else {
                Problem::new(
                    Code::MalformedJson,
                    "The body did not arrive completely. Send the request again.",
                )
                .caused_by(&error)
            }
        })
    }
}

/// The length in the headers. Not every layer around a body passes on the length that the body knows.
fn announced(headers: &HeaderMap) -> u64 {
    headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok()).unwrap_or_default()
}

/// Refuses a body that is not empty, for a route that reads none.
pub(crate) async fn require_none(headers: &HeaderMap, body: RequestBody) -> Result<(), Problem> {
    if announced(headers) == 0 && to_bytes(body, 0).await.is_ok() {
        return Ok(());
    }
    Err(Problem::new(Code::InvalidBody, "This request has no body. Send it without one."))
}

/// A JSON body, parsed by the model. Refused as [`Whole`] refuses, with 400 `malformed-json` if the body is not JSON,
/// and with 422 and all faults if the JSON is invalid for the route.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Body<T>(pub T);

/// A type that the model parses from a body.
pub trait JsonBody: Sized {
    /// The code of a body that is JSON and has faults.
    const INVALID: Code;

    /// Parses the bytes of a body.
    ///
    /// # Errors
    /// If the body is not JSON, or with all its faults.
    fn parse(body: &[u8]) -> Result<Self, BodyError>;
}

macro_rules! json_bodies {
    ($($body:ty = $invalid:ident),*) => {$(
        impl JsonBody for $body {
            const INVALID: Code = Code::$invalid;

            fn parse(body: &[u8]) -> Result<Self, BodyError> {
                <$body>::parse(body)
            }
        }
    )*};
}

json_bodies! {
    Commit = InvalidBody, Document = InvalidBody, Follow = InvalidBody, IssueChange = InvalidBody,
    NewConsumer = InvalidBody, NewErasure = InvalidBody, NewIssue = InvalidBody, NewSession = InvalidBody,
    PollRequest = InvalidBody, Seek = InvalidBody, Seen = InvalidBody, TopicChange = InvalidTopic
}

impl<T: JsonBody, S: Send + Sync> FromRequest<S> for Body<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let Whole(body) = Whole::from_request(request, state).await?;
        T::parse(&body).map(Self).map_err(|refused| Problem::of_body(refused, T::INVALID))
    }
}
