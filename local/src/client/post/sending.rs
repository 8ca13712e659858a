//! Sends the batches: one request at a time, or a few at once.

use futures_util::StreamExt;
use futures_util::stream;
use lately_client::{Answer, PostKey, Topic as TopicHandle};
use lately_keys::Topic;
use lately_keys::limits::IDEMPOTENCY_KEY_BYTES;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::path::Path;
use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::client::access::MANY;
use crate::client::post::LineArguments;
use crate::client::post::batch::LineBatch;
use crate::client::post::lines::Lines;
use crate::client::post::progress::Progress;
use crate::client::session::Session;
use crate::counted::counted;
use crate::failure::Failure;

/// The most bytes of a run's key: `@` and a line number are appended to it.
const KEY_BYTES: usize = IDEMPOTENCY_KEY_BYTES - 1 - 20;

/// The accepted events of a batch. They stay JSON text.
#[derive(Debug, Deserialize)]
struct Accepted {
    events: Vec<Box<RawValue>>,
}

/// A batch and its response, or why no batch could be read.
type Sent = Result<(LineBatch, Result<Answer<Accepted>, Failure>), Failure>;

pub(super) async fn run(
    topic: &Topic,
    file: &Path,
    arguments: &LineArguments,
    key: Option<String>,
    session: &mut Session<'_>,
) -> Result<(), Failure> {
    let lines = Lines::open(arguments, file, key.is_some())?;
    let key = key.unwrap_or_else(|| format!("{:032x}", fastrand::u128(..)));
    if key.len() > KEY_BYTES {
        return Err(Failure::usage(format!(
            "--idempotency-key may have at most {KEY_BYTES} characters with --file"
        )));
    }
    let topic = session.api.using(|options| options.attempts = MANY).topic(topic);
    let mut progress = Progress::begun(Instant::now(), arguments.quiet, arguments.from_line);
    // After a failure nothing more is read or sent, and the requests under way are awaited.
    let (running, stopped) = oneshot::channel::<()>();
    let (mut running, mut why) = (Some(running), None);
    let batches = stream::unfold(lines, async |mut lines| Some((lines.next().await?, lines)));
    let batches = batches.take_until(stopped);
    let sending = batches.map(async |batch| {
        let batch = batch?;
        let answer = send(&topic, &key, &batch).await;
        Ok((batch, answer))
    });
    let mut sent = Box::pin(sending.buffered(arguments.parallel.into()));
    while let Some(done) = sent.next().await {
        // The command reports the first failure.
        if let Err(failure) = note(done, &mut progress, session) {
            why.get_or_insert(failure);
            running = None;
        }
    }
    drop((sent, running));
    progress.end(Instant::now(), session.terminal.stderr)?;
    match why {
        Some(why) => {
            let accepted = counted(progress.events, "event");
            let options = progress.continuation(&key, arguments.to_line);
            let hint = format!("to continue, run again with {options} (no event is written twice)");
            Err(Failure::new(why.code(), format!("{why}\n{accepted} accepted; {hint}")))
        }
        None if progress.events == 0 => session.terminal.log("there was no line to post"),
        None => Ok(()),
    }
}

/// Sends a batch with the key of its first line. Faults of an error response get their line numbers.
async fn send(topic: &TopicHandle, key: &str, batch: &LineBatch) -> Result<Answer<Accepted>, Failure> {
    let key = PostKey::Given(format!("{key}@{}", batch.span().0));
    let answer = topic.post_lines(&key, batch.body.clone()).reading().answer().await;
    Ok(answer.map_err(|mut problem| {
        batch.locate(&mut problem);
        problem
    })?)
}

/// Notes the result of a batch, or of reading one.
fn note(sent: Sent, progress: &mut Progress, session: &mut Session<'_>) -> Result<(), Failure> {
    let (batch, answer) = sent?;
    progress.rest = batch.span().1 + 1;
    let answer = answer.inspect_err(|_| {
        progress.open.push(batch.span());
        progress.is_cut |= batch.is_cut;
    })?;
    let events = u64::try_from(batch.numbers.len()).expect("some hundreds");
    progress.add(events, answer.replayed, Instant::now(), session.terminal.stderr)?;
    if session.json {
        answer.value.events.iter().try_for_each(|event| session.terminal.print_json(event.get()))?;
    }
    session.log_cost(&answer.response)
}
