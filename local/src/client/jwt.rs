//! `lately token jwt`: a JWT of the local program's own issuer.

use lately_client::Request;
use reqwest::Method;
use serde::Deserialize;

use crate::client::access::Access;
use crate::client::session::Session;
use crate::failure::Failure;
use crate::new_token::NewTokenArguments;
use crate::serve::issuer::TOKENS;
use crate::terminal::Terminal;

/// The arguments of `lately token jwt`.
#[derive(Clone, Debug, clap::Args)]
pub struct JwtArguments {
    #[command(flatten)]
    new: NewTokenArguments,

    #[command(flatten)]
    access: Access,
}

#[derive(Debug, Deserialize)]
struct Created {
    token: String,
    expires_at: String,
}

pub(crate) async fn run(
    JwtArguments { new, access }: JwtArguments,
    terminal: Terminal<'_>,
) -> Result<(), Failure> {
    let mut session = Session::open(access, terminal)?;
    let create = session.api.send(Request::new(Method::POST, TOKENS).json(&new.session()?));
    session
        .show_by(create, |session, created| {
            let Created { token, expires_at } = created.value;
            session.log(format_args!("valid until {expires_at}"))?;
            session.print(token)
        })
        .await
}
