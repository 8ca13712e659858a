//! A batch of records: the parts that all of its work shares.

use std::sync::atomic::{AtomicU64, Ordering};

use lately_items::JobStep;
use lately_keys::{Key, UnixMillis};
use lately_table::{Item, TableError, Write};
use tokio::sync::Semaphore;

use crate::fan_out::shared::SharedReads;
use crate::fan_out::writer::Writer;
use crate::live::watch::LateEntries;
use crate::op::Op;
use crate::work::Queue;

/// A batch of records that is being handled.
#[derive(Clone, Copy)]
pub(super) struct FanOut<'a> {
    pub(super) op: &'a Op,
    pub(super) writer: &'a Writer<'a>,
    pub(super) reads: &'a SharedReads,
    /// Bounds the pages of followers and of entries that are in memory.
    pub(super) pages: &'a Semaphore,
    pub(super) done: &'a Done,
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

impl<'a> FanOut<'a> {
    /// The queue of background work.
    pub(super) const fn queue(self) -> Queue<'a> {
        Queue { op: self.op }
    }

    pub(super) async fn put(self, items: Vec<Item>) -> Result<(), TableError> {
        self.writer.write(items.into_iter().map(Write::Put).collect()).await
    }

    /// Puts copies of events into a feed.
    pub(super) async fn deliver(self, items: Vec<Item>) -> Result<(), TableError> {
        let copies = items.len();
        self.put(items).await?;
        count(&self.done.deliveries, copies);
        Ok(())
    }

    pub(super) async fn delete(self, keys: Vec<Key>) -> Result<(), TableError> {
        self.writer.write(keys.into_iter().map(Write::Delete).collect()).await
    }

    /// Puts the first pages of some jobs.
    pub(super) async fn begin_jobs(self, first: &[JobStep]) -> Result<(), TableError> {
        self.queue().put_first(first).await?;
        count(&self.done.jobs, first.len());
        Ok(())
    }
}
