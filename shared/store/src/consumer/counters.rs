//! Sixteen counters, one for each partition of a late ledger.
//!
//! They only rise: whoever puts an entry into a partition counts it there afterwards. Who has read them, and then all of a
//! partition, has dealt with what was counted; a partition whose counter rose since is looked at again. Nothing is ever
//! reset, so nothing is lost between a reset and a count.

use aws_sdk_dynamodb::types::AttributeValue;
use lately_keys::limits::LATE_SHARDS;

use crate::item::{Corrupt, Fields, Item, number};

const COUNTERS: usize = LATE_SHARDS as usize;

/// A reading of the counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counters([u64; COUNTERS]);

impl Counters {
    /// The partitions that were counted in since another reading.
    pub(crate) fn risen_since(&self, known: &Self) -> Vec<u8> {
        let counters = (0..LATE_SHARDS).zip(self.0.iter().zip(known.0));
        counters.filter(|(_, (now, known))| **now > *known).map(|(shard, _)| shard).collect()
    }

    /// How often a partition was counted.
    pub(crate) fn of(&self, shard: u8) -> u64 {
        self.0[usize::from(shard)]
    }

    /// Takes it that a partition was counted so often.
    pub(crate) fn raise(&mut self, shard: u8, count: u64) {
        let counter = &mut self.0[usize::from(shard)];
        *counter = (*counter).max(count);
    }

    /// The higher of two readings, for each partition.
    pub(crate) fn max(mut self, other: &Self) -> Self {
        for shard in 0..LATE_SHARDS {
            self.raise(shard, other.of(shard));
        }
        self
    }

    /// This reading, with that of another for some partitions.
    pub(crate) fn with(mut self, seen: &Self, shards: &[u8]) -> Self {
        for shard in shards {
            self.raise(*shard, seen.of(*shard));
        }
        self
    }

    /// The attribute that counts a partition, where each has one of its own.
    pub(crate) fn attribute(shard: u8) -> String {
        format!("l{shard}")
    }

    /// Reads the counters of an item that has an attribute for each; one that never rose is absent.
    pub(crate) fn of_attributes(item: &Item) -> Result<Self, Corrupt> {
        let mut counters = Self::default();
        for (shard, counter) in (0..LATE_SHARDS).zip(&mut counters.0) {
            let Some(value) = item.get(&Self::attribute(shard)) else { continue };
            *counter = read(value).ok_or_else(|| Fields(item).corrupt("a counter"))?;
        }
        Ok(counters)
    }

    /// A reading as one attribute.
    pub(crate) fn encode(&self) -> AttributeValue {
        AttributeValue::L(self.0.map(number).into())
    }

    /// Reads what [`Counters::encode`] wrote.
    pub(crate) fn decode(item: &Item, name: &'static str) -> Result<Self, Corrupt> {
        let corrupt = || Fields(item).corrupt(name);
        let list = item.get(name).and_then(|value| value.as_l().ok()).ok_or_else(corrupt)?;
        let counters: Option<Vec<u64>> = list.iter().map(read).collect();
        let counters = counters.and_then(|counters| counters.try_into().ok());
        counters.map(Self).ok_or_else(corrupt)
    }
}

fn read(value: &AttributeValue) -> Option<u64> {
    value.as_n().ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn counters() -> impl Strategy<Value = Counters> {
        any::<[u64; COUNTERS]>().prop_map(Counters)
    }

    proptest! {
        #[test]
        fn a_reading_comes_back(counters in counters()) {
            let item = Item::from([("known".to_owned(), counters.encode())]);
            prop_assert_eq!(Counters::decode(&item, "known"), Ok(counters));
            let attributes = counters.0.iter().zip(0..).map(|(count, shard)| (Counters::attribute(shard), number(*count)));
            prop_assert_eq!(Counters::of_attributes(&attributes.collect()), Ok(counters));
        }

        #[test]
        fn what_rose_is_known_once_it_is_taken(known in counters(), seen in counters()) {
            let risen = seen.risen_since(&known);
            let taken = known.with(&seen, &risen);
            prop_assert!(seen.risen_since(&taken).is_empty());
            prop_assert!(known.risen_since(&taken).is_empty(), "nothing is forgotten");
            let Some((one, rest)) = risen.split_first() else { return Ok(()) };
            prop_assert_eq!(seen.risen_since(&known.with(&seen, rest)), vec![*one]);
        }
    }

    #[test]
    fn an_item_without_counters_was_never_counted_in() {
        assert_eq!(Counters::of_attributes(&Item::new()), Ok(Counters::default()));
        Counters::decode(&Item::new(), "known").unwrap_err();
    }
}
