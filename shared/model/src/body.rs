//! Bodies that are one JSON value.

use serde_json::value::RawValue;

use crate::fault::{FaultList, Faults, Pointer};
use crate::fields::{self, Field};
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
pub(crate) fn parse<'a, T>(
    body: &'a [u8],
    read: impl FnOnce(&'a RawValue, &mut FaultList) -> Option<T>,
) -> Result<T, BodyError> {
    let mut found = FaultList::default();
    let value = read(malformed::value(malformed::characters(body)?)?, &mut found);
    Ok(found.or(value)?)
}

/// Parses a body that is an object with these fields.
pub(crate) fn object<'a, T, const N: usize>(
    body: &'a [u8],
    names: [&'static str; N],
    read: impl FnOnce([Field<&'a RawValue>; N], &mut FaultList) -> Option<T>,
) -> Result<T, BodyError> {
    parse(body, |json, found| read(fields::of_object(json, &Pointer::root(), names, found)?, found))
}

/// As [`object`]. An empty body means the same as `{}`.
pub(crate) fn object_or_empty<'a, T, const N: usize>(
    body: &'a [u8],
    names: [&'static str; N],
    read: impl FnOnce([Field<&'a RawValue>; N], &mut FaultList) -> Option<T>,
) -> Result<T, BodyError> {
    object(if body.trim_ascii().is_empty() { b"{}" } else { body }, names, read)
}
