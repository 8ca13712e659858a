//! What types that are stored or sent as text have in common.

use std::str::FromStr;

/// Serialises a type as its `Display` text, and reads it back through `FromStr` only.
macro_rules! serde_as_text {
    ($type:ty) => {
        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}
pub(crate) use serde_as_text;

/// Splits text at every `#` into exactly `N` parts.
///
/// No name holds a `#`, so the parts of a key are what was put into it.
pub(crate) fn segments<const N: usize>(text: &str) -> Option<[&str; N]> {
    let mut parts = text.split('#');
    let mut found = [""; N];
    for part in &mut found {
        *part = parts.next()?;
    }
    parts.next().is_none().then_some(found)
}

/// Parses text only if the value is written back the same, so that no value has two texts
/// (`7` and `07`, say), and so no item two keys.
pub(crate) fn canonical<T: FromStr + ToString>(text: &str) -> Option<T> {
    let value: T = text.parse().ok()?;
    (value.to_string() == text).then_some(value)
}

/// Parses a number of exactly eight digits, from 0 to 99,999,999.
pub(crate) fn eight_digits(text: &str) -> Option<u32> {
    let digits = text.len() == 8 && text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().ok()).flatten()
}
