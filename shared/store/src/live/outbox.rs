//! The messages of one follower: whether an event is new, in order or late, and the cursor that goes with it. Pure.
//!
//! An event that is not newer than what the follower was sent in order is late. An event that has settled moves the
//! follower's position, and an event that has not (an early one) leaves it.

use std::collections::VecDeque;
use std::sync::Arc;

use lately_keys::{Cursor, EventId, Fingerprint, Order, Position};
use lately_model::TimelineEvent;

use crate::limits::FOLLOWER_TOLD_KEPT;
use crate::live::recent::Recent;
use crate::live::window::SettledPosition;
use crate::span::IdRange;
use crate::timeline::filter::Filter;

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

#[derive(Debug)]
pub(super) struct Outbox {
    pub(super) filter: Filter,
    /// The fingerprint of the query, to which its cursors are bound.
    query: Fingerprint,
    /// All events up to here were sent; `None` at the start of the timeline.
    position: Option<EventId>,
    recent: Recent<FOLLOWER_TOLD_KEPT>,
    /// The messages to return next.
    pub(super) messages: VecDeque<LiveMessage>,
}

impl Outbox {
    pub(super) fn new(filter: Filter, query: Fingerprint, position: Option<EventId>) -> Self {
        Self { filter, query, position, recent: Recent::default(), messages: VecDeque::new() }
    }

    /// The ids behind the follower's position, up to a settled one.
    pub(super) fn missed(&self, settled: EventId) -> Option<IdRange> {
        let first = self.position.map_or(Some(EventId::MIN), EventId::just_after)?;
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
        if !self.filter.takes(&event.topic, &event.event.event_type) {
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
        let may_know = settled.is_public || self.filter.topics.is_none();
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

#[cfg(test)]
mod tests {
    use lately_keys::UnixMillis;
    use lately_model::Event;

    use super::*;

    fn id(millis: u64) -> EventId {
        EventId::first_of(UnixMillis::new(millis).unwrap())
    }

    fn event(millis: u64) -> Arc<TimelineEvent> {
        let (event_type, actor) = ("note".parse().unwrap(), "ada".parse().unwrap());
        let event = Event { id: id(millis), event_type, actor, subject: None, data: None };
        Arc::new(TimelineEvent { topic: "posts".parse().unwrap(), event })
    }

    /// The messages: `+` for an event and `~` for a late one, with its time.
    fn sent(outbox: &mut Outbox) -> Vec<(char, u64)> {
        let mark = |message| match message {
            LiveMessage::Event { event, .. } => ('+', event.event.at().get()),
            LiveMessage::Late { event, .. } => ('~', event.event.at().get()),
            LiveMessage::Settled { .. } => ('.', 0),
        };
        outbox.messages.drain(..).map(mark).collect()
    }

    #[test]
    fn an_event_is_late_if_it_lies_behind_the_followers_or_the_loops_position() {
        let query = Fingerprint::of("test").finish();
        let mut outbox = Outbox::new(Filter::default(), query, Some(id(50)));
        // A look from 30 to 60, with an early event, and a late one that a note names.
        for millis in [40, 55, 70, 20] {
            outbox.add(&event(millis), Some(id(30)), id(60));
        }
        assert_eq!(sent(&mut outbox), [('~', 40), ('+', 55), ('+', 70), ('~', 20)]);
        assert_eq!(outbox.position, Some(id(55)), "the early event does not move the position");
        outbox.add(&event(70), Some(id(60)), id(80));
        assert_eq!((sent(&mut outbox), outbox.position), (vec![], Some(id(70))), "each event is sent once");
    }

    #[test]
    fn a_limited_caller_does_not_get_the_position_of_a_hidden_event() {
        let filter = Filter { topics: Some(["posts".parse().unwrap()].into()), ..Filter::default() };
        let mut outbox = Outbox::new(filter, Fingerprint::of("test").finish(), Some(id(50)));
        assert!(!outbox.settle(SettledPosition { id: id(60), is_public: false }));
        assert_eq!(outbox.position, Some(id(50)));
        assert!(outbox.settle(SettledPosition { id: id(70), is_public: true }));
        assert_eq!(outbox.position, Some(id(70)));
    }
}
