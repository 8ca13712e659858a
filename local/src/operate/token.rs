//! `lately token`: creates, lists and revokes tokens, with access to the table.
//!
//! An operator whose AWS credentials may write the table can create tokens. So the first token of a stack comes from
//! this command. It prints the token alone to standard output, and nowhere else.

use std::io::IsTerminal;

use lately_keys::{SessionId, Topic, User};
use lately_kit::token::Token;
use lately_model::{PageSize, Session, SessionQuery};

use crate::client::command::JwtCommand;
use crate::failure::Failure;
use crate::new_token::NewTokenArguments;
use crate::operate::table::TableArguments;
use crate::terminal::Terminal;

/// The commands of `lately token`.
#[derive(Clone, Debug, clap::Subcommand)]
pub enum TokenCommand {
    /// Create a token and print it; it cannot be shown again
    Create {
        #[command(flatten)]
        table: TableArguments,

        #[command(flatten)]
        token: NewTokenArguments,
    },
    #[command(flatten)]
    Jwt(JwtCommand),
    /// List the valid tokens, newest first
    List {
        #[command(flatten)]
        table: TableArguments,

        /// Only tokens of this user
        #[arg(long, value_name = "USER")]
        user: Option<User>,
    },
    /// Revoke tokens
    Revoke {
        #[command(flatten)]
        table: TableArguments,

        /// The ids of the tokens' sessions, as `lately token list` prints them
        #[arg(required = true, value_name = "ID")]
        ids: Vec<SessionId>,
    },
}

/// Runs a `token` command.
pub(crate) async fn run(command: TokenCommand, mut terminal: Terminal<'_>) -> Result<(), Failure> {
    match command {
        TokenCommand::Create { table, token } => {
            let new = token.session()?;
            let token = Token::random()?;
            let session = table.store().await?.op().sessions().create(&new, token.hash()).await?;
            terminal.log(format_args!("session {}, valid until {}", session.id, session.expires_at))?;
            if std::io::stdout().is_terminal() {
                terminal.log("save the token; it is shown only once:")?;
            }
            terminal.print(token.reveal())?;
        }
        TokenCommand::Jwt(command) => command.run(terminal).await?,
        TokenCommand::List { table, user } => {
            let store = table.store().await?;
            let mut query = SessionQuery { user, limit: PageSize::MAX, cursor: None };
            loop {
                let list = store.op().sessions().list(&query).await?;
                list.sessions.iter().try_for_each(|session| print(&mut terminal, session))?;
                query.cursor = list.next;
                if query.cursor.is_none() {
                    break;
                }
            }
        }
        TokenCommand::Revoke { table, ids } => {
            let store = table.store().await?;
            for id in ids {
                store.op().sessions().revoke(id).await?;
                terminal.log(format_args!("revoked {id}"))?;
            }
        }
    }
    Ok(())
}

fn print(terminal: &mut Terminal<'_>, session: &Session) -> Result<(), Failure> {
    let Session { id, user, scopes, topics, expires_at, .. } = session;
    let user = user.as_ref().map_or("-", User::as_str);
    let topics: Vec<_> = topics.iter().flatten().map(Topic::as_str).collect();
    let topics = if topics.is_empty() { "all topics".to_owned() } else { topics.join(",") };
    let scopes = scopes.to_string();
    terminal.print(format_args!("{id}  {user:<16}  {scopes:<24}  {topics:<24}  until {expires_at}"))
}
