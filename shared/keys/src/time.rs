//! Time in keys: whole milliseconds from 1970 to the end of the year 9999.
//!
//! The type is our own instead of `jiff::Timestamp` for two reasons. It cannot hold a time for which no key exists, and
//! it reaches the last day of 9999. A `Timestamp` does not, because it must be representable at every UTC offset. The
//! calendar comes from `jiff`.

use std::fmt;
use std::str::FromStr;

use jiff::SignedDuration;
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::fmt::temporal::Pieces;

use crate::text::serde_as_text;

/// A time in whole milliseconds, UTC, from 1970-01-01T00:00:00.000Z to 9999-12-31T23:59:59.999Z.
///
/// Its text is RFC 3339 with three decimals. Text with more decimals is rounded down: an event at
/// `…00.0005Z` happened in the millisecond `…00.000Z`.
///
/// ```
/// use lately_keys::UnixMillis;
///
/// let at: UnixMillis = "2016-10-23T03:30:00.0009+02:00".parse()?;
/// assert_eq!(at.to_string(), "2016-10-23T01:30:00.000Z");
/// assert_eq!(at.get(), 1_477_186_200_000);
/// # Ok::<(), lately_keys::TimeError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UnixMillis(u64);

/// A time that was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TimeError {
    /// The text is not RFC 3339 with an offset.
    #[error("time: must be RFC 3339 with an offset, such as 2026-11-20T09:30:00Z")]
    Form,
    /// The time is before 1970 or after 9999.
    #[error("time: must be in the years 1970 to 9999")]
    Range,
}

const EPOCH: DateTime = DateTime::constant(1970, 1, 1, 0, 0, 0, 0);
const NANOS_PER_MILLI: i128 = 1_000_000;

impl UnixMillis {
    /// The first time: 1970-01-01T00:00:00.000Z.
    pub const MIN: Self = Self(0);
    /// The last time: 9999-12-31T23:59:59.999Z.
    pub const MAX: Self = Self(253_402_300_799_999);

    /// A time from milliseconds since 1970.
    ///
    /// # Errors
    /// [`TimeError::Range`] after the year 9999.
    pub const fn new(millis: u64) -> Result<Self, TimeError> {
        if millis <= Self::MAX.0 { Ok(Self(millis)) } else { Err(TimeError::Range) }
    }

    /// Milliseconds since 1970.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The time `millis` milliseconds earlier, but not before [`UnixMillis::MIN`].
    #[must_use]
    pub const fn saturating_sub(self, millis: u64) -> Self {
        Self(self.0.saturating_sub(millis))
    }

    /// The time `millis` milliseconds later, but not after [`UnixMillis::MAX`].
    #[must_use]
    pub const fn saturating_add(self, millis: u64) -> Self {
        let sum = self.0.saturating_add(millis);
        if sum <= Self::MAX.0 { Self(sum) } else { Self::MAX }
    }

    /// Parses a bound of a range: text with more than three decimals is rounded *up*.
    ///
    /// Events have whole milliseconds. So an event is at or after `…00.0005Z` exactly if it is at or after the next
    /// whole millisecond, and before one exactly if it is before the other.
    ///
    /// # Errors
    /// As for `FromStr`.
    pub fn parse_bound(text: &str) -> Result<Self, TimeError> {
        let nanos = unix_nanos(text)?;
        Self::from_signed(-(-nanos).div_euclid(NANOS_PER_MILLI))
    }

    /// The date and the time of day, in UTC.
    #[must_use]
    pub fn civil(self) -> DateTime {
        let since_epoch = SignedDuration::from_millis(self.0.cast_signed());
        EPOCH.checked_add(since_epoch).expect("a UnixMillis is within the years that jiff knows")
    }

    /// The time of a date and a time of day, in UTC, rounded down.
    ///
    /// # Errors
    /// [`TimeError::Range`] before 1970.
    pub fn from_civil(civil: DateTime) -> Result<Self, TimeError> {
        Self::from_signed(civil.duration_since(EPOCH).as_nanos().div_euclid(NANOS_PER_MILLI))
    }

    fn from_signed(millis: i128) -> Result<Self, TimeError> {
        u64::try_from(millis).map_err(|_| TimeError::Range).and_then(Self::new)
    }
}

/// The nanoseconds since 1970 of RFC 3339 text, for any of jiff's years.
fn unix_nanos(text: &str) -> Result<i128, TimeError> {
    let pieces = Pieces::parse(text).map_err(|_| TimeError::Form)?;
    let (Some(time), Some(offset)) = (pieces.time(), pieces.to_numeric_offset()) else {
        return Err(TimeError::Form);
    };
    // jiff accepts more than RFC 3339: a zone in brackets, and offsets without minutes.
    if text.ends_with(']') || !has_rfc3339_shape(text) {
        return Err(TimeError::Form);
    }
    let local = DateTime::from_parts(pieces.date(), time).duration_since(EPOCH);
    let utc = local.checked_sub(SignedDuration::from_secs(offset.seconds().into()));
    Ok(utc.ok_or(TimeError::Range)?.as_nanos())
}

