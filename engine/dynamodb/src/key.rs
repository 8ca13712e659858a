//! Key values as text.
//!
//! The text of a key value is one letter for its type, followed by the value: `Sada`, `N42`, `B00ff`. So different
//! values have different texts.

use dynoxide::AttributeValue;
use dynoxide::types::normalize_dynamo_number;

/// The text of a key value. It is empty for a value that cannot be a key.
pub(crate) fn text(value: &AttributeValue) -> String {
    match value {
        AttributeValue::S(s) => format!("S{s}"),
        AttributeValue::N(n) => format!("N{}", normalize_dynamo_number(n)),
        AttributeValue::B(bytes) => {
            use std::fmt::Write as _;
            bytes.iter().fold(String::from("B"), |mut text, byte| {
                write!(text, "{byte:02x}").expect("writing to a string does not fail");
                text
            })
        }
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_different_types_have_different_texts() {
        let values =
            [AttributeValue::S("1".into()), AttributeValue::N("1".into()), AttributeValue::B(b"1".to_vec())];
        let texts = values.map(|value| text(&value));
        assert_eq!(texts, ["S1", "N1", "B31"]);
    }

    #[test]
    fn equal_numbers_have_equal_texts() {
        let one = text(&AttributeValue::N("1.0".into()));
        assert_eq!(one, text(&AttributeValue::N("1".into())));
    }
}
