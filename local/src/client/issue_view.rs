//! The output of issues.

use lately_client::{IssueView, Response};
use serde::Deserialize;

use crate::client::failure::Failure;
use crate::client::session::{Session, read};
use crate::client::text::plain;

#[derive(Debug, Deserialize)]
struct IssueList {
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

pub(super) fn print(session: &mut Session<'_>, reply: &Response) -> Result<(), Failure> {
    if session.prints_json(reply)? {
        return Ok(());
    }
    let issue: IssueView = read(reply)?;
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
    if let Some(body) = issue.body {
        session.print("")?;
        body.lines().try_for_each(|line| session.print(plain(line)))?;
    }
    Ok(())
}

pub(super) fn print_list(session: &mut Session<'_>, reply: &Response) -> Result<(), Failure> {
    if session.prints_json(reply)? {
        return Ok(());
    }
    let IssueList { issues, next } = read(reply)?;
    let row = |issue: IssueView| {
        let labels = issue.labels.join(", ");
        let IssueView { number, status, priority, updated_at, opened_by, title, .. } = issue;
        let [number, status] = [number.to_string(), status.to_string()];
        vec![number, status, priority.to_string(), updated_at.to_string(), opened_by, labels, title]
    };
    let rows: Vec<_> = issues.into_iter().map(row).collect();
    let mut table = session.table(&["number", "status", "priority", "changed", "by", "labels", "title"]);
    session.rows(&mut table, &rows)?;
    Ok(session.tell_next(next.as_deref())?)
}
