//! Fan-out: the work that follows from each change of the table. The records of the table's stream trigger it.
//!
//! | change | work | see |
//! | --- | --- | --- |
//! | an event was stored so late that a reader may have passed it | it is added to the topic's late log | `topic_news.rs`, `late_log/` |
//! | an event was stored in a deleted topic, or is an erased actor's | it is deleted | `marks.rs`, `kinds/erasure/inserted.rs` |
//! | an event was written | entries under its sources, and in the feeds of their followers | `post.rs` |
//! | an event was deleted | its entries are removed | `removal.rs` |
//! | an event got another expiry | so do its entries | `restamp.rs` |
//! | a user began to follow | older entries, and the pull marker | `kinds/backfill.rs` |
//! | a user no longer follows | entries and marker are removed | `kinds/cleanup.rs` |
//! | a source has more followers | beyond a limit, feeds pull the source | `kinds/promotion.rs` |
//! | a step of background work was put | the step is run | `kinds/` |
//!
//! A record on its way to a feed entry:
//!
//! ```text
//! record.rs     what has changed?
//! plan.rs       which records run in order?
//! post.rs       the order of all that follows
//!   entries.rs    effect: the sources' entries are written; a busy timeline gets more shards (spread.rs), or its writes
//!                 are deferred to a backlog (deferred.rs)
//!   audience.rs   plan: few followers are read here, many are given to jobs (kinds/push.rs)
//!   entries.rs    effect: the followers' copies are written
//!   checks.rs     check: what does not belong is removed again
//! ```
//!
//! Records may be delivered twice, late, and in any order between items, and a process may die anywhere. Still these
//! rules must hold:
//! - **Nothing is missed.** Fan-out writes an event's entries under its sources before it reads the followers. A
//!   follower is stored before a backfill reads the sources' entries for them.
//! - **Nothing comes back.** After each write of an entry, fan-out reads consistently whether the event still exists
//!   and who has unfollowed since the change, and removes the entry if it does not belong (`checks.rs`). The deletion of an
//!   event or of a follow removes the entries that were written before.
//!
//! A *rail* is one item: its records are handled in order, and those of different items at the same time. A record that
//! fails stops its own rail and no other. The news of topics are handled after the rails, for the whole batch.
//!
//! Fan-out gives up nothing while the stream keeps its record: a call is retried until the invocation's deadline, and a
//! record until it is too old. After the deadline it begins neither a record nor a write, so the invocation ends with an
//! answer, and only what is left comes again.
//!
//! No busy key range holds up the other records of a batch. Writes of entries are deferred to the partition's backlog. Any
//! other call that a busy key range refuses ends its rail, after some attempts. Then the work of the rail's records is put
//! away, durably and before the batch is answered, and its own stream record brings it back:
//!
//! | record | its work goes to |
//! | --- | --- |
//! | an event was written or deleted | the backlogs of the event's sources and of the author's feed |
//! | a step of background work, a page of a job | its own item, which is touched |
//! | any other | a note of the change (`kinds/change.rs`) |
//!
//! A record whose rail ends so is handled as if the process had died: what it has written stays, and is written again.

mod audience;
mod batch;
mod checks;
mod deferred;
mod entries;
mod kinds;
mod marks;
mod outcome;
mod plan;
mod post;
mod record;
mod removal;
mod restamp;
mod second_deletion;
mod shared;
mod spread;
mod topic_news;
mod writer;

use std::collections::{BTreeMap, BTreeSet};

use lately_items::{
    AnyKey, ChangeNote, ChangeNoteKey, CleanupStepKey, EventKey, SourceItemKey, TimelineEntry,
};
use lately_keys::{EventId, Key, TableKey, UnixMillis};
use lately_table::TableError;
use tokio::sync::Semaphore;

use crate::at_once::complete_all;
use crate::fan_out::batch::FanOut;
use crate::fan_out::deferred::DeferredWork;
use crate::fan_out::entries::entry_of;
use crate::fan_out::kinds::{backfill, backlog, change, cleanup, promotion};
use crate::fan_out::outcome::Done;
use crate::fan_out::post::Post;
use crate::fan_out::record::{Change, What};
use crate::fan_out::removal::Removal;
use crate::fan_out::restamp::restamp_entries;
use crate::fan_out::shared::SharedReads;
use crate::fan_out::writer::{Writer, in_time};
use crate::limits::RAILS_AT_ONCE;
use crate::op::Op;
use crate::work;

