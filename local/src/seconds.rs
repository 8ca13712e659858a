//! Durations: parsed from the command line (`90s`, `45m`, `12h`, `30d`, `2w`), and rounded for display.

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

/// Seconds, rounded to one decimal: a displayed value then changes no more often than people can read it.
pub(crate) fn tenths(time: Duration) -> f64 {
    (time.as_secs_f64() * 10.0).round() / 10.0
}
