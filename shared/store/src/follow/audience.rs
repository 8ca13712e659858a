//! A source's followers, shard by shard: their numbers and their names.

use std::collections::{BTreeMap, BTreeSet};

use lately_items::{Follower, FollowerCountKey, FollowerCounts, FollowerKey, LeaverKey, StoredSource};
use lately_keys::{EventId, Shard, ShardCount, Source, UnixMillis, User};
use lately_table::{Item, Query, TableError};

use crate::handle::SourceHandle;

/// A page of the followers of one shard, by name.
#[derive(Clone, Debug)]
pub(crate) struct FollowerPage {
    pub(crate) source: Source,
    pub(crate) shard: Shard,
    /// The page begins after this follower.
    after: Option<User>,
    pub(crate) followers: Vec<Follower>,
    /// True if there may be more followers after the page.
    pub(crate) more: bool,
}

impl FollowerPage {
    pub(crate) fn users(&self) -> impl Iterator<Item = &User> {
        self.followers.iter().map(|follower| &follower.user)
    }

    /// The followers whose feeds may have a copy of an event of the source. Only backfills copy an event that is
    /// pulled, into the feeds of those who followed after the event's time.
    pub(crate) fn holders(&self, stored: &StoredSource, id: EventId) -> impl Iterator<Item = &User> {
        let was_pushed = stored.may_have_pushed(id);
        let may_hold = move |follower: &&Follower| was_pushed || id < EventId::first_of(follower.since);
        self.followers.iter().filter(may_hold).map(|follower| &follower.user)
    }

    /// The last follower, if there may be more.
    pub(crate) fn stopped_at(&self) -> Option<&User> {
        self.followers.last().filter(|_| self.more).map(|last| &last.user)
    }

    /// True if the page would contain a follower with this name.
    pub(crate) fn covers(&self, user: &User) -> bool {
        self.after.as_ref().is_none_or(|after| after < user)
            && self.stopped_at().is_none_or(|last| user <= last)
    }
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
            let FollowerCountKey { shard, .. } = item.key_as()?;
            counts.insert(shard, FollowerCounts::decode(&item)?);
        }
        Ok(counts)
    }

    /// The first followers of a shard after `after`, at most `limit`.
    pub(crate) async fn followers_of(
        self,
        shard: Shard,
        after: Option<User>,
        limit: usize,
        consistent: bool,
    ) -> Result<FollowerPage, TableError> {
        let source = self.source;
        // The bounds include the follower in `after`, and the start excludes them.
        let least = after.as_ref().map_or(BEFORE_USERS, User::as_str);
        let start = after.as_ref().map(|user| Item::under(Follower::key(source, shard, user)));
        let query = Query::partition(FollowerKey::partition(source, shard))
            .between(least, BEHIND_USERS)
            .start(start)
            .limit(limit)
            .consistent(consistent);
        let page = self.op.table.query(&query).await?;
        let followers = page.items.iter().map(Follower::decode).collect::<Result<_, _>>()?;
        Ok(FollowerPage { source: source.clone(), shard, after, followers, more: page.next.is_some() })
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
            .limit(1);
        let page = self.op.table.query(&query.consistent(true)).await?;
        Ok(page.items.first().map(Follower::decode).transpose()?.map(|last| last.user))
    }

    /// The users who left a shard at `since` or later, as far as fan-out has recorded them. The read is consistent.
    ///
    /// A shard takes 250 unfollows a second, which are 25 KB. So the age of the time bounds the loop: it takes one
    /// query for each forty seconds in which the shard did nothing but unfollows.
    pub(crate) async fn leavers(self, shard: Shard, since: UnixMillis) -> Result<BTreeSet<User>, TableError> {
        let query = Query::partition(FollowerKey::partition(self.source, shard))
            .between(LeaverKey::since(since), BEFORE_USERS)
            .consistent(true);
        let leavers = self.op.table.query_all(query).await?;
        let user = |item: &Item| item.key_as::<LeaverKey>().map(|key| key.user);
        Ok(leavers.iter().map(user).collect::<Result<_, _>>()?)
    }
}
