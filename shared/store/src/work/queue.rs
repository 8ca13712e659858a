//! The queue: reads a step's item, runs the step if it is due, and replaces it by the next one.

use std::time::Duration;

use futures_util::stream::{self, StreamExt, TryStreamExt};
use lately_items::{BegunKey, JobStep, Record, Step, StepName};
use lately_keys::{Key, UnixMillis};
use lately_table::{Condition, Item, PutIf, TableError, Transaction};

use crate::limits::{ENDING_SETTLE_MILLIS, WRITES_AT_ONCE};
use crate::op::Op;

/// After this long, a step no longer waits for other work of fan-out, which may have given up a record.
const PATIENCE_MILLIS: u64 = 10 * 60 * 1000;

/// A kind of background work.
pub(crate) trait Work {
    /// The item of a step.
    type Step: Step;

    /// Runs a step, and returns the work after it.
    async fn run(&self, step: &Self::Step) -> Result<Next<Self::Step>, TableError>;
}

/// The work after a step.
pub(crate) enum Next<S> {
    /// Another step.
    Again(S),
    /// Another step, after a pause.
    Wait(S, Duration),
    /// Nothing. The item becomes a receipt, and another item is put together with it.
    Finish(S, Item),
    /// Nothing. The step's item is deleted.
    Done,
}

/// The queue of all background work, for one batch of records.
#[derive(Clone, Copy)]
pub(crate) struct Queue<'a> {
    pub(crate) op: &'a Op,
}

impl Queue<'_> {
    /// Runs the step that a record names, if the item still holds this step.
    pub(crate) async fn run<W: Work>(
        self,
        work: &W,
        key: Key,
        due: Option<StepName>,
    ) -> Result<(), TableError> {
        let Some(item) = self.op.table.get(key).await? else { return Ok(()) };
        let step = W::Step::decode(&item)?;
        if step.name() != due {
            return Ok(());
        }
        let next = Box::pin(work.run(&step)).await?;
        self.replace(&step, next).await
    }

    /// Replaces a step. If the item holds another step by now, then another process has run this step, or an earlier
    /// attempt of this call was applied.
    async fn replace<S: Step>(self, step: &S, next: Next<S>) -> Result<(), TableError> {
        let table = &self.op.table;
        let next = match next {
            Next::Wait(next, pause) => {
                tokio::time::sleep(pause).await;
                Next::Again(next)
            }
            next => next,
        };
        match (step.name().map(is_stored), next) {
            (Some(is_stored), Next::Again(next)) => table.put_if(&next.encode(), &is_stored).await.map(drop),
            (Some(is_stored), Next::Finish(receipt, other)) => {
                let both = Transaction::new(self.op.ambient());
                let both = both.put_if(receipt.encode(), is_stored).put(other);
                both.commit(table).await.map(drop)
            }
            (Some(is_stored), _) => table.delete_if(step.key(), &is_stored).await.map(drop),
            (None, Next::Again(next)) => {
                table.put(&next.encode()).await?;
                table.delete(step.key()).await
            }
            (None, _) => table.delete(step.key()).await,
        }
    }

    /// Puts the next step after a first step that had no item.
    pub(crate) async fn put_after<S: Step>(self, next: Next<S>) -> Result<(), TableError> {
        match next {
            Next::Again(next) => self.op.table.put(&next.encode()).await,
            _ => Ok(()),
        }
    }

    /// Puts the first steps of some work.
    pub(crate) async fn put_first<S: Step>(self, steps: &[S]) -> Result<(), TableError> {
        let puts: Vec<_> = steps.iter().map(async |step| self.op.table.put(&step.encode()).await).collect();
        stream::iter(puts).buffer_unordered(WRITES_AT_ONCE).try_collect().await
    }

    /// Deletes items one by one: fan-out's role has no right that covers a batch of them.
    pub(crate) async fn delete_each(self, keys: Vec<Key>) -> Result<(), TableError> {
        let deletes = keys.into_iter().map(|key| self.op.table.delete(key));
        stream::iter(deletes).buffer_unordered(WRITES_AT_ONCE).try_collect().await
    }

    /// Marks that a step has begun. Returns true if an earlier attempt has marked it.
    pub(crate) async fn is_repeated(self, step: &JobStep) -> Result<bool, TableError> {
        let mark = BegunKey(step.key.clone()).item(step.expires_at);
        Ok(self.op.table.put_if(&mark, &Condition::no_item()).await? != PutIf::Done)
    }

    /// True if everything can be seen that was written before some work began.
    pub(crate) fn is_settled(self, begun: UnixMillis) -> bool {
        self.op.now() >= begun.saturating_add(ENDING_SETTLE_MILLIS)
    }

    /// True if the step must wait, because some of the awaited items still exist. The others are removed from the list.
    /// After ten minutes, nothing is awaited any more.
    pub(crate) async fn must_wait<T>(
        self,
        awaited: &mut Vec<T>,
        since: UnixMillis,
        keys: impl Fn(&T) -> Vec<Key>,
    ) -> Result<bool, TableError> {
        let all: Vec<_> = awaited.iter().flat_map(&keys).collect();
        let found = self.op.table.existing(&all).await?;
        awaited.retain(|awaited| keys(awaited).iter().any(|key| found.contains(key)));
        if self.op.now().get().saturating_sub(since.get()) > PATIENCE_MILLIS {
            tracing::warn!("background work goes on without waiting for entries of deleted events");
            awaited.clear();
        }
        Ok(!awaited.is_empty())
    }
}

/// The condition that an item holds a step.
fn is_stored(name: StepName) -> Condition {
    Condition::equals(StepName::BEGUN, name.begun.get()).and(Condition::equals(StepName::NUMBER, name.number))
}
