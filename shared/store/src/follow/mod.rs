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
use crate::call::Operation;
use crate::cost::Cost;
use crate::entry::TimelineEntry;
use crate::error::TableError;
use crate::item::{Item, number, text};
use crate::limits::{CROWDED_SHARD, PULL_SOURCES};
use crate::source::Mode;
use crate::store::Store;
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

impl Store {
    /// Follows a source; of its events from before, the feed is to show so many. Who follows it already goes on as
    /// before.
    ///
    /// # Errors
    /// See [`FollowError`].
    pub async fn follow(
        &self,
        user: &User,
        source: &Source,
        backfill: Backfill,
    ) -> Result<(Followed, Cost), FollowError> {
        let operation = self.operation();
        if let Some(edge) = self.edge(user, source, &operation).await? {
            return Ok((Followed { since: edge.since, created: false }, operation.meter.total()));
        }
        let stored = self.stored_source(source, &operation).await?;
        if stored.mode != Mode::Push && self.pull_sources(user, &operation).await? >= PULL_SOURCES {
            return Err(FollowError::TooManyPullSources { user: user.clone(), followed: source.clone() });
        }
        let follower = Follower { user: user.clone(), since: self.now(), backfill: backfill.get() };
        let mut shards = stored.shards;
        let mut may_be_ours = false;
        let mut attempts = operation.attempts();
        loop {
            attempts.start_round();
            let shard = shards.pick(entropy_u64(self.ambient()));
            let writes = self.follow_writes(source, shard, &follower).map_err(TableError::unavailable)?;
            let transaction = Transaction::new(writes, self.ambient());
            let faults = match self.transact(&transaction, &operation).await? {
                Transacted::Done => {
                    let followed = Followed { since: follower.since, created: true };
                    return Ok((followed, operation.meter.total()));
                }
                Transacted::Cancelled { faults, maybe_applied } => {
                    may_be_ours |= maybe_applied;
                    faults
                }
            };
            if faults.iter().any(|fault| matches!(fault, Fault::Condition(_)))
                && let Some(Edge { since, .. }) = self.edge(user, source, &operation).await?
            {
                let created = may_be_ours && since == follower.since;
                return Ok((Followed { since, created }, operation.meter.total()));
            }
            if self
                .needs_more_shards(source, shard, faults.get(IN_SHARD..).unwrap_or_default(), &operation)
                .await?
            {
                shards = self.double_followers(source, shards, &operation).await?;
            }
            attempts.pause_or(too_busy).await?;
        }
    }

    /// Whether what was wrong with the writes of a follower shard calls for more shards.
    async fn needs_more_shards(
        &self,
        source: &Source,
        shard: Shard,
        faults: &[Fault],
        operation: &Operation<'_>,
    ) -> Result<bool, TableError> {
        if faults.contains(&Fault::Throttled) || !faults.contains(&Fault::Conflict) {
            return Ok(faults.contains(&Fault::Throttled));
        }
        let found = self.get_items(&[Counts::key(source, shard)], true, operation).await?;
        let counts = found.first().map(Counts::decode).transpose()?;
        Ok(counts.is_some_and(|(_, counts)| counts.here >= CROWDED_SHARD))
    }

    /// No longer follows a source, if the user does.
    ///
    /// # Errors
    /// If the table could not be read or written.
    pub async fn unfollow(&self, user: &User, source: &Source) -> Result<Cost, TableError> {
        let operation = self.operation();
        let mut attempts = operation.attempts();
        loop {
            attempts.start_round();
            let Some(edge) = self.edge(user, source, &operation).await? else {
                return Ok(operation.meter.total());
            };
            let writes = self.unfollow_writes(user, &edge).map_err(TableError::unavailable)?;
            let transaction = Transaction::new(writes, self.ambient());
            if self.transact(&transaction, &operation).await? == Transacted::Done {
                return Ok(operation.meter.total());
            }
            attempts.pause_or(too_busy).await?;
        }
    }

    /// The edge from a user to a source, if the user follows it. The read is consistent.
    pub(crate) async fn edge(
        &self,
        user: &User,
        source: &Source,
        operation: &Operation<'_>,
    ) -> Result<Option<Edge>, TableError> {
        let item = self.get_item(Edge::key(user, source), operation).await?;
        Ok(item.as_ref().map(Edge::decode).transpose()?)
    }

