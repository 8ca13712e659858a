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
//! - An event that lands behind the settled position while it is followed is sent as late (`late.rs`). A follower that
//!   begins at a recent cursor also reads what was noted since, so a client that connects again misses no late event.
//! - A follower of a topic ends when the topic is deleted.
//!
//! | for | see |
//! | --- | --- |
//! | what is new in a look at a timeline (pure) | `window.rs` |
//! | the messages of one follower (pure) | `outbox.rs` |
//! | one loop for all followers of a timeline | `loops.rs`, `shared.rs` |
//! | reading a timeline between two ids | `reader.rs` |
//! | the late events that are to be sent | `late.rs` |
//! | watches of followers, and notes of late entries | `watch.rs` |
//! | the open streams of a caller | `open.rs` |

mod late;
pub(crate) mod loops;
mod outbox;
mod reader;
mod recent;
mod shared;
pub(crate) mod watch;
mod window;

pub use outbox::LiveMessage;

use std::sync::Arc;
use std::time::Duration;

use lately_items::Timeline;
use lately_keys::{EventId, Order, Topic, UnixMillis};
use lately_model::{EventQuery, LiveQuery};
use lately_table::Cost;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;

use crate::error::TimelineError;
use crate::limits::{NOTE_OVERLAP_MILLIS, PAGE_EVENTS, RESUMED_MILLIS, SETTLED_EVERY};
use crate::list::start;
use crate::live::late::{LateQueue, LateSource};
use crate::live::loops::{Loop, News, Snapshot};
use crate::live::outbox::Outbox;
use crate::live::reader::Reader;
use crate::live::window::SettledPosition;
use crate::op::Op;
use crate::op::store::Store;
use crate::timeline::filter::Filter;

/// The follower of a timeline, for one client.
#[derive(Debug)]
pub struct LiveFollower {
    store: Store,
    /// The reads for this client alone are steps of this handle.
    op: Op,
    shared: Arc<Loop>,
    news: Receiver<Arc<News>>,
    outbox: Outbox,
    /// The state of the loop up to which this follower has to catch up.
    catching_up: Option<Snapshot>,
    /// Reads while it catches up.
    reader: Reader,
    /// The late events that were noted since then are to be sent before the follower has caught up.
    late_from: Option<UnixMillis>,
    /// The places from which their names are still to be read.
    late_sources: Vec<LateSource>,
    /// The late events that are to be read.
    late: LateQueue,
    /// When the follower last heard from the loop.
    heard_at: UnixMillis,
    /// When the settled position was last sent, by the monotonic clock; `None` if it never was.
    settled_sent: Option<Duration>,
}

impl Op {
    /// Follows a timeline. The follower returns only events of topics that the caller may see. It outlives the request.
    pub async fn follow(
        &self,
        timeline: Timeline,
        query: &LiveQuery,
        topic: Option<&Topic>,
    ) -> Result<LiveFollower, TimelineError> {
        let page = EventQuery { event_type: query.event_type.clone(), ..EventQuery::default() };
        let (stored, fingerprint) = match &timeline {
            Timeline::Topic(topic) => {
                let stored = self.topic(topic).stored().await?;
                (Some(stored), crate::latest::fingerprint(topic, &stored, &page))
            }
            Timeline::Source(source) => (None, crate::timeline::fingerprint(source, &page, topic)),
            Timeline::Feed(user) => (None, crate::feed::fingerprint(user, &page)),
        };
        let cursor = query.cursor.as_deref();
        let (_, start) = start(cursor, fingerprint, Some(Order::OldestFirst))?;
        let shared = Loop::of(&self.store, &timeline, stored).await?;
        let (snapshot, news) = shared.join()?;
        let now = self.now();
        let resumed = start.map(EventId::at).filter(|at| *at >= now.saturating_sub(RESUMED_MILLIS));
        let (event_type, topic) = (query.event_type.clone(), topic.cloned());
        let filter = Filter { event_type, topic, ..Filter::seen_by_caller(self) };
        // A stream without a cursor begins at a position that every caller may know.
        let position = if cursor.is_some() { start } else { Some(snapshot.settled.public()) };
        Ok(LiveFollower {
            store: self.store.clone(),
            op: self.store.op(),
            shared,
            news,
            outbox: Outbox::new(filter, fingerprint, position),
            catching_up: Some(snapshot),
            reader: Reader::new(timeline, stored),
            late_from: resumed.map(|at| at.saturating_sub(NOTE_OVERLAP_MILLIS)),
            late_sources: Vec::new(),
            late: LateQueue::default(),
            heard_at: now,
            settled_sent: None,
        })
    }
}

