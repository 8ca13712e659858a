//! The forms of values in keys: most are written as their own text, some so that they sort well.

use std::fmt::Display;
use std::str::FromStr;

use lately_keys::EventId;

/// A form of values of type `T` in keys.
pub(crate) trait Form<T: Display + FromStr> {
    /// The value in a key: its own text, unless the form is another.
    fn write(value: &T) -> impl Display {
        value
    }

    /// Reads the value back. It may also read other texts, because a decoded key must encode to the same text.
    fn read(text: &str) -> Option<T> {
        text.parse().ok()
    }
}

/// The value's own text, for names, ids, numbers, and whatever else is displayed and parsed.
pub(crate) struct Text;

impl<T: Display + FromStr> Form<T> for Text {}

/// The value's text in capitals.
pub(crate) struct Capitals;

impl<T: Display + FromStr> Form<T> for Capitals {
    fn write(value: &T) -> impl Display {
        value.to_string().to_ascii_uppercase()
    }

    fn read(text: &str) -> Option<T> {
        text.to_ascii_lowercase().parse().ok()
    }
}

/// An inverted id, so that the newest event comes first.
pub(crate) struct NewestFirst;

impl Form<EventId> for NewestFirst {
    fn write(id: &EventId) -> impl Display {
        id.sort_key()
    }

    fn read(text: &str) -> Option<EventId> {
        EventId::of_sort_key(text)
    }
}

/// A number from 0 to 99,999,999 with leading zeros, so that text sorts as numbers do.
pub(crate) struct EightDigits;

impl<T: Display + FromStr> Form<T> for EightDigits {
    fn write(value: &T) -> impl Display {
        format!("{value:08}")
    }
}

/// A number below 10¹² with leading zeros, so that text sorts as numbers do.
pub(crate) struct TwelveDigits;

impl<T: Display + FromStr> Form<T> for TwelveDigits {
    fn write(value: &T) -> impl Display {
        format!("{value:012}")
    }
}
