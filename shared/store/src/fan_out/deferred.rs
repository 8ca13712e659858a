//! Events whose entries a batch cannot write now, because their partition is busy. At its end, the batch puts them into
//! backlogs (`work/backlog.rs`).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use futures_util::stream::{self, StreamExt};
use lately_items::{Backlog, DeferredEvent, DeferredTopic, EventKey};
use lately_keys::{EventId, UnixMillis};

use crate::fan_out::outcome::Done;
use crate::limits::WRITES_AT_ONCE;
use crate::op::Op;
use crate::work::BacklogQueue;

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

/// The events that a batch of records, or a step, defers to backlogs.
#[derive(Debug, Default)]
pub(super) struct DeferredWork(Mutex<BTreeMap<(Backlog, DeferredTopic), DeferredEvents>>);

/// Events, and the indexes of their records in the batch.
#[derive(Debug, Default)]
struct DeferredEvents {
    events: BTreeSet<DeferredEvent>,
    records: BTreeSet<usize>,
}

impl DeferredWork {
    pub(super) fn add(&self, backlog: Backlog, later: DeferredWrite, record: usize) {
        let mut all = self.all();
        let deferred = all.entry((backlog, later.written)).or_default();
        deferred.events.insert(later.event);
        deferred.records.insert(record);
    }

    /// Takes out the events that are deferred to one backlog.
    pub(super) fn take(&self, backlog: &Backlog) -> Vec<(DeferredTopic, Vec<DeferredEvent>)> {
        let mut ours = Vec::new();
        self.all().retain(|(of, written), deferred| {
            if of == backlog {
                ours.push((written.clone(), deferred.events.iter().copied().collect()));
            }
            of != backlog
        });
        ours
    }

    /// Puts the events into backlogs. Returns the indexes of the records for which this failed.
    pub(super) async fn put(&self, op: &Op, done: &Done) -> BTreeSet<usize> {
        let deferred = std::mem::take(&mut *self.all()).into_iter();
        let puts = deferred.map(async |((backlog, written), DeferredEvents { events, records })| {
            let events: Vec<_> = events.into_iter().collect();
            match (BacklogQueue { op, backlog: &backlog }).put(&written, &events).await {
                Ok(()) => {
                    done.add(|all| all.deferred += events.len() as u64);
                    BTreeSet::new()
                }
                Err(error) => {
                    tracing::warn!(%error, "events were not put into a backlog");
                    records
                }
            }
        });
        let puts: Vec<_> = puts.collect();
        let failed = stream::iter(puts).buffer_unordered(WRITES_AT_ONCE).collect::<Vec<_>>().await;
        failed.into_iter().flatten().collect()
    }

    fn all(&self) -> MutexGuard<'_, BTreeMap<(Backlog, DeferredTopic), DeferredEvents>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
