//! The steps of an erasure (`erasure/`).
//!
//! A step removes what the step before listed. Then it looks for more, stage by stage, until it has listed something or
//! has made its queries. `find.rs` looks, and `remove.rs` removes what is listed. So an erasure costs one write unit for
//! each KB of an event, one for each of its entries and copies, and some hundredths for its place in a list and in a
//! page of ids.
//!
//! A step lists at most [`ERASED_EVENTS_PER_STEP`] events or entries, or [`ERASED_FOLLOWS_PER_STEP`] follows. So it
//! does not hold its lane of the stream for long.

mod find;
pub(super) mod inserted;
mod remove;

use lately_items::{ErasureEnd, ErasureEntry, ErasurePlace, ErasureStage, ErasureStep, ErasureStepKey};
use lately_table::{Condition, TableError, Transaction};

use crate::erasure::ids::{self, ErasedIds};
use crate::fan_out::batch::FanOut;
use crate::fan_out::ending::is_settled;
use crate::limits::ENDING_SETTLE_PAUSE;

/// The most looks that one step of an erasure makes for what is left. Each is a few queries.
const ERASURE_QUERIES_PER_STEP: usize = 16;

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
        // If the put is refused, another process has taken the step, or an earlier attempt of this put was applied.
        let Some(ErasureEnd { at, .. }) = &next.finished else {
            return self.op.table.put_if(&next.encode(), &is_stored(&step)).await.map(drop);
        };
        let entry = ErasureEntry::of(&step, Some(*at)).encode();
        let transaction = Transaction::new(self.op.ambient());
        let transaction = transaction.put_if(next.encode(), is_stored(&step)).put(entry);
        self.op.table.transact(&transaction).await.map(drop)
    }
}

impl ErasureRun<'_> {
    /// Takes the step. Returns the next one.
    async fn take(self) -> Result<ErasureStep, TableError> {
        let mut next = self.step.next();
        self.remove_listed().await?;
        if self.must_wait(&mut next).await? {
            return Ok(next);
        }
        // Each round makes a few queries or calls.
        for _ in 0..ERASURE_QUERIES_PER_STEP {
            if next.at.stage == ErasureStage::Finish {
                self.finish(&mut next).await?;
                return Ok(next);
            }
            if next.at.stage == ErasureStage::FIRST && !is_settled(self.fan_out.op, next.begun) {
                tokio::time::sleep(ENDING_SETTLE_PAUSE).await;
                return Ok(next);
            }
            let is_over = !self.look(&mut next).await?;
            if is_over {
                next.at = ErasurePlace::of(next.at.stage.next());
            }
            if !next.listed.is_empty() || !next.awaited.is_empty() || next.at.stage == ErasureStage::Finish {
                break;
            }
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

    /// Makes the receipt. The actor's events from this moment on are new ones, which stay.
    async fn finish(self, next: &mut ErasureStep) -> Result<(), TableError> {
        let op = self.fan_out.op;
        let ids = ErasedIds { op, erasure: next.erasure }.all().await?;
        next.counts.events = ids.len() as u64;
        next.finished = Some(ErasureEnd { at: op.now(), ids_sha256: ids::hash(&ids) });
        (next.actor, next.user) = (None, None);
        Ok(())
    }
}

/// The condition that the stored step is this one.
fn is_stored(step: &ErasureStep) -> Condition {
    Condition::equals("step", step.number)
}
