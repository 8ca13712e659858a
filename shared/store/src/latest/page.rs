//! A page being filled, and the cursors that go on from it. Pure.

use lately_keys::{Cursor, EventId, Fingerprint, Order, Position};
use lately_model::{Event, Page, PageSize};

use crate::latest::span::Span;
use crate::latest::wave::Edge;
use crate::limits::{FILTERED_ITEMS_PER_PAGE, PAGE_BYTES, QUERIES_PER_PAGE};

/// What an event's JSON is longer than its names and its data, at most: its id, its time and its punctuation.
const ENVELOPE_BYTES: usize = 144;

/// The bytes of an event as sent, or a few more.
pub(super) fn sent_bytes(event: &Event) -> usize {
    let subject = event.subject.as_ref().map_or(0, |subject| subject.as_str().len());
    let data = event.data.as_ref().map_or(0, |data| data.as_str().len());
    ENVELOPE_BYTES + event.event_type.as_str().len() + event.actor.as_str().len() + subject + data
}

/// How much work a page has done, of what it may do.
#[derive(Debug, Default)]
pub(super) struct Budget {
    pub(super) queries: u32,
    pub(super) filtered_items: u32,
}

impl Budget {
    pub(super) const fn is_spent(&self) -> bool {
        self.queries >= QUERIES_PER_PAGE || self.filtered_items >= FILTERED_ITEMS_PER_PAGE
    }
}

/// Why a page ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
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
pub(super) struct Draft {
    limit: usize,
    query: Fingerprint,
    order: Order,
    position: Option<EventId>,
    events: Vec<Event>,
    bytes: usize,
}

impl Draft {
    pub(super) fn new(limit: PageSize, query: Fingerprint, span: &Span) -> Self {
        let Span { order, position, .. } = *span;
        Self { limit: limit.get().into(), query, order, position, events: Vec::new(), bytes: 0 }
    }

    /// How many events the page can still take.
    pub(super) fn missing(&self) -> usize {
        self.limit - self.events.len()
    }

    /// How many bytes the page can still take.
    pub(super) fn room(&self) -> usize {
        PAGE_BYTES.saturating_sub(self.bytes)
    }

    /// Takes what a wave gave; how the page ends, if it ends there. `rest` events of the wave are left over.
    pub(super) fn take(&mut self, events: Vec<Event>, rest: usize, edge: Edge) -> Option<Ending> {
        for event in events {
            let bytes = sent_bytes(&event);
            if bytes > self.room() && !self.events.is_empty() {
                return Some(Ending::Full { more: true });
            }
            self.bytes += bytes;
            self.events.push(event);
        }
        if self.missing() == 0 {
            return (rest > 0 || edge.more).then_some(Ending::Full { more: true });
        }
        edge.cut.then_some(Ending::Cut { at: edge.frontier })
    }

    pub(super) fn finish(self, ending: Ending) -> Page<Event> {
        let last = self.events.last().map(|event| event.id).or(self.position);
        let (position, has_more) = match ending {
            Ending::Full { more } => (last, more),
            Ending::Cut { at } => (at.or(last), true),
            Ending::Exhausted => (last, false),
        };
        let cursor = |order, position: Option<EventId>| {
            let position = position.map_or(Position::Start, Position::Event);
            Some(Cursor { query: self.query, order, position }.to_string())
        };
        let first = self.events.first().map(|event| event.id);
        let (next, newer) = match self.order {
            Order::NewestFirst => {
                let next = has_more.then(|| cursor(Order::NewestFirst, position)).flatten();
                (next, cursor(Order::OldestFirst, first))
            }
            Order::OldestFirst => (cursor(Order::OldestFirst, position), None),
        };
        Page { events: self.events, next, newer, has_more }
    }
}

#[cfg(test)]
mod tests;
