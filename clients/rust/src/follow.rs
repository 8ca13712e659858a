//! Follows a timeline: each event once, from a position on, through cut connections.
//!
//! A server that cannot stream (404 `route-not-found`) is polled with oldest-first pages; a server that cannot wait for
//! events (400 `invalid-query` about `wait`) is polled again and again. The client remembers both.

use std::collections::{HashSet, VecDeque};
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use futures_util::{StreamExt, TryStreamExt, stream};
use lately_keys::EventId;
use lately_model::{Page, PageSize};
use serde::de::{DeserializeOwned, IgnoredAny};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use sse_stream::SseStream;

use crate::problem::Problem;
use crate::request::Request;
use crate::response::Response;
use crate::transport::Transport;
use crate::{Result, Stream};

/// Sees how a follow fares: a temporary problem that interrupts it, and `None` once it reads again.
pub(crate) type OnInterruption = Arc<dyn Fn(Option<&Problem>) + Send + Sync>;

/// The start and the filters of a follow.
#[derive(Clone, Default)]
pub struct FollowOptions {
    /// The position to start after: the `cursor` of a followed event, or the `newer` of a page. The default is now.
    pub cursor: Option<String>,
    /// Events of this type.
    pub event_type: Option<String>,
    /// On timelines of actors and subjects: events of this topic.
    pub topic: Option<String>,
    /// Sees a temporary problem that interrupts the follow, and `None` once it reads again.
    pub on_interruption: Option<OnInterruption>,
}

impl fmt::Debug for FollowOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { cursor, event_type, topic, .. } = self;
        f.debug_tuple("FollowOptions").field(&(cursor, event_type, topic)).finish()
    }
}

/// An event that came.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Followed<E> {
    /// The event.
    pub event: E,
    /// Store this position to go on after this event later. Absent only for late events at the very beginning.
    pub cursor: Option<String>,
    /// True if the event arrived behind the position, as imports do.
    pub late: bool,
}

/// The longest wait of a page for events.
const WAIT_SECONDS: u64 = 20;

/// After a cut, a server repeats the late events of the last minute, whose ids may be of any time. These are the ids of
/// a minute with 1,000 events a second.
const REMEMBERED_IDS: usize = 65_536;

/// A step of a stream or of polling: an event, or only a new position.
struct Step {
    cursor: Option<String>,
    event: Option<Box<RawValue>>,
    late: bool,
}

impl Step {
    fn position(cursor: Option<String>) -> Self {
        Self { cursor, event: None, late: false }
    }
}

/// A follow that is under way.
struct Follower {
    transport: Transport,
    live: Request,
    page: Request,
    cursor: Option<String>,
    seen: SeenIds,
    /// The steps of the current connection.
    steps: Option<Stream<Step>>,
    is_connected: bool,
    is_interrupted: bool,
    /// The failures since the last step.
    failures: u32,
    on_interruption: Option<OnInterruption>,
}

pub(crate) fn follow<E: DeserializeOwned + Send + 'static>(
    transport: Transport,
    live: Request,
    page: Request,
    cursor: Option<String>,
    on_interruption: Option<OnInterruption>,
) -> Stream<Followed<E>> {
    let follower = Follower {
        transport,
        live,
        page,
        cursor,
        seen: SeenIds::default(),
        steps: None,
        is_connected: false,
        is_interrupted: false,
        failures: 0,
        on_interruption,
    };
    Box::pin(stream::try_unfold(follower, async |mut follower| {
        let next = follower.next().await;
        let (event, late) = next.map_err(|problem| follower.transport.of(&follower.live, problem))?;
        let event = read(&event)?;
        Ok(Some((Followed { event, cursor: follower.cursor.clone(), late }, follower)))
    }))
}

