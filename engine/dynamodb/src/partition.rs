//! The partition model: the units that one partition of DynamoDB serves a second.
//!
//! Each value of a partition key, of the table and of each index, has a bucket of write units and a bucket of read
//! units, because DynamoDB splits a hot key's partition no further than that. A bucket fills at the partition's rate and
//! holds at most [`PartitionLimits::burst`] of it. The keys of an on-demand table also share its partitions and its
//! capacity (`on_demand.rs`), which have buckets too. `admission.rs` decides which calls the buckets admit and how many
//! units each call takes.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::api_error::ThrottlingReason;
use crate::clock::micros;
use crate::limits;
use crate::on_demand::{self, OnDemandTable, TableCapacity};

/// The rates of every partition.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PartitionLimits {
    /// The write units that a partition serves a second.
    pub write_units: u32,
    /// The read units that a partition serves a second.
    pub read_units: u32,
    /// The time for which a partition can save up unused units. The default is one second, because the rates are
    /// DynamoDB's hard limits of a partition, which burst capacity does not raise.
    pub burst: Duration,
    /// The most writes that a partition serves in one window of 10 ms. DynamoDB documents no such limit. A design that
    /// writes in short bursts can be tried with one.
    pub writes_in_10_ms: Option<u32>,
    /// The capacity of the table, and of each index, as a whole.
    pub table: TableCapacity,
}

impl Default for PartitionLimits {
    fn default() -> Self {
        Self {
            write_units: limits::PARTITION_WRITE_UNITS,
            read_units: limits::PARTITION_READ_UNITS,
            burst: Duration::from_secs(1),
            writes_in_10_ms: None,
            table: TableCapacity::Unbounded,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum AccessKind {
    Read,
    Write,
}

/// The id of a bucket: a part of a table or an index, and a kind of access to it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct BucketId {
    pub(crate) kind: AccessKind,
    pub(crate) table: String,
    pub(crate) index: Option<String>,
    pub(crate) part: Part,
}

/// The part of a table or an index whose units a bucket holds.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Part {
    /// The items of one partition key.
    Key(String),
    /// The partition whose keys have hashes from this one on.
    Partition(u64),
    /// All of it.
    Whole,
}

impl BucketId {
    /// The bucket of the writes to all of its table or index.
    fn of_table(&self) -> Self {
        Self { kind: AccessKind::Write, part: Part::Whole, ..self.clone() }
    }

    /// The reason for which an empty bucket throttles a call.
    pub(crate) fn reason(&self) -> ThrottlingReason {
        let kind = match self.kind {
            AccessKind::Read => "Read",
            AccessKind::Write => "Write",
        };
        ThrottlingReason::key_range(kind, &self.table, self.index.as_deref())
    }
}

/// All partitions of an engine.
#[derive(Debug)]
pub(crate) struct Partitions(Mutex<Buckets>);

/// The buckets. A bucket without an entry is full.
#[derive(Debug)]
struct Buckets {
    limits: PartitionLimits,
    held: HashMap<BucketId, Bucket>,
    /// The on-demand tables and indexes, by the id of the bucket of their writes.
    on_demand: HashMap<BucketId, OnDemandTable>,
    swept_micros: u64,
}

#[derive(Debug, Clone, Copy)]
struct Bucket {
    units: f64,
    at_micros: u64,
    /// The calls of the last window of 10 ms that had any, and the window's number.
    calls: u32,
    window: u64,
}

const WINDOW_MICROS: u64 = 10_000;

impl Partitions {
    pub(crate) fn new(limits: PartitionLimits) -> Self {
        Self(Mutex::new(Buckets { limits, held: HashMap::new(), on_demand: HashMap::new(), swept_micros: 0 }))
    }

    /// True if the bucket of a key, of its partition or of its table holds no units now, or if the key accepts no more
    /// writes in this window of 10 ms.
    pub(crate) fn is_empty(&self, key: &BucketId, now_micros: u64) -> bool {
        let mut buckets = self.buckets();
        let most = buckets.limits.writes_in_10_ms.filter(|_| key.kind == AccessKind::Write);
        most.is_some_and(|most| buckets.calls(key, now_micros) >= most)
            || buckets.all_of(key).iter().any(|id| buckets.fill(id, now_micros) <= 0.0)
    }

