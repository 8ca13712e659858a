//! Reads a page: collects waves from the directory, and sends the queries of a round together.

use std::sync::Arc;

use futures_util::stream::{self, StreamExt, TryStreamExt};
use lately_items::{EventPartition, StoredTopic, TypeViewPartition};
use lately_keys::{EventType, Order, Place, Shard, Tick, Topic, UnixMillis};
use lately_model::{Event, EventQuery};
use lately_table::{Condition, TableError};

use crate::lane::{LanePage, LaneRange};
use crate::latest::pace::{Pace, PaceName};
use crate::latest::page::{Budget, PageEnd, PageItem};
use crate::latest::span::Span;
use crate::latest::walk::{DirectoryStop, DirectoryWalk};
use crate::latest::wave::{Ask, Slices, Wave, WaveAnswer, WaveLane, bucket_end};
use crate::limits::{EXPECTED_EVENT_BYTES, QUERIES_AT_ONCE};
use crate::op::Op;
use lately_items::event::decode;

/// A page being read.
pub(super) struct LatestReading<'a> {
    op: &'a Op,
    topic: &'a Topic,
    event_type: Option<&'a EventType>,
    consistent: bool,
    walk: DirectoryWalk,
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
        let EventQuery { event_type, consistent, .. } = query;
        Self {
            op,
            topic,
            event_type: event_type.as_ref(),
            consistent: *consistent,
            walk: DirectoryWalk::new(topic, stored, *span, event_type.clone(), *consistent),
            now: span.now,
            begins_now: span.order == Order::NewestFirst
                && span.ids.is_some_and(|ids| ids.newest.at() >= span.now),
            pace: op.memory().paces.get(&(topic.clone(), event_type.clone())),
            expected_bytes: op.memory().event_bytes.get(topic).unwrap_or(EXPECTED_EVENT_BYTES),
            seen: (0, 0),
        }
    }

    /// A wave of the next buckets: at most `buckets`, and from the second bucket on no more shards than can be read at
    /// once. `None` if there is no further bucket, or if the page has used up its budget.
    pub(super) async fn next_wave(
        &mut self,
        buckets: usize,
        budget: &Budget,
    ) -> Result<Option<Wave<Event>>, TableError> {
        let mut lanes = Vec::new();
        let mut last = None;
        for _ in 0..buckets {
            if budget.is_spent(self.op) {
                break;
            }
            let Some(stop) = self.walk.peek(self.op).await? else { break };
            if !lanes.is_empty() && lanes.len() + stop.shards.len() > QUERIES_AT_ONCE {
                break;
            }
            lanes.extend(stop.shards.iter().filter_map(|shard| self.lane(&stop, *shard)));
            last = Some(stop.bucket);
            self.walk.advance();
        }
        let Some(last) = last else { return Ok(None) };
        let fresh =
            self.pace.filter(|_| self.begins_now).map(|pace| Tick::first_of(self.now).before(pace.lag));
        let wave = Wave::new(self.walk.order(), lanes, bucket_end(last, self.walk.order()));
        Ok(Some(wave.at_pace(self.pace, fresh)))
    }

    /// The page's ending if there is no further wave.
    pub(super) fn ending(&self) -> PageEnd {
        if self.walk.has_more() { PageEnd::Cut { at: self.walk.at } } else { PageEnd::Exhausted }
    }

    /// True if there may be buckets behind the ones that were read.
    pub(super) fn has_more(&self) -> bool {
        self.walk.has_more()
    }

    /// Reads a wave until its first `wanted` events are known exactly, or they take up the page's `room`, or the budget
    /// is used up.
    pub(super) async fn read(
        &mut self,
        wave: &mut Wave<Event>,
        wanted: usize,
        room: usize,
        budget: &mut Budget,
    ) -> Result<(), TableError> {
        loop {
            let asks = wave.asks(wanted, self.expected_bytes);
            if asks.is_empty() {
                return Ok(());
            }
            let is_full = || wave.settled().iter().map(Event::sent_bytes).sum::<usize>() >= room;
            if wave.is_begun() && (budget.is_spent(self.op) || is_full()) {
                wave.cut();
                return Ok(());
            }
            self.op.table.meter().round();
            let queries: Vec<_> = asks.into_iter().map(|ask| self.query(ask, wave.lane(ask.lane))).collect();
            let answers: Vec<(WaveAnswer<Event>, QueryYield)> =
                stream::iter(queries).buffer_unordered(QUERIES_AT_ONCE).try_collect().await?;
            let mut absorbed = Vec::with_capacity(answers.len());
            for (answer, seen) in answers {
                budget.queries += 1;
                if wave.lane(answer.ask.lane).filtered {
                    budget.filtered_items += seen.looked_at;
                }
                self.seen = (self.seen.0 + answer.events.len() as u64, self.seen.1 + seen.bytes);
                absorbed.push(answer);
            }
            wave.absorb(absorbed);
        }
    }

    /// Remembers the pace and the mean size of this topic's events, for the first asks of the next page.
    pub(super) fn remember(&self, found: &[Event]) {
        if let [first, .., last] = found {
            let now = self.begins_now.then_some(Tick::first_of(self.now));
            let pace = Pace::of(first.id, last.id, found.len(), now, self.pace);
            self.op.memory().paces.insert(self.pace_name(), pace);
        }
        let (events, bytes) = self.seen;
        if let Some(mean) = bytes.checked_div(events) {
            self.op.memory().event_bytes.insert(self.topic.clone(), u32::try_from(mean).unwrap_or(u32::MAX));
        }
    }

    /// The lane of a shard; `None` if the shard holds nothing before a time that has not come.
    fn lane(&self, stop: &DirectoryStop, shard: Shard) -> Option<WaveLane> {
        let DirectoryStop { bucket, ref coverage, ref shards, has_types, ids } = *stop;
        let topic = self.topic.clone();
        // An index cannot be read consistently. For a consistent read, a filter finds the type among the events
        // themselves.
        let by_type = self.event_type.filter(|_| has_types && !self.consistent);
        let partition = match by_type {
            Some(event_type) => {
                TypeViewPartition { topic, bucket, event_type: event_type.clone(), shard }.to_string()
            }
            None => EventPartition { topic, bucket, shard }.to_string(),
        };
        let is_alone = shards.len() == 1 && coverage.holds_always(shard);
        let slices = (!is_alone).then(|| Slices { coverage: Arc::clone(coverage), shard });
        let ids = if slices.is_some() && !coverage.holds_always(shard) {
            ids.in_sight(coverage, self.now, self.consistent)?
        } else {
            ids
        };
        Some(WaveLane {
            partition,
            by_type: by_type.is_some(),
            filtered: self.event_type.is_some() && by_type.is_none(),
            shards: u16::try_from(shards.len()).unwrap_or(u16::MAX),
            ids,
            slices,
        })
    }

    fn pace_name(&self) -> PaceName {
        (self.topic.clone(), self.event_type.cloned())
    }

    async fn query(&self, ask: Ask, lane: &WaveLane) -> Result<(WaveAnswer<Event>, QueryYield), TableError> {
        let place = if lane.by_type { Place::Gsi1 } else { Place::Table };
        let (order, consistent) = (self.walk.order(), self.consistent);
        let range = LaneRange { partition: &lane.partition, ids: ask.ids, order, consistent };
        let mut query = range.query_in(place).limit(ask.limit);
        if let Some(event_type) = self.event_type.filter(|_| lane.filtered) {
            query = query.filter(Condition::equals("t", event_type.as_str()));
        }
        let LanePage { items: events, bytes, read, stopped_at } = self.op.lane_page(&query, decode).await?;
        let looked_at = u32::try_from(read).unwrap_or(u32::MAX);
        Ok((WaveAnswer { ask, events, stopped_at }, QueryYield { looked_at, bytes }))
    }
}

/// The number of events that a query looked at, and the stored bytes of the events that it returned.
struct QueryYield {
    looked_at: u32,
    bytes: u64,
}
