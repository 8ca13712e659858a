//! Fan-out: the work that follows from each change of the table. The records of the table's stream trigger it.
//!
//! | change | work | see |
//! | --- | --- | --- |
//! | an event landed behind a consumer's announced position | it is noted in the consumer's ledger | `late.rs` |
//! | an event was written or deleted | entries under its sources, and in the feeds of their followers | `post.rs` |
//! | a user began to follow | older entries, and the pull marker | `backfill.rs` |
//! | a user no longer follows | entries and marker are removed | `cleanup.rs` |
//! | a backfill or a cleanup takes more than a step | a job continues it | `walk.rs` |
//! | a source has more followers | beyond a limit, feeds pull the source | `promotion.rs` |
//! | a page of a job was put | the job is done for the page's followers | `page.rs` |
//! | a source's partition takes no more entries | its timeline gets more shards | `spread.rs` |
//! | writes were deferred to a backlog | they are made, in steps | `backlog.rs` |
//! | a step of a topic's deletion, or of a change of its retention, was put | the step is taken | `ending.rs` |
//! | an event got another expiry | so do its entries | `post.rs` |
//! | an event landed in a deleted topic | it is deleted | `late.rs` |
//! | a step of an erasure was put | the step is taken | `erasure/` |
//! | an event of an erased actor was written | it is deleted | `late.rs`, `erasure/inserted.rs` |
//!
//! Records may be delivered twice, late, and in any order between items, and a process may die anywhere. Still these
//! rules must hold:
//! - **Nothing is missed.** Fan-out writes an event's entries under its sources before it reads the followers. A
//!   follower is stored before a backfill reads the sources' entries for them.
//! - **Nothing comes back.** After each write of an entry, fan-out reads consistently whether the event still exists
//!   and who has unfollowed since the change, and removes the entry if it does not belong (`belongs.rs`). The deletion of an
//!   event or of a follow removes the entries that were written before.
//!
//! A *rail* is one item: its records are handled in order, and those of different items at the same time. A record that
//! fails stops its own rail and no other. Late events are noted after the rails, for the whole batch.
//!
//! Fan-out gives up nothing while the stream keeps its record: a call is retried until the invocation's deadline, and a
//! record until it is too old. Writes to a busy partition are deferred to its backlog, so all other records of the batch go
//! on.

mod backfill;
mod backlog;
mod batch;
mod belongs;
mod cleanup;
mod deferred;
mod ending;
mod erasure;
mod late;
mod page;
mod plan;
mod post;
mod promotion;
mod record;
mod shard_page;
mod shared;
mod spread;
mod walk;
mod writer;

use std::collections::BTreeSet;
use std::sync::atomic::Ordering;

use futures_util::stream::{self, StreamExt};
use lately_keys::UnixMillis;
use lately_table::{Cost, TableError};
use tokio::sync::Semaphore;

use crate::fan_out::batch::{Done, FanOut};
use crate::fan_out::deferred::DeferredWork;
use crate::fan_out::late::LateNotes;
use crate::fan_out::page::JobStep;
use crate::fan_out::record::{Change, What};
use crate::fan_out::shared::SharedReads;
use crate::fan_out::writer::Writer;
use crate::limits::RAILS_AT_ONCE;
use crate::op::Op;

pub use record::{NoBatch, Record};

/// Rails of one batch that work on a page of a job, a backfill or a cleanup at the same time. Each may hold two megabytes
/// of entries.
const PAGES_AT_ONCE: usize = 32;

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
    /// Events that wait in a consumer's ledger, because they landed late.
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

