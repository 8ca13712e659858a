//! Lists: the sources that a user follows, the followers of a source, and their number.

use lately_items::{FollowEdge, FollowKey, Follower, ProfileKey, PushMode};
use lately_keys::{Fingerprint, Order, Position, Shard, Source, User};
use lately_model::{
    FollowView, FollowerList, FollowerView, FollowingList, ListQuery, SourceMode, SourceView,
};
use lately_table::{Item, Query, TableError};

use crate::handle::{SourceHandle, UserHandle};
use crate::list::{ListError, Pager};

impl UserHandle<'_> {
    /// A page of the sources that a user follows, sorted by source.
    pub async fn following(self, query: &ListQuery) -> Result<FollowingList, ListError> {
        let user = self.user;
        let list = Fingerprint::of("following").text(user.as_str()).finish();
        let pager = Pager { list, order: Order::OldestFirst };
        let after: Option<Source> = pager.after(query.cursor.as_deref())?;
        let edges = Query::partition(ProfileKey::partition(user))
            .begins_with(FollowKey::PREFIX)
            .start(after.map(|source| Item::under(FollowEdge::key(user, &source))))
            .limit(query.limit.get());
        let page = self.op.table.query_items(&edges).await?;
        self.op.table.meter().round();
        let edges: Vec<FollowEdge> = page.records()?;
        let last = edges.last().filter(|_| page.next.is_some());
        let next = last.map(|last| pager.cursor(Position::Source(last.source.clone())));
        let following =
            edges.into_iter().map(|FollowEdge { source, since, .. }| FollowView { source, since });
        Ok(FollowingList { following: following.collect(), next })
    }
}

impl SourceHandle<'_> {
    /// A page of a source's followers, shard by shard.
    pub async fn followers(self, query: &ListQuery) -> Result<FollowerList, ListError> {
        let source = self.source;
        let list = Fingerprint::of("followers").text(&source.to_string()).finish();
        let pager = Pager { list, order: Order::OldestFirst };
        let after: Option<(Shard, User)> = pager.after(query.cursor.as_deref())?;
        let (first, after) = after.map_or((Shard::from(0), None), |(shard, user)| (shard, Some(user)));
        let shards = self.stored().await?.shards;
        let counts = self.counts(shards).await?;
        let limit = usize::from(query.limit.get());
        // Only shards with followers are read, so each query adds to the page.
        let held = counts.into_iter().filter(|(shard, counts)| *shard >= first && counts.here > 0);
        let mut shards = held.map(|(shard, _)| shard).collect::<Vec<_>>().into_iter().peekable();
        let mut followers = Vec::new();
        let mut next = None;
        while let Some(shard) = shards.next() {
            let wanted = limit - followers.len();
            self.op.table.meter().round();
            // The cursor's shard may have no followers by now.
            let after = after.clone().filter(|_| shard == first);
            let page = self.followers_of(shard, after, wanted, false).await?;
            self.op.table.meter().items(page.followers.len());
            let last = page.followers.last().map(|last| (shard, last.user.clone()));
            let listed = page.followers.into_iter();
            followers.extend(listed.map(|Follower { user, since, .. }| FollowerView { user, since }));
            if followers.len() == limit || page.more {
                next = last.filter(|_| page.more || shards.peek().is_some());
                break;
            }
        }
        let next = next.map(|(shard, user)| pager.cursor(Position::Follower(shard, user)));
        Ok(FollowerList { followers, next })
    }

    /// A source: its number of followers, and whether its events are pushed or pulled.
    pub async fn view(self) -> Result<SourceView, TableError> {
        let source = self.source;
        let stored = self.stored().await?;
        let counts = self.counts(stored.shards).await?;
        let mode = match stored.mode {
            PushMode::Push => SourceMode::Push,
            PushMode::Promoting { .. } => SourceMode::Promoting,
            PushMode::Pull { .. } => SourceMode::Pull,
        };
        let followers = counts.values().map(|counts| counts.here).sum();
        Ok(SourceView { source: source.clone(), followers, mode })
    }
}
