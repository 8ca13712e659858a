//! Reads a page of a topic: collects waves of buckets from the directory, and merges their lanes.

use std::sync::Arc;

use lately_items::event::{self, decode};
use lately_items::{EventPartition, StoredTopic, TypeViewPartition};
use lately_keys::{Order, Place, Shard, Tick, Topic, UnixMillis};
use lately_model::{Event, EventQuery};
use lately_table::{Condition, TableError};

use crate::lane::{LanePage, LaneRange};
use crate::latest::pace::Pace;
use crate::latest::page::Budget;
use crate::latest::round::WaveReader;
use crate::latest::wave::{Ask, LaneAnswer, Slices, Wave, WaveLane};
use crate::limits::{EXPECTED_EVENT_BYTES, QUERIES_AT_ONCE};
use crate::op::Op;
use crate::scan::{ScannedBucket, TopicScan};
use crate::span::{Span, bucket_end};

/// A page being read.
pub(super) struct LatestReading<'a> {
    op: &'a Op,
    topic: &'a Topic,
    query: &'a EventQuery,
    pub(super) scan: TopicScan,
    budget: Budget,
    now: UnixMillis,
    /// True if the page begins with the newest event.
    begins_now: bool,
    pace: Option<Pace>,
    expected_bytes: u32,
    /// The number of events read so far, and their stored bytes.
    seen: (u64, u64),
}

impl<'a> LatestReading<'a> {
    pub(super) fn new(
        op: &'a Op,
        topic: &'a Topic,
        stored: &StoredTopic,
        query: &'a EventQuery,
        span: &Span,
    ) -> Self {
        let Span { order, ids, now, .. } = *span;
        let scan = TopicScan::new(topic, stored, order, ids, now);
        Self {
            op,
            topic,
            query,
            scan: scan.of(query.event_type.clone(), query.consistent),
            budget: Budget::default(),
            now,
            begins_now: order == Order::NewestFirst && ids.is_some_and(|ids| ids.newest.at() >= now),
            pace: op.memory().paces.get(&(topic.clone(), query.event_type.clone())),
            expected_bytes: op.memory().event_bytes.get(topic).unwrap_or(EXPECTED_EVENT_BYTES),
            seen: (0, 0),
        }
    }

    /// A wave of the next buckets: at most `buckets`, and from the second bucket on no more shards than can be read at
    /// once. `None` if there is no further bucket, or if the page has used up its budget.
    pub(super) async fn next_wave(&mut self, buckets: usize) -> Result<Option<Wave<Event>>, TableError> {
        let mut lanes = Vec::new();
        let mut last = None;
        for _ in 0..buckets {
            if self.is_spent() {
                break;
            }
            let Some(next) = self.scan.peek(self.op).await?.cloned() else { break };
            if !lanes.is_empty() && lanes.len() + next.shards.len() > QUERIES_AT_ONCE {
                break;
            }
            lanes.extend(next.shards.iter().filter_map(|shard| self.lane(&next, *shard)));
            last = Some(next.bucket);
            self.scan.advance();
        }
        let Some(last) = last else { return Ok(None) };
        let fresh =
            self.pace.filter(|_| self.begins_now).map(|pace| Tick::first_of(self.now).before(pace.lag));
        let wave = Wave::new(self.scan.order, lanes, bucket_end(last, self.scan.order));
        Ok(Some(wave.at_pace(self.pace, fresh)))
    }

    /// Remembers the pace and the mean size of this topic's events, for the first asks of the next page.
    pub(super) fn remember(&self, found: &[Event]) {
        if let [first, .., last] = found {
            let now = self.begins_now.then_some(Tick::first_of(self.now));
            let pace = Pace::of(first.id, last.id, found.len(), now, self.pace);
            self.op.memory().paces.insert((self.topic.clone(), self.query.event_type.clone()), pace);
        }
        let (events, bytes) = self.seen;
        if let Some(mean) = bytes.checked_div(events) {
            self.op.memory().event_bytes.insert(self.topic.clone(), u32::try_from(mean).unwrap_or(u32::MAX));
        }
    }

    /// The lane of a shard; `None` if the shard holds nothing before a time that has not come.
    fn lane(&self, scanned: &ScannedBucket, shard: Shard) -> Option<WaveLane> {
        let ScannedBucket { bucket, ref coverage, ref shards, has_types, ids } = *scanned;
        let topic = self.topic.clone();
        // An index cannot be read consistently. For a consistent read, a filter finds the type among the events
        // themselves.
        let EventQuery { event_type, consistent, .. } = self.query;
        let by_type = event_type.as_ref().filter(|_| has_types && !consistent);
        let partition = match by_type {
            Some(event_type) => {
                TypeViewPartition { topic, bucket, event_type: event_type.clone(), shard }.to_string()
            }
            None => EventPartition { topic, bucket, shard }.to_string(),
        };
        let is_alone = shards.len() == 1 && coverage.holds_always(shard);
        let slices = (!is_alone).then(|| Slices { coverage: Arc::clone(coverage), shard });
        let ids = match coverage.holds_always(shard) {
            true => ids,
            false => ids.in_sight(coverage, self.now, *consistent)?,
        };
        Some(WaveLane {
            partition,
            by_type: by_type.is_some(),
            is_sparse: event_type.is_some() && by_type.is_none(),
            shards: u16::try_from(shards.len()).unwrap_or(u16::MAX),
            ids,
            slices,
        })
    }
}

impl WaveReader for LatestReading<'_> {
    type Item = Event;

    fn op(&self) -> &Op {
        self.op
    }

    fn budget(&mut self) -> &mut Budget {
        &mut self.budget
    }

    fn item_bytes(&self) -> u32 {
        self.expected_bytes
    }

    async fn query(&self, ask: Ask, lane: &WaveLane) -> Result<LaneAnswer<Event>, TableError> {
        let place = if lane.by_type { Place::Gsi1 } else { Place::Table };
        let (order, consistent) = (self.scan.order, self.query.consistent);
        let range = LaneRange { partition: &lane.partition, ids: ask.ids, order, consistent };
        let mut query = range.query_in(place).limit(ask.limit);
        if let Some(event_type) = self.query.event_type.as_ref().filter(|_| !lane.by_type) {
            query = query.filter(Condition::equals(event::TYPE, event_type.as_str()));
        }
        Ok(LaneAnswer { ask, found: LanePage::read(self.op, &query, decode).await?, further: None })
    }

    fn add(&mut self, wave: &mut Wave<Event>, answers: Vec<LaneAnswer<Event>>) -> bool {
        for LaneAnswer { found, .. } in &answers {
            self.seen = (self.seen.0 + found.items.len() as u64, self.seen.1 + found.bytes);
        }
        wave.absorb(answers);
        false
    }
}
