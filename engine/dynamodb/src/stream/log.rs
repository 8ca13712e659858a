//! The records of a stream: one queue per shard, oldest first.
//!
//! A shard may hold millions of records, so neither an append nor a read walks over all of them. A position is a
//! sequence number, and a read finds it by binary search. Retention drops at most [`limits::TRIMMED_PER_APPEND`]
//! records per append and [`limits::TRIMMED_PER_READ`] per read.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use crate::clock::micros;
use crate::limits;
use crate::stream::record::{Record, SequenceNumber};

/// The records that one read of a shard returns.
#[derive(Debug, Clone, Default)]
pub struct ReadRecords {
    /// The records, oldest first.
    pub records: Vec<Arc<Record>>,
    /// The position for the next read.
    pub next: SequenceNumber,
    /// True if retention has dropped records that came after the requested position.
    pub trimmed: bool,
}

#[derive(Debug)]
pub(crate) struct Log {
    shards: Vec<ShardLog>,
    retention_micros: u64,
}

#[derive(Debug, Default)]
struct ShardLog {
    records: VecDeque<Arc<Record>>,
    /// The last record that retention dropped.
    trimmed: SequenceNumber,
}

impl Log {
    pub(crate) fn new(shards: u16, retention: Duration) -> Self {
        Self {
            shards: (0..shards.max(1)).map(|_| ShardLog::default()).collect(),
            retention_micros: micros(retention),
        }
    }

    pub(crate) fn shard_count(&self) -> u16 {
        u16::try_from(self.shards.len()).expect("the count was given as a u16")
    }

    /// Appends a record of an item with this hash of the partition key, which decides the shard.
    pub(crate) fn append(&mut self, hash: u64, record: Arc<Record>) {
        let horizon = self.horizon_micros(record.at_micros);
        let shard = hash % u64::from(self.shard_count());
        let shard = &mut self.shards[usize::try_from(shard).expect("the shard is less than the count")];
        shard.trim(horizon, limits::TRIMMED_PER_APPEND);
        shard.records.push_back(record);
    }

    /// Up to `records` records after a position, with about `bytes` bytes in all. A record that alone exceeds `bytes`
    /// is returned by itself, so a read never stops at a large record.
    pub(crate) fn read(
        &mut self,
        shard: u16,
        after: SequenceNumber,
        records: usize,
        bytes: u64,
        now_micros: u64,
    ) -> ReadRecords {
        let horizon = self.horizon_micros(now_micros);
        let Some(shard) = self.shards.get_mut(usize::from(shard)) else { return ReadRecords::default() };
        shard.trim(horizon, limits::TRIMMED_PER_READ);
        let start = shard.records.partition_point(|r| r.sequence <= after);
        let mut remaining = bytes;
        let fitting = shard
            .records
            .range(start..)
            .skip_while(|record| record.at_micros < horizon)
            .take(records)
            .enumerate()
            .take_while(|(i, record)| {
                let fits = *i == 0 || record.size_bytes <= remaining;
                remaining = remaining.saturating_sub(record.size_bytes);
                fits
            })
            .map(|(_, record)| Arc::clone(record));
        let records: Vec<_> = fitting.collect();
        ReadRecords {
            next: records.last().map_or(after.max(shard.trimmed), |record| record.sequence),
            trimmed: after < shard.trimmed,
            records,
        }
    }

    /// Drops the records of a shard up to a position.
    pub(crate) fn forget(&mut self, shard: u16, up_to: SequenceNumber) {
        let Some(shard) = self.shards.get_mut(usize::from(shard)) else { return };
        let forgotten = shard.records.partition_point(|record| record.sequence <= up_to);
        if let Some(last) = shard.records.drain(..forgotten).next_back() {
            shard.trimmed = last.sequence;
        }
        // A stream that was long has a long buffer.
        if shard.records.len() < shard.records.capacity() / 4 {
            shard.records.shrink_to_fit();
        }
    }

    /// The newest record's position. If the shard is empty, the position of the last record that retention dropped.
    pub(crate) fn latest(&self, shard: u16) -> SequenceNumber {
        let shard = self.shards.get(usize::from(shard));
        shard.map_or(SequenceNumber::START, |shard| {
            let newest = shard.records.back().map(|record| record.sequence);
            newest.unwrap_or(shard.trimmed)
        })
    }

