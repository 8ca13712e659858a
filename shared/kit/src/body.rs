//! A request's body, whole, and never more of it than may be.

use std::error::Error;

use axum::body::{Bytes, HttpBody, to_bytes};
use axum::extract::{FromRequest, Request};
use lately_model::limits::BODY_BYTES;

use crate::code::Code;
use crate::problem::Problem;

/// How many bytes a route's body may have, where that is less than 3 MiB: of whoever serves the route.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cap(pub(crate) usize);

/// At most 3 MiB, or what its route may have; more is refused with 413 `too-large`, at once where the length is
/// announced, else as soon as it is passed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Whole(pub Bytes);

impl<S: Send + Sync> FromRequest<S> for Whole {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Self, Problem> {
        let cap = request.extensions().get::<Cap>().map_or(BODY_BYTES, |cap| cap.0.min(BODY_BYTES));
        let body = request.into_body();
        let too_large = || Problem::new(Code::TooLarge, format!("The body may have at most {cap} bytes."));
        if usize::try_from(body.size_hint().lower()).is_ok_and(|bytes| bytes > cap) {
            return Err(too_large());
        }
        to_bytes(body, cap).await.map(Self).map_err(|error| {
            if error.source().is_some_and(|source| source.is::<http_body_util::LengthLimitError>()) {
                too_large()
            } else {
                Problem::new(Code::MalformedJson, "The body did not arrive whole.").caused_by(&error)
            }
        })
    }
}