pub use outcome::FanOutOutcome;
pub use record::{NoBatch, Record};

/// Rails of one batch that work on a page of a job, a backfill or a cleanup at the same time. Each may hold two megabytes
/// of entries.
const PAGES_AT_ONCE: usize = 32;

/// An older record may be redriven, so records of later changes were handled before it. A lane that is behind for less
/// pays for no further read.
const REDRIVEN_MILLIS: u64 = 60 * 60 * 1000;

/// Why a rail stops at a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stop {
    Failed,
    /// The invocation's time is over. This is no failure: the record comes again.
    OutOfTime,
}

impl Op {
    /// Handles records of one shard of the table's stream, given in their order. Calls that fail are repeated until the
    /// request's deadline.
    pub async fn fan_out(&self, records: &[Record]) -> FanOutOutcome {
        let patient = &self.until_deadline();
        let op = &patient.giving_way();
        let (done, deferred, reads) = (Done::default(), DeferredWork::default(), SharedReads::default());
        let writer = &Writer::new(&op.table, &done);
        let pages = Semaphore::new(PAGES_AT_ONCE);
        let fan_out = FanOut {
            op,
            patient,
            writer,
            reads: &reads,
            pages: &pages,
            done: &done,
            deferred: &deferred,
            record: 0,
            backlog: None,
        };
        let rails = plan::rails(records).into_iter();
        let rails = rails.map(|rail| writer.rail(fan_out.run(records, rail)));
        let rails = complete_all(RAILS_AT_ONCE, rails);
        // The list of erasures is read after the entries are written (`kinds/erasure/inserted.rs`).
        let of_topics = FanOut { op: patient, ..fan_out };
        let work = async { (rails.await, Box::pin(of_topics.handle_news(records)).await) };
        let (stopped, again) = writer.during(work).await;
        let not_deferred = deferred.put(patient, &done).await;
        Box::pin(patient.live_notes().put_entries(&done.late_entries)).await;
        let stopped: BTreeMap<usize, Stop> = stopped.into_iter().flatten().collect();
        let failing = stopped.iter().filter(|(_, stop)| **stop == Stop::Failed).map(|(index, _)| *index);
        let failures: BTreeSet<usize> = failing.chain(again).chain(not_deferred).collect();
        let first = stopped.into_keys().chain(failures.first().copied()).min();
        let done = done.into_outcome();
        FanOutOutcome {
            failed: first.map(|first| records[first].sequence().to_owned()),
            failures: failures.len(),
            oldest: records.iter().filter_map(|record| record.at).chain(done.oldest).min(),
            cost: self.cost(),
            ..done
        }
    }
}

