//! Reading a table's stream inside the process. The DynamoDB Streams API is not served: nothing here reads through it.
//!
//! The engine captures a change before it releases the lock of the write. So the records of an item are in the order of
//! its changes, and each change has exactly one record. A write that changes nothing leaves no record. Records of one
//! partition key share a shard.

mod lambda;
mod log;
mod record;

pub use lambda::{EVENT_BYTES, REGION, event};
pub(crate) use log::Log;
pub use log::ReadRecords;
pub use record::{EventName, InvalidSequenceNumber, Record, SequenceNumber};

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::value::RawValue;
use tokio::sync::watch;

use crate::clock::micros;
use crate::core::Core;
use crate::seed;
use crate::table::StreamView;

/// A handle for reading a table's stream. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Stream {
    core: Arc<Core>,
    table: Arc<str>,
    arn: Arc<str>,
    view: StreamView,
}

impl Stream {
    pub(crate) fn new(core: Arc<Core>, table: &str, arn: &str, view: StreamView) -> Self {
        Self { core, table: table.into(), arn: arn.into(), view }
    }

    /// Reads the log. A deleted stream has the default.
    fn log<T: Default>(&self, read: impl FnOnce(&mut Log) -> T) -> T {
        self.core.ledger().log(&self.table).map(read).unwrap_or_default()
    }

    /// The stream's ARN, as in the response of `DescribeTable`.
    pub fn arn(&self) -> &str {
        &self.arn
    }

    /// The number of shards.
    pub fn shards(&self) -> u16 {
        self.log(|log| log.shard_count())
    }

    /// Up to `records` records of a shard after a position, with about `bytes` bytes (DynamoDB's count) in all.
    pub fn read(&self, shard: u16, after: SequenceNumber, records: usize, bytes: u64) -> ReadRecords {
        let now = self.now_micros();
        self.log(|log| log.read(shard, after, records, bytes, now))
    }

    /// Drops the records of each shard up to a position, before they expire, but the `retained` newest records of
    /// all shards. For a long run that needs no records that all of its functions have done. The journal on disk drops
    /// them a segment at a time.
    pub fn forget(&self, settled: &[SequenceNumber], retained: u64) {
        self.core.ledger().forget_settled(&self.table, settled, retained);
    }

    /// All records of all shards, in the order of the changes. For tests.
    pub fn all(&self) -> Vec<Arc<Record>> {
        let mut records: Vec<_> = (0..self.shards())
            .flat_map(|shard| self.read(shard, SequenceNumber::START, usize::MAX, u64::MAX).records)
            .collect();
        records.sort_by_key(|record| record.sequence);
        records
    }

    /// The position of a shard's newest record.
    pub fn latest(&self, shard: u16) -> SequenceNumber {
        self.log(|log| log.latest(shard))
    }

    /// The number of records in all shards.
    pub fn len(&self) -> usize {
        self.log(|log| log.len())
    }

    /// True if the stream holds no record.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The newest sequence number of all tables. The receiver is woken whenever a record is captured.
    pub fn changes(&self) -> watch::Receiver<SequenceNumber> {
        self.core.changes.subscribe()
    }

    /// The JSON of the event with which Lambda invokes a function for these records.
    pub fn lambda_event(&self, records: &[Arc<Record>]) -> String {
        let records: Vec<_> = records.iter().map(|record| self.lambda_record(record)).collect();
        lambda::event(records.iter().map(String::as_str))
    }

    /// The JSON of a record in such an event.
    pub fn lambda_record(&self, record: &Record) -> String {
        lambda::record(record, self.view, &self.arn)
    }

    /// The hash of the key of a record's item: its partition key and its sort key.
    pub fn item_hash(&self, record: &Record) -> u64 {
        // The engine captured the attributes in any order.
        let key: BTreeMap<String, &RawValue> =
            serde_json::from_str(record.keys.get()).expect("the engine captured the key");
        let attributes = key.iter().map(|(name, value)| format!("{name}:{}", value.get()));
        seed::hash(&attributes.collect::<String>())
    }

    /// The oldest time of which records are retained. Retention drops older records.
    pub fn horizon_micros(&self) -> u64 {
        let now = self.now_micros();
        self.core.ledger().log(&self.table).map_or(now, |log| log.horizon_micros(now))
    }

    /// The engine's time now.
    pub fn now_micros(&self) -> u64 {
        self.core.clock.now_micros()
    }

    /// The engine's time `age` ago.
    pub fn micros_ago(&self, age: Duration) -> u64 {
        self.now_micros().saturating_sub(micros(age))
    }
}

/// A shard's name.
pub fn shard_id(shard: u16) -> String {
    format!("shardId-00000000000000000000-{shard:08}")
}
