//! A whole range of a topic, oldest first, or events by their ids: what a report reads.
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

use std::collections::HashMap;

use lately_items::event::{decode, unless_over};
use lately_items::{EventKey, EventPartition};
use lately_keys::{BucketWidth, EventId, Order, TableKey, Topic};
use lately_model::Event;
use lately_table::{Cost, TableError};

use crate::at_once::collect_all;
use crate::error::TopicError;
use crate::handle::TopicHandle;
use crate::lane::{LanePage, LaneRange};
use crate::latest::pace::unit_of;
use crate::latest::wave::{LaneAnswer, Wave, WaveLane};
use crate::limits::{EXPECTED_EVENT_BYTES, QUERIES_AT_ONCE};
use crate::op::Op;
use crate::scan::{ScannedBucket, TopicScan};
use crate::span::IdRange;

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
    /// The shards that are being read, and the events that are read and not given yet.
    wave: Wave<Event>,
    /// The number of events read so far, and their bytes as stored.
    seen: (u64, u64),
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
            wave: Wave::new(Order::OldestFirst, Vec::new(), to),
            seen: (0, 0),
        })
    }

    /// Events by their ids, in the order of the ids, without those that do not exist. No event is returned twice. The
    /// read is consistent.
    pub async fn events_of(self, ids: &[EventId]) -> Result<Vec<Event>, TopicError> {
        let stored = self.stored().await?;
        let mut events = self.find_events(stored.settings.bucket, ids).await?;
        let oldest = stored.oldest_kept(self.op.now());
        events.retain(|event| event.at() >= oldest);
        Ok(events)
    }

    /// As [`TopicHandle::events_of`], in buckets of a known width.
    pub(crate) async fn find_events(
        self,
        width: BucketWidth,
        ids: &[EventId],
    ) -> Result<Vec<Event>, TableError> {
        let key = |id: &EventId| EventKey::new(self.topic.clone(), width, *id).encode();
        let keys: Vec<_> = ids.iter().map(key).collect();
        let now = self.op.now();
        let mut found = HashMap::new();
        for item in self.op.table.get_many(&keys, true).await? {
            found.extend(unless_over(&item, now)?.map(|event| (event.id, event)));
        }
        Ok(ids.iter().filter_map(|id| found.remove(id)).collect())
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
        if self.wave.open_lanes() == 0 {
            self.begin_lanes(op).await?;
            match (self.wave.open_lanes(), self.scan.has_more()) {
                (1.., _) => {}
                // The next step reads more of the directory.
                (0, true) => return Ok(Some(Vec::new())),
                (0, false) => {
                    self.position = self.to.max(self.position);
                    return Ok(None);
                }
            }
        }
        self.read_lanes(op).await?;
        let (edge, events) = (self.wave.edge(), self.wave.take_settled());
        // If all shards are read, there are no other events up to the next bucket.
        let position = if edge.more { edge.frontier } else { events.last().map(|last| last.id) };
        self.position = self.position.max(position.unwrap_or(self.position));
        Ok(Some(events))
    }

    /// Begins to read the next buckets, as many as there is room for.
    async fn begin_lanes(&mut self, op: &Op) -> Result<(), TableError> {
        self.scan.begin_step();
        let mut lanes = Vec::new();
        while lanes.is_empty() || self.scan.is_listed() {
            let Some(ScannedBucket { bucket, shards, ids, .. }) = self.scan.peek(op).await? else { break };
            if !lanes.is_empty() && lanes.len() + shards.len() > FULL_PAGES {
                break;
            }
            lanes.extend(shards.iter().map(|shard| {
                let partition = EventPartition { topic: self.topic.clone(), bucket: *bucket, shard: *shard };
                let partition = partition.to_string();
                WaveLane { partition, by_type: false, is_sparse: false, shards: 1, ids: *ids, slices: None }
            }));
            self.scan.advance();
        }
        self.wave = Wave::new(Order::OldestFirst, lanes, self.to);
        Ok(())
    }

    /// Reads the next page of each lane that the others wait for.
    async fn read_lanes(&mut self, op: &Op) -> Result<(), TableError> {
        let (order, consistent) = (Order::OldestFirst, true);
        let queries = self.wave.next_asks(self.limit()).into_iter().map(async |ask| {
            let partition = &self.wave.lane(ask.lane).partition;
            let range = LaneRange { partition, ids: ask.ids, order, consistent };
            let found = LanePage::read(op, &range.query().limit(ask.limit), decode).await?;
            Ok::<_, TableError>(LaneAnswer { ask, found, further: None })
        });
        op.table.meter().round();
        let answers = collect_all(QUERIES_AT_ONCE, queries).await?;
        for LaneAnswer { found, .. } in &answers {
            self.seen = (self.seen.0 + found.items.len() as u64, self.seen.1 + found.bytes);
        }
        self.wave.absorb(answers);
        Ok(())
    }

    /// The number of events to ask a lane for: as many as a query can return, if there is room for them.
    fn limit(&self) -> u32 {
        let lanes = self.wave.open_lanes();
        if lanes <= FULL_PAGES {
            return u32::MAX;
        }
        let known = self.op.memory().event_bytes.get(&self.topic).unwrap_or(EXPECTED_EVENT_BYTES);
        let mean = self.seen.1.checked_div(self.seen.0).and_then(|mean| u32::try_from(mean).ok());
        let bytes = mean.unwrap_or(known).max(1);
        let room = u32::try_from(READ_AHEAD_BYTES / lanes).unwrap_or(u32::MAX);
        (room / bytes).max(unit_of(bytes))
    }
}

/// The number of lanes that there is room for if each holds as much as a query can return.
const FULL_PAGES: usize = READ_AHEAD_BYTES / QUERY_BYTES;