impl Op {
    /// Handles records of one shard of the table's stream, given in their order. Calls that fail are repeated until the
    /// request's deadline.
    pub async fn fan_out(&self, records: &[Record]) -> FanOutOutcome {
        let op = self.until_deadline();
        let writer = Writer::new(&op.table);
        let (done, deferred, reads) = (Done::default(), DeferredWork::default(), SharedReads::default());
        let pages = Semaphore::new(PAGES_AT_ONCE);
        let fan_out = FanOut {
            op: &op,
            writer: &writer,
            reads: &reads,
            pages: &pages,
            done: &done,
            deferred: &deferred,
            place: 0,
            backlog: None,
        };
        let rails: Vec<_> =
            plan::rails(records).into_iter().map(|rail| writer.rail(fan_out.run(records, rail))).collect();
        let rails = stream::iter(rails).buffer_unordered(RAILS_AT_ONCE).collect::<Vec<_>>();
        let notes = LateNotes { op: &op, done: &done };
        // The list of erasures is read after the entries are written (`erasure/inserted.rs`).
        let work = async { (rails.await, Box::pin(notes.note(records)).await) };
        let (stopped, unnoted) = writer.during(work).await;
        let not_deferred = fan_out.put_deferred(&deferred).await;
        Box::pin(op.live_notes().put_entries(&done.late_entries)).await;
        let failures: BTreeSet<usize> =
            stopped.into_iter().flatten().chain(unnoted).chain(not_deferred).collect();
        let written = writer.written();
        FanOutOutcome {
            failed: failures.first().map(|first| records[*first].sequence().to_owned()),
            failures: failures.len(),
            oldest: records.iter().filter_map(|record| record.at).chain(done.oldest()).min(),
            deliveries: done.deliveries.load(Ordering::Relaxed),
            late: done.late.load(Ordering::Relaxed),
            jobs: done.jobs.load(Ordering::Relaxed),
            promotions: done.promotions.load(Ordering::Relaxed),
            deferred: done.deferred.load(Ordering::Relaxed),
            write_calls: written.calls,
            written_items: written.items,
            cost: self.cost(),
        }
    }
}

impl FanOut<'_> {
    /// Handles the records of a rail, which are given by their places in the batch. Returns the place of the first
    /// record that fails.
    async fn run(&self, records: &[Record], rail: Vec<usize>) -> Option<usize> {
        let backlog = rail.iter().filter_map(|place| match &records[*place].change {
            Ok(Some(Change { what: What::Backlog(key), .. })) => Some(key),
            _ => None,
        });
        let told: Vec<_> = backlog.collect();
        if let (Some(first), Some(place)) = (told.first(), rail.first()) {
            let ids = told.iter().map(|key| key.id).collect();
            let step = FanOut { place: *place, ..*self };
            let failure = Box::pin(step.work_off(&first.backlog, &ids)).await.err()?;
            tracing::warn!(sequence = records[*place].sequence(), %failure, "a stream record was not handled");
            return Some(*place);
        }
        for place in rail {
            let record = &records[place];
            let failure = match &record.change {
                Ok(None) => continue,
                Ok(Some(change)) => match (FanOut { place, ..*self }).handle(change).await {
                    Ok(()) => continue,
                    Err(error) => error.to_string(),
                },
                Err(poison) => poison.to_string(),
            };
            tracing::warn!(sequence = record.sequence(), %failure, "a stream record was not handled");
            return Some(place);
        }
        None
    }

    async fn handle(&self, change: &Change) -> Result<(), TableError> {
        let at = change.at;
        let is_page = matches!(change.what, What::Followed(..) | What::Unfollowed(..) | What::Job(..));
        let _one_of_few = if is_page { self.pages.acquire().await.ok() } else { None };
        match &change.what {
            What::Posted(key, entry) => Box::pin(self.posted(key, entry, at)).await,
            What::Deleted(entry) => Box::pin(self.deleted(entry, at)).await,
            What::Followed(key, follower) => Box::pin(self.backfill(key, follower, change.id, at)).await,
            What::Unfollowed(key) => Box::pin(self.cleanup(key, change.id, at)).await,
            What::Counted(key, counts) => self.counted(key, *counts).await,
            What::Source { source, was_pushed, stored } => {
                self.source_changed(source, *was_pushed, stored, at).await
            }
            What::Restamped(key, entry) => Box::pin(self.restamped(key, entry, at)).await,
            What::Erasure(key, number) => Box::pin(self.erase(key, *number)).await,
            What::Ending(key, name) => Box::pin(self.end(key, *name)).await,
            What::Job(key, work) => Box::pin(JobStep { fan_out: *self, key, work }.run()).await,
            What::Backlog(key) => Box::pin(self.work_off(&key.backlog, &[key.id].into())).await,
        }
    }
}
