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
//! - An event that lands behind the settled position while it is followed is sent as late (`watch.rs`).
//!
//! | for | see |
//! | --- | --- |
//! | what is new in a look at a timeline (pure) | `window.rs` |
//! | one loop for all followers of a timeline | `shared.rs` |
//! | reading a timeline between two ids | `reader.rs` |
//! | watches and notes of late events | `watch.rs` |

mod reader;
mod shared;
pub(crate) mod watch;
mod window;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use lately_keys::table::Timeline;
use lately_keys::{Cursor, CursorError, EventId, Fingerprint, Order, Position, Topic, UnixMillis};
use lately_model::{EventQuery, LiveQuery, TimelineEvent};
use lately_table::TableError;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;

use crate::latest::span::IdRange;
use crate::limits::{FOLLOWER_TOLD_KEPT, PAGE_EVENTS, SETTLED_EVERY};
use crate::live::reader::{Lens, Reader};
use crate::live::shared::{Loop, News, Recent, Snapshot};
use crate::live::window::MessageKind;
use crate::op::Op;
use crate::store::Store;
use crate::topic::TopicError;

pub(crate) use crate::live::shared::Loops;

/// Why a timeline cannot be followed, or no longer.
#[derive(Debug, thiserror::Error)]
pub enum LiveError {
    /// The topic could not be read, or does not exist.
    #[error(transparent)]
    Topic(#[from] TopicError),
    /// The cursor cannot be read, or belongs to another query or to newest-first pages.
    #[error(transparent)]
    Cursor(#[from] CursorError),
    /// The table could not be read.
    #[error(transparent)]
    Table(#[from] TableError),
}

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
    timeline: Timeline,
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
    /// Its reader while it catches up.
    reader: Option<Reader>,
    recent: Recent<FOLLOWER_TOLD_KEPT>,
    /// The number of the newest late event that this follower has sent or may skip.
    late: u64,
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
        let fingerprint = match &timeline {
            Timeline::Topic(topic) => crate::latest::fingerprint(topic, &page),
            Timeline::Source(source) => crate::timeline::fingerprint(source, &page, topic),
            Timeline::Feed(user) => crate::feed::fingerprint(user, &page),
        };
        let start = query.cursor.as_deref().map(|text| start_of(text, fingerprint)).transpose()?;
        let shared = Loop::of(&self.store, &timeline).await?;
        let Some((snapshot, news)) = shared.join() else { return Err(is_over().into()) };
        let late = snapshot.late.back().map_or(0, |(number, _)| *number);
        let topics = self.allowed_topics().map(Into::into);
        Ok(LiveFollower {
            store: self.store.clone(),
            timeline,
            shared,
            news,
            lens: Lens { event_type: query.event_type.clone(), topic: topic.cloned(), topics },
            query: fingerprint,
            // A stream without a start begins at a position that every caller may know.
            position: start.unwrap_or_else(|| Some(snapshot.public_start())),
            ahead: VecDeque::new(),
            catching_up: Some(snapshot),
            reader: None,
            recent: Recent::default(),
            late,
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

fn is_over() -> TableError {
    TableError::unavailable("the timeline cannot be read")
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
            if self.catching_up.is_some() {
                Box::pin(self.catch_up()).await?;
                continue;
            }
            match self.news.recv().await {
                Ok(news) => self.take(&news),
                Err(RecvError::Lagged(_)) => self.join_again()?,
                Err(RecvError::Closed) => return Err(is_over().into()),
            }
        }
    }

    /// The settled position: a cursor from which another follower continues.
    pub fn cursor(&self) -> String {
        self.sealed(self.position)
    }

    fn sealed(&self, position: Option<EventId>) -> String {
        let position = position.map_or(Position::Start, Position::Event);
        Cursor { query: self.query, order: Order::OldestFirst, position }.to_string()
    }

    /// Reads a page of settled events, up to the position at which this follower joined the loop. Nothing has changed if
    /// the future is dropped.
    async fn catch_up(&mut self) -> Result<(), LiveError> {
        let Some(settled) = self.catching_up.as_ref().map(|snapshot| snapshot.settled) else { return Ok(()) };
        let first = match self.position {
            None => Some(EventId::first_of(UnixMillis::MIN)),
            Some(position) => position.just_after(),
        };
        if let Some(ids) = first.and_then(|first| IdRange::new(first, settled)) {
            let op = self.store.op();
            let reader = match &mut self.reader {
                Some(reader) => reader,
                none => none.insert(Reader::open(&op, self.timeline.clone()).await?),
            };
            let found = reader.read(&op, &self.lens, ids, PAGE_EVENTS).await?;
            for event in found.events {
                self.queue(MessageKind::Settled, Arc::new(event));
            }
            if let Some(cut) = found.cut {
                self.position = self.position.max(Some(cut));
                return Ok(());
            }
        }
        self.reader = None;
        let Some(snapshot) = self.catching_up.take() else { return Ok(()) };
        if snapshot.is_line || self.lens.topics.is_none() {
            self.position = self.position.max(Some(snapshot.settled));
        }
        for event in &snapshot.early {
            if self.position.is_none_or(|position| event.event.id > position) {
                self.queue(MessageKind::Early, Arc::clone(event));
            }
        }
        let late: Vec<_> = snapshot.late.into_iter().filter(|(number, _)| *number > self.late).collect();
        for (number, event) in late {
            self.late = number;
            self.queue(MessageKind::Late, event);
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
                MessageKind::Late => {
                    self.late += 1;
                    MessageKind::Late
                }
                other => *other,
            };
            self.queue(kind, Arc::clone(event));
        }
        self.position = self.position.max(news.line);
        let now = self.store.ambient().monotonic();
        let is_due = |sent: Duration| now.saturating_sub(sent) >= SETTLED_EVERY;
        if news.line.is_some() && self.settled_told.is_none_or(is_due) {
            self.queue_settled();
        }
    }

    /// Joins the loop again, after more news came than it keeps for a slow client.
    fn join_again(&mut self) -> Result<(), LiveError> {
        let (snapshot, news) = self.shared.join().ok_or_else(is_over)?;
        self.news = news;
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
