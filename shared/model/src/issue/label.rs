//! An issue's labels. The issue's priority follows them.

use lately_keys::IssuePriority;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::fault::FaultList;
use crate::fields::Field;
use crate::limits::{ISSUE_LABEL_BYTES, ISSUE_LABELS};
use crate::text::ruled_text;

ruled_text! {
    /// A label: 1 to 50 bytes, no control characters, no white space at its ends.
    Label if |text| {
        let fits = (1..=ISSUE_LABEL_BYTES).contains(&text.len());
        fits && text.trim() == text && !text.chars().any(char::is_control)
    };
    /// The text is not a valid label.
    LabelError = "must have 1 to {ISSUE_LABEL_BYTES} bytes, no control characters, and no white space at its ends";
}

lately_keys::schema!(Label, inline, line(ISSUE_LABEL_BYTES));

/// An issue's labels: at most 20, without repetition, in the client's order.
///
/// ```
/// use lately_keys::IssuePriority;
/// use lately_model::Labels;
///
/// let labels = Labels::new(vec!["enhancement".parse()?, "critical".parse()?])?;
/// assert_eq!(labels.priority(), IssuePriority::High);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<Label>")]
pub struct Labels(Vec<Label>);

/// The labels cannot belong to one issue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LabelsError {
    /// There are too many.
    #[error("must hold at most {ISSUE_LABELS} labels")]
    TooMany,
    /// The label at this index repeats an earlier label.
    #[error("must not repeat an earlier label")]
    Twice(usize),
}

impl TryFrom<Vec<Label>> for Labels {
    type Error = LabelsError;

    fn try_from(labels: Vec<Label>) -> Result<Self, LabelsError> {
        Self::new(labels)
    }
}

lately_keys::schema!(Labels, "Labels", {
    let about = format!(
        "Each label once, of at most {ISSUE_LABEL_BYTES} bytes, without control characters, and without white space at its ends."
    );
    list::<Label>(0, ISSUE_LABELS).unique_items(true).description(Some(about))
});

impl Labels {
    /// Labels without repetition.
    ///
    /// # Errors
    /// If there are too many labels, or one of them occurs twice.
    pub fn new(labels: Vec<Label>) -> Result<Self, LabelsError> {
        if labels.len() > ISSUE_LABELS {
            return Err(LabelsError::TooMany);
        }
        match (1..labels.len()).find(|&index| labels[..index].contains(&labels[index])) {
            Some(index) => Err(LabelsError::Twice(index)),
            None => Ok(Self(labels)),
        }
    }

    /// The labels, in their order.
    pub fn iter(&self) -> std::slice::Iter<'_, Label> {
        self.0.iter()
    }

    /// The issue's priority, as long as nobody has set it.
    pub fn priority(&self) -> IssuePriority {
        let has = |word| self.iter().any(|label| label.as_str() == word);
        if has("critical") {
            IssuePriority::High
        } else if has("enhancement") {
            IssuePriority::Low
        } else {
            IssuePriority::Medium
        }
    }

    /// Parses an array of labels; none, with its faults, if it is refused.
    pub(super) fn read(field: &Field<&RawValue>, found: &mut FaultList) -> Option<Self> {
        let elements = field.elements(found)?;
        // This check comes first: a body of nothing but labels must not cause a response many times its size.
        if elements.len() > ISSUE_LABELS {
            field.fault(found, LabelsError::TooMany);
            return None;
        }
        let labels: Vec<Option<Label>> = elements.iter().map(|element| element.text(found)).collect();
        for (index, element) in elements.iter().enumerate() {
            if labels[index].is_some() && labels[..index].contains(&labels[index]) {
                element.fault(found, LabelsError::Twice(index));
            }
        }
        Self::new(labels.into_iter().collect::<Option<_>>()?).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn labels(names: &[&str]) -> Labels {
        Labels::new(names.iter().map(|name| name.parse().unwrap()).collect()).unwrap()
    }

    #[test]
    fn a_label_is_1_to_50_bytes_of_plain_text() {
        let label = |text: &str| text.parse::<Label>().is_ok();
        assert!(label("x") && label("good first issue") && label(&"ß".repeat(25)));
        for text in ["", " ", " x", "x ", "x\u{a0}", "a\nb", "a\u{0}", "a\u{9b}b", &"ß".repeat(26)] {
            assert!(!label(text), "{text:?}");
        }
    }

    #[test]
    fn there_are_at_most_20_labels_without_repetition() {
        let many = |count: usize| (0..count).map(|number| format!("l{number}").parse().unwrap()).collect();
        assert_eq!(Labels::new(many(20)).unwrap().iter().count(), 20);
        assert_eq!(Labels::new(many(21)), Err(LabelsError::TooMany));
        let twice = ["a", "b", "a", "b"].map(|name| name.parse().unwrap()).to_vec();
        assert_eq!(Labels::new(twice), Err(LabelsError::Twice(2)));
        assert_eq!(
            Labels::new(vec!["a".parse().unwrap(), "A".parse().unwrap()]).unwrap(),
            labels(&["a", "A"])
        );
    }

    #[test]
    fn critical_wins_over_enhancement_and_case_matters() {
        for (names, priority) in [
            (&[][..], IssuePriority::Medium),
            (&["bug", "ui"], IssuePriority::Medium),
            (&["enhancement"], IssuePriority::Low),
            (&["critical"], IssuePriority::High),
            (&["enhancement", "critical"], IssuePriority::High),
            (&["Critical", "enhancements"], IssuePriority::Medium),
        ] {
            assert_eq!(labels(names).priority(), priority, "{names:?}");
        }
    }

    proptest! {
        #[test]
        fn priority_does_not_depend_on_the_order_of_labels(
            names in prop::collection::vec("critical|enhancement|[a-c]", 0..6),
        ) {
            let parse = |names: &[String]| Labels::new(names.iter().map(|name| name.parse().unwrap()).collect());
            let reversed: Vec<_> = names.iter().rev().cloned().collect();
            match (parse(&names), parse(&reversed)) {
                (Ok(labels), Ok(reversed)) => prop_assert_eq!(labels.priority(), reversed.priority()),
                (Err(LabelsError::Twice(_)), Err(LabelsError::Twice(_))) => {}
                other => prop_assert!(false, "{other:?}"),
            }
        }
    }
}
