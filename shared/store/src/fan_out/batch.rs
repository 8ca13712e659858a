//! A batch of records: the parts that all of its work shares.

use std::sync::atomic::{AtomicU64, Ordering};

use futures_util::stream::{self, StreamExt, TryStreamExt};
use lately_items::{Backlog, Job, JobPage, JobWork};
use lately_keys::{EventId, Key, UnixMillis};
use lately_table::{Item, TableError, Write, entropy_u64, tick};
use tokio::sync::Semaphore;

use crate::fan_out::deferred::DeferredWork;
use crate::fan_out::shared::SharedReads;
use crate::fan_out::writer::Writer;
use crate::limits::WRITES_AT_ONCE;
use crate::live::watch::LateEntries;
use crate::op::Op;

/// A batch of records that is being handled.
#[derive(Clone, Copy)]
pub(super) struct FanOut<'a> {
    pub(super) op: &'a Op,
    pub(super) writer: &'a Writer<'a>,
    pub(super) reads: &'a SharedReads,
    /// Bounds the pages of followers and of entries that are in memory.
    pub(super) pages: &'a Semaphore,
    pub(super) done: &'a Done,
    /// Collects the writes that are deferred to backlogs.
    pub(super) deferred: &'a DeferredWork,
    /// The place in the batch of the record that is being handled.
    pub(super) place: usize,
    /// The backlog whose step this is. The step writes to the backlog's partition although the partition is known to be
    /// busy.
    pub(super) backlog: Option<&'a Backlog>,
}

/// The figures of a batch so far.
#[derive(Debug, Default)]
pub(super) struct Done {
    pub(super) deliveries: AtomicU64,
    pub(super) late: AtomicU64,
    pub(super) jobs: AtomicU64,
    pub(super) promotions: AtomicU64,
    pub(super) deferred: AtomicU64,
    /// The entries that were written late. Their notes are put after all entries are written.
    pub(super) late_entries: LateEntries,
    /// The time of the oldest change of a backlog, in milliseconds counted down from the greatest number; 0 if there
    /// was no such change.
    age: AtomicU64,
}

impl Done {
    pub(super) fn saw(&self, changed_at: Option<UnixMillis>) {
        let age = changed_at.map_or(0, |at| u64::MAX - at.get());
        self.age.fetch_max(age, Ordering::Relaxed);
    }

    pub(super) fn oldest(&self) -> Option<UnixMillis> {
        UnixMillis::new(u64::MAX - self.age.load(Ordering::Relaxed)).ok()
    }
}

pub(super) fn count(counter: &AtomicU64, more: usize) {
    counter.fetch_add(more as u64, Ordering::Relaxed);
}

impl FanOut<'_> {
    pub(super) async fn put(&self, items: Vec<Item>) -> Result<(), TableError> {
        self.writer.write(items.into_iter().map(Write::Put).collect()).await
    }

    /// Puts copies of events into a feed.
    pub(super) async fn deliver(&self, items: Vec<Item>) -> Result<(), TableError> {
        let copies = items.len();
        self.put(items).await?;
        count(&self.done.deliveries, copies);
        Ok(())
    }

    pub(super) async fn delete(&self, keys: Vec<Key>) -> Result<(), TableError> {
        self.writer.write(keys.into_iter().map(Write::Delete).collect()).await
    }

    /// Puts the first page of each of some jobs.
    pub(super) async fn put_first_pages(&self, jobs: Vec<Job>, work: &JobWork) -> Result<(), TableError> {
        let puts: Vec<_> = jobs
            .iter()
            .map(async |job| self.op.table.put(&work.encode(job, JobPage::default())).await)
            .collect();
        stream::iter(puts).buffer_unordered(WRITES_AT_ONCE).try_collect::<()>().await?;
        count(&self.done.jobs, jobs.len());
        Ok(())
    }
}

/// A new id with the current time.
pub(super) fn fresh_id(op: &Op) -> Result<EventId, TableError> {
    let ambient = op.ambient();
    let clock = tick(ambient).map_err(TableError::unavailable)?;
    op.store.generator().next(clock, 0.into(), entropy_u64(ambient)).map_err(TableError::unavailable)
}
