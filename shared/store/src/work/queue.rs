//! The queue: replaces a step's item by the next step, and what steps wait for.

use std::collections::HashSet;
use std::sync::Mutex;
use std::time::Duration;

use lately_items::{BegunKey, JobKey, JobStep, StepName};
use lately_keys::{Key, UnixMillis};
use lately_table::{Condition, Fault, Item, TableError, Transacted, Transaction, Update};

use crate::at_once::{collect_all, lock, run_each};
use crate::limits::{ENDING_PAUSE, ENDING_SETTLE_MILLIS, WRITES_AT_ONCE};
use crate::op::Op;

/// After this long, a step no longer waits for other work of fan-out, which may have given up a record.
const PATIENCE_MILLIS: u64 = 10 * 60 * 1000;

/// The pause of a step that waits until [`ENDING_SETTLE_MILLIS`] have passed.
const ENDING_SETTLE_PAUSE: Duration = Duration::from_secs(1);

/// The attribute that is set to make a record of a step again. Nobody reads it, and the next step does not have it.
const TOUCHED: &str = "touched";

/// The work after a step.
pub(crate) enum Next {
    /// Another step, which is put in this item.
    Again(Item),
    /// Nothing. The first item is a receipt, and the second one is put together with it.
    Finish(Item, Item),
    /// Nothing. The step's item is deleted.
    Done,
}

/// Replaces a step in an item that holds one step after another. If the item holds another step by now, then another
/// process has run this step, or an earlier attempt of this call was applied. If DynamoDB refuses the transaction for
/// another reason, this fails, so the step's record comes again.
pub(crate) async fn replace(op: &Op, key: Key, name: StepName, next: Next) -> Result<(), TableError> {
    let is_stored = Condition::equals(StepName::BEGUN, name.begun.get())
        .and(Condition::equals(StepName::NUMBER, name.number));
    match next {
        Next::Again(next) => op.table.put_if(&next, &is_stored).await.map(drop),
        Next::Finish(receipt, other) => {
            let both = Transaction::new(op.ambient()).put_if(receipt, is_stored).put(other);
            match both.commit(&op.table).await? {
                Transacted::Cancelled { faults, .. } if !faults.iter().any(Fault::is_condition) => {
                    Err(TableError::unavailable("the last step of some work was refused"))
                }
                _ => Ok(()),
            }
        }
        Next::Done => op.table.delete_if(key, &is_stored).await.map(drop),
    }
}

/// Puts the next step after a step that has an item of its own, or none.
pub(crate) async fn put_after(op: &Op, next: Next) -> Result<(), TableError> {
    if let Next::Again(next) = next { op.table.put(&next).await } else { Ok(()) }
}

/// Makes the record of a step again, if its item is still there. The new record comes after all records that exist now.
pub(crate) async fn touch(op: &Op, step: Key) -> Result<(), TableError> {
    // An id, because the same value once more would make no record.
    let touch = Update::under(step).set(TOUCHED, op.new_id()?.to_string());
    op.table.update(&touch.only_if(Condition::any_item())).await.map(drop)
}

/// Deletes items one by one: fan-out's role has no right that covers a batch of them.
pub(crate) async fn delete_each(op: &Op, keys: Vec<Key>) -> Result<(), TableError> {
    run_each(WRITES_AT_ONCE, keys.into_iter().map(|key| op.table.delete(key))).await
}

/// As [`delete_each`], but returns the keys that were not deleted because their key ranges are busy. After the first
/// refusal of a partition, no more of its items are tried.
pub(crate) async fn delete_or_refuse(op: &Op, keys: Vec<Key>) -> Result<Vec<Key>, TableError> {
    let busy: Mutex<HashSet<String>> = Mutex::default();
    let deletes = keys.into_iter().map(async |key| {
        if lock(&busy).contains(&key.pk) {
            return Ok(Some(key));
        }
        match op.table.delete(key.clone()).await {
            Err(TableError::Busy(_)) => {
                lock(&busy).insert(key.pk.clone());
                Ok(Some(key))
            }
            deleted => deleted.map(|()| None),
        }
    });
    Ok(collect_all(WRITES_AT_ONCE, deletes).await?.into_iter().flatten().collect())
}

/// Marks that a step has begun. Returns true if an earlier attempt has marked it.
pub(crate) async fn is_repeated(op: &Op, step: &JobStep) -> Result<bool, TableError> {
    let JobKey { job, page } = step.key.clone();
    let mark = Item::mark(&BegunKey { job, page }, step.expires_at);
    Ok(op.table.put_if(&mark, &Condition::no_item()).await?.is_some())
}

/// True if work must wait, because something may not be seen yet that was written before the work began. Then this pauses.
pub(crate) async fn must_settle(op: &Op, begun: UnixMillis) -> bool {
    let is_early = op.now() < begun.saturating_add(ENDING_SETTLE_MILLIS);
    if is_early {
        tokio::time::sleep(ENDING_SETTLE_PAUSE).await;
    }
    is_early
}

/// True if a step must wait, because some of the awaited items still exist. Then this pauses. The others are removed from
/// the list. After ten minutes, nothing is awaited any more.
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
    if !awaited.is_empty() {
        tokio::time::sleep(ENDING_PAUSE).await;
    }
    Ok(!awaited.is_empty())
}
