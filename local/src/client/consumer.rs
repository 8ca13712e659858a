//! `lately consumer`: a consumer's position. `lately consume` reads with a consumer.

use lately_client::Request;
use lately_keys::{Consumer, Topic};
use lately_model::{ConsumerView, NewConsumer, RunList, RunView, SeekTo, SettleSeconds, Start};
use reqwest::StatusCode;
use serde_json::json;

use crate::client::ask::Access;
use crate::client::failure::Failure;
use crate::client::list::ListArguments;
use crate::client::session::{Session, Terminal, or_dash};
use crate::time_argument::{parse_seek, parse_start};

/// Create, show, move and delete a topic's consumers (scope consume)
#[derive(Clone, Debug, clap::Args)]
pub struct ConsumerOptions {
    #[command(subcommand)]
    command: ConsumerCommand,

    #[command(flatten)]
    access: Access,
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
    },
    /// Show a consumer's position and its lag
    Show(ConsumerArgument),
    /// Move a consumer; an outstanding batch is dropped
    Seek {
        #[command(flatten)]
        consumer: ConsumerArgument,

        /// The new position: earliest, latest, a time, the time since then, such as 1h, or the id of an event
        #[arg(value_name = "POSITION", value_parser = parse_seek)]
        to: SeekTo,
    },
    /// List the runs of a consumer that makes reports
    Runs {
        #[command(flatten)]
        consumer: ConsumerArgument,

        #[command(flatten)]
        list: ListArguments,
    },
    /// Delete a consumer and its position
    Delete(ConsumerArgument),
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

pub(super) async fn run(options: ConsumerOptions, terminal: Terminal<'_>) -> Result<(), Failure> {
    let ConsumerOptions { command, access } = options;
    let mut session = Session::open(access, terminal)?;
    match command {
        ConsumerCommand::Create { consumer, from, settle_seconds } => {
            let body = NewConsumer { start: from, settle_seconds };
            let reply = session.ask(&Request::put(consumer.path()).json(&body)).await?;
            if reply.status == StatusCode::OK {
                session.log("the consumer exists already; its position does not change")?;
            }
            session.show(&reply, print)
        }
        ConsumerCommand::Show(consumer) => session.ask_and_show(&Request::get(consumer.path()), print).await,
        ConsumerCommand::Seek { consumer, to } => {
            let seek = Request::post(format!("{}/seek", consumer.path())).json(&json!({ "to": to }));
            session.ask_and_show(&seek, print).await
        }
        ConsumerCommand::Runs { consumer, list } => {
            let runs = Request::get(format!("{}/runs", consumer.path())).query(&list.query());
            session.ask_and_show(&runs, print_runs).await
        }
        ConsumerCommand::Delete(consumer) => {
            session.ask(&Request::delete(consumer.path())).await?;
            let ConsumerArgument { topic, name } = consumer;
            session.log(format_args!("the consumer {name} of {topic} is deleted, or did not exist"))
        }
    }
}

fn print(session: &mut Session<'_>, view: ConsumerView) -> Result<(), Failure> {
    let ConsumerView { position, outstanding, lag_seconds, late, settle_seconds, .. } = view;
    session.pairs(&[
        ("position", or_dash(position)),
        ("outstanding batch", or_dash(outstanding)),
        ("lag", format!("{lag_seconds} s")),
        ("late events", late.to_string()),
        ("settle time", format!("{} s", settle_seconds.get())),
    ])
}

fn print_runs(session: &mut Session<'_>, RunList { runs, next }: RunList) -> Result<(), Failure> {
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
    let titles = ["run", "begun", "finished", "events", "late", "file"];
    session.list(&titles, runs.into_iter().map(row), next)
}
