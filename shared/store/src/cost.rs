//! What an operation cost, as DynamoDB reported it.

use std::fmt;
use std::ops::AddAssign;
use std::sync::atomic::{AtomicU64, Ordering};

use aws_sdk_dynamodb::types::ConsumedCapacity;

/// What an operation cost: calls, units, and how it went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Calls to DynamoDB, each attempt counted.
    pub calls: u64,
    /// Read units.
    pub read_units: Units,
    /// Write units.
    pub write_units: Units,
    /// Items that reads returned, or looked at where they filter.
    pub items: u64,
    /// Rounds of parallel queries.
    pub rounds: u64,
}

impl Cost {
    /// The cost of a read, as the `Lately-Cost` header says it.
    #[must_use]
    pub fn of_read(&self) -> String {
        let Self { calls, read_units, items, rounds, .. } = self;
        format!("read_units={read_units}, calls={calls}, items={items}, rounds={rounds}")
    }

    /// The cost of a write, as the `Lately-Cost` header says it.
    #[must_use]
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

impl fmt::Display for Units {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.halves / 2, self.halves % 2 * 5)
    }
}

/// Adds up the cost of an operation whose calls run at once.
#[derive(Debug, Default)]
pub(crate) struct Meter {
    calls: AtomicU64,
    read_halves: AtomicU64,
    write_halves: AtomicU64,
    items: AtomicU64,
    rounds: AtomicU64,
}

impl Meter {
    pub(crate) fn call(&self) {
        self.calls.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn read<'a>(&self, capacity: impl IntoIterator<Item = &'a ConsumedCapacity>) {
        self.read_halves.fetch_add(halves(capacity), Ordering::Relaxed);
    }

    pub(crate) fn write<'a>(&self, capacity: impl IntoIterator<Item = &'a ConsumedCapacity>) {
        self.write_halves.fetch_add(halves(capacity), Ordering::Relaxed);
    }

    pub(crate) fn items(&self, items: usize) {
        self.items.fetch_add(items as u64, Ordering::Relaxed);
    }

    pub(crate) fn round(&self) {
        self.rounds.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn total(&self) -> Cost {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Cost {
            calls: read(&self.calls),
            read_units: Units { halves: read(&self.read_halves) },
            write_units: Units { halves: read(&self.write_halves) },
            items: read(&self.items),
            rounds: read(&self.rounds),
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
    fn the_header_says_what_the_contract_says() {
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
}
