//! Ranks: ids in the order of a walk, so that what comes first is always less.

use lately_keys::{EventId, Order};

/// An id's place in a walk of some order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Rank(u128);

impl Rank {
    pub(super) fn of(id: EventId, order: Order) -> Self {
        let bits = id.as_uuid().as_u128();
        match order {
            Order::NewestFirst => Self(!bits),
            Order::OldestFirst => Self(bits),
        }
    }
}

/// The next id behind one, in the order of a walk.
pub(super) fn behind(id: EventId, order: Order) -> Option<EventId> {
    match order {
        Order::NewestFirst => id.just_before(),
        Order::OldestFirst => id.just_after(),
    }
}
