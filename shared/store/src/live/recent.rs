//! The last ids of a stream of events, to recognise an event that comes again. Pure.

use std::collections::{BTreeSet, VecDeque};

use lately_keys::EventId;

/// The last `N` ids.
#[derive(Debug, Default)]
pub(super) struct Recent<const N: usize> {
    order: VecDeque<EventId>,
    known: BTreeSet<EventId>,
}

impl<const N: usize> Recent<N> {
    pub(super) fn contains(&self, id: EventId) -> bool {
        self.known.contains(&id)
    }

    /// Adds an id. Returns false if it is one of the last.
    pub(super) fn insert(&mut self, id: EventId) -> bool {
        let is_new = self.known.insert(id);
        if is_new {
            self.order.push_back(id);
            if self.order.len() > N {
                self.order.pop_front().map(|oldest| self.known.remove(&oldest));
            }
        }
        is_new
    }
}
