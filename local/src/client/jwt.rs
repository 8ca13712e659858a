//! `lately token jwt`: a JWT of the local program's own issuer.

use lately_client::Request;
use reqwest::Method;
use serde::Deserialize;

use crate::client::access::Access;
use crate::client::command::commands;
use crate::client::session::Session;
use crate::failure::Failure;
use crate::new_token::NewTokenArguments;
use crate::serve::issuer::TOKENS;
use crate::terminal::Terminal;

#[derive(Debug, Deserialize)]
struct CreatedJwt {
    token: String,
    expires_at: String,
}

commands! {
    /// The command that creates a JWT.
    pub JwtCommand opens session

    /// Print a JWT of the local program's own issuer, for trying JWTs; it ends with the program
    ///
    /// Example: lately whoami --token $(lately token jwt --user ada --scope write)
    Jwt(new: NewTokenArguments)
        session.show_by(
            session.api.send(Request::new(Method::POST, TOKENS).json(&new.session()?)),
            |session, created| {
                let CreatedJwt { token, expires_at } = created.value;
                session.log(format_args!("valid until {expires_at}"))?;
                session.print(token)
            },
        );
}
