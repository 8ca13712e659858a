//! Push: the work of jobs for each follower of a page. A job pushes an event, removes it, or gives its copies another
//! expiry.
//!
//! A page puts the next page before it does anything else, so the pages of a job run at the same time.
//!
//! A follower can unfollow while their page is processed. Cleanup first records the leaver, and then looks through the
//! feed (`cleanup.rs`); a job first writes its entries, and then reads the leavers. So each entry is removed by one
//! side or the other. A job reads the leavers since the change that the job follows from. So an attempt that follows
//! one that died also finds the leavers who were on the earlier attempt's page.

use std::sync::Arc;

use lately_items::{EventKey, Job, JobStep};
use lately_keys::{BucketWidth, Topic};
use lately_table::TableError;

use crate::fan_out::batch::FanOut;
use crate::fan_out::entries::{entry_of, restamp_copies};
use crate::fan_out::post::Post;
use crate::follow::FollowerPage;
use crate::work::Next;

/// Puts an event's copies into the feeds of a page.
pub(super) async fn push(
    fan_out: FanOut<'_>,
    step: &JobStep,
    topic: &Topic,
    width: BucketWidth,
) -> Result<Next, TableError> {
    let (op, at) = (fan_out.op, step.changed_at());
    let pages = [page(fan_out, step).await?];
    let key = EventKey::new(topic.clone(), width, step.key.job.id);
    if let Some(entry) = &entry_of(op, &key).await? {
        Post { fan_out, key: &key, entry, at }.copy_to(&pages, None).await?;
        return Ok(Next::Done);
    }
    // An earlier attempt may have written copies after the event's deletion.
    let leavers = fan_out.leavers(&pages, at).await?;
    let users = pages.iter().flat_map(|page| page.users()).chain(&leavers);
    fan_out.remove_copies(key.id(), users, at).await?;
    Ok(Next::Done)
}

/// Deletes an event's copies in the feeds of a page.
pub(super) async fn remove(fan_out: FanOut<'_>, step: &JobStep) -> Result<Next, TableError> {
    let Job { source, id, .. } = &step.key.job;
    let page = page(fan_out, step).await?;
    let stored = fan_out.op.source(source).stored().await?;
    fan_out.remove_copies(*id, page.holders(&stored, *id), step.changed_at()).await?;
    Ok(Next::Done)
}

/// Gives an event's copies in the feeds of a page the event's expiry.
pub(super) async fn restamp(
    fan_out: FanOut<'_>,
    step: &JobStep,
    topic: &Topic,
    width: BucketWidth,
) -> Result<Next, TableError> {
    let page = page(fan_out, step).await?;
    // The deletion of an event removes its copies.
    let key = EventKey::new(topic.clone(), width, step.key.job.id);
    if let Some(entry) = entry_of(fan_out.op, &key).await? {
        restamp_copies(fan_out.op, &entry, page.users()).await?;
    }
    Ok(Next::Done)
}

/// Reads the followers of a job's page, and puts the next page.
async fn page(fan_out: FanOut<'_>, step: &JobStep) -> Result<Arc<FollowerPage>, TableError> {
    let page = followers_of(fan_out, step).await?;
    if let Some(last) = page.stopped_at() {
        let next = JobStep { after: Some(last.clone()), ..step.next() };
        fan_out.op.table.put(&next.encode()).await?;
    }
    Ok(page)
}

/// Reads the followers of a job's page.
pub(super) async fn followers_of(
    fan_out: FanOut<'_>,
    step: &JobStep,
) -> Result<Arc<FollowerPage>, TableError> {
    let Job { source, shard, .. } = &step.key.job;
    let limit = fan_out.op.store.feeds().followers_per_job.into();
    let page = fan_out.op.source(source).followers_of(*shard, step.after.clone(), limit, true).await?;
    Ok(Arc::new(page))
}
