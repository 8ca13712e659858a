//! The header `Idempotency-Key`.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderName, HeaderValue};
use lately_items::IdempotencyKey;

use crate::problem::Problem;

/// The header.
pub(crate) const KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// The header's key, if the header is there. If the header is sent more than once, its values are joined by commas in
/// their order (RFC 9110, section 5.3), as API Gateway does. So a request means the same on AWS and in the local
/// program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Idempotency(pub Option<IdempotencyKey>);

impl<S: Sync> FromRequestParts<S> for Idempotency {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        // A value that is not visible ASCII is no key either: parsing the empty text gives the right error.
        let values: Result<Vec<_>, _> = parts.headers.get_all(KEY).iter().map(HeaderValue::to_str).collect();
        let key = match values.as_deref() {
            Ok([]) => return Ok(Self(None)),
            Ok(values) => values.join(","),
            Err(_) => String::new(),
        };
        Ok(Self(Some(key.parse()?)))
    }
}
