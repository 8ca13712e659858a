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
    let limit = op.store.feeds.followers_per_job.into();
    let audience: u64 = counts.values().map(|counts| counts.here).sum();
    let is_small = audience <= u64::from(op.store.feeds.audience);
    let is_few = is_small && op.table.time_left() > FAN_OUT_RESERVE;
    let since = first.changed_at().saturating_sub(TOLD_APART_MILLIS);
    let is_read = |counts: &FollowerCounts| {
        counts.here > 0 || (with_leavers && may_have_unfollowed_since(counts, since))
    };
    let mut shards: Vec<_> =
        counts.iter().filter(|(_, counts)| is_read(counts)).map(|(shard, _)| *shard).collect();
    let pages = shards.iter().filter(|_| is_few).map(async |shard| {
        let page = Box::pin(op.source(source).followers_of(*shard, None, limit, true));
        reads.pages.share((source.clone(), *shard), page).await
    });
    let mut pages = collect_all(SHARDS_AT_ONCE, pages).await?;
    pages.retain(|page| !page.more);
    shards.retain(|shard| pages.iter().all(|page| page.shard != *shard));
    let jobs: Vec<_> = shards.into_iter().map(|shard| first.clone().in_shard(shard)).collect();
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
