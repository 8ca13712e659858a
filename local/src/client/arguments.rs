//! The arguments that several commands have.

use lately_client::ListQuery;
use lately_keys::{App, Consumer, EventId, Source, Topic, User};
use lately_model::PageSize;
use serde_json::Value;

use crate::client::session::Session;

/// The command of a group.
#[derive(Clone, Debug, clap::Args)]
pub struct Group<C: clap::Subcommand> {
    #[command(subcommand)]
    pub(super) command: C,
}

#[derive(Clone, Debug, clap::Args)]
pub struct TopicArgument {
    /// The topic
    pub(super) topic: Topic,
}

#[derive(Clone, Debug, clap::Args)]
pub struct UserArgument {
    /// The user
    pub(super) user: User,
}

#[derive(Clone, Debug, clap::Args)]
pub struct AppArgument {
    /// The application
    pub(super) app: App,
}

#[derive(Clone, Debug, clap::Args)]
pub struct SourceArgument {
    /// The actor or subject: actor:NAME or subject:NAME
    pub(super) source: Source,
}

#[derive(Clone, Debug, clap::Args)]
pub struct EventArgument {
    /// The topic
    pub(super) topic: Topic,

    /// The event's id, as `lately latest --ids` prints it
    pub(super) id: EventId,
}

#[derive(Clone, Debug, clap::Args)]
pub struct ConsumerArgument {
    /// The topic
    pub(super) topic: Topic,

    /// The consumer's name
    pub(super) name: Consumer,
}

/// The size and the start of a list's page.
#[derive(Clone, Debug, clap::Args)]
pub struct ListArguments {
    /// Entries per page: 1 to 200
    #[arg(short = 'n', value_name = "N", default_value = "50")]
    pub(super) limit: PageSize,

    /// Continue after an earlier page, from the cursor that it printed
    #[arg(long, value_name = "CURSOR")]
    pub(super) cursor: Option<String>,
}

/// A record or an issue that a command changes.
#[derive(Clone, Debug, clap::Args)]
pub struct Revised<N: clap::Args> {
    #[command(flatten)]
    pub(super) name: N,

    /// Change it only if it has this revision [default: its current revision]
    #[arg(long, value_name = "REVISION")]
    pub(super) revision: Option<u64>,
}

impl ConsumerArgument {
    pub(super) fn of(&self, session: &Session<'_>) -> lately_client::Consumer {
        session.api.topic(&self.topic).consumer(&self.name)
    }
}

impl ListArguments {
    pub(super) fn query(self) -> ListQuery {
        ListQuery { limit: Some(self.limit.get()), cursor: self.cursor }
    }
}

/// A body with the fields that have a value.
pub(super) fn given(mut fields: Value) -> Value {
    fields.as_object_mut().expect("an object").retain(|_, value| !value.is_null());
    fields
}
