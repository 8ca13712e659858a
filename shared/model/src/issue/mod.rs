//! Issues of a repository.
//!
//! An issue's priority follows its labels until someone sets it by hand. From then on only setting it again changes it.
//! The flag `priority_by_hand` is stored but not part of the issue's JSON, so no client has to send it back.

mod change;
mod event;
mod label;
mod query;
mod text;

use lately_keys::{Actor, IssueNumber, IssuePriority, IssueStatus, Owner, Repo, UnixMillis};
use serde::{Deserialize, Serialize};

use crate::revision::Revision;

pub use change::{IssueChange, NewIssue};
pub use event::{ISSUES_TOPIC, issue_changed, issue_opened, reported_issue};
pub use label::{Label, LabelError, Labels, LabelsError};
pub use query::{IssueQuery, IssueView, IssuesAwaited};
pub use text::{IssueBody, IssueBodyError, IssueTitle, IssueTitleError};

/// An issue as a response shows it:
/// `{"owner","repo","number","title","body"?,"labels","status","priority","opened_by","opened_at","updated_at","revision"}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "document", derive(utoipa::ToSchema))]
pub struct Issue {
    /// The owner of the repository.
    pub owner: Owner,
    /// The repository.
    pub repo: Repo,
    /// The number in the repository.
    pub number: IssueNumber,
    /// The title: one line.
    pub title: IssueTitle,
    /// The text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<IssueBody>,
    /// The labels.
    pub labels: Labels,
    /// Open or closed.
    pub status: IssueStatus,
    /// The priority.
    pub priority: IssuePriority,
    /// True if someone set the priority, so that it no longer follows the labels.
    #[serde(skip)]
    pub priority_by_hand: bool,
    /// The actor who opened it.
    pub opened_by: Actor,
    /// When it was opened.
    pub opened_at: UnixMillis,
    /// When it was last changed.
    pub updated_at: UnixMillis,
    /// The revision rises with every change; in quotes it is the `ETag`.
    pub revision: Revision,
}

/// A page of a repository's issues.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "document", derive(utoipa::ToSchema))]
pub struct IssueList {
    /// The issues, in the requested order.
    #[cfg_attr(feature = "document", schema(value_type = crate::schemas::IssuePage))]
    pub issues: Vec<Issue>,
    /// The cursor of the next page; null at the end.
    #[cfg_attr(feature = "document", schema(required, value_type = Option<crate::schemas::Cursor>))]
    pub next: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An issue for the tests to change.
    pub(super) fn issue() -> Issue {
        let opened_at = "2026-11-20T09:30:00Z".parse().unwrap();
        Issue {
            owner: "octo".parse().unwrap(),
            repo: "hello".parse().unwrap(),
            number: "7".parse().unwrap(),
            title: "It says \"goodbye\"".parse().unwrap(),
            body: None,
            labels: Labels::default(),
            status: IssueStatus::Open,
            priority: IssuePriority::Medium,
            priority_by_hand: false,
            opened_by: "ada".parse().unwrap(),
            opened_at,
            updated_at: opened_at,
            revision: Revision::new(1_795_167_000_000_000),
        }
    }

    #[test]
    fn an_issue_is_written_as_the_contract_says() {
        let plain = concat!(
            r#"{"owner":"octo","repo":"hello","number":7,"title":"It says \"goodbye\"","labels":[],"#,
            r#""status":"open","priority":"medium","opened_by":"ada","opened_at":"2026-11-20T09:30:00.000Z","#,
            r#""updated_at":"2026-11-20T09:30:00.000Z","revision":1795167000000000}"#
        );
        assert_eq!(serde_json::to_string(&issue()).unwrap(), plain);
        let labels = Labels::new(vec!["critical".parse().unwrap(), "ui".parse().unwrap()]).unwrap();
        let full = Issue { body: Some("Hello?".parse().unwrap()), labels, priority_by_hand: true, ..issue() };
        let list = IssueList { issues: vec![full], next: Some("AQ".to_owned()) };
        let json = serde_json::to_string(&list).unwrap();
        let labelled = r#""goodbye\"","body":"Hello?","labels":["critical","ui"],"status""#;
        assert!(json.contains(&labelled[1..]) && json.ends_with(r#"],"next":"AQ"}"#), "{json}");
    }
}
