//! `lately consume`: a topic's events as lines, over HTTP.
//!
//! A batch is committed after its lines are written and flushed. If the command stops in between, the next run prints
//! the batch again: every event is printed at least once.

use std::time::Duration;

use lately_keys::{Consumer, Topic};
use lately_model::Start;
use reqwest::StatusCode;
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;

use crate::client::access::{ApiAddress, MANY};
use crate::counted::counted;
use crate::failure::Result;
use crate::terminal::Terminal;
use crate::time_argument::parse_time;

/// The pause between polls when nothing is new: each poll writes an item of the table, also when it finds nothing.
const PAUSE: Duration = Duration::from_secs(2);

/// Print a topic's events, one per line, from a consumer's position on (scope consume)
#[derive(Clone, Debug, clap::Args)]
pub struct ConsumeOptions {
    /// The topic
    topic: Topic,

    /// The consumer's name; the server stores its position
    name: Consumer,

    #[command(flatten)]
    address: ApiAddress,

    /// At the end, wait for new events
    #[arg(long)]
    follow: bool,

    /// The position at which a new consumer starts: earliest, latest, a time, or the time since then, such as 1h
    #[arg(long, value_name = "START", default_value = "earliest", value_parser = parse_time::<Start>)]
    from: Start,
}

/// The most events of a poll; a response has at most 2.5 MB in any case.
const LIMIT: u16 = 1000;

/// A batch. Its events stay JSON text.
#[derive(Debug, Deserialize)]
struct PollResponse {
    batch: Option<String>,
    events: Vec<Box<RawValue>>,
    late: Vec<Box<RawValue>>,
    caught_up: bool,
}

/// Prints events until there are no more, or for ever with `--follow`.
pub(crate) async fn run(options: ConsumeOptions, mut terminal: Terminal<'_>) -> Result<()> {
    let ConsumeOptions { topic, name, address, follow, from } = options;
    let api = address.client(MANY)?;
    let consumer = api.topic(&topic).consumer(&name);
    let made = consumer.put(&json!({ "start": from })).answer().await?;
    if made.response.status == StatusCode::CREATED {
        terminal.log(format_args!("created the consumer {name} of {topic}, at {from}"))?;
    }
    let settle_seconds = made.value.settle_seconds.get();
    let (mut events, mut late) = (0, 0);
    loop {
        let poll = consumer.poll(&json!({ "limit": LIMIT })).reading::<PollResponse>();
        let polled = poll.await?;
        for event in polled.late.iter().chain(&polled.events) {
            terminal.print_json(event.get())?;
        }
        terminal.stdout.flush()?;
        if let Some(batch) = &polled.batch {
            consumer.commit(batch).await?;
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
                return terminal.log(format_args!("{}, {late} late; {next}", counted(events, "event")));
            }
            tokio::time::sleep(PAUSE).await;
        }
    }
}
