//! `lately feed`: a user's feed, as its reader sees it; and, with the table's own credentials, as it should be.

use lately_keys::{EventId, User};
use serde::Deserialize;
use serde_json::json;

use crate::client::ask::{Access, Call};
use crate::client::failure::Failure;
use crate::client::session::{Screen, Session, read};
use crate::client::timeline::PageArguments;
use crate::operate::feed_repair::{self, FeedRepairCommand};

/// Show a user's feed, mark it as seen, and mend it
#[derive(Clone, Debug, clap::Args)]
pub struct FeedOptions {
    #[command(subcommand)]
    command: FeedCommand,
}

#[derive(Clone, Debug, clap::Subcommand)]
enum FeedCommand {
    /// Print what the user's sources did, newest first
    Show {
        /// Whose feed it is
        user: User,

        #[command(flatten)]
        page: Box<PageArguments>,

        #[command(flatten)]
        access: Access,
    },
    /// Count what the user has not seen, exactly
    Unread {
        /// Whose feed it is
        user: User,

        #[command(flatten)]
        access: Access,
    },
    /// Mark the feed as seen up to an event
    Seen {
        /// Whose feed it is
        user: User,

        /// The event: `lately feed show --ids` says its id
        id: EventId,

        #[command(flatten)]
        access: Access,
    },
    #[command(flatten)]
    Mend(FeedRepairCommand),
}

#[derive(Debug, Deserialize)]
struct Unread {
    unread: u64,
    more: bool,
}

pub(super) async fn run(options: FeedOptions, screen: Screen<'_>) -> Result<(), Failure> {
    match options.command {
        FeedCommand::Show { user, page, access } => {
            let mut session = Session::open(access, screen)?;
            page.print(&mut session, &format!("/feeds/{user}"), &[], true).await
        }
        FeedCommand::Unread { user, access } => {
            let mut session = Session::open(access, screen)?;
            let reply = session.ask(&Call::get(format!("/feeds/{user}/unread"))).await?;
            if !session.prints_json(&reply)? {
                let Unread { unread, more } = read(&reply)?;
                session.print(format_args!("{unread}{}", if more { " or more" } else { "" }))?;
            }
            Ok(())
        }
        FeedCommand::Seen { user, id, access } => {
            let mut session = Session::open(access, screen)?;
            session.ask(&Call::put(format!("/feeds/{user}/seen")).json(&json!({ "id": id }))).await?;
            Ok(session.tell(format_args!("seen up to {id}"))?)
        }
        FeedCommand::Mend(command) => Ok(feed_repair::run(command, screen.out, screen.told).await?),
    }
}