/// True if the text has the form `YYYY-MM-DDTHH:MM:SS[.f…](Z|±HH:MM)`.
fn has_rfc3339_shape(text: &str) -> bool {
    let shape = |part: &str| -> String {
        part.chars().map(|c| if c.is_ascii_digit() { '0' } else { c.to_ascii_uppercase() }).collect()
    };
    let Some((seconds, rest)) = text.split_at_checked(19) else {
        return false;
    };
    let zone = match rest.strip_prefix('.') {
        Some(rest) => rest.trim_start_matches(|c: char| c.is_ascii_digit()),
        None => rest,
    };
    shape(seconds) == "0000-00-00T00:00:00"
        && !rest.starts_with(".Z")
        && matches!(shape(zone).as_str(), "Z" | "+00:00" | "-00:00")
}

impl FromStr for UnixMillis {
    type Err = TimeError;

    fn from_str(text: &str) -> Result<Self, TimeError> {
        Self::from_signed(unix_nanos(text)?.div_euclid(NANOS_PER_MILLI))
    }
}

impl fmt::Display for UnixMillis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.3}Z", self.civil())
    }
}

serde_as_text!(UnixMillis);

impl TryFrom<Timestamp> for UnixMillis {
    type Error = TimeError;

    /// Rounds down to the millisecond.
    fn try_from(timestamp: Timestamp) -> Result<Self, TimeError> {
        Self::from_signed(timestamp.as_nanosecond().div_euclid(NANOS_PER_MILLI))
    }
}

/// The direction through a timeline.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Order {
    /// From the present into the past: DynamoDB's natural order in this table.
    #[default]
    NewestFirst,
    /// From the past to the present.
    OldestFirst,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arbitrary;
    use proptest::prelude::*;

    #[test]
    fn the_first_and_last_times_have_text() {
        assert_eq!(UnixMillis::MIN.to_string(), "1970-01-01T00:00:00.000Z");
        assert_eq!(UnixMillis::MAX.to_string(), "9999-12-31T23:59:59.999Z");
        assert_eq!("9999-12-31T23:59:59.9999Z".parse(), Ok(UnixMillis::MAX));
        assert_eq!(UnixMillis::new(UnixMillis::MAX.get() + 1), Err(TimeError::Range));
        assert_eq!("1969-12-31T23:59:59.999Z".parse::<UnixMillis>(), Err(TimeError::Range));
        assert_eq!("9999-12-31T23:59:59-01:00".parse::<UnixMillis>(), Err(TimeError::Range));
        assert_eq!("1969-12-31T23:00:00-01:00".parse(), Ok(UnixMillis::MIN));
    }

    #[test]
    fn text_that_is_not_rfc_3339_is_refused() {
        for text in [
            "",
            "now",
            "2026-11-20",
            "2026-11-20T09:30:00",
            "2026-11-20T09:30Z",
            "2026-11-20T09:30:00+01",
            "2026-11-20T09:30:00+01:00:00",
            "2026-11-20T09:30:00.Z",
            "2026-11-20T09:30:00,5Z",
            "2026-11-20 09:30:00Z",
            "20261120T093000Z",
            "2026-02-30T09:30:00Z",
            "2026-11-20T25:30:00Z",
            "2026-11-20T09:30:00+01:00[Europe/Rome]",
            "2026-11-20T09:30:00Z[UTC]",
            "+002026-11-20T09:30:00Z",
            "1763631000000",
            " 2026-11-20T09:30:00Z",
            "２026-11-20T09:30:00Z",
        ] {
            assert_eq!(text.parse::<UnixMillis>(), Err(TimeError::Form), "{text:?}");
        }
        assert!("2026-11-20t09:30:00z".parse::<UnixMillis>().is_ok());
    }

    #[test]
    fn a_bound_is_rounded_up_and_a_time_down() {
        let whole = "2026-11-20T09:30:00.001Z".parse::<UnixMillis>().unwrap();
        assert_eq!("2026-11-20T09:30:00.0019Z".parse(), Ok(whole));
        assert_eq!(UnixMillis::parse_bound("2026-11-20T09:30:00.0001Z"), Ok(whole));
        assert_eq!(UnixMillis::parse_bound("2026-11-20T09:30:00.001Z"), Ok(whole));
        assert_eq!(UnixMillis::parse_bound("9999-12-31T23:59:59.9991Z"), Err(TimeError::Range));
    }

    proptest! {
        #[test]
        fn text_round_trips_and_sorts_as_time(a in arbitrary::millis(), b in arbitrary::millis()) {
            prop_assert_eq!(a.to_string().parse::<UnixMillis>(), Ok(a));
            prop_assert_eq!(UnixMillis::from_civil(a.civil()), Ok(a));
            prop_assert_eq!(a.to_string().cmp(&b.to_string()), a.cmp(&b));
        }

        #[test]
        fn any_text_is_a_time_or_an_error(text in "\\PC{0,40}", near in "[0-9TZtz:.+-]{0,30}") {
            for text in [text, near] {
                if let Ok(at) = text.parse::<UnixMillis>() {
                    prop_assert_eq!(at.to_string().parse::<UnixMillis>(), Ok(at));
                }
            }
        }
    }
}
