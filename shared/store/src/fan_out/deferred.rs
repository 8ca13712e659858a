//! Events that are deferred to a backlog (`backlog.rs`). Pure.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use lately_items::{Backlog, DeferredEvent, DeferredTopic, EventKey};
use lately_keys::{EventId, UnixMillis};

/// An event to write or to remove later.
#[derive(Clone, Debug)]
pub(super) struct DeferredWrite {
    pub(super) written: DeferredTopic,
    pub(super) event: DeferredEvent,
}

impl DeferredWrite {
    /// An event that was written.
    pub(super) fn write(key: &EventKey, at: UnixMillis, fans_out: bool) -> Self {
        let written = Some((key.partition().topic.clone(), key.partition().bucket.width()));
        Self { written, event: DeferredEvent { id: key.id(), at, fans_out } }
    }

    /// An event that was deleted.
    pub(super) const fn remove(id: EventId, at: UnixMillis, fans_out: bool) -> Self {
        Self { written: None, event: DeferredEvent { id, at, fans_out } }
    }
}

/// The events that a batch of records, or a step, leaves to backlogs.
#[derive(Debug, Default)]
pub(super) struct DeferredWork(Mutex<BTreeMap<(Backlog, DeferredTopic), DeferredEvents>>);

/// Events, and the places of their records in the batch.
#[derive(Debug, Default)]
pub(super) struct DeferredEvents {
    pub(super) events: BTreeSet<DeferredEvent>,
    pub(super) places: BTreeSet<usize>,
}

impl DeferredWork {
    pub(super) fn add(&self, backlog: Backlog, later: DeferredWrite, place: usize) {
        let mut all = self.all();
        let deferred = all.entry((backlog, later.written)).or_default();
        deferred.events.insert(later.event);
        deferred.places.insert(place);
    }

    /// Takes out the events that are deferred to one backlog.
    pub(super) fn take(&self, backlog: &Backlog) -> Vec<(DeferredTopic, Vec<DeferredEvent>)> {
        let mut all = self.all();
        let (ours, others) = std::mem::take(&mut *all).into_iter().partition(|((of, _), _)| of == backlog);
        *all = others;
        let ours: BTreeMap<_, DeferredEvents> = ours;
        ours.into_iter()
            .map(|((_, written), deferred)| (written, deferred.events.into_iter().collect()))
            .collect()
    }

    pub(super) fn all(&self) -> MutexGuard<'_, BTreeMap<(Backlog, DeferredTopic), DeferredEvents>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
