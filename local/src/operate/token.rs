//! `lately token`: creates, lists and revokes tokens, with access to the table.
//!
//! An operator whose AWS credentials may write the table can create tokens. So the first token of a stack comes from
//! this command. It prints the token alone to standard output, and nowhere else.

use std::io::IsTerminal;

use lately_client::Request;
use lately_keys::{SessionId, Topic, User};
use lately_kit::token::Token;
use lately_model::{PageSize, SessionQuery};
use reqwest::Method;
use serde_json::Value;

use crate::client::access::Access;
use crate::client::session::Session;
use crate::client::view::View;
use crate::commands::commands;
use crate::failure::Result;
use crate::new_token::NewTokenArguments;
use crate::operate::table::TableArguments;
use crate::serve::issuer::TOKENS;
use crate::terminal::Terminal;

commands! {
    /// The commands of `lately token`.
    pub TokenCommand in terminal: &mut Terminal<'_>,

    /// Create a token and print it; it cannot be shown again
    Create(table: TableArguments, token: NewTokenArguments)
        async {
            let new = token.session()?;
            let token = Token::random()?;
            let session = table.store().await?.op().sessions().create(&new, token.hash()).await?;
            terminal.log(format_args!("session {}, valid until {}", session.id, session.expires_at))?;
            if std::io::stdout().is_terminal() {
                terminal.log("save the token; it is shown only once:")?;
            }
            terminal.print(token.reveal())
        };

    /// Print a JWT of the local program's own issuer, for trying JWTs; it ends with the program
    ///
    /// Example: lately whoami --token $(lately token jwt --user ada --scope write)
    Jwt(new: NewTokenArguments, access: Access)
        async {
            let mut session = Session::open(access, terminal.again())?;
            let request = Request::new(Method::POST, TOKENS).json(&new.session()?);
            session.show(session.api.send::<Value>(request), View::Token).await
        };

    /// List the valid tokens, newest first
    List(
        table: TableArguments;
        /// Only tokens of this user
        #[arg(long, value_name = "USER")]
        user: Option<User>
    )
        async {
            let store = table.store().await?;
            let mut query = SessionQuery { user, limit: PageSize::MAX, cursor: None };
            loop {
                let list = store.op().sessions().list(&query).await?;
                list.sessions.iter().try_for_each(|session| print(terminal, session))?;
                query.cursor = list.next;
                if query.cursor.is_none() {
                    return Ok(());
                }
            }
        };

    /// Revoke tokens
    Revoke(
        table: TableArguments;
        /// The ids of the tokens' sessions, as `lately token list` prints them
        #[arg(required = true, value_name = "ID")]
        ids: Vec<SessionId>
    )
        async {
            let store = table.store().await?;
            for id in ids {
                store.op().sessions().revoke(id).await?;
                terminal.log(format_args!("revoked {id}"))?;
            }
            Ok(())
        };
}

fn print(terminal: &mut Terminal<'_>, session: &lately_model::Session) -> Result<()> {
    let lately_model::Session { id, user, scopes, topics, expires_at, .. } = session;
    let user = user.as_ref().map_or("-", User::as_str);
    let topics: Vec<_> = topics.iter().flatten().map(Topic::as_str).collect();
    let topics = if topics.is_empty() { "all topics".to_owned() } else { topics.join(",") };
    let scopes = scopes.to_string();
    terminal.print(format_args!("{id}  {user:<16}  {scopes:<24}  {topics:<24}  until {expires_at}"))
}
