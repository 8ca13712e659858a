//! The window of a live timeline: which events of a look are new, and up to where all events are known. Pure.
//!
//! Events that are older than some seconds have *settled*: no further event lands before them, except late ones. The
//! window is everything behind the settled position. A follower reads the whole window with each look, so it sees an
//! event as soon as the event lands, also in front of events that it has seen. Each event is sent once.
//!
//! If more events land than one look takes, the window is *crowded*. Then only settled events are read and sent, in
//! order, until the rate falls.

use std::collections::BTreeSet;

use lately_keys::EventId;

use crate::latest::page::PageItem;
use crate::limits::{ASCENDING_LAG_MILLIS, WINDOW_EVENTS};
use crate::span::IdRange;

/// A position up to which all events are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SettledPosition {
    pub(super) id: EventId,
    /// True if the position comes from the clock. Otherwise it may be the id of an event, which not every caller may
    /// know.
    pub(super) is_public: bool,
}

impl SettledPosition {
    /// This position, or the end of the millisecond before it: a position that every caller may know.
    pub(super) fn public(self) -> EventId {
        match self.is_public {
            true => self.id,
            false => EventId::last_of(self.id.at().saturating_sub(1)),
        }
    }
}

#[derive(Debug)]
pub(super) struct LiveWindow {
    /// All events up to here have been sent.
    pub(super) settled: SettledPosition,
    /// The events behind the settled position that have been sent.
    early: BTreeSet<EventId>,
    pub(super) is_crowded: bool,
}

impl LiveWindow {
    pub(super) const fn new(settled: EventId) -> Self {
        let settled = SettledPosition { id: settled, is_public: true };
        Self { settled, early: BTreeSet::new(), is_crowded: false }
    }

    /// The ids to read with the next look; `None` if there is nothing to read yet. By the clock, all events up to `clock`
    /// have arrived, except late ones. No event has an id behind `newest`.
    pub(super) fn look(&self, clock: EventId, newest: EventId) -> Option<IdRange> {
        let newest = if self.is_crowded { clock } else { newest.max(clock) };
        IdRange::new(self.settled.id.just_after()?, newest)
    }

    /// Adds the events that a look at `clock` has found, oldest first. Returns those to send, in their order, and whether the
    /// next look need not wait. With `cut`, the look has found nothing behind that id.
    pub(super) fn absorb<T: PageItem>(
        &mut self,
        clock: EventId,
        mut events: Vec<T>,
        cut: Option<EventId>,
    ) -> (Vec<T>, bool) {
        let before = self.settled.id;
        let clock = clock.max(before);
        let settled = cut.map_or(clock, |cut| cut.min(clock)).max(before);
        let is_full = cut.is_some_and(|cut| cut > clock);
        let shows_early = !self.is_crowded && !is_full;
        let found = events.iter().filter(|event| event.id() <= settled).count();
        events.retain(|event| match event.id() {
            id if id <= settled => !self.early.contains(&id),
            id => shows_early && self.early.insert(id),
        });
        self.settled = SettledPosition { id: settled, is_public: settled == clock };
        self.early = settled.just_after().map(|behind| self.early.split_off(&behind)).unwrap_or_default();
        let has_more = cut.is_some_and(|cut| cut <= clock) && settled > before;
        self.is_crowded = match self.is_crowded {
            true => has_more || !is_sparse(found, before, settled),
            false => is_full,
        };
        (events, has_more)
    }
}

