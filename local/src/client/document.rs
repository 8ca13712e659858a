//! `lately profile` and `lately settings`: a user's profile and an application's settings, as JSON.
//!
//! A change applies to the revision of `--revision`, or else to the revision that the command reads just before. If
//! somebody else changed the record in between, nothing is overwritten and the exit code is 5.

use lately_client::{Document, Lately, RecordQuery, Response};
use lately_keys::{App, User};
use reqwest::StatusCode;
use serde_json::value::RawValue;

use crate::client::post::parse_json;
use crate::client::session::Session;
use crate::failure::Failure;

#[derive(Clone, Debug, clap::Subcommand)]
pub enum DocumentCommand<N: clap::Args> {
    /// Show the record
    Show(N),
    /// Create or replace the record
    Set {
        #[command(flatten)]
        record: RevisedRecord<N>,

        /// The new content, a JSON object
        #[arg(value_name = "JSON", value_parser = parse_json)]
        document: Box<RawValue>,
    },
    /// Delete the record
    Delete(RevisedRecord<N>),
}

#[derive(Clone, Debug, clap::Args)]
pub struct ProfileArgument {
    /// The user
    pub(super) user: User,
}

#[derive(Clone, Debug, clap::Args)]
pub struct SettingsArgument {
    /// The application
    pub(super) app: App,
}

/// The record that a command changes.
#[derive(Clone, Debug, clap::Args)]
pub struct RevisedRecord<N: clap::Args> {
    #[command(flatten)]
    name: N,

    /// Change the record only if it has this revision [default: its current revision]
    #[arg(long, value_name = "REVISION")]
    revision: Option<u64>,
}

pub(super) async fn run<N: clap::Args>(
    command: DocumentCommand<N>,
    record: impl FnOnce(&Lately, N) -> Document,
    mut session: Session<'_>,
) -> Result<(), Failure> {
    let session = &mut session;
    let shown = match command {
        DocumentCommand::Show(name) => {
            session.ask(record(&session.api, name).get::<Box<RawValue>>(RecordQuery::default())).await?
        }
        DocumentCommand::Set { record: RevisedRecord { name, revision }, document } => {
            let record = record(&session.api, name);
            let revision = current(&record, revision, session).await?;
            session.ask(record.put(&document, revision.as_deref())).await?
        }
        DocumentCommand::Delete(RevisedRecord { name, revision }) => {
            let record = record(&session.api, name);
            if let Some(revision) = current(&record, revision, session).await? {
                session.ask(record.delete(Some(&revision))).await?;
            }
            return session.log("deleted, or did not exist");
        }
    };
    print(session, &shown.response)
}

/// The revision to change; `None` if the record does not exist.
async fn current(
    record: &Document,
    revision: Option<u64>,
    session: &mut Session<'_>,
) -> Result<Option<String>, Failure> {
    if let Some(revision) = revision {
        return Ok(Some(revision.to_string()));
    }
    match session.ask(record.get::<Box<RawValue>>(RecordQuery { consistent: Some(true) })).await {
        Ok(answer) => Ok(answer.response.revision()),
        Err(failure) if failure.has_status(StatusCode::NOT_FOUND) => Ok(None),
        Err(failure) => Err(failure),
    }
}

/// Prints a record's JSON, and its revision to standard error.
fn print(session: &mut Session<'_>, response: &Response) -> Result<(), Failure> {
    session.print_body(response)?;
    match response.revision() {
        Some(revision) if !session.json => session.log(format_args!("revision {revision}")),
        _ => Ok(()),
    }
}
