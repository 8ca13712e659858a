//! What a report counts: the grouping of its summary, and the field of data that is summed.
//!
//! It is written down with a run and read from there by whoever goes on with it, so all of a run's attempts count the
//! same, also when the schedule's setting was changed between them.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::limits::SUM_FIELD_BYTES;
use crate::words::words;

words! {
    /// By what a summary groups events.
    #[derive(Default)]
    GroupBy {
        /// By actor.
        #[default]
        Actor = "actor",
        /// By subject; events without a subject are a group too.
        Subject = "subject",
        /// By type.
        Type = "type",
    }
    /// The text names no grouping.
    GroupByError = "group_by: must be actor, subject or type";
}

impl Serialize for GroupBy {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for GroupBy {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// The name of a field of an event's data, at its top level.
///
/// ```
/// use lately_model::SumField;
///
/// let field: SumField = "amount".parse()?;
/// assert_eq!(field.as_str(), "amount");
/// assert!("".parse::<SumField>().is_err());
/// # Ok::<(), lately_model::SumFieldError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct SumField(Box<str>);

/// Text that names no field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("sum: must be the name of a field of 1 to {SUM_FIELD_BYTES} bytes, without control characters")]
pub struct SumFieldError;

impl SumField {
    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for SumField {
    type Err = SumFieldError;

    fn from_str(text: &str) -> Result<Self, SumFieldError> {
        let named = (1..=SUM_FIELD_BYTES).contains(&text.len()) && !text.chars().any(char::is_control);
        named.then(|| Self(text.into())).ok_or(SumFieldError)
    }
}

impl fmt::Display for SumField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for SumField {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// What a run's summary counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunSpec {
    /// By what it groups.
    pub group_by: GroupBy,
    /// What it sums, if anything.
    pub sum: Option<SumField>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grouping_is_its_text() {
        for group_by in GroupBy::ALL {
            let json = serde_json::to_string(&group_by).unwrap();
            assert_eq!(json, format!("\"{group_by}\""));
            assert_eq!(serde_json::from_str::<GroupBy>(&json).unwrap(), group_by);
        }
        assert_eq!("Actor".parse::<GroupBy>(), Err(GroupByError));
        assert!(serde_json::from_str::<GroupBy>("\"\"").is_err());
    }

    #[test]
    fn a_field_has_a_name_of_some_bytes_without_control_characters() {
        for text in ["amount", "Größe in €", " ", "a.b", &"x".repeat(SUM_FIELD_BYTES)] {
            assert_eq!(text.parse::<SumField>().unwrap().to_string(), text);
        }
        for text in ["", "a\nb", "\u{7f}", &"x".repeat(SUM_FIELD_BYTES + 1)] {
            assert_eq!(text.parse::<SumField>(), Err(SumFieldError), "{text:?}");
        }
    }
}
