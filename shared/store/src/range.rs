//! A range of a topic, all of it, oldest first: what a report reads.
//!
//! The directory and every shard of every bucket in it are read consistently, so what was acknowledged before the range
//! was begun is in it. Each shard is a lane, read a page at a time; an event is given when no lane can still hold an older
//! one. Some buckets are read at once, no more than there is room for, and a lane is read on only when all that it gave is
//! given: what is held is at most [`READ_AHEAD_BYTES`], as far as the size of events can be told from those before.
//!
//! The price is that of the bytes, a unit for 4 KB, and one unit at most for each query; one more query for each 32 buckets.
//!
//! What must hold: an event is given once, in order, and [`Range::position`] is never ahead of what was given: a range
//! that begins there goes on where this one stopped.

use std::collections::VecDeque;

use futures_util::stream::{self, StreamExt, TryStreamExt};
use lately_keys::table::EventPartition;
use lately_keys::{Bucket, EventId, Order, ShardCount, SortKey, Topic, UnixMillis};
use lately_model::Event;

use crate::cost::Cost;
use crate::directory::Directory;
use crate::directory::DirectoryRange;
use crate::error::TableError;
use crate::event::decode;
use crate::item::{Fields, text};
use crate::latest::span::IdRange;
use crate::latest::unit_of;
use crate::limits::{EXPECTED_EVENT_BYTES, QUERIES_AT_ONCE, QUERY_BYTES, READ_AHEAD_BYTES};
use crate::op::Op;
use crate::topic::TopicError;
use crate::topic::TopicHandle;

/// A range of a topic being read.
#[derive(Debug)]
pub struct Range {
    op: Op,
    topic: Topic,
    ids: Option<IdRange>,
    to: EventId,
    position: EventId,
    /// Not read yet.
    directory: Option<DirectoryRange>,
    /// Listed, and not begun yet.
    ahead: VecDeque<RangeStop>,
    /// Being read.
    lanes: Vec<RangeLane>,
    /// How many events were seen, and their bytes as stored.
    seen: (u64, u64),
}

/// A bucket to read, and which of its ids are wanted.
#[derive(Clone, Copy, Debug)]
struct RangeStop {
    bucket: Bucket,
    shards: ShardCount,
    ids: IdRange,
}

/// A shard being read.
#[derive(Debug)]
struct RangeLane {
    /// The partition key's text.
    partition: String,
    /// What was not asked for yet.
    unread: Option<IdRange>,
    /// Read, and not given yet.
    events: VecDeque<Event>,
}

/// What a query gave.
struct RangeAnswer {
    lane: usize,
    events: VecDeque<Event>,
    bytes: u64,
    /// The last event that was looked at, if the query ended before its range did.
    stopped_at: Option<EventId>,
}

impl TopicHandle<'_> {
    /// A range of a topic, behind `after` and up to `to`.
    ///
    /// # Errors
    /// See [`TopicError`].
    pub async fn range(self, after: EventId, to: EventId) -> Result<Range, TopicError> {
        let topic = self.topic;
        let stored = self.stored().await?;
        let ids = after.just_after().and_then(|first| IdRange::new(first, to));
        let kept = ids.and_then(|ids| ids.within(stored.oldest_kept(self.op.now()), UnixMillis::MAX));
        let directory = kept.map(|IdRange { oldest, newest }| {
            let width = stored.settings.bucket;
            DirectoryRange::between(topic.clone(), width, Order::OldestFirst, oldest.at(), newest.at())
        });
        Ok(Range {
            op: self.op.clone(),
            topic: topic.clone(),
            ids,
            to,
            position: after,
            directory,
            ahead: VecDeque::new(),
            lanes: Vec::new(),
            seen: (0, 0),
        })
    }
}

impl Range {
    /// The next events, oldest first; none if all were given. Each call has the time of one operation; after one that
    /// failed it may be called again.
    ///
    /// # Errors
    /// If the table could not be read.
    pub async fn next(&mut self) -> Result<Option<Vec<Event>>, TableError> {
        loop {
            let op = self.op.step();
            match self.read(&op).await? {
                Some(events) if events.is_empty() => {}
                given => return Ok(given),
            }
        }
    }

    /// All events up to this one were given.
    #[must_use]
    pub const fn position(&self) -> EventId {
        self.position
    }

    /// What the request, of which the range is a part, has cost so far.
    #[must_use]
    pub fn cost(&self) -> Cost {
        self.op.cost()
    }

    /// One round of queries, and what can be given then; none at the end.
    async fn read(&mut self, op: &Op) -> Result<Option<Vec<Event>>, TableError> {
        if self.lanes.is_empty() && !self.begin_lanes(op).await? {
            self.position = self.to.max(self.position);
            return Ok(None);
        }
        self.read_lanes(op).await?;
        Ok(Some(self.settled()))
    }

