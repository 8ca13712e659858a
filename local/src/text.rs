//! Makes text that somebody else wrote safe to print on a terminal.
//!
//! No printed character may move the cursor, change a colour, reverse the direction of the text around it, or be
//! invisible. Each such character is printed as its JSON escape, so JSON keeps its meaning.

use std::borrow::Cow;
use std::fmt::Write;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Marks the end of a shortened text.
const CUT: char = '…';

/// The text with every hidden character escaped.
pub(crate) fn plain(text: &str) -> Cow<'_, str> {
    if text.contains(is_hidden) { escaped(text).into() } else { text.into() }
}

/// JSON on one line, with every hidden character escaped. Line breaks and tabs occur only between tokens, so they
/// become spaces. Other hidden characters occur only inside strings, where an escape means the same.
pub(crate) fn json_line(json: &str) -> Cow<'_, str> {
    if !json.contains(is_hidden) {
        return json.into();
    }
    escaped(&json.replace(['\n', '\r', '\t'], " ")).into()
}

/// The number of terminal columns that the text takes.
pub(crate) fn width(text: &str) -> usize {
    text.width()
}

/// The text, cut to at most this many columns.
pub(crate) fn shortened(text: &str, columns: usize) -> Cow<'_, str> {
    if width(text) <= columns {
        return text.into();
    }
    let mut remaining = columns.saturating_sub(1);
    let fits = text.chars().take_while(|character| {
        let next = remaining.checked_sub(character.width().unwrap_or_default());
        remaining = next.unwrap_or_default();
        next.is_some()
    });
    fits.chain([CUT]).collect::<String>().into()
}

fn escaped(text: &str) -> String {
    text.chars().fold(String::with_capacity(text.len()), |mut plain, character| {
        if is_hidden(character) {
            let mut units = [0; 2];
            for unit in character.encode_utf16(&mut units) {
                write!(plain, "\\u{unit:04x}").expect("memory takes it");
            }
        } else {
            plain.push(character);
        }
        plain
    })
}

/// True for control characters, and for Unicode characters that change the text direction, break lines, are invisible
/// or are tags. Joiners are allowed: words and emoji need them, and they are harmless.
fn is_hidden(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{61c}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn json_becomes_one_line_and_keeps_its_meaning() {
        let json = "{\"a\":\r\n [1,\n2.50],\t\"b\":\"\\n\"}";
        assert_eq!(json_line(json), "{\"a\":   [1, 2.50], \"b\":\"\\n\"}");
        assert_eq!(json_line("{}"), "{}");
    }

    #[test]
    fn hidden_characters_are_escaped() {
        assert_eq!(plain("\u{1b}[2J\u{7}\u{9b}31m"), r"\u001b[2J\u0007\u009b31m");
        assert_eq!(plain("a\u{202e}b\u{e0041}\r\n"), r"a\u202eb\udb40\udc41\u000d\u000a");
        let fine = "Zürich 東京 \u{1f468}\u{200d}\u{1f469} e\u{301}";
        assert_eq!(plain(fine), fine);
    }

    #[test]
    fn wide_characters_take_two_columns() {
        assert_eq!((width("東京"), width("e\u{301}"), width("abc")), (4, 1, 3));
        assert_eq!(shortened("東京都", 5), "東京…");
        assert_eq!(shortened("東京都", 4), "東…");
        assert_eq!(shortened("東京都", 6), "東京都");
        assert_eq!(shortened("abc", 0), "…");
    }

    proptest! {
        #[test]
        fn any_json_string_keeps_its_value_and_hides_nothing(text: String) {
            let json = serde_json::to_string(&text).expect("text is JSON");
            let line = json_line(&json);
            prop_assert!(!line.contains(is_hidden));
            prop_assert_eq!(serde_json::from_str::<String>(&line).expect("still JSON"), text);
        }

        #[test]
        fn shortened_text_fits(text in "[a-z東京ü]{0,20}", columns in 1_usize..20) {
            prop_assert!(width(&shortened(&text, columns)) <= columns);
        }
    }
}
