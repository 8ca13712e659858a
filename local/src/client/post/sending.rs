//! Sends the batches, one request at a time.

use lately_client::{PostKey, Topic as TopicHandle};
use lately_keys::Topic;
use lately_keys::limits::IDEMPOTENCY_KEY_BYTES;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::path::Path;
use tokio::time::Instant;

use crate::client::access::MANY;
use crate::client::post::LineArguments;
use crate::client::post::lines::Lines;
use crate::client::post::progress::Progress;
use crate::client::session::Session;
use crate::counted::counted;
use crate::failure::{Failure, Result};

/// The most bytes of a run's key: `@` and a line number are appended to it.
const KEY_BYTES: usize = IDEMPOTENCY_KEY_BYTES - 1 - 20;

/// The accepted events of a batch. They stay JSON text.
#[derive(Debug, Deserialize)]
struct Accepted {
    events: Vec<Box<RawValue>>,
}

pub(super) async fn run(
    topic: &Topic,
    file: &Path,
    arguments: &LineArguments,
    key: Option<String>,
    session: &mut Session<'_>,
) -> Result<()> {
    let mut lines = Lines::open(arguments, file, key.is_some())?;
    let key = key.unwrap_or_else(|| format!("{:032x}", fastrand::u128(..)));
    if key.len() > KEY_BYTES {
        return Err(Failure::usage(format!(
            "--idempotency-key may have at most {KEY_BYTES} characters with --file"
        )));
    }
    let topic = session.api.using(|options| options.attempts = MANY).topic(topic);
    let mut progress = Progress::begun(Instant::now(), arguments.quiet, arguments.from_line);
    let sent = send_all(&mut lines, &topic, &key, &mut progress, session).await;
    progress.end(Instant::now(), session.terminal.stderr)?;
    match sent {
        Err(why) => {
            let accepted = counted(progress.events, "event");
            let hint = match why.problem() {
                Some(problem) if problem.code == "idempotency-key-reused" => {
                    "the lines have changed since the run with this key".to_owned()
                }
                _ => {
                    let options = progress.continuation(&key, arguments.to_line);
                    format!("to continue, run again with {options} (no event is written twice)")
                }
            };
            Err(Failure::new(why.code(), format!("{why}\n{accepted} accepted; {hint}")))
        }
        Ok(()) if progress.events == 0 => session.terminal.log("there was no line to post"),
        Ok(()) => Ok(()),
    }
}

/// Sends the batches, each with the key of its first line, up to the first that fails.
async fn send_all(
    lines: &mut Lines,
    topic: &TopicHandle,
    key: &str,
    progress: &mut Progress,
    session: &mut Session<'_>,
) -> Result<()> {
    while let Some(batch) = lines.next().await.transpose()? {
        progress.begin(&batch);
        let key = PostKey::Given(format!("{key}@{}", batch.span().0));
        let answer = topic.post_lines(&key, batch.body.clone()).reading::<Accepted>().answer().await;
        let answer = answer.map_err(|mut problem| {
            // Faults of an error response get their line numbers.
            batch.locate(&mut problem);
            problem
        })?;
        progress.add(&batch, answer.replayed, Instant::now(), session.terminal.stderr)?;
        if session.json {
            answer.value.events.iter().try_for_each(|event| session.terminal.print_json(event.get()))?;
        }
        session.log_cost(&answer.response)?;
    }
    Ok(())
}
