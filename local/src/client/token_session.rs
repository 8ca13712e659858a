//! `lately session`: the sessions that tokens open, through the API. `lately token` does the same in the table.

use lately_client::{ListQuery, Request, SessionQuery};
use lately_keys::{SessionId, Topic, User};
use lately_model::{RateLimits, RevokedSessions, Session as ApiSession, SessionList, SessionToken};

use crate::client::ask::Access;
use crate::client::failure::Failure;
use crate::client::list::ListArguments;
use crate::client::session::{Session, Terminal, or_dash};
use crate::counted::counted;
use crate::new_token::NewTokenArguments;

/// List, show, create and revoke sessions: the tokens' users, scopes and ends (scope admin)
#[derive(Clone, Debug, clap::Args)]
pub struct SessionOptions {
    #[command(subcommand)]
    command: SessionCommand,

    #[command(flatten)]
    access: Access,
}

#[derive(Clone, Debug, clap::Subcommand)]
enum SessionCommand {
    /// List the sessions that have not ended, newest first
    List {
        /// Only sessions of this user
        #[arg(long, value_name = "USER")]
        user: Option<User>,

        #[command(flatten)]
        list: ListArguments,
    },
    /// Show a session
    Show {
        /// The session's id, as `lately session list` prints it
        id: SessionId,
    },
    /// Create a session and print its token; the token cannot be shown again
    Create {
        #[command(flatten)]
        new: NewTokenArguments,
    },
    /// Revoke sessions, by their ids or all of a user
    Revoke(RevokedArguments),
}

#[derive(Clone, Debug, clap::Args)]
#[group(required = true, multiple = false)]
struct RevokedArguments {
    /// The ids of the sessions, as `lately session list` prints them
    #[arg(value_name = "ID")]
    ids: Vec<SessionId>,

    /// Revoke all sessions of this user
    #[arg(long, value_name = "USER")]
    user: Option<User>,
}

pub(super) async fn run(options: SessionOptions, terminal: Terminal<'_>) -> Result<(), Failure> {
    let SessionOptions { command, access } = options;
    let mut session = Session::open(access, terminal)?;
    match command {
        SessionCommand::List { user, list } => {
            let ListQuery { limit, cursor } = list.query();
            let query = SessionQuery { user: user.map(|user| user.to_string()), limit, cursor };
            let print = |session: &mut Session<'_>, SessionList { sessions, next }| {
                let titles = ["id", "user", "scopes", "topics", "until", "limits"];
                session.list(&titles, sessions.into_iter().map(|it| cells(it).into()), next)
            };
            session.ask_and_show(&Request::get("/sessions").query(&query), print).await
        }
        SessionCommand::Show { id } => {
            session.ask_and_show(&Request::get(format!("/sessions/{id}")), print).await
        }
        SessionCommand::Create { new } => {
            let body = new.body().map_err(|error| Failure::Usage(error.to_string()))?;
            let print = |session: &mut Session<'_>, SessionToken { id, token, expires_at }| {
                session.log(format_args!("session {id}, valid until {expires_at}"))?;
                session.print(token)
            };
            session.ask_and_show(&Request::post("/sessions").json(&body), print).await
        }
        SessionCommand::Revoke(RevokedArguments { ids, user }) => {
            for id in ids {
                session.ask(&Request::delete(format!("/sessions/{id}"))).await?;
                session.log(format_args!("revoked {id}"))?;
            }
            let Some(user) = user else { return Ok(()) };
            let print = |session: &mut Session<'_>, RevokedSessions { revoked }| {
                session.log(format_args!("revoked {} of {user}", counted(revoked, "session")))
            };
            let revoke = Request::delete("/sessions").parameter("user", Some(user.as_str()));
            session.ask_and_show(&revoke, print).await
        }
    }
}

fn print(session: &mut Session<'_>, shown: ApiSession) -> Result<(), Failure> {
    let created_at = shown.created_at.to_string();
    let [id, user, scopes, topics, until, limits] = cells(shown);
    session.pairs(&[
        ("id", id),
        ("user", user),
        ("scopes", scopes),
        ("topics", topics),
        ("created at", created_at),
        ("until", until),
        ("limits", limits),
    ])
}

fn cells(session: ApiSession) -> [String; 6] {
    let ApiSession { id, user, scopes, topics, expires_at, limits, .. } = session;
    let (topics, limits) = (topics_cell(topics), limits_cell(limits));
    [id.to_string(), or_dash(user), scopes.to_string(), topics, expires_at.to_string(), limits]
}

/// The limits of a session or of one's own token.
pub(super) fn limits_cell(limits: RateLimits) -> String {
    let limits = [(limits.writes_per_minute, "writes/min"), (limits.reads_per_minute, "reads/min")];
    let limits = limits.into_iter().filter_map(|(limit, unit)| Some(format!("{} {unit}", limit?)));
    or_dash(limits.reduce(|all, next| format!("{all}, {next}")))
}

/// The topics to which a session is limited.
pub(super) fn topics_cell(topics: Option<Vec<Topic>>) -> String {
    let names = |topics: Vec<Topic>| topics.iter().map(Topic::as_str).collect::<Vec<_>>().join(",");
    topics.map_or_else(|| "all".to_owned(), names)
}
