//! Following a source, and no longer following it.
//!
//! A follow is one transaction over three items (`edge.rs`): either side is there exactly if the other is, and the
//! counts are right. What follows from it for the feed, fan-out does when it sees the follower in the table's
//! stream.
//!
//! Each follow changes the counts of its shard, so a source that many follow at once is busy. Then its shards are
//! doubled, durably before anyone is written to one of the new ones. Shards are never taken back, and each event of the
//! source reads all their counts. So they are doubled for load, and not for each conflict: if the partition is throttled, or
//! if transactions conflict in a shard that has followers enough. A few users who follow and unfollow in a loop make
//! conflicts, and never that many followers.

mod audience;
mod edge;
mod list;

use std::collections::{BTreeMap, BTreeSet};

use aws_sdk_dynamodb::error::BuildError;
use aws_sdk_dynamodb::types::builders::UpdateBuilder;
use aws_sdk_dynamodb::types::{AttributeValue, Delete, Put, Select, TransactWriteItem, Update};
use lately_keys::table::{FeedEntryKey, FollowerKey, PullMarkerKey};
use lately_keys::{Shard, Source, UnixMillis, User};
use lately_model::Backfill;

use crate::ambient::entropy_u64;
use crate::entry::TimelineEntry;
use crate::error::TableError;
use crate::item::{Item, number, text};
use crate::limits::{CROWDED_SHARD, PULL_SOURCES};
use crate::op::Op;
use crate::source::PushMode;
use crate::source::SourceHandle;
use crate::transaction::{Fault, Transacted, Transaction};

pub(crate) use audience::FollowerRange;
pub(crate) use edge::{Counts, Edge, Follower, leaver};

/// A source that is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Followed {
    /// Since when.
    pub since: UnixMillis,
    /// Whether it was not followed before.
    pub created: bool,
}

/// Why a source is not followed.
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

/// Where in a transaction the writes of the follower shard begin: the edge is in the user's own partition.
const IN_SHARD: usize = 1;

/// One user and the sources that the user follows, in one request.
#[derive(Clone, Copy, Debug)]
pub struct UserHandle<'a> {
    pub(crate) op: &'a Op,
    pub(crate) user: &'a User,
}

impl UserHandle<'_> {
    /// Follows a source; of its events from before, the feed is to show so many. Who follows it already goes on as
    /// before.
    ///
    /// # Errors
    /// See [`FollowError`].
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
        let mut attempts = self.op.table.attempts();
        loop {
            attempts.start_round();
            let shard = shards.pick(entropy_u64(self.op.ambient()));
            let writes = self
                .op
                .user(&follower.user)
                .follow_writes(source, shard, &follower)
                .map_err(TableError::unavailable)?;
            let transaction = Transaction::new(writes, self.op.ambient());
            let faults = match self.op.table.transact(&transaction).await? {
                Transacted::Done => {
                    let followed = Followed { since: follower.since, created: true };
                    return Ok(followed);
                }
                Transacted::Cancelled { faults, maybe_applied } => {
                    may_be_ours |= maybe_applied;
                    faults
                }
            };
            if faults.iter().any(|fault| matches!(fault, Fault::Condition(_)))
                && let Some(Edge { since, .. }) = self.edge(source).await?
            {
                let created = may_be_ours && since == follower.since;
                return Ok(Followed { since, created });
            }
            if self
                .op
                .source(source)
                .needs_more_shards(shard, faults.get(IN_SHARD..).unwrap_or_default())
                .await?
            {
                shards = self.op.source(source).double_followers(shards).await?;
            }
            attempts.pause_or(too_busy).await?;
        }
    }
}

impl SourceHandle<'_> {
    /// Whether what was wrong with the writes of a follower shard calls for more shards.
    async fn needs_more_shards(self, shard: Shard, faults: &[Fault]) -> Result<bool, TableError> {
        let source = self.source;
        if faults.contains(&Fault::Throttled) || !faults.contains(&Fault::Conflict) {
            return Ok(faults.contains(&Fault::Throttled));
        }
        let found = self.op.table.get_items(&[Counts::key(source, shard)], true).await?;
        let counts = found.first().map(Counts::decode).transpose()?;
        Ok(counts.is_some_and(|(_, counts)| counts.here >= CROWDED_SHARD))
    }
}

