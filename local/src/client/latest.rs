//! `lately latest`: the newest events of a topic, or of an actor or a subject in one topic or in all.

use lately_keys::{Actor, Subject, Topic};

use crate::client::ask::Access;
use crate::client::failure::Failure;
use crate::client::session::{Session, Terminal};
use crate::client::timeline::PageArguments;

/// Print the latest events of a topic, an actor or a subject, newest first
#[derive(Clone, Debug, clap::Args)]
#[group(id = "timeline", required = true, multiple = true, args = ["topic", "actor", "subject"])]
pub struct LatestOptions {
    /// The topic
    topic: Option<Topic>,

    /// Events of this actor
    #[arg(long, value_name = "ACTOR", conflicts_with = "subject")]
    actor: Option<Actor>,

    /// Events of this subject
    #[arg(long, value_name = "SUBJECT")]
    subject: Option<Subject>,

    #[command(flatten)]
    page: PageArguments,

    #[command(flatten)]
    access: Access,
}

pub(super) async fn run(options: LatestOptions, terminal: Terminal<'_>) -> Result<(), Failure> {
    let LatestOptions { topic, actor, subject, page, access } = options;
    let mut session = Session::open(access, terminal)?;
    let source = match (actor, subject) {
        (Some(actor), _) => Some(format!("/actors/{actor}/events")),
        (None, Some(subject)) => Some(format!("/subjects/{subject}/events")),
        (None, None) => None,
    };
    match (source, topic) {
        (Some(path), topic) => page.print(&mut session, &path, topic.as_ref(), true).await,
        (None, Some(topic)) => {
            page.print(&mut session, &format!("/topics/{topic}/events"), None, false).await
        }
        (None, None) => unreachable!("clap requires one of them"),
    }
}
