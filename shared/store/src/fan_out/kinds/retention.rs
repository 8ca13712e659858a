//! The steps of a change of a topic's retention (`ending/retention.rs` begins one).
//!
//! A change goes through the directory, newest bucket first, and several partitions at once. Events that are past the old
//! or the new retention are deleted, and all others get the new expiry; then fan-out gives their entries the new expiry
//! (`restamp.rs`).

use futures_util::stream::{self, StreamExt, TryStreamExt};
use lately_items::event::expiry;
use lately_items::{EXPIRES_AT, EventPartition, RestOfTopic, RetentionPlace, RetentionStep, oldest_kept};
use lately_keys::{EventId, Key, Shard, SortKey};
use lately_model::RetentionDays;
use lately_table::{Item, Query, TableError};

use crate::directory::Directory;
use crate::directory::range::DirectoryPage;
use crate::fan_out::entries::stamp;
use crate::fan_out::kinds::deletion::events_of_each;
use crate::limits::{ENDING_PARTITIONS, WRITES_AT_ONCE};
use crate::op::Op;
use crate::work::{Next, Work};

/// The partitions in which a change of the retention writes at the same time.
const PARTITIONS_AT_ONCE: usize = 8;

/// A change of a topic's retention.
pub(super) struct Retention<'a> {
    pub(super) op: &'a Op,
}

impl Work for Retention<'_> {
    type Step = RetentionStep;

    /// Gives the next events another expiry, in several partitions at once.
    async fn run(&self, step: &RetentionStep) -> Result<Next<RetentionStep>, TableError> {
        let (mut open, mut rest) = (step.open.clone(), step.rest);
        while open.len() < ENDING_PARTITIONS && rest != RestOfTopic::None {
            rest = self.open_partitions(step, rest, &mut open).await?;
        }
        let room = events_of_each(open.len());
        let stamped: Vec<_> = open.iter().map(|place| self.restamp_partition(step, *place, room)).collect();
        let stamped: Vec<_> = stream::iter(stamped).buffered(PARTITIONS_AT_ONCE).try_collect().await?;
        let events = stamped.iter().map(|(read, _)| *read as u64).sum();
        let open: Vec<_> = stamped.into_iter().filter_map(|(_, place)| place).collect();
        if open.is_empty() && rest == RestOfTopic::None {
            self.op.topic(&step.topic).finish_retention(step.name).await?;
            return Ok(Next::Done);
        }
        Ok(Next::Again(step.next(open, rest, events)))
    }
}

impl Retention<'_> {
    /// Opens the next partitions of a topic, and returns those after them.
    async fn open_partitions(
        &self,
        step: &RetentionStep,
        rest: RestOfTopic,
        open: &mut Vec<RetentionPlace>,
    ) -> Result<RestOfTopic, TableError> {
        let directory = Directory::of(self.op, &step.topic);
        let (newest, first) = match rest {
            RestOfTopic::None => return Ok(rest),
            RestOfTopic::All => (None, Shard::from(0)),
            RestOfTopic::From(bucket, shard) => (Some(bucket), shard),
        };
        let DirectoryPage { entries, more } = directory.remaining(newest, ENDING_PARTITIONS).await?;
        for entry in &entries {
            let first = if newest == Some(entry.bucket) { first } else { Shard::from(0) };
            for shard in entry.shards().into_iter().filter(|shard| *shard >= first) {
                if open.len() == ENDING_PARTITIONS {
                    return Ok(RestOfTopic::From(entry.bucket, shard));
                }
                open.push(RetentionPlace { bucket: entry.bucket, shard, after: None });
            }
            // The floor hides what had expired. The entry outlives its events by far.
            directory.keep(entry, step.days).await?;
        }
        let older = entries.last().filter(|_| more).and_then(|entry| entry.bucket.previous());
        Ok(older.map_or(RestOfTopic::None, |older| RestOfTopic::From(older, Shard::from(0))))
    }

    /// Gives some events of a partition another expiry. Returns their number, and where the rest begins.
    async fn restamp_partition(
        &self,
        step: &RetentionStep,
        place: RetentionPlace,
        room: u32,
    ) -> Result<(usize, Option<RetentionPlace>), TableError> {
        let partition =
            EventPartition { topic: step.topic.clone(), bucket: place.bucket, shard: place.shard };
        let query = Query::partition(partition.to_string()).limit(room).consistent(true);
        let query = match place.after {
            Some(after) => query.after(after.sort_key().to_string()),
            None => query,
        };
        let page = self.op.table.query(&query).await?;
        self.op.table.meter().items(page.read);
        let changes: Vec<_> = page.items.iter().map(|item| self.restamp_event(item, step)).collect();
        stream::iter(changes).buffer_unordered(WRITES_AT_ONCE).try_collect::<()>().await?;
        let stopped_at = page.next.map(|key| key.get::<SortKey>("sk")).transpose()?.map(SortKey::id);
        Ok((page.read, stopped_at.map(|after| RetentionPlace { after: Some(after), ..place })))
    }

    /// Gives an event another expiry, or deletes it if it is past the retention.
    async fn restamp_event(&self, item: &Item, step: &RetentionStep) -> Result<(), TableError> {
        let id = item.get::<SortKey>("sk")?.id();
        let now = self.op.now();
        let is_past = step.days.is_some_and(|days| id.at() < oldest_kept(days, now));
        if is_past || id.at() < step.floor || item.is_over(now)? {
            return self.op.table.delete(item.key()?).await;
        }
        stamp_event(self.op, item.key()?, item.optional(EXPIRES_AT)?, id, step.days).await
    }
}

/// Sets an event's expiry, if the event has another one.
pub(crate) async fn stamp_event(
    op: &Op,
    key: Key,
    stored: Option<u64>,
    id: EventId,
    days: Option<RetentionDays>,
) -> Result<(), TableError> {
    let wanted = days.map(|days| expiry(id.at(), days));
    if wanted == stored { Ok(()) } else { stamp(op, key, wanted).await }
}
