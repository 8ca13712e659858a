//! A whole range of a topic, oldest first: the events that a report reads.
//!
//! The directory and every shard that may hold events of the range are read consistently, so the range contains every event that
//! was acknowledged before the reading began. Each shard is a lane, read a page at a time. An event is given once no
//! lane can still return an older one. As many buckets are read at once as there is room for, and a lane reads its next
//! page only when all its events are given. So at most [`READ_AHEAD_BYTES`] are held, as far as the size of earlier
//! events tells the size of later ones.
//!
//! The price is one read unit for each 4 KB, at most one more for each query, and one more query for each 32 buckets.
//!
//! Each event is given once, in order, and [`Range::position`] is never ahead of the given events: a range that begins
//! there continues where this one stopped.

use std::collections::VecDeque;

use futures_util::stream::{self, StreamExt, TryStreamExt};
use lately_items::EventPartition;
use lately_items::event::decode;
use lately_keys::{EventId, Order, Topic};
use lately_model::Event;
use lately_table::{Cost, TableError};

use crate::handle::TopicHandle;
use crate::lane::{LanePage, LaneRange};
use crate::latest::pace::unit_of;
use crate::latest::span::IdRange;
use crate::limits::{EXPECTED_EVENT_BYTES, QUERIES_AT_ONCE};
use crate::op::Op;
use crate::scan::{ScannedBucket, TopicScan};
use crate::topic::error::TopicError;

/// Events of a range that are held in memory: 32 full queries, so 32 shards are read at the price of their bytes. A
/// bucket of more shards is read in smaller pages, each as large as there is room for if the next events are as large
/// as the earlier ones.
const READ_AHEAD_BYTES: usize = 32 * QUERY_BYTES;

const _: () = assert!(READ_AHEAD_BYTES / QUERY_BYTES <= QUERIES_AT_ONCE);

/// The most bytes that one query returns: DynamoDB's limit.
const QUERY_BYTES: usize = 1024 * 1024;

/// A range of a topic that is being read.
#[derive(Debug)]
pub struct Range {
    op: Op,
    topic: Topic,
    to: EventId,
    position: EventId,
    scan: TopicScan,
    /// The shards that are being read.
    lanes: Vec<RangeLane>,
    /// The number of events read so far, and their bytes as stored.
    seen: (u64, u64),
}

/// A shard that is being read.
#[derive(Debug)]
struct RangeLane {
    /// The partition key's text.
    partition: String,
    /// The ids that are not read yet.
    unread: Option<IdRange>,
    /// The events that are read, and not given yet.
    events: VecDeque<Event>,
}

impl TopicHandle<'_> {
    /// A range of a topic: the events after `after` and up to `to`.
    pub async fn range(self, after: EventId, to: EventId) -> Result<Range, TopicError> {
        let stored = self.stored().await?;
        let ids = after.just_after().and_then(|first| IdRange::new(first, to));
        Ok(Range {
            op: self.op.clone(),
            topic: self.topic.clone(),
            to,
            position: after,
            scan: TopicScan::new(self.topic, &stored, Order::OldestFirst, ids, self.op.now()),
            lanes: Vec::new(),
            seen: (0, 0),
        })
    }
}

impl Range {
    /// The next events, oldest first; `None` once all are given. Each call has the time of one operation. A call that
    /// failed may be repeated.
    pub async fn next(&mut self) -> Result<Option<Vec<Event>>, TableError> {
        loop {
            let op = self.op.step();
            match self.read(&op).await? {
                Some(events) if events.is_empty() => {}
                given => return Ok(given),
            }
        }
    }

    /// All events up to this id have been given.
    pub const fn position(&self) -> EventId {
        self.position
    }

    /// The cost so far of the request that the range is a part of.
    pub fn cost(&self) -> Cost {
        self.op.cost()
    }

    /// One round of queries, and the events that can be given then; `None` at the end.
    async fn read(&mut self, op: &Op) -> Result<Option<Vec<Event>>, TableError> {
        if self.lanes.is_empty() {
            self.begin_lanes(op).await?;
            match (self.lanes.is_empty(), self.scan.has_more()) {
                (false, _) => {}
                // The next step reads more of the directory.
                (true, true) => return Ok(Some(Vec::new())),
                (true, false) => {
                    self.position = self.to.max(self.position);
                    return Ok(None);
                }
            }
        }
        self.read_lanes(op).await?;
        Ok(Some(self.settled()))
    }

