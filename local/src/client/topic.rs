//! `lately topic`: topics and their settings.

use lately_client::Request;
use lately_keys::{BucketWidth, Topic};
use lately_model::{BucketView, RetentionDays, TopicList, TopicSettings, TopicSummary, TopicView, View};
use reqwest::StatusCode;
use serde_json::{Map, Value, json};

use crate::client::ask::Access;
use crate::client::failure::Failure;
use crate::client::list::ListArguments;
use crate::client::session::{Session, Terminal, or_dash};
use crate::client::topic_deletion::{self, TopicEndCommand};
use crate::values::one_of;

/// List, show, create, change and delete topics
#[derive(Clone, Debug, clap::Args)]
pub struct TopicOptions {
    #[command(subcommand)]
    command: TopicCommand,

    #[command(flatten)]
    access: Access,
}

#[derive(Clone, Debug, clap::Subcommand)]
enum TopicCommand {
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
struct SettingsArguments {
    /// The number of days that events are stored, or forever
    #[arg(long, value_name = "DAYS", value_parser = parse_retention)]
    retention_days: Option<RetentionArgument>,

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
    views: Option<ViewsArgument>,
}

/// A number of days, or `None` for no expiry.
#[derive(Clone, Copy, Debug)]
struct RetentionArgument(Option<u32>);

/// Names of views.
#[derive(Clone, Debug)]
struct ViewsArgument(Vec<&'static str>);

fn parse_retention(text: &str) -> Result<RetentionArgument, String> {
    match text {
        "forever" => Ok(RetentionArgument(None)),
        days => {
            let days = days.parse().map_err(|_| "must be a number of days, or forever".to_owned())?;
            Ok(RetentionArgument(Some(days)))
        }
    }
}

fn parse_views(text: &str) -> Result<ViewsArgument, String> {
    let views = text.split(',').filter(|view| !view.is_empty());
    let views: Result<_, _> = views.map(|view| view.parse::<View>().map(View::as_str)).collect();
    views.map(ViewsArgument).map_err(|error| error.to_string())
}

impl SettingsArguments {
    fn body(self) -> Map<String, Value> {
        let Self { retention_days, min_shards, max_shards, fan_out, views } = self;
        let settings = [
            ("retention_days", retention_days.map(|RetentionArgument(days)| json!(days))),
            ("min_shards", min_shards.map(Value::from)),
            ("max_shards", max_shards.map(Value::from)),
            ("fan_out", fan_out.map(Value::from)),
            ("views", views.map(|ViewsArgument(views)| json!(views))),
        ];
        settings.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
    }
}

pub(super) async fn run(options: TopicOptions, terminal: Terminal<'_>) -> Result<(), Failure> {
    let TopicOptions { command, access } = options;
    let mut session = Session::open(access, terminal)?;
    let get = |topic: &Topic| Request::get(format!("/topics/{topic}"));
    let put = |topic: &Topic, body| Request::put(format!("/topics/{topic}")).json(&body);
    match command {
        TopicCommand::End(command) => topic_deletion::run(command, session).await,
        TopicCommand::List { list } => {
            session.ask_and_show(&Request::get("/topics").query(&list.query()), print_list).await
        }
        TopicCommand::Show { topic } => session.ask_and_show(&get(&topic), print).await,
        TopicCommand::Create { topic, bucket, settings } => {
            match session.ask(&get(&topic)).await {
                Ok(_) => {
                    let there = format!("the topic {topic} exists already; lately topic set changes it");
                    return Err(Failure::Conflict(there));
                }
                Err(failure) if failure.has_status(StatusCode::NOT_FOUND) => {}
                Err(failure) => return Err(failure),
            }
            let mut body = settings.body();
            body.extend(bucket.map(|bucket| ("bucket".to_owned(), json!(bucket))));
            session.ask_and_show(&put(&topic, body), print).await
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
            session.ask(&get(&topic)).await?;
            session.ask_and_show(&put(&topic, body), print).await
        }
    }
}

fn shards(settings: &TopicSettings) -> String {
    format!("{} to {}", settings.min_shards.get(), settings.max_shards.get())
}

fn views(settings: &TopicSettings) -> String {
    settings.views.iter().map(View::as_str).collect::<Vec<_>>().join(",")
}

fn print_list(session: &mut Session<'_>, TopicList { topics, next }: TopicList) -> Result<(), Failure> {
    let row = |TopicSummary { topic, settings, .. }: TopicSummary| {
        let days = or_dash(settings.retention_days.map(RetentionDays::get));
        let [bucket, fan_out] = [settings.bucket.to_string(), settings.fan_out.to_string()];
        vec![topic.to_string(), bucket, days, shards(&settings), fan_out, views(&settings)]
    };
    let titles = ["topic", "bucket", "days", "shards", "fan-out", "views"];
    session.list(&titles, topics.into_iter().map(row), next)
}

fn print(session: &mut Session<'_>, view: TopicView) -> Result<(), Failure> {
    let TopicView { topic, settings, created_at, retention_change, buckets } = view;
    let retention = settings.retention_days.map(|days| format!("{} days", days.get()));
    let retention = retention.unwrap_or_else(|| "forever".to_owned());
    let changing = retention_change.map(|change| format!(", after {} events of a change", change.events));
    session.pairs(&[
        ("topic", topic.to_string()),
        ("bucket", settings.bucket.to_string()),
        ("retention", retention + &changing.unwrap_or_default()),
        ("shards", shards(&settings)),
        ("fan-out", settings.fan_out.to_string()),
        ("views", views(&settings)),
        ("created at", created_at.to_string()),
    ])?;
    if buckets.is_empty() {
        return Ok(());
    }
    session.print("")?;
    let row = |bucket: BucketView| vec![bucket.label.to_string(), bucket.shards.get().to_string()];
    session.list(&["bucket", "shards"], buckets.into_iter().map(row), None)
}
