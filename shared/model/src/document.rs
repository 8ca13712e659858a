//! A record's document: any JSON object, stored as the client's own text.
//!
//! It is checked like an event's data ([`Data`]). So a client gets back exactly the text that it sent, and no member's
//! name has a meaning to the table. The cap on the bodies of the route limits its size.

use serde::Serialize;
use serde_json::value::RawValue;

use crate::body::{self, BodyError};
use crate::data::{Data, DataError};
use crate::fault::{FaultList, Pointer};

/// The body of `PUT /users/{user}/profile` and `PUT /settings/{app}`, and of their responses.
///
/// ```
/// use lately_model::Document;
///
/// let document = Document::parse(br#" {"pk": "mine", "ratio": 1.10} "#)?;
/// assert_eq!(document.as_str(), r#"{"pk": "mine", "ratio": 1.10}"#);
/// # Ok::<(), lately_model::BodyError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Document(Data);

lately_keys::schema!(Document, "Document", {
    let about = format!(
        "Any JSON object of at most 64 KiB as it is sent, nested at most {} levels deep. \
         Responses return it as the same text.",
        crate::limits::DATA_DEPTH
    );
    ObjectBuilder::new().description(Some(about))
});

impl Document {
    /// Reads a body.
    ///
    /// # Errors
    /// If the body is not JSON, is not an object, or is nested too deep.
    pub fn parse(body: &[u8]) -> Result<Self, BodyError> {
        body::parse(body, Self::read)
    }

    /// The JSON text.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// A document from the table, which was checked when it was written.
    ///
    /// # Errors
    /// If the text is not a JSON object.
    pub fn from_stored(text: String) -> Result<Self, DataError> {
        Data::from_stored(text).map(Self).and_then(|document| {
            if is_object(document.as_str()) { Ok(document) } else { Err(DataError::Malformed) }
        })
    }

    fn read(json: &RawValue, found: &mut FaultList) -> Option<Self> {
        if !is_object(json.get()) {
            found.add(&Pointer::root(), "must be a JSON object");
            return None;
        }
        Data::from_body(json).map(Self).map_err(|refused| found.add(&Pointer::root(), refused)).ok()
    }
}

/// True if a JSON value, without white space around it, is an object.
fn is_object(json: &str) -> bool {
    json.starts_with('{')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::DATA_DEPTH;
    use proptest::prelude::*;

    fn refused(body: &str) -> String {
        match Document::parse(body.as_bytes()) {
            Err(BodyError::Invalid(faults)) => faults.to_string(),
            other => panic!("{body}: {other:?}"),
        }
    }

    #[test]
    fn a_document_nests_as_deep_as_an_events_data() {
        let nested = |depth: usize| {
            let arrays = depth - 1;
            format!("{{\"a\":{}{}}}", "[".repeat(arrays), "]".repeat(arrays))
        };
        assert!(Document::parse(nested(DATA_DEPTH).as_bytes()).is_ok());
        assert_eq!(refused(&nested(DATA_DEPTH + 1)), ": must not be nested deeper than 60 levels");
    }

    #[test]
    fn a_document_stays_the_text_that_was_sent() {
        let text = r#"{"b":1.10,"a":123456789012345678901234567890, "b":-0,"":"\u00e9","revision":7}"#;
        let document = Document::parse(format!("\n{text} ").as_bytes()).unwrap();
        assert_eq!((document.as_str(), &*serde_json::to_string(&document).unwrap()), (text, text));
        assert_eq!(Document::from_stored(text.to_owned()), Ok(document));
        assert_eq!(Document::from_stored("[]".to_owned()), Err(DataError::Malformed));
    }

    proptest! {
        #[test]
        fn any_body_is_a_document_or_refused(body in "[\\[\\]{}\":,a0-9. \\\\u]{0,40}") {
            if let Ok(document) = Document::parse(body.as_bytes()) {
                prop_assert_eq!(document.as_str(), body.trim());
                prop_assert_eq!(Document::from_stored(body.trim().to_owned()), Ok(document));
            }
        }
    }
}
