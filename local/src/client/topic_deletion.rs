//! `lately topic delete` and `lately topic deletion`: the end of a topic.

use lately_client::Request;
use lately_keys::Topic;
use lately_model::{DeletionPreview, EndingState, TopicDeletion};

use crate::client::confirm;
use crate::client::failure::Failure;
use crate::client::session::{Session, or_dash, read};
use crate::client::wait::{Work, until_done};
use crate::counted::counted;

/// The commands on the end of a topic.
#[derive(Clone, Debug, clap::Subcommand)]
pub(super) enum TopicEndCommand {
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
            session.ask_and_show(&preview(&topic), print_preview).await
        }
        TopicEndCommand::Delete { topic, confirm, wait, .. } => {
            let confirm = match confirm {
                Some(confirm) => confirm,
                None => asked(session, &topic).await?,
            };
            let delete = Request::delete(format!("/topics/{topic}"));
            let delete = delete.parameter("confirm", Some(confirm.as_str()));
            show(session, &topic, &delete, wait).await
        }
        TopicEndCommand::Deletion { topic, wait } => show(session, &topic, &progress(&topic), wait).await,
    }
}

fn progress(topic: &Topic) -> Request {
    Request::get(format!("/topics/{topic}/deletion"))
}

fn preview(topic: &Topic) -> Request {
    Request::delete(format!("/topics/{topic}")).parameter("dry_run", Some("true"))
}

/// The topic's name as the user types it, after the user has seen the preview.
async fn asked(session: &mut Session<'_>, topic: &Topic) -> Result<Topic, Failure> {
    confirm::needs_terminal(|| format!("add --confirm {topic} to delete the topic and all of its events"))?;
    let found: DeletionPreview = read(&session.ask(&preview(topic)).await?)?;
    let [buckets, consumers] = [counted(found.buckets, "bucket"), counted(found.consumers, "consumer")];
    session.log(format_args!("{topic} has events in {buckets}, and {consumers}"))?;
    confirm::ask(
        session.terminal.stderr,
        topic.as_str(),
        "type the topic's name to delete it",
        "nothing is deleted",
    )?;
    Ok(topic.clone())
}

impl Work for TopicDeletion {
    fn progress(&self) -> Option<String> {
        let Self { state, events, buckets, consumers, .. } = self;
        let counts = [(events, "event"), (buckets, "bucket"), (consumers, "consumer")];
        let [events, buckets, consumers] = counts.map(|(count, noun)| counted(*count, noun));
        (*state == EndingState::Deleting).then(|| format!("deleted {events}, {buckets}, {consumers}"))
    }
}

/// Sends a request, and prints the deletion as it is, or when it is done.
async fn show(session: &mut Session<'_>, topic: &Topic, call: &Request, wait: bool) -> Result<(), Failure> {
    let mut reply = session.ask(call).await?;
    if wait {
        reply = until_done::<TopicDeletion>(session, &progress(topic)).await?;
    }
    session.show(&reply, print)
}

fn print(session: &mut Session<'_>, deletion: TopicDeletion) -> Result<(), Failure> {
    let TopicDeletion { topic, state, begun_at, finished_at, events, buckets, consumers } = deletion;
    let is_done = state == EndingState::Done;
    session.pairs(&[
        ("topic", topic.to_string()),
        ("state", if is_done { "done" } else { "deleting" }.to_owned()),
        ("begun at", begun_at.to_string()),
        ("finished at", or_dash(finished_at)),
        ("events", events.to_string()),
        ("buckets", buckets.to_string()),
        ("consumers", consumers.to_string()),
    ])?;
    if is_done {
        return Ok(());
    }
    session.log(format_args!("the deletion continues: lately topic deletion {topic} --wait"))
}

fn print_preview(session: &mut Session<'_>, preview: DeletionPreview) -> Result<(), Failure> {
    let DeletionPreview { topic, buckets, oldest, newest, shards, consumers } = preview;
    session.pairs(&[
        ("topic", topic.to_string()),
        ("buckets", buckets.to_string()),
        ("oldest", or_dash(oldest)),
        ("newest", or_dash(newest)),
        ("shards", shards.to_string()),
        ("consumers", consumers.to_string()),
    ])
}
