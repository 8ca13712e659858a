//! The file of a run's ids. Two reads show whether the run reported an event.
//!
//! ```text
//!  16 bytes  for each event of the run: its id, ascending
//!  16 bytes  for each block of 4,096 of them: the block's first id
//! ```
//!
//! The run's item contains the number of ids, so a reader knows where the table starts. It reads the table, then the
//! one block that can contain the id. Both reads are ranges of an object that never changes.

use std::collections::BTreeMap;
use std::ops::Range;

use lately_keys::EventId;

use crate::limits::{BLOCK_IDS, ID_BYTES};

const ID: u64 = ID_BYTES as u64;
const BLOCK: u64 = BLOCK_IDS as u64;

/// Builds a file's table while the file's ids pass by.
#[derive(Debug, Default)]
pub(crate) struct TableBuilder {
    passed: usize,
    firsts: Vec<u8>,
}

impl TableBuilder {
    /// Takes the file's next ids, which must be whole.
    pub(crate) fn pass(&mut self, ids: &[u8]) {
        for id in ids.chunks_exact(ID_BYTES) {
            if self.passed.is_multiple_of(BLOCK_IDS) {
                self.firsts.extend_from_slice(id);
            }
            self.passed += 1;
        }
    }

    /// The table's bytes, which follow the ids.
    pub(crate) fn finish(self) -> Vec<u8> {
        self.firsts
    }
}

/// The table of a file with `ids` ids.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Table {
    ids: u64,
    firsts: Vec<EventId>,
}

impl Table {
    /// The table's range in the file.
    pub(crate) const fn range(ids: u64) -> Range<u64> {
        let start = ids * ID;
        start..start + ids.div_ceil(BLOCK) * ID
    }

    /// Parses the bytes of that range; none if they are not a table.
    pub(crate) fn parse(ids: u64, bytes: &[u8]) -> Option<Self> {
        let firsts = parse_ids(bytes)?;
        let complete = firsts.len() as u64 == ids.div_ceil(BLOCK) && firsts.is_sorted();
        complete.then_some(Self { ids, firsts })
    }

    /// The blocks that can contain the wanted ids, each with the indexes of those ids in `wanted`.
    pub(crate) fn blocks_of(&self, wanted: &[EventId]) -> BTreeMap<u64, Vec<usize>> {
        let mut blocks = BTreeMap::<u64, Vec<usize>>::new();
        for (index, id) in wanted.iter().enumerate() {
            // No block contains ids below the very first id.
            if let Some(block) = self.firsts.partition_point(|first| first <= id).checked_sub(1) {
                blocks.entry(block as u64).or_default().push(index);
            }
        }
        blocks
    }

    /// A block's range in the file.
    pub(crate) fn block_range(&self, block: u64) -> Range<u64> {
        block * BLOCK * ID..((block + 1) * BLOCK).min(self.ids) * ID
    }
}

/// Parses consecutive ids; none if the bytes are not ids.
pub(crate) fn parse_ids(bytes: &[u8]) -> Option<Vec<EventId>> {
    let ids = bytes.chunks_exact(ID_BYTES);
    ids.remainder().is_empty().then(|| ids.map(EventId::from_slice).collect()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use lately_keys::{Shard, Tick};
    use proptest::prelude::*;

    fn id(millis: u64) -> EventId {
        EventId::new(Tick::first_of(lately_keys::UnixMillis::new(millis).unwrap()), Shard::from(0), 7)
    }

    /// A file of every third millisecond's id.
    fn file(ids: u64, segments: &[usize]) -> Vec<u8> {
        let bytes: Vec<u8> = (0..ids).flat_map(|n| *id(3 * n).as_uuid().as_bytes()).collect();
        let mut table = TableBuilder::default();
        let mut rest = &bytes[..];
        for segment in segments {
            let (passed, remaining) = rest.split_at((segment * ID_BYTES).min(rest.len()));
            table.pass(passed);
            rest = remaining;
        }
        table.pass(rest);
        [bytes, table.finish()].concat()
    }

    fn part(file: &[u8], range: Range<u64>) -> &[u8] {
        &file[usize::try_from(range.start).unwrap()..usize::try_from(range.end).unwrap()]
    }

    #[test]
    fn golden_bytes() {
        assert_eq!(Table::range(0), 0..0);
        assert_eq!(Table::range(1), 16..32);
        assert_eq!(Table::range(4_096), 65_536..65_552);
        assert_eq!(Table::range(4_097), 65_552..65_584);
        let file = file(4_097, &[]);
        assert_eq!(file.len(), 65_584);
        assert_eq!(file[..16], *id(0).as_uuid().as_bytes());
        assert_eq!(file[65_552..65_568], file[..16]);
        assert_eq!(file[65_568..], file[65_536..65_552]);
    }

    #[test]
    fn an_invalid_table_is_refused() {
        let file = file(5_000, &[]);
        let table = part(&file, Table::range(5_000));
        assert!(Table::parse(5_000, table).is_some());
        assert_eq!(Table::parse(4_000, table), None);
        assert_eq!(Table::parse(5_000, &table[1..]), None);
        assert_eq!(Table::parse(5_000, &[0; 32]), None);
        let swapped = [&table[16..], &table[..16]].concat();
        assert_eq!(Table::parse(5_000, &swapped), None);
        assert!(Table::parse(0, &[]).unwrap().blocks_of(&[id(1)]).is_empty());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn an_id_is_in_its_block_or_nowhere(
            ids in 1..13_000_u64,
            segments in prop::collection::vec(1..5_000_usize, 0..4),
            wanted in prop::collection::vec(0..40_000_u64, 1..50),
        ) {
            let file = file(ids, &segments);
            let table = Table::parse(ids, part(&file, Table::range(ids))).unwrap();
            // The first and the last ids of blocks are looked up too.
            let edges = [0, 3 * BLOCK - 3, 3 * BLOCK, 6 * BLOCK, 3 * ids - 3];
            let wanted: Vec<_> = wanted.into_iter().chain(edges).collect();
            let asked: Vec<_> = wanted.iter().map(|millis| id(*millis)).collect();
            let mut found = vec![false; asked.len()];
            for (block, indexes) in table.blocks_of(&asked) {
                let range = table.block_range(block);
                prop_assert!(range.end <= Table::range(ids).start && range.end - range.start <= BLOCK * ID);
                let held = parse_ids(part(&file, range)).unwrap();
                for index in indexes {
                    found[index] = held.binary_search(&asked[index]).is_ok();
                }
            }
            for (millis, found) in wanted.iter().zip(found) {
                prop_assert_eq!(found, millis % 3 == 0 && *millis < 3 * ids, "{}", millis);
            }
        }
    }
}
