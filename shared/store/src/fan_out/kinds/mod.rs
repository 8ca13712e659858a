//! The kinds of background work, one file each. `run` finds the kind of a step, and the queue (`work/`) puts the next one.
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
//! | backlog | a partition refused writes | `backlog.rs` |
//!
//! A cleanup walks through the feed of one user, and a backfill through a source's timeline. Both can hold millions of
//! entries. So a delivery takes one step of a bounded number of queries, which ends only after its writes are durable. If
//! entries remain, the step puts a page of a job that begins at the step's end, and the stream record of that page takes the
//! next step. So a step that is delivered again repeats at most itself.

pub(super) mod backfill;
pub(super) mod backlog;
pub(super) mod cleanup;
mod deletion;
pub(super) mod erasure;
pub(super) mod promotion;
mod push;
pub(super) mod retention;

use std::collections::BTreeSet;

use lately_items::{DeletionStep, Ending, ErasureStep, JobKind, JobStep, RetentionStep, StepName, WorkKey};
use lately_keys::EventId;
use lately_table::TableError;

use crate::fan_out::batch::FanOut;
use crate::work::{self, Next};

/// Runs the step that a record names, if the item still holds this step. The items of a backlog have one step together.
pub(super) async fn run(
    fan_out: FanOut<'_>,
    key: &WorkKey,
    due: Option<StepName>,
    items: &BTreeSet<EventId>,
) -> Result<(), TableError> {
    if let WorkKey::Backlog(key) = key {
        return backlog::run(fan_out, &key.backlog, items).await;
    }
    let op = fan_out.op;
    let Some(item) = op.table.get(key.encode()).await? else { return Ok(()) };
    if StepName::found(&item)? != due {
        return Ok(());
    }
    let next = match key {
        WorkKey::Ending(key) => match key.ending {
            Ending::Deletion => Box::pin(deletion::run(op, &DeletionStep::decode(&item)?)).await?,
            Ending::Retention => Box::pin(retention::run(op, &RetentionStep::decode(&item)?)).await?,
        },
        WorkKey::Erasure(_) => Box::pin(erasure::run(fan_out, &ErasureStep::decode(&item)?)).await?,
        WorkKey::Job(_) | WorkKey::Backlog(_) => Box::pin(run_job(fan_out, &JobStep::decode(&item)?)).await?,
    };
    work::replace(op, key.encode(), due, next).await
}

/// Runs a page of a job. The page says what its job does.
async fn run_job(fan_out: FanOut<'_>, step: &JobStep) -> Result<Next, TableError> {
    match &step.task {
        JobKind::Push(topic, width) => push::push(fan_out, step, topic, *width).await,
        JobKind::Remove => push::remove(fan_out, step).await,
        JobKind::Restamp(topic, width) => push::restamp(fan_out, step, topic, *width).await,
        JobKind::Promote => promotion::run(fan_out, step).await,
        JobKind::Walk(walk) => match walk.backfill {
            None => cleanup::run(fan_out, step, walk).await,
            Some(rest) => backfill::run(fan_out, step, walk, rest, None).await,
        },
    }
}
