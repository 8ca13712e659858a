//! Times on the command line: in RFC 3339, or as the time since then, such as `1h`.

use std::fmt::Display;
use std::str::FromStr;

use lately_keys::UnixMillis;
use lately_kit::clock;

use crate::seconds;

/// The end of a range, which a page's cursor belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bound {
    /// The time, rounded up to a millisecond.
    pub(crate) at: UnixMillis,
    /// True if the user gave the time since then. The same text is another time a moment later.
    pub(crate) is_relative: bool,
}

/// The time that a text such as `30s`, `30m`, `1h` or `2d` names; `None` for other texts.
fn ago(text: &str) -> Option<UnixMillis> {
    let seconds = seconds::parse(text)?;
    let now = u64::try_from(clock::unix_now().as_millis()).ok()?;
    UnixMillis::new(now).ok().map(|now| now.saturating_sub(u64::from(seconds) * 1000))
}

/// The error of a text that is no time.
fn expected(error: impl Display) -> String {
    format!("{error}; or the time since then, such as 30m, 1h or 2d")
}

pub(crate) fn parse_bound(text: &str) -> Result<Bound, String> {
    let relative = ago(text);
    let at = relative.map_or_else(|| UnixMillis::parse_bound(text), Ok).map_err(expected)?;
    Ok(Bound { at, is_relative: relative.is_some() })
}

/// Parses a time, or a position that may be a time.
pub(crate) fn parse_time<T: FromStr<Err: Display>>(text: &str) -> Result<T, String> {
    let time = ago(text).map_or_else(|| text.to_owned(), |at| at.to_string());
    time.parse().map_err(expected)
}

#[cfg(test)]
mod tests {
    use lately_model::{SeekTo, Start};

    use super::*;

    #[test]
    fn a_time_is_given_in_rfc_3339_or_as_the_time_since_then() {
        let now = u64::try_from(clock::unix_now().as_millis()).expect("after 1970");
        for (text, seconds) in [("90s", 90), ("30m", 1_800), ("1h", 3_600), ("2d", 172_800)] {
            let bound = parse_bound(text).expect(text);
            let since = now - bound.at.get();
            assert!(
                bound.is_relative && (since <= seconds * 1000) && since + 5_000 > seconds * 1000,
                "{text}"
            );
            assert!(matches!(parse_time::<Start>(text), Ok(Start::Time(_))));
            assert!(matches!(parse_time::<SeekTo>(text), Ok(SeekTo::Start(Start::Time(_)))));
            assert!(parse_time::<UnixMillis>(text).is_ok());
        }
        let given = "2026-11-20T09:30:00Z";
        let bound = Bound { at: given.parse().expect("a time"), is_relative: false };
        assert_eq!((parse_bound(given), parse_time(given)), (Ok(bound), Ok(bound.at)));
        assert_eq!(parse_time::<Start>("latest"), Ok(Start::Latest));
        for text in ["", "1", "1y", "-1h", "1.5h", "yesterday"] {
            let refused = parse_bound(text).expect_err(text);
            assert!(refused.ends_with("; or the time since then, such as 30m, 1h or 2d"), "{refused}");
            assert!(parse_time::<UnixMillis>(text).is_err() && parse_time::<Start>(text).is_err());
        }
    }
}
