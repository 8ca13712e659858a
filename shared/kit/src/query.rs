//! The query string of a request: parsed by the model, or refused with all its faults.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use lately_model::{
    DeletionQuery, EventQuery, Faults, FeedQuery, IssueQuery, ListQuery, LiveQuery, RecordQuery,
    RevocationQuery, SessionQuery, SourceLiveQuery, SourceQuery,
};

use crate::code::Code;
use crate::problem::Problem;

/// A query string, parsed. Refused with 400 `invalid-query`. A request without a query string has an empty one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query<T>(pub T);

/// A type that the model parses from a query string.
pub trait QueryString: Sized {
    /// Parses the text after the question mark.
    ///
    /// # Errors
    /// With all faults of the text.
    fn parse(query: &str) -> Result<Self, Faults>;
}

macro_rules! query_strings {
    ($($query:ty),*) => {$(
        impl QueryString for $query {
            fn parse(query: &str) -> Result<Self, Faults> {
                <$query>::parse(query)
            }
        }
    )*};
}

query_strings!(
    DeletionQuery,
    EventQuery,
    FeedQuery,
    IssueQuery,
    ListQuery,
    LiveQuery,
    RecordQuery,
    RevocationQuery,
    SessionQuery,
    SourceLiveQuery,
    SourceQuery
);

impl<T: QueryString, S: Sync> FromRequestParts<S> for Query<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let query = T::parse(parts.uri.query().unwrap_or_default());
        query.map(Self).map_err(|faults| Problem::of_faults(Code::InvalidQuery, faults))
    }
}
