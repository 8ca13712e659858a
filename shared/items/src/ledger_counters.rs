//! Sixteen counters, one for each partition of a late ledger.
//!
//! Counters only rise. A writer that puts an entry into a partition counts the partition afterwards. A reader reads the
//! counters first, and then all of a partition: so it has dealt with everything that was counted. If the counter rises
//! later, the reader looks at the partition again. Counters are never reset, so nothing is lost between a reset and a
//! count.

use lately_keys::limits::LATE_SHARDS;

use crate::attribute::stored_as;
use crate::item::{Corrupt, Item};

const COUNTERS: usize = LATE_SHARDS as usize;

/// The attribute of each partition's counter, in an item that has one attribute for each.
const ATTRIBUTES: [&str; COUNTERS] =
    ["l0", "l1", "l2", "l3", "l4", "l5", "l6", "l7", "l8", "l9", "l10", "l11", "l12", "l13", "l14", "l15"];

/// A reading of the counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LedgerCounters([u64; COUNTERS]);

impl LedgerCounters {
    /// The partitions whose counters rose since another reading.
    pub fn risen_since(&self, known: &Self) -> Vec<u8> {
        let counters = (0..LATE_SHARDS).zip(self.0.iter().zip(known.0));
        counters.filter(|(_, (now, known))| **now > *known).map(|(shard, _)| shard).collect()
    }

    /// The counter of a partition.
    pub fn of(&self, shard: u8) -> u64 {
        self.0[usize::from(shard)]
    }

    /// Raises the counter of a partition to a count, unless it is higher already.
    pub fn raise(&mut self, shard: u8, count: u64) {
        let counter = &mut self.0[usize::from(shard)];
        *counter = (*counter).max(count);
    }

    /// The higher of two readings, for each partition.
    pub fn max(&self, other: &Self) -> Self {
        Self(std::array::from_fn(|shard| self.0[shard].max(other.0[shard])))
    }

    /// This reading, raised to another one for some partitions.
    pub fn with(mut self, seen: &Self, shards: &[u8]) -> Self {
        for shard in shards {
            self.raise(*shard, seen.of(*shard));
        }
        self
    }

    /// The attribute of a partition's counter.
    pub fn attribute(shard: u8) -> &'static str {
        ATTRIBUTES[usize::from(shard)]
    }

    /// Reads the counters of an item that has one attribute for each. A counter that never rose has no attribute.
    ///
    /// # Errors
    /// If a counter is no number.
    pub fn of_attributes(item: &Item) -> Result<Self, Corrupt> {
        let mut counters = Self::default();
        for (counter, attribute) in counters.0.iter_mut().zip(ATTRIBUTES) {
            *counter = item.optional(attribute)?.unwrap_or_default();
        }
        Ok(counters)
    }
}

stored_as! {
    // A reading as one attribute.
    LedgerCounters as Vec<u64>: |counters| counters.0.to_vec(), |counters| counters.try_into().ok().map(Self);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn counters() -> impl Strategy<Value = LedgerCounters> {
        any::<[u64; COUNTERS]>().prop_map(LedgerCounters)
    }

    proptest! {
        #[test]
        fn a_reading_is_decoded_as_it_was_encoded(counters in counters()) {
            let attributes = (0..LATE_SHARDS).map(LedgerCounters::attribute).zip(counters.0);
            let item = attributes.fold(Item::new().with("known", &counters), |item, (name, count)| item.with(name, count));
            prop_assert_eq!(item.get("known"), Ok(counters));
            prop_assert_eq!(LedgerCounters::of_attributes(&item), Ok(counters));
        }

        #[test]
        fn a_reading_covers_exactly_the_taken_partitions(known in counters(), seen in counters()) {
            let risen = seen.risen_since(&known);
            let taken = known.with(&seen, &risen);
            prop_assert!(seen.risen_since(&taken).is_empty());
            prop_assert!(known.risen_since(&taken).is_empty(), "nothing is forgotten");
            let Some((one, rest)) = risen.split_first() else { return Ok(()) };
            prop_assert_eq!(seen.risen_since(&known.with(&seen, rest)), vec![*one]);
        }
    }

    #[test]
    fn absent_attributes_are_zero_and_an_absent_reading_is_corrupt() {
        assert_eq!((LedgerCounters::attribute(0), LedgerCounters::attribute(15)), ("l0", "l15"));
        assert_eq!(LedgerCounters::of_attributes(&Item::new()), Ok(LedgerCounters::default()));
        Item::new().get::<LedgerCounters>("known").unwrap_err();
    }
}
