//! Quotas: the writes and reads a minute that a caller may make, over all processes.
//!
//! A process leases a block of requests from the caller's item, and spends it without a call. `window.rs` has the item
//! and decides about leases; `holding.rs` is the part that a process remembers. docs/adr/0018-quotas.md says what
//! this promises and costs.
//!
//! The item is read, decided on, and put under the condition that nobody else has put it since. Each put is one attempt,
//! so a refused condition means that the put was not applied. If the outcome of a put is unknown, the process drops its
//! lease and tells nothing more about it: the lease stays booked, which is never too little.

mod holding;
mod window;

use std::sync::{Arc, Mutex, PoisonError};

use lately_keys::TableKey;
use lately_keys::table::QuotaKey;
use lately_model::RequestsPerMinute;
use lately_table::{Condition, Rounds, TableError, entropy_u64};
use tokio::time::timeout;

use crate::limits::{
    QUOTA_LEASE_SLOTS, QUOTA_OUTAGE_SLOTS, QUOTA_RETRY_SECONDS, QUOTA_SLOT_SECONDS,
    QUOTA_SLOTS_BETWEEN_LOOKS, QUOTA_TIMEOUT, QUOTAS_REMEMBERED,
};
use crate::op::Op;
use crate::quota::holding::{Holding, QuotaLease};
use crate::quota::window::{Answer, Claim, QuotaWindow, Slot, capacity, large_lease};

/// A quota, in one request.
#[derive(Clone, Copy, Debug)]
pub struct QuotaHandle<'a> {
    pub(crate) op: &'a Op,
    pub(crate) key: &'a QuotaKey,
    pub(crate) limit: RequestsPerMinute,
}

/// The caller has made as many requests as it may.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the caller is over its limit for {retry_after_seconds} s")]
pub struct OverQuota {
    /// The seconds after which the same request may be made if the caller makes no other: 1 to 60.
    pub retry_after_seconds: u32,
}

