//! `lately profile` and `lately settings`: a user's profile and an application's settings, as JSON.
//!
//! A change applies to the revision of `--revision`, or else to the revision that the command reads just before. If
//! somebody else changed the record in between, nothing is overwritten and the exit code is 5.

use lately_client::{Document, Lately, RecordQuery};
use serde_json::value::RawValue;

use crate::client::arguments::Revised;
use crate::client::post::parse_json;
use crate::client::session::Session;
use crate::failure::Result;

#[derive(Clone, Debug, clap::Subcommand)]
pub enum DocumentCommand<N: clap::Args> {
    /// Show the record
    Show(N),
    /// Create or replace the record
    Set {
        #[command(flatten)]
        record: Revised<N>,

        /// The new content, a JSON object
        #[arg(value_name = "JSON", value_parser = parse_json)]
        document: Box<RawValue>,
    },
    /// Delete the record
    Delete(Revised<N>),
}

pub(super) async fn run<N: clap::Args>(
    command: DocumentCommand<N>,
    record: impl FnOnce(&Lately, N) -> Document,
    session: &mut Session<'_>,
) -> Result<()> {
    let shown = match command {
        DocumentCommand::Show(name) => {
            session.ask(record(&session.api, name).get::<Box<RawValue>>(RecordQuery::default())).await?
        }
        DocumentCommand::Set { record: Revised { name, revision }, document } => {
            let record = record(&session.api, name);
            let revision = current(&record, revision, session).await?;
            session.ask(record.put(&document, revision.as_deref())).await?
        }
        DocumentCommand::Delete(Revised { name, revision }) => {
            let record = record(&session.api, name);
            if let Some(revision) = current(&record, revision, session).await? {
                session.ask(record.delete(Some(&revision))).await?;
            }
            return session.terminal.log("deleted, or did not exist");
        }
    };
    session.print_body(&shown.response)?;
    match shown.response.revision() {
        Some(revision) if !session.json => session.terminal.log(format_args!("revision {revision}")),
        _ => Ok(()),
    }
}

/// The revision to change; `None` if the record does not exist.
async fn current(
    record: &Document,
    revision: Option<u64>,
    session: &mut Session<'_>,
) -> Result<Option<String>> {
    if let Some(revision) = revision {
        return Ok(Some(revision.to_string()));
    }
    let current = session.find(record.get::<Box<RawValue>>(RecordQuery { consistent: Some(true) })).await?;
    Ok(current.and_then(|answer| answer.response.revision()))
}
