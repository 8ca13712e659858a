//! Live timelines: a follower returns the events of a topic, of a source's timeline or of a feed as they arrive.
//!
//! A follower begins at a cursor, or now. First it *catches up*: it reads the settled events from its position on, as
//! pages do. Then it listens to the loop of its timeline, which all followers in the process share (`shared.rs`). No
//! event is lost between the two, because the follower joins the loop before it catches up, and reads up to the
//! position at which it joined.
//!
//! These rules must hold:
//! - Settled events are sent in order. While the window is small, an event is sent as soon as it lands (`window.rs`).
//! - A follower returns each event once, as far as it remembers.
//! - The cursor of each message is a settled position: a follower that begins there misses nothing. It is a cursor of
//!   the oldest-first pages of the same query.
//! - An event that lands behind the settled position while it is followed is sent as late (`watch.rs`). A follower that
//!   begins at a recent cursor also reads the notes since, so a client that connects again misses no late event.
//! - A follower of a topic ends when the topic is deleted.
//!
//! | for | see |
//! | --- | --- |
//! | what is new in a look at a timeline (pure) | `window.rs` |
//! | one loop for all followers of a timeline | `loops.rs`, `shared.rs` |
//! | reading a timeline between two ids | `reader.rs` |
//! | watches and notes of late events | `watch.rs` |
//! | the open streams of a caller | `open.rs` |

pub(crate) mod error;
pub(crate) mod loops;
pub(crate) mod open;
mod reader;
mod shared;
pub(crate) mod watch;
mod window;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use lately_items::Timeline;
use lately_keys::{Cursor, CursorError, EventId, Fingerprint, Order, Position, Topic, UnixMillis};
use lately_model::{EventQuery, LiveQuery, TimelineEvent};
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;

use crate::latest::span::IdRange;
use crate::limits::{FOLLOWER_TOLD_KEPT, NOTE_OVERLAP_MILLIS, PAGE_EVENTS, RESUMED_MILLIS, SETTLED_EVERY};
use crate::live::error::LiveError;
use crate::live::loops::{Loop, News, Snapshot};
use crate::live::reader::{LateQueue, Lens, Reader};
use crate::live::shared::Recent;
use crate::live::window::MessageKind;
use crate::op::Op;
use crate::store::Store;

/// A message of a follower.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LiveMessage {
    /// An event. A follower that begins at the cursor returns all events that were not returned before.
    Event {
        /// The settled position.
        cursor: String,
        /// The event.
        event: Arc<TimelineEvent>,
    },
    /// An event that arrived behind the settled position.
    Late {
        /// The settled position.
        cursor: String,
        /// The event.
        event: Arc<TimelineEvent>,
    },
    /// Nothing new up to a position.
    Settled {
        /// The settled position.
        cursor: String,
    },
}

/// The follower of a timeline, for one client.
#[derive(Debug)]
pub struct LiveFollower {
    store: Store,
    shared: Arc<Loop>,
    news: Receiver<Arc<News>>,
    lens: Lens,
    /// The fingerprint of the query, to which its cursors are bound.
    query: Fingerprint,
    /// All events up to here were sent; `None` at the start of the timeline.
    position: Option<EventId>,
    /// The messages to give next.
    ahead: VecDeque<LiveMessage>,
    /// The state of the loop up to which this follower has to catch up.
    catching_up: Option<Snapshot>,
    /// Reads while it catches up.
    reader: Reader,
    recent: Recent<FOLLOWER_TOLD_KEPT>,
    /// The notes since then are to be read before the follower has caught up.
    notes_from: Option<UnixMillis>,
    /// The late events that they name.
    late: LateQueue,
    /// When the follower last heard from the loop.
    heard_at: UnixMillis,
    /// When the settled position was last given, by the monotonic clock; `None` if it never was.
    settled_told: Option<Duration>,
}

