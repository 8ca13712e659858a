//! Promotion: a source with too many followers to push to changes from push to pull.
//!
//! ```text
//! push ── a shard's counts show too many followers ──► promoting, with the id that marks the promotion's start
//!                                     a job for each follower shard puts a marker into every feed
//! pull ◄── the last shard is done ── events from a new id on are no longer pushed
//! ```
//!
//! Every follower gets a marker. A user who followed before the promotion began is in one of the shards that it began
//! with, and gets a marker from that shard's job. A user who follows later finds the source promoting, and gets a
//! marker from the backfill. The stream record of each step begins the next step. So a promotion goes on wherever a
//! process dies.

use lately_items::{
    EXPIRES_AT, Follower, FollowerCountKey, FollowerCounts, Job, JobKind, JobStep, PushMode, StoredSource,
};
use lately_keys::{EventId, Shard, Source, UnixMillis};
use lately_table::{Condition, TableError, Value};

use crate::fan_out::batch::FanOut;
use crate::fan_out::kinds::push::followers_of;
use crate::limits::FOLLOWER_SHARDS;
use crate::source::has_shards;
use crate::work::Next;

/// Begins a promotion if the source has too many followers. The counts of all shards are read only if the counts of
/// this shard suggest it. `may_be_first` says that the shard's first follower may have come.
pub(crate) async fn counted(
    fan_out: FanOut<'_>,
    key: &FollowerCountKey,
    counts: FollowerCounts,
    may_be_first: bool,
) -> Result<(), TableError> {
    let op = fan_out.op;
    let FollowerCountKey { source, shard } = key;
    if may_be_first && *shard != Shard::from(0) {
        // A follower in another shard than the first needs the source's item, which may be about to expire.
        let keep = op.source(source).change().only_if(Condition::exists(EXPIRES_AT));
        op.table.update(&keep).await?;
    }
    let limit = op.store.feeds.fan_out_limit;
    if counts.here.saturating_mul(FOLLOWER_SHARDS.get().into()) <= limit {
        return Ok(());
    }
    let StoredSource { shards, mode, .. } = op.source(source).stored().await?;
    if mode != PushMode::Push || counts.here.saturating_mul(shards.get().into()) <= limit {
        return Ok(());
    }
    let counts = op.source(source).counts(shards).await?;
    if counts.values().map(|counts| counts.here).sum::<u64>() <= limit {
        return Ok(());
    }
    let begin = op
        .source(source)
        .change()
        .set(StoredSource::MODE, PushMode::PROMOTING)
        .set(StoredSource::PROMOTION, op.new_id()?.to_string())
        .set(StoredSource::UNPROMOTED, Value::numbers(shards.shards()))
        .only_if(Condition::absent(StoredSource::MODE).and(has_shards(shards)));
    if op.table.update(&begin).await? {
        fan_out.done.add(|all| all.promotions += 1);
    }
    Ok(())
}

/// Begins the jobs of a promotion, or ends the promotion after the last of them.
pub(crate) async fn source_changed(
    fan_out: FanOut<'_>,
    source: &Source,
    was_pushed: bool,
    stored: &StoredSource,
    at: UnixMillis,
) -> Result<(), TableError> {
    let PushMode::Promoting { promotion, unpromoted } = &stored.mode else { return Ok(()) };
    let op = fan_out.op;
    if was_pushed {
        let first = JobStep::first(JobKind::Promote, *promotion, source.clone(), at);
        let jobs: Vec<_> = unpromoted.iter().map(|shard| first.clone().in_shard(*shard)).collect();
        fan_out.begin_jobs(&jobs).await?;
    }
    if unpromoted.is_empty() {
        // Above the id of every marker, whatever the clocks say. So every feed pulls the events that are not
        // pushed.
        let from = op.new_id()?.max(promotion.just_after().unwrap_or(*promotion));
        let is_over = is_promotion(*promotion).and(Condition::absent(StoredSource::UNPROMOTED));
        let end = op
            .source(source)
            .change()
            .set(StoredSource::MODE, PushMode::PULL)
            .set(StoredSource::PULL_FROM, from.to_string())
            .only_if(is_over);
        op.table.update(&end).await?;
    }
    Ok(())
}

/// Puts markers into the feeds of a page of followers. The pages of a shard wait for each other, because the last one says
/// that the shard is done.
pub(super) async fn run(fan_out: FanOut<'_>, step: &JobStep) -> Result<Next, TableError> {
    let op = fan_out.op;
    let Job { id, source, shard, .. } = &step.key.job;
    let page = followers_of(fan_out, step).await?;
    let stored = op.source(source).stored().await?;
    let marker = |follower: &Follower| Some(stored.marker(source, follower.since)?.encode(&follower.user));
    fan_out.put(page.followers.iter().filter_map(marker).collect()).await?;
    for user in &fan_out.leavers(std::slice::from_ref(&page), step.changed_at()).await? {
        fan_out.settle_marker(user, source).await?;
    }
    if let Some(last) = page.stopped_at() {
        return Ok(Next::Again(JobStep { after: Some(last.clone()), ..step.next() }.encode()));
    }
    let shard = Value::numbers([*shard]);
    let done = op.source(source).change().take(StoredSource::UNPROMOTED, shard).only_if(is_promotion(*id));
    op.table.update(&done).await?;
    Ok(Next::Done)
}

/// The condition that a promotion is under way.
fn is_promotion(promotion: EventId) -> Condition {
    Condition::equals(StoredSource::MODE, PushMode::PROMOTING)
        .and(Condition::equals(StoredSource::PROMOTION, promotion.to_string()))
}
