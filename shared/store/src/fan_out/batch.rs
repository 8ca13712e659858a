//! A batch of records: the parts that all of its work shares, and its outcome.

use std::sync::{Mutex, PoisonError};

use lately_items::{Backlog, JobStep};
use lately_keys::{Key, UnixMillis};
use lately_table::{Cost, Item, TableError, Write};
use tokio::sync::Semaphore;

use crate::fan_out::deferred::DeferredWork;
use crate::fan_out::shared::SharedReads;
use crate::fan_out::writer::Writer;
use crate::live::watch::LateEntries;
use crate::op::Op;
use crate::work;

/// A batch of records, while one of its records is being handled.
#[derive(Clone, Copy)]
pub(super) struct FanOut<'a> {
    pub(super) op: &'a Op,
    pub(super) writer: &'a Writer<'a>,
    pub(super) reads: &'a SharedReads,
    /// Bounds the pages of followers and of entries that are in memory.
    pub(super) pages: &'a Semaphore,
    pub(super) done: &'a Done,
    /// Collects the writes to busy partitions.
    pub(super) deferred: &'a DeferredWork,
    /// The index of the record in the batch.
    pub(super) record: usize,
    /// The backlog whose step runs. It writes to the backlog's partition although the partition is known to be busy.
    pub(super) backlog: Option<&'a Backlog>,
}

/// The outcome of a batch of records.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FanOutOutcome {
    /// The sequence number of the first record that was not handled. This record and all later ones must be delivered
    /// again.
    pub failed: Option<String>,
    /// The number of records that were not handled.
    pub failures: usize,
    /// The time of the oldest change of the batch, those in backlogs included: in whole seconds, rounded down.
    pub oldest: Option<UnixMillis>,
    /// Copies of events that were written into feeds.
    pub deliveries: u64,
    /// Events that wait in a consumer's ledger, because they were stored late.
    pub late: u64,
    /// Jobs that were begun.
    pub jobs: u64,
    /// Promotions that were begun.
    pub promotions: u64,
    /// Events whose writes were deferred to a backlog.
    pub deferred: u64,
    /// Batched calls that wrote entries and markers.
    pub write_calls: u64,
    /// Items that these calls wrote.
    pub written_items: u64,
    /// The cost of the whole batch.
    pub cost: Cost,
}

/// The work of a batch that is done so far.
#[derive(Debug, Default)]
pub(super) struct Done {
    outcome: Mutex<FanOutOutcome>,
    /// The entries that were written late. Their notes are put after all entries are written.
    pub(super) late_entries: LateEntries,
}

impl Done {
    /// Adds to the figures of the batch.
    pub(super) fn add(&self, add: impl FnOnce(&mut FanOutOutcome)) {
        add(&mut self.outcome.lock().unwrap_or_else(PoisonError::into_inner));
    }

    pub(super) fn into_outcome(self) -> FanOutOutcome {
        self.outcome.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

impl FanOut<'_> {
    pub(super) async fn put(self, items: Vec<Item>) -> Result<(), TableError> {
        self.writer.write(items.into_iter().map(Write::Put).collect()).await
    }

    pub(super) async fn delete(self, keys: Vec<Key>) -> Result<(), TableError> {
        self.writer.write(keys.into_iter().map(Write::Delete).collect()).await
    }

    /// Puts the first pages of some jobs.
    pub(super) async fn begin_jobs(self, first: &[JobStep]) -> Result<(), TableError> {
        work::put_first(self.op, first).await?;
        self.done.add(|all| all.jobs += first.len() as u64);
        Ok(())
    }
}
