//! Reverse ticks: a user's events by nanoseconds counted down.
//!
//! ```text
//! pk (S)  {user}    sk (N)  9223372036854775807 − unix nanoseconds
//! ```
//!
//! Strengths: newest first in a user's partition without reading in reverse, and a key returns the exact nanosecond.
//!
//! Weaknesses: *two writes in one tick* have the same key, and the second silently replaces the first; clocks that tick
//! in microseconds or coarser make that likely. All events of a user share one partition, which serves at most 1,000
//! writes a second. Events of different users have no common order. The keys end on 2262-04-11, with the signed 64-bit
//! count of nanoseconds.

use jiff::Timestamp;

use super::ticks::ticks;
use super::{KeyType, KeyTypes, KeyValue, PublishedError, SortKeys, WriteKey};
use lately_keys::User;

const RANGE: PublishedError = PublishedError::Range { until: "2262-04-11" };

/// The key of a user's event.
///
/// ```
/// use lately_designs::ReverseTicks;
///
/// let key = ReverseTicks::new("ada".parse()?, "2010-05-28T00:00:00Z".parse()?)?;
/// assert_eq!(key.write_key().sk.to_string(), "7948367236854775807");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ReverseTicks {
    user: User,
    unix_nanos: i64,
}

impl ReverseTicks {
    /// The types of the key attributes.
    pub const KEY_TYPES: KeyTypes = KeyTypes { pk: KeyType::S, sk: KeyType::N };

    /// The key of an event at a time.
    ///
    /// # Errors
    /// [`PublishedError::Range`] before 1970 and after 2262-04-11.
    pub fn new(user: User, at: Timestamp) -> Result<Self, PublishedError> {
        let unix_nanos = i64::try_from(at.as_nanosecond()).ok().filter(|nanos| *nanos >= 0).ok_or(RANGE)?;
        Ok(Self { user, unix_nanos })
    }

    /// The key under which the event is written.
    pub fn write_key(&self) -> WriteKey {
        WriteKey { pk: KeyValue::S(self.user.to_string()), sk: KeyValue::N(i64::MAX - self.unix_nanos) }
    }

    /// The partitions with a user's events of a time range: always one.
    pub fn partitions(
        user: &User,
        _first: Timestamp,
        _last: Timestamp,
    ) -> impl DoubleEndedIterator<Item = KeyValue> + use<> {
        std::iter::once(KeyValue::S(user.to_string()))
    }

    /// The sort keys of a time range.
    pub fn sort_keys(first: Timestamp, last: Timestamp) -> Option<SortKeys> {
        let (first, last) = ticks(first, last, 1)?;
        let sk = |unix_nanos| KeyValue::N(i64::MAX - unix_nanos);
        Some(SortKeys { least: sk(last), greatest: sk(first) })
    }

    /// The time in a sort key.
    ///
    /// # Errors
    /// [`PublishedError::Key`] if the number is negative, which no time from 1970 on has.
    pub fn time_of(sk: i64) -> Result<Timestamp, PublishedError> {
        let nanos = i64::MAX.checked_sub(sk).filter(|_| sk >= 0).ok_or(PublishedError::Key)?;
        Timestamp::from_nanosecond(nanos.into()).map_err(|_| PublishedError::Key)
    }
}
