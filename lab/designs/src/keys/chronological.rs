//! Chronological: a user's events by .NET ticks, counted down or up.
//!
//! ```text
//! pk (S)  {user}    sk (S)  DateTime.MaxValue.Ticks − ticks, 19 digits    newest first
//!                           ticks, 19 digits                              oldest first
//! ```
//!
//! A tick is 100 ns; ticks count from 0001-01-01. The nineteen digits make text sort as numbers do. (The design comes
//! from a store whose keys are text and cannot be read in reverse.)
//!
//! Strengths: either order can be the natural one, keys reach to the end of the year 9999, and a key returns its tick.
//!
//! Weaknesses: *two writes in one tick* have the same key, and the second replaces the first. All events of a user
//! share one partition. For both orders, every event must be written twice. On DynamoDB, which reads a partition in
//! either direction at the same price, the choice of order gains nothing.

use jiff::Timestamp;

use super::ticks::ticks;
use super::{KeyType, KeyTypes, KeyValue, PublishedError, SortKeys, WriteKey};
use lately_keys::User;

/// `DateTime.MaxValue.Ticks`: the last tick of the year 9999.
const MAX_TICKS: i64 = 3_155_378_975_999_999_999;
/// The ticks of 1970-01-01.
const EPOCH_TICKS: i64 = 621_355_968_000_000_000;
const NANOS_PER_TICK: i128 = 100;

/// The order of a partition when it is not read in reverse.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NaturalOrder {
    /// Ticks are counted down.
    NewestFirst,
    /// Ticks are counted up.
    OldestFirst,
}

/// The key of a user's event.
///
/// ```
/// use lately_designs::{Chronological, NaturalOrder};
///
/// let key = Chronological::new("ada".parse()?, "2010-05-28T00:00:00Z".parse()?)?;
/// assert_eq!(key.write_key(NaturalOrder::NewestFirst).sk.to_string(), "2521272959999999999");
/// assert_eq!(key.write_key(NaturalOrder::OldestFirst).sk.to_string(), "0634106016000000000");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Chronological {
    user: User,
    ticks: i64,
}

impl Chronological {
    /// The types of the key attributes.
    pub const KEY_TYPES: KeyTypes = KeyTypes { pk: KeyType::S, sk: KeyType::S };

    /// The key of an event at a time, rounded down to the tick.
    ///
    /// # Errors
    /// [`PublishedError::Range`] before 1970.
    pub fn new(user: User, at: Timestamp) -> Result<Self, PublishedError> {
        let since_epoch = i64::try_from(at.as_nanosecond().div_euclid(NANOS_PER_TICK));
        match since_epoch {
            Ok(ticks @ 0..) if ticks <= MAX_TICKS - EPOCH_TICKS => {
                Ok(Self { user, ticks: EPOCH_TICKS + ticks })
            }
            _ => Err(PublishedError::Range { until: "9999-12-31" }),
        }
    }

    /// The key under which the event is written.
    pub fn write_key(&self, order: NaturalOrder) -> WriteKey {
        WriteKey { pk: KeyValue::S(self.user.to_string()), sk: order.sort_key(self.ticks) }
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
    pub fn sort_keys(first: Timestamp, last: Timestamp, order: NaturalOrder) -> Option<SortKeys> {
        let (first, last) = ticks(first, last, NANOS_PER_TICK)?;
        let sk = |since_epoch| order.sort_key(EPOCH_TICKS + since_epoch);
        Some(match order {
            NaturalOrder::NewestFirst => SortKeys { least: sk(last), greatest: sk(first) },
            NaturalOrder::OldestFirst => SortKeys { least: sk(first), greatest: sk(last) },
        })
    }

    /// The time in a sort key.
    ///
    /// # Errors
    /// [`PublishedError::Key`] if the text is not nineteen digits of a time from 1970 on.
    pub fn time_of(sk: &str, order: NaturalOrder) -> Result<Timestamp, PublishedError> {
        let digits = sk.len() == 19 && sk.bytes().all(|byte| byte.is_ascii_digit());
        let ticks: i64 = digits.then(|| sk.parse().ok()).flatten().ok_or(PublishedError::Key)?;
        let since_epoch = order.turn(ticks) - EPOCH_TICKS;
        if since_epoch < 0 {
            return Err(PublishedError::Key);
        }
        Timestamp::from_nanosecond(i128::from(since_epoch) * NANOS_PER_TICK).map_err(|_| PublishedError::Key)
    }
}

impl NaturalOrder {
    /// Converts ticks to written ticks and back: the conversion is its own inverse.
    const fn turn(self, ticks: i64) -> i64 {
        match self {
            Self::NewestFirst => MAX_TICKS - ticks,
            Self::OldestFirst => ticks,
        }
    }

    fn sort_key(self, ticks: i64) -> KeyValue {
        KeyValue::S(format!("{:019}", self.turn(ticks)))
    }
}
