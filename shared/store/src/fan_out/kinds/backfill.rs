//! Backfill: a new follower's feed gets the source's entries since the follow, and some older ones.
//!
//! It runs after the follow was stored, and reads the source's timeline consistently. So it finds every event whose
//! fan-out did not find the follower.
//!
//! These rules must hold:
//! - A backfill whose follow is over by the end of a step becomes a cleanup. The cleanup that the unfollow began may
//!   have passed before the step wrote.
//! - An attempt of a step may die after it wrote entries and before it checked that their events still exist. If such an
//!   event is deleted meanwhile, the next attempt does not find it in the timeline. So a step marks that it has begun,
//!   and an attempt that finds the mark begins a cleanup, which looks at every entry of the source.

use std::sync::Arc;

use lately_items::{
    BackfillRest, FeedWalk, FollowEdge, Follower, FollowerKey, Job, JobKind, JobStep, TimelineEntry,
};
use lately_keys::{Coverage, EventId, Source, UnixMillis, User};
use lately_table::TableError;

use crate::fan_out::batch::FanOut;
use crate::fan_out::kinds::cleanup;
use crate::span::IdRange;
use crate::work::{self, Next};

/// Older entries of a source that a backfill looks at, to find entries of topics that fan out.
const BACKFILL_ENTRIES: u32 = 4_096;

/// Begins to copy a source's entries into the feed of a new follower.
pub(crate) async fn begin(
    fan_out: FanOut<'_>,
    key: &FollowerKey,
    follower: &Follower,
    id: EventId,
    at: UnixMillis,
) -> Result<(), TableError> {
    let FollowerKey { source, shard, user } = key;
    let Follower { since, backfill: wanted, .. } = *follower;
    let follow = FollowEdge { source: source.clone(), shard: *shard, since };
    if fan_out.op.user(user).whole_follow(key).await? != Some(follow) {
        // This follow is over. A new follow has a record of its own.
        return Ok(());
    }
    let stored = fan_out.op.source(source).stored().await?;
    let pulled_from = stored.marker(source, since).map(|marker| marker.since);
    if pulled_from.is_some() {
        fan_out.settle_marker(user, source).await?;
    }
    // The feed pulls the newer entries by its marker. The newest of the older entries are copied, also from a
    // source that is pulled.
    let behind = pulled_from.map(|from| from.max(EventId::first_of(since)));
    let rest = BackfillRest { since, wanted, looked_at: 0 };
    let walk = FeedWalk { user: user.clone(), behind, backfill: rest };
    let first = JobStep::first(JobKind::Walk(walk.clone()), id, source.clone(), at).in_shard(*shard);
    let next = run(fan_out, &first, &walk, rest, Some(stored.coverage)).await?;
    work::put_after(fan_out.op, next).await
}

/// Copies some entries. The coverage of the source's timeline was read after the follow was stored; if it is not given,
/// the step reads it.
pub(super) async fn run(
    fan_out: FanOut<'_>,
    step: &JobStep,
    walk: &FeedWalk,
    rest: BackfillRest,
    coverage: Option<Arc<Coverage>>,
) -> Result<Next, TableError> {
    let op = fan_out.op;
    let Job { source, shard, .. } = &step.key.job;
    let is_repeated = work::is_repeated(op, step).await?;
    let coverage = match coverage {
        Some(coverage) => coverage,
        None => op.source(source).stored().await?.coverage,
    };
    let mut next = Some((walk.behind, rest));
    for _ in 0..op.store.feeds.queries_per_step {
        let Some((behind, rest)) = next else { break };
        next = copy_some(fan_out, source, &coverage, &walk.user, behind, rest).await?;
    }
    let follow = FollowEdge { source: source.clone(), shard: *shard, since: rest.since };
    let is_over = op.user(&walk.user).edge(source).await? != Some(follow);
    if is_repeated || is_over {
        cleanup::add(op, &walk.user, source).await?;
    }
    let Some((behind, rest)) = next.filter(|_| !is_over) else { return Ok(Next::Done) };
    let task = JobKind::Walk(FeedWalk { behind, backfill: rest, ..walk.clone() });
    Ok(Next::Again(JobStep { task, ..step.next() }.encode()))
}

/// Copies some entries of a source's timeline into a feed, newest first: all entries since the follow, and as many older
/// ones as are wanted. Returns where the rest begins.
async fn copy_some(
    fan_out: FanOut<'_>,
    source: &Source,
    coverage: &Coverage,
    user: &User,
    behind: Option<EventId>,
    rest: BackfillRest,
) -> Result<Option<(Option<EventId>, BackfillRest)>, TableError> {
    let op = fan_out.op;
    let BackfillRest { since, wanted, looked_at } = rest;
    let followed_at = EventId::first_of(since);
    let oldest = if wanted == 0 { followed_at } else { EventId::MIN };
    let newest = behind.map_or(Some(EventId::MAX), EventId::just_before);
    let Some(ids) = newest.and_then(|newest| IdRange::new(oldest, newest)) else { return Ok(None) };
    // Mostly the first query finds all wanted entries. If not, few of the source's events fan out.
    let is_first = looked_at == 0 && behind.is_none_or(|behind| behind == followed_at);
    let most = op.store.feeds.entries_per_query;
    let limit = if is_first && wanted > 0 { most.min(wanted.into()) } else { most };
    let (found, stopped_at) = op.source(source).newest(coverage, ids, limit).await?;

    let now = op.now().get() / 1000;
    let is_older = |entry: &TimelineEntry| entry.id < followed_at;
    let older = found.iter().filter(|entry| is_older(entry)).count();
    let looked_at = looked_at.saturating_add(u32::try_from(older).unwrap_or(u32::MAX));
    let (mut older, mut entries): (Vec<_>, Vec<_>) = found
        .into_iter()
        .filter(|entry| entry.fans_out && entry.expires_at.is_none_or(|at| at > now))
        .partition(is_older);
    older.truncate(wanted.into());
    let wanted = wanted.saturating_sub(u16::try_from(older.len()).unwrap_or(u16::MAX));
    entries.append(&mut older);
    fan_out.put(entries.iter().map(|entry| op.feed(user).entry(entry)).collect()).await?;
    fan_out.done.add(|all| all.deliveries += entries.len() as u64);
    fan_out.remove_deleted(user, entries).await?;

    let Some(behind) = stopped_at else { return Ok(None) };
    if behind < followed_at && (wanted == 0 || looked_at >= BACKFILL_ENTRIES) {
        return Ok(None);
    }
    Ok(Some((Some(behind), BackfillRest { since, wanted, looked_at })))
}
