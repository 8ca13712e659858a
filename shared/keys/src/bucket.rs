//! Buckets: fixed windows of a topic's time, in UTC.
//!
//! ```text
//! quarter-hour  2016-10-23T01:30
//! hour          2016-10-23T01
//! day           2016-10-23
//! month         2016-10
//! ```
//!
//! A bucket is the unit that expires, that the directory lists, and that is split into shards. Its label is the first
//! part of its start time in ISO 8601. So labels of one width sort as time does, and labels of the four widths have
//! four different lengths.

use std::fmt;
use std::str::FromStr;

use crate::text::serde_as_text;
use crate::time::UnixMillis;
use crate::words;

const MINUTE: u64 = 60_000;
const DAY: u64 = 24 * 60 * MINUTE;

words! {
    /// The length of time that a bucket covers, narrowest first.
    ///
    /// ```
    /// use lately_keys::BucketWidth;
    ///
    /// assert_eq!("quarter-hour".parse(), Ok(BucketWidth::QuarterHour));
    /// ```
    #[derive(Default, PartialOrd, Ord)]
    pub enum BucketWidth {
        /// Fifteen minutes, from each full quarter.
        QuarterHour = "quarter-hour",
        /// An hour.
        Hour = "hour",
        /// A day.
        #[default]
        Day = "day",
        /// A calendar month.
        Month = "month",
    }
    else BucketWidthError = "bucket: must be quarter-hour, hour, day or month"
}

crate::schema!(BucketWidth, inline, words(BucketWidth::ALL.map(BucketWidth::as_str)));

impl BucketWidth {
    /// The number of bytes of `YYYY-MM-DDTHH:MM` that a label of this width has.
    const fn label_bytes(self) -> usize {
        match self {
            Self::QuarterHour => 16,
            Self::Hour => 13,
            Self::Day => 10,
            Self::Month => 7,
        }
    }

    /// The width in milliseconds; none for a month, whose length varies.
    const fn millis(self) -> Option<u64> {
        match self {
            Self::QuarterHour => Some(15 * MINUTE),
            Self::Hour => Some(60 * MINUTE),
            Self::Day => Some(DAY),
            Self::Month => None,
        }
    }
}

/// A window of time. Its text is its label.
///
/// ```
/// use lately_keys::{Bucket, BucketWidth};
///
/// let bucket = Bucket::containing(BucketWidth::Day, "2024-02-29T12:00:00Z".parse()?);
/// assert_eq!(bucket.to_string(), "2024-02-29");
/// assert_eq!(bucket.next().unwrap().to_string(), "2024-03-01");
/// assert_eq!(bucket.last().to_string(), "2024-02-29T23:59:59.999Z");
/// assert_eq!("2024-02-29".parse(), Ok(bucket));
/// # Ok::<(), lately_keys::TimeError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Bucket {
    width: BucketWidth,
    first: UnixMillis,
}

/// The text is not a bucket's label.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("bucket label: must be YYYY-MM, YYYY-MM-DD, YYYY-MM-DDTHH or YYYY-MM-DDTHH:MM at a quarter")]
pub struct BucketError;

impl Bucket {
    /// The bucket that contains a time.
    pub fn containing(width: BucketWidth, at: UnixMillis) -> Self {
        let first = match width.millis() {
            Some(millis) => at.saturating_sub(at.get() % millis),
            None => {
                let days = u64::from(at.utc().day()) - 1;
                at.saturating_sub(days * DAY + at.get() % DAY)
            }
        };
        Self { width, first }
    }

    /// The bucket's width.
    pub const fn width(self) -> BucketWidth {
        self.width
    }

    /// The first millisecond of the bucket.
    pub const fn first(self) -> UnixMillis {
        self.first
    }

    /// The last millisecond of the bucket. The bound is inclusive, so that the last bucket of the year 9999 has one
    /// too.
    pub fn last(self) -> UnixMillis {
        let millis = match self.width.millis() {
            Some(millis) => millis,
            None => {
                let first_day = self.first.utc();
                DAY * u64::from(first_day.month().length(first_day.year()))
            }
        };
        self.first.saturating_add(millis - 1)
    }

    /// True if a time lies in the bucket.
    pub fn contains(self, at: UnixMillis) -> bool {
        self == Self::containing(self.width, at)
    }

    /// The bucket after this one; none after the year 9999.
    pub fn next(self) -> Option<Self> {
        let last = self.last();
        (last < UnixMillis::MAX).then(|| Self::containing(self.width, last.saturating_add(1)))
    }

    /// The bucket before this one; none before 1970.
    pub fn previous(self) -> Option<Self> {
        let first = self.first;
        (first > UnixMillis::MIN).then(|| Self::containing(self.width, first.saturating_sub(1)))
    }
}

impl PartialOrd for Bucket {
    /// Buckets of the same width are ordered by time. Buckets of different widths have no order.
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        (self.width == other.width).then(|| self.first.cmp(&other.first))
    }
}

