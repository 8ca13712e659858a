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

use lately_items::{EventKey, Job, JobKind, JobStep};
use lately_table::TableError;

use crate::fan_out::batch::FanOut;
use crate::fan_out::entries::{entry_of, restamp_copies};
use crate::fan_out::post::Post;
use crate::follow::FollowerPage;
use crate::work::Next;

/// Puts an event's copies into the feeds of a page, deletes them there, or gives them the event's expiry.
pub(super) async fn run(fan_out: FanOut<'_>, step: &JobStep) -> Result<Next, TableError> {
    let (op, at, Job { source, id, .. }) = (fan_out.op, step.changed_at(), &step.key.job);
    let page = followers_of(fan_out, step).await?;
    if let Some(last) = page.stopped_at() {
        let next = JobStep { after: Some(last.clone()), ..step.next() };
        op.table.put(&next.encode()).await?;
    }
    let (JobKind::Push(topic, width) | JobKind::Restamp(topic, width)) = &step.task else {
        let stored = op.source(source).stored().await?;
        fan_out.remove_copies(*id, page.holders(&stored, *id), at).await?;
        return Ok(Next::Done);
    };
    let key = EventKey::new(topic.clone(), *width, *id);
    match (&step.task, &entry_of(op, &key).await?) {
        (JobKind::Restamp(..), Some(entry)) => restamp_copies(op, entry, page.users()).await?,
        // The deletion of an event removes its copies.
        (JobKind::Restamp(..), None) => {}
        (_, Some(entry)) => Post { fan_out, key: &key, entry, at }.copy_to(&[page], None).await?,
        (_, None) => {
            // An earlier attempt may have written copies after the event's deletion.
            let leavers = fan_out.leavers(std::slice::from_ref(&page), at).await?;
            fan_out.remove_copies(*id, page.users().chain(&leavers), at).await?;
        }
    }
    Ok(Next::Done)
}

/// Reads the followers of a job's page.
pub(super) async fn followers_of(
    fan_out: FanOut<'_>,
    step: &JobStep,
) -> Result<Arc<FollowerPage>, TableError> {
    let Job { source, shard, .. } = &step.key.job;
    let limit = fan_out.op.store.feeds.followers_per_job.into();
    let page = fan_out.op.source(source).followers_of(*shard, step.after.clone(), limit, true).await?;
    Ok(Arc::new(page))
}
