//! `lately token`: an operator's tokens, made and revoked at the table itself.
//!
//! Whoever may write the table may make tokens: so the first one on AWS comes from here, with the operator's own
//! credentials. The token is printed on standard output, alone, and nowhere else.

use std::io::{IsTerminal, Write};

use lately_keys::table::SessionId;
use lately_keys::{Topic, User};
use lately_kit::entropy::EntropyError;
use lately_kit::settings::SettingsError;
use lately_kit::token::Token;
use lately_model::limits::SESSION_TOPICS;
use lately_model::{NewSession, Scope, Scopes, Session, TtlSeconds};
use lately_store::TableError;

use crate::operate::table::TableArguments;
use crate::seconds;

/// Make, list and revoke tokens, with your AWS credentials
#[derive(Clone, Debug, clap::Args)]
pub struct TokenOptions {
    #[command(subcommand)]
    command: TokenCommand,
}

#[derive(Clone, Debug, clap::Subcommand)]
enum TokenCommand {
    /// Make a token and print it; it is never shown again
    Create {
        #[command(flatten)]
        table: TableArguments,

        /// What it may do: read, write, import, consume, act-as or admin; more than once for several
        #[arg(long = "scope", required = true, value_name = "SCOPE")]
        scopes: Vec<Scope>,

        /// The user it acts for; without one it is a service's
        #[arg(long, value_name = "USER")]
        user: Option<User>,

        /// Limit it to this topic; more than once for several
        #[arg(long = "topic", value_name = "TOPIC")]
        topics: Vec<Topic>,

        /// How long it is good for: 90s, 45m, 12h or 30d, at most a year
        #[arg(long, value_name = "TIME", default_value = "30d", value_parser = parse_time)]
        ttl: TtlSeconds,
    },
    /// List the tokens that are good, newest first
    List {
        #[command(flatten)]
        table: TableArguments,
    },
    /// Revoke tokens
    Revoke {
        #[command(flatten)]
        table: TableArguments,

        /// The sessions' ids, as they are listed
        #[arg(required = true, value_name = "ID")]
        ids: Vec<SessionId>,
    },
}

/// Why a command about tokens failed.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    /// The table could not be read or written.
    #[error("{0}\nIs the table's name right, and may these credentials use it?")]
    Table(#[from] TableError),
    /// The environment is not what it should be.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// No token could be made.
    #[error(transparent)]
    Entropy(#[from] EntropyError),
    /// A token limited to more topics than a session may be.
    #[error("a token is limited to at most {SESSION_TOPICS} topics")]
    TooManyTopics,
    /// Nothing could be printed.
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

fn parse_time(text: &str) -> Result<TtlSeconds, String> {
    let ttl = seconds::parse(text).and_then(|seconds| TtlSeconds::new(seconds).ok());
    ttl.ok_or_else(|| "must be a number and s, m, h or d, from 1s to 365d".to_owned())
}

/// Runs a command about tokens.
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
            writeln!(told, "session {}, good until {}", session.id, session.expires_at)?;
            if std::io::stdout().is_terminal() {
                writeln!(told, "keep the token, it is shown only once:")?;
            }
            writeln!(out, "{}", token.reveal())?;
        }
        TokenCommand::List { table } => {
            let store = table.store().await?;
            let mut after = None;
            loop {
                let list = store.op().sessions().list(after).await?;
                list.sessions.iter().try_for_each(|session| print(out, session))?;
                after = list.next;
                if after.is_none() {
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
