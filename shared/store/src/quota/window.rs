//! The item of a quota: the requests that were booked, by time. Pure.
//!
//! ```text
//! QUOTA#{holder}#{writes|reads} / same
//!   from N (a slot: seconds since 1970 / 2), booked S ("12,0,3": in this slot, the next, …), version N (random),
//!   expires_at N
//! ```
//!
//! A lease is booked in the last slot in which it may be spent. Once its process tells how much was spent when, the
//! requests are booked in the slots in which they were made, and the rest is returned. So every request is booked in its
//! own slot or in a later one, and the sum of all slots that overlap a minute is never less than its requests.

use lately_keys::table::QuotaKey;
use lately_model::RequestsPerMinute;
use lately_table::{Corrupt, Item};

use crate::limits::{QUOTA_LEASE_SLOTS, QUOTA_SLOT_SECONDS, QUOTA_STRAY_SLOTS, QUOTA_WINDOW_SLOTS};

/// A number of whole slots since 1970, by the clock of one process.
pub(super) type Slot = u64;

/// The requests that are booked in the slots of a window.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct QuotaWindow {
    from: Slot,
    booked: Vec<u32>,
}

/// The question of a process to a window.
#[derive(Clone, Copy, Debug)]
pub(super) struct Claim {
    pub(super) limit: RequestsPerMinute,
    /// The requests that the process must be given, or else it refuses one.
    pub(super) needed: u32,
    /// The requests that the process has been asked for in some seconds.
    pub(super) demand: u32,
    /// True if the window was full lately. The process then waits until there is room for a large lease, because each
    /// lease has a price. Before that, it takes what is left.
    pub(super) is_patient: bool,
    /// True if no other process has booked since this one did.
    pub(super) is_alone: bool,
}

/// A window's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// So many requests may be made.
    Lease(u32),
    /// There is not enough room before this slot.
    NotBefore(Slot),
}

/// The requests that a window holds: 110 % of the limit. A window is 107 % of a minute, so a caller that asks for its
/// limit gets most of it, although leases wait to be spent.
pub(super) const fn capacity(limit: RequestsPerMinute) -> u32 {
    limit.get() + limit.get() / 10
}

/// The size of a large lease: a tenth of the window.
pub(super) const fn large_lease(limit: RequestsPerMinute) -> u32 {
    if limit.get() < 10 { 1 } else { capacity(limit) / 10 }
}

impl QuotaWindow {
    /// The window of an item, at this time. Older slots no longer count. Slots that lie further ahead than any lease
    /// come from a clock that is wrong, and do not count either.
    pub(super) fn decode(item: &Item, now: Slot) -> Result<Self, Corrupt> {
        let from: Slot = item.number("from")?;
        let counts = (from..).zip(item.text("booked")?.split(','));
        let mut window = Self::default();
        for (slot, count) in counts {
            let count = count.parse().map_err(|_| item.corrupt("booked"))?;
            if slot <= now + QUOTA_LEASE_SLOTS + QUOTA_STRAY_SLOTS {
                window.book_if_it_counts(slot, count, now);
            }
        }
        Ok(window)
    }

    pub(super) fn encode(&self, key: &QuotaKey, version: u64) -> Item {
        let booked: Vec<_> = self.booked.iter().map(ToString::to_string).collect();
        let last = self.from + self.booked.len() as u64;
        Item::at(key)
            .with("from", self.from)
            .with("booked", booked.join(","))
            .with("version", version)
            .with("expires_at", (last + QUOTA_WINDOW_SLOTS) * QUOTA_SLOT_SECONDS)
    }

    /// The sum of all slots.
    pub(super) fn total(&self) -> u32 {
        self.booked.iter().fold(0, |sum, count| sum.saturating_add(*count))
    }

    /// Books requests, unless their slot is too old to count.
    pub(super) fn book_if_it_counts(&mut self, slot: Slot, count: u32, now: Slot) {
        if slot.saturating_add(QUOTA_WINDOW_SLOTS) > now {
            self.book(slot, count);
        }
    }

    pub(super) fn book(&mut self, slot: Slot, count: u32) {
        if count == 0 {
            return;
        }
        if self.booked.is_empty() {
            self.from = slot;
        }
        while slot < self.from {
            self.booked.insert(0, 0);
            self.from -= 1;
        }
        let index = usize::try_from(slot - self.from).unwrap_or(usize::MAX);
        if self.booked.len() <= index {
            self.booked.resize(index + 1, 0);
        }
        self.booked[index] = self.booked[index].saturating_add(count);
    }

    /// Takes a booking back, if its slot still counts.
    pub(super) fn unbook(&mut self, slot: Slot, count: u32) {
        let index = slot.checked_sub(self.from).and_then(|index| usize::try_from(index).ok());
        if let Some(booked) = index.and_then(|index| self.booked.get_mut(index)) {
            *booked = booked.saturating_sub(count);
        }
    }

    /// Decides about a lease.
    ///
    /// A process is given what it is asked for in some seconds. So what processes hold together is a small part of the
    /// limit, and a process with many requests needs few leases. While there is room, a lease may be larger: a process
    /// that is alone gets up to half of the room, and one of several gets little.
    pub(super) fn decide(&self, ask: &Claim) -> Answer {
        let Claim { limit, needed, demand, is_patient, is_alone } = *ask;
        let room = capacity(limit).saturating_sub(self.total());
        let most = large_lease(limit);
        let wanted = needed.max(demand.min(most));
        let least = if is_patient { wanted } else { needed };
        if room < least {
            return Answer::NotBefore(self.room_at(capacity(limit).saturating_sub(wanted)));
        }
        let share = if is_alone { room / 2 } else { room / 32 };
        let demand = demand.min(most + most / 2);
        Answer::Lease(wanted.max(demand).max(share.min(most)).min(room))
    }

