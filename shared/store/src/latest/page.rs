//! A page that is being filled, and the cursors that continue from it. Pure.

use lately_items::TimelineEntry;
use lately_keys::{Cursor, EventId, Fingerprint, Order, Position};
use lately_model::{Event, Page, TimelineEvent};

use crate::limits::{
    ASCENDING_LAG_MILLIS, FILTERED_ITEMS_PER_PAGE, PAGE_BYTES, QUERIES_PER_PAGE, WRITE_MILLIS,
};
use crate::span::{Span, settled_before};

/// The most bytes that an event's JSON has beyond its names and its data: id, time and punctuation.
const ENVELOPE_BYTES: usize = 144;

/// An event of a page, or an item that stands for an event while the page is read.
pub(crate) trait PageItem {
    /// The event's id.
    fn id(&self) -> EventId;

    /// The event's size in bytes as sent, or slightly more. It is not known of an entry, and then zero.
    fn sent_bytes(&self) -> usize {
        0
    }
}

impl PageItem for TimelineEntry {
    fn id(&self) -> EventId {
        self.id
    }
}

impl PageItem for Event {
    fn id(&self) -> EventId {
        self.id
    }

    fn sent_bytes(&self) -> usize {
        let subject = self.subject.as_ref().map_or(0, |subject| subject.as_str().len());
        let data = self.data.as_ref().map_or(0, |data| data.as_str().len());
        ENVELOPE_BYTES + self.event_type.as_str().len() + self.actor.as_str().len() + subject + data
    }
}

impl PageItem for TimelineEvent {
    fn id(&self) -> EventId {
        self.event.id
    }

    fn sent_bytes(&self) -> usize {
        r#""topic":"","#.len() + self.topic.as_str().len() + self.event.sent_bytes()
    }
}

/// The work that a page has done so far, to compare with its limits.
#[derive(Debug, Default)]
pub(crate) struct Budget {
    queries: u32,
    filtered_items: u32,
}

impl Budget {
    /// Counts a query; of a lane of which few items match, also the items that the query has looked at.
    pub(crate) fn count(&mut self, looked_at: Option<usize>) {
        self.queries += 1;
        self.filtered_items += u32::try_from(looked_at.unwrap_or_default()).unwrap_or(u32::MAX);
    }

    /// True if the page must end, because its own limits or those of its operation are reached. The first queries are
    /// always made, so each cursor leads further than the one before.
    pub(crate) const fn is_spent(&self, is_operation_spent: bool) -> bool {
        let worked = self.queries >= QUERIES_PER_PAGE || self.filtered_items >= FILTERED_ITEMS_PER_PAGE;
        self.queries > 0 && (worked || is_operation_spent)
    }
}

/// The end of a page. The default is the end of all events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PageEnd {
    /// True if there may be more events behind the page.
    pub(crate) more: bool,
    /// The id up to which the page has looked, if it has used up its budget behind its last event.
    pub(crate) at: Option<EventId>,
}

impl PageEnd {
    /// The end of a page that holds as much as it may, before further events.
    const FULL: Self = Self { more: true, at: None };
}

/// The end of a wave, from which the walk continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WaveEdge {
    /// All events up to this id, included, are known. `None` if nothing is known.
    pub(crate) frontier: Option<EventId>,
    /// The wave was given up before it was exact.
    pub(crate) cut: bool,
    /// Some lane may hold more events.
    pub(crate) more: bool,
}

/// A page being filled.
#[derive(Debug)]
pub(crate) struct PageDraft<T> {
    limit: usize,
    query: Fingerprint,
    span: Span,
    /// The events of the page so far.
    pub(super) events: Vec<T>,
    bytes: usize,
}

/// The end of a page.
#[derive(Debug)]
pub(crate) struct DraftEnd<T> {
    pub(crate) events: Vec<T>,
    /// The id up to which the page has looked; `None` at the start of the walk.
    pub(crate) position: Option<EventId>,
    pub(crate) has_more: bool,
}

impl<T: PageItem> PageDraft<T> {
    /// A page whose response also carries this many bytes of other data.
    pub(crate) fn new(bytes: usize, limit: usize, query: Fingerprint, span: &Span) -> Self {
        Self { limit, query, span: *span, events: Vec::new(), bytes }
    }

    /// The number of events that the page can still take.
    pub(crate) fn missing(&self) -> usize {
        self.limit - self.events.len()
    }

    /// The number of bytes that the page can still take.
    pub(crate) fn room(&self) -> usize {
        PAGE_BYTES.saturating_sub(self.bytes)
    }

    /// Adds the events of a wave. Returns how the page ends if it ends here. `rest` is the number of the wave's events
    /// that are not passed.
    pub(crate) fn take(&mut self, events: Vec<T>, rest: usize, edge: WaveEdge) -> Option<PageEnd> {
        for event in events {
            let bytes = event.sent_bytes();
            if bytes > self.room() && !self.events.is_empty() {
                return Some(PageEnd::FULL);
            }
            self.bytes += bytes;
            self.events.push(event);
        }
        if self.missing() == 0 {
            return (rest > 0 || edge.more).then_some(PageEnd::FULL);
        }
        (edge.cut && rest == 0).then_some(PageEnd { more: true, at: edge.frontier })
    }

    /// The id up to which an oldest-first page has seen all that can still land, if it has come to the end of its span.
    pub(super) fn settled_end(&self) -> Option<EventId> {
        let Span { order, ids, position, now } = self.span;
        let ids = ids.filter(|_| order == Order::OldestFirst)?;
        let settled = ids.newest.min(settled_before(now, WRITE_MILLIS));
        Some(settled).max(self.events.last().map(T::id)).max(position)
    }

    /// The page's events, and where it ends.
    pub(crate) fn end(self, PageEnd { more, at }: PageEnd) -> DraftEnd<T> {
        let position = at.or_else(|| self.events.last().map(T::id)).or(self.span.position);
        DraftEnd { events: self.events, position, has_more: more }
    }

    pub(crate) fn finish(self, ending: PageEnd) -> Page<T> {
        let (query, Span { order, now, .. }) = (self.query, self.span);
        let DraftEnd { events, position, has_more } = self.end(ending);
        let cursor = |order, position: Option<EventId>| {
            let position = position.map_or(Position::Start, Position::Event);
            Cursor { query, order, position }.to_string()
        };
        // Events that are older than an event newer than `settled` may still land, so `newer` starts at `settled` at
        // the latest.
        let settled = settled_before(now, ASCENDING_LAG_MILLIS);
        let newer = events.first().map(|first| first.id().min(settled));
        let (next, newer) = match order {
            Order::NewestFirst => {
                (has_more.then(|| cursor(order, position)), Some(cursor(Order::OldestFirst, newer)))
            }
            Order::OldestFirst => (Some(cursor(order, position)), None),
        };
        Page { events, next, newer, has_more }
    }
}

#[cfg(test)]
mod tests;
