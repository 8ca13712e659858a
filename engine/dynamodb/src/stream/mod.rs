//! The table's stream, to read from: inside the process, and as the DynamoDB Streams API.

mod service;

pub use crate::capture::{
    EVENT_BYTES, EventName, InvalidSequenceNumber, REGION, ReadRecords, Record, SequenceNumber, event,
};
pub use service::shard_id;

pub(crate) use service::answer;

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use crate::capture::lambda;
use crate::clock::micros;
use crate::core::Core;
use crate::seed;
use crate::table::StreamView;

/// A table's stream, to read from. Cheap to clone.
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

    /// The stream's name, as `DescribeTable` gives it.
    #[must_use]
    pub fn arn(&self) -> &str {
        &self.arn
    }

    /// The number of shards.
    #[must_use]
    pub fn shards(&self) -> u16 {
        self.core.ledger().log(&self.table).map_or(0, |log| log.shard_count())
    }

    /// Up to `records` records and about `bytes` bytes (DynamoDB's count) of a shard, after a position.
    #[must_use]
    pub fn read(&self, shard: u16, after: SequenceNumber, records: usize, bytes: u64) -> ReadRecords {
        let now = self.now_micros();
        let mut ledger = self.core.ledger();
        let log = ledger.log(&self.table);
        log.map(|log| log.read(shard, after, records, bytes, now)).unwrap_or_default()
    }

    /// Every record held, of all shards, in the order of the changes. For tests.
    #[must_use]
    pub fn all(&self) -> Vec<Arc<Record>> {
        let mut records: Vec<_> = (0..self.shards())
            .flat_map(|shard| self.read(shard, SequenceNumber::START, usize::MAX, u64::MAX).records)
            .collect();
        records.sort_by_key(|record| record.sequence);
        records
    }

    /// The position of a shard's newest record.
    #[must_use]
    pub fn latest(&self, shard: u16) -> SequenceNumber {
        let mut ledger = self.core.ledger();
        let log = ledger.log(&self.table);
        log.map_or(SequenceNumber::START, |log| log.latest(shard))
    }

    /// The number of records held, of all shards.
    #[must_use]
    pub fn len(&self) -> usize {
        self.core.ledger().log(&self.table).map_or(0, |log| log.len())
    }

    /// True if no record is held.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Changes whenever a record of any table is captured: to the newest sequence number.
    #[must_use]
    pub fn changes(&self) -> watch::Receiver<SequenceNumber> {
        self.core.changes()
    }

    /// A batch as the JSON of the event that Lambda would be invoked with.
    #[must_use]
    pub fn lambda_event(&self, records: &[Arc<Record>]) -> String {
        let records: Vec<_> = records.iter().map(|record| self.lambda_record(record)).collect();
        lambda::event(records.iter().map(String::as_str))
    }

    /// A record as the JSON that it is in such an event.
    #[must_use]
    pub fn lambda_record(&self, record: &Record) -> String {
        lambda::record(record, self.view, &self.arn)
    }

    /// The hash of a record's partition key.
    #[must_use]
    pub fn partition_hash(&self, record: &Record) -> u64 {
        let table = self.core.table(&self.table).ok().flatten();
        let key = serde_json::from_str(record.keys.get()).expect("the engine captured the key");
        seed::hash(&table.and_then(|table| table.partition_of(&key)).unwrap_or_default())
    }

    /// The oldest time of which records are kept. Older records are gone, or about to go.
    #[must_use]
    pub fn horizon_micros(&self) -> u64 {
        let now = self.now_micros();
        self.core.ledger().log(&self.table).map_or(now, |log| log.horizon_micros(now))
    }

    /// The engine's time.
    #[must_use]
    pub fn now_micros(&self) -> u64 {
        self.core.clock().now_micros()
    }

    /// The engine's time so long ago.
    #[must_use]
    pub fn micros_ago(&self, age: Duration) -> u64 {
        self.now_micros().saturating_sub(micros(age))
    }
}
