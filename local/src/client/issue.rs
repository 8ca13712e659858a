//! `lately issue`: the arguments that name a repository's issue, and its change.
//!
//! A change applies to the revision of `--revision`, or else to the revision that the command reads just before. If
//! somebody else changed the issue in between, nothing is overwritten: the command prints the current issue and exits
//! with code 5.

use lately_client::{Issue, IssueView, RecordQuery, Repo};
use lately_keys::{IssueNumber, IssuePriority, IssueStatus, NameError, Owner, Repo as RepoName};
use lately_model::{IssueBody, IssueTitle, Label};
use reqwest::StatusCode;
use serde_json::{Value, json};

use crate::client::arguments::{Revised, given};
use crate::client::session::Session;
use crate::client::view::ISSUE;
use crate::failure::Result;
use crate::text::plain;
use crate::values::one_of;

/// The repository of a command.
#[derive(Clone, Debug, clap::Args)]
pub struct RepositoryArgument {
    /// The repository
    #[arg(value_name = "OWNER/REPO", value_parser = parse_repository)]
    repository: (Owner, RepoName),
}

/// The issue of a command.
#[derive(Clone, Debug, clap::Args)]
pub struct IssueArgument {
    #[command(flatten)]
    repository: RepositoryArgument,

    /// The issue's number
    number: IssueNumber,
}

/// The changes of an issue.
#[derive(Clone, Debug, clap::Args)]
#[group(required = true, multiple = true)]
pub struct IssueChangeArguments {
    /// The new title, one line
    #[arg(long)]
    title: Option<IssueTitle>,

    /// The new text
    #[arg(long)]
    body: Option<IssueBody>,

    /// A label; repeatable. The given labels replace all current ones
    #[arg(long = "label", value_name = "LABEL")]
    labels: Vec<Label>,

    /// Remove all labels
    #[arg(long, conflicts_with = "labels")]
    no_labels: bool,

    /// The new status
    #[arg(long, value_name = "STATUS", value_parser = one_of(&IssueStatus::ALL, IssueStatus::as_str))]
    status: Option<IssueStatus>,

    /// The new priority; from then on, labels no longer set it
    #[arg(long, value_name = "PRIORITY", value_parser = one_of(&IssuePriority::ALL, IssuePriority::as_str))]
    priority: Option<IssuePriority>,
}

fn parse_repository(text: &str) -> Result<(Owner, RepoName), String> {
    let (owner, repo) = text.split_once('/').ok_or("must be an owner, a slash and a repository")?;
    let names = || Ok((owner.parse()?, repo.parse()?));
    names().map_err(|error: NameError| error.to_string())
}

impl RepositoryArgument {
    pub(super) fn of(&self, session: &Session<'_>) -> Repo {
        let (owner, name) = &self.repository;
        session.api.repo(owner, name)
    }
}

impl IssueArgument {
    pub(super) fn of(&self, session: &Session<'_>) -> Issue {
        self.repository.of(session).issue(self.number.get())
    }
}

impl IssueChangeArguments {
    pub(super) fn body(self) -> Value {
        let Self { title, body, labels, no_labels, status, priority } = self;
        let labels = (no_labels || !labels.is_empty()).then_some(labels);
        given(
            json!({ "title": title, "body": body, "labels": labels, "status": status, "priority": priority }),
        )
    }
}

impl Revised<IssueArgument> {
    pub(super) async fn change(self, change: Value, session: &mut Session<'_>) -> Result<()> {
        let issue = self.name.of(session);
        let current = || issue.get(RecordQuery { consistent: Some(true) });
        let revision = match self.revision {
            Some(revision) => revision,
            None => session.ask(current()).await?.value.revision.get(),
        };
        let changed = session.show(issue.change(&change, revision), ISSUE).await;
        if let Err(failure) = &changed
            && failure.has_status(StatusCode::PRECONDITION_FAILED)
        {
            let current = session.ask(current()).await?.value;
            session.terminal.log(now(&current))?;
        }
        changed
    }
}

/// The issue's current state in one line, for a user whose change was rejected.
fn now(issue: &IssueView) -> String {
    let IssueView { number, title, labels, status, priority, revision, updated_at, .. } = issue;
    let labels: Vec<_> = labels.iter().map(Label::as_str).collect();
    let labels = if labels.is_empty() { String::new() } else { format!(" [{}]", labels.join(", ")) };
    let line = format!(
        "now: #{number} {status}, {priority}: {title}{labels} (revision {revision}, changed {updated_at})"
    );
    plain(&line).into_owned()
}
