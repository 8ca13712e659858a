//! A source's followers, shard by shard: how many there are, and who.

use std::collections::{BTreeMap, BTreeSet};

use lately_keys::table::{FollowerKey, LeaverKey};
use lately_keys::{Shard, ShardCount, TableKey, UnixMillis, User};

use crate::error::TableError;
use crate::follow::{Counts, Follower};
use crate::item::{Fields, text};
use crate::source::SourceHandle;

/// Followers of one shard, by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FollowerRange {
    pub(crate) shard: Shard,
    /// Those behind this one.
    pub(crate) after: Option<User>,
}

/// Some followers of a range, from its beginning.
#[derive(Clone, Debug)]
pub(crate) struct FollowerPage {
    pub(crate) followers: Vec<Follower>,
    /// Whether there may be more of them.
    pub(crate) more: bool,
}

/// What sorts before every user's name, and behind the counts and who left.
const BEFORE_USERS: &str = "$";

/// What sorts behind every user's name.
const BEHIND_USERS: &str = "~";

impl SourceHandle<'_> {
    /// The counts of all of a source's follower shards, read consistently.
    pub(crate) async fn counts(self, shards: ShardCount) -> Result<BTreeMap<Shard, Counts>, TableError> {
        let source = self.source;
        let mut counts: BTreeMap<Shard, Counts> =
            shards.shards().map(|shard| (shard, Counts::default())).collect();
        let keys: Vec<_> = counts.keys().map(|shard| Counts::key(source, *shard)).collect();
        for item in self.op.table.get_items(&keys, true).await? {
            let (shard, read) = Counts::decode(&item)?;
            counts.insert(shard, read);
        }
        Ok(counts)
    }

    /// Up to so many followers of a range.
    pub(crate) async fn followers_of(
        self,
        range: &FollowerRange,
        limit: usize,
        consistent: bool,
    ) -> Result<FollowerPage, TableError> {
        let source = self.source;
        let FollowerRange { shard, after } = range;
        // The one behind whom the range begins is within its bounds, and never returned.
        let least = after.as_ref().map_or(BEFORE_USERS, User::as_str);
        let start = after.as_ref().map(|user| Follower::key(source, *shard, user));
        let answer = self
            .op
            .table
            .query(|query| {
                query
                    .key_condition_expression("pk = :pk AND sk BETWEEN :least AND :greatest")
                    .expression_attribute_values(":pk", text(FollowerKey::partition(source, *shard)))
                    .expression_attribute_values(":least", text(least))
                    .expression_attribute_values(":greatest", text(BEHIND_USERS))
                    .set_exclusive_start_key(start.clone())
                    .limit(i32::try_from(limit).unwrap_or(i32::MAX))
                    .consistent_read(consistent)
            })
            .await?;
        let followers = answer.items().iter().map(Follower::decode).collect::<Result<_, _>>()?;
        Ok(FollowerPage { followers, more: answer.last_evaluated_key().is_some() })
    }

    /// Those of some users who left a shard at a time or later, read consistently, as far as fan-out has seen it.
    ///
    /// A shard takes 250 unfollows a second, which are 25 KB. So the loop is bounded by how long ago the time is: one query for
    /// each forty seconds of nothing but unfollows.
    pub(crate) async fn leavers(
        self,
        shard: Shard,
        since: UnixMillis,
        is_wanted: impl Fn(&User) -> bool,
    ) -> Result<BTreeSet<User>, TableError> {
        let source = self.source;
        let mut leavers = BTreeSet::new();
        let mut start = None;
        loop {
            let answer = self
                .op
                .table
                .query(|query| {
                    query
                        .key_condition_expression("pk = :pk AND sk BETWEEN :since AND :now")
                        .expression_attribute_values(":pk", text(FollowerKey::partition(source, shard)))
                        .expression_attribute_values(":since", text(LeaverKey::since(since)))
                        .expression_attribute_values(":now", text(BEFORE_USERS))
                        .set_exclusive_start_key(start.clone())
                        .consistent_read(true)
                })
                .await?;
            for item in answer.items() {
                let fields = Fields(item);
                let key = LeaverKey::decode(fields.text("pk")?, fields.text("sk")?);
                let LeaverKey { user, .. } = key.ok_or_else(|| fields.corrupt("sk"))?;
                if is_wanted(&user) {
                    leavers.insert(user);
                }
            }
            start = answer.last_evaluated_key;
            if start.is_none() {
                return Ok(leavers);
            }
        }
    }
}
