//! `lately topic delete` and `lately topic deletion`: the end of a topic.

use std::io::{self, IsTerminal};

use lately_client::{Request, Response};
use lately_keys::Topic;
use lately_model::{DeletionPreview, EndingState, TopicDeletion};

use crate::client::ask::Access;
use crate::client::failure::Failure;
use crate::client::session::{Screen, Session, or_dash, read};
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

        #[command(flatten)]
        access: Access,
    },
    /// Show the progress of a topic's deletion (scope admin)
    Deletion {
        /// The topic
        topic: Topic,

        /// Wait until the topic is deleted
        #[arg(long)]
        wait: bool,

        #[command(flatten)]
        access: Access,
    },
}

pub(super) async fn run(command: TopicEndCommand, screen: Screen<'_>) -> Result<(), Failure> {
    match command {
        TopicEndCommand::Delete { topic, dry_run: true, access, .. } => {
            let mut session = Session::open(access, screen)?;
            let reply = preview(&mut session, &topic).await?;
            print_preview(&mut session, &reply)
        }
        TopicEndCommand::Delete { topic, confirm, wait, access, .. } => {
            let mut session = Session::open(access, screen)?;
            let confirm = match confirm {
                Some(confirm) => confirm,
                None => asked(&mut session, &topic).await?,
            };
            let delete = Request::delete(format!("/topics/{topic}"));
            let begun = session.ask(&delete.parameter("confirm", Some(confirm.as_str()))).await?;
            print(&mut session, &topic, begun, wait).await
        }
        TopicEndCommand::Deletion { topic, wait, access } => {
            let mut session = Session::open(access, screen)?;
            let found = session.ask(&progress(&topic)).await?;
            print(&mut session, &topic, found, wait).await
        }
    }
}

fn progress(topic: &Topic) -> Request {
    Request::get(format!("/topics/{topic}/deletion"))
}

async fn preview(session: &mut Session<'_>, topic: &Topic) -> Result<Response, Failure> {
    let dry_run = Request::delete(format!("/topics/{topic}")).parameter("dry_run", Some("true"));
    session.ask(&dry_run).await
}

/// The topic's name as the user types it, after the user has seen the preview.
async fn asked(session: &mut Session<'_>, topic: &Topic) -> Result<Topic, Failure> {
    if !(io::stdin().is_terminal() && io::stderr().is_terminal()) {
        return Err(Failure::Usage(format!(
            "add --confirm {topic} to delete the topic and all of its events"
        )));
    }
    let found: DeletionPreview = read(&preview(session, topic).await?)?;
    let [buckets, consumers] = [counted(found.buckets, "bucket"), counted(found.consumers, "consumer")];
    session.tell(format_args!("{topic} has events in {buckets}, and {consumers}"))?;
    write!(session.screen.told, "type the topic's name to delete it: ")?;
    session.screen.told.flush()?;
    let mut line = String::new();
    io::stdin().read_line(&mut line)?;
    let differs = || Failure::Usage(format!("this is not {topic}: nothing is deleted"));
    line.trim().parse().ok().filter(|typed| typed == topic).ok_or_else(differs)
}

impl Work for TopicDeletion {
    fn progress(&self) -> Option<String> {
        let Self { state, events, buckets, consumers, .. } = self;
        let counts = [(events, "event"), (buckets, "bucket"), (consumers, "consumer")];
        let [events, buckets, consumers] = counts.map(|(count, noun)| counted(*count, noun));
        (*state == EndingState::Deleting).then(|| format!("deleted {events}, {buckets}, {consumers}"))
    }
}

/// Prints a deletion, as it is or when it is done.
async fn print(session: &mut Session<'_>, topic: &Topic, found: Response, wait: bool) -> Result<(), Failure> {
    let reply = if wait { until_done::<TopicDeletion>(session, &progress(topic)).await? } else { found };
    if session.prints_json(&reply)? {
        return Ok(());
    }
    let TopicDeletion { topic, state, begun_at, finished_at, events, buckets, consumers } = read(&reply)?;
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
    if !is_done {
        session.tell(format_args!("the deletion continues: lately topic deletion {topic} --wait"))?;
    }
    Ok(())
}

fn print_preview(session: &mut Session<'_>, reply: &Response) -> Result<(), Failure> {
    if session.prints_json(reply)? {
        return Ok(());
    }
    let DeletionPreview { topic, buckets, oldest, newest, shards, consumers } = read(reply)?;
    Ok(session.pairs(&[
        ("topic", topic.to_string()),
        ("buckets", buckets.to_string()),
        ("oldest", or_dash(oldest)),
        ("newest", or_dash(newest)),
        ("shards", shards.to_string()),
        ("consumers", consumers.to_string()),
    ])?)
}
