//! The output of issues.

use lately_client::IssueView;
use serde::Deserialize;

use crate::client::failure::Failure;
use crate::client::session::Session;
use crate::client::text::plain;

#[derive(Debug, Deserialize)]
pub(super) struct IssueList {
    issues: Vec<IssueView>,
    next: Option<String>,
}

/// The issue's current state in one line, for a user whose change was rejected.
pub(super) fn now(issue: &IssueView) -> String {
    let IssueView { number, title, labels, status, priority, revision, updated_at, .. } = issue;
    let labels = if labels.is_empty() { String::new() } else { format!(" [{}]", labels.join(", ")) };
    let line = format!(
        "now: #{number} {status}, {priority}: {title}{labels} (revision {revision}, changed {updated_at})"
    );
    plain(&line).into_owned()
}

pub(super) fn print(session: &mut Session<'_>, issue: IssueView) -> Result<(), Failure> {
    session.pairs(&[
        ("number", issue.number.to_string()),
        ("title", issue.title),
        ("status", issue.status.to_string()),
        ("priority", issue.priority.to_string()),
        ("labels", issue.labels.join(", ")),
        ("opened", format!("{} by {}", issue.opened_at, issue.opened_by)),
        ("changed", issue.updated_at.to_string()),
        ("revision", issue.revision.to_string()),
    ])?;
    let Some(body) = issue.body else { return Ok(()) };
    session.print("")?;
    body.lines().try_for_each(|line| session.print(plain(line)))
}

pub(super) fn print_list(
    session: &mut Session<'_>,
    IssueList { issues, next }: IssueList,
) -> Result<(), Failure> {
    let row = |issue: IssueView| {
        let labels = issue.labels.join(", ");
        let IssueView { number, status, priority, updated_at, opened_by, title, .. } = issue;
        let [number, status] = [number.to_string(), status.to_string()];
        vec![number, status, priority.to_string(), updated_at.to_string(), opened_by, labels, title]
    };
    let titles = ["number", "status", "priority", "changed", "by", "labels", "title"];
    session.list(&titles, issues.into_iter().map(row), next)
}
