//! Server-sent events: a topic's events and a feed's entries as they land, and the program's state.
//!
//! Each client reads the table's stream by itself, from the stream's end at the time when it connects. Only records
//! that the stream keeps anyway wait for a slow client; a client that falls too far behind is told so, and continues
//! with the newest records.
//!
//! The data of an event is its JSON, byte for byte as a page has it. All streams end when the program stops.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::fmt::Write;
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::{RawQuery, State};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use lately_engine::stream::{EventName, Record, SequenceNumber, Stream};
use lately_keys::table::AnyKey;
use lately_keys::{EventId, Topic, User};
use lately_kit::code::Code;
use lately_kit::problem::Problem;
use lately_model::Faults;
use lately_store::decode_event;
use serde::Serialize;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use crate::serve::console::limits::{HEARTBEAT, PIECE_BYTES, RECORDS_BEHIND, STATE_INTERVAL};
use crate::serve::console::parts::ConsoleState;
use crate::serve::console::refusal::{Refusals, child, parameters};
use crate::serve::console::state::TimelessState;
use crate::serve::system::TABLE;

/// The events that a client asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Wanted {
    topic: Option<Topic>,
    feed: Option<User>,
    state: bool,
}

impl Wanted {
    fn parse(query: Option<&str>) -> Result<Self, Faults> {
        let (mut wanted, mut refusals) = (Self::default(), Refusals::default());
        for (name, value) in parameters(query) {
            match name {
                "topic" => wanted.topic = value.parse().map_err(|error| refusals.add("/topic", error)).ok(),
                "feed" => wanted.feed = value.parse().map_err(|error| refusals.add("/feed", error)).ok(),
                "state" if value == "1" => wanted.state = true,
                "state" => refusals.add("/state", "must be 1"),
                _ => refusals.unknown(child("", name)),
            }
        }
        if wanted == Self::default() {
            refusals.add("", "must name a topic, a feed or state=1");
        }
        refusals.or(wanted)
    }
}

pub(super) async fn get_live(
    State(shared): State<ConsoleState>,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    let wanted = Wanted::parse(query.as_deref());
    let wanted = wanted.map_err(|faults| Problem::of_faults(Code::InvalidQuery, faults))?;
    let table = shared.parts.system.engine.stream(TABLE);
    let table = table.ok_or_else(|| Problem::new(Code::Unavailable, "The table has no stream."))?;
    let subscription = Subscription::new(shared, table, wanted);
    let pieces = stream::unfold(subscription, async |mut subscription| {
        let piece = subscription.next().await?;
        Some((Ok::<_, Infallible>(piece), subscription))
    });
    let headers = [(CONTENT_TYPE, "text/event-stream"), (CACHE_CONTROL, "no-store")];
    Ok((headers, Body::from_stream(pieces)).into_response())
}

/// One client's stream.
struct Subscription {
    shared: ConsoleState,
    wanted: Wanted,
    table: Stream,
    changes: watch::Receiver<SequenceNumber>,
    stopped: watch::Receiver<()>,
    /// All records up to here were read.
    position: SequenceNumber,
    /// Records that were read and not yet sent, fewer than a client may be behind.
    waiting: VecDeque<Arc<Record>>,
    /// The state that was sent last.
    told: Option<TimelessState>,
    /// The time of the next read of the state.
    look: Instant,
    /// The time of the next heartbeat.
    beat: Instant,
    is_open: bool,
}

/// `{"topic","id"}`
#[derive(Serialize)]
struct Gone<'a> {
    topic: &'a Topic,
    id: EventId,
}

/// `{"user","id","gone"}`
#[derive(Serialize)]
struct Entry<'a> {
    user: &'a User,
    id: EventId,
    gone: bool,
}

impl Subscription {
    fn new(shared: ConsoleState, table: Stream, wanted: Wanted) -> Self {
        let mut changes = table.changes();
        let position = *changes.borrow_and_update();
        let stopped = shared.parts.stopped.clone();
        Self {
            shared,
            wanted,
            table,
            changes,
            stopped,
            position,
            waiting: VecDeque::new(),
            told: None,
            look: Instant::now(),
            beat: Instant::now() + HEARTBEAT,
            is_open: false,
        }
    }