    /// Begins with the next buckets, as many as there is room for; whether there are any.
    async fn begin_lanes(&mut self, op: &Op) -> Result<bool, TableError> {
        while self.ahead.is_empty() {
            let Some(range) = &self.directory else { return Ok(false) };
            let page = Directory::of(op, range.topic()).read(range).await?;
            let entries = &page.value.entries;
            let now = self.op.now();
            self.ahead = entries
                .iter()
                .filter_map(|entry| {
                    let oldest = entry.bucket.first().max(entry.oldest_kept(now));
                    let ids = self.ids?.within(oldest, entry.bucket.last())?;
                    Some(RangeStop { bucket: entry.bucket, shards: entry.shards, ids })
                })
                .collect();
            self.directory = match (page.value.more, entries.last()) {
                (true, Some(last)) => range.behind(last.bucket),
                _ => None,
            };
        }
        while let Some(RangeStop { bucket, shards, ids }) = self.ahead.front().copied() {
            if !self.lanes.is_empty() && self.lanes.len() + usize::from(shards.get()) > FULL_PAGES {
                break;
            }
            self.ahead.pop_front();
            self.lanes.extend(shards.shards().map(|shard| {
                let partition = EventPartition { topic: self.topic.clone(), bucket, shard };
                RangeLane { partition: partition.to_string(), unread: Some(ids), events: VecDeque::new() }
            }));
        }
        Ok(true)
    }

    /// Asks the lanes of which nothing is left to give.
    async fn read_lanes(&mut self, op: &Op) -> Result<(), TableError> {
        let limit = self.limit();
        let hungry = self.lanes.iter().enumerate().filter(|(_, lane)| lane.events.is_empty());
        let queries: Vec<_> =
            hungry.filter_map(|(n, lane)| Some(self.query(n, lane, lane.unread?, limit, op))).collect();
        op.table.meter.round();
        let answers: Vec<RangeAnswer> =
            stream::iter(queries).buffer_unordered(QUERIES_AT_ONCE).try_collect().await?;
        for RangeAnswer { lane, events, bytes, stopped_at } in answers {
            self.seen = (self.seen.0 + events.len() as u64, self.seen.1 + bytes);
            let lane = &mut self.lanes[lane];
            lane.unread = match (lane.unread, stopped_at.and_then(EventId::just_after)) {
                (Some(unread), Some(next)) => IdRange::new(next, unread.newest),
                _ => None,
            };
            lane.events = events;
        }
        Ok(())
    }

    async fn query(
        &self,
        lane: usize,
        RangeLane { partition, .. }: &RangeLane,
        ids: IdRange,
        limit: Option<i32>,
        op: &Op,
    ) -> Result<RangeAnswer, TableError> {
        // Sort keys are inverted ids: the newest comes first.
        let (least, greatest) = (ids.newest.sort_key(), ids.oldest.sort_key());
        let answer = op
            .table
            .query(|query| {
                query
                    .key_condition_expression("pk = :pk AND sk BETWEEN :least AND :greatest")
                    .expression_attribute_values(":pk", text(partition.as_str()))
                    .expression_attribute_values(":least", text(least.to_string()))
                    .expression_attribute_values(":greatest", text(greatest.to_string()))
                    .scan_index_forward(false)
                    .set_limit(limit)
                    .consistent_read(true)
            })
            .await?;
        op.table.meter.items(answer.items().len());
        let stopped_at = answer.last_evaluated_key().map(|key| Fields(key).parsed::<SortKey>("sk"));
        Ok(RangeAnswer {
            lane,
            events: answer.items().iter().map(decode).collect::<Result<_, _>>()?,
            bytes: answer.items().iter().map(|item| Fields(item).stored_bytes() as u64).sum(),
            stopped_at: stopped_at.transpose()?.map(SortKey::id),
        })
    }

    /// For how many events to ask a lane; none if there is room for as many as a query can give.
    fn limit(&self) -> Option<i32> {
        let lanes = self.lanes.len();
        if lanes <= FULL_PAGES {
            return None;
        }
        let known = self.op.store.event_bytes().get(&self.topic).unwrap_or(EXPECTED_EVENT_BYTES);
        let mean = self.seen.1.checked_div(self.seen.0).and_then(|mean| u32::try_from(mean).ok());
        let bytes = mean.unwrap_or(known).max(1);
        let room = u32::try_from(READ_AHEAD_BYTES / lanes).unwrap_or(u32::MAX);
        i32::try_from((room / bytes).max(unit_of(bytes))).ok()
    }

    /// What no answer can come before any more, oldest first. Lanes that are done with are left behind.
    fn settled(&mut self) -> Vec<Event> {
        let unread = self.lanes.iter().filter_map(|lane| lane.unread).map(|ids| ids.oldest).min();
        let mut settled = Vec::new();
        for lane in &mut self.lanes {
            let count = lane.events.partition_point(|event| unread.is_none_or(|unread| event.id < unread));
            settled.extend(lane.events.drain(..count));
        }
        // Runs that are sorted already: this merges them.
        settled.sort_by_key(|event| event.id);
        self.lanes.retain(|lane| lane.unread.is_some() || !lane.events.is_empty());
        let position = match unread {
            Some(unread) => unread.just_before(),
            // Up to the next bucket there is nothing.
            None => settled.last().map(|last| last.id),
        };
        self.position = self.position.max(position.unwrap_or(self.position));
        settled
    }
}

/// How many lanes there is room for if each holds as much as a query can give.
const FULL_PAGES: usize = READ_AHEAD_BYTES / QUERY_BYTES;
