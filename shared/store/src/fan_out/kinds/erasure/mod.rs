//! The steps of an erasure (the store's `erasure/` begins one).
//!
//! A step removes what the step before listed. Then it looks for more, stage by stage, until it has listed something or
//! has made its queries. `search.rs` looks, and `remove.rs` removes what is listed. So an erasure costs one write unit for
//! each KB of an event, one for each of its entries and copies, and some hundredths for its place in a list and in a
//! page of ids.
//!
//! A step lists at most [`ERASED_EVENTS_PER_STEP`] events or entries, or [`ERASED_FOLLOWS_PER_STEP`] follows. So it
//! does not hold its lane of the stream for long.

mod inserted;
mod remove;
mod search;

use lately_items::{ErasureEnd, ErasureEntry, ErasurePlace, ErasureStage, ErasureStep};
use lately_table::TableError;

use crate::erasure::ids::{self, ErasedIds};
use crate::fan_out::entries::Entries;
use crate::fan_out::kinds::erasure::remove::Removing;
use crate::fan_out::kinds::erasure::search::Search;
use crate::limits::{ENDING_PAUSE, ENDING_SETTLE_PAUSE};
use crate::work::{Next, Work};

pub(super) use inserted::erase_deferred;
pub(crate) use inserted::erase_event;

/// The most looks that one step of an erasure makes for what remains. Each is a few queries.
const ERASURE_QUERIES_PER_STEP: usize = 16;

/// The erasure of an actor or a user.
pub(super) struct Erasure<'a> {
    pub(super) entries: Entries<'a>,
}

impl Work for Erasure<'_> {
    type Step = ErasureStep;

    /// Removes what the step lists, and lists what is to be removed next.
    async fn run(&self, step: &ErasureStep) -> Result<Next<ErasureStep>, TableError> {
        let Self { entries } = *self;
        let (fan_out, queue) = (entries.fan_out, entries.fan_out.queue());
        let mut next = step.next();
        Removing { fan_out, step }.remove_listed().await?;
        if !next.awaited.is_empty() {
            let since = *next.waiting_since.get_or_insert_with(|| fan_out.op.now());
            if queue.must_wait(&mut next.awaited, since, |key| vec![key.clone()]).await? {
                return Ok(Next::Wait(next, ENDING_PAUSE));
            }
            next.waiting_since = None;
        }
        let search = Search { entries, actor: step.actor.as_ref(), user: step.user.as_ref() };
        // Each round makes a few queries or calls.
        for _ in 0..ERASURE_QUERIES_PER_STEP {
            if next.at.stage == ErasureStage::Finish {
                return self.finish(step, next).await;
            }
            if next.at.stage == ErasureStage::FIRST && !queue.is_settled(next.name.begun) {
                return Ok(Next::Wait(next, ENDING_SETTLE_PAUSE));
            }
            let is_over = !search.look(&mut next).await?;
            if is_over {
                next.at = ErasurePlace::of(next.at.stage.next());
            }
            if !next.listed.is_empty() || !next.awaited.is_empty() || next.at.stage == ErasureStage::Finish {
                break;
            }
        }
        Ok(Next::Again(next))
    }
}

impl Erasure<'_> {
    /// Makes the receipt. The actor's events from this moment on are new ones, which stay.
    async fn finish(
        &self,
        step: &ErasureStep,
        mut next: ErasureStep,
    ) -> Result<Next<ErasureStep>, TableError> {
        let op = self.entries.fan_out.op;
        let ids = ErasedIds { op, erasure: next.erasure }.all().await?;
        let end = ErasureEnd { at: op.now(), ids_sha256: ids::hash(&ids) };
        let entry = ErasureEntry::of(step, Some(end.at)).encode();
        next.counts.events = ids.len() as u64;
        next.finished = Some(end);
        (next.actor, next.user) = (None, None);
        Ok(Next::Finish(next, entry))
    }
}
