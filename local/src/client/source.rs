//! `lately source`: an actor or a subject that users follow.

use lately_client::Request;
use lately_keys::Source;
use serde::Deserialize;

use crate::client::ask::Access;
use crate::client::failure::Failure;
use crate::client::session::{Session, Terminal};

/// Show how many users follow an actor or a subject, and how its events reach their feeds
#[derive(Clone, Debug, clap::Args)]
pub struct SourceOptions {
    /// The actor or subject: actor:NAME or subject:NAME
    source: Source,

    #[command(flatten)]
    access: Access,
}

#[derive(Debug, Deserialize)]
struct ShownSource {
    source: String,
    followers: u64,
    mode: String,
}

pub(super) async fn run(options: SourceOptions, terminal: Terminal<'_>) -> Result<(), Failure> {
    let SourceOptions { source, access } = options;
    let mut session = Session::open(access, terminal)?;
    let print = |session: &mut Session<'_>, ShownSource { source, followers, mode }| {
        session.pairs(&[("source", source), ("followers", followers.to_string()), ("mode", mode)])
    };
    session.ask_and_show(&Request::get(format!("/sources/{source}")), print).await
}