    /// Begins to read the next buckets, as many as there is room for.
    async fn begin_lanes(&mut self, op: &Op) -> Result<(), TableError> {
        self.scan.begin_step();
        while self.lanes.is_empty() || self.scan.is_listed() {
            let Some(ScannedBucket { bucket, shards, ids, .. }) = self.scan.peek(op).await? else { break };
            if !self.lanes.is_empty() && self.lanes.len() + shards.len() > FULL_PAGES {
                break;
            }
            self.lanes.extend(shards.iter().map(|shard| {
                let partition = EventPartition { topic: self.topic.clone(), bucket: *bucket, shard: *shard };
                RangeLane { partition: partition.to_string(), unread: Some(*ids), events: VecDeque::new() }
            }));
            self.scan.advance();
        }
        Ok(())
    }

    /// Reads the next page of each lane whose events are all given.
    async fn read_lanes(&mut self, op: &Op) -> Result<(), TableError> {
        let limit = self.limit();
        let hungry = self.lanes.iter().enumerate().filter(|(_, lane)| lane.events.is_empty());
        let queries: Vec<_> =
            hungry.filter_map(|(n, lane)| Some(self.query(n, lane.unread?, limit, op))).collect();
        op.table.meter().round();
        let answers: Vec<_> = stream::iter(queries).buffer_unordered(QUERIES_AT_ONCE).try_collect().await?;
        for (lane, LanePage { items, bytes, stopped_at, .. }) in answers {
            self.seen = (self.seen.0 + items.len() as u64, self.seen.1 + bytes);
            let lane = &mut self.lanes[lane];
            lane.unread = match (lane.unread, stopped_at.and_then(EventId::just_after)) {
                (Some(unread), Some(next)) => IdRange::new(next, unread.newest),
                _ => None,
            };
            lane.events = items.into();
        }
        Ok(())
    }

    /// The next page of a lane, by the lane's number.
    async fn query(
        &self,
        lane: usize,
        ids: IdRange,
        limit: Option<u32>,
        op: &Op,
    ) -> Result<(usize, LanePage<Event>), TableError> {
        let partition = &self.lanes[lane].partition;
        let mut query = LaneRange { partition, ids, order: Order::OldestFirst, consistent: true }.query();
        if let Some(limit) = limit {
            query = query.limit(limit);
        }
        Ok((lane, op.lane_page(&query, decode).await?))
    }

    /// The number of events to ask a lane for; `None` if there is room for as many as a query can return.
    fn limit(&self) -> Option<u32> {
        let lanes = self.lanes.len();
        if lanes <= FULL_PAGES {
            return None;
        }
        let known = self.op.memory().event_bytes.get(&self.topic).unwrap_or(EXPECTED_EVENT_BYTES);
        let mean = self.seen.1.checked_div(self.seen.0).and_then(|mean| u32::try_from(mean).ok());
        let bytes = mean.unwrap_or(known).max(1);
        let room = u32::try_from(READ_AHEAD_BYTES / lanes).unwrap_or(u32::MAX);
        Some((room / bytes).max(unit_of(bytes)))
    }

    /// The events that no later answer can precede, oldest first. Lanes that are read and given are removed.
    fn settled(&mut self) -> Vec<Event> {
        let unread = self.lanes.iter().filter_map(|lane| lane.unread).map(|ids| ids.oldest).min();
        let mut settled = Vec::new();
        for lane in &mut self.lanes {
            let count = lane.events.partition_point(|event| unread.is_none_or(|unread| event.id < unread));
            settled.extend(lane.events.drain(..count));
        }
        // Each lane's events are sorted already, so this merges them.
        settled.sort_by_key(|event| event.id);
        self.lanes.retain(|lane| lane.unread.is_some() || !lane.events.is_empty());
        let position = match unread {
            Some(unread) => unread.just_before(),
            // There are no other events up to the next bucket.
            None => settled.last().map(|last| last.id),
        };
        self.position = self.position.max(position.unwrap_or(self.position));
        settled
    }
}

/// The number of lanes that there is room for if each holds as much as a query can return.
const FULL_PAGES: usize = READ_AHEAD_BYTES / QUERY_BYTES;
