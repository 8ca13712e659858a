//! The output of issues.

use serde::Deserialize;

use crate::client::failure::Failure;
use crate::client::remote::Reply;
use crate::client::session::{Session, read};
use crate::client::text::plain;

/// An issue.
#[derive(Debug, Deserialize)]
pub(super) struct ShownIssue {
    number: u32,
    title: String,
    body: Option<String>,
    labels: Vec<String>,
    status: String,
    priority: String,
    opened_by: String,
    opened_at: String,
    updated_at: String,
    pub(super) revision: u64,
}

#[derive(Debug, Deserialize)]
struct IssueList {
    issues: Vec<ShownIssue>,
    next: Option<String>,
}

impl ShownIssue {
    /// The issue's current state in one line, for a user whose change was rejected.
    pub(super) fn now(&self) -> String {
        let Self { number, title, labels, status, priority, revision, updated_at, .. } = self;
        let labels = if labels.is_empty() { String::new() } else { format!(" [{}]", labels.join(", ")) };
        let line = format!(
            "now: #{number} {status}, {priority}: {title}{labels} (revision {revision}, changed {updated_at})"
        );
        plain(&line).into_owned()
    }
}

pub(super) fn print(session: &mut Session<'_>, reply: &Reply) -> Result<(), Failure> {
    if session.prints_json(reply)? {
        return Ok(());
    }
    let issue: ShownIssue = read(reply)?;
    session.pairs(&[
        ("number", issue.number.to_string()),
        ("title", issue.title),
        ("status", issue.status),
        ("priority", issue.priority),
        ("labels", issue.labels.join(", ")),
        ("opened", format!("{} by {}", issue.opened_at, issue.opened_by)),
        ("changed", issue.updated_at),
        ("revision", issue.revision.to_string()),
    ])?;
    if let Some(body) = issue.body {
        session.print("")?;
        body.lines().try_for_each(|line| session.print(plain(line)))?;
    }
    Ok(())
}

pub(super) fn print_list(session: &mut Session<'_>, reply: &Reply) -> Result<(), Failure> {
    if session.prints_json(reply)? {
        return Ok(());
    }
    let IssueList { issues, next } = read(reply)?;
    let row = |issue: ShownIssue| {
        let labels = issue.labels.join(", ");
        let number = issue.number.to_string();
        vec![number, issue.status, issue.priority, issue.updated_at, issue.opened_by, labels, issue.title]
    };
    let rows: Vec<_> = issues.into_iter().map(row).collect();
    let mut table = session.table(&["number", "status", "priority", "changed", "by", "labels", "title"]);
    session.rows(&mut table, &rows)?;
    Ok(session.tell_next(next.as_deref())?)
}
