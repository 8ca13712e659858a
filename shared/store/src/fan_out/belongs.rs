//! Nothing comes back: the checks after fan-out has written entries, and the removal of entries that do not belong.
//!
//! Fan-out writes first and checks then. An event can be deleted, and a follower can leave, while fan-out writes entries. So
//! after the writes it reads consistently whether the event still exists and who has left, and removes what does not belong.
//! The deletion and the cleanup remove the entries that were written before they ran. So one of the two sides removes each
//! entry, whichever came first.
//!
//! What must hold: each check reads consistently, and reads after the writes that it judges are durable.

use std::collections::BTreeSet;

use futures_util::stream::{self, StreamExt, TryStreamExt};
use lately_keys::table::{EventKey, FeedEntryKey, PullMarkerKey};
use lately_keys::{Place, Source, TableKey, UnixMillis, User};

use crate::entry::{TimelineEntry, own_feed, place_in_feed};
use crate::error::TableError;
use crate::fan_out::FanOut;
use crate::fan_out::page::ShardPage;
use crate::item::{Fields, keyed};
use crate::limits::{CONFLICTS, SHARDS_AT_ONCE, TOLD_APART_MILLIS};
use crate::op::Op;

/// True if an event no longer exists.
pub(super) async fn is_gone(op: &Op, key: &EventKey) -> Result<bool, TableError> {
    Ok(op.table.existing(&[key.encode()]).await?.is_empty())
}

/// The users who have left since a change, and who may have been on one of these pages when the change was handled.
pub(super) async fn gone_from(
    op: &Op,
    pages: &[ShardPage],
    at: UnixMillis,
) -> Result<BTreeSet<User>, TableError> {
    let gone: Vec<_> = pages.iter().map(|page| page.gone(op, at)).collect();
    let gone: Vec<_> = stream::iter(gone).buffered(SHARDS_AT_ONCE).try_collect().await?;
    Ok(gone.into_iter().flatten().collect())
}

impl ShardPage {
    /// The users who have left since a change, and who may have been on the page when an attempt handled the change.
    pub(super) async fn gone(&self, op: &Op, at: UnixMillis) -> Result<BTreeSet<User>, TableError> {
        let since = at.saturating_sub(TOLD_APART_MILLIS);
        let covers = |user: &User| self.covers(user);
        op.source(&self.source).leavers(self.shard, since, covers).await
    }
}

impl<'a> FanOut<'a> {
    /// A user's feed.
    pub(super) const fn feed(&self, user: &'a User) -> FeedMend<'a> {
        FeedMend { fan_out: *self, user }
    }
}

impl FanOut<'_> {
    /// Takes an entry out of the feeds of those who have it and follow none of its sources.
    pub(super) async fn take_back(
        &self,
        users: BTreeSet<User>,
        entry: &TimelineEntry,
    ) -> Result<(), TableError> {
        let places = users.iter().map(|user| keyed(Place::Table, place_in_feed(entry.id, user)));
        let places: Vec<_> = places.collect();
        let found = self.op.table.get_items(&places, true).await?;
        for item in &found {
            let fields = Fields(item);
            let key = FeedEntryKey::decode(fields.text("pk")?, fields.text("sk")?);
            let FeedEntryKey { user, .. } = key.ok_or_else(|| fields.corrupt("pk"))?;
            self.feed(&user).withdraw(vec![entry.clone()]).await?;
        }
        Ok(())
    }
}

/// One user's feed, made what it must be.
#[derive(Clone, Copy)]
pub(super) struct FeedMend<'a> {
    fan_out: FanOut<'a>,
    user: &'a User,
}

impl FeedMend<'_> {
    /// Makes a source's marker in a feed what it must be now: there if the source is followed and not pushed.
    pub(super) async fn settle_marker(self, source: &Source) -> Result<(), TableError> {
        let Self { fan_out, user } = self;
        let mut edge = fan_out.op.user(user).edge(source).await?;
        for _ in 0..CONFLICTS {
            let marker = match &edge {
                None => None,
                Some(edge) => fan_out.op.source(source).stored().await?.marker(source, edge.since),
            };
            match marker {
                Some(marker) => fan_out.put(vec![marker.encode(user)]).await?,
                None if edge.is_some() => {}
                None => {
                    let key = PullMarkerKey { user: user.clone(), source: source.clone() };
                    fan_out.delete(vec![key.encode()]).await?;
                }
            }
            let now = fan_out.op.user(user).edge(source).await?;
            if now == edge {
                return Ok(());
            }
            edge = now;
        }
        Err(keeps_changing())
    }

    /// Takes entries out of a feed none of whose sources its user follows.
    pub(super) async fn withdraw(self, entries: Vec<TimelineEntry>) -> Result<(), TableError> {
        let Self { fan_out, user } = self;
        let is_own = |entry: &TimelineEntry| own_feed(&entry.actor).as_ref() == Some(user);
        let mut entries: Vec<_> = entries.into_iter().filter(|entry| !is_own(entry)).collect();
        for _ in 0..CONFLICTS {
            let (followed, unfollowed) = self.by_follow(entries).await?;
            // Who removed the event may have come between the end of one follow and the beginning of another.
            self.take_back_deleted(followed).await?;
            if unfollowed.is_empty() {
                return Ok(());
            }
            fan_out.delete(unfollowed.iter().map(|entry| place_in_feed(entry.id, user)).collect()).await?;
            let followed = self.by_follow(unfollowed).await?.0;
            if followed.is_empty() {
                return Ok(());
            }
            // Followed again meanwhile: the backfill may have been here before.
            let retention = fan_out.op.store.feeds().retention;
            fan_out.put(followed.iter().map(|entry| entry.in_feed(user, retention)).collect()).await?;
            entries = self.take_back_deleted(followed).await?;
        }
        Err(keeps_changing())
    }

    /// Sorts entries into those of whose sources a user follows one, and the others.
    pub(super) async fn by_follow(
        self,
        entries: Vec<TimelineEntry>,
    ) -> Result<(Vec<TimelineEntry>, Vec<TimelineEntry>), TableError> {
        let Self { fan_out, user } = self;
        let edges = fan_out.op.user(user).edges(&entries).await?;
        Ok(entries.into_iter().partition(|entry| entry.sources().any(|source| edges.contains_key(&source))))
    }

    /// Takes entries out of a feed whose events are gone; the others.
    pub(super) async fn take_back_deleted(
        self,
        entries: Vec<TimelineEntry>,
    ) -> Result<Vec<TimelineEntry>, TableError> {
        let Self { fan_out, user } = self;
        let mut keys = Vec::with_capacity(entries.len());
        for entry in &entries {
            let key = entry.event_key(fan_out.op).await?;
            keys.push(key.ok_or_else(|| TableError::unavailable("the topic of an entry is gone"))?);
        }
        let there = fan_out.op.table.existing(&keys).await?;
        let (kept, gone): (Vec<_>, Vec<_>) =
            entries.into_iter().zip(&keys).partition(|(_, key)| there.contains(key));
        fan_out.delete(gone.iter().map(|(entry, _)| place_in_feed(entry.id, user)).collect()).await?;
        Ok(kept.into_iter().map(|(entry, _)| entry).collect())
    }
}

fn keeps_changing() -> TableError {
    TableError::unavailable("the follow keeps changing")
}
