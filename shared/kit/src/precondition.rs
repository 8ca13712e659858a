//! The headers `If-Match` and `If-None-Match` of a write, and the `ETag` that they refer to.

use std::convert::Infallible;

use axum::extract::FromRequestParts;
use axum::http::header::{ETAG, IF_MATCH, IF_NONE_MATCH};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use axum::response::{IntoResponseParts, ResponseParts};
use lately_model::{Precondition, PreconditionError, Revision};

use crate::problem::Problem;

/// The precondition of a write. An invalid one is refused with 400 `invalid-precondition`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Under(pub Precondition);

impl<S: Sync> FromRequestParts<S> for Under {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let if_match = only(&parts.headers, &IF_MATCH).ok_or(PreconditionError::IfMatch)?;
        let if_none_match = only(&parts.headers, &IF_NONE_MATCH).ok_or(PreconditionError::IfNoneMatch)?;
        Ok(Self(Precondition::parse(if_match, if_none_match)?))
    }
}

/// The only value of a header, if the header is there; `None` if it is sent twice, which makes a list of it.
fn only<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<Option<&'a str>> {
    let mut values = headers.get_all(name).iter();
    let value = values.next();
    // A value that is not visible ASCII is refused like an empty one.
    values.next().is_none().then_some(value.map(|value| value.to_str().unwrap_or_default()))
}

/// The value of `ETag` for a revision.
pub fn etag(revision: Revision) -> HeaderValue {
    HeaderValue::from_str(&revision.etag()).expect("an ETag is digits in quotes")
}

/// The header `ETag` of a response: the revision of the record that the response shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ETag(pub Revision);

impl IntoResponseParts for ETag {
    type Error = Infallible;

    fn into_response_parts(self, mut response: ResponseParts) -> Result<ResponseParts, Infallible> {
        response.headers_mut().insert(ETAG, etag(self.0));
        Ok(response)
    }
}
