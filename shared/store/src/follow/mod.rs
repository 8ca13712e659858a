//! Follow and unfollow.
//!
//! A follow is one transaction over three items: the edge, the follower, and the counts of its shard. So each side exists exactly if the other does, and the
//! counts are right. Fan-out changes the feed, when the table's stream shows it the follower.
//!
//! Each follow changes the counts of its shard, so a source that many users follow at once is busy. Then the number of
//! its shards is doubled, and this is durable before a follower is written to a new shard. The number never shrinks,
//! and each event of the source reads the counts of all shards. So the number is doubled for load, and not for each
//! conflict: if the partition is throttled, or if transactions conflict in a shard that has many followers
//! ([`CROWDED_SHARD`]). A few users who follow and unfollow in a loop make conflicts, but never that many followers.

mod audience;
mod list;

use std::collections::{BTreeMap, BTreeSet};

use lately_items::{
    EXPIRES_AT, FeedEntryKey, FollowEdge, Follower, FollowerCounts, FollowerKey, PullMarkerKey, PushMode,
    TimelineEntry,
};
use lately_keys::{Actor, Shard, Source, UnixMillis, User};
use lately_model::Backfill;
use lately_table::{
    Attempts, Condition, Fault, Query, Refusal, TableError, Transacted, Transaction, Update, entropy_u64,
};

use crate::handle::UserHandle;
use crate::limits::{CROWDED_SHARD, PULL_SOURCES};

pub(crate) use audience::FollowerPage;

/// A source that is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Followed {
    /// When the follow began.
    pub since: UnixMillis,
    /// True if the follow is new.
    pub created: bool,
}

/// Why a user could not follow a source.
#[derive(Debug, thiserror::Error)]
pub enum FollowError {
    /// The source has too many followers to push to, and the user's feed pulls the highest permitted number of sources.
    #[error("the feed already pulls {PULL_SOURCES} sources")]
    TooManyPullSources {
        /// The user who was to follow.
        user: User,
        /// The source that was to be followed.
        followed: Source,
    },
    /// The table could not be read or written.
    #[error(transparent)]
    Table(#[from] TableError),
}

/// The place of the follower shard's first write in a transaction. The edge comes before, in the user's own partition.
const IN_SHARD: usize = 1;

impl UserHandle<'_> {
    /// Follows a source. The feed gets as many of its older events as `backfill` says. If the user follows the source
    /// already, nothing changes.
    pub async fn follow(self, source: &Source, backfill: Backfill) -> Result<Followed, FollowError> {
        let user = self.user;
        if let Some(edge) = self.edge(source).await? {
            return Ok(Followed { since: edge.since, created: false });
        }
        let stored = self.op.source(source).stored().await?;
        if stored.mode != PushMode::Push && self.pull_sources().await? >= PULL_SOURCES {
            return Err(FollowError::TooManyPullSources { user: user.clone(), followed: source.clone() });
        }
        let follower = Follower { user: user.clone(), since: self.op.now(), backfill: backfill.get() };
        let mut shards = stored.shards;
        let mut may_be_ours = false;
        let mut attempts = Attempts::of(&self.op.table);
        loop {
            attempts.start_round();
            let shard = shards.pick(entropy_u64(self.op.ambient()));
            let edge = FollowEdge { source: source.clone(), shard, since: follower.since };
            let counts = Update::under(FollowerCounts::key(source, shard))
                .add(FollowerCounts::HERE, 1_u64)
                .remove(EXPIRES_AT);
            let transaction = Transaction::new(self.op.ambient())
                .put_if(edge.encode(user), Condition::no_item())
                .put(follower.encode(source, shard))
                .update(counts);
            let Transacted::Cancelled { faults, maybe_applied } = transaction.commit(&self.op.table).await?
            else {
                return Ok(Followed { since: follower.since, created: true });
            };
            may_be_ours |= maybe_applied;
            if faults.iter().any(Fault::is_condition)
                && let Some(FollowEdge { since, .. }) = self.edge(source).await?
            {
                let created = may_be_ours && since == follower.since;
                return Ok(Followed { since, created });
            }
            let faults = faults.get(IN_SHARD..).unwrap_or_default();
            if self.needs_more_shards(source, shard, faults).await? {
                shards = self.op.source(source).double_followers(shards).await?;
            }
            attempts.pause_or(too_busy).await?;
        }
    }

