//! What a range of time is in a design: which times share partitions, and which sort keys to ask them for.

use jiff::{SignedDuration, Timestamp};

use super::KeyValue;

const ONE: SignedDuration = SignedDuration::from_nanos(1);

/// The times whose events share partitions, from the first to the last, both included.
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
    /// All times: of a design that never begins a new partition.
    pub const ALL: Self = Self { first: Timestamp::MIN, last: Timestamp::MAX };

    /// So many seconds from a moment on.
    pub(super) fn of_seconds(start: i64, seconds: i64) -> Self {
        let at = |second| Timestamp::from_second(second).ok();
        Self::between(at(start), at(start + seconds))
    }

    /// From one moment until another begins; what is not given lies beyond all times.
    pub(super) fn between(start: Option<Timestamp>, end: Option<Timestamp>) -> Self {
        let last = end.and_then(|end| end.checked_sub(ONE).ok());
        Self { first: start.unwrap_or(Timestamp::MIN), last: last.unwrap_or(Timestamp::MAX) }
    }
}

/// The sort keys of a range of time, from the least to the greatest, both included.
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
    /// The first that DynamoDB comes to.
    pub least: KeyValue,
    /// The last that it comes to.
    pub greatest: KeyValue,
}
