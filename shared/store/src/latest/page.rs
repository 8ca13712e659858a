//! A page being filled, and the cursors that go on from it. Pure.

use lately_keys::{Cursor, EventId, Fingerprint, Order, Position};
use lately_model::{Event, Page, PageSize, TimelineEvent};

use crate::latest::rank::Placed;
use crate::latest::span::Span;
use crate::latest::wave::WaveEdge;
use crate::limits::{FILTERED_ITEMS_PER_PAGE, PAGE_BYTES, QUERIES_PER_PAGE};
use crate::op::Op;

/// What an event's JSON is longer than its names and its data, at most: its id, its time and its punctuation.
const ENVELOPE_BYTES: usize = 144;

/// What a page sends.
pub(crate) trait Sent: Placed {
    /// Its bytes as sent, or a few more.
    fn sent_bytes(&self) -> usize;
}

impl Sent for Event {
    fn sent_bytes(&self) -> usize {
        let subject = self.subject.as_ref().map_or(0, |subject| subject.as_str().len());
        let data = self.data.as_ref().map_or(0, |data| data.as_str().len());
        ENVELOPE_BYTES + self.event_type.as_str().len() + self.actor.as_str().len() + subject + data
    }
}

impl Placed for TimelineEvent {
    fn id(&self) -> EventId {
        self.event.id
    }
}

impl Sent for TimelineEvent {
    fn sent_bytes(&self) -> usize {
        r#""topic":"","#.len() + self.topic.as_str().len() + self.event.sent_bytes()
    }
}

/// How much work a page has done, of what it may do: by itself, and as a part of its operation.
#[derive(Debug, Default)]
pub(crate) struct Budget {
    pub(crate) queries: u32,
    pub(crate) filtered_items: u32,
}

impl Budget {
    /// Whether the page must end. Its first queries are always made, so that whoever follows its cursor comes further.
    pub(crate) fn is_spent(&self, op: &Op) -> bool {
        let worked = self.queries >= QUERIES_PER_PAGE || self.filtered_items >= FILTERED_ITEMS_PER_PAGE;
        self.queries > 0 && (worked || op.table.is_spent())
    }
}

/// Why a page ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// It has all that it may have.
    Full {
        /// There may be more behind it.
        more: bool,
    },
    /// It has done all the work that it may do.
    Cut {
        /// How far it has looked; none if no further than the page before.
        at: Option<EventId>,
    },
    /// There is nothing more.
    Exhausted,
}

/// A page being filled.
#[derive(Debug)]
pub(crate) struct PageDraft<T> {
    limit: usize,
    query: Fingerprint,
    order: Order,
    position: Option<EventId>,
    /// Where writes may still land behind, when the page was asked for.
    settled: EventId,
    events: Vec<T>,
    bytes: usize,
}

impl<T: Sent> PageDraft<T> {
    pub(crate) fn new(limit: PageSize, query: Fingerprint, span: &Span) -> Self {
        Self::beside(0, limit.get().into(), query, span)
    }

    /// A page that is sent with so many bytes of something else.
    pub(crate) fn beside(bytes: usize, limit: usize, query: Fingerprint, span: &Span) -> Self {
        let Span { order, position, .. } = *span;
        Self { limit, query, order, position, settled: span.settled(), events: Vec::new(), bytes }
    }

    /// How many events the page can still take.
    pub(crate) fn missing(&self) -> usize {
        self.limit - self.events.len()
    }

    /// How many bytes the page can still take.
    pub(crate) fn room(&self) -> usize {
        PAGE_BYTES.saturating_sub(self.bytes)
    }

    /// Takes what a wave gave; how the page ends, if it ends there. `rest` events of the wave are left over.
    pub(crate) fn take(&mut self, events: Vec<T>, rest: usize, edge: WaveEdge) -> Option<Ending> {
        for event in events {
            let bytes = event.sent_bytes();
            if bytes > self.room() && !self.events.is_empty() {
                return Some(Ending::Full { more: true });
            }
            self.bytes += bytes;
            self.events.push(event);
        }
        if self.missing() == 0 {
            return (rest > 0 || edge.more).then_some(Ending::Full { more: true });
        }
        (edge.cut && rest == 0).then_some(Ending::Cut { at: edge.frontier })
    }

    pub(crate) fn finish(self, ending: Ending) -> Page<T> {
        let last = self.events.last().map(T::id).or(self.position);
        let (position, has_more) = match ending {
            Ending::Full { more } => (last, more),
            Ending::Cut { at } => (at.or(last), true),
            Ending::Exhausted => (last, false),
        };
        let cursor = |order, position: Option<EventId>| {
            let position = position.map_or(Position::Start, Position::Event);
            Some(Cursor { query: self.query, order, position }.to_string())
        };
        // Newer events than the settled ones may have older ones beside them that have not landed yet.
        let newer = self.events.first().map(|first| first.id().min(self.settled));
        let (next, newer) = match self.order {
            Order::NewestFirst => {
                let next = has_more.then(|| cursor(Order::NewestFirst, position)).flatten();
                (next, cursor(Order::OldestFirst, newer))
            }
            Order::OldestFirst => (cursor(Order::OldestFirst, position), None),
        };
        Page { events: self.events, next, newer, has_more }
    }
}

#[cfg(test)]
mod tests;
