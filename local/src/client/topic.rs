//! `lately topic`: topics and their settings.

use lately_keys::{BucketWidth, Topic};
use lately_model::View;
use reqwest::StatusCode;
use serde::Serialize;
use serde_json::{Value, json};

use crate::client::list::ListArguments;
use crate::client::session::Session;
use crate::client::topic_deletion::{self, TopicEndCommand};
use crate::client::view;
use crate::failure::Failure;
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

/// The settings that can also be changed later. Only the given ones are sent.
#[derive(Clone, Debug, clap::Args, Serialize)]
pub struct SettingsArguments {
    /// The number of days that events are stored, or forever
    #[arg(long, value_name = "DAYS", value_parser = parse_retention)]
    #[serde(skip_serializing_if = "Option::is_none")]
    retention_days: Option<Value>,

    /// The minimum number of shards of a bucket: 1, 2, 4 … 256
    #[arg(long, value_name = "N")]
    #[serde(skip_serializing_if = "Option::is_none")]
    min_shards: Option<u16>,

    /// The maximum number of shards of a bucket: 1, 2, 4 … 256
    #[arg(long, value_name = "N")]
    #[serde(skip_serializing_if = "Option::is_none")]
    max_shards: Option<u16>,

    /// Put the topic's events into feeds: true or false
    #[arg(long, value_name = "BOOL")]
    #[serde(skip_serializing_if = "Option::is_none")]
    fan_out: Option<bool>,

    /// Views that also list the events: actor, subject, type, separated by commas; '' for none
    #[arg(long, value_name = "VIEWS", value_parser = parse_views)]
    #[serde(skip_serializing_if = "Option::is_none")]
    views: Option<Value>,
}

/// The body of a topic's creation.
#[derive(Debug, Serialize)]
struct NewTopic {
    #[serde(skip_serializing_if = "Option::is_none")]
    bucket: Option<BucketWidth>,
    #[serde(flatten)]
    settings: SettingsArguments,
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

pub(super) async fn run(command: TopicCommand, mut session: Session<'_>) -> Result<(), Failure> {
    let operation = match command {
        TopicCommand::End(command) => return topic_deletion::run(command, session).await,
        TopicCommand::List { list } => {
            return session.show(session.api.topics(list.query()).page(), view::TOPICS).await;
        }
        TopicCommand::Show { topic } => session.api.topic(topic).get(),
        TopicCommand::Create { topic: name, bucket, settings } => {
            let topic = session.api.topic(&name);
            match session.ask(topic.get()).await {
                Ok(_) => {
                    let there = format!("the topic {name} exists already; lately topic set changes it");
                    return Err(Failure::new(5, there));
                }
                Err(failure) if failure.has_status(StatusCode::NOT_FOUND) => {}
                Err(failure) => return Err(failure),
            }
            topic.put(&NewTopic { bucket, settings })
        }
        TopicCommand::Set { topic, bucket, settings } => {
            if let Some(bucket) = bucket {
                return Err(Failure::usage(format!(
                    "the width of a topic's buckets is fixed when the topic is created: create another topic with \
                     --bucket {bucket}"
                )));
            }
            if json!(settings) == json!({}) {
                return Err(Failure::usage("name at least one setting: see lately topic set --help"));
            }
            let topic = session.api.topic(topic);
            // A PUT would create a topic that does not exist.
            session.ask(topic.get()).await?;
            topic.put(&settings)
        }
    };
    session
        .show_by(operation, |session, topic| {
            let topic = serde_json::from_slice::<Value>(&topic.response.body)?;
            view::TOPIC.print(session, &topic)?;
            if topic["buckets"].as_array().is_none_or(Vec::is_empty) {
                return Ok(());
            }
            session.print("")?;
            view::BUCKETS.print(session, &topic)
        })
        .await
}
