//! `lately feed`: a user's feed. The commands that verify and rebuild it read the table: `operate/feed_repair.rs`.

use lately_keys::{EventId, User};
use lately_model::Unread;

use crate::client::access::Access;
use crate::client::session::Session;
use crate::client::tail::TailArguments;
use crate::client::timeline::PageArguments;
use crate::failure::Failure;
use crate::operate::feed_repair::{self, FeedRepairCommand};
use crate::terminal::Terminal;

#[derive(Clone, Debug, clap::Subcommand)]
pub enum FeedCommand {
    /// Print the feed's events, newest first
    Show {
        /// The user whose feed it is
        user: User,

        #[command(flatten)]
        page: Box<PageArguments>,

        #[command(flatten)]
        access: Access,
    },
    /// Print the feed's last events, oldest first, and with -f also new events
    Tail {
        /// The user whose feed it is
        user: User,

        #[command(flatten)]
        tail: Box<TailArguments>,

        #[command(flatten)]
        access: Access,
    },
    /// Count exactly the events that the user has not seen
    Unread {
        /// The user whose feed it is
        user: User,

        #[command(flatten)]
        access: Access,
    },
    /// Mark the feed as seen up to an event
    Seen {
        /// The user whose feed it is
        user: User,

        /// The event's id, as `lately feed show --ids` prints it
        id: EventId,

        #[command(flatten)]
        access: Access,
    },
    #[command(flatten)]
    Mend(FeedRepairCommand),
}

impl FeedCommand {
    pub(super) async fn run(self, terminal: Terminal<'_>) -> Result<(), Failure> {
        match self {
            Self::Show { user, page, access } => {
                let session = Session::open(access, terminal)?;
                let feed = session.api.feed(user).entries();
                page.print(session, feed, None, true).await
            }
            Self::Tail { user, tail, access } => {
                tail.print(Session::open(access, terminal)?, true, |api| api.feed(user).entries()).await
            }
            Self::Unread { user, access } => {
                let mut session = Session::open(access, terminal)?;
                let unread = session.api.feed(user).unread();
                let print = |session: &mut Session<'_>, Unread { unread, more }| {
                    session.print(format_args!("{unread}{}", if more { " or more" } else { "" }))
                };
                session.show_by(unread, |session, answer| print(session, answer.value)).await
            }
            Self::Seen { user, id, access } => {
                let mut session = Session::open(access, terminal)?;
                session.ask(session.api.feed(user).seen(id)).await?;
                session.log(format_args!("seen up to {id}"))
            }
            Self::Mend(command) => feed_repair::run(command, terminal).await,
        }
    }
}
