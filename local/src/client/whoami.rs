//! `lately whoami`: the user, the scopes, the end and the limits of one's own token.

use lately_client::Request;
use lately_model::OwnSession;

use crate::client::ask::Access;
use crate::client::failure::Failure;
use crate::client::session::{Session, Terminal, or_dash};
use crate::client::token_session::{limits_cell, topics_cell};

/// Show the user for whom a token acts, what it may do, when it expires, and its limits
#[derive(Clone, Debug, clap::Args)]
pub struct WhoamiOptions {
    #[command(flatten)]
    access: Access,
}

pub(super) async fn run(options: WhoamiOptions, terminal: Terminal<'_>) -> Result<(), Failure> {
    let mut session = Session::open(options.access, terminal)?;
    session.ask_and_show(&Request::get("/sessions/self"), print).await
}

fn print(session: &mut Session<'_>, own: OwnSession) -> Result<(), Failure> {
    let OwnSession { user, scopes, topics, expires_at, issuer, limits } = own;
    let mut pairs = vec![
        ("user", or_dash(user)),
        ("scopes", scopes.to_string()),
        ("topics", topics_cell(topics)),
        ("until", or_dash(expires_at)),
        ("limits", limits_cell(limits)),
    ];
    // Only a JWT has an issuer.
    pairs.extend(issuer.map(|issuer| ("issuer", issuer)));
    session.pairs(&pairs)
}
