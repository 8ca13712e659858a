//! The kinds of background work, one file each. `run` finds the kind of a step; the queue (`work/`) does the rest.
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

pub(super) mod backfill;
pub(super) mod backlog;
pub(super) mod cleanup;
mod deletion;
pub(super) mod erasure;
pub(super) mod promotion;
mod push;
pub(super) mod retention;
mod walk;

use lately_items::{Ending, JobKind, JobStep, PageTask, StepName, WalkPurpose, WorkKey};
use lately_table::TableError;

use crate::fan_out::entries::Entries;
use crate::work::{Next, Work};

/// Runs a step.
pub(super) async fn run(
    entries: Entries<'_>,
    key: &WorkKey,
    name: Option<StepName>,
) -> Result<(), TableError> {
    let queue = entries.fan_out.queue();
    match key {
        WorkKey::Ending(ending) => match ending.ending {
            Ending::Deletion => queue.run(&deletion::Deletion { queue }, key.encode(), name).await,
            Ending::Retention => queue.run(&retention::Retention { op: queue.op }, key.encode(), name).await,
        },
        WorkKey::Erasure(_) => queue.run(&erasure::Erasure { entries }, key.encode(), name).await,
        WorkKey::Job(_) => queue.run(&Jobs { entries }, key.encode(), name).await,
        WorkKey::Backlog(key) => backlog::run(entries, &key.backlog, &[key.id].into()).await,
    }
}

/// All jobs: a page of each says what its job does.
struct Jobs<'a> {
    entries: Entries<'a>,
}

impl Work for Jobs<'_> {
    type Step = JobStep;

    async fn run(&self, step: &JobStep) -> Result<Next<JobStep>, TableError> {
        let Self { entries } = *self;
        let fan_out = entries.fan_out;
        match &step.task {
            JobKind::Page(PageTask::Push(topic, width)) => push::push(entries, step, topic, *width).await,
            JobKind::Page(PageTask::Remove) => push::remove(entries, step).await,
            JobKind::Page(PageTask::Restamp(topic, width)) => {
                push::restamp(fan_out, step, topic, *width).await
            }
            JobKind::Page(PageTask::Promote) => promotion::run(fan_out, step).await,
            JobKind::Walk(walk) => match walk.purpose {
                WalkPurpose::Cleanup => cleanup::run(fan_out, step, walk).await,
                WalkPurpose::Backfill(rest) => backfill::run(fan_out, step, walk, rest, None).await,
            },
        }
    }
}