    /// The edge of a follower that the stream told of, once all of that follow or unfollow is visible.
    ///
    /// The stream may deliver one item of a transaction before the others can be seen by plain reads. A read in a
    /// transaction of its own waits for them. From then on plain reads, also those of other processes, show the edge and
    /// the counts as they were written.
    pub(crate) async fn whole_follow(
        &self,
        follower: &FollowerKey,
        operation: &Operation<'_>,
    ) -> Result<Option<Edge>, TableError> {
        let FollowerKey { source, shard, user } = follower;
        let keys = vec![Edge::key(user, source), Counts::key(source, *shard)];
        let mut items = self.get_together(keys, operation).await?.into_iter();
        Ok(items.next().flatten().as_ref().map(Edge::decode).transpose()?)
    }

    /// Which of the sources of some entries a user follows.
    pub(crate) async fn edges(
        &self,
        user: &User,
        entries: &[TimelineEntry],
        operation: &Operation<'_>,
    ) -> Result<BTreeMap<Source, Edge>, TableError> {
        let sources: BTreeSet<Source> = entries.iter().flat_map(TimelineEntry::sources).collect();
        let keys: Vec<_> = sources.iter().map(|source| Edge::key(user, source)).collect();
        let edges = self.get_items(&keys, true, operation).await?;
        let edge = |item| Edge::decode(item).map(|edge| (edge.source.clone(), edge));
        Ok(edges.iter().map(edge).collect::<Result<_, _>>()?)
    }

    /// How many sources a feed pulls, counted no further than to the most that it may.
    async fn pull_sources(&self, user: &User, operation: &Operation<'_>) -> Result<usize, TableError> {
        let most = i32::try_from(PULL_SOURCES).unwrap_or(i32::MAX);
        let answer = self
            .query(operation, |query| {
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
        &self,
        source: &Source,
        shard: Shard,
        follower: &Follower,
    ) -> Result<Vec<TransactWriteItem>, BuildError> {
        let edge = Edge { source: source.clone(), shard, since: follower.since };
        let put = |item: Item| Put::builder().table_name(self.table()).set_item(Some(item));
        let edge =
            put(edge.encode(&follower.user)).condition_expression("attribute_not_exists(pk)").build()?;
        let follower = put(follower.encode(source, shard)).build()?;
        let counts = self.count(source, shard).update_expression("ADD here :one").build()?;
        Ok(vec![
            TransactWriteItem::builder().put(edge).build(),
            TransactWriteItem::builder().put(follower).build(),
            TransactWriteItem::builder().update(counts).build(),
        ])
    }

    fn unfollow_writes(&self, user: &User, edge: &Edge) -> Result<Vec<TransactWriteItem>, BuildError> {
        let Edge { source, shard, since } = edge;
        let delete = |key: Item| Delete::builder().table_name(self.table()).set_key(Some(key));
        // It may have been followed again meanwhile, in another shard.
        let edge = delete(Edge::key(user, source))
            .condition_expression("n = :shard AND since = :since")
            .expression_attribute_values(":shard", number(shard.get()))
            .expression_attribute_values(":since", number(since.get()))
            .build()?;
        let follower = delete(Follower::key(source, *shard, user)).build()?;
        let counts = self
            .count(source, *shard)
            .update_expression("SET left_at = :now ADD here :minus, #left :one")
            .expression_attribute_names("#left", "left")
            .expression_attribute_values(":now", number(self.now().get()))
            .expression_attribute_values(":minus", AttributeValue::N("-1".to_owned()))
            .build()?;
        Ok(vec![
            TransactWriteItem::builder().delete(edge).build(),
            TransactWriteItem::builder().delete(follower).build(),
            TransactWriteItem::builder().update(counts).build(),
        ])
    }

    fn count(&self, source: &Source, shard: Shard) -> UpdateBuilder {
        Update::builder()
            .table_name(self.table())
            .set_key(Some(Counts::key(source, shard)))
            .expression_attribute_values(":one", number(1_u64))
    }
}

fn too_busy() -> TableError {
    TableError::unavailable("other writers keep changing the follow")
}