impl FanOut<'_> {
    /// Handles the records of a rail, which are given by their indexes in the batch. Returns the index of the record at
    /// which it stops. After a record that a busy key range refuses, the work of this and all later records is put away.
    async fn run(self, records: &[Record], rail: Vec<usize>) -> Option<(usize, Stop)> {
        let items: BTreeSet<EventId> =
            rail.iter().filter_map(|index| records[*index].backlog()).map(|item| item.id).collect();
        // One step of a backlog is for all records of the rail.
        let most = if items.is_empty() { rail.len() } else { 1 };
        let mut is_refused = false;
        for index in rail.into_iter().take(most) {
            let fan_out = Self { record: index, ..self };
            let failure = match &records[index].change {
                Ok(None) => continue,
                Ok(Some(change)) => match fan_out.handle_or_put_away(change, &items, &mut is_refused).await {
                    Ok(()) => continue,
                    Err(_) if self.op.table.time_left().is_zero() => return Some((index, Stop::OutOfTime)),
                    Err(error) => error.to_string(),
                },
                Err(poison) => poison.to_string(),
            };
            let sequence = records[index].sequence();
            tracing::warn!(sequence, %failure, "a stream record was not handled");
            return Some((index, Stop::Failed));
        }
        None
    }

    /// Handles one change, unless a busy key range refuses that now or has refused an earlier record of the rail. Then the
    /// change's work is put away.
    async fn handle_or_put_away(
        self,
        change: &Change,
        items: &BTreeSet<EventId>,
        is_refused: &mut bool,
    ) -> Result<(), TableError> {
        if !*is_refused {
            match self.handle(change, items).await {
                Err(TableError::Busy(_)) => *is_refused = true,
                handled => return handled,
            }
        }
        self.put_away(change).await
    }

    /// Makes the work of a change durable, so that fan-out does it later.
    async fn put_away(self, change: &Change) -> Result<(), TableError> {
        let Change { at, .. } = *change;
        match &change.what {
            What::Posted(key, entry) => Post { fan_out: self, key, entry, at }.defer(),
            What::Deleted(entry) => Removal::defer(self, entry, at),
            What::Note(key) => self.touch(key.encode()).await?,
            What::Page(key) => self.touch(key.encode()).await?,
            What::Step(key, _) => self.touch(key.clone()).await?,
            What::Backlog(_) => return Err(TableError::unavailable("a step of a backlog was refused")),
            What::Followed(key, _) => self.note(change, key.clone(), false).await?,
            What::Unfollowed(key) => self.note(change, key.clone(), true).await?,
            What::Counted(key, _) => self.note(change, key.clone(), false).await?,
            What::Source { source, .. } => {
                self.note(change, SourceItemKey { source: source.clone() }, false).await?;
            }
            What::Restamped(key, _) => self.note(change, key.clone(), false).await?,
        }
        Ok(())
    }

    async fn touch(self, step: Key) -> Result<(), TableError> {
        work::touch(self.patient, step).await?;
        self.done.add(|all| all.put_away += 1);
        Ok(())
    }

    /// Notes a change of an item.
    async fn note(
        self,
        change: &Change,
        item: impl Into<AnyKey>,
        is_removal: bool,
    ) -> Result<(), TableError> {
        let key = ChangeNoteKey { id: change.id };
        let note = ChangeNote { key, at: change.at, changed: item.into(), is_removal };
        self.patient.table.put(&note.encode()).await?;
        self.done.add(|all| all.put_away += 1);
        Ok(())
    }

    /// Handles one change. The items of a backlog have one step together.
    async fn handle(self, change: &Change, items: &BTreeSet<EventId>) -> Result<(), TableError> {
        let Change { at, id, .. } = *change;
        let is_page = match &change.what {
            What::Followed(..) | What::Unfollowed(..) | What::Page(_) => true,
            What::Step(key, _) => CleanupStepKey::decode(&key.pk, &key.sk).is_some(),
            _ => false,
        };
        let _one_of_few = if is_page { self.pages.acquire().await.ok() } else { None };
        in_time(&self.op.table)?;
        match &change.what {
            What::Posted(key, entry) => {
                let stored = self.stored_since(key, at).await?;
                let entry = stored.as_ref().unwrap_or(entry);
                Box::pin(Post { fan_out: self, key, entry, at }.deliver()).await
            }
            What::Deleted(entry) => Box::pin(Removal::of(self, entry, at)).await,
            What::Restamped(key, entry) => {
                let stored = self.stored_since(key, at).await?;
                Box::pin(restamp_entries(self, key, stored.as_ref().unwrap_or(entry), at)).await
            }
            What::Followed(key, follower) => Box::pin(backfill::begin(self, key, follower, id, at)).await,
            What::Unfollowed(key) => Box::pin(cleanup::begin(self, key, at)).await,
            What::Counted(key, counts) => promotion::counted(self, key, *counts, counts.here == 1).await,
            What::Note(key) => Box::pin(change::run(self, key)).await,
            What::Source { source, was_pushed, stored } => {
                promotion::source_changed(self, source, *was_pushed, stored, at).await
            }
            What::Page(key) => Box::pin(kinds::run_page(self, key, at)).await,
            What::Backlog(key) => Box::pin(backlog::run(self, &key.backlog, items)).await,
            What::Step(key, name) => Box::pin(kinds::run_step(self, key, *name)).await,
        }
    }

    /// The entry that an event has now, if its record is so old that it may be redriven: the event may have got another
    /// expiry in the meantime. `None` also if the event is gone, which the checks find out.
    async fn stored_since(self, key: &EventKey, at: UnixMillis) -> Result<Option<TimelineEntry>, TableError> {
        let is_old = at.saturating_add(REDRIVEN_MILLIS) < self.op.now();
        if is_old { entry_of(self.op, key).await } else { Ok(None) }
    }
}