impl FromStr for Bucket {
    type Err = BucketError;

    fn from_str(label: &str) -> Result<Self, BucketError> {
        const WHOLE: &str = "1970-01-01T00:00:00Z";
        let width = BucketWidth::ALL
            .into_iter()
            .find(|width| width.label_bytes() == label.len())
            .ok_or(BucketError)?;
        let whole = [label, &WHOLE[label.len()..]].concat();
        let at = whole.parse::<UnixMillis>().map_err(|_| BucketError)?;
        // The text must equal the bucket's label. This refuses minutes between quarters and small letters.
        let bucket = Self::containing(width, at);
        (bucket.to_string() == label).then_some(bucket).ok_or(BucketError)
    }
}

impl fmt::Display for Bucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.first.to_string();
        f.write_str(&text[..self.width.label_bytes()])
    }
}

serde_as_text!(Bucket);
crate::schema!(Bucket, inline, text(r"^\d{4}-\d{2}(-\d{2}(T\d{2}(:(00|15|30|45))?)?)?$"));

#[cfg(test)]
mod tests {
    use std::iter::successors;

    use super::*;
    use crate::arbitrary;
    use proptest::prelude::*;

    fn at(text: &str) -> UnixMillis {
        text.parse().unwrap()
    }

    #[test]
    fn golden_labels() {
        let at = at("2016-10-23T01:44:59.999Z");
        let label = |width| Bucket::containing(width, at).to_string();
        assert_eq!(label(BucketWidth::QuarterHour), "2016-10-23T01:30");
        assert_eq!(label(BucketWidth::Hour), "2016-10-23T01");
        assert_eq!(label(BucketWidth::Day), "2016-10-23");
        assert_eq!(label(BucketWidth::Month), "2016-10");
    }

    #[test]
    fn the_first_and_last_buckets_end_at_1970_and_9999() {
        for width in BucketWidth::ALL {
            let oldest = Bucket::containing(width, UnixMillis::MIN);
            let newest = Bucket::containing(width, UnixMillis::MAX);
            assert_eq!((oldest.first(), oldest.previous()), (UnixMillis::MIN, None), "{width}");
            assert_eq!((newest.last(), newest.next()), (UnixMillis::MAX, None), "{width}");
        }
        let [first, last] =
            [UnixMillis::MIN, UnixMillis::MAX].map(|at| Bucket::containing(BucketWidth::Month, at));
        assert_eq!(successors(Some(first), |month| month.next()).count(), 8030 * 12);
        assert_eq!(successors(Some(last), |month| month.previous()).count(), 8030 * 12);
    }

    #[test]
    fn leap_days_belong_to_february() {
        let last = |label: &str| label.parse::<Bucket>().unwrap().last().to_string();
        assert_eq!(last("2024-02"), "2024-02-29T23:59:59.999Z");
        assert_eq!(last("2023-02"), "2023-02-28T23:59:59.999Z");
        assert_eq!(last("2100-02"), "2100-02-28T23:59:59.999Z");
        assert_eq!(last("2000-02"), "2000-02-29T23:59:59.999Z");
    }

    #[test]
    fn only_the_written_form_of_a_label_is_accepted() {
        for label in [
            "",
            "2016",
            "2016-13",
            "2016-1",
            "2016-00",
            "1969-12",
            "2016-10-32",
            "2023-02-29",
            "20161023T1",
            "2016-10-23 01",
            "2016-10-23t01",
            "2016-10-23T24",
            "2016-10-23T01:31",
            "2016-10-23T01:60",
            "2016-10-23T01:3é",
            "é016-10",
            "+16-10-23",
            "-2016-10",
        ] {
            assert_eq!(label.parse::<Bucket>(), Err(BucketError), "{label:?}");
        }
    }

    proptest! {
        #[test]
        fn buckets_cover_time_without_gap_or_overlap(
            bucket in arbitrary::bucket(),
            offset: u64,
        ) {
            let (first, last) = (bucket.first(), bucket.last());
            let inside = first.saturating_add(offset % (last.get() - first.get() + 1));
            prop_assert_eq!(Bucket::containing(bucket.width(), inside), bucket);
            prop_assert!(bucket.contains(first) && bucket.contains(last) && bucket.contains(inside));
            prop_assert_eq!(bucket.to_string().parse(), Ok(bucket));
            if let Some(next) = bucket.next() {
                prop_assert_eq!(next.first().get(), last.get() + 1);
                prop_assert_eq!(next.previous(), Some(bucket));
                prop_assert!(!bucket.contains(next.first()));
                prop_assert!(bucket < next);
                prop_assert!(bucket.to_string() < next.to_string());
            }
        }

        #[test]
        fn any_text_is_a_label_or_an_error(text in "[0-9T:-]{0,17}") {
            if let Ok(bucket) = text.parse::<Bucket>() {
                prop_assert_eq!(bucket.to_string(), text);
            }
        }
    }
}
