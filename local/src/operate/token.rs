//! `lately token`: creates, lists and revokes tokens, with access to the table.
//!
//! An operator whose AWS credentials may write the table can create tokens. So the first token of a stack comes from
//! this command. It prints the token alone to standard output, and nowhere else.

use std::io::{IsTerminal, Write};

use lately_keys::table::SessionId;
use lately_keys::{Topic, User};
use lately_kit::entropy::EntropyError;
use lately_kit::settings::SettingsError;
use lately_kit::token::Token;
use lately_model::limits::SESSION_TOPICS;
use lately_model::{NewSession, PageSize, Scope, Scopes, Session, SessionQuery, TtlSeconds};
use lately_store::{ListError, TableError};

use crate::operate::table::TableArguments;
use crate::seconds;

/// Create, list and revoke tokens with your AWS credentials
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

        /// A scope of the token: read, write, import, consume, act-as or admin; repeatable
        #[arg(long = "scope", required = true, value_name = "SCOPE")]
        scopes: Vec<Scope>,

        /// The token's user; a token without a user belongs to a service
        #[arg(long, value_name = "USER")]
        user: Option<User>,

        /// Limit the token to this topic; repeatable
        #[arg(long = "topic", value_name = "TOPIC")]
        topics: Vec<Topic>,

        /// The token's lifetime, such as 90s, 45m, 12h or 30d; at most 365d
        #[arg(long, value_name = "TIME", default_value = "30d", value_parser = parse_time)]
        ttl: TtlSeconds,
    },
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
    /// The environment is invalid.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// The system gave no random bytes for a token.
    #[error(transparent)]
    Entropy(#[from] EntropyError),
    /// The token is limited to more topics than a session may be.
    #[error("a token may be limited to at most {SESSION_TOPICS} topics")]
    TooManyTopics,
    /// Nothing could be printed.
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

fn parse_time(text: &str) -> Result<TtlSeconds, String> {
    let ttl = seconds::parse(text).and_then(|seconds| TtlSeconds::new(seconds).ok());
    ttl.ok_or_else(|| "must be a number and s, m, h or d, from 1s to 365d".to_owned())
}

/// Runs a `token` command.
///
/// # Errors
/// See [`TokenError`].
pub async fn run(
    options: TokenOptions,
    out: &mut impl Write,
    told: &mut impl Write,
) -> Result<(), TokenError> {
    match options.command {
        TokenCommand::Create { table, scopes, user, topics, ttl } => {
            if topics.len() > SESSION_TOPICS {
                return Err(TokenError::TooManyTopics);
            }
            let new = NewSession {
                user,
                scopes: scopes.into_iter().collect::<Scopes>(),
                topics: (!topics.is_empty()).then_some(topics),
                ttl_seconds: ttl,
            };
            let token = Token::random()?;
            let session = table.store().await?.op().sessions().create(&new, token.hash()).await?;
            writeln!(told, "session {}, valid until {}", session.id, session.expires_at)?;
            if std::io::stdout().is_terminal() {
                writeln!(told, "keep the token; it is shown only once:")?;
            }
            writeln!(out, "{}", token.reveal())?;
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
                writeln!(told, "revoked {id}")?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_a_number_and_a_unit() {
        for (text, seconds) in [("1s", 1), ("45m", 2700), ("12h", 43_200), ("365d", 31_536_000)] {
            assert_eq!(parse_time(text).map(TtlSeconds::get), Ok(seconds));
        }
        for text in ["", "d", "0s", "366d", "-1s", "1.5h", "30", "30 d", "99999999999d", "4294967295d", "1é"]
        {
            assert!(parse_time(text).is_err(), "{text}");
        }
    }
}
