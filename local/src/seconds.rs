//! Times in seconds: as they are said on the command line (`90s`, `45m`, `12h`, `30d`), and as they are told.

use std::time::Duration;

/// A number and its unit, in seconds.
pub(crate) fn parse(text: &str) -> Option<u32> {
    let unit = text.chars().next_back()?;
    let seconds = match unit {
        's' => 1,
        'm' => 60,
        'h' => 60 * 60,
        'd' => 24 * 60 * 60,
        _ => return None,
    };
    let count: u32 = text[..text.len() - 1].parse().ok()?;
    count.checked_mul(seconds)
}

/// With one digit behind the point: what is told changes no more often than it can be read.
pub(crate) fn tenths(time: Duration) -> f64 {
    (time.as_secs_f64() * 10.0).round() / 10.0
}
