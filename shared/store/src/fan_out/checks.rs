//! Nothing comes back: the checks after fan-out has written entries, and the removal of entries that do not belong.
//!
//! Fan-out writes first and checks then. An event can be deleted, and a follower can leave, while fan-out writes
//! entries. So after the writes it reads consistently whether the event still exists and who has unfollowed, and removes what
//! does not belong. The deletion and the cleanup remove the entries that were written before they ran. So one of the
//! two sides removes each entry, whichever came first.
//!
//! One rule must hold: each check reads consistently, and reads after the writes that it judges are durable.

use std::collections::BTreeSet;
use std::sync::Arc;

use lately_items::{FeedEntryKey, FollowEdge, PullMarker, TimelineEntry, place_in_feed};
use lately_keys::{Actor, Key, Source, UnixMillis, User};
use lately_table::{Rounds, TableError};

use crate::at_once::collect_all;
use crate::fan_out::batch::FanOut;
use crate::feed::settle::settle;
use crate::follow::FollowerPage;
use crate::limits::{SHARDS_AT_ONCE, TOLD_APART_MILLIS};

impl FanOut<'_> {
    /// The users who have unfollowed since a change, and who may have been on one of these pages when an attempt handled
    /// the change.
    pub(super) async fn leavers(
        self,
        pages: &[Arc<FollowerPage>],
        at: UnixMillis,
    ) -> Result<BTreeSet<User>, TableError> {
        let since = at.saturating_sub(TOLD_APART_MILLIS);
        let leavers = pages.iter().map(async |page| {
            let read = Box::pin(self.op.source(&page.source).leavers(page.shard, since));
            self.reads.leavers.share((page.source.clone(), page.shard, at), read).await
        });
        let leavers = collect_all(SHARDS_AT_ONCE, leavers).await?;
        let on_page = pages.iter().zip(&leavers);
        let on_page = on_page.flat_map(|(page, left)| left.iter().filter(|user| page.covers(user)));
        Ok(on_page.cloned().collect())
    }

    /// Removes an entry from the feeds of those users who have the entry and follow none of its sources.
    pub(super) async fn remove_from(
        self,
        users: BTreeSet<User>,
        entry: &TimelineEntry,
    ) -> Result<(), TableError> {
        let keys: Vec<_> = users.iter().map(|user| place_in_feed(entry.id, user)).collect();
        for item in self.op.table.get_many(&keys, true).await? {
            let FeedEntryKey { user, .. } = item.key_as()?;
            self.remove_unfollowed(&user, vec![entry.clone()]).await?;
        }
        Ok(())
    }

    /// Puts or deletes a source's pull marker in the feed: the marker must be there if the user follows the source and
    /// the source is not pushed.
    pub(super) async fn settle_marker(self, user: &User, source: &Source) -> Result<(), TableError> {
        let edge = || self.op.user(user).edge(source);
        let write = async |edge: Option<FollowEdge>| {
            let Some(edge) = edge else { return self.delete(vec![PullMarker::key(user, source)]).await };
            let marker = self.op.source(source).stored().await?.marker(source, edge.since);
            self.put(marker.iter().map(|marker| marker.encode(user)).collect()).await
        };
        settle(&self.op.table, "the user's follows", edge, write).await
    }

    /// Removes from the feed the entries whose sources the user does not follow.
    pub(super) async fn remove_unfollowed(
        self,
        user: &User,
        mut entries: Vec<TimelineEntry>,
    ) -> Result<(), TableError> {
        let myself = Actor::from(user);
        entries.retain(|entry| entry.actor != myself);
        let mut rounds = Rounds::of(&self.op.table, "the user's follows");
        loop {
            let (followed, unfollowed) = self.op.user(user).split_followed(entries).await?;
            // The event may have been deleted between two follows. Then its deletion did not reach this feed.
            self.remove_deleted(user, followed).await?;
            if unfollowed.is_empty() {
                return Ok(());
            }
            self.delete(unfollowed.iter().map(|entry| place_in_feed(entry.id, user)).collect()).await?;
            let followed = self.op.user(user).split_followed(unfollowed).await?.0;
            if followed.is_empty() {
                return Ok(());
            }
            // The user follows again by now, and this removal may have come after the backfill.
            self.put(followed.iter().map(|entry| self.op.feed(user).entry(entry)).collect()).await?;
            entries = self.remove_deleted(user, followed).await?;
            rounds.lose()?;
        }
    }

    /// Removes from the feed the entries whose events no longer exist. Returns the other entries.
    pub(super) async fn remove_deleted(
        self,
        user: &User,
        entries: Vec<TimelineEntry>,
    ) -> Result<Vec<TimelineEntry>, TableError> {
        let mut keys = Vec::with_capacity(entries.len());
        for entry in &entries {
            keys.push(self.op.topic(&entry.topic).event_key(entry).await?);
        }
        // A topic that does not exist has no events.
        let known: Vec<_> = keys.iter().flatten().cloned().collect();
        let existing = self.op.table.existing(&known).await?;
        let exists = |key: &Option<Key>| key.as_ref().is_some_and(|key| existing.contains(key));
        let (kept, deleted): (Vec<_>, Vec<_>) =
            entries.into_iter().zip(&keys).partition(|(_, key)| exists(key));
        self.delete(deleted.iter().map(|(entry, _)| place_in_feed(entry.id, user)).collect()).await?;
        Ok(kept.into_iter().map(|(entry, _)| entry).collect())
    }
}