    /// Waits for the next piece. `None` when the program stops.
    async fn next(&mut self) -> Option<Bytes> {
        let mut piece = String::new();
        // The client sees at once that the stream is open.
        if !std::mem::replace(&mut self.is_open, true) {
            piece.push_str(": open\n\n");
        }
        while piece.is_empty() {
            // The end and the state are checked first, so that many records cannot delay them. An error means that the
            // sender was dropped, which also means to stop.
            if self.stopped.has_changed().unwrap_or(true) {
                return None;
            }
            if self.wanted.state && self.look <= Instant::now() {
                self.look = Instant::now() + STATE_INTERVAL;
                self.tell_state(&mut piece);
            }
            self.tell_records(&mut piece);
            if !piece.is_empty() {
                break;
            }
            tokio::select! {
                biased;
                _ = self.stopped.changed() => {}
                () = sleep_until(self.beat) => piece.push_str(":\n\n"),
                () = sleep_until(self.look), if self.wanted.state => {}
                // The sender of the changes lives as long as the engine, which `self` holds.
                _ = self.changes.changed() => {}
            }
        }
        self.beat = Instant::now() + HEARTBEAT;
        Some(piece.into())
    }

    /// Adds messages about new records, until the piece is full.
    fn tell_records(&mut self, piece: &mut String) {
        if self.waiting.is_empty() {
            self.read(piece);
        }
        while piece.len() < PIECE_BYTES
            && let Some(record) = self.waiting.pop_front()
        {
            self.tell_record(&record, piece);
        }
    }

    /// Reads the new records of all shards, in the order of their sequence numbers.
    fn read(&mut self, piece: &mut String) {
        let newest = *self.changes.borrow_and_update();
        if newest.get() - self.position.get() > RECORDS_BEHIND {
            message(piece, "lost", "{}");
            self.position = newest;
            return;
        }
        let behind = usize::try_from(RECORDS_BEHIND).unwrap_or(usize::MAX);
        let read = |shard| self.table.read(shard, self.position, behind, u64::MAX).records;
        // Later records are left to the next read, which then has all records before them too.
        let records = (0..self.table.shards()).flat_map(read).filter(|record| record.sequence() <= newest);
        let mut records: Vec<_> = records.collect();
        records.sort_by_key(|record| record.sequence());
        self.waiting = records.into();
        self.position = newest;
    }

    fn tell_record(&self, record: &Record, piece: &mut String) {
        let came = match record.event() {
            EventName::Insert => true,
            EventName::Remove => false,
            EventName::Modify => return,
        };
        match key(record) {
            Some(AnyKey::Event(key)) if self.wanted.topic.as_ref() == Some(&key.partition().topic) => {
                match record.new_image().filter(|_| came).map(|item| decode_event(&item.into())) {
                    Some(Ok(event)) => tell(piece, "event", &event),
                    // A page of the API cannot show the event either.
                    Some(Err(error)) => tracing::warn!(%error, "a new event cannot be parsed"),
                    None => tell(piece, "gone", &Gone { topic: &key.partition().topic, id: key.id() }),
                }
            }
            Some(AnyKey::FeedEntry(key)) if self.wanted.feed.as_ref() == Some(&key.user) => {
                tell(piece, "feed", &Entry { user: &key.user, id: key.id, gone: !came });
            }
            _ => {}
        }
    }

    /// Adds a message with the state, if it differs from the one that was sent last.
    fn tell_state(&mut self, piece: &mut String) {
        match self.shared.state() {
            Ok(state) if self.told.as_ref() != Some(&state.rest) => {
                tell(piece, "state", &state);
                self.told = Some(state.rest);
            }
            Ok(_) => {}
            Err(error) => tracing::warn!(%error, "the state cannot be read"),
        }
    }
}

fn key(record: &Record) -> Option<AnyKey> {
    let keys = record.keys();
    let text = |name: &str| keys.get(name).and_then(|value| value.as_s().ok());
    AnyKey::decode(text("pk")?, text("sk")?)
}

fn tell<T: Serialize>(piece: &mut String, event: &str, data: &T) {
    // JSON may have line breaks between its tokens, so the data may have several lines.
    match serde_json::to_string(data) {
        Ok(data) => message(piece, event, &data),
        Err(error) => tracing::error!(%error, event, "a message of the live stream cannot be written"),
    }
}

fn message(piece: &mut String, event: &str, data: &str) {
    let lines = data.split(['\n', '\r']).fold(String::new(), |mut lines, line| {
        lines.push_str("data: ");
        lines.push_str(line);
        lines.push('\n');
        lines
    });
    write!(piece, "event: {event}\n{lines}\n").expect("a string takes all text");
}
