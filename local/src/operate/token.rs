//! `lately token`: creates, lists and revokes tokens, with access to the table.
//!
//! An operator whose AWS credentials may write the table can create tokens. So the first token of a stack comes from
//! this command. It prints the token alone to standard output, and nowhere else.

use std::io::{IsTerminal, Write};

use lately_keys::{SessionId, Topic, User};
use lately_kit::entropy::EntropyError;
use lately_kit::token::Token;
use lately_model::{PageSize, Session, SessionQuery};
use lately_store::{ListError, TableError};

use crate::client::Failure;
use crate::client::jwt::{self, JwtArguments};
use crate::client::session::Terminal;
use crate::new_token::{NewTokenArguments, TooManyTopics};
use crate::operate::table::{TableArguments, TableTargetError};

/// Create, list and revoke tokens in the table, also before there is a first token
#[derive(Clone, Debug, clap::Args)]
pub struct TokenOptions {
    #[command(subcommand)]
    command: TokenCommand,
}

#[derive(Clone, Debug, clap::Subcommand)]
enum TokenCommand {
    /// Create a token and print it; it cannot be shown again
    Create {
        #[command(flatten)]
        table: TableArguments,

        #[command(flatten)]
        token: NewTokenArguments,
    },
    /// Print a JWT of the local program's own issuer, for trying JWTs; it ends with the program
    ///
    /// Example: lately whoami --token $(lately token jwt --user ada --scope write)
    Jwt(JwtArguments),
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

/// Why a `token` command failed.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    /// The table could not be read or written.
    #[error("{0}\nCheck the table's name, and that these credentials may use the table.")]
    Table(#[from] TableError),
    /// The sessions could not be listed.
    #[error("{0}\nCheck the table's name, and that these credentials may use the table.")]
    List(#[from] ListError),
    /// The table cannot be used.
    #[error(transparent)]
    Target(#[from] TableTargetError),
    /// The system gave no random bytes for a token.
    #[error(transparent)]
    Entropy(#[from] EntropyError),
    /// The token is limited to more topics than a session may be.
    #[error(transparent)]
    TooManyTopics(#[from] TooManyTopics),
    /// The local program gave no token.
    #[error(transparent)]
    Api(#[from] Failure),
    /// Nothing could be printed.
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

/// Runs a `token` command.
pub async fn run(
    options: TokenOptions,
    out: &mut (impl Write + Send),
    err: &mut (impl Write + Send),
) -> Result<(), TokenError> {
    match options.command {
        TokenCommand::Create { table, token } => {
            let new = token.session()?;
            let token = Token::random()?;
            let session = table.store().await?.op().sessions().create(&new, token.hash()).await?;
            writeln!(err, "session {}, valid until {}", session.id, session.expires_at)?;
            if std::io::stdout().is_terminal() {
                writeln!(err, "save the token; it is shown only once:")?;
            }
            writeln!(out, "{}", token.reveal())?;
        }
        TokenCommand::Jwt(arguments) => {
            jwt::run(arguments, Terminal { stdout: out, stderr: err, columns: None }).await?;
        }
        TokenCommand::List { table, user } => {
            let store = table.store().await?;
            let mut query = SessionQuery { user, limit: PageSize::MAX, cursor: None };
            loop {
                let list = store.op().sessions().list(&query).await?;
                list.sessions.iter().try_for_each(|session| print(out, session))?;
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
                writeln!(err, "revoked {id}")?;
            }
        }
    }
    Ok(())
}

fn print(out: &mut impl Write, session: &Session) -> std::io::Result<()> {
    let Session { id, user, scopes, topics, expires_at, .. } = session;
    let user = user.as_ref().map_or("-", User::as_str);
    let topics: Vec<_> = topics.iter().flatten().map(Topic::as_str).collect();
    let topics = if topics.is_empty() { "all topics".to_owned() } else { topics.join(",") };
    writeln!(out, "{id}  {user:<16}  {:<24}  {topics:<24}  until {expires_at}", scopes.to_string())
}
