//! The counting of a report: the grouping of its summary, and the field of data that it sums.
//!
//! It is stored with a run, and every attempt at the run reads it from there. So all attempts count the same, even if
//! the schedule's setting changes between them.

use crate::limits::SUM_FIELD_BYTES;
use crate::text::ruled_text;

lately_keys::words! {
    /// The field by which a summary groups events.
    #[derive(Default)]
    pub enum GroupBy {
        /// By actor.
        #[default]
        Actor = "actor",
        /// By subject; events without a subject are a group too.
        Subject = "subject",
        /// By type.
        Type = "type",
    }
    else GroupByError = "group_by: must be actor, subject or type"
}

lately_keys::schema!(GroupBy, inline, words(GroupBy::ALL.map(GroupBy::as_str)));

ruled_text! {
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
    SumField if |text| (1..=SUM_FIELD_BYTES).contains(&text.len()) && !text.chars().any(char::is_control);
    /// The text is not a valid field name.
    SumFieldError = "sum: must be the name of a field of 1 to {SUM_FIELD_BYTES} bytes, without control characters";
}

lately_keys::schema!(SumField, inline, line(SUM_FIELD_BYTES));

/// The counting of a run's summary.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunSpec {
    /// The field by which it groups events.
    pub group_by: GroupBy,
    /// The field that it sums, if it sums one.
    pub sum: Option<SumField>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_grouping_parses_from_its_text() {
        for group_by in GroupBy::ALL {
            let json = serde_json::to_string(&group_by).unwrap();
            assert_eq!(json, format!("\"{group_by}\""));
            assert_eq!(serde_json::from_str::<GroupBy>(&json).unwrap(), group_by);
        }
        assert_eq!("Actor".parse::<GroupBy>(), Err(GroupByError));
        assert!(serde_json::from_str::<GroupBy>("\"\"").is_err());
    }

    #[test]
    fn a_field_name_is_short_and_has_no_control_characters() {
        for text in ["amount", "Größe in €", " ", "a.b", &"x".repeat(SUM_FIELD_BYTES)] {
            assert_eq!(text.parse::<SumField>().unwrap().to_string(), text);
        }
        for text in ["", "a\nb", "\u{7f}", &"x".repeat(SUM_FIELD_BYTES + 1)] {
            assert_eq!(text.parse::<SumField>(), Err(SumFieldError), "{text:?}");
        }
    }
}
