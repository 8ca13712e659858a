//! A batch of records: the parts that all of its work shares.

use lately_items::Backlog;
use tokio::sync::Semaphore;

use crate::fan_out::deferred::DeferredWork;
use crate::fan_out::outcome::Done;
use crate::fan_out::shared::SharedReads;
use crate::fan_out::writer::Writer;
use crate::op::Op;

/// A batch of records, while one of its records is being handled.
#[derive(Clone, Copy)]
pub(super) struct FanOut<'a> {
    /// The request that the batch's work is done with. Its calls to a busy key range fail after some attempts.
    pub(super) op: &'a Op,
    /// The same request, whose calls are repeated until the deadline: for the items that make work durable.
    pub(super) patient: &'a Op,
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
