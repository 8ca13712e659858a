//! A wave: several partitions are read together, lane by lane, until the wanted events are known exactly. Pure.
//!
//! The lanes hold events, or entries that stand for events. Lanes of different timelines may list the same event; a
//! wave keeps such an event once.

use lately_keys::{Bucket, EventId, Order};

use crate::latest::ask::{first_ask, unit_of};
use crate::latest::rank::{Placed, Rank, ahead, behind};
use crate::latest::span::IdRange;
use crate::limits::FILTERED_ITEMS_AT_FIRST;

/// One partition that a wave reads.
#[derive(Clone, Debug)]
pub(crate) struct WaveLane {
    /// The partition key's text.
    pub(crate) partition: String,
    /// True if the partition is one of the index by type.
    pub(crate) by_type: bool,
    /// True if the query's filter drops events that do not match.
    pub(crate) filtered: bool,
    /// The number of similar lanes, this one included, over which chance spreads the events.
    pub(crate) shards: u16,
    /// The ids wanted from this lane.
    pub(crate) ids: IdRange,
}

/// The next query to a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ask {
    pub(crate) lane: usize,
    pub(crate) ids: IdRange,
    /// The most events to look at.
    pub(crate) limit: u32,
}

/// The answer of a lane.
#[derive(Debug)]
pub(crate) struct WaveAnswer<T> {
    pub(crate) ask: Ask,
    pub(crate) events: Vec<T>,
    /// The last event that was looked at, if the query ended before its range did.
    pub(crate) stopped_at: Option<EventId>,
}

/// The number of events to ask a filtered lane for. Nobody knows how many match, so each round looks at twice as many
/// as the one before, and at no fewer than are billed anyway.
fn filtered_ask(rounds: u32, shards: u32, event_bytes: u32) -> u32 {
    (FILTERED_ITEMS_AT_FIRST << rounds.min(8)).div_ceil(shards).max(unit_of(event_bytes))
}

/// The part of a lane that is known, or the part that is known of all lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Known {
    Nothing,
    /// Everything up to this id, included.
    UpTo(EventId),
    All,
}

/// Partitions that are read together.
#[derive(Debug)]
pub(crate) struct Wave<T> {
    order: Order,
    lanes: Vec<WaveLane>,
    known: Vec<Known>,
    rounds: u32,
    /// In the order of the walk.
    events: Vec<T>,
    /// The last id that the walk comes to in any lane.
    end: EventId,
    /// True if the wave was given up before it was exact.
    cut: bool,
}

impl<T: Placed> Wave<T> {
    pub(crate) fn new(order: Order, lanes: Vec<WaveLane>, end: EventId) -> Self {
        let known = vec![Known::Nothing; lanes.len()];
        Self { order, lanes, known, rounds: 0, events: Vec::new(), end, cut: false }
    }

    pub(crate) fn lane(&self, lane: usize) -> &WaveLane {
        &self.lanes[lane]
    }

    /// Adds a lane. The lane may begin behind all wanted events; then it is never asked.
    pub(crate) fn push(&mut self, lane: WaveLane) {
        let (first, _) = lane.ids.ends(self.order);
        self.lanes.push(lane);
        self.known.push(ahead(first, self.order).map_or(Known::Nothing, Known::UpTo));
    }

    /// From now on the lane is taken to hold few of the wanted events.
    pub(crate) fn expect_few(&mut self, lane: usize) {
        self.lanes[lane].filtered = true;
    }

    pub(crate) const fn is_begun(&self) -> bool {
        self.rounds > 0
    }

    /// The asks of the next round; none are left once the first `wanted` events are known exactly.
    pub(crate) fn asks(&self, wanted: usize, event_bytes: u32) -> Vec<Ask> {
        let tau = wanted.checked_sub(1).and_then(|last| self.events.get(last)).map(T::id);
        let ask = |(lane, known): (usize, &Known)| {
            let WaveLane { ids, filtered, shards, .. } = self.lanes[lane];
            let (first, last) = ids.ends(self.order);
            let (from, before) = match *known {
                Known::All => return None,
                Known::Nothing => (first, 0),
                Known::UpTo(frontier) => (behind(frontier, self.order)?, self.events_up_to(frontier)),
            };
            let to = match tau {
                Some(tau) if self.rank(tau) < self.rank(last) => tau,
                _ => last,
            };
            let ids = IdRange::walked(from, to, self.order)?;
            let wanted = u32::try_from(wanted.saturating_sub(before)).unwrap_or(u32::MAX);
            let limit = match (filtered, known) {
                (true, _) => filtered_ask(self.rounds, shards.into(), event_bytes),
                (false, Known::Nothing) => first_ask(wanted, shards.into(), event_bytes),
                (false, _) => wanted,
            };
            (wanted > 0).then_some(Ask { lane, ids, limit })
        };
        self.known.iter().enumerate().filter_map(ask).collect()
    }

    /// Adds the answers to a round's asks.
    pub(crate) fn absorb(&mut self, answers: Vec<WaveAnswer<T>>) {
        self.rounds += 1;
        for WaveAnswer { ask, events, stopped_at } in answers {
            let (_, last) = self.lanes[ask.lane].ids.ends(self.order);
            let (_, asked) = ask.ids.ends(self.order);
            self.known[ask.lane] = match stopped_at.unwrap_or(asked) {
                end if end == last => Known::All,
                end => Known::UpTo(end),
            };
            self.events.extend(events);
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
            Known::UpTo(id) => &self.events[..self.events_up_to(id)],
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
            Known::UpTo(id) => Some(id),
            Known::All => Some(self.end),
        };
        WaveEdge { frontier, cut: self.cut, more: self.known.iter().any(|known| *known != Known::All) }
    }

    /// The first `wanted` events, and how many more are known.
    pub(crate) fn into_events(mut self, wanted: usize) -> (Vec<T>, usize) {
        let rest = self.events.len().saturating_sub(wanted);
        self.events.truncate(wanted);
        (self.events, rest)
    }

    /// The part that is known of all lanes.
    fn frontier(&self) -> Known {
        let mut least = Known::All;
        for known in &self.known {
            least = match (least, *known) {
                (_, Known::Nothing) => return Known::Nothing,
                (least, Known::All) => least,
                (Known::UpTo(least), Known::UpTo(id)) if self.rank(least) < self.rank(id) => {
                    Known::UpTo(least)
                }
                (_, Known::UpTo(id)) => Known::UpTo(id),
            };
        }
        least
    }

    fn events_up_to(&self, id: EventId) -> usize {
        let rank = self.rank(id);
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
    match order {
        Order::NewestFirst => EventId::first_of(bucket.first()),
        Order::OldestFirst => EventId::last_of(bucket.last()),
    }
}

#[cfg(test)]
mod tests;
