//! Sharded day: all events of a day, spread over a fixed number of partitions, and the events of a user.
//!
//! ```text
//! pk (S)  EVENTS#{YYYY-MM-DD}#SHARD{n}    sk (S)  {unix milliseconds}#{event}
//!         USER#{user}#{YYYY-MM}                   a user's month
//!         USER#{user}                             all of a user
//! ```
//!
//! Strengths: a day serves 1,000 writes a second per shard, and keys never collide because they contain the event's
//! name.
//!
//! Weaknesses: the number of shards is a constant of the program. Every read of a quiet day visits all shards, and
//! after the number is raised, old days must still be read with the old number. The event does not name its shard, so
//! fetching one event tries every shard. Two events of one millisecond are in the order of their names. The
//! milliseconds have no leading zeros, so text sorts as time only while they have thirteen digits: from
//! 2001-09-09T01:46:40Z to 2286-11-20T17:46:40Z. `USER#{user}` alone grows without end and has one partition's limit.

use jiff::civil::Date;
use jiff::tz::{Offset, TimeZone};
use jiff::{Timestamp, ToSpan};

use super::days::Day;
use super::ticks::{NANOS_PER_MILLI, ticks};
use super::{KeyType, KeyTypes, KeyValue, PublishedError, SortKeys, Window, WriteKey};
use lately_keys::User;
use lately_keys::{Shard, ShardCount};

const RANGE: PublishedError = PublishedError::Range { until: "9999-12-30" };

/// The range of milliseconds with thirteen digits.
const SORTABLE_MILLIS: (i64, i64) = (1_000_000_000_000, 9_999_999_999_999);

/// The partition that an event is written to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ShardedDayScope {
    /// One shard of all events of the day.
    Day(Shard),
    /// The user's events of the month.
    UserMonth(User),
    /// All of the user's events.
    User(User),
}

/// The key of an event.
///
/// ```
/// use lately_designs::{ShardedDay, ShardedDayScope};
///
/// let at = "2010-05-28T00:00:00Z".parse()?;
/// let key = ShardedDay::new(ShardedDayScope::Day(1.into()), at, "evt-9403560d")?.write_key();
/// assert_eq!(key.pk.to_string(), "EVENTS#2010-05-28#SHARD1");
/// assert_eq!(key.sk.to_string(), "1275004800000#evt-9403560d");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ShardedDay {
    scope: ShardedDayScope,
    at: Timestamp,
    event: Box<str>,
}

impl ShardedDay {
    /// The types of the key attributes.
    pub const KEY_TYPES: KeyTypes = KeyTypes { pk: KeyType::S, sk: KeyType::S };

    /// The key of an event at a time, rounded down to the millisecond.
    ///
    /// # Errors
    /// [`PublishedError::Range`] before 1970; [`PublishedError::Key`] if the event has no name.
    pub fn new(scope: ShardedDayScope, at: Timestamp, event: &str) -> Result<Self, PublishedError> {
        if at < Timestamp::UNIX_EPOCH {
            return Err(RANGE);
        }
        if event.is_empty() {
            return Err(PublishedError::Key);
        }
        Ok(Self { scope, at, event: event.into() })
    }

    /// The key under which the event is written.
    pub fn write_key(&self) -> WriteKey {
        let date = Day::containing(self.at, Offset::UTC).date();
        let pk = match &self.scope {
            ShardedDayScope::Day(shard) => day_partition(date, *shard),
            ShardedDayScope::UserMonth(user) => month_partition(user, date),
            ShardedDayScope::User(user) => format!("USER#{user}"),
        };
        let millis = self.at.as_millisecond();
        WriteKey { pk: KeyValue::S(pk), sk: KeyValue::S(format!("{millis}#{}", self.event)) }
    }

    /// The partitions with all events of a time range: every shard of every day, oldest day first.
    pub fn partitions(
        shards: ShardCount,
        first: Timestamp,
        last: Timestamp,
    ) -> impl DoubleEndedIterator<Item = KeyValue> {
        Day::between(first, last, Offset::UTC).flat_map(move |day| {
            shards.shards().map(move |shard| KeyValue::S(day_partition(day.date(), shard)))
        })
    }

    /// The partitions with a user's events of a time range, oldest month first.
    pub fn user_partitions(
        user: &User,
        first: Timestamp,
        last: Timestamp,
    ) -> impl DoubleEndedIterator<Item = KeyValue> {
        let month = |at| {
            let date = Day::containing(at, Offset::UTC).date();
            i32::from(date.year()) * 12 + i32::from(date.month()) - 1
        };
        (month(first)..=month(last)).map(move |month| {
            KeyValue::S(format!("USER#{user}#{:04}-{:02}", month.div_euclid(12), month.rem_euclid(12) + 1))
        })
    }

    /// The window of the day of a time.
    pub fn window(at: Timestamp) -> Window {
        Day::containing(at, Offset::UTC).window()
    }

    /// The window of a user's month.
    pub fn user_window(at: Timestamp) -> Window {
        let first = Day::containing(at, Offset::UTC).date().first_of_month();
        let midnight = |date: Date| date.to_zoned(TimeZone::UTC).ok().map(|midnight| midnight.timestamp());
        Window::between(midnight(first), first.checked_add(1.month()).ok().and_then(midnight))
    }

    /// The sort keys of a time range; `None` if the text does not sort as time there.
    pub fn sort_keys(first: Timestamp, last: Timestamp) -> Option<SortKeys> {
        let (first, last) = ticks(first, last, NANOS_PER_MILLI)?;
        let (first, last) = (first.max(SORTABLE_MILLIS.0), last.min(SORTABLE_MILLIS.1));
        // `$` sorts after `#`, so this text lies after all keys of its millisecond and before those of the next.
        (first <= last).then(|| SortKeys {
            least: KeyValue::S(format!("{first}#")),
            greatest: KeyValue::S(format!("{last}$")),
        })
    }

    /// The time in a sort key.
    ///
    /// # Errors
    /// [`PublishedError::Key`] if the text is not milliseconds, `#` and a name.
    pub fn time_of(sk: &str) -> Result<Timestamp, PublishedError> {
        let (millis, event) = sk.split_once('#').ok_or(PublishedError::Key)?;
        if event.is_empty() || millis.is_empty() || !millis.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(PublishedError::Key);
        }
        let millis = millis.parse().map_err(|_| PublishedError::Key)?;
        Timestamp::from_millisecond(millis).map_err(|_| PublishedError::Key)
    }
}

fn day_partition(date: Date, shard: Shard) -> String {
    format!("EVENTS#{date}#SHARD{shard}")
}

fn month_partition(user: &User, date: Date) -> String {
    format!("USER#{user}#{:04}-{:02}", date.year(), date.month())
}
