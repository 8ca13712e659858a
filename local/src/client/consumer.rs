//! `lately consumer`: a topic's consumers.

use lately_keys::{Consumer, Topic};
use lately_model::{NewConsumer, SeekTo, SettleSeconds, Start};
use reqwest::StatusCode;

use crate::client::list::ListArguments;
use crate::client::session::Session;
use crate::client::view;
use crate::failure::Failure;
use crate::time_argument::{parse_seek, parse_start};

#[derive(Clone, Debug, clap::Subcommand)]
pub enum ConsumerCommand {
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
pub struct ConsumerArgument {
    /// The topic
    topic: Topic,

    /// The consumer's name
    name: Consumer,
}

fn parse_settle(text: &str) -> Result<SettleSeconds, String> {
    let refused = "must be a whole number from 0 to 3600".to_owned();
    text.parse().ok().and_then(|seconds| SettleSeconds::new(seconds).ok()).ok_or(refused)
}

impl ConsumerArgument {
    fn of(&self, session: &Session<'_>) -> lately_client::Consumer {
        session.api.topic(&self.topic).consumer(&self.name)
    }
}

impl ConsumerCommand {
    pub(super) async fn run(self, mut session: Session<'_>) -> Result<(), Failure> {
        match self {
            Self::Create { consumer, from, settle_seconds } => {
                let body = NewConsumer { start: from, settle_seconds };
                let created = session.ask(consumer.of(&session).put(&body)).await?;
                if created.response.status == StatusCode::OK {
                    session.log("the consumer exists already; its position does not change")?;
                }
                session.print_response(&created.response, view::CONSUMER)
            }
            Self::Show(consumer) => session.show(consumer.of(&session).get(), view::CONSUMER).await,
            Self::Seek { consumer, to } => session.show(consumer.of(&session).seek(to), view::CONSUMER).await,
            Self::Runs { consumer, list } => {
                session.show(consumer.of(&session).runs(list.query()).page(), view::RUNS).await
            }
            Self::Delete(consumer) => {
                session.ask(consumer.of(&session).delete()).await?;
                let ConsumerArgument { topic, name } = consumer;
                session.log(format_args!("the consumer {name} of {topic} is deleted, or did not exist"))
            }
        }
    }
}
