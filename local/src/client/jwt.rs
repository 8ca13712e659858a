//! `lately token jwt`: a JWT of the local program's own issuer.

use lately_client::Request;
use reqwest::Method;
use serde::Deserialize;

use crate::client::access::Access;
use crate::client::failure::Failure;
use crate::client::session::{Session, Terminal};
use crate::new_token::NewTokenArguments;
use crate::serve::issuer::TOKENS;

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
    let new = new.session().map_err(|error| Failure::Usage(error.to_string()))?;
    let print = |session: &mut Session<'_>, Created { token, expires_at }| {
        session.log(format_args!("valid until {expires_at}"))?;
        session.print(token)
    };
    terminal.open(access)?.show_by(|api| api.send(Request::new(Method::POST, TOKENS).json(&new)), print).await
}
