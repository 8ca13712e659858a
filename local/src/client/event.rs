//! `lately event`: one event, by its id.

use lately_client::Request;
use lately_keys::{EventId, Topic};

use crate::client::ask::Access;
use crate::client::failure::Failure;
use crate::client::session::{Screen, Session};
use crate::client::timeline::{Columns, rows};

/// Show or delete one event, by its id
#[derive(Clone, Debug, clap::Args)]
pub struct EventOptions {
    #[command(subcommand)]
    command: EventCommand,
}

#[derive(Clone, Debug, clap::Subcommand)]
enum EventCommand {
    /// Show an event
    Get {
        #[command(flatten)]
        event: EventArgument,

        #[command(flatten)]
        access: Access,
    },
    /// Delete an event: as its actor, or with a token that may act as anyone
    Delete {
        #[command(flatten)]
        event: EventArgument,

        #[command(flatten)]
        access: Access,
    },
}

#[derive(Clone, Debug, clap::Args)]
struct EventArgument {
    /// The topic
    topic: Topic,

    /// The event's id, as `lately latest --ids` prints it
    id: EventId,
}

impl EventArgument {
    fn path(&self) -> String {
        format!("/topics/{}/events/{}", self.topic, self.id)
    }
}

pub(super) async fn run(options: EventOptions, screen: Screen<'_>) -> Result<(), Failure> {
    match options.command {
        EventCommand::Get { event, access } => {
            let mut session = Session::open(access, screen)?;
            let reply = session.ask(&Request::get(event.path())).await?;
            if !session.prints_json(&reply)? {
                let columns = Columns { topic: false, id: true };
                let mut table = session.table(&columns.titles());
                session.rows(&mut table, &rows(columns, &[serde_json::from_slice(&reply.body)?])?)?;
            }
            Ok(())
        }
        EventCommand::Delete { event, access } => {
            let mut session = Session::open(access, screen)?;
            session.ask(&Request::delete(event.path())).await?;
            Ok(session.tell(format_args!("the event {} is deleted, or did not exist", event.id))?)
        }
    }
}
