//! Backfill: a new follower's feed gets the source's entries since the follow, and some older ones.
//!
//! It runs after the follow landed, and reads the source's timeline consistently. So it finds every event whose fan-out
//! did not find the follower.

use lately_items::{BackfillRest, FeedWalk, FollowEdge, Follower, FollowerKey, TimelineEntry, WalkPurpose};
use lately_keys::{EventId, UnixMillis};
use lately_table::TableError;

use crate::fan_out::batch::FanOut;
use crate::fan_out::walk::WalkStep;
use crate::latest::span::IdRange;

/// Older entries of a source that a backfill looks at, to find entries of topics that fan out.
const BACKFILL_ENTRIES: u32 = 4_096;

impl FanOut<'_> {
    pub(super) async fn backfill(
        &self,
        key: &FollowerKey,
        follower: &Follower,
        id: EventId,
        at: UnixMillis,
    ) -> Result<(), TableError> {
        let FollowerKey { source, shard, user } = key;
        let Follower { since, backfill: wanted, .. } = *follower;
        let follow = FollowEdge { source: source.clone(), shard: *shard, since };
        if self.op.user(&key.user).whole_follow(key).await? != Some(follow) {
            // This follow is over. A new follow has a record of its own.
            return Ok(());
        }
        let stored = self.op.source(source).stored().await?;
        let pulled_from = stored.marker(source, since).map(|marker| marker.since);
        if pulled_from.is_some() {
            self.feed(user).settle_marker(source).await?;
        }
        // The feed pulls the newer entries by its marker. The newest of the older entries are copied, also from a
        // source that is pulled.
        let behind = pulled_from.map(|from| from.max(EventId::first_of(since)));
        let purpose = WalkPurpose::Backfill(BackfillRest { since, wanted, looked_at: 0 });
        let walk = FeedWalk { user: user.clone(), behind, purpose };
        self.begin_walk(key, id, at, walk, Some(stored.coverage)).await
    }
}

impl WalkStep<'_> {
    /// Copies some entries of a source's timeline into a feed, newest first: all entries since the follow, and as many
    /// older ones as are wanted. Returns the remaining walk.
    pub(super) async fn copy_some(
        self,
        walk: FeedWalk,
        backfill: BackfillRest,
    ) -> Result<Option<FeedWalk>, TableError> {
        let Self { fan_out, source, coverage } = self;
        let op = fan_out.op;
        let BackfillRest { since, wanted, looked_at } = backfill;
        let followed_at = EventId::first_of(since);
        let oldest = if wanted == 0 { followed_at } else { EventId::first_of(UnixMillis::MIN) };
        let newest = walk.behind.map_or(Some(EventId::last_of(UnixMillis::MAX)), EventId::just_before);
        let Some(ids) = newest.and_then(|newest| IdRange::new(oldest, newest)) else { return Ok(None) };
        // Mostly the first query finds all wanted entries. If not, few of the source's events fan out.
        let is_first = looked_at == 0 && walk.behind.is_none_or(|behind| behind == followed_at);
        let most = op.store.feeds().entries_per_query;
        let limit = if is_first && wanted > 0 { most.min(wanted.into()) } else { most };
        let found = op.source(source).newest(coverage, ids, limit).await?;

        let now = op.now().get() / 1000;
        let is_older = |entry: &TimelineEntry| entry.id < followed_at;
        let older = found.items.iter().filter(|entry| is_older(entry)).count();
        let looked_at = looked_at.saturating_add(u32::try_from(older).unwrap_or(u32::MAX));
        let (mut older, mut entries): (Vec<_>, Vec<_>) = found
            .items
            .into_iter()
            .filter(|entry| entry.fans_out && entry.expires_at.is_none_or(|at| at > now))
            .partition(is_older);
        older.truncate(wanted.into());
        let wanted = wanted.saturating_sub(u16::try_from(older.len()).unwrap_or(u16::MAX));
        entries.append(&mut older);
        let retention = op.store.feeds().retention;
        fan_out.deliver(entries.iter().map(|entry| entry.in_feed(&walk.user, retention)).collect()).await?;
        fan_out.feed(&walk.user).remove_deleted(entries).await?;

        let Some(behind) = found.stopped_at else { return Ok(None) };
        if behind < followed_at && (wanted == 0 || looked_at >= BACKFILL_ENTRIES) {
            return Ok(None);
        }
        let purpose = WalkPurpose::Backfill(BackfillRest { since, wanted, looked_at });
        Ok(Some(FeedWalk { user: walk.user, behind: Some(behind), purpose }))
    }
}
