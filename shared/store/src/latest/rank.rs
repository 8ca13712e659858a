//! Ranks: ids in the order of a walk, so that what comes first is always less. Pure.

use lately_keys::{EventId, Order};
use lately_model::Event;

/// What has a place in a walk: an event, or what stands for one.
pub(crate) trait Placed {
    /// The event's id.
    fn id(&self) -> EventId;
}

impl Placed for Event {
    fn id(&self) -> EventId {
        self.id
    }
}

/// An id's place in a walk of some order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Rank(u128);

impl Rank {
    pub(crate) fn of(id: EventId, order: Order) -> Self {
        let bits = id.as_uuid().as_u128();
        match order {
            Order::NewestFirst => Self(!bits),
            Order::OldestFirst => Self(bits),
        }
    }
}

/// The id just before one, in the order of a walk.
pub(crate) fn ahead(id: EventId, order: Order) -> Option<EventId> {
    match order {
        Order::NewestFirst => id.just_after(),
        Order::OldestFirst => id.just_before(),
    }
}

/// The next id behind one, in the order of a walk.
pub(crate) fn behind(id: EventId, order: Order) -> Option<EventId> {
    match order {
        Order::NewestFirst => id.just_before(),
        Order::OldestFirst => id.just_after(),
    }
}
