//! A time as it is said on the command line: `90s`, `45m`, `12h`, `30d`.

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