impl LiveFollower {
    /// Waits for the next message. If the future is dropped, no message is lost.
    ///
    /// # Errors
    /// See [`TimelineError`]. The follower is then at its end.
    pub async fn next(&mut self) -> Result<LiveMessage, TimelineError> {
        loop {
            if let Some(message) = self.outbox.messages.pop_front() {
                return Ok(message);
            }
            if self.shared.is_deleted() {
                // This fails with the reason.
                self.join_again()?;
            }
            if self.catching_up.is_some() {
                Box::pin(self.catch_up()).await?;
                continue;
            }
            match self.news.recv().await {
                Ok(news) => self.add(&news),
                Err(RecvError::Lagged(_) | RecvError::Closed) => self.join_again()?,
            }
        }
    }

    /// True if the next message needs a page of settled events from the table, because the follower is catching up.
    pub fn needs_page(&self) -> bool {
        let missed = |snapshot: &Snapshot| self.outbox.missed(snapshot.settled.id).is_some();
        self.outbox.messages.is_empty() && self.catching_up.as_ref().is_some_and(missed)
    }

    /// The cost of the pages that the follower has read for this client alone, to catch up.
    pub fn cost(&self) -> Cost {
        self.op.cost()
    }

    /// The settled position: a cursor from which another follower continues.
    pub fn cursor(&self) -> String {
        self.outbox.cursor()
    }

    /// Reads a page of settled events, up to the position at which this follower joined the loop, and then the late events
    /// that were noted meanwhile. Nothing has changed if the future is dropped.
    async fn catch_up(&mut self) -> Result<(), TimelineError> {
        let op = self.op.step();
        let Some(Snapshot { settled, .. }) = self.catching_up else { return Ok(()) };
        if let Some(ids) = self.outbox.missed(settled.id) {
            let (events, cut) = self.reader.read(&op, &self.outbox.filter, ids, PAGE_EVENTS).await?;
            for event in events {
                self.outbox.add(&Arc::new(event), None, settled.id);
            }
            if let Some(cut) = cut {
                self.outbox.settle(SettledPosition { id: cut, is_public: true });
                if self.outbox.messages.is_empty() {
                    self.add_settled();
                }
                return Ok(());
            }
            self.outbox.settle(settled);
        }
        if let Some(from) = self.late_from {
            self.reader.refresh_marks(&op).await?;
            self.late_sources = self.reader.late_since(&op, from).await?;
            self.late_from = None;
        }
        while let Some(source) = self.late_sources.last_mut() {
            if !self.late.has_room() {
                break;
            }
            if source.read(&op, &mut self.late).await? {
                self.late_sources.pop();
            }
        }
        if let Some((timeline, ids)) = self.late.due(settled.id) {
            let timeline = timeline.clone();
            let events = self.reader.late_events(&op, &timeline, &ids).await?;
            self.late.remove(&timeline, &ids);
            for event in events {
                self.outbox.add(&Arc::new(event), Some(settled.id), settled.id);
            }
            return Ok(());
        }
        // The loop sends the late events that lie ahead.
        self.late = LateQueue::default();
        self.late_sources = Vec::new();
        let early = self.catching_up.take().map(|snapshot| snapshot.early).unwrap_or_default();
        self.outbox.add_early(&early, settled.id);
        self.add_settled();
        Ok(())
    }

    /// Adds the messages of the loop's latest read.
    fn add(&mut self, news: &News) {
        for event in &news.events {
            self.outbox.add(event, Some(news.before), news.settled.id);
        }
        self.heard_at = self.store.now();
        let now = self.store.ambient().monotonic();
        let is_due = |sent: Duration| now.saturating_sub(sent) >= SETTLED_EVERY;
        if self.outbox.settle(news.settled) && self.settled_sent.is_none_or(is_due) {
            self.add_settled();
        }
    }

    /// Joins the loop again, after more news came than it keeps for a slow client. Fails if the loop is over.
    fn join_again(&mut self) -> Result<(), TimelineError> {
        let (snapshot, news) = self.shared.join()?;
        self.news = news;
        self.late_from = Some(self.heard_at.saturating_sub(NOTE_OVERLAP_MILLIS));
        self.catching_up = Some(snapshot);
        Ok(())
    }

    fn add_settled(&mut self) {
        self.settled_sent = Some(self.store.ambient().monotonic());
        self.outbox.add_settled();
    }
}
