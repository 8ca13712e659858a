//! `lately consumer`: a consumer's position. `lately consume` reads with a consumer.

use lately_client::{Request, Response};
use lately_keys::{Consumer, Topic};
use lately_model::{ConsumerView, NewConsumer, RunList, RunView, SeekTo, SettleSeconds, Start};
use reqwest::StatusCode;
use serde_json::json;

use crate::client::ask::Access;
use crate::client::failure::Failure;
use crate::client::list::ListArguments;
use crate::client::session::{Screen, Session, or_dash, read};
use crate::time_argument::{parse_seek, parse_start};

/// Create, show, move and delete a topic's consumers (scope consume)
#[derive(Clone, Debug, clap::Args)]
pub struct ConsumerOptions {
    #[command(subcommand)]
    command: ConsumerCommand,
}

#[derive(Clone, Debug, clap::Subcommand)]
enum ConsumerCommand {
    /// Create a consumer; of an existing one, only the settle time changes
    Create {
        #[command(flatten)]
        consumer: ConsumerArgument,

        /// The position at which a new consumer starts: earliest, latest, a time, or the time since then, such as 1h
        #[arg(long, value_name = "START", default_value = "latest", value_parser = parse_start)]
        from: Start,

        /// The seconds after which an event is returned: 0 to 3600 [default: 10]
        #[arg(long, value_name = "N", value_parser = parse_settle)]
        settle_seconds: Option<SettleSeconds>,

        #[command(flatten)]
        access: Access,
    },
    /// Show a consumer's position and its lag
    Show {
        #[command(flatten)]
        consumer: ConsumerArgument,

        #[command(flatten)]
        access: Access,
    },
    /// Move a consumer; an outstanding batch is dropped
    Seek {
        #[command(flatten)]
        consumer: ConsumerArgument,

        /// The new position: earliest, latest, a time, the time since then, such as 1h, or the id of an event
        #[arg(value_name = "POSITION", value_parser = parse_seek)]
        to: SeekTo,

        #[command(flatten)]
        access: Access,
    },
    /// List the runs of a consumer that makes reports
    Runs {
        #[command(flatten)]
        consumer: ConsumerArgument,

        #[command(flatten)]
        list: ListArguments,

        #[command(flatten)]
        access: Access,
    },
    /// Delete a consumer and its position
    Delete {
        #[command(flatten)]
        consumer: ConsumerArgument,

        #[command(flatten)]
        access: Access,
    },
}

#[derive(Clone, Debug, clap::Args)]
struct ConsumerArgument {
    /// The topic
    topic: Topic,

    /// The consumer's name
    name: Consumer,
}

impl ConsumerArgument {
    fn path(&self) -> String {
        format!("/topics/{}/consumers/{}", self.topic, self.name)
    }
}

fn parse_settle(text: &str) -> Result<SettleSeconds, String> {
    let refused = "must be a whole number from 0 to 3600".to_owned();
    text.parse().ok().and_then(|seconds| SettleSeconds::new(seconds).ok()).ok_or(refused)
}

pub(super) async fn run(options: ConsumerOptions, screen: Screen<'_>) -> Result<(), Failure> {
    match options.command {
        ConsumerCommand::Create { consumer, from, settle_seconds, access } => {
            let mut session = Session::open(access, screen)?;
            let body = NewConsumer { start: from, settle_seconds };
            let reply = session.ask(&Request::put(consumer.path()).json(&body)).await?;
            if reply.status == StatusCode::OK {
                session.tell("the consumer exists already; its position does not change")?;
            }
            print(&mut session, &reply)
        }
        ConsumerCommand::Show { consumer, access } => {
            let mut session = Session::open(access, screen)?;
            let reply = session.ask(&Request::get(consumer.path())).await?;
            print(&mut session, &reply)
        }
        ConsumerCommand::Seek { consumer, to, access } => {
            let mut session = Session::open(access, screen)?;
            let seek = Request::post(format!("{}/seek", consumer.path())).json(&json!({ "to": to }));
            let reply = session.ask(&seek).await?;
            print(&mut session, &reply)
        }
        ConsumerCommand::Runs { consumer, list, access } => {
            let mut session = Session::open(access, screen)?;
            let runs = Request::get(format!("{}/runs", consumer.path())).query(&list.query());
            let reply = session.ask(&runs).await?;
            print_runs(&mut session, &reply)
        }
        ConsumerCommand::Delete { consumer, access } => {
            let mut session = Session::open(access, screen)?;
            session.ask(&Request::delete(consumer.path())).await?;
            let ConsumerArgument { topic, name } = consumer;
            Ok(session.tell(format_args!("the consumer {name} of {topic} is deleted, or did not exist"))?)
        }
    }
}

fn print(session: &mut Session<'_>, reply: &Response) -> Result<(), Failure> {
    if session.prints_json(reply)? {
        return Ok(());
    }
    let ConsumerView { position, outstanding, lag_seconds, late, settle_seconds, .. } = read(reply)?;
    Ok(session.pairs(&[
        ("position", or_dash(position)),
        ("outstanding batch", or_dash(outstanding)),
        ("lag", format!("{lag_seconds} s")),
        ("late events", late.to_string()),
        ("settle time", format!("{} s", settle_seconds.get())),
    ])?)
}

fn print_runs(session: &mut Session<'_>, reply: &Response) -> Result<(), Failure> {
    if session.prints_json(reply)? {
        return Ok(());
    }
    let RunList { runs, next } = read(reply)?;
    let row = |run: RunView| {
        let file = or_dash(run.files.into_iter().next());
        vec![
            run.to.to_string(),
            run.announced_at.to_string(),
            or_dash(run.committed_at),
            or_dash(run.events),
            or_dash(run.late),
            file,
        ]
    };
    let rows: Vec<_> = runs.into_iter().map(row).collect();
    let mut table = session.table(&["run", "begun", "finished", "events", "late", "file"]);
    session.rows(&mut table, &rows)?;
    Ok(session.tell_next(next.as_deref())?)
}
