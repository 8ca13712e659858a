//! The steps of a topic's deletion (`ending/deletion.rs` begins one).
//!
//! A deletion goes through the directory, newest bucket first, and several partitions at once. A step deletes the events
//! that the step before listed, and the entries of buckets that hold nothing more; then it lists the next events. The
//! records of the deleted events make fan-out remove their entries from timelines and feeds (`removal.rs`), as for any
//! deleted event. So a deletion costs one write unit for each KB of an event, one for each of its entries, and two
//! hundredths for its part of a list.
//!
//! A step lists at most 1 MB of a partition's events: it makes one query of each, and no query reads more. The events that a
//! busy partition does not delete are listed by the next step.
//!
//! A step waits until the entries of some events of the step before are removed. So a deletion is as fast as fan-out
//! removes entries, and does not delay other records for long; and when it is done, the entries are removed, too.
//!
//! An entry of the directory is deleted after all events of its bucket. An event that is stored in the meantime, by a
//! process that does not know of the deletion, is deleted when its record comes (`fan_out/marks.rs`).

use std::time::Duration;

use lately_items::event::ENTRY_PARTS;
use lately_items::{
    Announcement, DeletionStep, DirectoryKey, EXPIRES_AT, Ending, EndingMark, EventKey, EventPartition,
    StoredTopic, Timeline, TimelineEntry, WatchKey, places_at_source,
};
use lately_keys::{Bucket, EventId, Source, TableKey, Topic, UnixMillis};
use lately_table::{Condition, Query, TableError, Update};

use crate::at_once::collect_all;
use crate::limits::{
    AWAITED_PLACES, DELETION_SETTLE_SECONDS, DELETION_SHOWN_SECONDS, ENDING_EVENTS_PER_PARTITION,
    ENDING_EVENTS_PER_STEP, ENDING_PARTITIONS, WRITES_AT_ONCE,
};
use crate::op::Op;
use crate::work::{Next, delete_each, delete_or_refuse, must_settle, must_wait};

/// The time for which one step deletes a consumer.
const CONSUMER_DELETION_TIME: Duration = Duration::from_secs(2);

/// Deletes what the step lists, and lists what is to be deleted next.
pub(super) async fn run(op: &Op, step: &DeletionStep) -> Result<Next, TableError> {
    let topic = &step.topic;
    let event = |id: &EventId| EventKey::new(topic.clone(), step.width, *id).encode();
    let refused = delete_or_refuse(op, step.listed.iter().map(event).collect()).await?;
    if !refused.is_empty() {
        // A step that began again would delete again what is gone, for the same price.
        let mut next = DeletionStep { name: step.next().name, ..step.clone() };
        next.listed.retain(|id| refused.contains(&event(id)));
        return Ok(Next::Again(next.encode()));
    }
    let entry = |bucket: &Bucket| DirectoryKey { topic: topic.clone(), bucket: *bucket }.encode();
    delete_each(op, step.over.iter().map(entry).collect()).await?;

    let (mut next, now) = (step.next(), op.now());
    let entries =
        |(id, source): &(EventId, Source)| places_at_source(*id, source, &op.source(source).known_coverage());
    if !step.listed.is_empty() {
        next.waiting_since = Some(now);
        if !step.awaited.is_empty() {
            return Ok(Next::Again(next.encode()));
        }
    } else if must_wait(op, &mut next.awaited, step.waiting_since.unwrap_or(now), entries).await? {
        return Ok(Next::Again(next.encode()));
    }
    let announced = op.consumers(topic).announced().await?;
    let consumers = announced.readers.consumers.iter().map(Announcement::consumer).chain(announced.ended);
    let consumers: Vec<_> = consumers.collect();
    if step.name.number == 0 {
        next.consumers = consumers.len() as u64;
    } else if let Some(consumer) = consumers.first() {
        // As far as the time allows; the next step goes on.
        let op = op.step_within(CONSUMER_DELETION_TIME);
        op.consumer(consumer).delete_some().await?;
        return Ok(Next::Again(next.encode()));
    }
    list(op, topic, &mut next).await?;
    let is_empty = next.listed.is_empty() && next.over.is_empty() && next.at.is_none();
    if is_empty && consumers.is_empty() && !must_settle(op, step.name.begun).await {
        let log = op.late_log(topic);
        if announced.has_log && !log.delete_some().await? {
            return Ok(Next::Again(next.encode()));
        }
        finish(op, topic, &mut next).await?;
    }
    Ok(Next::Again(next.encode()))
}