impl Follower {
    /// The next event, and whether it is late. After the first success this has no bound, because a follower outlives
    /// outages: its user drops the stream.
    async fn next(&mut self) -> Result<(Box<RawValue>, bool)> {
        loop {
            let streams = self.transport.shared.streams.load(Relaxed);
            let mut steps = self.steps.take().unwrap_or_else(|| self.connect(streams));
            let problem = match steps.try_next().await {
                Ok(Some(Step { cursor, event, late })) => {
                    self.steps = Some(steps);
                    self.cursor = cursor;
                    (self.is_connected, self.failures) = (true, 0);
                    self.note(None);
                    match event {
                        Some(event) if self.seen.add(read::<Named>(&event)?.id) => return Ok((event, late)),
                        _ => continue,
                    }
                }
                Ok(None) => None,
                Err(problem) if streams && problem.code == "route-not-found" => {
                    self.transport.shared.streams.store(false, Relaxed);
                    continue;
                }
                Err(problem) => {
                    // A poll has made its attempts already.
                    let attempts = if streams { self.transport.options.attempts } else { 1 };
                    if !problem.is_temporary() || (!self.is_connected && self.failures + 1 >= attempts) {
                        return Err(problem);
                    }
                    let problem = self.transport.of(&self.live, problem);
                    self.note(Some(&problem));
                    Some(problem)
                }
            };
            self.failures = self.failures.saturating_add(1);
            self.transport.pause(self.failures, problem.and_then(|problem| problem.retry_after)).await;
        }
    }

    fn connect(&self, streams: bool) -> Stream<Step> {
        let (transport, cursor) = (self.transport.clone(), self.cursor.clone());
        if streams {
            Box::pin(stream::once(open(transport, self.live.clone(), cursor)).try_flatten())
        } else {
            poll(transport, self.page.clone(), cursor)
        }
    }

    /// Notes that a temporary problem interrupts the follow, or that the follow reads again.
    fn note(&mut self, problem: Option<&Problem>) {
        let was_interrupted = std::mem::replace(&mut self.is_interrupted, problem.is_some());
        if was_interrupted != problem.is_some()
            && let Some(on_interruption) = &self.on_interruption
        {
            on_interruption(problem);
        }
    }
}

/// Opens a connection to the live route. It ends after some minutes, or when it is cut.
async fn open(transport: Transport, live: Request, cursor: Option<String>) -> Result<Stream<Step>> {
    // A compressed stream may stay in a buffer.
    let request = live.parameter("cursor", cursor.as_deref()).header("accept-encoding", "identity");
    let url = transport.options.live_url.as_ref().unwrap_or(&transport.options.url);
    let response = transport.open(&request, 1, url).await?;
    let (status, headers) = (response.status(), response.headers().clone());
    if !status.is_success() {
        let body = response.bytes().await.map_err(Problem::unreachable)?.into();
        return Err(Box::new(Response { status, headers, body }.problem()));
    }
    let frames = Box::pin(SseStream::new(reqwest::Body::from(response)));
    Ok(Box::pin(stream::try_unfold(
        (transport, frames, cursor),
        async |(transport, mut frames, mut cursor)| {
            loop {
                let Some(frame) = heard(&transport, &mut frames).await? else { return Ok(None) };
                let is_position = frame.id.is_some();
                cursor = frame.id.or(cursor);
                let data = frame.data.unwrap_or_default();
                let step = match frame.event.as_deref() {
                    Some("problem") => return Err(Box::new(Problem::of_stream(&data))),
                    Some(kind @ ("event" | "late")) => {
                        let event =
                            RawValue::from_string(data).map_err(|error| Problem::foreign(200, &error))?;
                        Step { cursor: cursor.clone(), event: Some(event), late: kind == "late" }
                    }
                    _ if is_position => Step::position(cursor.clone()),
                    _ => continue,
                };
                return Ok(Some((step, (transport, frames, cursor))));
            }
        },
    )))
}

/// The next frame. The server sends something every 15 seconds, so a connection that is silent for longer is dead.
async fn heard(
    transport: &Transport,
    frames: &mut Pin<Box<SseStream<reqwest::Body>>>,
) -> Result<Option<sse_stream::Sse>> {
    let time = transport.options.timeout;
    let frame = tokio::time::timeout(time, frames.next()).await.map_err(|_| Problem::silent(time))?;
    let cut = |error: sse_stream::Error| Box::new(Problem::new(0, "unreachable", error.to_string()));
    frame.transpose().map_err(cut)
}

