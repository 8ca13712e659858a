//! The share of writes that go to the hottest partition, and the rate at which that partition throttles. Both are
//! modelled, without a table.
//!
//! A partition serves 1,000 write units a second. The model gives each partition key a partition of its own, since
//! DynamoDB splits a hot key's partition no further. So writes of one unit are throttled when the hottest partition
//! gets more than 1,000 of them a second. Its share is counted in one second of the burst.

use std::collections::HashMap;

use lately_engine::limits::PARTITION_WRITE_UNITS;
use lately_keys::ShardCount;
use lately_model::limits::MAX_SHARDS_DEFAULT;

use super::contender::Contender;
use super::workload::{Happening, offered};

/// The spread of writes over partitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Share {
    /// Writes that go to the hottest partition.
    pub(super) hottest: u64,
    /// All writes.
    pub(super) all: u64,
}

impl Share {
    fn of(partitions: impl Iterator<Item = String>) -> Self {
        let mut writes: HashMap<String, u64> = HashMap::new();
        partitions.for_each(|partition| *writes.entry(partition).or_default() += 1);
        Self { hottest: writes.values().copied().max().unwrap_or_default(), all: writes.values().sum() }
    }

    /// The writes a second above which some are throttled, in whole hundreds.
    pub(super) fn throttles_at(self) -> u64 {
        u64::from(PARTITION_WRITE_UNITS) * self.all / self.hottest.max(1) / 100 * 100
    }

    /// The share in tenths of a per cent.
    pub(super) fn tenths_of_per_cent(self) -> u64 {
        (self.hottest * 1_000 + self.all / 2) / self.all.max(1)
    }
}

/// The share for the writes of one topic. For Lately, the bucket has the default maximum of shards.
pub(super) fn of_topic(contender: Contender, rate: u32) -> Share {
    Share::of(offered(rate, 1).into_iter().map(|happening| match contender.of_topic() {
        Some(design) => partition(&design, happening),
        None => shard(happening),
    }))
}

/// The share for the writes of `users` users, who write equally often. A design without timelines of users writes to
/// its topic.
pub(super) fn of_users(contender: Contender, rate: u32, users: u32) -> Share {
    Share::of(offered(rate, 1).into_iter().map(|happening| {
        let user = format!("user-{}", happening.user % users);
        match contender.of_user(&user).or_else(|| contender.of_topic()) {
            Some(design) => partition(&design, happening),
            // Each entry in a timeline has one event. Only the event's partition is counted.
            None => shard(happening),
        }
    }))
}

fn partition(design: &lately_designs::Design, Happening { at, entropy, .. }: Happening) -> String {
    design.write_key(at, entropy).expect("the design has keys for this time").pk.to_string()
}

fn shard(Happening { entropy, .. }: Happening) -> String {
    let shards = ShardCount::new(MAX_SHARDS_DEFAULT).expect("a power of two");
    let [a, b, c, d, e, f, g, h, ..] = entropy.to_le_bytes();
    shards.pick(u64::from_le_bytes([a, b, c, d, e, f, g, h])).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_design_with_one_partition_throttles_at_its_rate() {
        for contender in [Contender::ReverseTicks, Contender::InvertedUuid, Contender::QuarterHour] {
            let share = of_topic(contender, 5_000);
            assert_eq!(
                (share.hottest, share.all, share.throttles_at()),
                (5_000, 5_000, 1_000),
                "{contender:?}"
            );
        }
    }

    #[test]
    fn random_shards_share_the_writes_unevenly() {
        let [four, lately] =
            [Contender::ShardedDay { shards: 4 }, Contender::Lately].map(|c| of_topic(c, 20_000));
        assert!((3_800..=4_000).contains(&four.throttles_at()), "{four:?}");
        assert!((48_000..64_000).contains(&lately.throttles_at()), "{lately:?}");
    }

    #[test]
    fn only_designs_with_users_timelines_have_partitions_per_user() {
        assert_eq!(of_users(Contender::Chronological, 20_000, 100).tenths_of_per_cent(), 10);
        assert_eq!(of_users(Contender::QuarterHour, 20_000, 100).tenths_of_per_cent(), 1_000);
    }
}
