//! The keys of five designs that others have published for "the latest first" on DynamoDB. Pure.
//!
//! Each design gives its key types, its write key, the partitions to visit for a range of time, the sort keys to read
//! in them, and the time in a key. Lately's own table uses none of them.
//!
//! | design | partition key | sort key | precision | natural order | one hot partition |
//! | --- | --- | --- | --- | --- | --- |
//! | [`ReverseTicks`] | user (S) | `i64::MAX` − nanoseconds (N) | 1 ns | newest first | per user |
//! | [`Chronological`] | user (S) | .NET ticks, 19 digits (S) | 100 ns | either, by choice | per user |
//! | [`ShardedDay`] | day and shard (S) | milliseconds and event (S) | 1 ms | oldest first | no |
//! | [`InvertedUuid`] | −seconds of the day's start (N) | inverted UUIDv7 (S) | 1 ms | newest first | the day |
//! | [`QuarterHour`] | quarter of an hour (S) | second and random text (S) | 1 s | oldest first | the quarter |
//!
//! All of them share two properties:
//!
//! - A partition serves 1,000 write units a second. If all writes of a moment share a partition, that is
//!   the limit of the whole design.
//! - DynamoDB's Scan does *not* return partitions in the order of their keys: it follows their hashes.
//!   However well a partition key sorts, newest first over days needs a walk from partition to partition.
//!   `partitions` returns this walk, and [`rev`](Iterator::rev) reverses it. The walk visits empty
//!   partitions too, because nothing lists the partitions that contain events.
//!
//! Lately's own design solves each of these problems: its order is total below the millisecond, its shards grow by
//! themselves, and its directory lists the partitions that are not empty.

mod chronological;
mod days;
mod imported;
mod inverted_uuid;
mod quarter_hour;
mod reverse_ticks;
mod sharded_day;
mod ticks;
mod window;

#[cfg(test)]
mod tests;

use std::fmt;

pub use chronological::{Chronological, NaturalOrder};
pub use imported::KeyTime;
pub use inverted_uuid::InvertedUuid;
pub use quarter_hour::{QuarterHour, Token, TokenError};
pub use reverse_ticks::ReverseTicks;
pub use sharded_day::{ShardedDay, ShardedDayScope};
pub use window::{SortKeys, Window};

/// The type of a key attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KeyType {
    /// A string: sorts by its bytes.
    S,
    /// A number: sorts by its value.
    N,
}

/// The value of a key attribute.
///
/// Strings are ordered by their bytes and numbers by their value, as in DynamoDB. A string and a number never share an
/// attribute, so they have no order.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum KeyValue {
    /// A string.
    S(String),
    /// A number.
    N(i64),
}

impl KeyValue {
    /// The value's type.
    pub const fn key_type(&self) -> KeyType {
        match self {
            Self::S(_) => KeyType::S,
            Self::N(_) => KeyType::N,
        }
    }
}

impl PartialOrd for KeyValue {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        match (self, other) {
            (Self::S(a), Self::S(b)) => Some(a.cmp(b)),
            (Self::N(a), Self::N(b)) => Some(a.cmp(b)),
            _ => None,
        }
    }
}

impl fmt::Display for KeyValue {
    /// The value as in DynamoDB's JSON, where numbers are text too.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::S(text) => f.write_str(text),
            Self::N(number) => number.fmt(f),
        }
    }
}

/// The types of a design's two key attributes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct KeyTypes {
    /// The type of the partition key.
    pub pk: KeyType,
    /// The type of the sort key.
    pub sk: KeyType,
}

/// The key under which a design writes an event.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct WriteKey {
    /// The partition key.
    pub pk: KeyValue,
    /// The sort key.
    pub sk: KeyValue,
}

/// The design has no key for the time, or the text is not one of its keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PublishedError {
    /// The time is outside the range of the design's keys.
    #[error("the time must be from 1970-01-01 to {until}")]
    Range {
        /// The last day that has a key.
        until: &'static str,
    },
    /// The sort key is not of this design.
    #[error("not a sort key of this design")]
    Key,
}
