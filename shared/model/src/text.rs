//! Shared code of the types that are parsed from digits.

use std::fmt::Display;
use std::str::FromStr;

/// A value whose only valid text is the one that it is written as. A number's parser alone would also accept a sign and
/// leading zeros.
pub(crate) fn canonical<T: FromStr + Display>(text: &str) -> Option<T> {
    text.parse().ok().filter(|value: &T| value.to_string() == text)
}
