//! The steps of an erasure (the store's `erasure/` begins one).
//!
//! A step removes what the step before listed. Then it looks for more, stage by stage, until it has listed something or
//! has made its queries. `search.rs` looks, and `remove.rs` removes what is listed. So an erasure costs one write unit for
//! each KB of an event, one for each of its entries and copies, and some hundredths for its place in a list and in a
//! page of ids.
//!
//! A step lists at most [`ERASED_EVENTS_PER_STEP`] events or entries, and 1 MB of the events of one partition, or
//! [`ERASED_FOLLOWS_PER_STEP`] follows. So it does not hold its lane of the stream for long.

mod inserted;
mod remove;
mod search;

use lately_items::{ErasureEnd, ErasureEntry, ErasureList, ErasurePlace, ErasureStage, ErasureStep};
use lately_table::TableError;

use crate::erasure::ids;
use crate::fan_out::batch::FanOut;
use crate::fan_out::kinds::erasure::remove::remove_listed;
use crate::fan_out::kinds::erasure::search::look;
use crate::op::Op;
use crate::work::{Next, must_settle, must_wait};

pub(super) use inserted::erase_deferred;
pub(crate) use inserted::erase_event;

/// The most looks that one step of an erasure makes for what remains. Each is a few queries.
const ERASURE_QUERIES_PER_STEP: usize = 16;

/// Removes what the step lists, and lists what is to be removed next.
pub(super) async fn run(fan_out: FanOut<'_>, step: &ErasureStep) -> Result<Next, TableError> {
    let (op, mut next) = (fan_out.op, step.next());
    remove_listed(fan_out, step).await?;
    if !next.awaited.is_empty() {
        let since = *next.waiting_since.get_or_insert_with(|| op.now());
        if must_wait(op, &mut next.awaited, since, |key| vec![key.clone()]).await? {
            return Ok(Next::Again(next.encode()));
        }
        next.waiting_since = None;
    }
    // Each round makes a few queries or calls.
    for _ in 0..ERASURE_QUERIES_PER_STEP {
        if next.at.stage == ErasureStage::Finish {
            return finish(op, step, next).await;
        }
        if next.at.stage == ErasureStage::FIRST && must_settle(op, next.name.begun).await {
            break;
        }
        if !look(fan_out, step, &mut next).await? {
            next.at = ErasurePlace::of(next.at.stage.next());
        }
        let is_listed = next.listed != ErasureList::default();
        if is_listed || !next.awaited.is_empty() || next.at.stage == ErasureStage::Finish {
            break;
        }
    }
    Ok(Next::Again(next.encode()))
}

/// Makes the receipt. The actor's events from this moment on are new ones, which stay.
async fn finish(op: &Op, step: &ErasureStep, mut next: ErasureStep) -> Result<Next, TableError> {
    let ids = op.erasures().erased_ids(next.erasure).await?;
    let end = ErasureEnd { at: op.now(), ids_sha256: ids::hash(&ids) };
    let entry = ErasureEntry::of(step, Some(end.at)).encode();
    next.counts.events = ids.len() as u64;
    next.finished = Some(end);
    (next.actor, next.user) = (None, None);
    Ok(Next::Finish(next.encode(), entry))
}
