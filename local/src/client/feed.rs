//! `lately feed`: shows a user's feed and marks it as seen through the API, and verifies or rebuilds it in the table.

use lately_client::Request;
use lately_keys::{EventId, User};
use lately_model::Unread;
use serde_json::json;

use crate::client::ask::Access;
use crate::client::failure::Failure;
use crate::client::session::{Session, Terminal};
use crate::client::tail::TailArguments;
use crate::client::timeline::PageArguments;
use crate::operate::feed_repair::{self, FeedRepairCommand};

/// Show a user's feed, mark it as seen, verify and rebuild it
#[derive(Clone, Debug, clap::Args)]
pub struct FeedOptions {
    #[command(subcommand)]
    command: FeedCommand,
}

#[derive(Clone, Debug, clap::Subcommand)]
enum FeedCommand {
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

pub(super) async fn run(options: FeedOptions, terminal: Terminal<'_>) -> Result<(), Failure> {
    match options.command {
        FeedCommand::Show { user, page, access } => {
            let mut session = Session::open(access, terminal)?;
            page.print(&mut session, &format!("/feeds/{user}"), None, true).await
        }
        FeedCommand::Tail { user, tail, access } => {
            let path = format!("/feeds/{user}");
            tail.print(Session::open(access, terminal)?, path, true, |lately| lately.feed(user).entries())
                .await
        }
        FeedCommand::Unread { user, access } => {
            let mut session = Session::open(access, terminal)?;
            let print = |session: &mut Session<'_>, Unread { unread, more }| {
                session.print(format_args!("{unread}{}", if more { " or more" } else { "" }))
            };
            session.ask_and_show(&Request::get(format!("/feeds/{user}/unread")), print).await
        }
        FeedCommand::Seen { user, id, access } => {
            let mut session = Session::open(access, terminal)?;
            session.ask(&Request::put(format!("/feeds/{user}/seen")).json(&json!({ "id": id }))).await?;
            session.log(format_args!("seen up to {id}"))
        }
        FeedCommand::Mend(command) => Ok(feed_repair::run(command, terminal.stdout, terminal.stderr).await?),
    }
}
