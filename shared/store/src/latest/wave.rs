//! A wave: several partitions are read together, lane by lane, until the wanted events are known exactly. Pure.
//!
//! The lanes hold events, or entries that stand for events. Lanes of different timelines may list the same event; a
//! wave keeps such an event once.

use std::sync::Arc;

use lately_items::FeedMarks;
use lately_keys::{Coverage, EventId, Order, Shard, ShardCount, Stretch, Tick};

use crate::lane::LanePage;
use crate::latest::pace::{Pace, PageState, Reach, later, unit_of};
use crate::latest::page::{PageItem, WaveEdge};
use crate::limits::SEARCH_UNITS;
use crate::span::{IdRange, ahead, behind, rank};

/// Events that the first round of a filtering query looks at; each further round looks at twice as many.
const FILTERED_ITEMS_AT_FIRST: u32 = 128;

/// One partition that a wave reads.
#[derive(Clone, Debug)]
pub(crate) struct WaveLane {
    /// The partition key's text.
    pub(crate) partition: String,
    /// True if the partition is one of the index by type.
    pub(crate) by_type: bool,
    /// True if few of the lane's events may be wanted, because a filter drops the others.
    pub(crate) is_sparse: bool,
    /// The number of similar lanes, this one included, over which chance spreads the events.
    pub(crate) shards: u16,
    /// The ids wanted from this lane.
    pub(crate) ids: IdRange,
    /// The times at which the lane may hold events; `None` for all times.
    pub(crate) slices: Option<Slices>,
}

impl WaveLane {
    /// The first id, from `next` on, that the lane may hold. The lane holds nothing until its next slice.
    fn first_from(&self, next: EventId, order: Order) -> Option<EventId> {
        let Some(slices) = &self.slices else { return Some(next) };
        let Stretch { start, .. } = slices.stretch(next.tick(), order)?;
        if start == next.tick() {
            return Some(next);
        }
        let start = order.pick(EventId::last_at(start), EventId::first_at(start));
        let (_, last) = self.ids.ends(order);
        (rank(start, order) <= rank(last, order)).then_some(start)
    }
}

/// The slices of one shard of a bucket.
#[derive(Clone, Debug)]
pub(crate) struct Slices {
    pub(crate) coverage: Arc<Coverage>,
    pub(crate) shard: Shard,
}

impl Slices {
    fn stretch(&self, from: Tick, order: Order) -> Option<Stretch> {
        self.coverage.stretch(self.shard, from, order)
    }

    /// The number of lanes that share the events of a time with this lane. `None` if events of this time are placed in
    /// other lanes, unless a writer does not know the widest spread.
    fn shared_with(&self, at: Tick) -> Option<ShardCount> {
        let shards = self.coverage.shards_at(at.at());
        (shards.shard_at(at) == self.shard).then_some(shards)
    }
}

/// The next query to a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ask {
    pub(crate) lane: usize,
    pub(crate) ids: IdRange,
    /// The most events to look at.
    pub(crate) limit: u32,
}

/// The items that a query to a lane has found.
#[derive(Debug)]
pub(crate) struct LaneAnswer<T> {
    pub(crate) ask: Ask,
    pub(crate) found: LanePage<T>,
    /// The further lanes, if the query has read them as well.
    pub(crate) further: Option<FurtherLanes>,
}

/// The further lanes that the first query to a lane has found.
#[derive(Debug)]
pub(crate) enum FurtherLanes {
    /// The other shards of the lane's source are in this coverage.
    Shards(Arc<Coverage>),
    /// The lane's feed has these marks, and pulls their sources.
    Pulls(FeedMarks),
}

/// The number of events to ask a sparse lane for. Nobody knows how many match, so each round looks at twice as many
/// as the one before, and at no fewer than are billed anyway.
fn filtered_ask(rounds: u32, shards: u32, event_bytes: u32) -> u32 {
    (FILTERED_ITEMS_AT_FIRST << rounds.min(8)).div_ceil(shards).max(unit_of(event_bytes))
}

/// A lane, and how far it was read.
#[derive(Debug)]
struct LaneState {
    lane: WaveLane,
    /// The first id that is not known; `None` if everything is known.
    next: Option<EventId>,
    was_asked: bool,
    /// The items that the lane's filter has looked at, and the half units that this has cost.
    searched: (u64, u64),
}

impl LaneState {
    /// The most items that a page may still look at in this lane, if they are as large as those before: see
    /// [`SEARCH_UNITS`].
    fn items_left(&self) -> u32 {
        let (items, halves) = self.searched;
        let most = 2 * SEARCH_UNITS;
        // Less than an eighth is not worth a further round.
        if halves > most - most / 8 {
            return 0;
        }
        let items_left = (items * (most - halves)).checked_div(halves).filter(|_| items > 0);
        items_left.map_or(u32::MAX, |left| u32::try_from(left).unwrap_or(u32::MAX))
    }
}

