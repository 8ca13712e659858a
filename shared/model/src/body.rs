//! Bodies that are one JSON value.

use serde_json::value::RawValue;

use crate::fault::{FaultList, Faults};
use crate::malformed::{self, Malformed};

/// The reason why a body was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BodyError {
    /// The body is not JSON.
    #[error(transparent)]
    Malformed(#[from] Malformed),
    /// The body is JSON with faults.
    #[error(transparent)]
    Invalid(#[from] Faults),
}

/// Parses a body's one value.
pub(crate) fn parse<T>(
    body: &[u8],
    read: impl FnOnce(&RawValue, &mut FaultList) -> Option<T>,
) -> Result<T, BodyError> {
    let mut found = FaultList::default();
    let value = read(malformed::value(malformed::characters(body)?)?, &mut found);
    Ok(found.or(value)?)
}