/// True if, at the rate of the events between two positions, half a window takes the events that have not settled.
fn is_sparse(found: usize, before: EventId, settled: EventId) -> bool {
    let millis = usize::try_from(settled.at().get().saturating_sub(before.at().get())).unwrap_or(usize::MAX);
    let lag = usize::try_from(ASCENDING_LAG_MILLIS).unwrap_or(usize::MAX);
    millis > 0 && found.saturating_mul(lag) / millis < WINDOW_EVENTS / 2
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use lately_keys::{Tick, UnixMillis};
    use proptest::prelude::*;

    use super::*;

    impl PageItem for EventId {
        fn id(&self) -> EventId {
            *self
        }
    }

    const START: u64 = 1_000_000;

    fn at(millis: u64) -> UnixMillis {
        UnixMillis::new(millis).unwrap()
    }

    fn id(millis: u64, low: u64) -> EventId {
        EventId::new(Tick::first_of(at(millis)), 0.into(), low)
    }

    fn line(now: u64) -> EventId {
        EventId::last_of(at(now - ASCENDING_LAG_MILLIS - 1))
    }

    /// The first `limit` events that have landed, of a look.
    fn read(
        landed: &BTreeMap<EventId, u64>,
        look: Option<IdRange>,
        now: u64,
        limit: usize,
    ) -> (Vec<EventId>, Option<EventId>) {
        let Some(IdRange { oldest, newest }) = look else { return (Vec::new(), None) };
        let found = landed.range(oldest..=newest).filter(|(_, landed)| **landed <= now).map(|(id, _)| *id);
        let found: Vec<_> = found.take(limit).collect();
        let cut = found.last().copied().filter(|_| found.len() == limit);
        (found, cut)
    }

    #[test]
    fn a_crowded_window_tells_settled_events_only_until_the_rate_falls() {
        let mut window = LiveWindow::new(line(START));
        let landed: BTreeMap<_, _> = (0..2_000).map(|n| (id(START + n, 1), START + n)).collect();
        let (mut messages, mut crowded) = (Vec::new(), 0);
        for now in (START..START + 20_000).step_by(100) {
            let look = window.look(line(now), EventId::last_of(at(now + 5_000)));
            let (found, cut) = read(&landed, look, now, WINDOW_EVENTS);
            let (news, _) = window.absorb(line(now), found, cut);
            crowded += usize::from(window.is_crowded);
            messages.extend(news);
        }
        assert!(crowded > 0 && !window.is_crowded, "{crowded}");
        assert_eq!(messages.len(), 2_000);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1_000))]

        /// Events land up to two seconds after their time, or before it if their writers' clocks are ahead. A reader
        /// looks at any times, and each look takes any number of events.
        #[test]
        fn each_event_is_told_once_and_settled_events_in_order(
            events in prop::collection::btree_map((0..8_000_u64, 0..9_u64), -4_000..2_000_i64, 0..120),
            looks in prop::collection::vec((1..1_500_u64, 1..60_usize), 5..60),
        ) {
            let landed: BTreeMap<EventId, u64> = events
                .iter()
                .map(|((after, low), late)| (id(START + after, *low), (START + after).saturating_add_signed(*late)))
                .collect();
            let mut window = LiveWindow::new(line(START - 1_000));
            let (mut messages, mut in_order) = (Vec::new(), Vec::new());
            let mut now = START - 1_000;
            // At the end, there is time for everything to settle.
            let rest = std::iter::repeat_n((1_000, 20), 40);
            for (pause, limit) in looks.into_iter().chain(rest) {
                now += pause;
                for _ in 0..200 {
                    let before = window.settled.id;
                    let look = window.look(line(now), EventId::last_of(at(now + 5_000)));
                    let (found, cut) = read(&landed, look, now, limit);
                    let (news, has_more) = window.absorb(line(now), found, cut);
                    let settled = window.settled.id;
                    prop_assert!(news.iter().all(|id| *id > before));
                    in_order.extend(news.iter().copied().filter(|id| *id <= settled));
                    messages.extend(news);
                    prop_assert!(settled >= before && settled <= line(now).max(before));
                    // Everything up to the settled position has been sent.
                    let known = landed.range(..=settled).filter(|(id, _)| !messages.contains(id));
                    prop_assert_eq!(known.count(), 0);
                    if !has_more {
                        break;
                    }
                }
            }
            prop_assert!(in_order.is_sorted());
            let mut once = messages.clone();
            once.sort();
            once.dedup();
            prop_assert_eq!(once.len(), messages.len());
            prop_assert_eq!(once, landed.into_keys().collect::<Vec<_>>());
        }
    }
}
