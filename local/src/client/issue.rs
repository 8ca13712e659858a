//! `lately issue`: a repository's issues.
//!
//! A change applies to the revision of `--revision`, or else to the revision that the command reads just before. If
//! somebody else changed the issue in between, nothing is overwritten: the command prints the current issue and exits
//! with code 5.

use lately_client::{IssueQuery, IssueView, ListQuery, Request};
use lately_items::RepositoryKey;
use lately_keys::{IssueNumber, IssuePriority, IssueStatus};
use lately_model::{IssueBody, IssueTitle, Label};
use reqwest::StatusCode;
use serde_json::{Map, Value, json};

use crate::client::ask::Access;
use crate::client::failure::Failure;
use crate::client::issue_view::{now, print, print_list};
use crate::client::list::ListArguments;
use crate::client::session::{Session, Terminal, read};
use crate::values::one_of;

/// List, show, open, edit, close and reopen issues
#[derive(Clone, Debug, clap::Args)]
pub struct IssueOptions {
    #[command(subcommand)]
    command: IssueCommand,

    #[command(flatten)]
    access: Access,
}

#[derive(Clone, Debug, clap::Subcommand)]
enum IssueCommand {
    /// List a repository's issues, newest first
    List {
        #[command(flatten)]
        repository: RepositoryArgument,

        /// Only issues of this status
        #[arg(long, value_name = "STATUS", conflicts_with = "priority", value_parser = one_of(IssueStatus::ALL, IssueStatus::as_str))]
        status: Option<IssueStatus>,

        /// Only issues of this priority
        #[arg(long, value_name = "PRIORITY", value_parser = one_of(IssuePriority::ALL, IssuePriority::as_str))]
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
struct RepositoryArgument {
    /// The repository
    #[arg(value_name = "OWNER/REPO", value_parser = parse_repository)]
    repository: RepositoryKey,
}

/// The issue of a command.
#[derive(Clone, Debug, clap::Args)]
struct IssueArgument {
    #[command(flatten)]
    repository: RepositoryArgument,

    /// The issue's number
    number: IssueNumber,
}

/// The revision of the issue that a change applies to.
#[derive(Clone, Copy, Debug, clap::Args)]
struct Revision {
    /// Change the issue only if it has this revision [default: its current revision]
    #[arg(long, value_name = "REVISION")]
    revision: Option<u64>,
}

/// The changes of an issue.
#[derive(Clone, Debug, Default, clap::Args)]
#[group(required = true, multiple = true)]
struct IssueChangeArguments {
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
    #[arg(long, value_name = "STATUS", value_parser = one_of(IssueStatus::ALL, IssueStatus::as_str))]
    status: Option<IssueStatus>,

    /// The new priority; from then on, labels no longer set it
    #[arg(long, value_name = "PRIORITY", value_parser = one_of(IssuePriority::ALL, IssuePriority::as_str))]
    priority: Option<IssuePriority>,
}

fn parse_repository(text: &str) -> Result<RepositoryKey, String> {
    let (owner, repo) = text.split_once('/').ok_or("must be an owner, a slash and a repository")?;
    let owner = owner.parse().map_err(|error: lately_keys::NameError| error.to_string())?;
    let repo = repo.parse().map_err(|error: lately_keys::NameError| error.to_string())?;
    Ok(RepositoryKey { owner, repo })
}

impl RepositoryArgument {
    fn issues(&self) -> String {
        let RepositoryKey { owner, repo } = &self.repository;
        format!("/repos/{owner}/{repo}/issues")
    }
}

impl IssueArgument {
    fn path(&self) -> String {
        format!("{}/{}", self.repository.issues(), self.number.get())
    }
}

impl IssueChangeArguments {
    fn to(status: IssueStatus) -> Self {
        Self { status: Some(status), ..Self::default() }
    }

    fn body(&self) -> Map<String, Value> {
        let labels = (self.no_labels || !self.labels.is_empty()).then(|| json!(names(&self.labels)));
        let fields = [
            ("title", self.title.as_ref().map(|title| json!(title.as_str()))),
            ("body", self.body.as_ref().map(|body| json!(body.as_str()))),
            ("labels", labels),
            ("status", self.status.map(|status| json!(status.as_str()))),
            ("priority", self.priority.map(|priority| json!(priority.as_str()))),
        ];
        fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
    }
}

fn names(labels: &[Label]) -> Vec<&str> {
    labels.iter().map(Label::as_str).collect()
}

pub(super) async fn run(options: IssueOptions, terminal: Terminal<'_>) -> Result<(), Failure> {
    let IssueOptions { command, access } = options;
    let mut session = Session::open(access, terminal)?;
    match command {
        IssueCommand::List { repository, status, priority, list } => {
            let ListQuery { limit, cursor } = list.query();
            let (status, priority) = (status.map(|it| it.to_string()), priority.map(|it| it.to_string()));
            let query = IssueQuery { status, priority, limit, cursor, ..IssueQuery::default() };
            session.ask_and_show(&Request::get(repository.issues()).query(&query), print_list).await
        }
        IssueCommand::Show(issue) => session.ask_and_show(&Request::get(issue.path()), print).await,
        IssueCommand::Open { repository, title, body, labels } => {
            let mut issue = json!({ "title": title.as_str(), "labels": names(&labels) });
            if let Some(body) = body {
                issue["body"] = body.as_str().into();
            }
            session.ask_and_show(&Request::post(repository.issues()).json(&issue), print).await
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
    let current = Request::get(format!("{}?consistent=true", issue.path()));
    let revision = match seen.revision {
        Some(revision) => revision,
        None => read::<IssueView>(&session.ask(&current).await?)?.revision,
    };
    let change = Request::patch(issue.path()).if_match(&revision.to_string()).json(&change.body());
    match session.ask(&change).await {
        Ok(reply) => session.show(&reply, print),
        Err(failure) => {
            if failure.has_status(StatusCode::PRECONDITION_FAILED) {
                let current: IssueView = read(&session.ask(&current).await?)?;
                session.log(now(&current))?;
            }
            Err(failure)
        }
    }
}