impl Op {
    /// Follows a timeline. The follower returns only events of topics that the caller may see. It outlives the request.
    pub async fn follow(
        &self,
        timeline: Timeline,
        query: &LiveQuery,
        topic: Option<&Topic>,
    ) -> Result<LiveFollower, LiveError> {
        let page = EventQuery { event_type: query.event_type.clone(), ..EventQuery::default() };
        let (stored, fingerprint) = match &timeline {
            Timeline::Topic(topic) => {
                let stored = self.topic(topic).stored().await?;
                (Some(stored), crate::latest::fingerprint(topic, &stored, &page))
            }
            Timeline::Source(source) => (None, crate::timeline::fingerprint(source, &page, topic)),
            Timeline::Feed(user) => (None, crate::feed::fingerprint(user, &page)),
        };
        let start = query.cursor.as_deref().map(|text| start_of(text, fingerprint)).transpose()?;
        let shared = Loop::of(&self.store, &timeline, stored).await?;
        let Some((snapshot, news)) = shared.join() else { return Err(shared.end()) };
        let now = self.now();
        let resumed = start.flatten().map(EventId::at);
        let resumed = resumed.filter(|at| *at >= now.saturating_sub(RESUMED_MILLIS));
        let topics = self.allowed_topics().map(Into::into);
        Ok(LiveFollower {
            store: self.store.clone(),
            shared,
            news,
            lens: Lens { event_type: query.event_type.clone(), topic: topic.cloned(), topics },
            query: fingerprint,
            // A stream without a start begins at a position that every caller may know.
            position: start.unwrap_or_else(|| Some(snapshot.public_start())),
            ahead: VecDeque::new(),
            catching_up: Some(snapshot),
            reader: Reader::new(timeline, stored),
            recent: Recent::default(),
            notes_from: resumed.map(|at| at.saturating_sub(NOTE_OVERLAP_MILLIS)),
            late: LateQueue::default(),
            heard_at: now,
            settled_told: None,
        })
    }
}

/// The position of a cursor of an oldest-first page.
fn start_of(text: &str, query: Fingerprint) -> Result<Option<EventId>, CursorError> {
    let Cursor { order, position, .. } = Cursor::decode(text, query)?;
    match (order, position) {
        (Order::OldestFirst, Position::Start) => Ok(None),
        (Order::OldestFirst, Position::Event(id)) => Ok(Some(id)),
        _ => Err(CursorError::Foreign),
    }
}

impl Snapshot {
    /// The settled position, or the end of the millisecond before it if the position is the id of an event.
    fn public_start(&self) -> EventId {
        match self.is_line {
            true => self.settled,
            false => EventId::last_of(self.settled.at().saturating_sub(1)),
        }
    }
}

impl LiveFollower {
    /// Waits for the next message. If the future is dropped, no message is lost.
    ///
    /// # Errors
    /// See [`LiveError`]. The follower is then at its end.
    pub async fn next(&mut self) -> Result<LiveMessage, LiveError> {
        loop {
            if let Some(message) = self.ahead.pop_front() {
                return Ok(message);
            }
            if self.shared.deleted().is_some() {
                return Err(self.shared.end());
            }
            if self.catching_up.is_some() {
                Box::pin(self.catch_up()).await?;
                continue;
            }
            match self.news.recv().await {
                Ok(news) => self.take(&news),
                Err(RecvError::Lagged(_)) => self.join_again()?,
                Err(RecvError::Closed) => return Err(self.shared.end()),
            }
        }
    }

    /// True if the next message needs a page of settled events from the table, because the follower is catching up.
    pub fn needs_page(&self) -> bool {
        self.ahead.is_empty() && self.missed().is_some()
    }

    /// The settled events that the follower has to catch up with.
    fn missed(&self) -> Option<IdRange> {
        let settled = self.catching_up.as_ref()?.settled;
        let first = match self.position {
            None => EventId::first_of(UnixMillis::MIN),
            Some(position) => position.just_after()?,
        };
        IdRange::new(first, settled)
    }

    /// The settled position: a cursor from which another follower continues.
    pub fn cursor(&self) -> String {
        self.sealed(self.position)
    }

    fn sealed(&self, position: Option<EventId>) -> String {
        let position = position.map_or(Position::Start, Position::Event);
        Cursor { query: self.query, order: Order::OldestFirst, position }.to_string()
    }

