//! The steps of a change of a topic's retention (`ending/retention.rs` begins one).
//!
//! A change goes through the directory, newest bucket first, and several partitions at once. Events that are past the old
//! or the new retention are deleted, and all others get the new expiry; then fan-out gives their entries the new expiry
//! (`restamp.rs`). A step makes one query of each partition, which reads at most 1 MB.

use lately_items::event::expiry;
use lately_items::{
    EXPIRES_AT, EventPartition, RestOfTopic, RetentionPlace, RetentionStep, id_of_sort_key, oldest_kept,
};
use lately_keys::{EventId, Key};
use lately_model::RetentionDays;
use lately_table::{Item, TableError};

use crate::at_once::{collect_all, run_each};
use crate::fan_out::entries::stamp;
use crate::fan_out::kinds::deletion::events_of_each;
use crate::lane::LanePage;
use crate::limits::{ENDING_PARTITIONS, WRITES_AT_ONCE};
use crate::op::Op;
use crate::scan::{partitions, rest_of};
use crate::work::Next;

/// The partitions in which a change of the retention writes at the same time.
const PARTITIONS_AT_ONCE: usize = 8;

/// Gives the next events another expiry, in several partitions at once.
pub(super) async fn run(op: &Op, step: &RetentionStep) -> Result<Next, TableError> {
    let (mut open, mut rest) = (step.open.clone(), step.rest);
    while open.len() < ENDING_PARTITIONS && rest != RestOfTopic::None {
        rest = open_partitions(op, step, rest, &mut open).await?;
    }
    let room = events_of_each(open.len());
    let stamped = open.iter().map(|place| restamp_partition(op, step, *place, room));
    let stamped = collect_all(PARTITIONS_AT_ONCE, stamped).await?;
    let events = stamped.iter().map(|(read, _)| *read as u64).sum();
    let open: Vec<_> = stamped.into_iter().filter_map(|(_, place)| place).collect();
    if open.is_empty() && rest == RestOfTopic::None {
        op.ending(&step.topic).finish_retention(step.name).await?;
        return Ok(Next::Done);
    }
    Ok(Next::Again(step.next(open, rest, events).encode()))
}

/// Opens the next partitions of a topic, and returns those after them.
async fn open_partitions(
    op: &Op,
    step: &RetentionStep,
    rest: RestOfTopic,
    open: &mut Vec<RetentionPlace>,
) -> Result<RestOfTopic, TableError> {
    let directory = op.directory(&step.topic);
    let from = match rest {
        RestOfTopic::From(bucket, shard) => Some((bucket, shard)),
        RestOfTopic::All | RestOfTopic::None => None,
    };
    let page = directory.remaining(from.map(|(bucket, _)| bucket), ENDING_PARTITIONS).await?;
    for (entry, shard) in partitions(&page.entries, from) {
        let bucket = entry.bucket;
        if open.len() == ENDING_PARTITIONS {
            return Ok(RestOfTopic::From(bucket, shard));
        }
        if open.last().is_none_or(|last| last.bucket != bucket) {
            // The floor hides what had expired. The entry outlives its events by far.
            directory.keep(entry, step.days).await?;
        }
        open.push(RetentionPlace { bucket, shard, after: None });
    }
    let older = page.entries.last().filter(|_| page.more).and_then(|entry| entry.bucket.previous());
    Ok(older.map_or(RestOfTopic::None, |older| RestOfTopic::From(older, 0.into())))
}

/// Gives some events of a partition another expiry. Returns their number, and where the rest begins.
async fn restamp_partition(
    op: &Op,
    step: &RetentionStep,
    place: RetentionPlace,
    room: usize,
) -> Result<(usize, Option<RetentionPlace>), TableError> {
    let RetentionPlace { bucket, shard, after } = place;
    let partition = EventPartition { topic: step.topic.clone(), bucket, shard };
    let page =
        LanePage::read(op, &rest_of(partition.to_string(), after, room), |item| Ok(item.clone())).await?;
    let stamped = run_each(WRITES_AT_ONCE, page.items.iter().map(|item| restamp_event(op, item, step))).await;
    if let Err(TableError::Busy(_)) = stamped {
        // The next step reads the same events again, and writes only those that do not have the expiry yet.
        return Ok((0, Some(place)));
    }
    stamped?;
    let rest = page.stopped_at.map(|after| RetentionPlace { after: Some(after), ..place });
    Ok((page.read, rest))
}

/// Gives an event another expiry, or deletes it if it is past the retention.
async fn restamp_event(op: &Op, item: &Item, step: &RetentionStep) -> Result<(), TableError> {
    let id = id_of_sort_key(item)?;
    let now = op.now();
    let is_past = step.days.is_some_and(|days| id.at() < oldest_kept(days, now));
    if is_past || id.at() < step.floor || item.is_over(now)? {
        return op.table.delete(item.key()?).await;
    }
    stamp_event(op, item.key()?, item.optional(EXPIRES_AT)?, id, step.days).await
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
