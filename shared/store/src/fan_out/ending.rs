//! The steps of a topic's deletion, and of a change of its retention (`ending/`).
//!
//! A deletion goes through the directory, newest bucket first, and several partitions at once. A step deletes the events that the step before listed,
//! and the entries of buckets that hold nothing more; then it lists the next events and stores the list. The records of
//! the deleted events make fan-out remove their entries from timelines and feeds (`post.rs`), as for any deleted event.
//! So a deletion costs one write unit for each KB of an event, one for each of its entries, and two hundredths for its
//! place in a list.
//!
//! A step waits until the entries of some events of the step before are gone. So a deletion is as fast as fan-out removes
//! entries, and holds up no others for long; and when it is done, so are the entries.
//!
//! An entry of the directory is deleted after all events of its bucket. An event that lands in the meantime, from a
//! process that does not know of the deletion, is deleted when its record comes (`late.rs`).
//!
//! A change of the retention goes the same way. Events that are past the old or the new retention are deleted, and all
//! others get the new expiry; then fan-out gives their entries the new expiry.

use std::time::Duration;

use futures_util::stream::{self, StreamExt, TryStreamExt};
use lately_items::event::expiry;
use lately_items::{
    DeletionStep, DirectoryEntry, DirectoryKey, Ending, EndingMark, EndingMarkKey, EndingStepKey, EventKey,
    EventPartition, RestOfTopic, RetentionPlace, RetentionStep, StepName, StoredTopic, Timeline,
    TimelineEntry, WatchKey, oldest_kept, places_at_source,
};
use lately_keys::{Bucket, EventId, Key, Shard, SortKey, Source, TableKey, Topic, UnixMillis};
use lately_model::RetentionDays;
use lately_table::{Condition, Item, Page, PutIf, Query, TableError, Update};

use crate::directory::Directory;
use crate::directory::range::DirectoryPage;
use crate::ending::is_stored;
use crate::fan_out::batch::FanOut;
use crate::limits::{
    AWAITED_PLACES, DELETION_SETTLE_SECONDS, DELETION_SHOWN_SECONDS, ENDING_EVENTS_PER_PARTITION,
    ENDING_EVENTS_PER_STEP, ENDING_PARTITIONS, ENDING_PAUSE, ENDING_SETTLE_MILLIS, ENDING_SETTLE_PAUSE,
    WRITES_AT_ONCE,
};
use crate::op::Op;

/// The partitions in which a change of the retention writes at the same time.
const PARTITIONS_AT_ONCE: usize = 8;

/// After this long, a deletion no longer waits for an entry: fan-out may have given up the entry's record.
const ENDING_WAIT_MILLIS: u64 = 10 * 60 * 1000;

/// The time for which one such step deletes a consumer.
const CONSUMER_DELETION_TIME: Duration = Duration::from_secs(2);

/// True if everything that was written before an ending began can be seen.
pub(super) fn is_settled(op: &Op, begun: UnixMillis) -> bool {
    op.now() >= begun.saturating_add(ENDING_SETTLE_MILLIS)
}

