//! Sort keys: an id with every bit inverted, as text.
//!
//! ```text
//! id        0190a4cd-d3e7-7222-9f99-fdb74feee752
//! sort key  fe6f5b32-2c18-8ddd-6066-0248b01118ad
//! ```
//!
//! DynamoDB sorts a partition in ascending order. Lower-case hexadecimal digits with hyphens at fixed positions sort as
//! the bits do. With the bits inverted, the natural order of every partition is newest first.

use uuid::Uuid;
use uuid::fmt::Hyphenated;

use crate::id::{EventId, parse_hyphenated};

impl EventId {
    /// The id as the sort key of a timeline, in which the newest event comes first.
    ///
    /// ```
    /// use lately_keys::EventId;
    ///
    /// let id: EventId = "0190a4cd-d3e7-7222-9f99-fdb74feee752".parse()?;
    /// let key = id.sort_key().to_string();
    /// assert_eq!(key, "fe6f5b32-2c18-8ddd-6066-0248b01118ad");
    /// assert_eq!(EventId::of_sort_key(&key), Some(id));
    /// # Ok::<(), lately_keys::IdError>(())
    /// ```
    pub const fn sort_key(self) -> Hyphenated {
        invert(self.as_uuid()).hyphenated()
    }

    /// The id of a sort key; none if the text is another, or not in lower case: each key has only one stored text.
    pub fn of_sort_key(text: &str) -> Option<Self> {
        let lower = !text.bytes().any(|byte| byte.is_ascii_uppercase());
        invert(parse_hyphenated(text).filter(|_| lower)?).try_into().ok()
    }
}

const fn invert(uuid: Uuid) -> Uuid {
    Uuid::from_u128(!uuid.as_u128())
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
            assert_eq!(EventId::of_sort_key(text), None, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn text_round_trips_and_sorts_newest_first(a in arbitrary::id(), b in arbitrary::id()) {
            let (key_a, key_b) = (a.sort_key().to_string(), b.sort_key().to_string());
            prop_assert_eq!(EventId::of_sort_key(&key_a), Some(a));
            prop_assert_eq!(key_a.cmp(&key_b), b.cmp(&a));
        }
    }
}
