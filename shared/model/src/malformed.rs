//! Malformed JSON, with the position where it stops being JSON.
//!
//! Text in JSON must be I-JSON (RFC 7493): UTF-8, and no escape that stands for half a character. RFC 8259 allows
//! `"\ud800"`, but many readers refuse the whole page that contains it, so one writer could hide everyone else's events
//! from them.

use serde_json::value::RawValue;

/// The position where a body stops being JSON. Line and column are counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not JSON at line {line}, column {column}{hint}")]
pub struct Malformed {
    /// The line.
    pub line: usize,
    /// The column, in bytes.
    pub column: usize,
    /// The likely cause and its remedy, after a semicolon; empty if the cause is unknown.
    pub hint: &'static str,
}

impl Malformed {
    fn at(text: &[u8], offset: usize) -> Self {
        let before = &text[..offset];
        let line_start = before.iter().rposition(|&byte| byte == b'\n').map_or(0, |newline| newline + 1);
        let line = 1 + before.iter().filter(|&&byte| byte == b'\n').count();
        Self { line, column: 1 + offset - line_start, hint: "" }
    }

    /// The same position, in a text in which this one starts `lines` lines further down.
    pub(crate) fn below(self, lines: usize) -> Self {
        Self { line: self.line + lines, ..self }
    }
}

impl From<serde_json::Error> for Malformed {
    fn from(error: serde_json::Error) -> Self {
        // An error at the end of the text, or of a line, may have column 0.
        Self { line: error.line().max(1), column: error.column().max(1), hint: "" }
    }
}

/// Checks that a body is text of whole characters, escaped ones included. The text may still not be JSON.
pub(crate) fn characters(body: &[u8]) -> Result<&str, Malformed> {
    if body.starts_with(b"\xef\xbb\xbf") {
        return Err(Malformed {
            line: 1,
            column: 1,
            hint: "; the body begins with a byte order mark, remove it",
        });
    }
    let text = std::str::from_utf8(body).map_err(|error| Malformed::at(body, error.valid_up_to()))?;
    match half_character(body) {
        Some(offset) => Err(Malformed::at(body, offset)),
        None => Ok(text),
    }
}

/// Parses one JSON value with nothing behind it, without recursion, however deep it nests.
pub(crate) fn value(text: &str) -> Result<&RawValue, Malformed> {
    Ok(serde_json::from_str(text)?)
}

/// The offset of the first `\u` escape that is one half of a surrogate pair without the other.
fn half_character(text: &[u8]) -> Option<usize> {
    let mut offset = 0;
    while let Some(found) = text[offset..].iter().position(|&byte| byte == b'\\') {
        let escape = offset + found;
        offset = escape
            + match unit(&text[escape..]) {
                Some(0xd800..=0xdbff) => match unit(text.get(escape + 6..)?) {
                    Some(0xdc00..=0xdfff) => 12,
                    _ => return Some(escape),
                },
                Some(0xdc00..=0xdfff) => return Some(escape),
                Some(_) => 6,
                None => 2,
            };
        if offset >= text.len() {
            return None;
        }
    }
    None
}

/// The UTF-16 unit that a `\u` escape stands for, if the text starts with one.
fn unit(text: &[u8]) -> Option<u16> {
    let digits = text.strip_prefix(b"\\u")?.get(..4)?;
    digits.iter().try_fold(0, |unit, &digit| {
        let digit = char::from(digit).to_digit(16)?;
        Some(unit << 4 | u16::try_from(digit).ok()?)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn half_a_surrogate_pair_is_malformed() {
        for text in [
            r#""\ud800""#,
            r#""\udc00""#,
            r#""\ud83d\ud83d""#,
            r#""\ud83dx""#,
            r#""\ud83d\n""#,
            r#""\\\ud83d""#,
            r#"{"\uDBFF":1}"#,
        ] {
            assert!(characters(text.as_bytes()).is_err(), "{text}");
        }
        for text in
            [r#""\ud83d\ude00""#, r#""\\ud800""#, r#""\u0000\u00e9""#, r#""\\\\udc00""#, "\\", "\\u", "\\ud8"]
        {
            assert!(characters(text.as_bytes()).is_ok(), "{text}");
        }
    }

    #[test]
    fn an_error_names_its_line_and_column() {
        let malformed = |body: &[u8]| characters(body).and_then(value).unwrap_err();
        assert_eq!(malformed(b"[1,\n\"\\ud800\"]"), Malformed { line: 2, column: 2, hint: "" });
        assert_eq!(malformed(b"[1,\n \"\xff\"]"), Malformed { line: 2, column: 3, hint: "" });
        assert_eq!(malformed(b""), Malformed { line: 1, column: 1, hint: "" });
        assert_eq!(malformed(b"[1] 2").to_string(), "not JSON at line 1, column 5");
        assert_eq!(malformed(b"{} {}").below(4), Malformed { line: 5, column: 4, hint: "" });
    }

    proptest! {
        /// Accepted strings are those that a strict JSON reader accepts.
        #[test]
        fn strings_pass_exactly_if_a_strict_reader_accepts_them(
            parts in prop::collection::vec(
                prop_oneof!["\\\\u[dD][89a-fA-F][0-9]{2}", "\\\\u[0-9a-f]{4}", "\\\\[\\\\nu\"]", "[a-f0-9]"], 0..8),
        ) {
            let text = format!("\"{}\"", parts.concat());
            let strict = serde_json::from_str::<String>(&text).is_ok();
            prop_assert_eq!(characters(text.as_bytes()).and_then(value).is_ok(), strict);
        }

        #[test]
        fn any_text_is_json_exactly_if_serde_accepts_it(body: Vec<u8>) {
            if let Ok(text) = characters(&body) {
                prop_assert_eq!(value(text).is_ok(), serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok());
            }
        }
    }
}
