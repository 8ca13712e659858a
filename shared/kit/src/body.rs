//! A request's body, whole, and never more of it than may be.

use std::error::Error;

use axum::body::{Bytes, HttpBody, to_bytes};
use axum::extract::{FromRequest, Request};
use lately_model::BatchError;
use lately_model::limits::BODY_BYTES;

use crate::code::Code;
use crate::problem::Problem;

/// At most 3 MiB; more is refused with 413 `too-large`, at once where the length is announced, else as soon as
/// it is passed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Whole(pub Bytes);

impl<S: Send + Sync> FromRequest<S> for Whole {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Self, Problem> {
        let body = request.into_body();
        if body.size_hint().lower() > BODY_BYTES as u64 {
            return Err(BatchError::BodyTooLarge.into());
        }
        to_bytes(body, BODY_BYTES).await.map(Self).map_err(|error| {
            if error.source().is_some_and(|source| source.is::<http_body_util::LengthLimitError>()) {
                BatchError::BodyTooLarge.into()
            } else {
                Problem::new(Code::MalformedJson, "The body did not arrive whole.").caused_by(&error)
            }
        })
    }
}