impl QuotaHandle<'_> {
    /// Takes permission for so many requests.
    ///
    /// If the item cannot be read or written, the process permits a tenth of the window for some seconds by itself. An
    /// outage of this item must not become an outage of the caller.
    ///
    /// # Errors
    /// If the caller is over its limit. Then nothing is taken.
    pub async fn take(self, count: u32) -> Result<(), OverQuota> {
        let shared = self.op.memory().quotas.of(self.key);
        let mut holding = shared.lock().await;
        let now = self.now();
        holding.ask(now, count);
        if holding.spend(now, count) {
            return Ok(());
        }
        if let Some(until) = holding.refused_until(now, count) {
            return Err(self.over(until));
        }
        match timeout(QUOTA_TIMEOUT, self.lease(&mut holding, count)).await {
            Ok(Ok(Answer::Lease(_))) => return Ok(()),
            Ok(Ok(Answer::NotBefore(slot))) => {
                let now = self.now();
                holding.refuse(now, slot.min(now + QUOTA_SLOTS_BETWEEN_LOOKS), slot, count);
                // A large batch may not fit although there is room.
                if count <= large_lease(self.limit) {
                    holding.note_full(now);
                }
                return Err(self.over(slot));
            }
            Ok(Err(error)) => self.permit_alone(&mut holding, &error),
            Err(_) => {
                let error = TableError::unavailable("a quota's item did not answer in time");
                self.permit_alone(&mut holding, &error);
            }
        }
        let now = self.now();
        if holding.spend(now, count) { Ok(()) } else { Err(self.over(now + QUOTA_OUTAGE_SLOTS)) }
    }

    /// Gives back permission that this request has taken and not used.
    pub async fn give_back(self, count: u32) {
        self.op.memory().quotas.of(self.key).lock().await.give_back(count);
    }

    /// The requests that the caller may make now, as far as this process knows.
    pub async fn remaining(self) -> u32 {
        self.op.memory().quotas.of(self.key).lock().await.remaining(self.now()).min(self.limit.get())
    }

    fn now(self) -> Slot {
        self.op.now().get() / 1000 / QUOTA_SLOT_SECONDS
    }

    fn over(self, until: Slot) -> OverQuota {
        let seconds = (until * QUOTA_SLOT_SECONDS * 1000).saturating_sub(self.op.now().get()).div_ceil(1000);
        let seconds = seconds.clamp(1, QUOTA_RETRY_SECONDS);
        OverQuota { retry_after_seconds: u32::try_from(seconds).unwrap_or(u32::MAX) }
    }

    /// Asks the item for so many requests, which are made at once, and for a lease. The process first tells the item what
    /// it has made of its last lease, also if it gets no other one: the rest is then free for other processes.
    async fn lease(self, holding: &mut Holding, count: u32) -> Result<Answer, TableError> {
        let table = &self.op.table;
        let mut rounds = Rounds::of(table, "a quota");
        loop {
            let item = table.get(self.key.encode()).await?;
            let now = self.now();
            let version: Option<u64> = item.as_ref().map(|item| item.number("version")).transpose()?;
            let window = item.as_ref().map(|item| QuotaWindow::decode(item, now)).transpose()?;
            let mut window = window.unwrap_or_default();
            let is_alone = window.total() == 0 || holding.wrote(version);
            let (kept, ends) = (holding.settle(&mut window, now), now + QUOTA_LEASE_SLOTS);
            window.book(ends, kept);
            let needed = count.saturating_sub(kept);
            let (demand, is_patient) = (holding.demand(), holding.is_patient(now));
            let answer = window.decide(&Claim { limit: self.limit, needed, demand, is_patient, is_alone });
            let left = match answer {
                Answer::Lease(leased) => {
                    if leased < demand.min(large_lease(self.limit)) {
                        holding.note_full(now);
                    }
                    let left = kept + leased - count;
                    window.unbook(ends, kept);
                    window.book(now, count);
                    window.book(ends, left);
                    left
                }
                // Without news, the item is left alone.
                Answer::NotBefore(_) if !holding.has_news(now) => return Ok(answer),
                Answer::NotBefore(_) => kept,
            };
            let known =
                version.map_or_else(Condition::no_item, |version| Condition::equals("version", version));
            let next = entropy_u64(table.ambient());
            // Until the put is known to be done or not, the process has no lease.
            let before = holding.drop_lease();
            if table.try_put_if(&window.encode(self.key, next), &known).await? {
                let room = capacity(self.limit).saturating_sub(window.total());
                holding.hold(QuotaLease::new(now, ends, left), next, room);
                return Ok(answer);
            }
            holding.hold_again(before);
            rounds.lose_and_pause().await?;
        }
    }

    fn permit_alone(self, holding: &mut Holding, error: &TableError) {
        tracing::warn!(%error, "a quota cannot be asked for: each process permits a tenth of its window for 6 s");
        let (now, ends) = (self.now(), self.now() + QUOTA_OUTAGE_SLOTS);
        holding.hold_unbooked(QuotaLease::new(now, ends - 1, large_lease(self.limit)));
        // Until then the item is not asked again, so an outage does not delay every request.
        holding.refuse(now, ends, ends, 0);
    }
}

/// The quotas that a process has asked for lately. The last one is the newest.
#[derive(Debug, Default)]
pub(crate) struct Quotas(Mutex<Vec<(QuotaKey, SharedHolding)>>);

/// Requests of one caller that run at the same time wait for the same lease.
type SharedHolding = Arc<tokio::sync::Mutex<Holding>>;

impl Quotas {
    fn of(&self, key: &QuotaKey) -> SharedHolding {
        let mut quotas = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = quotas.iter().rposition(|(known, _)| known == key).map(|index| quotas.remove(index));
        let quota = known.unwrap_or_else(|| (key.clone(), SharedHolding::default()));
        if quotas.len() >= QUOTAS_REMEMBERED {
            quotas.remove(0);
        }
        let holding = Arc::clone(&quota.1);
        quotas.push(quota);
        holding
    }
}
