//! `lately consume`: a topic's events as lines, over HTTP.
//!
//! A batch is committed when its lines are written and flushed. What is stopped in between prints the batch again when it
//! is started again: at least once, and nothing is left out.

use std::borrow::Cow;
use std::io::Write;
use std::time::Duration;

use lately_keys::{Consumer, Topic};
use lately_kit::token::Token;
use lately_model::{Start, StartError};
use reqwest::{Method, StatusCode};
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;

use crate::remote::{Place, Remote, Reply, parse_token};

/// The waits between a request's attempts, if it fails for a while: six seconds in all.
const WAITS_MILLIS: [u64; 5] = [200, 400, 800, 1_600, 3_200];

/// How long one who follows waits when there is nothing: a poll writes an item of the table, also when it finds nothing.
const PAUSE: Duration = Duration::from_secs(2);

/// Print a topic's events as they come, each line an event, from where one is
#[derive(Clone, Debug, clap::Args)]
pub struct ConsumeOptions {
    /// The topic
    topic: Topic,

    /// The consumer's name: it remembers the place
    name: Consumer,

    #[command(flatten)]
    place: Place,

    /// A token with the scope consume
    #[arg(long, env = "LATELY_TOKEN", value_name = "TOKEN", default_value = "dev", hide_env_values = true, value_parser = parse_token)]
    token: Token,

    /// Wait for more at the end
    #[arg(long)]
    follow: bool,

    /// Where a consumer begins that is not there yet: earliest, latest or a time
    #[arg(long, value_name = "START", default_value = "earliest", value_parser = parse_start)]
    from: String,
}

/// The limit of a poll; an answer has at most 3 MB in any case.
const LIMIT: u16 = 1000;

/// Why events could not be printed.
#[derive(Debug, thiserror::Error)]
pub enum ConsumeError {
    /// The API cannot be reached.
    #[error("{0}\nIs the API there? --url says where it is.")]
    Unreachable(#[from] reqwest::Error),
    /// It does not do what it is asked.
    #[error("{status} {code}: {detail}")]
    Refused {
        /// The answer's status.
        status: StatusCode,
        /// The problem's code.
        code: String,
        /// What it says.
        detail: String,
    },
    /// An answer is none of this API's.
    #[error("the answer is not what it should be: {0}")]
    Foreign(#[from] serde_json::Error),
    /// Nothing could be printed.
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

/// A batch, its events as the text that they are.
#[derive(Debug, Deserialize)]
struct Polled<'a> {
    batch: Option<Box<str>>,
    #[serde(borrow)]
    events: Vec<&'a RawValue>,
    #[serde(borrow)]
    late: Vec<&'a RawValue>,
    caught_up: bool,
}

/// The consumer at its API.
struct Consuming {
    remote: Remote,
    consumer: String,
    token: Token,
}

/// Prints events until there are no more, or for ever.
///
/// # Errors
/// See [`ConsumeError`].
pub async fn run(
    options: ConsumeOptions,
    out: &mut (impl Write + Send),
    told: &mut (impl Write + Send),
) -> Result<(), ConsumeError> {
    let ConsumeOptions { topic, name, place, token, follow, from } = options;
    let consumer = format!("/topics/{topic}/consumers/{name}");
    let consuming = Consuming { remote: Remote::at(place)?, consumer, token };
    consuming.ask(Method::PUT, "", json!({ "start": from }).to_string()).await?;
    let (mut events, mut late) = (0, 0);
    loop {
        let answer = consuming.ask(Method::POST, "/poll", json!({ "limit": LIMIT }).to_string()).await?;
        let polled: Polled<'_> = serde_json::from_slice(&answer)?;
        for event in polled.late.iter().chain(&polled.events) {
            writeln!(out, "{}", line(event.get()))?;
        }
        out.flush()?;
        if let Some(batch) = &polled.batch {
            consuming.ask(Method::POST, "/commit", json!({ "batch": batch }).to_string()).await?;
        }
        events += polled.events.len();
        late += polled.late.len();
        if polled.caught_up || polled.batch.is_none() {
            if !follow {
                writeln!(told, "{events} events, {late} late")?;
                return Ok(());
            }
            tokio::time::sleep(PAUSE).await;
        }
    }
}

impl Consuming {
    /// An answer's body. Everything that is asked here may be asked again.
    async fn ask(&self, method: Method, operation: &str, body: String) -> Result<Vec<u8>, ConsumeError> {
        for wait in WAITS_MILLIS {
            match self.ask_once(&method, operation, &body).await {
                Err(error) if is_passing(&error) => tokio::time::sleep(Duration::from_millis(wait)).await,
                answer => return answer,
            }
        }
        self.ask_once(&method, operation, &body).await
    }

    async fn ask_once(&self, method: &Method, operation: &str, body: &str) -> Result<Vec<u8>, ConsumeError> {
        let target = format!("{}{operation}", self.consumer);
        let request = self.remote.request(method.clone(), &target, Some(&self.token));
        let request = request.header("content-type", "application/json").body(body.to_owned());
        let reply = Reply::to(request).await?;
        if reply.status.is_success() {
            return Ok(reply.body);
        }
        let problem = reply.problem();
        let detail = problem.text().to_owned();
        Err(ConsumeError::Refused { status: reply.status, code: problem.code, detail })
    }
}

/// Whether what failed may well succeed in a moment.
fn is_passing(error: &ConsumeError) -> bool {
    match error {
        ConsumeError::Unreachable(error) => !error.is_builder(),
        ConsumeError::Refused { status, .. } => {
            status.is_server_error() || *status == StatusCode::TOO_MANY_REQUESTS
        }
        ConsumeError::Foreign(_) | ConsumeError::Io(_) => false,
    }
}

/// JSON on one line. A line break can only stand between its tokens: inside a text it is escaped.
fn line(json: &str) -> Cow<'_, str> {
    if json.contains(['\n', '\r']) { json.replace(['\n', '\r'], " ").into() } else { json.into() }
}

fn parse_start(text: &str) -> Result<String, StartError> {
    text.parse::<Start>().map(|_| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_one_line_and_the_same_json() {
        let json = "{\"a\":\r\n [1,\n2.50],\"b\":\"\\n\"}";
        assert_eq!(line(json), "{\"a\":   [1, 2.50],\"b\":\"\\n\"}");
        assert_eq!(line("{}"), "{}");
    }
}
