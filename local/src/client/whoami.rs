//! `lately whoami`: the user, the scopes and the end of one's own token.

use lately_client::Request;
use lately_model::OwnSession;

use crate::client::ask::Access;
use crate::client::failure::Failure;
use crate::client::session::{Screen, Session, or_dash, read};
use crate::client::token_session::topics_cell;

/// Show the user for whom a token acts, what it may do, and when it expires
#[derive(Clone, Debug, clap::Args)]
pub struct WhoamiOptions {
    #[command(flatten)]
    access: Access,
}

pub(super) async fn run(WhoamiOptions { access }: WhoamiOptions, screen: Screen<'_>) -> Result<(), Failure> {
    let mut session = Session::open(access, screen)?;
    let reply = session.ask(&Request::get("/sessions/self")).await?;
    if !session.prints_json(&reply)? {
        let OwnSession { user, scopes, topics, expires_at, issuer } = read(&reply)?;
        let mut pairs = vec![
            ("user", or_dash(user)),
            ("scopes", scopes.to_string()),
            ("topics", topics_cell(topics)),
            ("until", or_dash(expires_at)),
        ];
        // Only a JWT has an issuer.
        pairs.extend(issuer.map(|issuer| ("issuer", issuer)));
        session.pairs(&pairs)?;
    }
    Ok(())
}