/// Partitions that are read together.
#[derive(Debug)]
pub(crate) struct Wave<T> {
    order: Order,
    lanes: Vec<LaneState>,
    pub(super) rounds: u32,
    /// In the order of the walk.
    events: Vec<T>,
    /// The last id that the walk comes to in any lane.
    end: EventId,
    /// True if the wave was given up before it was exact.
    cut: bool,
    /// The expected pace of the events.
    pace: Option<Pace>,
    /// The tick from which on events are expected, if it lies behind the wave's beginning.
    fresh: Option<Tick>,
    /// The tick at which the wave began.
    began: Option<Tick>,
}

impl<T: PageItem> Wave<T> {
    pub(crate) fn new(order: Order, lanes: Vec<WaveLane>, end: EventId) -> Self {
        let mut wave = Self {
            order,
            lanes: Vec::with_capacity(lanes.len()),
            rounds: 0,
            events: Vec::new(),
            end,
            cut: false,
            pace: None,
            fresh: None,
            began: None,
        };
        lanes.into_iter().for_each(|lane| wave.push(lane));
        wave.began = wave.next().map(EventId::tick);
        wave
    }

    /// The same wave with the pace at which its events are expected, from a tick on.
    pub(crate) fn at_pace(self, pace: Option<Pace>, fresh: Option<Tick>) -> Self {
        Self { pace, fresh, ..self }
    }

    pub(crate) fn lane(&self, lane: usize) -> &WaveLane {
        &self.lanes[lane].lane
    }

    /// Adds a lane. The lane may begin behind all wanted events; then it is never asked.
    pub(crate) fn push(&mut self, lane: WaveLane) {
        let (first, _) = lane.ids.ends(self.order);
        let next = lane.first_from(first, self.order);
        self.lanes.push(LaneState { lane, next, was_asked: false, searched: (0, 0) });
    }

    /// The lane that was added last.
    pub(crate) const fn last_lane(&self) -> usize {
        self.lanes.len() - 1
    }

    /// From now on the lane is taken to hold few of the wanted events.
    pub(crate) fn expect_few(&mut self, lane: usize) {
        self.lanes[lane].lane.is_sparse = true;
    }

    /// True if the page has looked at as much of a lane as it may, and found too little.
    pub(crate) fn is_searched(&self, lane: usize) -> bool {
        self.lanes[lane].items_left() == 0
    }

    /// The asks of the next round; none are left once the first `wanted` events are known exactly.
    pub(crate) fn asks(&self, wanted: usize, event_bytes: u32) -> Vec<Ask> {
        let tau = wanted.checked_sub(1).and_then(|last| self.events.get(last)).map(T::id);
        let reach = self.reach(wanted, tau, event_bytes);
        let ask = |(lane, state): (usize, &LaneState)| {
            let WaveLane { ids, is_sparse, shards, ref slices, .. } = state.lane;
            let (from, (_, last)) = (state.next?, ids.ends(self.order));
            let wanted = wanted.saturating_sub(self.events_before(from));
            let wanted = u32::try_from(wanted).unwrap_or(u32::MAX);
            let nearer = |one: Option<EventId>, other: EventId| {
                one.filter(|one| rank(*one, self.order) < rank(other, self.order)).unwrap_or(other)
            };
            let to = nearer(tau, last);
            IdRange::walked(from, to, self.order)?;
            let (limit, until) = match (slices, &reach) {
                (Some(slices), Some(reach)) => {
                    let Stretch { start, end } = slices.stretch(from.tick(), self.order)?;
                    if !reach.includes(start) {
                        return None;
                    }
                    match slices.shared_with(start) {
                        Some(shards) if is_sparse => {
                            (filtered_ask(self.rounds, shards.get().into(), event_bytes), None)
                        }
                        Some(shards) => reach.ask(shards, [start, end], wanted, !state.was_asked),
                        // Few events should be in this lane.
                        None => (unit_of(event_bytes).min(wanted), None),
                    }
                }
                _ if is_sparse => (filtered_ask(self.rounds, shards.into(), event_bytes), None),
                _ => (wanted, None),
            };
            let last_id = |tick| self.order.pick(EventId::first_at(tick), EventId::last_at(tick));
            let limit = if is_sparse { limit.min(state.items_left()).max(1) } else { limit };
            let until = until.map(last_id);
            let ids = IdRange::walked(from, nearer(until, to), self.order)?;
            (wanted > 0).then_some(Ask { lane, ids, limit })
        };
        self.lanes.iter().enumerate().filter_map(ask).collect()
    }

