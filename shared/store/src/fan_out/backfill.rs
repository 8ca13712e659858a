//! What a new follower's feed is filled with: what came since, and some of what was there before.
//!
//! It runs after the follower landed and reads the source's timeline consistently, so it finds every event whose
//! fan-out did not find the follower.

use std::collections::HashSet;

use aws_sdk_dynamodb::types::ReturnConsumedCapacity;
use lately_keys::table::{EventKey, FollowerKey, SourceEntryKey};
use lately_keys::{EventId, Key, Place, Source, TableKey, UnixMillis, User};

use crate::call::{Failed, TableError, Unavailable};
use crate::entry::{TimelineEntry, place_in_feed};
use crate::fan_out::FanOut;
use crate::follow::{Edge, Follower};
use crate::item::{Item, keyed, text};
use crate::limits::{BACKFILL_ENTRIES, ENTRIES_PER_QUERY};
use crate::topic::TopicError;

/// A part of a source's timeline, newest first.
#[derive(Clone, Copy, Debug)]
struct Part {
    /// Those below this id.
    below: Option<EventId>,
    /// Those from this id on.
    from: Option<EventId>,
}

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
        if pulled_from.is_none_or(|from| from > first) {
            let part = Part { below: pulled_from, from: Some(first) };
            self.copy(user, source, part, None).await?;
        }
        let part = Part { below: Some(first), from: None };
        self.copy(user, source, part, Some(backfill)).await
    }

    /// Copies entries of a part of a source's timeline into a feed: all, or the newest so many.
    async fn copy(
        &self,
        user: &User,
        source: &Source,
        part: Part,
        most: Option<u16>,
    ) -> Result<(), TableError> {
        let now = self.store.now().get() / 1000;
        let mut left = most.map(usize::from);
        let mut looked_at = 0;
        let mut start = None;
        while left != Some(0) {
            // Mostly the first query finds them all. If not, few of the source's events fan out.
            let limit = left.filter(|_| start.is_none()).unwrap_or(ENTRIES_PER_QUERY);
            let (mut entries, next) = self.read_part(source, part, limit, start).await?;
            looked_at += entries.len();
            entries.retain(|entry| entry.fans_out && entry.expires_at.is_none_or(|at| at > now));
            entries.truncate(left.unwrap_or(usize::MAX));
            left = left.map(|left| left - entries.len());
            self.copy_entries(user, source, entries).await?;
            start = next;
            if start.is_none() {
                break;
            }
            if most.is_some() && looked_at >= BACKFILL_ENTRIES {
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

    /// Up to so many entries of a part of a source's timeline, and where it goes on.
    async fn read_part(
        &self,
        source: &Source,
        part: Part,
        limit: usize,
        start: Option<Item>,
    ) -> Result<(Vec<TimelineEntry>, Option<Item>), TableError> {
        // Sort keys are inverted ids: what is below an id stands behind it.
        let newest = part.below.map_or(Some(EventId::last_of(UnixMillis::MAX)), EventId::just_before);
        let Some(newest) = newest else { return Ok((Vec::new(), None)) };
        let oldest = part.from.unwrap_or(EventId::first_of(UnixMillis::MIN));
        if newest < oldest {
            return Ok((Vec::new(), None));
        }
        let answer = self
            .operation
            .call(|| {
                self.store
                    .client()
                    .query()
                    .table_name(self.store.table())
                    .key_condition_expression("pk = :pk AND sk BETWEEN :newest AND :oldest")
                    .expression_attribute_values(":pk", text(SourceEntryKey::partition(source)))
                    .expression_attribute_values(":newest", text(newest.sort_key().to_string()))
                    .expression_attribute_values(":oldest", text(oldest.sort_key().to_string()))
                    .set_exclusive_start_key(start.clone())
                    .limit(i32::try_from(limit).unwrap_or(i32::MAX))
                    .consistent_read(true)
                    .return_consumed_capacity(ReturnConsumedCapacity::Total)
                    .send()
            })
            .await
            .map_err(Failed::unconditional)?;
        self.operation.meter.read(answer.consumed_capacity());
        self.operation.meter.items(answer.items().len());
        let entries = answer.items().iter().map(TimelineEntry::decode).collect::<Result<_, _>>()?;
        Ok((entries, answer.last_evaluated_key))
    }
}