impl FanOut<'_> {
    /// Takes a step, unless it was taken before.
    pub(super) async fn end(&self, key: &EndingStepKey, name: StepName) -> Result<(), TableError> {
        let Some(item) = self.op.table.get(key.encode()).await? else { return Ok(()) };
        if StepName::of(&item)? != name {
            return Ok(());
        }
        let topic = &key.topic;
        let next = match key.ending {
            Ending::Deletion => {
                let step = DeletionStep::decode(&item)?;
                if step.finished.is_some() {
                    return Ok(());
                }
                Box::pin(self.delete_listed(topic, &step)).await?.encode(topic)
            }
            Ending::Retention => {
                match Box::pin(self.restamp_some(topic, RetentionStep::decode(&item)?)).await? {
                    Some(next) => next.encode(topic),
                    None => return Ok(()),
                }
            }
        };
        match self.op.table.put_if(&next, &is_stored(name)).await? {
            PutIf::Done => Ok(()),
            // Another process has taken the step, or an earlier attempt of this put was applied.
            PutIf::Refused(_) => Ok(()),
        }
    }

    /// Deletes what a step lists, and lists what is to be deleted next.
    async fn delete_listed(&self, topic: &Topic, step: &DeletionStep) -> Result<DeletionStep, TableError> {
        let event = |id: &EventId| EventKey::new(topic.clone(), step.width, *id).encode();
        self.delete_each(step.listed.iter().map(event).collect()).await?;
        let entry = |bucket: &Bucket| DirectoryKey { topic: topic.clone(), bucket: *bucket }.encode();
        self.delete_each(step.over.iter().map(entry).collect()).await?;

        let mut next = step.next();
        if self.must_wait(step, &mut next).await? {
            return Ok(next);
        }
        let announced = self.op.topic(topic).announced().await?;
        let consumers = announced.consumers.into_iter().map(|it| it.consumer).chain(announced.ended);
        let consumers: Vec<_> = consumers.collect();
        if step.name.number == 0 {
            next.consumers = consumers.len() as u64;
        } else if let Some(consumer) = consumers.first() {
            // As far as the time allows; the next step goes on.
            let op = self.op.step_within(CONSUMER_DELETION_TIME);
            op.consumer(consumer).delete_some().await?;
            return Ok(next);
        }
        self.list(topic, &mut next).await?;
        let is_empty = next.listed.is_empty() && next.over.is_empty() && next.at.is_none();
        if is_empty && consumers.is_empty() {
            match is_settled(self.op, step.name.begun) {
                true => self.finish(topic, &mut next).await?,
                false => tokio::time::sleep(ENDING_SETTLE_PAUSE).await,
            }
        }
        Ok(next)
    }

    /// True if the next step is to wait for the entries of events that this step, or an earlier one, has deleted.
    async fn must_wait(&self, step: &DeletionStep, next: &mut DeletionStep) -> Result<bool, TableError> {
        let now = self.op.now();
        if !step.listed.is_empty() {
            next.waiting_since = Some(now);
            return Ok(!step.awaited.is_empty());
        }
        let places = |(id, source): &(EventId, Source)| {
            places_at_source(*id, source, &self.op.source(source).known_coverage())
        };
        self.is_awaited(&mut next.awaited, step.waiting_since.unwrap_or(now), places).await
    }

    /// True if some of the awaited places still hold something: pauses, and keeps those alone. After a long time, nothing
    /// is awaited any more.
    pub(super) async fn is_awaited<T>(
        &self,
        awaited: &mut Vec<T>,
        since: UnixMillis,
        places: impl Fn(&T) -> Vec<Key>,
    ) -> Result<bool, TableError> {
        let all: Vec<_> = awaited.iter().flat_map(&places).collect();
        let there = self.op.table.existing(&all).await?;
        awaited.retain(|awaited| places(awaited).iter().any(|place| there.contains(place)));
        if self.op.now().get().saturating_sub(since.get()) > ENDING_WAIT_MILLIS {
            tracing::warn!("an ending goes on without waiting for entries of deleted events");
            awaited.clear();
        }
        if awaited.is_empty() {
            return Ok(false);
        }
        tokio::time::sleep(ENDING_PAUSE).await;
        Ok(true)
    }

    /// Deletes items of a topic, each with a call of its own: fan-out's role may delete events, and may not put any.
    async fn delete_each(&self, keys: Vec<Key>) -> Result<(), TableError> {
        let deletes = keys.into_iter().map(|key| self.op.table.delete(key));
        stream::iter(deletes).buffer_unordered(WRITES_AT_ONCE).try_collect().await
    }

    /// Lists events to delete, from several partitions at once, and the buckets that then hold no more.
    async fn list(&self, topic: &Topic, next: &mut DeletionStep) -> Result<(), TableError> {
        let page = Directory::of(self.op, topic).remaining(None, ENDING_PARTITIONS).await?;
        let begin = next.at.take();
        let partitions = page.entries.iter().flat_map(|entry| {
            let empty = begin.filter(|(bucket, _)| *bucket == entry.bucket).map_or(0, |(_, empty)| empty);
            let shards = shards_of(entry);
            let count = u16::try_from(shards.len()).unwrap_or(u16::MAX);
            let shards = shards.into_iter().zip(1..).skip(empty.into());
            shards.map(move |(shard, number)| (entry.bucket, shard, number, number == count))
        });
        let partitions: Vec<_> = partitions.take(ENDING_PARTITIONS).collect();
        let room = events_of_each(partitions.len());
        let pages = partitions.iter().map(async |(bucket, shard, ..)| {
            let partition = EventPartition { topic: topic.clone(), bucket: *bucket, shard: *shard };
            let query = Query::partition(partition.to_string()).parts(PARTS).limit(room).consistent(true);
            self.op.table.query(&query).await
        });
        let pages: Vec<_> = pages.collect();
        let pages: Vec<_> = stream::iter(pages).buffered(WRITES_AT_ONCE).try_collect().await?;
        // True until a partition has more events than the step lists. The next step begins with that one.
        let mut is_whole = true;
        for ((bucket, _, number, is_last), page) in partitions.into_iter().zip(pages) {
            self.op.table.meter().items(page.read);
            self.list_page(&page, next)?;
            if !is_whole {
                continue;
            }
            is_whole = page.next.is_none();
            if is_whole && is_last {
                next.over.push(bucket);
                next.buckets += 1;
                next.at = None;
            } else {
                next.at = Some((bucket, if is_whole { number } else { number - 1 }));
            }
        }
        Ok(())
    }

    /// Lists the events of one partition.
    fn list_page(&self, page: &Page, next: &mut DeletionStep) -> Result<(), TableError> {
        for (place, item) in page.items.iter().enumerate() {
            let key: EventKey = item.key_as()?;
            next.listed.push(key.id());
            // Some events stand for all.
            if place % (ENDING_EVENTS_PER_PARTITION / AWAITED_PLACES) == 0
                && next.awaited.len() < AWAITED_PLACES
            {
                let entry = TimelineEntry::of(&key, item)?;
                next.awaited.extend(entry.iter().flat_map(TimelineEntry::sources).map(|it| (key.id(), it)));
            }
        }
        next.events += page.items.len() as u64;
        Ok(())
    }

    /// Ends a deletion, if the directory is still empty after the mark says that it is.
    async fn finish(&self, topic: &Topic, next: &mut DeletionStep) -> Result<(), TableError> {
        let (begun, now) = (next.name.begun, self.op.now());
        self.op.table.update(&finished_deletion(topic, begun, now)).await?;
        if !Directory::of(self.op, topic).remaining(None, 1).await?.entries.is_empty() {
            return Ok(());
        }
        let watch = WatchKey { timeline: Timeline::Topic(topic.clone()) }.encode();
        let ending = Ending::Retention;
        let mark = EndingMarkKey { topic: topic.clone(), ending }.encode();
        let step = EndingStepKey { topic: topic.clone(), ending }.encode();
        for key in [watch, mark, step] {
            self.op.table.delete(key).await?;
        }
        let finished = now.max(begun.saturating_add(DELETION_SETTLE_SECONDS * 1000));
        let seconds = finished.get().div_ceil(1000);
        let config = Update::under(StoredTopic::key(topic))
            .set("expires_at", seconds)
            .only_if(Condition::equals("deleting", begun.get()));
        self.op.table.update(&config).await?;
        next.finished = Some(UnixMillis::new(seconds * 1000).unwrap_or(finished));
        next.expires_at = Some(seconds + DELETION_SHOWN_SECONDS);
        Ok(())
    }

    /// Gives the next events another expiry, in several partitions at once. Returns the next step; `None` if nothing
    /// remains.
    async fn restamp_some(
        &self,
        topic: &Topic,
        step: RetentionStep,
    ) -> Result<Option<RetentionStep>, TableError> {
        let (mut open, mut rest) = (step.open.clone(), step.rest);
        while open.len() < ENDING_PARTITIONS && rest != RestOfTopic::None {
            rest = self.open_partitions(topic, &step, rest, &mut open).await?;
        }
        let room = events_of_each(open.len());
        let stamped: Vec<_> =
            open.iter().map(|place| self.restamp_partition(topic, *place, room, &step)).collect();
        let stamped: Vec<_> = stream::iter(stamped).buffered(PARTITIONS_AT_ONCE).try_collect().await?;
        let events = stamped.iter().map(|(read, _)| *read as u64).sum();
        let open: Vec<_> = stamped.into_iter().filter_map(|(_, place)| place).collect();
        if open.is_empty() && rest == RestOfTopic::None {
            self.op.topic(topic).finish_retention(step.name).await?;
            return Ok(None);
        }
        Ok(Some(step.next(open, rest, events)))
    }

    /// Opens the next partitions of a topic, and returns those after them.
    async fn open_partitions(
        &self,
        topic: &Topic,
        step: &RetentionStep,
        rest: RestOfTopic,
        open: &mut Vec<RetentionPlace>,
    ) -> Result<RestOfTopic, TableError> {
        let directory = Directory::of(self.op, topic);
        let (newest, first) = match rest {
            RestOfTopic::None => return Ok(rest),
            RestOfTopic::All => (None, Shard::from(0)),
            RestOfTopic::From(bucket, shard) => (Some(bucket), shard),
        };
        let DirectoryPage { entries, more } = directory.remaining(newest, ENDING_PARTITIONS).await?;
        for entry in &entries {
            let first = if newest == Some(entry.bucket) { first } else { Shard::from(0) };
            for shard in shards_of(entry).into_iter().filter(|shard| *shard >= first) {
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
        topic: &Topic,
        place: RetentionPlace,
        room: u32,
        step: &RetentionStep,
    ) -> Result<(usize, Option<RetentionPlace>), TableError> {
        let partition = EventPartition { topic: topic.clone(), bucket: place.bucket, shard: place.shard };
        let query = Query::partition(partition.to_string()).limit(room).consistent(true);
        let query = match place.after {
            Some(after) => query.after(after.sort_key().to_string()),
            None => query,
        };
        let page = self.op.table.query(&query).await?;
        self.op.table.meter().items(page.read);
        let changes: Vec<_> = page.items.iter().map(|item| self.restamp_event(item, step)).collect();
        stream::iter(changes).buffer_unordered(WRITES_AT_ONCE).try_collect::<()>().await?;
        let stopped_at = page.next.map(|key| key.parsed::<SortKey>("sk")).transpose()?.map(SortKey::id);
        Ok((page.read, stopped_at.map(|after| RetentionPlace { after: Some(after), ..place })))
    }

    /// Gives an event another expiry, or deletes it if it is past the retention.
    async fn restamp_event(&self, item: &Item, step: &RetentionStep) -> Result<(), TableError> {
        let id = item.parsed::<SortKey>("sk")?.id();
        let now = self.op.now();
        let is_past = step.days.is_some_and(|days| id.at() < oldest_kept(days, now));
        if is_past || id.at() < step.floor || item.is_over(now)? {
            return self.op.table.delete(item.key()?).await;
        }
        stamp_event(self.op, item.key()?, item.optional_number("expires_at")?, id, step.days).await
    }
}

/// Sets an event's expiry, if the event has another one.
pub(super) async fn stamp_event(
    op: &Op,
    key: Key,
    stored: Option<u64>,
    id: EventId,
    days: Option<RetentionDays>,
) -> Result<(), TableError> {
    let wanted = days.map(|days| expiry(id.at(), days));
    if wanted == stored { Ok(()) } else { stamp(op, key, wanted).await }
}

/// Sets an item's expiry, if the item is there.
pub(super) async fn stamp(op: &Op, key: Key, expires_at: Option<u64>) -> Result<(), TableError> {
    let update = Update::under(key);
    let update = match expires_at {
        Some(seconds) => update.set("expires_at", seconds),
        None => update.remove("expires_at"),
    };
    op.table.update(&update.only_if(Condition::any_item())).await.map(drop)
}

/// The attributes of an event that its sources follow from.
const PARTS: &str = "pk, sk, t, a, s, v";

/// All shards that may hold events of an entry's bucket.
fn shards_of(entry: &DirectoryEntry) -> Vec<Shard> {
    entry.coverage.shards_within(entry.bucket.first(), entry.bucket.last())
}

/// The events that a step takes from each of so many partitions.
fn events_of_each(partitions: usize) -> u32 {
    let each = (ENDING_EVENTS_PER_STEP / partitions.max(1)).min(ENDING_EVENTS_PER_PARTITION);
    u32::try_from(each).unwrap_or(u32::MAX)
}

/// Notes in the mark of a deletion that no entry of the directory is left.
fn finished_deletion(topic: &Topic, begun: UnixMillis, now: UnixMillis) -> Update {
    Update::of(&Ending::Deletion.mark_of(topic))
        .set("done", true)
        .set("expires_at", EndingMark::expiry(now))
        .only_if(Condition::equals("begun", begun.get()))
}
