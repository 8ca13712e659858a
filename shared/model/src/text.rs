//! Shared code of the types that are parsed from text.

use std::fmt::Display;
use std::str::FromStr;

/// A value whose only valid text is the one that it is written as. A number's parser alone would also accept a sign and
/// leading zeros.
pub(crate) fn canonical<T: FromStr + Display>(text: &str) -> Option<T> {
    text.parse().ok().filter(|value: &T| value.to_string() == text)
}

/// Serialises a type as its `Display` text, and deserialises it only through `FromStr`.
macro_rules! serde_as_text {
    ($($type:ty),+) => {$(
        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        crate::text::deserialize_as_text!($type);
    )+};
}

/// Deserialises a type only through `FromStr`.
macro_rules! deserialize_as_text {
    ($($type:ty),+) => {$(
        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    )+};
}

pub(crate) use {deserialize_as_text, serde_as_text};