    /// The slot from which on no more than this is booked.
    fn room_at(&self, most: u32) -> Slot {
        let mut left = self.total();
        for (slot, count) in (self.from..).zip(&self.booked) {
            left -= count;
            if left <= most {
                return slot + QUOTA_WINDOW_SLOTS;
            }
        }
        self.from
    }
}

#[cfg(test)]
mod tests {
    use lately_keys::table::{QuotaHolder, QuotaKind};
    use proptest::prelude::*;

    use super::*;

    const NOW: Slot = 900_000_000;

    fn limit(number: u32) -> RequestsPerMinute {
        RequestsPerMinute::new(number).unwrap()
    }

    fn key() -> QuotaKey {
        let holder = QuotaHolder::Session("0190a4cd-d3e7-7222-9f99-fdb74feee752".parse().unwrap());
        QuotaKey { holder, kind: QuotaKind::Writes }
    }

    fn window(booked: &[(Slot, u32)]) -> QuotaWindow {
        let mut window = QuotaWindow::default();
        booked.iter().for_each(|(slot, count)| window.book(*slot, *count));
        window
    }

    #[test]
    fn golden_bytes() {
        let window = window(&[(NOW, 12), (NOW + 2, 3)]);
        let expected = Item::from([
            ("pk", "QUOTA#session:0190a4cd-d3e7-7222-9f99-fdb74feee752#writes"),
            ("sk", "QUOTA#session:0190a4cd-d3e7-7222-9f99-fdb74feee752#writes"),
            ("booked", "12,0,3"),
        ]);
        let expected =
            expected.with("from", NOW).with("version", 7_u64).with("expires_at", 1_800_000_070_u64);
        assert_eq!(window.encode(&key(), 7), expected);
        assert_eq!(QuotaWindow::decode(&expected, NOW), Ok(window));
        assert!(QuotaWindow::decode(&Item::from([("booked", "1,,2")]).with("from", NOW), NOW).is_err());
    }

    #[test]
    fn slots_count_for_32_slots_and_strays_never() {
        let item = window(&[(NOW - 32, 1), (NOW - 31, 2), (NOW, 4), (NOW + 60, 8), (NOW + 61, 16)]);
        let item = item.encode(&key(), 7);
        assert_eq!(QuotaWindow::decode(&item, NOW).unwrap().total(), 2 + 4 + 8);
    }

    #[test]
    fn the_largest_item_is_one_write_unit() {
        // A hundred thousand and more requests, booked in each slot that can count.
        let slots = QUOTA_WINDOW_SLOTS + QUOTA_LEASE_SLOTS + QUOTA_STRAY_SLOTS;
        let full: Vec<_> = (0..slots).map(|slot| (NOW + slot, 9_999)).collect();
        let holder = QuotaHolder::of_jwt("n".repeat(128).parse().unwrap(), "");
        let item = window(&full).encode(&QuotaKey { holder, kind: QuotaKind::Writes }, u64::MAX);
        assert!(item.stored_bytes() <= 1024, "{}", item.stored_bytes());
    }

    #[test]
    fn a_lease_follows_demand_and_room() {
        let ask =
            |demand, is_alone| Claim { limit: limit(1_000), needed: 1, demand, is_patient: true, is_alone };
        let empty = QuotaWindow::default();
        assert_eq!(empty.decide(&ask(1, true)), Answer::Lease(110), "a tenth of the window");
        assert_eq!(empty.decide(&ask(1, false)), Answer::Lease(1_100 / 32));
        assert_eq!(empty.decide(&ask(70, false)), Answer::Lease(70));
        assert_eq!(empty.decide(&ask(700, false)), Answer::Lease(165));
        let batch = Claim { needed: 500, ..ask(500, false) };
        assert_eq!(empty.decide(&batch), Answer::Lease(500));
        let nearly_full = window(&[(NOW - 30, 20), (NOW - 1, 1_030)]);
        assert_eq!(nearly_full.decide(&ask(40, true)), Answer::Lease(40));
        assert_eq!(nearly_full.decide(&ask(60, true)), Answer::NotBefore(NOW + 2));
        assert_eq!(nearly_full.decide(&batch), Answer::NotBefore(NOW + 31));
        let impatient = Claim { is_patient: false, ..ask(60, true) };
        assert_eq!(nearly_full.decide(&impatient), Answer::Lease(50), "all that is left");
    }

    proptest! {
        #[test]
        fn a_decision_never_exceeds_the_window_and_its_delay_suffices(
            booked in prop::collection::vec((NOW - 31..NOW + 30, 0..50_u32), 0..20),
            number in 1..1_000_u32,
            needed in 1..100_u32,
            demand in 0..2_000_u32,
            is_patient: bool,
            is_alone: bool,
        ) {
            let limit = limit(number);
            let needed = needed.min(number);
            let window = window(&booked);
            let ask = Claim { limit, needed, demand, is_patient, is_alone };
            match window.decide(&ask) {
                Answer::Lease(count) => {
                    prop_assert!(count >= needed && window.total() + count <= capacity(limit));
                }
                Answer::NotBefore(slot) => {
                    let item = window.encode(&key(), 7);
                    let at = |now| QuotaWindow::decode(&item, now).unwrap().decide(&ask);
                    prop_assert!(matches!(at(slot), Answer::Lease(_)));
                    prop_assert!(!is_patient || matches!(at(slot - 1), Answer::NotBefore(_)));
                }
            }
        }
    }
}