/// The steps of polling.
fn poll(transport: Transport, page: Request, cursor: Option<String>) -> Stream<Step> {
    let state = (transport, page, cursor, VecDeque::new(), false);
    Box::pin(stream::try_unfold(state, async |(transport, page, mut cursor, mut steps, mut is_caught_up)| {
        let waits = &transport.shared.waits;
        loop {
            if let Some(step) = steps.pop_front() {
                return Ok(Some((step, (transport, page, cursor, steps, is_caught_up))));
            }
            let Some(position) = &cursor else {
                let newest: Page<IgnoredAny> =
                    transport.call(page.clone().parameter("limit", Some("1"))).await?;
                cursor = Some(newest.newer.ok_or_else(|| {
                    Problem::new(200, "invalid-response", "The newest page has no cursor of newer events.")
                })?);
                steps.push_back(Step::position(cursor.clone()));
                continue;
            };
            if is_caught_up && !waits.load(Relaxed) {
                tokio::time::sleep(transport.options.poll_every).await;
            }
            let wait = (transport.options.timeout.as_secs() / 2).min(WAIT_SECONDS).to_string();
            let wait = waits.load(Relaxed).then_some(&*wait);
            let limit = PageSize::MAX.get().to_string();
            let request = page.clone().parameter("cursor", Some(position)).parameter("limit", Some(&limit));
            let read: Page<Box<RawValue>> = match transport.call(request.parameter("wait", wait)).await {
                Err(problem) if wait.is_some() && cannot_wait(&problem) => {
                    waits.store(false, Relaxed);
                    continue;
                }
                read => read?,
            };
            if read.newer.is_some() {
                let detail = "The cursor is of a newest-first walk.";
                return Err(Box::new(Problem::new(400, "invalid-cursor", detail)));
            }
            is_caught_up = !read.has_more;
            // The page's own cursor is behind all of its events, so only the last event may carry it.
            let before = std::mem::replace(&mut cursor, read.next);
            let step = |event| Step { cursor: before.clone(), event: Some(event), late: false };
            steps.extend(read.events.into_iter().map(step));
            match steps.back_mut() {
                Some(last) => last.cursor.clone_from(&cursor),
                None => steps.push_back(Step::position(cursor.clone())),
            }
        }
    }))
}

fn cannot_wait(problem: &Problem) -> bool {
    problem.code == "invalid-query" && problem.errors.iter().any(|fault| fault.path == "/wait")
}

fn read<'a, T: Deserialize<'a>>(json: &'a RawValue) -> Result<T> {
    serde_json::from_str(json.get()).map_err(|error| Problem::foreign(200, &error))
}

/// An event's id.
#[derive(Deserialize)]
struct Named {
    id: EventId,
}

/// The ids that may come again: the last [`REMEMBERED_IDS`], and at most twice as many.
#[derive(Debug, Default)]
struct SeenIds {
    newer: HashSet<EventId>,
    older: HashSet<EventId>,
}

impl SeenIds {
    /// Adds an id, and says whether it is new.
    fn add(&mut self, id: EventId) -> bool {
        if self.older.contains(&id) || !self.newer.insert(id) {
            return false;
        }
        if self.newer.len() == REMEMBERED_IDS {
            self.older = std::mem::take(&mut self.newer);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_ids_are_remembered_and_at_most_twice_as_many() {
        let id = |n: usize| format!("019aa0b7-9a40-7000-8000-{n:012x}").parse::<EventId>().unwrap();
        let mut seen = SeenIds::default();
        let ids = 3 * REMEMBERED_IDS + 7;
        assert!((0..ids).all(|n| seen.add(id(n))));
        assert!((ids - REMEMBERED_IDS..ids).all(|n| !seen.add(id(n))));
        assert!(seen.add(id(ids - 2 * REMEMBERED_IDS)));
    }
}
