//! The queue: replaces a step's item by the next step, and what steps wait for.

use std::time::Duration;

use futures_util::stream::{self, StreamExt, TryStreamExt};
use lately_items::{BegunKey, JobKey, JobStep, Step, StepName};
use lately_keys::{Key, UnixMillis};
use lately_table::{Condition, Item, PutIf, TableError, Transaction};

use crate::limits::{ENDING_SETTLE_MILLIS, WRITES_AT_ONCE};
use crate::op::Op;

/// After this long, a step no longer waits for other work of fan-out, which may have given up a record.
const PATIENCE_MILLIS: u64 = 10 * 60 * 1000;

/// The work after a step.
pub(crate) enum Next {
    /// Another step, which is put in this item.
    Again(Item),
    /// Another step, after a pause.
    Wait(Item, Duration),
    /// Nothing. The first item is a receipt, and the second one is put together with it.
    Finish(Item, Item),
    /// Nothing. The step's item is deleted.
    Done,
}

/// Replaces a step. A step without a name has an item of its own. If the item of a named step holds another step by now,
/// then another process has run this step, or an earlier attempt of this call was applied.
pub(crate) async fn replace(op: &Op, key: Key, name: Option<StepName>, next: Next) -> Result<(), TableError> {
    let is_stored = name.map(is_stored);
    if let Next::Wait(_, pause) = next {
        tokio::time::sleep(pause).await;
    }
    match (is_stored, next) {
        (Some(is_stored), Next::Again(next) | Next::Wait(next, _)) => {
            op.table.put_if(&next, &is_stored).await.map(drop)
        }
        (Some(is_stored), Next::Finish(receipt, other)) => {
            let both = Transaction::new(op.ambient()).put_if(receipt, is_stored).put(other);
            both.commit(&op.table).await.map(drop)
        }
        (Some(is_stored), Next::Done) => op.table.delete_if(key, &is_stored).await.map(drop),
        (None, next) => {
            put_after(op, next).await?;
            op.table.delete(key).await
        }
    }
}

/// Puts the next step after a first step that had no item.
pub(crate) async fn put_after(op: &Op, next: Next) -> Result<(), TableError> {
    match next {
        Next::Again(next) | Next::Wait(next, _) => op.table.put(&next).await,
        _ => Ok(()),
    }
}

/// The next page of a job.
pub(crate) fn next_page(step: &JobStep) -> Result<JobStep, TableError> {
    step.next().ok_or_else(|| TableError::unavailable("a job has too many pages"))
}

/// Puts the first pages of some jobs.
pub(crate) async fn put_first(op: &Op, steps: &[JobStep]) -> Result<(), TableError> {
    let puts: Vec<_> = steps.iter().map(async |step| op.table.put(&step.encode()).await).collect();
    stream::iter(puts).buffer_unordered(WRITES_AT_ONCE).try_collect().await
}

/// Deletes items one by one: fan-out's role has no right that covers a batch of them.
pub(crate) async fn delete_each(op: &Op, keys: Vec<Key>) -> Result<(), TableError> {
    let deletes = keys.into_iter().map(|key| op.table.delete(key));
    stream::iter(deletes).buffer_unordered(WRITES_AT_ONCE).try_collect().await
}

/// Marks that a step has begun. Returns true if an earlier attempt has marked it.
pub(crate) async fn is_repeated(op: &Op, step: &JobStep) -> Result<bool, TableError> {
    let JobKey { job, page } = step.key.clone();
    let mark = BegunKey { job, page }.item(step.expires_at);
    Ok(op.table.put_if(&mark, &Condition::no_item()).await? != PutIf::Done)
}

/// True if everything can be seen that was written before some work began.
pub(crate) fn is_settled(op: &Op, begun: UnixMillis) -> bool {
    op.now() >= begun.saturating_add(ENDING_SETTLE_MILLIS)
}

/// True if a step must wait, because some of the awaited items still exist. The others are removed from the list.
/// After ten minutes, nothing is awaited any more.
pub(crate) async fn must_wait<T>(
    op: &Op,
    awaited: &mut Vec<T>,
    since: UnixMillis,
    keys: impl Fn(&T) -> Vec<Key>,
) -> Result<bool, TableError> {
    let all: Vec<_> = awaited.iter().flat_map(&keys).collect();
    let found = op.table.existing(&all).await?;
    awaited.retain(|awaited| keys(awaited).iter().any(|key| found.contains(key)));
    if op.now().get().saturating_sub(since.get()) > PATIENCE_MILLIS {
        tracing::warn!("background work goes on without waiting for entries of deleted events");
        awaited.clear();
    }
    Ok(!awaited.is_empty())
}

/// The condition that an item holds a step.
fn is_stored(name: StepName) -> Condition {
    Condition::equals(StepName::BEGUN, name.begun.get()).and(Condition::equals(StepName::NUMBER, name.number))
}