    /// Takes units from the buckets of a key, of its partition and of its table, below zero if need be.
    pub(crate) fn charge(&self, key: &BucketId, units: f64, now_micros: u64) {
        let mut buckets = self.buckets();
        buckets.sweep(now_micros);
        for id in buckets.all_of(key) {
            buckets.charge(id, units, now_micros);
        }
        let rate = buckets.limits.rate(key.kind);
        if let Some((table, hash)) = buckets.on_demand(key) {
            table.note(hash, key.kind, units, rate, now_micros);
        }
    }

    fn buckets(&self) -> MutexGuard<'_, Buckets> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PartitionLimits {
    /// The units that a partition serves a second.
    fn rate(&self, kind: AccessKind) -> f64 {
        f64::from(match kind {
            AccessKind::Read => self.read_units,
            AccessKind::Write => self.write_units,
        })
    }
}

impl Bucket {
    /// The units that a bucket of unlimited size would hold now.
    fn filled(&self, rate: f64, now_micros: u64) -> f64 {
        let passed = Duration::from_micros(now_micros.saturating_sub(self.at_micros));
        self.units + passed.as_secs_f64() * rate
    }
}

impl Buckets {
    /// The buckets that a call to a key draws on.
    fn all_of(&mut self, key: &BucketId) -> Vec<BucketId> {
        let mut ids = vec![key.clone()];
        if let Some((table, hash)) = self.on_demand(key) {
            let partition = table.partition(hash);
            let parts = [Part::Partition(partition), Part::Whole];
            ids.extend(parts.map(|part| BucketId { part, ..key.clone() }));
        }
        ids
    }

    /// The on-demand table or index of a key, and the key's hash.
    fn on_demand(&mut self, key: &BucketId) -> Option<(&mut OnDemandTable, u64)> {
        let TableCapacity::OnDemand { partitions } = self.limits.table else { return None };
        let Part::Key(text) = &key.part else { return None };
        let table = self.on_demand.entry(key.of_table()).or_insert_with(|| OnDemandTable::new(partitions));
        Some((table, on_demand::hash(text)))
    }

    /// The units that a bucket gains a second.
    fn rate(&self, id: &BucketId, now_micros: u64) -> f64 {
        let rate = self.limits.rate(id.kind);
        match id.part {
            Part::Key(_) | Part::Partition(_) => rate,
            Part::Whole => {
                let table = self.on_demand.get(&id.of_table());
                table.map_or(f64::INFINITY, |table| table.rate(id.kind, rate, now_micros))
            }
        }
    }

    /// The units that a bucket holds now.
    fn fill(&self, id: &BucketId, now_micros: u64) -> f64 {
        let rate = self.rate(id, now_micros);
        let full = rate * self.limits.burst.as_secs_f64();
        self.held.get(id).map_or(full, |bucket| bucket.filled(rate, now_micros).min(full))
    }

    /// The calls that a bucket has served in this window of 10 ms.
    fn calls(&self, id: &BucketId, now_micros: u64) -> u32 {
        let bucket = self.held.get(id).filter(|bucket| bucket.window == now_micros / WINDOW_MICROS);
        bucket.map_or(0, |bucket| bucket.calls)
    }

    fn charge(&mut self, id: BucketId, units: f64, now_micros: u64) {
        let units = self.fill(&id, now_micros) - units;
        let calls = self.calls(&id, now_micros) + 1;
        self.held
            .insert(id, Bucket { units, at_micros: now_micros, calls, window: now_micros / WINDOW_MICROS });
    }

    /// Forgets the buckets of keys that are full again. It runs at most once per burst time, and at most once a second.
    fn sweep(&mut self, now_micros: u64) {
        let every = micros(self.limits.burst).max(1_000_000);
        if now_micros.saturating_sub(self.swept_micros) < every {
            return;
        }
        self.swept_micros = now_micros;
        let mut held = std::mem::take(&mut self.held);
        held.retain(|id, bucket| {
            let rate = self.limits.rate(id.kind);
            id.part == Part::Whole || bucket.filled(rate, now_micros) < rate * self.limits.burst.as_secs_f64()
        });
        self.held = held;
    }
}
