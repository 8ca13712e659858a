//! `lately token jwt`: a JWT of the local program's own issuer.

use lately_client::Request;
use serde::Deserialize;

use crate::client::ask::Access;
use crate::client::failure::Failure;
use crate::client::session::{Session, Terminal};
use crate::new_token::NewTokenArguments;

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
    let body = new.body().map_err(|error| Failure::Usage(error.to_string()))?;
    let mut session = Session::open(access, terminal)?;
    let print = |session: &mut Session<'_>, Created { token, expires_at }| {
        session.log(format_args!("valid until {expires_at}"))?;
        session.print(token)
    };
    session.ask_and_show(&Request::post("/local/issuer/tokens").json(&body), print).await
}
