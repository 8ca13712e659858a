//! A request's query string, parsed or refused whole.

use lately_model::Faults;

use crate::code::Code;
use crate::problem::Problem;

/// What a query string asks for; none is one that says nothing.
///
/// # Errors
/// 400 `invalid-query`, with all that is wrong with it.
pub fn parsed<T>(query: Option<String>, parse: impl FnOnce(&str) -> Result<T, Faults>) -> Result<T, Problem> {
    parse(query.as_deref().unwrap_or_default())
        .map_err(|faults| Problem::of_faults(Code::InvalidQuery, faults))
}
