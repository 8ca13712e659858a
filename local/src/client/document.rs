//! `lately profile` and `lately settings`: a user's profile and an application's settings, as JSON.
//!
//! A change applies to the revision of `--revision`, or else to the revision that the command reads just before. If
//! somebody else changed the record in between, nothing is overwritten and the exit code is 5.

use lately_client::{Request, Response};
use lately_keys::{App, User};
use reqwest::StatusCode;
use serde_json::value::RawValue;

use crate::client::ask::Access;
use crate::client::failure::Failure;
use crate::client::post::parse_json;
use crate::client::session::{Session, Terminal};

/// Show, set and delete a user's profile
#[derive(Clone, Debug, clap::Args)]
pub struct ProfileOptions {
    #[command(subcommand)]
    command: DocumentCommand<ProfileArgument>,

    #[command(flatten)]
    access: Access,
}

/// Show, set and delete an application's settings; to set and delete needs the scope admin
#[derive(Clone, Debug, clap::Args)]
pub struct SettingsOptions {
    #[command(subcommand)]
    command: DocumentCommand<SettingsArgument>,

    #[command(flatten)]
    access: Access,
}

#[derive(Clone, Debug, clap::Subcommand)]
enum DocumentCommand<N: clap::Args> {
    /// Show the record
    Show(N),
    /// Create or replace the record
    Set {
        #[command(flatten)]
        name: N,

        /// The new content, a JSON object
        #[arg(value_name = "JSON", value_parser = parse_json)]
        document: Box<RawValue>,

        #[command(flatten)]
        revision: RevisionArgument,
    },
    /// Delete the record
    Delete {
        #[command(flatten)]
        name: N,

        #[command(flatten)]
        revision: RevisionArgument,
    },
}

#[derive(Clone, Debug, clap::Args)]
struct ProfileArgument {
    /// The user
    user: User,
}

#[derive(Clone, Debug, clap::Args)]
struct SettingsArgument {
    /// The application
    app: App,
}

#[derive(Clone, Copy, Debug, clap::Args)]
struct RevisionArgument {
    /// Change the record only if it has this revision [default: its current revision]
    #[arg(long, value_name = "REVISION")]
    revision: Option<u64>,
}

pub(super) async fn profile(options: ProfileOptions, terminal: Terminal<'_>) -> Result<(), Failure> {
    let ProfileOptions { command, access } = options;
    let path = |ProfileArgument { user }| format!("/users/{user}/profile");
    run(command, path, Session::open(access, terminal)?).await
}

pub(super) async fn settings(options: SettingsOptions, terminal: Terminal<'_>) -> Result<(), Failure> {
    let SettingsOptions { command, access } = options;
    let path = |SettingsArgument { app }| format!("/settings/{app}");
    run(command, path, Session::open(access, terminal)?).await
}

async fn run<N: clap::Args>(
    command: DocumentCommand<N>,
    path: impl FnOnce(N) -> String,
    mut session: Session<'_>,
) -> Result<(), Failure> {
    match command {
        DocumentCommand::Show(name) => {
            let reply = session.ask(&Request::get(path(name))).await?;
            print(&mut session, &reply)
        }
        DocumentCommand::Set { name, document, revision } => {
            let path = path(name);
            let call = Request::put(&*path).json(&document);
            let call = match current(&path, revision, &mut session).await? {
                Some(revision) => call.if_match(&revision),
                None => call.header("if-none-match", "*"),
            };
            let reply = session.ask(&call).await?;
            print(&mut session, &reply)
        }
        DocumentCommand::Delete { name, revision } => {
            let path = path(name);
            if let Some(revision) = current(&path, revision, &mut session).await? {
                session.ask(&Request::delete(path).if_match(&revision)).await?;
            }
            session.log("deleted, or did not exist")
        }
    }
}

/// The revision to change; `None` if the record does not exist.
async fn current(
    path: &str,
    RevisionArgument { revision }: RevisionArgument,
    session: &mut Session<'_>,
) -> Result<Option<String>, Failure> {
    if let Some(revision) = revision {
        return Ok(Some(revision.to_string()));
    }
    match session.ask(&Request::get(format!("{path}?consistent=true"))).await {
        Ok(reply) => Ok(reply.revision()),
        Err(failure) if failure.has_status(StatusCode::NOT_FOUND) => Ok(None),
        Err(failure) => Err(failure),
    }
}

/// Prints a record's JSON, and its revision to standard error.
fn print(session: &mut Session<'_>, reply: &Response) -> Result<(), Failure> {
    session.print_json(&String::from_utf8_lossy(&reply.body))?;
    match reply.revision() {
        Some(revision) if !session.json => session.log(format_args!("revision {revision}")),
        _ => Ok(()),
    }
}
