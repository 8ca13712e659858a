//! A wave: several partitions are read together, lane by lane, until the wanted events are known exactly. Pure.
//!
//! The lanes hold events, or entries that stand for events. Lanes of different timelines may list the same event; a
//! wave keeps such an event once.

use std::sync::Arc;

use lately_keys::{Bucket, Coverage, EventId, Order, Shard, ShardCount, Stretch, Tick};

use crate::lane::LanePage;
use crate::latest::ask::{first_ask, unit_of};
use crate::latest::pace::{Pace, PageState, Reach, later};
use crate::latest::rank::{Rank, Ranked, ahead, behind};
use crate::latest::span::IdRange;

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
    /// The coverage of the lane's source, if the query has read it as well.
    pub(crate) coverage: Option<Arc<Coverage>>,
}

/// The number of events to ask a sparse lane for. Nobody knows how many match, so each round looks at twice as many
/// as the one before, and at no fewer than are billed anyway.
fn filtered_ask(rounds: u32, shards: u32, event_bytes: u32) -> u32 {
    (FILTERED_ITEMS_AT_FIRST << rounds.min(8)).div_ceil(shards).max(unit_of(event_bytes))
}

/// The part of a lane that is known, or the part that is known of all lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Known {
    Nothing,
    /// Everything up to this id, included.
    UpTo(Rank),
    All,
}

/// A lane, and how far it was read.
#[derive(Debug)]
struct LaneState {
    lane: WaveLane,
    known: Known,
    was_asked: bool,
}

/// Partitions that are read together.
#[derive(Debug)]
pub(crate) struct Wave<T> {
    order: Order,
    lanes: Vec<LaneState>,
    rounds: u32,
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

impl<T: Ranked> Wave<T> {
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
        wave.began = wave.next_tick();
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
        let known = self.beginning(&lane);
        self.lanes.push(LaneState { lane, known, was_asked: false });
    }

    /// The lane that was added last.
    pub(crate) const fn last_lane(&self) -> usize {
        self.lanes.len() - 1
    }

    /// From now on the lane is taken to hold few of the wanted events.
    pub(crate) fn expect_few(&mut self, lane: usize) {
        self.lanes[lane].lane.is_sparse = true;
    }

    pub(crate) const fn is_begun(&self) -> bool {
        self.rounds > 0
    }

