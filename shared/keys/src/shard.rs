//! Shards: the partitions that share one bucket's load.

use std::fmt;
use std::str::FromStr;

use crate::limits::SHARDS;

/// One partition of a bucket, or of a source's followers: 0 to 255.
///
/// ```
/// use lately_keys::{Shard, ShardCount};
///
/// let count = ShardCount::new(4)?;
/// assert_eq!(count.pick(0b1110), Shard::from(2));
/// assert!(count.covers(Shard::from(3)) && !count.covers(Shard::from(4)));
/// # Ok::<(), lately_keys::ShardCountError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Shard(u8);

impl Shard {
    /// The shard's number.
    pub const fn get(self) -> u8 {
        self.0
    }
}

impl From<u8> for Shard {
    fn from(number: u8) -> Self {
        Self(number)
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for Shard {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse().map(Self)
    }
}

/// The number of shards: a power of two, so that the count grows by doubling and every shard of a smaller count is also
/// a shard of a larger one.
///
/// ```
/// use lately_keys::ShardCount;
///
/// let four = ShardCount::new(4)?;
/// assert_eq!(four.doubled(ShardCount::MAX).get(), 8);
/// assert_eq!(four.shards().map(|shard| shard.get()).collect::<Vec<_>>(), [0, 1, 2, 3]);
/// assert!(ShardCount::new(3).is_err());
/// # Ok::<(), lately_keys::ShardCountError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(try_from = "u16")]
pub struct ShardCount(u16);

/// The number is not a count of shards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("shards: must be 1, 2, 4, 8, 16, 32, 64, 128 or 256")]
pub struct ShardCountError;

impl ShardCount {
    /// One shard: no sharding.
    pub const ONE: Self = Self(1);
    /// The largest count.
    pub const MAX: Self = Self(SHARDS);

    /// A count of shards.
    ///
    /// # Errors
    /// If the number is not a power of two from 1 to 256.
    pub const fn new(count: u16) -> Result<Self, ShardCountError> {
        if count.is_power_of_two() && count <= SHARDS { Ok(Self(count)) } else { Err(ShardCountError) }
    }

    /// The count as a number, 1 to 256.
    pub const fn get(self) -> u16 {
        self.0
    }

    /// Twice the count, at most `cap`, and never less than now.
    pub fn doubled(self, cap: Self) -> Self {
        self.max(Self(self.0 * 2).min(cap).min(Self::MAX))
    }

    /// Half the count, at least one.
    pub const fn halved(self) -> Self {
        if self.0 == 1 { self } else { Self(self.0 / 2) }
    }

    /// True if a shard is among these.
    pub const fn covers(self, shard: Shard) -> bool {
        (shard.0 as u16) < self.0
    }

    /// One of these shards, chosen by the low bits of a random number. The choice is even because the count is a power
    /// of two.
    pub const fn pick(self, entropy: u64) -> Shard {
        let ([low, ..], [last, _]) = (entropy.to_le_bytes(), (self.0 - 1).to_le_bytes());
        Shard(low & last)
    }

    /// All shards in ascending order.
    pub fn shards(self) -> impl ExactSizeIterator<Item = Shard> + DoubleEndedIterator + Clone {
        (0..usize::from(self.0)).map(|number| Shard(number.to_le_bytes()[0]))
    }
}

impl Default for ShardCount {
    fn default() -> Self {
        Self::ONE
    }
}

impl fmt::Display for ShardCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl TryFrom<u16> for ShardCount {
    type Error = ShardCountError;

    fn try_from(count: u16) -> Result<Self, ShardCountError> {
        Self::new(count)
    }
}

crate::schema!(ShardCount, "Shards", {
    let counts = (0..=SHARDS.ilog2()).map(|doublings| 1u16 << doublings);
    let count = ObjectBuilder::new().schema_type(Type::Integer);
    count.enum_values(Some(counts))
});

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> Vec<ShardCount> {
        (0..=u16::MAX).filter_map(|count| ShardCount::new(count).ok()).collect()
    }

    #[test]
    fn counts_are_the_powers_of_two_up_to_256() {
        let counts: Vec<u16> = all().into_iter().map(ShardCount::get).collect();
        assert_eq!(counts, [1, 2, 4, 8, 16, 32, 64, 128, 256]);
    }

    #[test]
    fn exactly_the_shards_of_a_count_are_picked() {
        for count in all() {
            let picked: std::collections::BTreeSet<_> =
                (0..1024).map(|entropy| count.pick(entropy)).collect();
            assert!(picked.iter().copied().eq(count.shards()), "{count}");
            assert_eq!(count.shards().len(), usize::from(count.get()));
            for number in 0..=u8::MAX {
                assert_eq!(count.covers(Shard(number)), picked.contains(&Shard(number)));
            }
        }
    }

    #[test]
    fn growth_doubles_up_to_the_cap_and_never_shrinks() {
        let count = |n| ShardCount::new(n).unwrap();
        assert_eq!(count(4).doubled(count(64)), count(8));
        assert_eq!(count(64).doubled(count(64)), count(64));
        assert_eq!(count(128).doubled(count(64)), count(128));
        assert_eq!(count(256).doubled(ShardCount::MAX), count(256));
        assert_eq!(count(256).halved(), count(128));
        assert_eq!(ShardCount::ONE.halved(), ShardCount::ONE);
    }

    #[test]
    fn json_counts_are_checked() {
        assert_eq!(serde_json::from_str::<ShardCount>("8").unwrap(), ShardCount(8));
        assert_eq!(serde_json::to_string(&ShardCount(8)).unwrap(), "8");
        for text in ["0", "3", "512", "-1", "1.0", "\"8\""] {
            assert!(serde_json::from_str::<ShardCount>(text).is_err(), "{text}");
        }
    }
}
