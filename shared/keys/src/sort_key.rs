//! Sort keys: an id with every bit inverted, as text.
//!
//! ```text
//! id        0190a4cd-d3e7-7222-9f99-fdb74feee752
//! sort key  fe6f5b32-2c18-8ddd-6066-0248b01118ad
//! ```
//!
//! DynamoDB sorts a partition in ascending order. Lower-case hexadecimal digits with hyphens at fixed positions sort as
//! the bits do. With the bits inverted, the natural order of every partition is newest first.

use std::fmt;
use std::str::FromStr;

use uuid::Uuid;

use crate::id::{EventId, parse_hyphenated};

/// An id as the sort key of a timeline.
///
/// ```
/// use lately_keys::{EventId, SortKey};
///
/// let id: EventId = "0190a4cd-d3e7-7222-9f99-fdb74feee752".parse()?;
/// let key = id.sort_key();
/// assert_eq!(key.to_string(), "fe6f5b32-2c18-8ddd-6066-0248b01118ad");
/// assert_eq!("fe6f5b32-2c18-8ddd-6066-0248b01118ad".parse::<SortKey>()?.id(), id);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SortKey(Uuid);

/// The text is not a sort key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("sort key: must be an inverted event id in lower case")]
pub struct SortKeyError;

impl SortKey {
    /// The id of this sort key.
    pub fn id(self) -> EventId {
        EventId::try_from(invert(self.0)).expect("a sort key is made from an id, or checked")
    }
}

pub(crate) const fn invert(uuid: Uuid) -> Uuid {
    Uuid::from_u128(!uuid.as_u128())
}

impl From<EventId> for SortKey {
    fn from(id: EventId) -> Self {
        Self(invert(id.as_uuid()))
    }
}

impl FromStr for SortKey {
    type Err = SortKeyError;

    /// Accepts lower case only, so that each key has only one stored text.
    fn from_str(text: &str) -> Result<Self, SortKeyError> {
        let uuid = parse_hyphenated(text).ok_or(SortKeyError)?;
        let lower = !text.bytes().any(|byte| byte.is_ascii_uppercase());
        EventId::try_from(invert(uuid)).ok().filter(|_| lower).map(Self::from).ok_or(SortKeyError)
    }
}

impl fmt::Display for SortKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.hyphenated().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arbitrary;
    use proptest::prelude::*;

    #[test]
    fn golden_bytes() {
        let id: EventId = "0190a4cd-d3e7-7222-9f99-fdb74feee752".parse().unwrap();
        assert_eq!(id.sort_key().to_string(), "fe6f5b32-2c18-8ddd-6066-0248b01118ad");
    }

    #[test]
    fn an_id_that_is_not_inverted_is_refused() {
        for text in [
            "0190a4cd-d3e7-7222-9f99-fdb74feee752",
            "FE6F5B32-2C18-8DDD-6066-0248B01118AD",
            "fe6f5b322c188ddd60660248b01118ad",
            "#SEEN",
            "",
        ] {
            assert_eq!(text.parse::<SortKey>(), Err(SortKeyError), "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn text_round_trips_and_sorts_newest_first(a in arbitrary::id(), b in arbitrary::id()) {
            let (key_a, key_b) = (a.sort_key().to_string(), b.sort_key().to_string());
            prop_assert_eq!(key_a.parse::<SortKey>().map(SortKey::id), Ok(a));
            prop_assert_eq!(key_a.cmp(&key_b), b.cmp(&a));
        }
    }
}