    /// The asks of a reader that takes all events, with this limit: to the lanes that were never asked, and to those without
    /// which no further event settles. So a lane is asked again only when all of its events are settled.
    pub(crate) fn next_asks(&self, limit: u32) -> Vec<Ask> {
        let next = self.next();
        let ask = |(lane, state): (usize, &LaneState)| {
            let from = state.next.filter(|from| !state.was_asked || next == Some(*from))?;
            let (_, last) = state.lane.ids.ends(self.order);
            Some(Ask { lane, ids: IdRange::walked(from, last, self.order)?, limit })
        };
        self.lanes.iter().enumerate().filter_map(ask).collect()
    }

    /// The number of lanes that are not read to their ends.
    pub(crate) fn open_lanes(&self) -> usize {
        self.lanes.iter().filter(|state| state.next.is_some()).count()
    }

    /// Takes out the events that no later answer can precede, in order.
    pub(crate) fn take_settled(&mut self) -> Vec<T> {
        let settled = self.settled().len();
        self.events.drain(..settled).collect()
    }

    /// The reach of the next round; `None` if no lane has slices.
    fn reach(&self, wanted: usize, tau: Option<EventId>, event_bytes: u32) -> Option<Reach> {
        let narrowest = self.lanes.iter().filter_map(|state| state.lane.slices.as_ref());
        let slice = narrowest.map(|slices| slices.coverage.most_shards().slice_ticks()).min()?;
        let at = self.next()?.tick();
        let missing = wanted.saturating_sub(self.settled().len());
        let page = PageState {
            order: self.order,
            began: self.began.unwrap_or(at),
            at,
            fresh: self.fresh.map_or(at, |fresh| later(fresh, at, self.order)),
            is_begun: self.rounds > 0,
            per_tick: self.pace.map(|pace| pace.per_tick),
            missing: u32::try_from(missing).unwrap_or(u32::MAX),
            tau: tau.map(EventId::tick),
            event_bytes,
        };
        let found: Vec<_> = self.events.iter().map(|event| event.id().tick()).collect();
        Some(Reach::next(page, &found, slice))
    }

    /// The first id that is not known of all lanes; `None` if everything is known.
    fn next(&self) -> Option<EventId> {
        self.lanes.iter().filter_map(|state| state.next).min_by_key(|id| rank(*id, self.order))
    }

    /// Adds the answers to a round's asks.
    pub(crate) fn absorb(&mut self, answers: Vec<LaneAnswer<T>>) {
        self.rounds += 1;
        for LaneAnswer { ask, found, .. } in answers {
            let lane = self.lane(ask.lane);
            let (_, last) = lane.ids.ends(self.order);
            let (_, asked) = ask.ids.ends(self.order);
            let end = Some(found.stopped_at.unwrap_or(asked)).filter(|end| *end != last);
            let next = end.and_then(|end| lane.first_from(behind(end, self.order)?, self.order));
            let state = &mut self.lanes[ask.lane];
            (state.next, state.was_asked) = (next, true);
            if state.lane.is_sparse {
                state.searched.0 += found.read as u64;
                state.searched.1 += found.units.halves;
            }
            self.events.extend(found.items);
        }
        // Each answer is sorted already, so this merges them.
        let order = self.order;
        self.events.sort_by_key(|event| rank(event.id(), order));
        self.events.dedup_by_key(|event| event.id());
    }

    /// The events that no later answer can precede, in order.
    pub(crate) fn settled(&self) -> &[T] {
        &self.events[..self.next().map_or(self.events.len(), |next| self.events_before(next))]
    }

    /// Gives the wave up and drops the events that are not settled. The page after this one reads them again.
    pub(crate) fn cut(&mut self) {
        let settled = self.settled().len();
        self.events.truncate(settled);
        self.cut = true;
    }

    /// The end of this wave, with all of its events taken.
    pub(crate) fn edge(&self) -> WaveEdge {
        let next = self.next();
        let frontier = next.map_or(Some(self.end), |next| ahead(next, self.order));
        WaveEdge { frontier, cut: self.cut, more: next.is_some() }
    }

    /// The first `wanted` events, and how many more are known.
    pub(crate) fn into_events(mut self, wanted: usize) -> (Vec<T>, usize) {
        let rest = self.events.len().saturating_sub(wanted);
        self.events.truncate(wanted);
        (self.events, rest)
    }

    /// The number of events that the walk comes to before an id.
    fn events_before(&self, id: EventId) -> usize {
        self.events.partition_point(|event| rank(event.id(), self.order) < rank(id, self.order))
    }
}

#[cfg(test)]
mod tests;
