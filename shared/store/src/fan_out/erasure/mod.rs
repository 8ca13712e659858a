//! The steps of an erasure (`erasure/`).
//!
//! A step removes what the step before listed. Then it looks for more, stage by stage, until it has listed something or
//! has made its queries. `find.rs` looks, `copies.rs` counts the entries and copies of listed events, and `remove.rs`
//! removes what is listed. So an erasure costs one write unit for each KB of an event, one for each of its entries and
//! copies, and some hundredths for its place in a list and in a page of ids.
//!
//! A step lists at most [`ERASED_EVENTS_PER_STEP`] events or entries, or [`ERASED_FOLLOWS_PER_STEP`] follows. So it
//! does not hold its lane of the stream for long.

mod copies;
mod find;
pub(super) mod landed;
mod remove;

use lately_keys::TableKey;
use lately_keys::UnixMillis;
use lately_keys::table::{ErasureLockKey, ErasureStepKey};
use lately_table::{Condition, Rounds, TableError, Update};

use crate::erasure::ids::{self, ErasedIds};
use crate::erasure::step::{ErasureStep, Finished, Place, Stage};
use crate::fan_out::FanOut;
use crate::fan_out::ending::is_settled;
use crate::limits::{ENDING_SETTLE_PAUSE, ERASURE_QUERIES_PER_STEP};

/// A step that is being taken.
#[derive(Clone, Copy)]
struct ErasureRun<'a> {
    fan_out: FanOut<'a>,
    step: &'a ErasureStep,
}

impl FanOut<'_> {
    /// Takes the step of a number, unless it was taken before.
    pub(super) async fn erase(&self, key: &ErasureStepKey, number: u32) -> Result<(), TableError> {
        let Some(step) = self.op.erasures().step(key.erasure).await? else { return Ok(()) };
        if step.number != number || step.finished.is_some() {
            return Ok(());
        }
        let next = Box::pin(ErasureRun { fan_out: *self, step: &step }.take()).await?;
        // If the put is refused, another process has taken the step, an earlier attempt of this put was applied, or an
        // id was added: then the item's new record takes the step again.
        self.op.table.put_if(&next.encode(), &step.is_stored()).await?;
        if next.finished.is_some() {
            // The same names may be erased once more already.
            let is_ours = Condition::no_item().or(Condition::equals("erasure", key.erasure.to_string()));
            let lock = ErasureLockKey { names: next.names };
            self.op.table.delete_if(lock.encode(), &is_ours).await?;
        }
        Ok(())
    }

    /// Sees that the receipt has an id that was added while the receipt was being made, or later. An earlier step finds
    /// the id by itself.
    pub(super) async fn recount(&self, key: &ErasureStepKey) -> Result<(), TableError> {
        let mut rounds = Rounds::of(&self.op.table, "the erasure");
        loop {
            let Some(step) = self.op.erasures().step(key.erasure).await? else { return Ok(()) };
            if step.at.stage != Stage::Finish {
                return Ok(());
            }
            let is_done = match &step.finished {
                None => {
                    let update = Update::of(key).add("landed", 1_u64);
                    self.op
                        .table
                        .update(&update.only_if(step.is_stored().and(Condition::absent("finished"))))
                        .await?
                }
                Some(finished) => {
                    let ids = ErasedIds { op: self.op, erasure: key.erasure }.all().await?;
                    let finished = Finished { ids_sha256: ids::hash(&ids), ..finished.clone() };
                    let mut next =
                        ErasureStep { finished: Some(finished), landed: step.landed + 1, ..step.clone() };
                    next.counts.events = ids.len() as u64;
                    let put = self.op.table.put_if(&next.encode(), &step.is_stored()).await?;
                    put == lately_table::PutIf::Done
                }
            };
            if is_done {
                return Ok(());
            }
            rounds.lose_and_pause().await?;
        }
    }
}

impl ErasureRun<'_> {
    /// Takes the step. Returns the next one.
    async fn take(self) -> Result<ErasureStep, TableError> {
        let mut next = self.step.next();
        if let Some(place) = &self.step.counting {
            next.listed = self.step.listed.clone();
            let counting = self.count_copies(&mut next, Some(place)).await?;
            next.counting = counting;
            return Ok(next);
        }
        self.remove_listed().await?;
        if self.must_wait(&mut next).await? {
            return Ok(next);
        }
        // Each round makes a few queries or calls.
        for _ in 0..ERASURE_QUERIES_PER_STEP {
            if next.at.stage == Stage::Finish {
                self.finish(&mut next).await?;
                return Ok(next);
            }
            if next.at.stage == Stage::Mark.next() && !is_settled(self.fan_out.op, next.begun) {
                tokio::time::sleep(ENDING_SETTLE_PAUSE).await;
                return Ok(next);
            }
            let is_over = !self.look(&mut next).await?;
            if is_over {
                next.at = Place::of(stage_after(&next));
                next.again &= next.at.stage != Stage::Timeline;
            }
            if !next.listed.is_empty() || !next.awaited.is_empty() || next.at.stage == Stage::Finish {
                break;
            }
        }
        if !next.listed.events.is_empty() {
            let counting = self.count_copies(&mut next, None).await?;
            next.counting = counting;
        }
        Ok(next)
    }

    /// True if the next step is to wait for entries or copies that fan-out has not removed yet.
    async fn must_wait(self, next: &mut ErasureStep) -> Result<bool, TableError> {
        if next.awaited.is_empty() {
            return Ok(false);
        }
        let since = *next.waiting_since.get_or_insert_with(|| self.fan_out.op.now());
        let is_awaited =
            self.fan_out.is_awaited(&mut next.awaited, since, |place| vec![place.clone()]).await?;
        next.waiting_since = next.waiting_since.filter(|_| is_awaited);
        Ok(is_awaited)
    }

    /// Makes the receipt. From the time of the end on, the actor's events are new ones, which stay.
    async fn finish(self, next: &mut ErasureStep) -> Result<(), TableError> {
        let op = self.fan_out.op;
        let ids = ErasedIds { op, erasure: next.erasure }.all().await?;
        next.counts.events = ids.len() as u64;
        // The stream tells in whole seconds when an event landed.
        let seconds = op.now().get() / 1000 + 1;
        let at = UnixMillis::new(seconds * 1000).unwrap_or(UnixMillis::MAX);
        next.finished = Some(Finished { at, ids_sha256: ids::hash(&ids) });
        (next.actor, next.user) = (None, None);
        Ok(())
    }
}

/// The stage that follows. If topics were created meanwhile, events are looked for once more.
fn stage_after(step: &ErasureStep) -> Stage {
    match step.at.stage {
        Stage::MarkAgain if step.again => Stage::Timeline,
        stage => stage.next(),
    }
}
