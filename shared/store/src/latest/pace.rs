//! The pace of a topic's events, and how far the next round of a page looks. Pure.
//!
//! A shard holds the events of its slices of time. So a round asks only the shards whose slices lie within the *reach*:
//! the time in which the topic is expected to have written the missing events. We estimate this time from the rate of
//! the last page, or of the events found so far. A reach that was too short costs a further round; a reach that was too
//! long costs read units.
//!
//! If nobody can say which shards hold the events, chance spreads the latest N events over S shards. Then each shard is
//! asked for N/S events, rounded up to whole units of 4 KB, in which DynamoDB bills reads. A shard that holds more is asked
//! again. To ask each shard for a unit more at first would never cost less: a shard pays for that unit in any case, and
//! spares no more than one.

use lately_keys::{EventId, EventType, Order, ShardCount, Tick, Topic};

/// The events of a topic, or those of one type.
pub(crate) type PaceName = (Topic, Option<EventType>);

/// The pace of events, as a page found it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Pace {
    /// The number of events in a tick.
    pub(crate) per_tick: f64,
    /// The age of the newest event, in ticks.
    pub(crate) lag: u64,
}

/// The ticks in which each shard has one slice: 512 ms.
const CYCLE: u64 = ShardCount::ONE.slice_ticks();

/// Safety factor: we count on only 80 % of the events expected before this slice.
const SURE: f64 = 0.8;

/// Each round looks at least this many times as far as the rounds before it.
const FURTHER: u64 = 3;

/// The most writes that a shard takes in a tick: 1,000 a second.
const WRITES_PER_TICK: f64 = 1.0 / 4_096.0;

/// The fewest events from which a pace is estimated.
const TELLING: usize = 4;

/// The size of a unit in which DynamoDB bills reads.
const UNIT_BYTES: u32 = 4096;

/// The number of events in one unit. A larger event takes one unit of its own, or several.
pub(crate) fn unit_of(event_bytes: u32) -> u32 {
    (UNIT_BYTES / event_bytes.max(1)).max(1)
}

/// The number of events to ask each of some shards for at first, to find the latest `wanted` events.
fn first_ask(wanted: u32, shards: u32, event_bytes: u32) -> u32 {
    let unit = unit_of(event_bytes);
    wanted.div_ceil(shards).next_multiple_of(unit).min(wanted)
}

/// The time that a round looks at, and the number of events that it looks for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reach {
    page: PageState,
    per_tick: Option<f64>,
    /// The time in which the topic is expected to have written the missing events, in ticks.
    expected: Option<u64>,
    /// True if nobody knows where the first event lies.
    seeks: bool,
    /// The time that the round looks at, in ticks.
    span: u64,
}

/// The state of a page when a round begins.
#[derive(Clone, Copy, Debug)]
pub(super) struct PageState {
    pub(super) order: Order,
    /// The tick at which the page's wave began.
    pub(super) began: Tick,
    /// The tick up to which all lanes are known.
    pub(super) at: Tick,
    /// The tick from which on events are expected.
    pub(super) fresh: Tick,
    /// True if a round has been made.
    pub(super) is_begun: bool,
    /// The number of events in a tick as it is known from elsewhere.
    pub(super) per_tick: Option<f64>,
    /// The number of events that are missing.
    pub(super) missing: u32,
    /// The time of the last event that the page can take, if that is known.
    pub(super) tau: Option<Tick>,
    pub(super) event_bytes: u32,
}

impl Reach {
    /// The reach of the next round; `found` are the times of the events found so far, in the order of the walk. The pace
    /// ignores events older than the point that all shards have reached: only a few shards contributed them.
    pub(super) fn next(page: PageState, found: &[Tick], slice: u64) -> Self {
        let PageState { order, began, at, fresh, is_begun, per_tick, missing, tau, .. } = page;
        let first = found.first().copied();
        let seeks = is_begun && first.is_none_or(|first| distance(at, first, order) > 0);
        // The time before the first event says nothing about the time after it.
        let began = first.filter(|_| !seeks).map_or(began, |first| later(began, first, order));
        let looked = distance(began, at, order);
        let near = found.partition_point(|tick| distance(began, *tick, order) <= looked + slice);
        let per_tick = if is_begun { density(&found[..near], order).or(per_tick) } else { per_tick };
        // Events of one batch have almost the same time. They do not make a topic faster than its shards can be.
        let per_tick = per_tick.map(|per_tick| per_tick.min(as_f64(CYCLE / slice) * WRITES_PER_TICK));
        let expected = per_tick.map(|per_tick| ticks(f64::from(missing) / per_tick));
        let mut span = match (is_begun, expected) {
            (false, expected) => expected.unwrap_or(slice),
            (true, expected) => expected.unwrap_or(0).max(looked.saturating_mul(FURTHER)).max(slice),
        };
        if first.is_some_and(|first| distance(at, first, order) > CYCLE + slice) {
            // A shard had nothing in its last slice. The topic rests, and one round over all shards tells since when.
            span = span.max(CYCLE);
        }
        // The rest is near: one round suffices for it.
        if let Some(rest) = tau.map(|tau| distance(fresh, tau, order)).filter(|rest| *rest / 2 <= span) {
            span = span.max(rest);
        }
        Self { page, per_tick, expected, seeks, span }
    }