    /// The time of the oldest record of all shards.
    pub(crate) fn oldest_micros(&self) -> Option<u64> {
        let oldest = self.shards.iter().filter_map(|shard| shard.records.front());
        oldest.map(|record| record.at_micros).min()
    }

    /// The oldest time of which records are retained. Retention drops older records.
    pub(crate) fn horizon_micros(&self, now_micros: u64) -> u64 {
        now_micros.saturating_sub(self.retention_micros)
    }

    /// The number of records held.
    pub(crate) fn len(&self) -> usize {
        self.shards.iter().map(|shard| shard.records.len()).sum()
    }
}

impl ShardLog {
    fn trim(&mut self, horizon_micros: u64, at_most: usize) {
        for _ in 0..at_most {
            let expired = self.records.pop_front_if(|record| record.at_micros < horizon_micros);
            let Some(record) = expired else { return };
            self.trimmed = record.sequence;
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::value::RawValue;

    use super::*;
    use crate::stream::record::EventName;

    const HOUR: u64 = 3_600_000_000;

    fn record(sequence: u64, at_micros: u64) -> Arc<Record> {
        let keys = RawValue::from_string("{}".to_owned()).unwrap();
        Arc::new(Record {
            sequence: SequenceNumber(sequence),
            event: EventName::Insert,
            at_micros,
            expired: false,
            size_bytes: 100,
            keys,
            old: None,
            new: None,
        })
    }

    fn log(times: impl IntoIterator<Item = u64>) -> Log {
        let mut log = Log::new(1, Duration::from_secs(24 * 3600));
        for (i, at) in times.into_iter().enumerate() {
            log.append(0, record(i as u64 + 1, at));
        }
        log
    }

    fn sequences(batch: &ReadRecords) -> Vec<u64> {
        batch.records.iter().map(|r| r.sequence.0).collect()
    }

    #[test]
    fn a_read_continues_where_the_last_one_ended() {
        let mut log = log([0; 5]);
        let first = log.read(0, SequenceNumber::START, 3, u64::MAX, 0);
        assert_eq!(sequences(&first), [1, 2, 3]);
        let second = log.read(0, first.next, 3, u64::MAX, 0);
        assert_eq!(sequences(&second), [4, 5]);
        let end = log.read(0, second.next, 3, u64::MAX, 0);
        assert_eq!((sequences(&end), end.next), (vec![], second.next));
    }

    #[test]
    fn a_byte_limit_ends_a_batch_but_never_empties_it() {
        let mut log = log([0; 5]);
        let two = log.read(0, SequenceNumber::START, 10, 250, 0);
        assert_eq!(sequences(&two), [1, 2]);
        let one = log.read(0, SequenceNumber::START, 10, 1, 0);
        assert_eq!(sequences(&one), [1]);
    }

    #[test]
    fn a_reader_learns_that_retention_dropped_records() {
        let mut log = log([0, HOUR, 2 * HOUR]);
        let batch = log.read(0, SequenceNumber::START, 10, u64::MAX, 25 * HOUR + 1);
        assert_eq!(sequences(&batch), [3]);
        assert!(batch.trimmed);
        let later = log.read(0, batch.next, 10, u64::MAX, 25 * HOUR + 1);
        assert!(!later.trimmed);
    }

    #[test]
    fn a_reader_continues_after_the_records_that_it_lost() {
        let mut log = log([0, HOUR]);
        let lost = log.read(0, SequenceNumber::START, 10, u64::MAX, 48 * HOUR);
        assert_eq!((sequences(&lost), lost.next.0, lost.trimmed), (vec![], 2, true));
        assert!(!log.read(0, lost.next, 10, u64::MAX, 48 * HOUR).trimmed);
    }

    #[test]
    fn forgotten_records_are_trimmed() {
        let mut log = log([0; 10]);
        log.forget(0, SequenceNumber(4));
        let read = log.read(0, SequenceNumber::START, 10, u64::MAX, 0);
        assert_eq!((sequences(&read), read.trimmed), ((5..=10).collect(), true));
        assert!(!log.read(0, SequenceNumber(4), 10, u64::MAX, 0).trimmed);
        log.forget(0, SequenceNumber(10));
        assert_eq!((log.len(), log.latest(0)), (0, SequenceNumber(10)));
    }

    #[test]
    fn an_append_drops_at_most_two_expired_records() {
        let mut log = log([0; 10]);
        log.append(0, record(11, 30 * HOUR));
        assert_eq!(log.len(), 10 - limits::TRIMMED_PER_APPEND + 1);
    }
}
