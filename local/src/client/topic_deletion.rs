//! `lately topic delete` and `lately topic deletion`: the end of a topic.

use lately_client::Operation;
use lately_keys::Topic;
use lately_model::{EndingState, TopicDeletion};

use crate::client::confirm;
use crate::client::session::Session;
use crate::client::view;
use crate::client::wait::until_done;
use crate::counted::counted;
use crate::failure::Failure;

/// The commands on the end of a topic.
#[derive(Clone, Debug, clap::Subcommand)]
pub enum TopicEndCommand {
    /// Delete a topic: its events with their copies, its consumers and its settings (scope admin)
    Delete {
        /// The topic
        topic: Topic,

        /// The topic's name, to confirm the deletion; without it, the command asks for the name on a terminal
        #[arg(long, value_name = "TOPIC")]
        confirm: Option<Topic>,

        /// Print what the deletion would delete, and delete nothing
        #[arg(long, conflicts_with_all = ["confirm", "wait"])]
        dry_run: bool,

        /// Wait until the topic is deleted
        #[arg(long)]
        wait: bool,
    },
    /// Show the progress of a topic's deletion (scope admin)
    Deletion {
        /// The topic
        topic: Topic,

        /// Wait until the topic is deleted
        #[arg(long)]
        wait: bool,
    },
}

pub(super) async fn run(command: TopicEndCommand, mut session: Session<'_>) -> Result<(), Failure> {
    let session = &mut session;
    match command {
        TopicEndCommand::Delete { topic, dry_run: true, .. } => {
            session.show(session.api.topic(topic).preview_deletion(), view::DELETION_PREVIEW).await
        }
        TopicEndCommand::Delete { topic, confirm, wait, .. } => {
            let confirm = match confirm {
                Some(confirm) => confirm,
                None => asked(session, &topic).await?,
            };
            let deletion = session.api.topic(&topic).delete_confirmed(confirm);
            show(session, &topic, deletion, wait).await
        }
        TopicEndCommand::Deletion { topic, wait } => {
            let deletion = session.api.topic(&topic).deletion();
            show(session, &topic, deletion, wait).await
        }
    }
}

/// The topic's name as the user types it, after the user has seen the preview.
async fn asked(session: &mut Session<'_>, topic: &Topic) -> Result<Topic, Failure> {
    confirm::needs_terminal(|| format!("add --confirm {topic} to delete the topic and all of its events"))?;
    let found = session.ask(session.api.topic(topic).preview_deletion()).await?.value;
    let [buckets, consumers] = [counted(found.buckets, "bucket"), counted(found.consumers, "consumer")];
    session.log(format_args!("{topic} has events in {buckets}, and {consumers}"))?;
    confirm::ask(session.stderr, topic.as_str(), "type the topic's name to delete it", "nothing is deleted")?;
    Ok(topic.clone())
}

/// The progress as text for people; none if the deletion is done.
fn progress(deletion: &TopicDeletion) -> Option<String> {
    let TopicDeletion { state, events, buckets, consumers, .. } = deletion;
    let counts = [(events, "event"), (buckets, "bucket"), (consumers, "consumer")];
    let [events, buckets, consumers] = counts.map(|(count, noun)| counted(*count, noun));
    (*state == EndingState::Deleting).then(|| format!("deleted {events}, {buckets}, {consumers}"))
}

/// Sends an operation, and prints the deletion as it is, or when it is done.
async fn show(
    session: &mut Session<'_>,
    topic: &Topic,
    operation: Operation<TopicDeletion>,
    wait: bool,
) -> Result<(), Failure> {
    let mut answer = session.ask(operation).await?;
    if wait {
        answer = until_done(session, |api| api.topic(topic).deletion(), progress).await?;
    }
    session.print_response(&answer.response, view::DELETION)?;
    if session.json || answer.value.state == EndingState::Done {
        return Ok(());
    }
    session.log(format_args!("the deletion continues: lately topic deletion {topic} --wait"))
}
