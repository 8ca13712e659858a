//! Offers a rate of writes to partitions that serve 1,000 write units a second, and counts the accepted writes of each
//! second and the refused ones. So the engine checks the modelled figures, in simulated time.
//!
//! The writers of a published design try once, since a retry would only wait for the same partition. Lately's writers
//! retry as usual, and a bucket with a hot key range meanwhile gets more shards.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jiff::SignedDuration;
use lately_designs::Design;
use lately_engine::{Options, PartitionLimits};
use lately_store::Submission;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::stage::{elsewhere, lately, of_design, timeline};
use super::workload::{Happening, Workload, later, offered};
use crate::topic::{QUIET, of_512_bytes};
use lately_rig::simulate;

/// The writes of one slot are sent at once.
const SLOT: SignedDuration = SignedDuration::from_millis(10);

/// The results of the writes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct OfferResult {
    /// The accepted writes, second by second.
    pub(super) by_second: Vec<u64>,
    /// The number of writes that were given up.
    pub(super) refused: u64,
}

impl OfferResult {
    fn new(seconds: u32) -> Self {
        Self { by_second: vec![0; seconds as usize], refused: 0 }
    }

    /// Counts a finished write. A write that is accepted after the last second is in no column.
    fn note(&mut self, begun: Instant, written: bool) {
        let second = usize::try_from(begun.elapsed().as_secs()).unwrap_or(usize::MAX);
        match (written, self.by_second.get_mut(second)) {
            (true, Some(second)) => *second += 1,
            (true, None) => {}
            (false, _) => self.refused += 1,
        }
    }
}

/// The offered writes, slot by slot.
fn slots(rate: u32, seconds: u32) -> impl Iterator<Item = Vec<Happening>> {
    let mut happenings = offered(rate, seconds).into_iter().peekable();
    let mut end = Workload::end();
    let last = later(end, SignedDuration::from_secs(seconds.into()));
    std::iter::from_fn(move || {
        end = later(end, SLOT);
        let slot = std::iter::from_fn(|| happenings.next_if(|happening| happening.at < end)).collect();
        (end <= last).then_some(slot)
    })
}

fn limited() -> Options {
    Options { partitions: Some(PartitionLimits::default()), ..Options::default() }
}

/// The writes that a published design accepts.
pub(super) fn to_published(design: &Design, rate: u32, seconds: u32) -> OfferResult {
    simulate(async {
        // A budget of zero leaves no time for a retry.
        let table = timeline(&elsewhere(design, limited(), Duration::ZERO), design.clone());
        let mut result = OfferResult::new(seconds);
        let begun = Instant::now();
        for slot in slots(rate, seconds) {
            for happening in slot {
                let written = table.write([of_design(design, happening)]).await;
                result.note(begun, written.is_ok());
            }
            tokio::time::sleep(SLOT.unsigned_abs()).await;
        }
        result
    })
}

/// The writes that Lately accepts, and the topic's shards at the end.
pub(super) fn to_lately(rate: u32, seconds: u32) -> (OfferResult, u16) {
    simulate(async {
        let bench = lately(QUIET, false, limited()).await;
        let result = Arc::new(Mutex::new(OfferResult::new(seconds)));
        let begun = Instant::now();
        let mut writers = JoinSet::new();
        for slot in slots(rate, seconds) {
            for _ in slot {
                let (store, topic, result) = (bench.store.clone(), bench.topic.clone(), Arc::clone(&result));
                writers.spawn(async move {
                    let events = vec![of_512_bytes()];
                    let write = Submission::new(events);
                    let written = store.op().topic(&topic).write(write).await.is_ok();
                    result.lock().unwrap_or_else(PoisonError::into_inner).note(begun, written);
                });
            }
            tokio::time::sleep(SLOT.unsigned_abs()).await;
        }
        while let Some(written) = writers.join_next().await {
            written.expect("a writer does not panic");
        }
        let view = bench.store.op().topic(&bench.topic).view().await.expect("the topic exists");
        let shards = view.buckets.first().map_or(1, |bucket| bucket.shards.get());
        let result = result.lock().unwrap_or_else(PoisonError::into_inner).clone();
        (result, shards)
    })
}
