//! The header `Idempotency-Key`.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use lately_keys::table::IdempotencyKey;

use crate::code::Code;
use crate::problem::Problem;

/// What the header says, if it is there: at most once, or 400 `invalid-idempotency-key`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Idempotency(pub Option<IdempotencyKey>);

impl<S: Sync> FromRequestParts<S> for Idempotency {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let refused = |detail: String| Problem::new(Code::InvalidIdempotencyKey, detail);
        let mut values = parts.headers.get_all("idempotency-key").iter();
        let Some(value) = values.next() else {
            return Ok(Self(None));
        };
        if values.next().is_some() {
            return Err(refused("The header must be given only once.".to_owned()));
        }
        // What is no visible ASCII is no key either; the key's own words say so.
        let key = value.to_str().unwrap_or_default().parse::<IdempotencyKey>();
        key.map(|key| Self(Some(key))).map_err(|error| refused(error.to_string()))
    }
}
