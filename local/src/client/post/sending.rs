//! Sends the batches: one request at a time, or a few at once.

use futures_util::StreamExt;
use futures_util::stream;
use lately_client::{Answer, PostKey, Topic as TopicHandle};
use lately_keys::Topic;
use lately_keys::limits::IDEMPOTENCY_KEY_BYTES;
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::client::access::{Access, Api, MANY};
use crate::client::failure::Failure;
use crate::client::post::batch::LineBatch;
use crate::client::post::lines::{Lines, Source};
use crate::client::post::progress::Progress;
use crate::client::post::{LineArguments, Stopped};
use crate::client::session::{Session, Terminal};

/// The most bytes of a run's key: `@` and a line number are appended to it.
const KEY_BYTES: usize = IDEMPOTENCY_KEY_BYTES - 1 - 20;

/// The accepted events of a batch.
#[derive(Debug, Deserialize)]
struct Accepted<'a> {
    #[serde(borrow)]
    events: Vec<&'a RawValue>,
}

/// A post of lines that is under way.
struct Run<'a> {
    session: Session<'a>,
    progress: Progress,
    /// The number of accepted events.
    accepted: u64,
    /// The first and the last line of each batch that is not known to be accepted.
    open: Vec<(u64, u64)>,
    /// The first line that was not sent.
    rest: u64,
    /// The first failure.
    why: Option<Failure>,
}

pub(super) async fn run(
    topic: &Topic,
    arguments: LineArguments,
    key: Option<String>,
    access: Access,
    terminal: Terminal<'_>,
) -> Result<(), Failure> {
    let LineArguments { file, from_line, to_line, parallel, quiet } = arguments;
    let source = Source {
        file: file.unwrap_or_default(),
        from: from_line,
        to: to_line.unwrap_or(u64::MAX),
        repeatable: key.is_some(),
    };
    let key = key.unwrap_or_else(|| format!("{:032x}", fastrand::u128(..)));
    if key.len() > KEY_BYTES {
        return Err(Failure::Usage(format!(
            "--idempotency-key may have at most {KEY_BYTES} characters with --file"
        )));
    }
    let lines = Lines::open(&source)?;
    let mut api = Api::at(access.address.clone(), &access.token, MANY)?;
    let topic = api.topic(topic);
    let mut run = Run {
        session: terminal.open(access)?,
        progress: Progress::begun(Instant::now(), quiet),
        accepted: 0,
        open: Vec::new(),
        rest: from_line,
        why: None,
    };
    // After a failure nothing more is read or sent, and the requests under way are awaited.
    let (running, stopped) = oneshot::channel::<()>();
    let mut running = Some(running);
    let batches = stream::unfold(lines, async |mut lines| Some((lines.next().await?, lines)));
    let batches = batches.take_until(stopped);
    let sending = batches.map(async |batch| {
        let mut batch = batch?;
        let answer = send(&api, &topic, &key, &mut batch).await;
        Ok((batch, answer))
    });
    let mut sent = Box::pin(sending.buffered(parallel.into()));
    while let Some(done) = sent.next().await {
        // The command reports the first failure.
        if let Err(failure) = run.note(done) {
            run.why.get_or_insert(failure);
            running = None;
        }
    }
    drop((sent, running));
    run.end(key)
}

/// The answer to a batch: the text of its response.
type Posted = Answer<Box<RawValue>>;

/// Sends a batch with the key of its first line. Faults of an error response get their line numbers.
async fn send(api: &Api, topic: &TopicHandle, key: &str, batch: &mut LineBatch) -> Result<Posted, Failure> {
    let key = PostKey::Given(format!("{key}@{}", batch.span().0));
    let mut answer = api.ask(topic.post_lines(&key, batch.body.clone()).reading()).await;
    if let Err(Failure::Refused(refusal)) = &mut answer {
        batch.locate(refusal);
    }
    answer
}

impl Run<'_> {
    /// Notes the result of a batch, or of reading one.
    fn note(&mut self, done: Result<(LineBatch, Result<Posted, Failure>), Failure>) -> Result<(), Failure> {
        let (batch, answer) = done?;
        self.rest = batch.span().1 + 1;
        match answer {
            Ok(answer) => self.count(&batch, &answer),
            Err(failure) => {
                self.open.push(batch.span());
                Err(failure)
            }
        }
    }

    fn count(&mut self, batch: &LineBatch, answer: &Posted) -> Result<(), Failure> {
        let events = u64::try_from(batch.len()).expect("some hundreds");
        self.accepted += events;
        if self.session.json {
            let Accepted { events } = serde_json::from_str(answer.value.get())?;
            events.iter().try_for_each(|event| self.session.print_json(event.get()))?;
        }
        self.session.log_cost(&answer.response)?;
        if answer.replayed {
            self.progress.add_replayed(events);
        }
        Ok(self.progress.add(events, Instant::now(), self.session.terminal.stderr)?)
    }

    fn end(mut self, key: String) -> Result<(), Failure> {
        self.progress.end(Instant::now(), self.session.terminal.stderr)?;
        if self.accepted == 0 && self.why.is_none() {
            self.session.log("there was no line to post")?;
        }
        let Self { accepted, open, rest, why, .. } = self;
        match why {
            None => Ok(()),
            Some(why) => Err(Stopped { why, accepted, open, rest, key }.into()),
        }
    }
}