    /// True if a lane whose next slice starts at this tick is asked.
    pub(super) fn includes(&self, start: Tick) -> bool {
        distance(self.page.fresh, start, self.page.order) <= self.span
    }

    /// The next query to a lane that shares its time with `shards` lanes, from `start` to the end of its slice: the most
    /// events to look at, and the tick to stop at. `wanted` is the
    /// most events that can still matter. `is_first` is true if the lane was never asked.
    pub(super) fn ask(
        &self,
        shards: ShardCount,
        [start, end]: [Tick; 2],
        wanted: u32,
        is_first: bool,
    ) -> (u32, Option<Tick>) {
        let PageState { order, fresh, missing, event_bytes, .. } = self.page;
        let unit = unit_of(event_bytes);
        let whole = |limit: u32| (limit.min(wanted), None);
        if shards == ShardCount::ONE {
            return whole(wanted);
        }
        if self.seeks && (self.per_tick.is_none() || self.span >= CYCLE) {
            // The events that this unit finds tell the next round how many to ask for.
            return whole(unit);
        }
        let Some(per_tick) = self.per_tick.filter(|_| self.expected < Some(CYCLE)) else {
            return whole(if is_first {
                first_ask(missing, shards.get().into(), event_bytes)
            } else {
                wanted
            });
        };
        let events = |from: Tick, to: Tick| per_tick * as_f64(distance(from, to, order));
        let needed = f64::from(missing) - SURE * events(fresh, start);
        let held = events(later(fresh, start, order), end) / SURE;
        let units = ticks((needed.min(held) / f64::from(unit)).ceil()).max(1);
        let limit = u32::try_from(units).unwrap_or(u32::MAX).saturating_mul(unit);
        if limit <= unit {
            // The unit is paid for anyway, so it may come from further slices.
            return whole(unit);
        }
        let needed = ticks((needed / f64::from(unit)).ceil()).max(1);
        let limit = u32::try_from(needed).unwrap_or(u32::MAX).saturating_mul(unit);
        // A round over all shards looks as far as it can.
        (limit.min(wanted), Some(end).filter(|_| self.span < CYCLE))
    }
}

impl Pace {
    /// The pace of a page's events, in the order of the walk. `now` is given if the page begins with the newest event.
    pub(crate) fn of(
        first: EventId,
        last: EventId,
        events: usize,
        now: Option<Tick>,
        before: Option<Self>,
    ) -> Self {
        let (first, last) = (first.tick(), last.tick());
        let span = first.get().abs_diff(last.get()).max(1);
        let lag =
            now.map_or(before.map_or(0, |before| before.lag), |now| distance(now, first, Order::NewestFirst));
        Self { per_tick: as_f64(events.saturating_sub(1) as u64) / as_f64(span), lag }
    }
}

/// The pace of the densest events at the beginning. Later ones may have gaps where lanes are not known yet.
fn density(found: &[Tick], order: Order) -> Option<f64> {
    let mut densest: Option<f64> = None;
    let mut count = TELLING;
    while let (Some(first), Some(last)) = (found.first(), found.get(count - 1)) {
        let pace = as_f64(count as u64 - 1) / as_f64(distance(*first, *last, order).max(1));
        densest = Some(densest.map_or(pace, |densest| densest.max(pace)));
        count *= 2;
    }
    densest
}

/// The ticks from one to another in the order of a walk; 0 if the other does not lie behind.
fn distance(from: Tick, to: Tick, order: Order) -> u64 {
    let (newer, older) = order.pick((from, to), (to, from));
    newer.get().saturating_sub(older.get())
}

/// The one that a walk comes to later.
pub(super) fn later(one: Tick, other: Tick, order: Order) -> Tick {
    order.pick(one.min(other), one.max(other))
}

#[expect(clippy::cast_precision_loss, reason = "an estimate")]
const fn as_f64(number: u64) -> f64 {
    number as f64
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "an estimate, and the cast saturates"
)]
const fn ticks(number: f64) -> u64 {
    number as u64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn one_shard_is_asked_for_all() {
        assert_eq!(first_ask(50, 1, 512), 50);
    }

    #[test]
    fn asks_fill_whole_units() {
        let asks = |shards| [10, 50, 100].map(|wanted| first_ask(wanted, shards, 512));
        assert_eq!(asks(4), [8, 16, 32]);
        assert_eq!(asks(8), [8, 8, 16]);
        assert_eq!(asks(16), [8, 8, 8]);
        assert_eq!(asks(64), [8, 8, 8]);
    }

    #[test]
    fn large_events_are_asked_for_one_by_one() {
        assert!(first_ask(200, 64, 200_000) <= 16);
        assert_eq!(first_ask(1, 64, 400_000), 1);
    }

    proptest! {
        #[test]
        fn all_shards_together_return_enough_and_none_too_much(
            wanted in 1..=200_u32,
            shards in 0..=8_u32,
            event_bytes in 1..400_000_u32,
        ) {
            let shards = 1 << shards;
            let ask = first_ask(wanted, shards, event_bytes);
            prop_assert!(ask >= 1 && ask <= wanted);
            prop_assert!(ask * shards >= wanted);
        }
    }
}
