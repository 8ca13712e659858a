//! The query string of a request: parsed by the model, or refused with all its faults.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use lately_model::QueryString;

use crate::code::Code;
use crate::problem::Problem;

/// A query string, parsed. Refused with 400 `invalid-query`. A request without a query string has an empty one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query<T>(pub T);

impl<T: QueryString, S: Sync> FromRequestParts<S> for Query<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let query = T::parse(parts.uri.query().unwrap_or_default());
        query.map(Self).map_err(|faults| Problem::of_faults(Code::InvalidQuery, faults))
    }
}
