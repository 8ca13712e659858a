//! Events whose entries a batch cannot write now, because their partition is busy. At its end, the batch puts them into
//! backlogs (`work/backlog.rs`).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

use lately_items::{Backlog, DeferredEvent, DeferredTopic};

use crate::at_once::{complete_all, lock};
use crate::fan_out::outcome::Done;
use crate::limits::WRITES_AT_ONCE;
use crate::op::Op;

/// An event to write or to remove later.
#[derive(Clone, Debug)]
pub(super) struct DeferredWrite {
    /// The topic of an event that was written; `None` if the event was deleted.
    pub(super) written: DeferredTopic,
    pub(super) event: DeferredEvent,
}

/// The events that a batch of records, or a step, defers to backlogs.
#[derive(Debug, Default)]
pub(super) struct DeferredWork(Mutex<BTreeMap<(Backlog, DeferredTopic), DeferredEvents>>);

/// Events, each with the index of its record in the batch.
type DeferredEvents = BTreeMap<DeferredEvent, usize>;

impl DeferredWork {
    pub(super) fn add(&self, backlog: Backlog, later: DeferredWrite, record: usize) {
        lock(&self.0).entry((backlog, later.written)).or_default().insert(later.event, record);
    }

    /// Takes out the events that are deferred to one backlog.
    pub(super) fn take(&self, backlog: &Backlog) -> Vec<(DeferredTopic, Vec<DeferredEvent>)> {
        let mut all = lock(&self.0);
        let ours = all.extract_if(.., |(of, _), _| of == backlog);
        ours.map(|((_, written), events)| (written, events.into_keys().collect())).collect()
    }

    /// Puts the events into backlogs. Returns the indexes of the records for which this failed.
    pub(super) async fn put(&self, op: &Op, done: &Done) -> BTreeSet<usize> {
        let deferred = std::mem::take(&mut *lock(&self.0)).into_iter();
        let puts = deferred.map(async |((backlog, written), events)| {
            let (events, records): (Vec<_>, BTreeSet<_>) = events.into_iter().unzip();
            match op.backlog(&backlog).put(&written, &events).await {
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
        complete_all(WRITES_AT_ONCE, puts).await.into_iter().flatten().collect()
    }
}
