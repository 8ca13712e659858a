//! A batch of records: the parts that all of its work shares.

use lately_items::{Backlog, JobStep};
use lately_keys::Key;
use lately_table::{Item, TableError, Write};
use tokio::sync::Semaphore;

use crate::at_once::run_each;
use crate::fan_out::deferred::DeferredWork;
use crate::fan_out::outcome::Done;
use crate::fan_out::shared::SharedReads;
use crate::fan_out::writer::Writer;
use crate::limits::WRITES_AT_ONCE;
use crate::op::Op;

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

impl FanOut<'_> {
    pub(super) async fn put(self, items: Vec<Item>) -> Result<(), TableError> {
        self.writer.write(items.into_iter().map(Write::Put).collect()).await
    }

    pub(super) async fn delete(self, keys: Vec<Key>) -> Result<(), TableError> {
        self.writer.write(keys.into_iter().map(Write::Delete).collect()).await
    }

    /// Puts the first pages of some jobs.
    pub(super) async fn begin_jobs(self, first: &[JobStep]) -> Result<(), TableError> {
        run_each(WRITES_AT_ONCE, first.iter().map(async |step| self.op.table.put(&step.encode()).await))
            .await?;
        self.done.add(|all| all.jobs += first.len() as u64);
        Ok(())
    }
}
