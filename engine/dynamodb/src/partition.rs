//! The partition model: the units that one partition of DynamoDB serves a second.
//!
//! The model gives each value of a partition key, of the table and of each index, a partition of its own. DynamoDB
//! splits a hot key's partition no further than that, so a design must reckon with it. A partition has a bucket of
//! write units and a bucket of read units. Each fills at the partition's rate and holds at most
//! [`PartitionLimits::burst`] of it. `admission.rs` decides which calls the buckets admit and how many units each call
//! takes.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use dynoxide::streams;

use crate::api_error::ThrottlingReason;
use crate::clock::micros;
use crate::limits;

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
}

impl Default for PartitionLimits {
    fn default() -> Self {
        Self {
            write_units: limits::PARTITION_WRITE_UNITS,
            read_units: limits::PARTITION_READ_UNITS,
            burst: Duration::from_secs(1),
            writes_in_10_ms: None,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum AccessKind {
    Read,
    Write,
}

/// The id of a bucket: a partition and a kind of access to it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct BucketId {
    pub(crate) kind: AccessKind,
    pub(crate) table: String,
    pub(crate) index: Option<String>,
    pub(crate) partition: String,
}

impl BucketId {
    pub(crate) fn reason(&self) -> ThrottlingReason {
        let kind = match self.kind {
            AccessKind::Read => "Read",
            AccessKind::Write => "Write",
        };
        match &self.index {
            None => ThrottlingReason {
                reason: format!("Table{kind}KeyRangeThroughputExceeded"),
                resource: streams::table_arn(&self.table),
            },
            Some(index) => ThrottlingReason {
                reason: format!("Index{kind}KeyRangeThroughputExceeded"),
                resource: streams::index_arn(&self.table, index),
            },
        }
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
        Self(Mutex::new(Buckets { limits, held: HashMap::new(), swept_micros: 0 }))
    }

    /// True if a bucket holds no units now, or its partition accepts no more writes in this window of 10 ms.
    pub(crate) fn is_empty(&self, id: &BucketId, now_micros: u64) -> bool {
        let buckets = self.buckets();
        let most = buckets.limits.writes_in_10_ms.filter(|_| id.kind == AccessKind::Write);
        buckets.fill(id, now_micros) <= 0.0 || most.is_some_and(|most| buckets.calls(id, now_micros) >= most)
    }

    /// Takes units from a bucket, below zero if need be.
    pub(crate) fn charge(&self, id: BucketId, units: f64, now_micros: u64) {
        self.buckets().charge(id, units, now_micros);
    }

    fn buckets(&self) -> MutexGuard<'_, Buckets> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Buckets {
    fn rate(&self, kind: AccessKind) -> f64 {
        f64::from(match kind {
            AccessKind::Read => self.limits.read_units,
            AccessKind::Write => self.limits.write_units,
        })
    }

    fn full(&self, kind: AccessKind) -> f64 {
        self.rate(kind) * self.limits.burst.as_secs_f64()
    }

    /// The units that a bucket holds now.
    fn fill(&self, id: &BucketId, now_micros: u64) -> f64 {
        let bucket = self.held.get(id);
        bucket.map_or(self.full(id.kind), |bucket| self.filled(id.kind, *bucket, now_micros))
    }

    fn filled(&self, kind: AccessKind, bucket: Bucket, now_micros: u64) -> f64 {
        let passed = Duration::from_micros(now_micros.saturating_sub(bucket.at_micros));
        let gained = passed.as_secs_f64() * self.rate(kind);
        (bucket.units + gained).min(self.full(kind))
    }

    /// The calls that a bucket has served in this window of 10 ms.
    fn calls(&self, id: &BucketId, now_micros: u64) -> u32 {
        let bucket = self.held.get(id).filter(|bucket| bucket.window == now_micros / WINDOW_MICROS);
        bucket.map_or(0, |bucket| bucket.calls)
    }

    fn charge(&mut self, id: BucketId, units: f64, now_micros: u64) {
        self.sweep(now_micros);
        let units = self.fill(&id, now_micros) - units;
        let calls = self.calls(&id, now_micros) + 1;
        self.held
            .insert(id, Bucket { units, at_micros: now_micros, calls, window: now_micros / WINDOW_MICROS });
    }

    /// Forgets the buckets that are full again. It runs at most once per burst time, and at most once a second.
    fn sweep(&mut self, now_micros: u64) {
        let every = micros(self.limits.burst).max(1_000_000);
        if now_micros.saturating_sub(self.swept_micros) < every {
            return;
        }
        self.swept_micros = now_micros;
        let held = std::mem::take(&mut self.held);
        let unfilled = held
            .into_iter()
            .filter(|(id, bucket)| self.filled(id.kind, *bucket, now_micros) < self.full(id.kind));
        self.held = unfilled.collect();
    }
}
