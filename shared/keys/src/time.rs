//! Time in keys: whole milliseconds from 1970 to the end of the year 9999.
//!
//! The type is our own because it cannot hold a time for which no key exists. The calendar and RFC 3339 come from the
//! crate `time`.

use std::fmt;
use std::str::FromStr;

use time::format_description::well_known::Rfc3339;
use time::{Duration, OffsetDateTime, UtcDateTime};

use crate::text::serde_as_text;
use crate::words;

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
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The time `millis` milliseconds earlier, but not before [`UnixMillis::MIN`].
    pub const fn saturating_sub(self, millis: u64) -> Self {
        Self(self.0.saturating_sub(millis))
    }

    /// The time `millis` milliseconds later, but not after [`UnixMillis::MAX`].
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

    /// A time from nanoseconds since 1970, rounded down to the millisecond.
    ///
    /// # Errors
    /// [`TimeError::Range`] before 1970 or after 9999.
    pub fn from_nanos(nanos: i128) -> Result<Self, TimeError> {
        Self::from_signed(nanos.div_euclid(NANOS_PER_MILLI))
    }

    /// The date and the time of day.
    pub(crate) fn utc(self) -> UtcDateTime {
        UtcDateTime::UNIX_EPOCH + Duration::milliseconds(self.0.cast_signed())
    }

    fn from_signed(millis: i128) -> Result<Self, TimeError> {
        u64::try_from(millis).map_err(|_| TimeError::Range).and_then(Self::new)
    }
}

/// The nanoseconds since 1970 of RFC 3339 text, of the years 0 to 9999.
fn unix_nanos(text: &str) -> Result<i128, TimeError> {
    let at = OffsetDateTime::parse(text, &Rfc3339).map_err(|_| TimeError::Form)?;
    // `time` accepts any character between date and time, and ignores decimals after the ninth.
    let decimals = text.bytes().skip(20).take_while(u8::is_ascii_digit).count();
    if !matches!(text.as_bytes()[10], b'T' | b't') || decimals > 9 {
        return Err(TimeError::Form);
    }
    Ok(at.unix_timestamp_nanos())
}

impl FromStr for UnixMillis {
    type Err = TimeError;

    fn from_str(text: &str) -> Result<Self, TimeError> {
        Self::from_nanos(unix_nanos(text)?)
    }
}

impl fmt::Display for UnixMillis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day) = self.utc().to_calendar_date();
        let (hour, minute, second, milli) = self.utc().as_hms_milli();
        let month = u8::from(month);
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{milli:03}Z")
    }
}

serde_as_text!(UnixMillis);
crate::schema!(UnixMillis, "Time", {
    use utoipa::openapi::{KnownFormat, SchemaFormat};

    let time = ObjectBuilder::new().schema_type(Type::String);
    let time = time.format(Some(SchemaFormat::KnownFormat(KnownFormat::DateTime)));
    time.description(Some(
        "RFC 3339 with an offset, in the years 1970 to 9999. Answers are in UTC, with milliseconds.",
    ))
});

words! {
    /// The direction through a timeline.
    #[derive(Default)]
    pub enum Order {
        /// From the present into the past: DynamoDB's natural order in this table.
        #[default]
        NewestFirst = "desc",
        /// From the past to the present.
        OldestFirst = "asc",
    }
    else OrderError = "must be asc or desc"
}

impl Order {
    /// The value for this order, of two that mirror each other.
    pub fn pick<T>(self, newest_first: T, oldest_first: T) -> T {
        match self {
            Self::NewestFirst => newest_first,
            Self::OldestFirst => oldest_first,
        }
    }
}

crate::schema!(Order, inline, words(Order::ALL.map(Order::as_str)));

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
            "2026-11-20é09:30:00Z",
            "2026-11-20T09:30:00.0000000001Z",
            "2026-11-20T09:30:60Z",
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
        assert!("2026-11-20T09:30:00.123456789+01:00".parse::<UnixMillis>().is_ok());
    }

    #[test]
    fn a_leap_second_is_the_last_millisecond_before_it() {
        let last = "2016-12-31T23:59:59.999Z".parse::<UnixMillis>();
        assert_eq!("2017-01-01T00:59:60+01:00".parse(), last);
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
            prop_assert_eq!(UnixMillis::from_nanos(a.utc().unix_timestamp_nanos()), Ok(a));
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