    /// The asks of the next round; none are left once the first `wanted` events are known exactly.
    pub(crate) fn asks(&self, wanted: usize, event_bytes: u32) -> Vec<Ask> {
        let tau = wanted.checked_sub(1).and_then(|last| self.events.get(last)).map(T::id);
        let reach = self.reach(wanted, tau, event_bytes);
        let ask = |(lane, state): (usize, &LaneState)| {
            let WaveLane { ids, is_sparse, shards, ref slices, .. } = state.lane;
            let (first, last) = ids.ends(self.order);
            let (from, before) = match state.known {
                Known::All => return None,
                Known::Nothing => (first, 0),
                Known::UpTo(frontier) => (behind(frontier.id, self.order)?, self.events_up_to(frontier)),
            };
            let wanted = u32::try_from(wanted.saturating_sub(before)).unwrap_or(u32::MAX);
            let nearer = |one: Option<EventId>, other: EventId| {
                one.filter(|one| self.rank(*one) < self.rank(other)).unwrap_or(other)
            };
            let to = nearer(tau, last);
            IdRange::walked(from, to, self.order)?;
            let is_first = !state.was_asked;
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
                        Some(shards) => reach.ask(shards, [start, end], wanted, is_first),
                        // Few events should be in this lane.
                        None => (unit_of(event_bytes).min(wanted), None),
                    }
                }
                _ if is_sparse => (filtered_ask(self.rounds, shards.into(), event_bytes), None),
                _ if is_first && before == 0 => (first_ask(wanted, shards.into(), event_bytes), None),
                _ => (wanted, None),
            };
            let last_id = |tick| self.order.pick(EventId::first_at(tick), EventId::last_at(tick));
            let until = until.map(last_id);
            let ids = IdRange::walked(from, nearer(until, to), self.order)?;
            (wanted > 0).then_some(Ask { lane, ids, limit })
        };
        self.lanes.iter().enumerate().filter_map(ask).collect()
    }

    /// The reach of the next round; `None` if no lane has slices.
    fn reach(&self, wanted: usize, tau: Option<EventId>, event_bytes: u32) -> Option<Reach> {
        let narrowest = self.lanes.iter().filter_map(|state| state.lane.slices.as_ref());
        let slice = narrowest.map(|slices| slices.coverage.most_shards().slice_ticks()).min()?;
        let at = self.next_tick()?;
        let missing = wanted.saturating_sub(self.settled().len());
        let page = PageState {
            order: self.order,
            began: self.began.unwrap_or(at),
            at,
            fresh: self.fresh.map_or(at, |fresh| later(fresh, at, self.order)),
            is_begun: self.is_begun(),
            per_tick: self.pace.map(|pace| pace.per_tick),
            missing: u32::try_from(missing).unwrap_or(u32::MAX),
            tau: tau.map(EventId::tick),
            event_bytes,
        };
        let found: Vec<_> = self.events.iter().map(|event| event.id().tick()).collect();
        Some(Reach::next(page, &found, slice))
    }

    /// The tick of the first id that is not known of all lanes.
    fn next_tick(&self) -> Option<Tick> {
        let next = self.lanes.iter().filter_map(|state| match state.known {
            Known::All => None,
            Known::Nothing => Some(state.lane.ids.ends(self.order).0),
            Known::UpTo(frontier) => behind(frontier.id, self.order),
        });
        next.min_by_key(|id| self.rank(*id)).map(EventId::tick)
    }

    /// The known part of a lane that was never asked.
    fn beginning(&self, lane: &WaveLane) -> Known {
        let (first, _) = lane.ids.ends(self.order);
        match ahead(first, self.order) {
            Some(ahead) => self.skipped(lane, ahead),
            None => self.until_slice(lane, first, Known::Nothing),
        }
    }

    /// The known part of a lane that is known up to an id.
    fn skipped(&self, lane: &WaveLane, frontier: EventId) -> Known {
        match behind(frontier, self.order) {
            Some(next) => self.until_slice(lane, next, Known::UpTo(self.rank(frontier))),
            None => Known::All,
        }
    }

    /// The known part of a lane that is known before an id: the lane holds nothing until its next slice.
    fn until_slice(&self, lane: &WaveLane, next: EventId, before: Known) -> Known {
        let Some(slices) = &lane.slices else { return before };
        let Some(Stretch { start, .. }) = slices.stretch(next.tick(), self.order) else { return Known::All };
        if start == next.tick() {
            return before;
        }
        let start = self.order.pick(EventId::last_at(start), EventId::first_at(start));
        let (_, last) = lane.ids.ends(self.order);
        if self.rank(start) > self.rank(last) {
            return Known::All;
        }
        ahead(start, self.order).map_or(Known::All, |ahead| Known::UpTo(self.rank(ahead)))
    }

    /// Adds the answers to a round's asks.
    pub(crate) fn absorb(&mut self, answers: Vec<LaneAnswer<T>>) {
        self.rounds += 1;
        for LaneAnswer { ask, found, .. } in answers {
            let lane = self.lane(ask.lane);
            let (_, last) = lane.ids.ends(self.order);
            let (_, asked) = ask.ids.ends(self.order);
            let known = match found.stopped_at.unwrap_or(asked) {
                end if end == last => Known::All,
                end => self.skipped(lane, end),
            };
            let state = &mut self.lanes[ask.lane];
            (state.known, state.was_asked) = (known, true);
            self.events.extend(found.items);
        }
        // Each answer is sorted already, so this merges them.
        let order = self.order;
        self.events.sort_by_key(|event| Rank::of(event.id(), order));
        self.events.dedup_by_key(|event| event.id());
    }

    /// The events that no later answer can precede, in order.
    pub(crate) fn settled(&self) -> &[T] {
        match self.frontier() {
            Known::All => &self.events,
            Known::Nothing => &[],
            Known::UpTo(frontier) => &self.events[..self.events_up_to(frontier)],
        }
    }

    /// Gives the wave up and drops the events that are not settled. The page after this one reads them again.
    pub(crate) fn cut(&mut self) {
        let settled = self.settled().len();
        self.events.truncate(settled);
        self.cut = true;
    }

    /// The end of this wave, with all of its events taken.
    pub(crate) fn edge(&self) -> WaveEdge {
        let frontier = match self.frontier() {
            Known::Nothing => None,
            Known::UpTo(frontier) => Some(frontier.id),
            Known::All => Some(self.end),
        };
        WaveEdge { frontier, cut: self.cut, more: self.lanes.iter().any(|state| state.known != Known::All) }
    }

    /// The first `wanted` events, and how many more are known.
    pub(crate) fn into_events(mut self, wanted: usize) -> (Vec<T>, usize) {
        let rest = self.events.len().saturating_sub(wanted);
        self.events.truncate(wanted);
        (self.events, rest)
    }

    /// The part that is known of all lanes.
    fn frontier(&self) -> Known {
        self.lanes.iter().map(|state| state.known).min().unwrap_or(Known::All)
    }

    fn events_up_to(&self, rank: Rank) -> usize {
        self.events.partition_point(|event| self.rank(event.id()) <= rank)
    }

    fn rank(&self, id: EventId) -> Rank {
        Rank::of(id, self.order)
    }
}

/// The end of a wave, from which the walk continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WaveEdge {
    /// All events up to this id, included, are known. `None` if nothing is known.
    pub(crate) frontier: Option<EventId>,
    /// The wave was given up before it was exact.
    pub(crate) cut: bool,
    /// Some lane may hold more events.
    pub(crate) more: bool,
}

/// The last id that a walk comes to in a bucket.
pub(crate) fn bucket_end(bucket: Bucket, order: Order) -> EventId {
    order.pick(EventId::first_of(bucket.first()), EventId::last_of(bucket.last()))
}

#[cfg(test)]
mod tests;
