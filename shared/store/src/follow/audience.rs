//! A source's followers, shard by shard: their numbers and their names.

use std::collections::{BTreeMap, BTreeSet};

use lately_items::{Follower, FollowerCounts, FollowerKey, LeaverKey};
use lately_keys::{Shard, ShardCount, UnixMillis, User};
use lately_table::{Item, Query, TableError};

use crate::source::SourceHandle;

/// Followers of one shard, by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FollowerRange {
    pub(crate) shard: Shard,
    /// Only the followers after this one.
    pub(crate) after: Option<User>,
}

/// Some followers of a range, from its beginning.
#[derive(Clone, Debug)]
pub(crate) struct FollowerPage {
    pub(crate) followers: Vec<Follower>,
    /// True if the range may have more followers.
    pub(crate) more: bool,
}

/// This sort key comes before every user's name, and after the counts and the leavers.
const BEFORE_USERS: &str = "$";

/// This sort key comes after every user's name.
const BEHIND_USERS: &str = "~";

impl SourceHandle<'_> {
    /// The counts of all of a source's follower shards, read consistently.
    pub(crate) async fn counts(
        self,
        shards: ShardCount,
    ) -> Result<BTreeMap<Shard, FollowerCounts>, TableError> {
        let source = self.source;
        let mut counts: BTreeMap<Shard, FollowerCounts> =
            shards.shards().map(|shard| (shard, FollowerCounts::default())).collect();
        let keys: Vec<_> = counts.keys().map(|shard| FollowerCounts::key(source, *shard)).collect();
        for item in self.op.table.get_many(&keys, true).await? {
            let (shard, read) = FollowerCounts::decode(&item)?;
            counts.insert(shard, read);
        }
        Ok(counts)
    }

    /// The first followers of a range, at most `limit`.
    pub(crate) async fn followers_of(
        self,
        range: &FollowerRange,
        limit: usize,
        consistent: bool,
    ) -> Result<FollowerPage, TableError> {
        let source = self.source;
        let FollowerRange { shard, after } = range;
        // The bounds include the follower in `after`, and the start excludes them.
        let least = after.as_ref().map_or(BEFORE_USERS, User::as_str);
        let start = after.as_ref().map(|user| Item::under(Follower::key(source, *shard, user)));
        let query = Query::partition(FollowerKey::partition(source, *shard))
            .between(least, BEHIND_USERS)
            .start(start)
            .limit(u32::try_from(limit).unwrap_or(u32::MAX))
            .consistent(consistent);
        let page = self.op.table.query(&query).await?;
        let followers = page.items.iter().map(Follower::decode).collect::<Result<_, _>>()?;
        Ok(FollowerPage { followers, more: page.next.is_some() })
    }

    /// A follower in the last shard that has one.
    pub(crate) async fn last_follower(self, shards: ShardCount) -> Result<Option<User>, TableError> {
        let counts = self.counts(shards).await?;
        let Some((shard, _)) = counts.into_iter().rev().find(|(_, counts)| counts.here > 0) else {
            return Ok(None);
        };
        let query = Query::partition(FollowerKey::partition(self.source, shard))
            .between(BEFORE_USERS, BEHIND_USERS)
            .backward(true)
            .limit(1_u16);
        let page = self.op.table.query(&query.consistent(true)).await?;
        Ok(page.items.first().map(Follower::decode).transpose()?.map(|last| last.user))
    }

    /// The wanted users who left a shard at `since` or later, as far as fan-out has recorded them. The read is
    /// consistent.
    ///
    /// A shard takes 250 unfollows a second, which are 25 KB. So the age of the time bounds the loop: it takes one
    /// query for each forty seconds in which the shard did nothing but unfollows.
    pub(crate) async fn leavers(
        self,
        shard: Shard,
        since: UnixMillis,
        is_wanted: impl Fn(&User) -> bool,
    ) -> Result<BTreeSet<User>, TableError> {
        let query = Query::partition(FollowerKey::partition(self.source, shard))
            .between(LeaverKey::since(since), BEFORE_USERS)
            .consistent(true);
        let mut leavers = BTreeSet::new();
        let mut start = None;
        loop {
            let page = self.op.table.query(&query.clone().start(start)).await?;
            for item in &page.items {
                let LeaverKey { user, .. } = item.key_as()?;
                if is_wanted(&user) {
                    leavers.insert(user);
                }
            }
            start = page.next;
            if start.is_none() {
                return Ok(leavers);
            }
        }
    }
}
