//! An event's data: the client's own JSON text, checked and passed through.
//!
//! The text stays unparsed so that numbers come back exactly as the client sent them, even beyond what a float holds,
//! members retain their order, and a page costs no re-encoding. The checks guarantee what every reader must be able to
//! rely on: it is JSON, made of whole characters, and not nested deeper than common readers accept.

use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};

use crate::limits::DATA_DEPTH;
use crate::malformed;

/// Any JSON value, including `null`, as the client's text without the white space around it.
///
/// ```
/// use lately_model::Data;
///
/// let data: Data = r#"{"amount": 1.10, "account": 12345678901234567890123}"#.parse()?;
/// assert_eq!(serde_json::to_string(&data)?, data.as_str());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Data(Box<RawValue>);

/// The text cannot be an event's data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DataError {
    /// The text is not JSON.
    #[error("must be JSON")]
    Malformed,
    /// Its arrays and objects are nested too deep.
    #[error("must not be nested deeper than {DATA_DEPTH} levels")]
    Depth,
}

lately_keys::schema!(Data, inline, {
    let any = ObjectBuilder::new().schema_type(utoipa::openapi::schema::SchemaType::AnyValue);
    any.description(Some(format!(
        "Any JSON, nested at most {DATA_DEPTH} levels deep. Responses return it as it was sent."
    )))
});

impl Data {
    /// The JSON text.
    pub fn as_str(&self) -> &str {
        self.0.get()
    }

    /// Data from the table. It was fully checked when it was written. Here only its JSON is checked again, so that a
    /// damaged item cannot damage the page that it is on.
    ///
    /// # Errors
    /// If the text is not JSON.
    pub fn from_stored(text: String) -> Result<Self, DataError> {
        RawValue::from_string(text).map(Self).map_err(|_| DataError::Malformed)
    }

    /// Data made by this program.
    ///
    /// # Panics
    /// If the value has no JSON: a map with keys that are not text, or an implementation that fails.
    pub(crate) fn of(data: &impl Serialize) -> Self {
        Self(to_raw_value(data).expect("what is made here has JSON"))
    }

    /// Data of a body whose characters were checked already.
    pub(crate) fn from_body(json: &RawValue) -> Result<Self, DataError> {
        if depth(json) > DATA_DEPTH { Err(DataError::Depth) } else { Ok(Self(json.to_owned())) }
    }
}

impl std::str::FromStr for Data {
    type Err = DataError;

    fn from_str(text: &str) -> Result<Self, DataError> {
        let json = malformed::characters(text.as_bytes()).and_then(malformed::value);
        Self::from_body(json.map_err(|_| DataError::Malformed)?)
    }
}

impl PartialEq for Data {
    /// Two data are equal if their texts are: `1.0` and `1.00` are not.
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for Data {}

/// The depth of nested arrays and objects, counted without recursion.
fn depth(json: &RawValue) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0);
    let mut bytes = json.get().bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'[' | b'{' => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            b'"' => skip_string(&mut bytes),
            _ => {}
        }
    }
    deepest
}

/// Skips the rest of a string and its closing quote.
fn skip_string(bytes: &mut std::str::Bytes<'_>) {
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => return,
            b'\\' => {
                bytes.next();
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn nested(depth: usize) -> String {
        format!("{}{}", "[".repeat(depth), "]".repeat(depth))
    }

    #[test]
    fn depth_is_capped_and_ignores_brackets_in_strings() {
        assert!(nested(DATA_DEPTH).parse::<Data>().is_ok());
        assert_eq!(nested(DATA_DEPTH + 1).parse::<Data>(), Err(DataError::Depth));
        let quoted = format!(r#"["{}", "\"{}"]"#, "[{".repeat(100), "[".repeat(100));
        assert_eq!(quoted.parse::<Data>().unwrap().as_str(), quoted);
    }

    #[test]
    fn a_million_levels_are_refused_without_recursion() {
        assert_eq!(nested(1_000_000).parse::<Data>(), Err(DataError::Depth));
        assert_eq!("{\"a\":".repeat(1_000_000).parse::<Data>(), Err(DataError::Malformed));
    }

    #[test]
    fn numbers_come_back_exactly() {
        for text in ["1.10", "-0", "1e400", "123456789012345678901234567890.000", "null", "\"\\u00e9\""] {
            let data: Data = format!(" \n{text}\t").parse().unwrap();
            assert_eq!((data.as_str(), serde_json::to_string(&data).unwrap()), (text, text.to_owned()));
            assert_eq!(Data::from_stored(text.to_owned()), Ok(data));
        }
    }

    proptest! {
        #[test]
        fn any_text_is_data_or_an_error(text in "[\\[\\]{}\":,a0-9. \\\\u]{0,40}") {
            if let Ok(data) = text.parse::<Data>() {
                prop_assert_eq!(data.as_str(), text.trim());
                prop_assert_eq!(Data::from_stored(text), Ok(data));
            }
        }
    }
}
