//! Quarter hour: all events of fifteen minutes in one partition, by second and random text.
//!
//! ```text
//! pk (S)  {YYYYMMDDHH}{00|15|30|45}    sk (S)  {YYYY-MM-DDTHH:MM:SS}.{16 base58 characters}
//! ```
//!
//! Strengths: partitions of bounded duration with readable names, and keys that never collide.
//!
//! Weaknesses: *second precision*: events of one second are in the order of their random text, which is no order. The
//! natural order is oldest first. All writes of a quarter share one partition. A walk over a quiet month visits 2,880
//! partitions, most of them empty.

use std::fmt;
use std::str::FromStr;

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

use super::ticks::{NANOS_PER_SECOND, ticks};
use super::{KeyType, KeyTypes, KeyValue, PublishedError, SortKeys, Window, WriteKey};

const QUARTER_SECONDS: i64 = 15 * 60;
const RANGE: PublishedError = PublishedError::Range { until: "9999-12-30" };

/// Digits and letters without `0`, `O`, `I` and `l`, which look alike.
const BASE58: &[u8; 58] = b"123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
const TOKEN_BYTES: usize = 16;

/// The random text that distinguishes events of one second: 16 characters of base58.
///
/// ```
/// use lately_designs::Token;
///
/// assert!("BZF1rDbxcFSZPwdP".parse::<Token>().is_ok());
/// assert!("BZF1rDbxcFSZPwd0".parse::<Token>().is_err());
/// assert_eq!(Token::from_entropy(58 + 2).to_string(), "3211111111111111");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Token([u8; TOKEN_BYTES]);

/// The text is not a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("token: must be 16 characters of base58")]
pub struct TokenError;

impl Token {
    const LEAST: Self = Self([BASE58[0]; TOKEN_BYTES]);
    const GREATEST: Self = Self([BASE58[57]; TOKEN_BYTES]);

    /// A token from random bits. It contains a little more than the lowest 93.
    pub fn from_entropy(mut entropy: u128) -> Self {
        Self(std::array::from_fn(|_| {
            let digit = usize::try_from(entropy % 58).expect("a remainder below 58");
            entropy /= 58;
            BASE58[digit]
        }))
    }
}

impl FromStr for Token {
    type Err = TokenError;

    fn from_str(text: &str) -> Result<Self, TokenError> {
        let bytes: [u8; TOKEN_BYTES] = text.as_bytes().try_into().map_err(|_| TokenError)?;
        bytes.iter().all(|byte| BASE58.contains(byte)).then_some(Self(bytes)).ok_or(TokenError)
    }
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(str::from_utf8(&self.0).expect("base58 is ASCII"))
    }
}

/// The key of an event.
///
/// ```
/// use lately_designs::QuarterHour;
///
/// let key = QuarterHour::new("2016-10-23T01:44:59Z".parse()?, "swuypZt9arcEU4Xx".parse()?)?.write_key();
/// assert_eq!(key.pk.to_string(), "201610230130");
/// assert_eq!(key.sk.to_string(), "2016-10-23T01:44:59.swuypZt9arcEU4Xx");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct QuarterHour {
    unix_seconds: i64,
    token: Token,
}

impl QuarterHour {
    /// The types of the key attributes.
    pub const KEY_TYPES: KeyTypes = KeyTypes { pk: KeyType::S, sk: KeyType::S };

    /// The key of an event at a time, rounded down to the second.
    ///
    /// # Errors
    /// [`PublishedError::Range`] before 1970.
    pub fn new(at: Timestamp, token: Token) -> Result<Self, PublishedError> {
        if at < Timestamp::UNIX_EPOCH {
            return Err(RANGE);
        }
        Ok(Self { unix_seconds: at.as_second(), token })
    }

    /// The key under which the event is written.
    pub fn write_key(&self) -> WriteKey {
        let second = civil(self.unix_seconds);
        WriteKey {
            pk: partition(self.unix_seconds / QUARTER_SECONDS),
            sk: KeyValue::S(format!("{second:.0}.{}", self.token)),
        }
    }

    /// The partitions with all events of a time range, oldest quarter first.
    pub fn partitions(first: Timestamp, last: Timestamp) -> impl DoubleEndedIterator<Item = KeyValue> {
        let quarter = |at: Timestamp| at.as_second().max(0) / QUARTER_SECONDS;
        (quarter(first)..=quarter(last)).map(partition)
    }

    /// The window of the quarter of a time.
    pub fn window(at: Timestamp) -> Window {
        Window::of_seconds(at.as_second().div_euclid(QUARTER_SECONDS) * QUARTER_SECONDS, QUARTER_SECONDS)
    }

    /// The sort keys of a time range.
    pub fn sort_keys(first: Timestamp, last: Timestamp) -> Option<SortKeys> {
        let (first, last) = ticks(first, last, NANOS_PER_SECOND)?;
        let sk = |unix_seconds, token| Self { unix_seconds, token }.write_key().sk;
        Some(SortKeys { least: sk(first, Token::LEAST), greatest: sk(last, Token::GREATEST) })
    }

    /// The time in a sort key.
    ///
    /// # Errors
    /// [`PublishedError::Key`] if the text is not a second, `.` and a token.
    pub fn time_of(sk: &str) -> Result<Timestamp, PublishedError> {
        let (second, token) = sk.split_once('.').ok_or(PublishedError::Key)?;
        token.parse::<Token>().map_err(|_| PublishedError::Key)?;
        let civil: DateTime = second.parse().map_err(|_| PublishedError::Key)?;
        if format!("{civil:.0}") != second {
            return Err(PublishedError::Key);
        }
        Ok(civil.to_zoned(TimeZone::UTC).map_err(|_| RANGE)?.timestamp())
    }
}

fn civil(unix_seconds: i64) -> DateTime {
    let at = Timestamp::from_second(unix_seconds).expect("between two Timestamps");
    at.to_zoned(TimeZone::UTC).datetime()
}

fn partition(quarter: i64) -> KeyValue {
    let start = civil(quarter * QUARTER_SECONDS);
    let (date, time) = (start.date(), start.time());
    let (year, month, day) = (date.year(), date.month(), date.day());
    KeyValue::S(format!("{year:04}{month:02}{day:02}{:02}{:02}", time.hour(), time.minute()))
}
