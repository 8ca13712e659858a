//! The body of a stream: server-sent events, as the WHATWG's HTML standard describes them.
//!
//! ```text
//! event: event        an event, with the settled position as its id
//! event: late         an event that arrived behind the settled position
//! event: settled      the settled position alone, at least every 15 s
//! event: problem      why the stream ends, if it ends in an error
//! ```
//!
//! A client that connects again with the last id (`Last-Event-ID`) misses nothing. So a stream may end at any time, and
//! ends by itself before the function's time is over.

use std::convert::Infallible;
use std::fmt::Write;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::http::{HeaderName, HeaderValue};
use axum::response::IntoResponse;
use futures_util::stream;
use lately_kit::answer::EventStream;
use lately_kit::problem::Problem;
use lately_kit::quota::Permission;
use lately_model::TimelineEvent;
use lately_store::{LiveFollower, LiveMessage, Units};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use crate::access::Rights;
use crate::limits::{ACCESS_EVERY, HEARTBEAT, PROBLEM_BYTES, RETRY_MILLIS};

/// One client's stream.
pub(crate) struct LiveStream {
    follower: LiveFollower,
    /// True if the events have their topics, as on the pages of timelines and feeds.
    with_topics: bool,
    rights: Rights,
    /// True if the next page is permitted.
    is_permitted: bool,
    /// The units of the follower's pages that count among the caller's reads.
    counted: Units,
    stopped: watch::Receiver<()>,
    /// Sent before anything else.
    greeting: Option<String>,
    ends_at: Instant,
    checks_at: Instant,
    beats_at: Instant,
    is_over: bool,
}

/// The next thing for a stream to do.
enum Turn {
    Message(Result<LiveMessage, Problem>),
    Check,
    Beat,
    End,
}

impl LiveStream {
    /// A stream of the messages of a follower, for this time and for as long as the caller has access.
    pub(crate) fn new(
        follower: LiveFollower,
        with_topics: bool,
        rights: Rights,
        stopped: watch::Receiver<()>,
        time: Duration,
    ) -> Self {
        let now = Instant::now();
        Self {
            follower,
            with_topics,
            rights,
            is_permitted: false,
            counted: Units::default(),
            stopped,
            // The client sees at once that the stream is open.
            greeting: Some(format!("retry: {RETRY_MILLIS}\n\n")),
            ends_at: now + time,
            checks_at: now + ACCESS_EVERY,
            beats_at: now + HEARTBEAT,
            is_over: false,
        }
    }

    /// The response that sends the stream.
    pub(crate) fn into_response(self) -> EventStream {
        let pieces = stream::unfold(self, |mut stream| async move {
            // Boxed: the store's futures are many layers deep.
            let piece = Box::pin(stream.next()).await?;
            Some((Ok::<_, Infallible>(Bytes::from(piece)), stream))
        });
        let headers = [
            (CONTENT_TYPE, HeaderValue::from_static("text/event-stream")),
            (CACHE_CONTROL, HeaderValue::from_static("no-store")),
            // Some proxies hold a response back to fill their buffers; this header asks them not to.
            (HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no")),
        ];
        EventStream((headers, Body::from_stream(pieces)).into_response())
    }

    /// The next piece to send; `None` at the end.
    async fn next(&mut self) -> Option<String> {
        if self.is_over {
            return None;
        }
        if let Some(greeting) = self.greeting.take() {
            return Some(greeting);
        }
        loop {
            let turn = tokio::select! {
                biased;
                // An error means that the sender is gone, which also means to stop.
                _ = self.stopped.changed() => Turn::End,
                () = sleep_until(self.ends_at) => Turn::End,
                () = sleep_until(self.checks_at) => Turn::Check,
                next = next_message(&mut self.follower, &self.rights.permission, &mut self.is_permitted) => {
                    Turn::Message(next)
                }
                () = sleep_until(self.beats_at) => Turn::Beat,
            };
            // Here and not beside the other turns, because a message must not be dropped once it is taken.
            self.count_pages().await;
            let mut piece = String::new();
            match turn {
                Turn::Message(Ok(live)) => write_message(&mut piece, &live, self.with_topics),
                Turn::Beat => piece.push_str(":\n\n"),
                Turn::End => {
                    self.is_over = true;
                    self.rights.open.close().await;
                    message(&mut piece, "settled", Some(&self.follower.cursor()), "{}");
                }
                Turn::Check => match self.rights.check().await {
                    Ok(()) => {
                        self.checks_at = Instant::now() + ACCESS_EVERY;
                        continue;
                    }
                    Err(problem) => self.end_with(problem, &mut piece).await,
                },
                Turn::Message(Err(problem)) => self.end_with(problem, &mut piece).await,
            }
            self.beats_at = Instant::now() + HEARTBEAT;
            return Some(piece);
        }
    }

    /// Counts what the follower has read for this client since the last count.
    async fn count_pages(&mut self) {
        let read = self.follower.cost().read_units;
        let halves = read.halves - self.counted.halves;
        self.counted = read;
        self.rights.permission.count(Units { halves }).await;
    }

    async fn end_with(&mut self, problem: Problem, piece: &mut String) {
        self.is_over = true;
        self.rights.open.close().await;
        let body = problem.into_response().into_body();
        let body = axum::body::to_bytes(body, PROBLEM_BYTES).await.unwrap_or_default();
        message(piece, "problem", None, &String::from_utf8_lossy(&body));
    }
}

/// The follower's next message. A page that it needs for that, to catch up, counts as a read of the caller: a caller over
/// its limit waits. The page's units count once it is read ([`LiveStream::count_pages`]).
async fn next_message(
    follower: &mut LiveFollower,
    permission: &Permission,
    is_permitted: &mut bool,
) -> Result<LiveMessage, Problem> {
    if follower.needs_page() && !*is_permitted {
        permission.wait().await?;
        *is_permitted = true;
    }
    let message = follower.next().await?;
    *is_permitted = false;
    Ok(message)
}

fn write_message(piece: &mut String, live: &LiveMessage, with_topics: bool) {
    let (name, cursor, event) = match live {
        LiveMessage::Event { cursor, event } => ("event", cursor, Some(event)),
        LiveMessage::Late { cursor, event } => ("late", cursor, Some(event)),
        LiveMessage::Settled { cursor } => ("settled", cursor, None),
    };
    match event.map_or_else(|| Ok("{}".to_owned()), |event| json(event, with_topics)) {
        Ok(data) => message(piece, name, Some(cursor), &data),
        Err(error) => tracing::error!(%error, "an event of a live stream cannot be written"),
    }
}

fn json(event: &TimelineEvent, with_topic: bool) -> serde_json::Result<String> {
    if with_topic { serde_json::to_string(event) } else { serde_json::to_string(&event.event) }
}

/// Adds a message. JSON may have line breaks between its tokens, so the data may have several lines.
fn message(piece: &mut String, event: &str, id: Option<&str>, data: &str) {
    let id = id.map(|id| format!("id: {id}\n")).unwrap_or_default();
    write!(piece, "event: {event}\n{id}").expect("a string takes all text");
    for line in data.split(['\n', '\r']) {
        writeln!(piece, "data: {line}").expect("a string takes all text");
    }
    piece.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_has_a_line_for_each_line_of_its_data() {
        let mut piece = String::new();
        message(&mut piece, "event", Some("AQ"), "{\n\"a\":1}");
        message(&mut piece, "problem", None, "{}");
        assert_eq!(piece, "event: event\nid: AQ\ndata: {\ndata: \"a\":1}\n\nevent: problem\ndata: {}\n\n");
    }
}
