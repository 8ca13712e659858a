//! `lately event`: one event, by its id.

use lately_client::Request;
use lately_keys::{EventId, Topic};
use serde_json::value::RawValue;

use crate::client::ask::Access;
use crate::client::failure::Failure;
use crate::client::session::{Session, Terminal};
use crate::client::timeline::{Columns, rows};

/// Show or delete one event, by its id
#[derive(Clone, Debug, clap::Args)]
pub struct EventOptions {
    #[command(subcommand)]
    command: EventCommand,

    #[command(flatten)]
    access: Access,
}

#[derive(Clone, Debug, clap::Subcommand)]
enum EventCommand {
    /// Show an event
    Get(EventArgument),
    /// Delete an event: as its actor, or with a token that may act as anyone
    Delete(EventArgument),
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

pub(super) async fn run(options: EventOptions, terminal: Terminal<'_>) -> Result<(), Failure> {
    let EventOptions { command, access } = options;
    let mut session = Session::open(access, terminal)?;
    match command {
        EventCommand::Get(event) => print(&mut session, &Request::get(event.path())).await,
        EventCommand::Delete(event) => {
            session.ask(&Request::delete(event.path())).await?;
            session.log(format_args!("the event {} is deleted, or did not exist", event.id))
        }
    }
}

/// Sends a request, and prints the event of its response.
pub(super) async fn print(session: &mut Session<'_>, call: &Request) -> Result<(), Failure> {
    let print = |session: &mut Session<'_>, event: Box<RawValue>| {
        let columns = Columns { topic: false, id: true };
        let mut table = session.table(&columns.titles());
        session.rows(&mut table, &rows(columns, &[&event])?)
    };
    session.ask_and_show(call, print).await
}
