//! Days for the designs with one partition per day.

use jiff::civil::{Date, DateTime};
use jiff::tz::Offset;
use jiff::{SignedDuration, Timestamp};

use super::Window;

const EPOCH: DateTime = DateTime::constant(1970, 1, 1, 0, 0, 0, 0);
const DAY_SECONDS: i64 = 86_400;

/// A day at a fixed offset from UTC, as its number since 1970-01-01.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Day {
    number: i64,
    offset: Offset,
}

impl Day {
    /// The day of a time, where clocks show `offset` more than UTC.
    pub(super) fn containing(at: Timestamp, offset: Offset) -> Self {
        let local = at.as_nanosecond().div_euclid(1_000_000_000) + i128::from(offset.seconds());
        let number = local.div_euclid(DAY_SECONDS.into());
        Self { number: i64::try_from(number).expect("a Timestamp has 64 bits of seconds"), offset }
    }

    /// The days from one time to another, oldest first.
    pub(super) fn between(
        first: Timestamp,
        last: Timestamp,
        offset: Offset,
    ) -> impl DoubleEndedIterator<Item = Self> + Clone {
        let (first, last) = (Self::containing(first, offset), Self::containing(last, offset));
        (first.number..=last.number).map(move |number| Self { number, offset })
    }

    /// The seconds since 1970 at which the day starts.
    pub(super) fn unix_start(self) -> i64 {
        self.number * DAY_SECONDS - i64::from(self.offset.seconds())
    }

    /// The window from the day's first moment to its last.
    pub(super) fn window(self) -> Window {
        Window::of_seconds(self.unix_start(), DAY_SECONDS)
    }

    /// The day's date.
    pub(super) fn date(self) -> Date {
        let since_epoch = SignedDuration::from_secs(self.number * DAY_SECONDS);
        EPOCH.saturating_add(since_epoch).date()
    }
}
