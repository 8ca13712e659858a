//! The audience of a change: the followers that it concerns, in pages now, or in jobs if they are many.

use std::sync::Arc;
use std::time::Duration;

use lately_items::{FollowerCounts, JobStep};
use lately_keys::{ShardCount, UnixMillis};
use lately_table::TableError;

use crate::at_once::collect_all;
use crate::fan_out::batch::FanOut;
use crate::follow::FollowerPage;
use crate::limits::{CLOCKS_APART_MILLIS, SHARDS_AT_ONCE, TOLD_APART_MILLIS};

/// Fan-out gives an event to jobs if it begins with the event when less than this remains before the deadline.
const FAN_OUT_RESERVE: Duration = Duration::from_secs(2);

/// A source's followers, one page for each shard, if they are few and there is time. Jobs process all other followers:
/// as `first`, in their shards.
///
/// A shard without followers has a page if followers may have unfollowed since the change, and `with_leavers` says
/// that an earlier attempt may have written into their feeds.
pub(super) async fn few_or_jobs(
    fan_out: FanOut<'_>,
    first: &JobStep,
    shards: ShardCount,
    with_leavers: bool,
) -> Result<Vec<Arc<FollowerPage>>, TableError> {
    let FanOut { op, reads, .. } = fan_out;
    let source = &first.key.job.source;
    let counts = Box::pin(op.source(source).counts(shards));
    let counts = reads.counts.share((source.clone(), shards), counts).await?;
    let limit = op.store.feeds().followers_per_job.into();
    let audience: u64 = counts.values().map(|counts| counts.here).sum();
    let is_small = audience <= u64::from(op.store.feeds().audience);
    let is_few = is_small && op.table.time_left() > FAN_OUT_RESERVE;
    let since = first.changed_at().saturating_sub(TOLD_APART_MILLIS);
    let is_read = |counts: &FollowerCounts| {
        counts.here > 0 || (with_leavers && may_have_unfollowed_since(counts, since))
    };
    let read = counts.iter().filter(|(_, counts)| is_read(counts)).map(async |(&shard, counts)| {
        let page = match (is_few, counts.here) {
            (false, _) => None,
            // The backfill of a user who follows after the counts were read finds the source's entry.
            (true, 0) => Some(Arc::new(FollowerPage::of_nobody(source, shard))),
            (true, _) => {
                let page = op.source(source).followers_of(shard, None, limit, true);
                Some(reads.pages.share((source.clone(), shard), Box::pin(page)).await?)
            }
        };
        Ok::<_, TableError>((shard, page.filter(|page| !page.more)))
    });
    let read = collect_all(SHARDS_AT_ONCE, read).await?;
    let (mut pages, mut jobs) = (Vec::new(), Vec::new());
    for (shard, page) in read {
        match page {
            Some(page) => pages.push(page),
            None => jobs.push(first.clone().in_shard(shard)),
        }
    }
    fan_out.begin_jobs(&jobs).await?;
    Ok(pages)
}

/// True if a follower may have unfollowed at a time or later.
fn may_have_unfollowed_since(counts: &FollowerCounts, since: UnixMillis) -> bool {
    let since = since.saturating_sub(CLOCKS_APART_MILLIS);
    counts.left_at.is_some_and(|left_at| left_at >= since)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leavers_since_a_time_allow_for_clock_differences() {
        let at = |millis| UnixMillis::new(millis).unwrap();
        let counts = |left_at| FollowerCounts { left_at, ..FollowerCounts::default() };
        assert!(!may_have_unfollowed_since(&counts(None), at(100_000)));
        assert!(may_have_unfollowed_since(&counts(Some(at(40_000))), at(100_000)));
        assert!(!may_have_unfollowed_since(&counts(Some(at(39_999))), at(100_000)));
    }
}
