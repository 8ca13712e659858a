//! The part of a quota that one process remembers: its lease, what it has made of it, and how long it refuses. Pure.
//!
//! All times are slots of the wall clock. A process may be frozen between two requests, and its wall clock may be set
//! back: so a lease and a refusal count only between their begin and their end.

use crate::limits::{QUOTA_DEMAND_SLOTS, QUOTA_WINDOW_SLOTS};
use crate::quota::window::{QuotaWindow, Slot};

/// The memory of one process about a quota.
#[derive(Debug, Default)]
pub(super) struct Holding {
    lease: Option<QuotaLease>,
    /// The version of the item that this process put last.
    version: Option<u64>,
    /// The room that the item had left then.
    room: u32,
    refusal: Option<Refusal>,
    /// When the item had too little room last.
    full: Option<Slot>,
    demand: Demand,
}

/// Requests that the process may make without a call.
#[derive(Debug)]
pub(super) struct QuotaLease {
    since: Slot,
    /// The last slot in which they may be made, and in which the item has them.
    ends: Slot,
    left: u32,
    /// The requests that the item has in the slot `ends`.
    booked: u32,
    /// The requests that were made, by slot.
    made: Vec<(Slot, u32)>,
}

impl QuotaLease {
    pub(super) const fn new(since: Slot, ends: Slot, left: u32) -> Self {
        Self { since, ends, left, booked: left, made: Vec::new() }
    }

    fn is_valid(&self, now: Slot) -> bool {
        (self.since..=self.ends).contains(&now)
    }
}

/// A time in which the process refuses without a call.
#[derive(Clone, Copy, Debug)]
struct Refusal {
    since: Slot,
    /// The item is not looked at before.
    next_look: Slot,
    /// There is not enough room before.
    until: Slot,
    /// Smaller requests than this may still fit.
    needed: u32,
}

/// The requests that the process was asked for, in two periods of some seconds.
#[derive(Debug, Default)]
struct Demand {
    since: Slot,
    now: u32,
    before: u32,
}

impl Holding {
    /// Notes that the process is asked for so many requests.
    pub(super) fn ask(&mut self, now: Slot, count: u32) {
        let Demand { since, now: current, before } = &mut self.demand;
        match now.checked_sub(*since) {
            Some(passed) if passed < QUOTA_DEMAND_SLOTS => {}
            Some(passed) if passed < 2 * QUOTA_DEMAND_SLOTS => {
                (*since, *before, *current) = (*since + QUOTA_DEMAND_SLOTS, *current, 0);
            }
            _ => (*since, *before, *current) = (now, 0, 0),
        }
        *current = current.saturating_add(count);
    }

    /// The requests that the process is asked for in some seconds.
    pub(super) fn demand(&self) -> u32 {
        self.demand.now.max(self.demand.before)
    }

    /// Spends from the lease, if it has so many.
    pub(super) fn spend(&mut self, now: Slot, count: u32) -> bool {
        let valid = self.lease.as_mut().filter(|lease| lease.is_valid(now) && lease.left >= count);
        let Some(lease) = valid else { return false };
        lease.left -= count;
        match lease.made.last_mut() {
            Some((slot, made)) if *slot == now => *made += count,
            _ => lease.made.push((now, count)),
        }
        true
    }

    /// Takes back what was spent last, unless it was made when the lease was.
    pub(super) fn give_back(&mut self, count: u32) {
        let Some(lease) = &mut self.lease else { return };
        if let Some((_, made)) = lease.made.last_mut().filter(|(_, made)| *made >= count) {
            *made -= count;
            lease.left += count;
        }
    }

    pub(super) fn remaining(&self, now: Slot) -> u32 {
        let left = self.lease.as_ref().filter(|lease| lease.is_valid(now)).map_or(0, |lease| lease.left);
        left.saturating_add(self.room)
    }

    /// Refuses requests of this size and larger ones until a slot. The item is looked at again before, because other
    /// processes may return what they do not need.
    pub(super) fn refuse(&mut self, now: Slot, next_look: Slot, until: Slot, needed: u32) {
        self.refusal = Some(Refusal { since: now, next_look, until, needed });
        self.room = 0;
    }

    /// Notes that the item has too little room.
    pub(super) fn note_full(&mut self, now: Slot) {
        self.full = Some(now);
    }

    /// True if the item had too little room within the time of a window.
    pub(super) fn is_patient(&self, now: Slot) -> bool {
        let passed = self.full.and_then(|full| now.checked_sub(full));
        passed.is_some_and(|passed| passed < QUOTA_WINDOW_SLOTS)
    }

    /// The slot until which a request of this size is refused without a call.
    pub(super) fn refused_until(&self, now: Slot, count: u32) -> Option<Slot> {
        let Refusal { since, next_look, until, needed } = self.refusal?;
        (count >= needed && (since..next_look).contains(&now)).then_some(until)
    }

    /// True if this process put this version of the item.
    pub(super) fn wrote(&self, version: Option<u64>) -> bool {
        version.is_some() && self.version == version
    }

    /// True if the item does not have the lease as it is now.
    pub(super) fn has_news(&self, now: Slot) -> bool {
        self.lease.as_ref().is_some_and(|lease| !lease.made.is_empty() || !lease.is_valid(now))
    }

    /// Books the lease's requests in the slots in which they were made, and takes the booking of the whole lease back.
    /// Returns the rest, which the caller books again: nothing if the lease has ended.
    pub(super) fn settle(&self, window: &mut QuotaWindow, now: Slot) -> u32 {
        let Some(lease) = &self.lease else { return 0 };
        window.unbook(lease.ends, lease.booked);
        lease.made.iter().for_each(|(slot, count)| window.book_if_it_counts(*slot, *count, now));
        if lease.is_valid(now) { lease.left } else { 0 }
    }

    pub(super) fn drop_lease(&mut self) -> Option<QuotaLease> {
        self.lease.take()
    }

    pub(super) fn hold_again(&mut self, lease: Option<QuotaLease>) {
        self.lease = lease;
    }

    /// Holds a lease that this version of the item has booked.
    pub(super) fn hold(&mut self, lease: QuotaLease, version: u64, room: u32) {
        (self.lease, self.version, self.room) = (Some(lease), Some(version), room);
    }

    /// Holds a lease that the item does not know.
    pub(super) fn hold_unbooked(&mut self, lease: QuotaLease) {
        self.lease = Some(QuotaLease { booked: 0, ..lease });
    }
}
