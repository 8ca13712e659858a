//! `lately session`: the sessions of tokens.

use lately_client::SessionQuery;
use lately_keys::{SessionId, User};
use lately_model::SessionToken;

use crate::client::list::ListArguments;
use crate::client::session::Session;
use crate::client::view;
use crate::counted::counted;
use crate::failure::Failure;
use crate::new_token::NewTokenArguments;

#[derive(Clone, Debug, clap::Subcommand)]
pub enum SessionCommand {
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
pub struct RevokedArguments {
    /// The ids of the sessions, as `lately session list` prints them
    #[arg(value_name = "ID")]
    ids: Vec<SessionId>,

    /// Revoke all sessions of this user
    #[arg(long, value_name = "USER")]
    user: Option<User>,
}

impl SessionCommand {
    pub(super) async fn run(self, mut session: Session<'_>) -> Result<(), Failure> {
        let sessions = session.api.sessions();
        match self {
            Self::List { user, list: ListArguments { limit, cursor } } => {
                let user = user.map(|user| user.to_string());
                let query = SessionQuery { user, limit: Some(limit.get()), cursor };
                session.show(sessions.list(query).page(), view::SESSIONS).await
            }
            Self::Show { id } => session.show(sessions.get(id), view::SESSION).await,
            Self::Create { new } => {
                let create = sessions.create(&new.session()?);
                session
                    .show_by(create, |session, created| {
                        let SessionToken { id, token, expires_at } = created.value;
                        session.log(format_args!("session {id}, valid until {expires_at}"))?;
                        session.print(token)
                    })
                    .await
            }
            Self::Revoke(RevokedArguments { ids, user }) => {
                for id in ids {
                    session.ask(sessions.revoke(id)).await?;
                    session.log(format_args!("revoked {id}"))?;
                }
                let Some(user) = user else { return Ok(()) };
                session
                    .show_by(sessions.revoke_all(&user), |session, done| {
                        let sessions = counted(done.value.revoked, "session");
                        session.log(format_args!("revoked {sessions} of {user}"))
                    })
                    .await
            }
        }
    }
}
