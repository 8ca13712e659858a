//! `lately topic`: topics and their settings.

use lately_keys::{BucketWidth, Topic};
use lately_model::{TopicView, View};
use reqwest::StatusCode;
use serde_json::{Map, Value, json};

use crate::client::command::ListArguments;
use crate::client::failure::Failure;
use crate::client::session::Session;
use crate::client::topic_deletion::{self, TopicEndCommand};
use crate::client::view::{self, given};
use crate::values::one_of;

#[derive(Clone, Debug, clap::Subcommand)]
pub enum TopicCommand {
    /// List the topics
    List {
        #[command(flatten)]
        list: ListArguments,
    },
    /// Show a topic and its newest buckets
    Show {
        /// The topic
        topic: Topic,
    },
    /// Create a topic (scope admin)
    Create {
        /// The topic
        topic: Topic,

        /// The width of the topic's buckets, which never changes [default: day]
        #[arg(long, value_name = "WIDTH", value_parser = one_of(&BucketWidth::ALL, BucketWidth::as_str))]
        bucket: Option<BucketWidth>,

        #[command(flatten)]
        settings: SettingsArguments,
    },
    /// Change a topic's settings; absent settings do not change (scope admin)
    Set {
        /// The topic
        topic: Topic,

        /// Refused: the width of a topic's buckets cannot change
        #[arg(long, value_name = "WIDTH", hide = true)]
        bucket: Option<String>,

        #[command(flatten)]
        settings: SettingsArguments,
    },
    #[command(flatten)]
    End(TopicEndCommand),
}

/// The settings that can also be changed later.
#[derive(Clone, Debug, clap::Args)]
pub struct SettingsArguments {
    /// The number of days that events are stored, or forever
    #[arg(long, value_name = "DAYS", value_parser = parse_retention)]
    retention_days: Option<Value>,

    /// The minimum number of shards of a bucket: 1, 2, 4 … 256
    #[arg(long, value_name = "N")]
    min_shards: Option<u16>,

    /// The maximum number of shards of a bucket: 1, 2, 4 … 256
    #[arg(long, value_name = "N")]
    max_shards: Option<u16>,

    /// Put the topic's events into feeds: true or false
    #[arg(long, value_name = "BOOL")]
    fan_out: Option<bool>,

    /// Views that also list the events: actor, subject, type, separated by commas; '' for none
    #[arg(long, value_name = "VIEWS", value_parser = parse_views)]
    views: Option<Value>,
}

/// A number of days, or null for no expiry.
fn parse_retention(text: &str) -> Result<Value, String> {
    if text == "forever" {
        return Ok(Value::Null);
    }
    text.parse::<u32>().map(Value::from).map_err(|_| "must be a number of days, or forever".to_owned())
}

/// The names of views.
fn parse_views(text: &str) -> Result<Value, String> {
    let views = text.split(',').filter(|view| !view.is_empty());
    let views = views.map(|view| view.parse::<View>().map(|view| json!(view.as_str())));
    views.collect::<Result<_, _>>().map_err(|error| error.to_string())
}

impl SettingsArguments {
    fn body(self) -> Map<String, Value> {
        let Self { retention_days, min_shards, max_shards, fan_out, views } = self;
        given([
            ("retention_days", retention_days),
            ("min_shards", min_shards.map(Value::from)),
            ("max_shards", max_shards.map(Value::from)),
            ("fan_out", fan_out.map(Value::from)),
            ("views", views),
        ])
    }
}

pub(super) async fn run(command: TopicCommand, mut session: Session<'_>) -> Result<(), Failure> {
    let (topic, body) = match command {
        TopicCommand::End(command) => return topic_deletion::run(command, session).await,
        TopicCommand::List { list } => {
            return session.show(|api| api.topics(list.query()).page(), view::TOPICS).await;
        }
        TopicCommand::Show { topic } => (topic, None),
        TopicCommand::Create { topic, bucket, settings } => {
            match session.ask(|api| api.topic(&topic).get()).await {
                Ok(_) => {
                    let there = format!("the topic {topic} exists already; lately topic set changes it");
                    return Err(Failure::Conflict(there));
                }
                Err(failure) if failure.has_status(StatusCode::NOT_FOUND) => {}
                Err(failure) => return Err(failure),
            }
            let mut body = settings.body();
            body.extend(bucket.map(|bucket| ("bucket".to_owned(), json!(bucket))));
            (topic, Some(body))
        }
        TopicCommand::Set { topic, bucket, settings } => {
            if let Some(bucket) = bucket {
                return Err(Failure::Usage(format!(
                    "the width of a topic's buckets is fixed when the topic is created: create another topic with \
                     --bucket {bucket}"
                )));
            }
            let body = settings.body();
            if body.is_empty() {
                return Err(Failure::Usage(
                    "name at least one setting: see lately topic set --help".to_owned(),
                ));
            }
            // A PUT would create a topic that does not exist.
            session.ask(|api| api.topic(&topic).get()).await?;
            (topic, Some(body))
        }
    };
    let topic = session.api.topic(&topic);
    let operation = body.map_or_else(|| topic.get(), |body| topic.put(&body));
    session.show_by(|_| operation, print).await
}

fn print(session: &mut Session<'_>, topic: TopicView) -> Result<(), Failure> {
    let topic = serde_json::to_value(topic)?;
    view::TOPIC.print(session, &topic)?;
    if topic["buckets"].as_array().is_none_or(Vec::is_empty) {
        return Ok(());
    }
    session.print("")?;
    view::BUCKETS.print(session, &topic)
}
