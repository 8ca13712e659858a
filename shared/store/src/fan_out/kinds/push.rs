//! Push: the work of jobs for each follower of a page. A job pushes an event, removes it, or gives its copies another
//! expiry.
//!
//! A page puts the next page before it does anything else, so the pages of a job run at the same time.
//!
//! A follower can unfollow while their page is processed. Cleanup first records the leaver, and then looks through the
//! feed (`cleanup.rs`); a job first writes its entries, and then reads the leavers. So each entry is removed by one
//! side or the other. A job reads the leavers since the change that the job follows from. So an attempt that follows
//! one that died also finds the leavers who were on the earlier attempt's page.

use std::collections::BTreeSet;

use lately_items::{EventKey, Job, JobStep, Step, TimelineEntry};
use lately_keys::{BucketWidth, TableKey, Topic};
use lately_table::TableError;

use crate::fan_out::batch::FanOut;
use crate::fan_out::deferred::DeferredWrite;
use crate::fan_out::entries::{Entries, restamp_copies};
use crate::fan_out::shard_page::ShardPage;
use crate::work::Next;

/// Puts an event's copies into the feeds of a page.
pub(super) async fn push(
    entries: Entries<'_>,
    step: &JobStep,
    topic: &Topic,
    width: BucketWidth,
) -> Result<Next<JobStep>, TableError> {
    let (fan_out, at) = (entries.fan_out, step.changed_at());
    let page = page(fan_out, step).await?;
    let key = EventKey::new(topic.clone(), width, step.key.job.id);
    let mut users: BTreeSet<_> = page.users().collect();
    let Some(entry) = &entry_of(fan_out, &key).await? else {
        // An earlier attempt may have written copies after the event's deletion.
        let leavers = page.leavers(fan_out.op, at).await?;
        entries.remove_copies(key.id(), users.into_iter().chain(&leavers), at).await?;
        return Ok(Next::Done);
    };
    entries.copy(entry, &mut users, |_| DeferredWrite::write(&key, at, entry.fans_out)).await?;
    let leavers = page.leavers(fan_out.op, at).await?;
    match fan_out.reads.is_deleted(fan_out.op, &key).await? {
        true => entries.remove(entry, users.into_iter().chain(&leavers), at).await?,
        false => fan_out.remove_unfollowed(leavers, entry).await?,
    }
    Ok(Next::Done)
}

/// Deletes an event's copies in the feeds of a page.
pub(super) async fn remove(entries: Entries<'_>, step: &JobStep) -> Result<Next<JobStep>, TableError> {
    let Job { source, id, .. } = &step.key.job;
    let page = page(entries.fan_out, step).await?;
    let stored = entries.fan_out.op.source(source).stored().await?;
    entries.remove_copies(*id, page.holders(&stored, *id), step.changed_at()).await?;
    Ok(Next::Done)
}

/// Gives an event's copies in the feeds of a page the event's expiry.
pub(super) async fn restamp(
    fan_out: FanOut<'_>,
    step: &JobStep,
    topic: &Topic,
    width: BucketWidth,
) -> Result<Next<JobStep>, TableError> {
    let page = page(fan_out, step).await?;
    // The deletion of an event removes its copies.
    let key = EventKey::new(topic.clone(), width, step.key.job.id);
    if let Some(entry) = entry_of(fan_out, &key).await? {
        restamp_copies(fan_out.op, &entry, page.users()).await?;
    }
    Ok(Next::Done)
}

/// Reads the followers of a job's page, and puts the next page.
async fn page(fan_out: FanOut<'_>, step: &JobStep) -> Result<ShardPage, TableError> {
    let page = ShardPage::of(fan_out.op, step).await?;
    if let Some(next) = page.next(step)? {
        fan_out.op.table.put(&next.encode()).await?;
    }
    Ok(page)
}

/// The entry of an event, if the event exists.
async fn entry_of(fan_out: FanOut<'_>, key: &EventKey) -> Result<Option<TimelineEntry>, TableError> {
    let Some(event) = fan_out.op.table.get(key.encode()).await? else { return Ok(None) };
    Ok(TimelineEntry::of(key, &event)?)
}
