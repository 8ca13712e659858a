//! `lately event`: one event, by its id.

use lately_keys::{EventId, Topic};

use crate::client::session::Session;
use crate::client::timeline::show_event;
use crate::failure::Failure;

#[derive(Clone, Debug, clap::Subcommand)]
pub enum EventCommand {
    /// Show an event
    Get(EventArgument),
    /// Delete an event: as its actor, or with a token that may act as anyone
    Delete(EventArgument),
}

#[derive(Clone, Debug, clap::Args)]
pub struct EventArgument {
    /// The topic
    topic: Topic,

    /// The event's id, as `lately latest --ids` prints it
    id: EventId,
}

impl EventCommand {
    pub(super) async fn run(self, mut session: Session<'_>) -> Result<(), Failure> {
        match self {
            Self::Get(EventArgument { topic, id }) => {
                let event = session.api.topic(topic).event(id);
                show_event(&mut session, event).await
            }
            Self::Delete(EventArgument { topic, id }) => {
                session.ask(session.api.topic(topic).delete_event(id)).await?;
                session.log(format_args!("the event {id} is deleted, or did not exist"))
            }
        }
    }
}
