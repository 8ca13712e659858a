//! Windows and sort keys: the times that share partitions in a design, and the sort keys of a time range.

use jiff::{SignedDuration, Timestamp};

use super::KeyValue;

const ONE: SignedDuration = SignedDuration::from_nanos(1);

/// The times whose events share partitions, from the first to the last, both inclusive.
///
/// ```
/// use lately_designs::QuarterHour;
///
/// let window = QuarterHour::window("2016-10-23T01:44:59Z".parse()?);
/// assert_eq!(window.first, "2016-10-23T01:30:00Z".parse()?);
/// assert_eq!(window.last, "2016-10-23T01:44:59.999999999Z".parse()?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Window {
    /// The first time.
    pub first: Timestamp,
    /// The last time.
    pub last: Timestamp,
}

impl Window {
    /// All times, for a design that never begins a new partition.
    pub const ALL: Self = Self { first: Timestamp::MIN, last: Timestamp::MAX };

    /// A window of `seconds` seconds from `start`.
    pub(super) fn of_seconds(start: i64, seconds: i64) -> Self {
        let at = |second| Timestamp::from_second(second).ok();
        Self::between(at(start), at(start + seconds))
    }

    /// A window from `start` to just before `end`. A missing bound means that the window has no end on that side.
    pub(super) fn between(start: Option<Timestamp>, end: Option<Timestamp>) -> Self {
        let last = end.and_then(|end| end.checked_sub(ONE).ok());
        Self { first: start.unwrap_or(Timestamp::MIN), last: last.unwrap_or(Timestamp::MAX) }
    }
}

/// The sort keys of a time range, from the least to the greatest, both inclusive.
///
/// ```
/// use lately_designs::ShardedDay;
///
/// let keys = ShardedDay::sort_keys("2010-05-28T00:00:00Z".parse()?, "2010-05-28T00:00:01Z".parse()?);
/// let keys = keys.ok_or("no millisecond lies there")?;
/// assert_eq!(keys.least.to_string(), "1275004800000#");
/// assert_eq!(keys.greatest.to_string(), "1275004801000$");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SortKeys {
    /// The first key in DynamoDB's order.
    pub least: KeyValue,
    /// The last key in DynamoDB's order.
    pub greatest: KeyValue,
}