    /// True if the faults of a follower shard's writes are a reason for more shards.
    async fn needs_more_shards(
        self,
        source: &Source,
        shard: Shard,
        faults: &[Fault],
    ) -> Result<bool, TableError> {
        if faults.contains(&Fault::Throttled) || !faults.contains(&Fault::Conflict) {
            return Ok(faults.contains(&Fault::Throttled));
        }
        let found = self.op.table.get_many(&[FollowerCounts::key(source, shard)], true).await?;
        let counts = found.first().map(FollowerCounts::decode).transpose()?;
        Ok(counts.is_some_and(|counts| counts.here >= CROWDED_SHARD))
    }

    /// Unfollows a source, if the user follows it.
    pub async fn unfollow(self, source: &Source) -> Result<(), TableError> {
        let mut attempts = Attempts::of(&self.op.table);
        loop {
            attempts.start_round();
            let Some(FollowEdge { shard, since, .. }) = self.edge(source).await? else { return Ok(()) };
            // The user may have followed again meanwhile, in another shard.
            let is_same = Condition::equals(FollowEdge::SHARD, shard.get())
                .and(Condition::equals(FollowEdge::SINCE, since.get()));
            let counts = Update::under(FollowerCounts::key(source, shard))
                .set(FollowerCounts::LEFT_AT, self.op.now().get())
                .add(FollowerCounts::HERE, -1_i64)
                .add(FollowerCounts::LEFT, 1_u64);
            let transaction = Transaction::new(self.op.ambient())
                .delete_if(FollowEdge::key(self.user, source), is_same)
                .delete(Follower::key(source, shard, self.user))
                .update(counts);
            let Transacted::Cancelled { faults, .. } = transaction.commit(&self.op.table).await? else {
                return Ok(());
            };
            // The transaction does not say which limit was exceeded; in most cases, it is the key range's.
            let is_range_hot = faults.contains(&Fault::Throttled);
            attempts.pause(Refusal { error: too_busy(), is_range_hot, is_throttle: false }).await?;
        }
    }

    /// The edge from a user to a source, if the user follows it. The read is consistent.
    pub(crate) async fn edge(self, source: &Source) -> Result<Option<FollowEdge>, TableError> {
        self.op.table.find(FollowEdge::key(self.user, source)).await
    }

    /// The edge of a follower whose stream record has come. The read waits until the whole follow or unfollow is
    /// visible.
    ///
    /// The stream may deliver one item of a transaction before plain reads see the other items. A read in a transaction
    /// waits for them. From then on plain reads, also those of other processes, see the edge and the counts as they
    /// were written.
    pub(crate) async fn whole_follow(self, follower: &FollowerKey) -> Result<Option<FollowEdge>, TableError> {
        let FollowerKey { source, shard, user } = follower;
        let keys = vec![FollowEdge::key(user, source), FollowerCounts::key(source, *shard)];
        let mut items = self.op.table.get_together(keys).await?.into_iter();
        Ok(items.next().flatten().as_ref().map(FollowEdge::decode).transpose()?)
    }

    /// The follows of a user, by source, among the sources of some entries.
    pub(crate) async fn edges(
        self,
        entries: &[TimelineEntry],
    ) -> Result<BTreeMap<Source, FollowEdge>, TableError> {
        let user = self.user;
        let sources: BTreeSet<Source> = entries.iter().flat_map(TimelineEntry::sources).collect();
        let keys: Vec<_> = sources.iter().map(|source| FollowEdge::key(user, source)).collect();
        let edges = self.op.table.get_many(&keys, true).await?;
        let edge = |item| FollowEdge::decode(item).map(|edge| (edge.source.clone(), edge));
        Ok(edges.iter().map(edge).collect::<Result<_, _>>()?)
    }

    /// Splits entries: those that are the user's own or of a source that the user follows, and the others.
    pub(crate) async fn split_followed(
        self,
        entries: Vec<TimelineEntry>,
    ) -> Result<(Vec<TimelineEntry>, Vec<TimelineEntry>), TableError> {
        let (myself, edges) = (Actor::from(self.user), self.edges(&entries).await?);
        let is_followed = |entry: &TimelineEntry| entry.sources().any(|source| edges.contains_key(&source));
        Ok(entries.into_iter().partition(|entry| entry.actor == myself || is_followed(entry)))
    }

    /// The number of sources that a feed pulls, counted up to the highest permitted number.
    async fn pull_sources(self) -> Result<usize, TableError> {
        let query = Query::partition(FeedEntryKey::partition(self.user))
            .begins_with(PullMarkerKey::PREFIX)
            .count()
            .limit(PULL_SOURCES)
            .consistent(true);
        Ok(self.op.table.query(&query).await?.count)
    }
}

fn too_busy() -> TableError {
    TableError::unavailable("other writers keep changing the follow")
}
