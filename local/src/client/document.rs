//! `lately profile` and `lately settings`: a user's profile and an application's settings, as JSON.
//!
//! A change applies to the revision of `--revision`, or else to the revision that the command reads just before. If
//! somebody else changed the record in between, nothing is overwritten and the exit code is 5.

use lately_keys::{App, User};
use reqwest::StatusCode;
use reqwest::header::ETAG;
use serde_json::value::RawValue;

use crate::client::ask::{Access, Call};
use crate::client::failure::Failure;
use crate::client::post::parse_json;
use crate::client::remote::Reply;
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
            let reply = session.ask(&Call::get(path)).await?;
            print(&mut session, &reply)
        }
        Operation::Set(DocumentArguments { document, revision }) => {
            let call = Call::put(path).json(&document);
            let call = match current(path, revision, &mut session).await? {
                Some(tag) => call.header("if-match", tag),
                None => call.header("if-none-match", "*".to_owned()),
            };
            // A second sending would be refused, because the first has changed the revision.
            let reply = session.ask(&call.once()).await?;
            print(&mut session, &reply)
        }
        Operation::Delete(revision) => {
            if let Some(tag) = current(path, revision, &mut session).await? {
                session.ask(&Call::delete(path).header("if-match", tag).once()).await?;
            }
            Ok(session.tell("deleted, or did not exist")?)
        }
    }
}

/// The `ETag` of the revision to change; `None` if the record does not exist.
async fn current(
    path: &str,
    RevisionArgument { revision }: RevisionArgument,
    session: &mut Session<'_>,
) -> Result<Option<String>, Failure> {
    if let Some(revision) = revision {
        return Ok(Some(format!("\"{revision}\"")));
    }
    match session.ask(&Call::get(format!("{path}?consistent=true"))).await {
        Ok(reply) => Ok(tag(&reply).map(str::to_owned)),
        Err(failure) if failure.has_status(StatusCode::NOT_FOUND) => Ok(None),
        Err(failure) => Err(failure),
    }
}

fn tag(reply: &Reply) -> Option<&str> {
    reply.headers.get(ETAG)?.to_str().ok()
}

/// Prints a record's JSON, and its revision to standard error.
fn print(session: &mut Session<'_>, reply: &Reply) -> Result<(), Failure> {
    session.print_json(&String::from_utf8_lossy(&reply.body))?;
    match tag(reply) {
        Some(tag) if !session.json => Ok(session.tell(format_args!("revision {}", tag.trim_matches('"')))?),
        _ => Ok(()),
    }
}
