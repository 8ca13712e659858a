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
use crate::client::session::{Screen, Session};

/// Show, set and delete a user's profile
#[derive(Clone, Debug, clap::Args)]
pub struct ProfileOptions {
    #[command(subcommand)]
    command: ProfileCommand,
}

/// Show, set and delete an application's settings
#[derive(Clone, Debug, clap::Args)]
pub struct SettingsOptions {
    #[command(subcommand)]
    command: SettingsCommand,
}

#[derive(Clone, Debug, clap::Subcommand)]
enum ProfileCommand {
    /// Show a profile
    Show {
        /// The user
        user: User,

        #[command(flatten)]
        access: Access,
    },
    /// Create or replace a profile
    Set {
        /// The user
        user: User,

        #[command(flatten)]
        change: DocumentArguments,

        #[command(flatten)]
        access: Access,
    },
    /// Delete a profile
    Delete {
        /// The user
        user: User,

        #[command(flatten)]
        revision: RevisionArgument,

        #[command(flatten)]
        access: Access,
    },
}

#[derive(Clone, Debug, clap::Subcommand)]
enum SettingsCommand {
    /// Show an application's settings
    Show {
        /// The application
        app: App,

        #[command(flatten)]
        access: Access,
    },
    /// Create or replace an application's settings (scope admin)
    Set {
        /// The application
        app: App,

        #[command(flatten)]
        change: DocumentArguments,

        #[command(flatten)]
        access: Access,
    },
    /// Delete an application's settings (scope admin)
    Delete {
        /// The application
        app: App,

        #[command(flatten)]
        revision: RevisionArgument,

        #[command(flatten)]
        access: Access,
    },
}

#[derive(Clone, Debug, clap::Args)]
struct DocumentArguments {
    /// The new content, a JSON object
    #[arg(value_name = "JSON", value_parser = parse_json)]
    document: Box<RawValue>,

    #[command(flatten)]
    revision: RevisionArgument,
}

#[derive(Clone, Copy, Debug, clap::Args)]
struct RevisionArgument {
    /// Change the record only if it has this revision [default: its current revision]
    #[arg(long, value_name = "REVISION")]
    revision: Option<u64>,
}

/// The operation on a record.
enum Operation {
    Show,
    Set(DocumentArguments),
    Delete(RevisionArgument),
}

pub(super) async fn profile(options: ProfileOptions, screen: Screen<'_>) -> Result<(), Failure> {
    let (user, operation, access) = match options.command {
        ProfileCommand::Show { user, access } => (user, Operation::Show, access),
        ProfileCommand::Set { user, change, access } => (user, Operation::Set(change), access),
        ProfileCommand::Delete { user, revision, access } => (user, Operation::Delete(revision), access),
    };
    run(&format!("/users/{user}/profile"), operation, Session::open(access, screen)?).await
}

pub(super) async fn settings(options: SettingsOptions, screen: Screen<'_>) -> Result<(), Failure> {
    let (app, operation, access) = match options.command {
        SettingsCommand::Show { app, access } => (app, Operation::Show, access),
        SettingsCommand::Set { app, change, access } => (app, Operation::Set(change), access),
        SettingsCommand::Delete { app, revision, access } => (app, Operation::Delete(revision), access),
    };
    run(&format!("/settings/{app}"), operation, Session::open(access, screen)?).await
}

async fn run(path: &str, operation: Operation, mut session: Session<'_>) -> Result<(), Failure> {
    match operation {
        Operation::Show => {
            let reply = session.ask(&Request::get(path)).await?;
            print(&mut session, &reply)
        }
        Operation::Set(DocumentArguments { document, revision }) => {
            let call = Request::put(path).json(&document);
            let call = match current(path, revision, &mut session).await? {
                Some(revision) => call.if_match(&revision),
                None => call.header("if-none-match", "*"),
            };
            let reply = session.ask(&call).await?;
            print(&mut session, &reply)
        }
        Operation::Delete(revision) => {
            if let Some(revision) = current(path, revision, &mut session).await? {
                session.ask(&Request::delete(path).if_match(&revision)).await?;
            }
            Ok(session.tell("deleted, or did not exist")?)
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
        Some(revision) if !session.json => Ok(session.tell(format_args!("revision {revision}"))?),
        _ => Ok(()),
    }
}
