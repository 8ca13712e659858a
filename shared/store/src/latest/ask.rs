//! The number of events to ask each shard for at first. Pure.
//!
//! Chance spreads the latest N events over S shards: the number of events in one shard is binomial, N tries at 1/S.
//! Asking each shard for N events is safe and costs S pages. Asking for N/S is cheap, but often not enough, and each
//! shard that must be asked again costs at least another half unit. Between the two lies the number with the least
//! expected cost. DynamoDB bills whole units of 4 KB, so that number fills whole units.

/// The size of a unit in which DynamoDB bills reads.
const UNIT_BYTES: u32 = 4096;

/// The number of events to ask each of `shards` shards for, to find the latest `wanted` events.
///
/// The number with the fewest expected read units wins; among these, the one with the fewest queries; among these, the
/// smallest.
pub(super) fn first_ask(wanted: u32, shards: u32, event_bytes: u32) -> u32 {
    let event_bytes = event_bytes.max(1);
    let per_unit = unit_of(event_bytes);
    if shards <= 1 {
        return wanted;
    }
    let chances = chances(wanted, shards);
    // A shard that returns as many events as it was asked for must be asked again, because it may hold more.
    let cost = |ask: u32| {
        let held = (0..=wanted).zip(&chances).skip(ask as usize).filter(|_| ask < wanted);
        let (more, again) = held.fold((0.0, 0.0), |(more, again), (held, chance)| {
            (more + chance * f64::from(units(held - ask, event_bytes)), again + chance)
        });
        (f64::from(units(ask, event_bytes)) + more, again)
    };
    // All shards together must return enough, or every one of them would be asked again.
    let fewest = wanted.div_ceil(shards).div_ceil(per_unit);
    let most = wanted.div_ceil(per_unit);
    let mut best = (wanted, cost(wanted));
    for ask in (fewest..=most).rev().map(|filled| (filled * per_unit).min(wanted)) {
        let cost = cost(ask);
        if cost <= best.1 {
            best = (ask, cost);
        }
    }
    best.0
}

/// The number of events in one unit. A larger event takes one unit of its own, or several.
pub(crate) fn unit_of(event_bytes: u32) -> u32 {
    (UNIT_BYTES / event_bytes.max(1)).max(1)
}

/// The units that reading this many events costs.
fn units(events: u32, event_bytes: u32) -> u32 {
    events.saturating_mul(event_bytes).div_ceil(UNIT_BYTES).max(1)
}

/// For each x, the probability that a shard holds x of the wanted events.
fn chances(wanted: u32, shards: u32) -> Vec<f64> {
    let here = 1.0 / f64::from(shards);
    let odds = here / (1.0 - here);
    let mut chance = (1.0 - here).powf(f64::from(wanted));
    let mut of_holding = vec![chance];
    for held in 1..=wanted {
        chance *= odds * f64::from(wanted - held + 1) / f64::from(held);
        of_holding.push(chance);
    }
    of_holding
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
