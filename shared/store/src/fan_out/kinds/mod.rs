//! The kinds of background work, one file each. The functions here run a step, and the queue (`work/`) puts
//! the next one.
//!
//! | kind | begins when | file |
//! | --- | --- | --- |
//! | deletion | a topic is deleted | `deletion.rs` |
//! | retention | a topic gets another retention | `retention.rs` |
//! | erasure | an actor or a user is erased | `erasure/` |
//! | backfill | a user followed | `backfill.rs` |
//! | cleanup | a user unfollowed | `cleanup.rs` |
//! | push, remove, restamp | an event has many followers to reach | `push.rs` |
//! | promotion | a source has too many followers to push to | `promotion.rs` |
//! | backlog | a partition refused writes, or reads that an event needs | `backlog.rs` |
//! | change | a partition refused reads that another change needs | `change.rs` |
//!
//! A cleanup walks through the feed of one user, and a backfill through a source's timeline. Both can hold millions of
//! entries. So a delivery takes one step of a bounded number of queries, which ends only after its writes are durable. If
//! entries remain, a backfill puts a page of a job that begins at the step's end, and a cleanup changes the feed's item. The
//! stream record of that page or item takes the next step. So a step that is delivered again repeats at most itself.

pub(super) mod backfill;
pub(super) mod backlog;
pub(super) mod change;
pub(super) mod cleanup;
mod deletion;
pub(super) mod erasure;
pub(super) mod promotion;
mod push;
pub(super) mod retention;

use lately_items::limits::JOB_SECONDS;
use lately_items::{
    CleanupStep, CleanupStepKey, DeletionStep, Ending, EndingStepKey, ErasureStep, JobKey, JobKind, JobStep,
    RetentionStep, StepName,
};
use lately_keys::{Key, TableKey, UnixMillis};
use lately_table::TableError;

use crate::fan_out::batch::FanOut;
use crate::work;

/// Runs a step of an item that holds one step after another, if the item still holds this step.
pub(super) async fn run_step(fan_out: FanOut<'_>, key: &Key, name: StepName) -> Result<(), TableError> {
    let op = fan_out.op;
    let Some(item) = op.table.get(key.clone()).await? else { return Ok(()) };
    if StepName::found(&item)? != Some(name) {
        return Ok(());
    }
    if item.key_as::<CleanupStepKey>().is_ok() {
        return Box::pin(cleanup::run(fan_out, CleanupStep::decode(&item)?)).await;
    }
    let next = match item.key_as().map(|EndingStepKey { ending, .. }| ending) {
        Ok(Ending::Deletion) => Box::pin(deletion::run(op, &DeletionStep::decode(&item)?)).await?,
        Ok(Ending::Retention) => Box::pin(retention::run(op, &RetentionStep::decode(&item)?)).await?,
        Err(_) => Box::pin(erasure::run(fan_out, &ErasureStep::decode(&item)?)).await?,
    };
    work::replace(op, key.clone(), name, next).await
}

/// Runs a page of a job, puts the next one if pages of this job wait for each other, and deletes the page. The page says
/// what its job does. Its record is of the time `at`. A page that is gone is done already, or has expired.
pub(super) async fn run_page(fan_out: FanOut<'_>, key: &JobKey, at: UnixMillis) -> Result<(), TableError> {
    let op = fan_out.op;
    let Some(item) = op.table.get(key.encode()).await? else {
        let is_expired = op.now() >= at.saturating_add(JOB_SECONDS * 1000);
        fan_out.done.add(|all| all.expired += u64::from(is_expired));
        return Ok(());
    };
    let step = &JobStep::decode(&item)?;
    let next = match &step.task {
        JobKind::Push(..) | JobKind::Remove | JobKind::Restamp(..) => push::run(fan_out, step).await?,
        JobKind::Promote => promotion::run(fan_out, step).await?,
        JobKind::Walk(walk) => backfill::run(fan_out, step, walk, walk.backfill, None).await?,
    };
    work::put_after(op, next).await?;
    op.table.delete(key.encode()).await
}
