//! `lately topic`: a topic's settings and its end.

use std::str::FromStr;

use lately_client::{Lately, Operation};
use lately_keys::{BucketWidth, Topic};
use lately_model::{EndingState, TopicDeletion, Views};
use serde::Serialize;
use serde_json::{Value, json};

use crate::client::confirm;
use crate::client::session::Session;
use crate::client::status_line::ask_for_work;
use crate::client::view::{TOPIC, View};
use crate::counted::counted;
use crate::failure::{Failure, Result};

/// A deletion under way.
const DELETION: View<'_> =
    View::Pairs("topic,state,begun at=begun_at,finished at=finished_at,events,buckets,consumers");

/// The preview of a deletion.
const PREVIEW: View<'_> = View::Pairs("topic,buckets,oldest,newest,shards,consumers");

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
    views: Option<Views>,
}

/// A number of days, or null for no expiry.
fn parse_retention(text: &str) -> Result<Value, String> {
    if text == "forever" {
        return Ok(Value::Null);
    }
    text.parse::<u32>().map(Value::from).map_err(|_| "must be a number of days, or forever".to_owned())
}

/// The names of views.
fn parse_views(text: &str) -> Result<Views, <lately_model::View as FromStr>::Err> {
    text.split(',').filter(|view| !view.is_empty()).map(str::parse::<lately_model::View>).collect()
}

/// Creates a topic. A PUT alone would change a topic that exists.
pub(super) async fn create(
    topic: Topic,
    bucket: Option<BucketWidth>,
    settings: SettingsArguments,
    session: &mut Session<'_>,
) -> Result<()> {
    if session.find(session.api.topic(&topic).get()).await?.is_some() {
        let there = format!("the topic {topic} exists already; lately topic set changes it");
        return Err(Failure::new(5, there));
    }
    let mut body = json!(settings);
    if let Some(bucket) = bucket {
        body["bucket"] = json!(bucket);
    }
    session.show(session.api.topic(topic).put(&body), TOPIC).await
}

/// Changes the settings of a topic. A PUT alone would create a topic that does not exist.
pub(super) async fn set(topic: Topic, settings: SettingsArguments, session: &mut Session<'_>) -> Result<()> {
    if json!(settings) == json!({}) {
        return Err(Failure::usage("name at least one setting: see lately topic set --help"));
    }
    let topic = session.api.topic(topic);
    session.ask(topic.get()).await?;
    session.show(topic.put(&settings), TOPIC).await
}

/// Deletes a topic once its name is confirmed.
pub(super) async fn delete(
    topic: Topic,
    confirm: Option<Topic>,
    dry_run: bool,
    wait: bool,
    session: &mut Session<'_>,
) -> Result<()> {
    if dry_run {
        return session.show(session.api.topic(topic).preview_deletion(), PREVIEW).await;
    }
    let confirm = match confirm {
        Some(confirm) => confirm,
        None => asked(session, &topic).await?,
    };
    show_deletion(session.api.topic(&topic).delete_confirmed(confirm), &topic, wait, session).await
}

/// The topic's name as the user types it, after the user has seen the preview.
async fn asked(session: &mut Session<'_>, topic: &Topic) -> Result<Topic> {
    confirm::needs_terminal(|| format!("add --confirm {topic} to delete the topic and all of its events"))?;
    let found = session.ask(session.api.topic(topic).preview_deletion()).await?.value;
    let [buckets, consumers] = [counted(found.buckets, "bucket"), counted(found.consumers, "consumer")];
    session.terminal.log(format_args!("{topic} has events in {buckets}, and {consumers}"))?;
    let question = "type the topic's name to delete it";
    confirm::ask(session.terminal.stderr, topic.as_str(), question, "nothing is deleted")?;
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
pub(super) async fn show_deletion(
    operation: Operation<TopicDeletion>,
    topic: &Topic,
    wait: bool,
    session: &mut Session<'_>,
) -> Result<()> {
    let again = |api: &Lately, _: &TopicDeletion| api.topic(topic).deletion();
    let answer = ask_for_work(session, operation, wait, again, progress).await?;
    session.print_response(&answer.response, DELETION)?;
    if session.json || answer.value.state == EndingState::Done {
        return Ok(());
    }
    session.terminal.log(format_args!("the deletion continues: lately topic deletion {topic} --wait"))
}
