//! The bodies that open and change issues.

use lately_keys::{IssuePriority, IssueStatus};
use serde::Serialize;

use super::{Issue, IssueBody, IssueTitle, Labels};
use crate::body::{self, BodyError};
use crate::fault::Pointer;

/// The body of `POST /repos/{owner}/{repo}/issues`: `{"title","body"?,"labels"?}`.
///
/// ```
/// use lately_keys::IssuePriority;
/// use lately_model::NewIssue;
///
/// let issue = NewIssue::parse(br#"{"title": "It is slow", "labels": ["enhancement"]}"#)?;
/// assert_eq!(issue.labels.priority(), IssuePriority::Low);
/// # Ok::<(), lately_model::BodyError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "document", derive(utoipa::ToSchema))]
pub struct NewIssue {
    /// The title: one line.
    pub title: IssueTitle,
    /// The text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<IssueBody>,
    /// The labels.
    pub labels: Labels,
}

impl NewIssue {
    /// Reads a body.
    ///
    /// # Errors
    /// If the body is not JSON, or with all its faults.
    pub fn parse(body: &[u8]) -> Result<Self, BodyError> {
        body::object(body, ["title", "body", "labels"], |[title, body, labels], found| {
            let title = title.required(found).text(found);
            let body = body.text(found);
            let labels = Labels::read(&labels, found).unwrap_or_default();
            Some(Self { title: title?, body, labels })
        })
    }
}

/// The body of `PATCH /repos/{owner}/{repo}/issues/{number}`: the fields to set. Absent fields stay as they are.
///
/// ```
/// use lately_keys::IssueStatus;
/// use lately_model::IssueChange;
///
/// let change = IssueChange::parse(br#"{"status": "closed", "body": null}"#)?;
/// assert_eq!((change.status, change.body), (Some(IssueStatus::Closed), Some(None)));
/// # Ok::<(), lately_model::BodyError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "document", derive(utoipa::ToSchema))]
pub struct IssueChange {
    /// The title: one line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<IssueTitle>,
    /// The text; null removes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<Option<IssueBody>>,
    /// All labels: they replace the present ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub labels: Option<Labels>,
    /// Open or closed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<IssueStatus>,
    /// The priority. Once set, it no longer follows the labels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<IssuePriority>,
}

impl IssueChange {
    /// Reads a body.
    ///
    /// # Errors
    /// If the body is not JSON, or with all its faults. A change that sets nothing is a fault.
    pub fn parse(body: &[u8]) -> Result<Self, BodyError> {
        body::object(body, ["title", "body", "labels", "status", "priority"], |fields, found| {
            if fields.iter().all(|field| field.value.is_none()) {
                found.add(
                    &Pointer::root(),
                    "must set at least one of title, body, labels, status and priority",
                );
            }
            let [title, body, labels, status, priority] = fields;
            Some(Self {
                title: title.text(found),
                body: if body.is_null() { Some(None) } else { body.text(found).map(Some) },
                labels: Labels::read(&labels, found),
                status: status.text(found),
                priority: priority.text(found),
            })
        })
    }

    /// The issue after this change. Its revision and times are still the old ones.
    pub fn apply_to(&self, issue: &Issue) -> Issue {
        // The priority changes only if this change sets labels: a newer release may have derived it by other rules.
        let followed = self.labels.as_ref().filter(|_| !issue.priority_by_hand).map(Labels::priority);
        Issue {
            title: self.title.as_ref().unwrap_or(&issue.title).clone(),
            body: self.body.as_ref().unwrap_or(&issue.body).clone(),
            labels: self.labels.as_ref().unwrap_or(&issue.labels).clone(),
            status: self.status.unwrap_or(issue.status),
            priority: self.priority.or(followed).unwrap_or(issue.priority),
            priority_by_hand: issue.priority_by_hand || self.priority.is_some(),
            ..issue.clone()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::issue;
    use super::*;
    use proptest::prelude::*;

    fn fault_paths(parsed: Result<impl std::fmt::Debug, BodyError>) -> Vec<String> {
        match parsed {
            Err(BodyError::Invalid(faults)) => faults.iter().map(|fault| fault.path.clone()).collect(),
            other => panic!("{other:?}"),
        }
    }

    fn change(body: &str) -> IssueChange {
        IssueChange::parse(body.as_bytes()).unwrap()
    }

    #[test]
    fn a_body_of_many_labels_gets_a_short_response() {
        let body = format!(r#"{{"title":"t","labels":[{}0]}}"#, "0,".repeat(100_000));
        assert_eq!(fault_paths(NewIssue::parse(body.as_bytes())), ["/labels"]);
    }

    #[test]
    fn absent_fields_stay_and_null_removes_the_body() {
        let before = Issue { body: Some("Hello?".parse().unwrap()), ..issue() };
        let titled = change(r#"{"title":"Other"}"#).apply_to(&before);
        assert_eq!(titled, Issue { title: "Other".parse().unwrap(), ..before.clone() });
        assert_eq!(change(r#"{"body":null}"#).apply_to(&before), issue());
        assert_eq!(change(r#"{"body":""}"#).apply_to(&before).body, Some("".parse().unwrap()));
    }

    #[test]
    fn a_change_without_labels_keeps_the_priority() {
        let labels = NewIssue::parse(br#"{"title":"t","labels":["critical"]}"#).unwrap().labels;
        // A newer release may have stored such an issue.
        let before = Issue { labels, priority: IssuePriority::Low, ..issue() };
        let after = change(r#"{"title":"u","status":"closed"}"#).apply_to(&before);
        assert_eq!((after.priority, after.priority_by_hand), (IssuePriority::Low, false));
        assert_eq!(change(r#"{"labels":["ui"]}"#).apply_to(&before).priority, IssuePriority::Medium);
    }

    proptest! {
        #[test]
        fn applying_a_change_twice_is_applying_it_once(
            body in "\\{(\"(title|body|labels|status|priority)\":(null|\"a\"|\"open\"|\"low\"|\\[\"critical\"\\]),?){0,3}\\}",
        ) {
            if let Ok(change) = IssueChange::parse(body.as_bytes()) {
                let once = change.apply_to(&issue());
                prop_assert_eq!(change.apply_to(&once), once);
            }
        }
    }
}
