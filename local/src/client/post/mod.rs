//! `lately post`: one event, or the lines of a file or of standard input.
//!
//! Each line is written once, whatever fails on the way, and the lines are written in order. So each batch has an
//! `Idempotency-Key` that is made of the run's key and the number of the batch's first line. A run that ends early prints
//! the options with which the next run continues.

mod batch;
mod lines;
mod progress;
mod sending;

use std::path::PathBuf;

use lately_client::PostKey;
use lately_keys::limits::IDEMPOTENCY_KEY_BYTES;
use lately_keys::{Actor, EventType, Subject, Topic, UnixMillis};
use serde::Serialize;
use serde_json::value::RawValue;

use crate::client::session::Session;
use crate::client::timeline::show_event;
use crate::failure::Result;
use crate::time_argument::parse_time;

/// Write one event, or one event for each line of a file or of standard input
#[derive(Clone, Debug, clap::Args)]
pub struct PostArguments {
    /// The topic
    topic: Topic,

    #[command(flatten)]
    event: EventArguments,

    /// Write only once within a day, however often this key is used; with --file, each batch has a key made from this
    /// one
    #[arg(long, value_name = "KEY", value_parser = parse_key)]
    idempotency_key: Option<String>,

    #[command(flatten)]
    lines: LineArguments,
}

/// The options for posting lines.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Many events")]
struct LineArguments {
    /// Post each line of this file; - is standard input
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,

    /// Start at this line, counted from 1
    #[arg(long, value_name = "N", default_value_t = 1, requires = "file", value_parser = clap::value_parser!(u64).range(1..))]
    from_line: u64,

    /// Stop after this line
    #[arg(long, value_name = "N", requires = "file")]
    to_line: Option<u64>,

    /// Print no progress
    #[arg(long, requires = "file")]
    quiet: bool,
}

/// One event, as it is sent.
#[derive(Clone, Debug, clap::Args, Serialize)]
struct EventArguments {
    /// The event's type, such as post.created
    #[arg(long = "type", value_name = "TYPE", required_unless_present = "file", conflicts_with = "file")]
    #[serde(rename = "type")]
    event_type: Option<EventType>,

    /// The event's actor: the token's user, unless the token may write as anyone
    #[arg(long, value_name = "ACTOR", required_unless_present = "file", conflicts_with = "file")]
    actor: Option<Actor>,

    /// The event's subject, such as repo:octo:hello
    #[arg(long, value_name = "SUBJECT", conflicts_with = "file")]
    #[serde(skip_serializing_if = "Option::is_none")]
    subject: Option<Subject>,

    /// The event's data, as JSON
    #[arg(long, value_name = "JSON", value_parser = parse_json, conflicts_with = "file")]
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<Box<RawValue>>,

    /// The event's time, if it is not now, or the time since then, such as 1h; a time more than a minute ago needs the
    /// scope import
    #[arg(long, value_name = "TIME", conflicts_with = "file", value_parser = parse_time::<UnixMillis>)]
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<UnixMillis>,
}

pub(super) fn parse_json(text: &str) -> Result<Box<RawValue>, String> {
    serde_json::from_str(text).map_err(|_| "must be JSON; a string needs double quotes".to_owned())
}

fn parse_key(text: &str) -> Result<String, String> {
    let is_valid = (1..=IDEMPOTENCY_KEY_BYTES).contains(&text.len())
        && text.bytes().all(|byte| (b' '..=b'~').contains(&byte));
    let refused =
        || format!("idempotency key: must be 1 to {IDEMPOTENCY_KEY_BYTES} printable ASCII characters");
    is_valid.then(|| text.to_owned()).ok_or_else(refused)
}

pub(super) async fn run(arguments: PostArguments, session: &mut Session<'_>) -> Result<()> {
    let PostArguments { topic, event, idempotency_key, lines } = arguments;
    if let Some(file) = &lines.file {
        return sending::run(&topic, file, &lines, idempotency_key, session).await;
    }
    let key = idempotency_key.map_or(PostKey::None, PostKey::Given);
    show_event(session.api.topic(&topic).post_under(&key, &event), session).await
}
