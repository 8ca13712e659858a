//! Ranks: ids in the order of a walk. An id that the walk reaches earlier has a lower rank. Pure.

use lately_items::TimelineEntry;
use lately_keys::{EventId, Order};
use lately_model::Event;

/// An event, or an item that stands for an event in a walk.
pub(crate) trait Ranked {
    /// The event's id.
    fn id(&self) -> EventId;
}

impl Ranked for TimelineEntry {
    fn id(&self) -> EventId {
        self.id
    }
}

impl Ranked for Event {
    fn id(&self) -> EventId {
        self.id
    }
}

/// The place of an id in a walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Rank {
    bits: u128,
    pub(crate) id: EventId,
}

impl Rank {
    pub(crate) fn of(id: EventId, order: Order) -> Self {
        let bits = id.as_uuid().as_u128();
        Self { bits: order.pick(!bits, bits), id }
    }
}

/// The id just before this one, in the order of a walk.
pub(crate) fn ahead(id: EventId, order: Order) -> Option<EventId> {
    order.pick(id.just_after(), id.just_before())
}

/// The id just behind this one, in the order of a walk.
pub(crate) fn behind(id: EventId, order: Order) -> Option<EventId> {
    order.pick(id.just_before(), id.just_after())
}
