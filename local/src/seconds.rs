//! Durations: parsed from the command line (`90s`, `45m`, `12h`, `30d`, `2w`), and rounded for display.

use std::ops::RangeBounds;
use std::time::Duration;

/// Parses a number and its unit. The result is in seconds.
pub(crate) fn parse(text: &str) -> Option<u32> {
    let unit = text.chars().next_back()?;
    let seconds = match unit {
        's' => 1,
        'm' => 60,
        'h' => 60 * 60,
        'd' => 24 * 60 * 60,
        'w' => 7 * 24 * 60 * 60,
        _ => return None,
    };
    let count: u32 = text[..text.len() - 1].parse().ok()?;
    count.checked_mul(seconds)
}

/// A parser of an option's value: a number of seconds in a range. Another value is refused as `expected` says.
pub(crate) fn within(
    range: impl RangeBounds<u32> + Clone + Send + Sync + 'static,
    expected: &'static str,
) -> impl Fn(&str) -> Result<u32, String> + Clone + Send + Sync + 'static {
    move |text| parse(text).filter(|seconds| range.contains(seconds)).ok_or_else(|| expected.to_owned())
}

/// Seconds, rounded to one decimal: a displayed value then changes no more often than people can read it.
pub(crate) fn tenths(time: Duration) -> f64 {
    (time.as_secs_f64() * 10.0).round() / 10.0
}
