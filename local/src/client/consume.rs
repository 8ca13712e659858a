//! `lately consume`: a topic's events as lines, over HTTP.
//!
//! A batch is committed after its lines are written and flushed. If the command stops in between, the next run prints
//! the batch again: every event is printed at least once.

use std::io::Write;
use std::time::Duration;

use lately_client::Token;
use lately_keys::{Consumer, Topic};
use lately_model::Start;
use reqwest::StatusCode;
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;

use crate::client::Failure;
use crate::client::access::{Api, ApiAddress, MANY};
use crate::client::text::json_line;
use crate::counted::counted;
use crate::time_argument::parse_start;

/// The pause between polls when nothing is new: each poll writes an item of the table, also when it finds nothing.
const PAUSE: Duration = Duration::from_secs(2);

/// Print a topic's events, one per line, from a consumer's position on
#[derive(Clone, Debug, clap::Args)]
pub struct ConsumeOptions {
    /// The topic
    topic: Topic,

    /// The consumer's name; the server stores its position
    name: Consumer,

    #[command(flatten)]
    address: ApiAddress,

    /// A token with the scope consume
    #[arg(long, env = "LATELY_TOKEN", value_name = "TOKEN", default_value = "dev", hide_env_values = true)]
    token: Token,

    /// At the end, wait for new events
    #[arg(long)]
    follow: bool,

    /// The position at which a new consumer starts: earliest, latest, a time, or the time since then, such as 1h
    #[arg(long, value_name = "START", default_value = "earliest", value_parser = parse_start)]
    from: Start,
}

/// The most events of a poll; a response has at most 2.5 MB in any case.
const LIMIT: u16 = 1000;

/// A batch. Its events stay JSON text.
#[derive(Debug, Deserialize)]
struct PollResponse<'a> {
    batch: Option<Box<str>>,
    #[serde(borrow)]
    events: Vec<&'a RawValue>,
    #[serde(borrow)]
    late: Vec<&'a RawValue>,
    caught_up: bool,
}

/// Prints events until there are no more, or for ever with `--follow`.
pub async fn run(
    options: ConsumeOptions,
    stdout: &mut (impl Write + Send),
    stderr: &mut (impl Write + Send),
) -> Result<(), Failure> {
    let ConsumeOptions { topic, name, address, token, follow, from } = options;
    let mut api = Api::at(address, &token, MANY)?;
    let consumer = api.consumer(&topic, &name);
    let made = api.ask(consumer.put(&json!({ "start": from }))).await?;
    if made.response.status == StatusCode::CREATED {
        writeln!(stderr, "created the consumer {name} of {topic}, at {from}")?;
    }
    let settle_seconds = made.value.settle_seconds.get();
    let (mut events, mut late) = (0, 0);
    loop {
        let poll = consumer.poll(&json!({ "limit": LIMIT })).reading::<Box<RawValue>>();
        let answer = api.ask(poll).await?;
        let polled: PollResponse<'_> = serde_json::from_str(answer.value.get())?;
        for event in polled.late.iter().chain(&polled.events) {
            writeln!(stdout, "{}", json_line(event.get()))?;
        }
        stdout.flush()?;
        if let Some(batch) = &polled.batch {
            api.ask(consumer.commit(batch)).await?;
        }
        events += polled.events.len() as u64;
        late += polled.late.len();
        if polled.caught_up {
            if !follow {
                let next = match (events, late) {
                    // A newcomer who has just posted wonders where the events are.
                    (0, 0) if settle_seconds > 0 => {
                        format!("events younger than {settle_seconds} s wait for the next run of {name}")
                    }
                    _ => format!("the next run of {name} continues after them"),
                };
                writeln!(stderr, "{}, {late} late; {next}", counted(events, "event"))?;
                return Ok(());
            }
            tokio::time::sleep(PAUSE).await;
        }
    }
}
