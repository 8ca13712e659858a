//! The messages of one follower: whether an event is new, in order or late, and the cursor that goes with it. Pure.
//!
//! An event that is not newer than what the follower was sent in order is late. An event that has settled moves the
//! follower's position, and an event that has not (an early one) leaves it.

use std::collections::VecDeque;
use std::sync::Arc;

use lately_keys::{Cursor, EventId, Fingerprint, Order, Position, UnixMillis};
use lately_model::TimelineEvent;

use crate::latest::span::IdRange;
use crate::limits::FOLLOWER_TOLD_KEPT;
use crate::live::message::LiveMessage;
use crate::live::reader::Lens;
use crate::live::recent::Recent;
use crate::live::window::SettledPosition;

#[derive(Debug)]
pub(super) struct Outbox {
    pub(super) lens: Lens,
    /// The fingerprint of the query, to which its cursors are bound.
    query: Fingerprint,
    /// All events up to here were sent; `None` at the start of the timeline.
    position: Option<EventId>,
    recent: Recent<FOLLOWER_TOLD_KEPT>,
    /// The messages to return next.
    messages: VecDeque<LiveMessage>,
}

impl Outbox {
    pub(super) fn new(lens: Lens, query: Fingerprint, position: Option<EventId>) -> Self {
        Self { lens, query, position, recent: Recent::default(), messages: VecDeque::new() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    pub(super) fn next(&mut self) -> Option<LiveMessage> {
        self.messages.pop_front()
    }

    /// The ids behind the follower's position, up to a settled one.
    pub(super) fn missed(&self, settled: EventId) -> Option<IdRange> {
        let first = match self.position {
            None => EventId::first_of(UnixMillis::MIN),
            Some(position) => position.just_after()?,
        };
        IdRange::new(first, settled)
    }

    /// The follower's position, as a cursor from which another follower continues.
    pub(super) fn cursor(&self) -> String {
        let position = self.position.map_or(Position::Start, Position::Event);
        Cursor { query: self.query, order: Order::OldestFirst, position }.to_string()
    }

    /// Adds an event, unless the follower has been sent it or does not want it. Everything up to `before` had been sent
    /// when the event was found, and everything up to `settled` is known now.
    pub(super) fn add(&mut self, event: &Arc<TimelineEvent>, before: Option<EventId>, settled: EventId) {
        let id = event.event.id;
        if !self.lens.takes(event) {
            return;
        }
        // The follower may have begun at a position that lies ahead of the loop's.
        let is_late = Some(id) <= self.position.max(before);
        if !is_late && id <= settled {
            self.position = Some(id);
        }
        if self.recent.insert(id) {
            let (cursor, event) = (self.cursor(), Arc::clone(event));
            self.messages.push_back(match is_late {
                true => LiveMessage::Late { cursor, event },
                false => LiveMessage::Event { cursor, event },
            });
        }
    }

    /// Adds events that had been sent before they settled, and that the follower may still lack.
    pub(super) fn add_early(&mut self, events: &[Arc<TimelineEvent>], settled: EventId) {
        let position = self.position;
        for event in events.iter().filter(|event| Some(event.event.id) > position) {
            self.add(event, None, settled);
        }
    }

    /// Moves to a settled position, up to which everything has been added. Returns false if the caller may not know the
    /// position.
    pub(super) fn settle(&mut self, settled: SettledPosition) -> bool {
        let may_know = settled.is_public || self.lens.topics.is_none();
        if may_know {
            self.position = self.position.max(Some(settled.id));
        }
        may_know
    }

    /// Adds a message with the position alone.
    pub(super) fn add_settled(&mut self) {
        self.messages.push_back(LiveMessage::Settled { cursor: self.cursor() });
    }
}
