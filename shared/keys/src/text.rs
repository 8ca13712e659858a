//! Shared code of the types that are stored or sent as text.

use std::str::FromStr;

/// Serialises a type as its `Display` text, and deserialises it only through `FromStr`.
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
/// No name contains a `#`, so the parts of a key are exactly the values that it was made from.
pub(crate) fn segments<const N: usize>(text: &str) -> Option<[&str; N]> {
    let mut parts = text.split('#');
    let mut found = [""; N];
    for part in &mut found {
        *part = parts.next()?;
    }
    parts.next().is_none().then_some(found)
}

/// Parses text only if the value's text equals it. So no value has two texts (such as `7` and `07`), and no item has
/// two keys.
pub(crate) fn canonical<T: FromStr + ToString>(text: &str) -> Option<T> {
    let value: T = text.parse().ok()?;
    (value.to_string() == text).then_some(value)
}

/// Parses a number of exactly eight digits, from 0 to 99,999,999.
pub(crate) fn eight_digits(text: &str) -> Option<u32> {
    let digits = text.len() == 8 && text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().ok()).flatten()
}
