//! What a new follower's feed is filled with: what came since, and some of what was there before.
//!
//! It runs after the follower landed and reads the source's timeline consistently, so it finds every event whose
//! fan-out did not find the follower.

use std::collections::HashSet;

use lately_keys::table::{EventKey, FollowerKey, SourceEntryKey};
use lately_keys::{EventId, Key, Order, Place, Source, TableKey, UnixMillis, User};

use crate::call::{TableError, Unavailable};
use crate::entry::{TimelineEntry, place_in_feed};
use crate::fan_out::FanOut;
use crate::follow::{Edge, Follower};
use crate::item::keyed;
use crate::latest::span::IdRange;
use crate::limits::{BACKFILL_ENTRIES, ENTRIES_PER_QUERY};
use crate::timeline::range::EntryRange;
use crate::topic::TopicError;

impl FanOut<'_> {
    pub(super) async fn backfill(&self, key: &FollowerKey, follower: &Follower) -> Result<(), TableError> {
        let FollowerKey { source, shard, user } = key;
        let Follower { since, backfill, .. } = *follower;
        let follow = Edge { source: source.clone(), shard: *shard, since };
        if self.store.edge(user, source, self.operation).await?.as_ref() != Some(&follow) {
            // This follow is over. If the user follows again, that has a record of its own.
            return Ok(());
        }
        let stored = self.store.stored_source(source, self.operation).await?;
        let pulled_from = stored.marker(source, since).map(|marker| marker.since);
        if pulled_from.is_some() {
            self.settle_marker(user, source).await?;
        }
        let first = EventId::first_of(since);
        let newest = pulled_from.map_or(Some(EventId::last_of(UnixMillis::MAX)), EventId::just_before);
        if let Some(after) = newest.and_then(|newest| IdRange::new(first, newest)) {
            self.copy(user, source, after, None).await?;
        }
        let oldest = EventId::first_of(UnixMillis::MIN);
        let Some(before) = first.just_before().and_then(|newest| IdRange::new(oldest, newest)) else {
            return Ok(());
        };
        self.copy(user, source, before, Some(backfill)).await
    }

    /// Copies entries of a part of a source's timeline into a feed: all, or the newest so many.
    async fn copy(
        &self,
        user: &User,
        source: &Source,
        ids: IdRange,
        most: Option<u16>,
    ) -> Result<(), TableError> {
        let now = self.store.now().get() / 1000;
        let partition = SourceEntryKey::partition(source);
        let mut left = most.map(usize::from);
        let mut looked_at = 0;
        let mut rest = Some(ids);
        while left != Some(0)
            && let Some(ids) = rest
        {
            // Mostly the first query finds them all. If not, few of the source's events fan out.
            let limit = left.filter(|_| looked_at == 0).unwrap_or(ENTRIES_PER_QUERY);
            let limit = Some(u32::try_from(limit).unwrap_or(u32::MAX));
            let order = Order::NewestFirst;
            let range = EntryRange { partition: &partition, ids, order, consistent: true };
            let found = self.store.timeline_entries(&range, limit, self.operation).await?;
            rest = found.rest(&range);
            looked_at += found.entries.len();
            let mut entries = found.entries;
            entries.retain(|entry| entry.fans_out && entry.expires_at.is_none_or(|at| at > now));
            entries.truncate(left.unwrap_or(usize::MAX));
            left = left.map(|left| left - entries.len());
            self.copy_entries(user, source, entries).await?;
            if rest.is_some() && most.is_some() && looked_at >= BACKFILL_ENTRIES {
                tracing::info!("a backfill ended early: few of the source's events fan out");
                break;
            }
        }
        Ok(())
    }

    /// Puts entries into a feed, and takes them out if their events or the follow are gone.
    async fn copy_entries(
        &self,
        user: &User,
        source: &Source,
        entries: Vec<TimelineEntry>,
    ) -> Result<(), TableError> {
        if entries.is_empty() {
            return Ok(());
        }
        let retention = self.store.feeds().retention;
        self.deliver(entries.iter().map(|entry| entry.in_feed(user, retention)).collect()).await?;
        let entries = self.take_back_deleted(user, entries).await?;
        if self.store.edge(user, source, self.operation).await?.is_none() {
            self.withdraw(user, entries).await?;
        }
        Ok(())
    }

    /// Takes entries out of a feed whose events are gone; the others.
    pub(super) async fn take_back_deleted(
        &self,
        user: &User,
        entries: Vec<TimelineEntry>,
    ) -> Result<Vec<TimelineEntry>, TableError> {
        let mut keys = Vec::with_capacity(entries.len());
        for entry in &entries {
            keys.push(self.event_of(entry).await?);
        }
        let wanted: Vec<_> = keys.iter().map(|key| keyed(Place::Table, key.clone())).collect();
        let there = self.store.get_items(&wanted, true, self.operation).await?;
        let there: HashSet<_> = there
            .iter()
            .filter_map(|item| Some((item.get("pk")?.as_s().ok()?, item.get("sk")?.as_s().ok()?)))
            .collect();
        let (kept, gone): (Vec<_>, Vec<_>) =
            entries.into_iter().zip(&keys).partition(|(_, key)| there.contains(&(&key.pk, &key.sk)));
        self.delete(gone.iter().map(|(entry, _)| place_in_feed(entry.id, user)).collect()).await?;
        Ok(kept.into_iter().map(|(entry, _)| entry).collect())
    }

    /// The key of the event that an entry lists.
    async fn event_of(&self, entry: &TimelineEntry) -> Result<Key, TableError> {
        if let Some(key) = entry.pointer() {
            return Ok(key.encode());
        }
        let settings =
            self.store.settings(&entry.topic, self.operation).await.map_err(|error| match error {
                TopicError::NotFound => Unavailable::new("the topic of an entry is gone").into(),
                TopicError::Table(error) => error,
            })?;
        Ok(EventKey::new(entry.topic.clone(), settings.bucket, entry.id).encode())
    }
}