impl UserHandle<'_> {
    /// No longer follows a source, if the user does.
    ///
    /// # Errors
    /// If the table could not be read or written.
    pub async fn unfollow(self, source: &Source) -> Result<(), TableError> {
        let mut attempts = self.op.table.attempts();
        loop {
            attempts.start_round();
            let Some(edge) = self.edge(source).await? else {
                return Ok(());
            };
            let writes = self.unfollow_writes(&edge).map_err(TableError::unavailable)?;
            let transaction = Transaction::new(writes, self.op.ambient());
            if self.op.table.transact(&transaction).await? == Transacted::Done {
                return Ok(());
            }
            attempts.pause_or(too_busy).await?;
        }
    }

    /// The edge from a user to a source, if the user follows it. The read is consistent.
    pub(crate) async fn edge(self, source: &Source) -> Result<Option<Edge>, TableError> {
        let user = self.user;
        let item = self.op.table.get_item(Edge::key(user, source)).await?;
        Ok(item.as_ref().map(Edge::decode).transpose()?)
    }

    /// The edge of a follower that the stream told of, once all of that follow or unfollow is visible.
    ///
    /// The stream may deliver one item of a transaction before the others can be seen by plain reads. A read in a
    /// transaction of its own waits for them. From then on plain reads, also those of other processes, show the edge and
    /// the counts as they were written.
    pub(crate) async fn whole_follow(self, follower: &FollowerKey) -> Result<Option<Edge>, TableError> {
        let FollowerKey { source, shard, user } = follower;
        let keys = vec![Edge::key(user, source), Counts::key(source, *shard)];
        let mut items = self.op.table.get_together(keys).await?.into_iter();
        Ok(items.next().flatten().as_ref().map(Edge::decode).transpose()?)
    }

    /// Which of the sources of some entries a user follows.
    pub(crate) async fn edges(self, entries: &[TimelineEntry]) -> Result<BTreeMap<Source, Edge>, TableError> {
        let user = self.user;
        let sources: BTreeSet<Source> = entries.iter().flat_map(TimelineEntry::sources).collect();
        let keys: Vec<_> = sources.iter().map(|source| Edge::key(user, source)).collect();
        let edges = self.op.table.get_items(&keys, true).await?;
        let edge = |item| Edge::decode(item).map(|edge| (edge.source.clone(), edge));
        Ok(edges.iter().map(edge).collect::<Result<_, _>>()?)
    }

    /// How many sources a feed pulls, counted no further than to the most that it may.
    async fn pull_sources(self) -> Result<usize, TableError> {
        let user = self.user;
        let most = i32::try_from(PULL_SOURCES).unwrap_or(i32::MAX);
        let answer = self
            .op
            .table
            .query(|query| {
                query
                    .key_condition_expression("pk = :pk AND begins_with(sk, :prefix)")
                    .expression_attribute_values(":pk", text(FeedEntryKey::partition(user)))
                    .expression_attribute_values(":prefix", text(PullMarkerKey::PREFIX))
                    .select(Select::Count)
                    .limit(most)
                    .consistent_read(true)
            })
            .await?;
        Ok(usize::try_from(answer.count()).unwrap_or(0))
    }

    fn follow_writes(
        self,
        source: &Source,
        shard: Shard,
        follower: &Follower,
    ) -> Result<Vec<TransactWriteItem>, BuildError> {
        let edge = Edge { source: source.clone(), shard, since: follower.since };
        let put = |item: Item| Put::builder().table_name(&*self.op.table.name).set_item(Some(item));
        let edge =
            put(edge.encode(&follower.user)).condition_expression("attribute_not_exists(pk)").build()?;
        let follower = put(follower.encode(source, shard)).build()?;
        let counts = self.op.source(source).count(shard).update_expression("ADD here :one").build()?;
        Ok(vec![
            TransactWriteItem::builder().put(edge).build(),
            TransactWriteItem::builder().put(follower).build(),
            TransactWriteItem::builder().update(counts).build(),
        ])
    }

    fn unfollow_writes(self, edge: &Edge) -> Result<Vec<TransactWriteItem>, BuildError> {
        let user = self.user;
        let Edge { source, shard, since } = edge;
        let delete = |key: Item| Delete::builder().table_name(&*self.op.table.name).set_key(Some(key));
        // It may have been followed again meanwhile, in another shard.
        let edge = delete(Edge::key(user, source))
            .condition_expression("n = :shard AND since = :since")
            .expression_attribute_values(":shard", number(shard.get()))
            .expression_attribute_values(":since", number(since.get()))
            .build()?;
        let follower = delete(Follower::key(source, *shard, user)).build()?;
        let counts = self
            .op
            .source(source)
            .count(*shard)
            .update_expression("SET left_at = :now ADD here :minus, #left :one")
            .expression_attribute_names("#left", "left")
            .expression_attribute_values(":now", number(self.op.now().get()))
            .expression_attribute_values(":minus", AttributeValue::N("-1".to_owned()))
            .build()?;
        Ok(vec![
            TransactWriteItem::builder().delete(edge).build(),
            TransactWriteItem::builder().delete(follower).build(),
            TransactWriteItem::builder().update(counts).build(),
        ])
    }
}

impl SourceHandle<'_> {
    fn count(self, shard: Shard) -> UpdateBuilder {
        let source = self.source;
        Update::builder()
            .table_name(&*self.op.table.name)
            .set_key(Some(Counts::key(source, shard)))
            .expression_attribute_values(":one", number(1_u64))
    }
}

fn too_busy() -> TableError {
    TableError::unavailable("other writers keep changing the follow")
}
