//! `lately issue`: a repository's issues.
//!
//! A change applies to the revision of `--revision`, or else to the revision that the command reads just before. If
//! somebody else changed the issue in between, nothing is overwritten: the command prints the current issue and exits
//! with code 5.

use lately_client::{Issue, IssueQuery, IssueView, ListQuery, RecordQuery, Repo};
use lately_keys::{IssueNumber, IssuePriority, IssueStatus, NameError, Owner, Repo as RepoName};
use lately_model::{IssueBody, IssueTitle, Label};
use reqwest::StatusCode;
use serde_json::{Map, Value, json};

use crate::client::access::Api;
use crate::client::command::ListArguments;
use crate::client::failure::Failure;
use crate::client::session::Session;
use crate::client::text::plain;
use crate::client::view::{self, given};
use crate::values::one_of;

#[derive(Clone, Debug, clap::Subcommand)]
pub enum IssueCommand {
    /// List a repository's issues, newest first
    List {
        #[command(flatten)]
        repository: RepositoryArgument,

        /// Only issues of this status
        #[arg(long, value_name = "STATUS", conflicts_with = "priority", value_parser = one_of(&IssueStatus::ALL, IssueStatus::as_str))]
        status: Option<IssueStatus>,

        /// Only issues of this priority
        #[arg(long, value_name = "PRIORITY", value_parser = one_of(&IssuePriority::ALL, IssuePriority::as_str))]
        priority: Option<IssuePriority>,

        #[command(flatten)]
        list: ListArguments,
    },
    /// Show an issue
    Show(IssueArgument),
    /// Open an issue, as the token's user
    Open {
        #[command(flatten)]
        repository: RepositoryArgument,

        /// The issue's title, one line
        #[arg(long)]
        title: IssueTitle,

        /// The issue's text
        #[arg(long)]
        body: Option<IssueBody>,

        /// A label of the issue; repeatable
        #[arg(long = "label", value_name = "LABEL")]
        labels: Vec<Label>,
    },
    /// Change an issue
    Edit {
        #[command(flatten)]
        issue: IssueArgument,

        #[command(flatten)]
        change: Box<IssueChangeArguments>,

        #[command(flatten)]
        read: Revision,
    },
    /// Close an issue
    Close {
        #[command(flatten)]
        issue: IssueArgument,

        #[command(flatten)]
        read: Revision,
    },
    /// Open an issue again
    Reopen {
        #[command(flatten)]
        issue: IssueArgument,

        #[command(flatten)]
        read: Revision,
    },
}

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

/// The revision of the issue that a change applies to.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct Revision {
    /// Change the issue only if it has this revision [default: its current revision]
    #[arg(long, value_name = "REVISION")]
    revision: Option<u64>,
}

/// The changes of an issue.
#[derive(Clone, Debug, Default, clap::Args)]
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
    fn of(&self, api: &Api) -> Repo {
        let (owner, name) = &self.repository;
        api.repo(owner, name)
    }
}

impl IssueArgument {
    fn of(&self, api: &Api) -> Issue {
        self.repository.of(api).issue(self.number.get())
    }
}

impl IssueChangeArguments {
    fn to(status: IssueStatus) -> Self {
        Self { status: Some(status), ..Self::default() }
    }

    fn body(&self) -> Map<String, Value> {
        let labels = (self.no_labels || !self.labels.is_empty()).then(|| json!(names(&self.labels)));
        given([
            ("title", self.title.as_ref().map(|title| json!(title.as_str()))),
            ("body", self.body.as_ref().map(|body| json!(body.as_str()))),
            ("labels", labels),
            ("status", self.status.map(|status| json!(status.as_str()))),
            ("priority", self.priority.map(|priority| json!(priority.as_str()))),
        ])
    }
}

fn names(labels: &[Label]) -> Vec<&str> {
    labels.iter().map(Label::as_str).collect()
}

pub(super) async fn run(command: IssueCommand, mut session: Session<'_>) -> Result<(), Failure> {
    match command {
        IssueCommand::List { repository, status, priority, list } => {
            let ListQuery { limit, cursor } = list.query();
            let (status, priority) = (status.map(|it| it.to_string()), priority.map(|it| it.to_string()));
            let query = IssueQuery { status, priority, limit, cursor, ..IssueQuery::default() };
            session.show(|api| repository.of(api).issues(query).page(), view::ISSUES).await
        }
        IssueCommand::Show(issue) => {
            session.show_by(|api| issue.of(api).get(RecordQuery::default()), print).await
        }
        IssueCommand::Open { repository, title, body, labels } => {
            let mut issue = json!({ "title": title.as_str(), "labels": names(&labels) });
            if let Some(body) = body {
                issue["body"] = body.as_str().into();
            }
            session.show_by(|api| repository.of(api).open(&issue), print).await
        }
        IssueCommand::Edit { issue, change, read } => edit(&issue, &change, read, session).await,
        IssueCommand::Close { issue, read } => {
            edit(&issue, &IssueChangeArguments::to(IssueStatus::Closed), read, session).await
        }
        IssueCommand::Reopen { issue, read } => {
            edit(&issue, &IssueChangeArguments::to(IssueStatus::Open), read, session).await
        }
    }
}

async fn edit(
    issue: &IssueArgument,
    change: &IssueChangeArguments,
    seen: Revision,
    mut session: Session<'_>,
) -> Result<(), Failure> {
    let issue = issue.of(&session.api);
    let current = || issue.get(RecordQuery { consistent: Some(true) });
    let revision = match seen.revision {
        Some(revision) => revision,
        None => session.ask(|_| current()).await?.value.revision,
    };
    let changed = session.show_by(|_| issue.change(&change.body(), revision), print).await;
    if let Err(failure) = &changed
        && failure.has_status(StatusCode::PRECONDITION_FAILED)
    {
        let current = session.ask(|_| current()).await?.value;
        session.log(now(&current))?;
    }
    changed
}

/// The issue's current state in one line, for a user whose change was rejected.
fn now(issue: &IssueView) -> String {
    let IssueView { number, title, labels, status, priority, revision, updated_at, .. } = issue;
    let labels = if labels.is_empty() { String::new() } else { format!(" [{}]", labels.join(", ")) };
    let line = format!(
        "now: #{number} {status}, {priority}: {title}{labels} (revision {revision}, changed {updated_at})"
    );
    plain(&line).into_owned()
}

fn print(session: &mut Session<'_>, issue: IssueView) -> Result<(), Failure> {
    view::ISSUE.print(session, &serde_json::to_value(&issue)?)?;
    let Some(body) = issue.body else { return Ok(()) };
    session.print("")?;
    body.lines().try_for_each(|line| session.print(plain(line)))
}