    /// Reads a page of settled events, up to the position at which this follower joined the loop, and then the late events
    /// that were noted meanwhile. Nothing has changed if the future is dropped.
    async fn catch_up(&mut self) -> Result<(), LiveError> {
        let op = self.store.op();
        if let Some(ids) = self.missed() {
            let found = self.reader.read(&op, &self.lens, ids, PAGE_EVENTS).await?;
            for event in found.events {
                self.queue(MessageKind::Settled, Arc::new(event));
            }
            let Some(snapshot) = &self.catching_up else { return Ok(()) };
            match found.cut {
                Some(cut) => {
                    self.position = self.position.max(Some(cut));
                    if self.ahead.is_empty() {
                        self.queue_settled();
                    }
                    return Ok(());
                }
                None if snapshot.is_line || self.lens.topics.is_none() => {
                    self.position = self.position.max(Some(snapshot.settled));
                }
                // The position is the id of an event that the caller may not know.
                None => {}
            }
        }
        if let Some(from) = self.notes_from {
            self.reader.refresh_marks(&op).await?;
            let Some(snapshot) = &self.catching_up else { return Ok(()) };
            let mut late = LateQueue::default();
            for timeline in self.reader.timelines() {
                for note in op.late_notes(&timeline, EventId::first_of(from)).await? {
                    late.add(&timeline, note.events.into_iter().filter(|id| *id <= snapshot.settled));
                }
            }
            (self.late, self.notes_from) = (late, None);
        }
        if !self.late.is_empty() {
            let page = self.reader.late_page(&op, &self.late).await?;
            for event in self.late.take(page) {
                self.queue(MessageKind::Late, Arc::new(event));
            }
            return Ok(());
        }
        let Some(snapshot) = self.catching_up.take() else { return Ok(()) };
        for event in &snapshot.early {
            if self.position.is_none_or(|position| event.event.id > position) {
                self.queue(MessageKind::Early, Arc::clone(event));
            }
        }
        self.queue_settled();
        Ok(())
    }

    /// Queues the messages of the loop's latest read.
    fn take(&mut self, news: &News) {
        for (kind, event) in &news.messages {
            let kind = match kind {
                // This follower began at a position that lies ahead of the loop's, and the event was stored after that.
                MessageKind::Settled | MessageKind::Early if Some(event.event.id) <= self.position => {
                    MessageKind::Late
                }
                other => *other,
            };
            self.queue(kind, Arc::clone(event));
        }
        self.position = self.position.max(news.line);
        self.heard_at = self.store.now();
        let now = self.store.ambient().monotonic();
        let is_due = |sent: Duration| now.saturating_sub(sent) >= SETTLED_EVERY;
        if news.line.is_some() && self.settled_told.is_none_or(is_due) {
            self.queue_settled();
        }
    }

    /// Joins the loop again, after more news came than it keeps for a slow client.
    fn join_again(&mut self) -> Result<(), LiveError> {
        let (snapshot, news) = self.shared.join().ok_or_else(|| self.shared.end())?;
        self.news = news;
        self.notes_from = Some(self.heard_at.saturating_sub(NOTE_OVERLAP_MILLIS));
        self.catching_up = Some(snapshot);
        Ok(())
    }

    fn queue(&mut self, kind: MessageKind, event: Arc<TimelineEvent>) {
        let id = event.event.id;
        if !self.lens.takes(&event) {
            return;
        }
        if kind == MessageKind::Settled {
            self.position = self.position.max(Some(id));
        }
        if self.recent.contains(id) {
            return;
        }
        self.recent.push(id);
        let cursor = self.cursor();
        self.ahead.push_back(match kind {
            MessageKind::Settled | MessageKind::Early => LiveMessage::Event { cursor, event },
            MessageKind::Late => LiveMessage::Late { cursor, event },
        });
    }

    fn queue_settled(&mut self) {
        self.settled_told = Some(self.store.ambient().monotonic());
        self.ahead.push_back(LiveMessage::Settled { cursor: self.cursor() });
    }
}
