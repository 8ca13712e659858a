//! The price of operations, as DynamoDB reports it.

use std::fmt;
use std::ops::AddAssign;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use aws_sdk_dynamodb::types::ConsumedCapacity;

/// The cost of an operation: its calls, its units, and the items and rounds of its reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Calls to DynamoDB, each attempt counted.
    pub calls: u64,
    /// Read units.
    pub read_units: Units,
    /// Write units.
    pub write_units: Units,
    /// Items that reads returned, or that filtering reads looked at.
    pub items: u64,
    /// Rounds of parallel queries.
    pub rounds: u64,
}

impl Cost {
    /// The cost of a read, in the form of the `Lately-Cost` header.
    pub fn of_read(&self) -> String {
        let Self { calls, read_units, items, rounds, .. } = self;
        format!("read_units={read_units}, calls={calls}, items={items}, rounds={rounds}")
    }

    /// The cost of a write, in the form of the `Lately-Cost` header.
    pub fn of_write(&self) -> String {
        format!("write_units={}, calls={}", self.write_units, self.calls)
    }
}

impl AddAssign for Cost {
    fn add_assign(&mut self, other: Self) {
        self.calls += other.calls;
        self.read_units.halves += other.read_units.halves;
        self.write_units.halves += other.write_units.halves;
        self.items += other.items;
        self.rounds += other.rounds;
    }
}

/// Capacity units, counted in halves: an eventually consistent read of up to 4 KB is half a unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Units {
    /// The number of half units.
    pub halves: u64,
}

impl Units {
    /// The units that DynamoDB reports.
    pub(crate) fn of<'a>(capacity: impl IntoIterator<Item = &'a ConsumedCapacity>) -> Self {
        Self { halves: halves(capacity) }
    }
}

impl fmt::Display for Units {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.halves / 2, self.halves % 2 * 5)
    }
}

/// The work of many operations since the tally was last read, failed operations included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// The cost of these operations.
    pub cost: Cost,
    /// Calls that DynamoDB throttled and that were retried.
    pub throttles: u64,
    /// Calls that DynamoDB throttled when no time or no attempt remained.
    pub throttles_given_up: u64,
    /// Buckets whose shards were doubled.
    pub shards_doubled: u64,
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.cost += other.cost;
        self.throttles += other.throttles;
        self.throttles_given_up += other.throttles_given_up;
        self.shards_doubled += other.shards_doubled;
    }
}

/// Adds up the cost of an operation whose calls run in parallel.
///
/// A meter can be part of another: when the meter is dropped, the other adds its figures.
#[derive(Debug, Default)]
pub struct Meter {
    whole: Option<Arc<Meter>>,
    tally: Mutex<Tally>,
}

impl Meter {
    /// A meter whose figures are added to `whole` when the meter is dropped.
    pub(crate) fn part_of(whole: Arc<Self>) -> Self {
        Self { whole: Some(whole), tally: Mutex::default() }
    }

    fn tally(&self) -> MutexGuard<'_, Tally> {
        self.tally.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn call(&self) {
        self.tally().cost.calls += 1;
    }

    pub(crate) fn read<'a>(&self, capacity: impl IntoIterator<Item = &'a ConsumedCapacity>) {
        self.tally().cost.read_units.halves += halves(capacity);
    }

    pub(crate) fn write<'a>(&self, capacity: impl IntoIterator<Item = &'a ConsumedCapacity>) {
        self.tally().cost.write_units.halves += halves(capacity);
    }

    /// Counts items that were read.
    pub fn items(&self, items: usize) {
        self.tally().cost.items += items as u64;
    }

    /// Counts a round of parallel queries.
    pub fn round(&self) {
        self.tally().cost.rounds += 1;
    }

    /// Counts a throttled call, either as given up or as retried.
    pub fn throttled(&self, given_up: bool) {
        let mut tally = self.tally();
        if given_up { tally.throttles_given_up += 1 } else { tally.throttles += 1 }
    }

    /// Counts a bucket whose shards were doubled.
    pub fn shards_doubled(&self) {
        self.tally().shards_doubled += 1;
    }

    /// Returns the figures so far, and starts again at zero.
    pub(crate) fn take(&self) -> Tally {
        std::mem::take(&mut *self.tally())
    }

    /// The read units so far, rounded down.
    pub fn read_units(&self) -> u64 {
        self.tally().cost.read_units.halves / 2
    }

    /// The cost so far.
    pub fn total(&self) -> Cost {
        self.tally().cost
    }
}

impl Drop for Meter {
    fn drop(&mut self) {
        if let Some(whole) = &self.whole {
            *whole.tally() += self.take();
        }
    }
}

/// DynamoDB bills in half units and reports them as a float, which holds them exactly.
fn halves<'a>(capacity: impl IntoIterator<Item = &'a ConsumedCapacity>) -> u64 {
    let units: f64 = capacity.into_iter().filter_map(ConsumedCapacity::capacity_units).sum();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a small count of halves")]
    let halves = (units.max(0.0) * 2.0).round() as u64;
    halves
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_written_with_one_decimal() {
        let text = |halves| Units { halves }.to_string();
        assert_eq!([text(0), text(1), text(2), text(9)], ["0.0", "0.5", "1.0", "4.5"]);
    }

    #[test]
    fn the_header_has_the_form_of_the_contract() {
        let meter = Meter::default();
        let reported = ConsumedCapacity::builder().capacity_units(4.5).build();
        (0..9).for_each(|_| meter.call());
        meter.read([&reported]);
        meter.items(58);
        meter.round();
        assert_eq!(meter.total().of_read(), "read_units=4.5, calls=9, items=58, rounds=1");
        meter.write([&reported, &reported]);
        assert_eq!(meter.total().of_write(), "write_units=9.0, calls=9");
    }

    #[test]
    fn a_tally_is_read_once() {
        let (all, one) = (Meter::default(), Meter::default());
        one.call();
        one.items(3);
        one.throttled(false);
        one.throttled(true);
        one.shards_doubled();
        *all.tally() += *one.tally();
        *all.tally() += *one.tally();
        let cost = Cost { calls: 2, items: 6, ..Cost::default() };
        assert_eq!(all.take(), Tally { cost, throttles: 2, throttles_given_up: 2, shards_doubled: 2 });
        assert_eq!(all.take(), Tally::default());
    }
}