/// Lists events to delete, from several partitions at once, and the buckets that then hold no more.
async fn list(op: &Op, topic: &Topic, next: &mut DeletionStep) -> Result<(), TableError> {
    let page = op.directory(topic).remaining(None, ENDING_PARTITIONS).await?;
    let begin = next.at.take();
    let partitions = page.entries.iter().flat_map(|entry| {
        let empty = begin.filter(|(bucket, _)| *bucket == entry.bucket).map_or(0, |(_, empty)| empty);
        let shards = entry.shards();
        let count = u16::try_from(shards.len()).unwrap_or(u16::MAX);
        let shards = shards.into_iter().zip(1..).skip(empty.into());
        shards.map(move |(shard, number)| (entry.bucket, shard, number, number == count))
    });
    let partitions: Vec<_> = partitions.take(ENDING_PARTITIONS).collect();
    let room = events_of_each(partitions.len());
    let pages = partitions.iter().map(async |(bucket, shard, ..)| {
        let partition = EventPartition { topic: topic.clone(), bucket: *bucket, shard: *shard };
        let query = Query::partition(partition.to_string()).parts(ENTRY_PARTS).limit(room).consistent(true);
        op.table.query(&query).await
    });
    let pages = collect_all(WRITES_AT_ONCE, pages).await?;
    // True until a partition has more events than the step lists. The next step begins with that one.
    let mut is_whole = true;
    for ((bucket, _, number, is_last), page) in partitions.into_iter().zip(pages) {
        op.table.meter().items(page.read);
        for (index, item) in page.items.iter().enumerate() {
            let key: EventKey = item.key_as()?;
            next.listed.push(key.id());
            // Some events stand for all.
            let is_sample = index % (ENDING_EVENTS_PER_PARTITION / AWAITED_PLACES) == 0;
            if is_sample && next.awaited.len() < AWAITED_PLACES {
                let entry = TimelineEntry::of(&key, item)?;
                next.awaited.extend(entry.iter().flat_map(TimelineEntry::sources).map(|it| (key.id(), it)));
            }
        }
        next.events += page.items.len() as u64;
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

/// Ends a deletion, if the directory is still empty after the mark says that it is.
async fn finish(op: &Op, topic: &Topic, next: &mut DeletionStep) -> Result<(), TableError> {
    let (begun, now) = (next.name.begun, op.now());
    let mark = Update::of(&Ending::Deletion.mark_of(topic))
        .set(EndingMark::DONE, true)
        .set(EXPIRES_AT, EndingMark::expiry(now))
        .only_if(Condition::equals(EndingMark::BEGUN, begun.get()));
    op.table.update(&mark).await?;
    if !op.directory(topic).remaining(None, 1).await?.entries.is_empty() {
        return Ok(());
    }
    let watch = WatchKey { timeline: Timeline::Topic(topic.clone()) }.encode();
    let retention = Ending::Retention;
    let log_end = op.late_log(topic).last_key();
    for key in [watch, log_end, retention.mark_of(topic).encode(), retention.step_of(topic).encode()] {
        op.table.delete(key).await?;
    }
    let finished = now.max(begun.saturating_add(DELETION_SETTLE_SECONDS * 1000));
    let seconds = finished.get().div_ceil(1000);
    let config = Update::under(StoredTopic::key(topic))
        .set(EXPIRES_AT, seconds)
        .only_if(Condition::equals(StoredTopic::DELETING, begun.get()));
    op.table.update(&config).await?;
    next.finished = Some(UnixMillis::new(seconds * 1000).unwrap_or(finished));
    next.expires_at = Some(seconds + DELETION_SHOWN_SECONDS);
    Ok(())
}

/// The events that a step takes from each of so many partitions.
pub(super) fn events_of_each(partitions: usize) -> usize {
    (ENDING_EVENTS_PER_STEP / partitions.max(1)).min(ENDING_EVENTS_PER_PARTITION)
}
