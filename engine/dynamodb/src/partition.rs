//! The partition model: what one partition of DynamoDB takes a second, and how it refuses more.
//!
//! Each value of a partition key, of the table and of each index, is taken to be a partition of its
//! own: that is where DynamoDB's splitting ends for a hot key, and what a design must reckon with. A
//! partition is a bucket of write units and one of read units that fill at its rate and hold
//! [`PartitionLimits::burst`] of it.
//!
//! A call is admitted while every bucket it draws on holds anything, and pays when it is known what it
//! cost, so a bucket may go below zero and later calls pay for that: DynamoDB too learns a read's cost
//! by reading. A write draws on the index partitions it changes as well, and an index's refusal refuses
//! the write. Refused writes of a batch come back unprocessed; when all are refused, the batch is.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use dynoxide::types::{
    TRANSACTIONAL_CAPACITY_FACTOR, item_size, read_capacity_units_with_consistency,
    table_write_capacity_units, write_capacity_units,
};
use dynoxide::{Item, streams};
use serde_json::{Map, Value};

use crate::api_error::{ApiError, ThrottlingReason};
use crate::call::{Call, Touched, hold_back_keys, hold_back_writes};
use crate::clock::micros;
use crate::core::Core;
use crate::key;
use crate::ledger::Change;
use crate::limits;
use crate::table::{Index, Table};

/// The rates of every partition.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PartitionLimits {
    /// Write units a second.
    pub write_units: u32,
    /// Read units a second.
    pub read_units: u32,
    /// How much unused time a partition can save up. One second by default: the rates are DynamoDB's
    /// hard limits of a partition, which its burst capacity does not lift.
    pub burst: Duration,
}

impl Default for PartitionLimits {
    fn default() -> Self {
        Self {
            write_units: limits::PARTITION_WRITE_UNITS,
            read_units: limits::PARTITION_READ_UNITS,
            burst: Duration::from_secs(1),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Kind {
    Read,
    Write,
}

/// One bucket's name.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Place {
    kind: Kind,
    table: String,
    index: Option<String>,
    partition: String,
}

impl Place {
    fn reason(&self) -> ThrottlingReason {
        let kind = match self.kind {
            Kind::Read => "Read",
            Kind::Write => "Write",
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

/// Every partition of an engine.
#[derive(Debug)]
pub(crate) struct Partitions(Mutex<Buckets>);

/// Their buckets. One that is not held is full.
#[derive(Debug)]
struct Buckets {
    limits: PartitionLimits,
    held: HashMap<Place, Bucket>,
    swept_micros: u64,
}

#[derive(Debug, Clone, Copy)]
struct Bucket {
    units: f64,
    at_micros: u64,
}

/// The places that a call was refused at.
type Refused = BTreeSet<Place>;

impl Partitions {
    pub(crate) fn new(limits: PartitionLimits) -> Self {
        Self(Mutex::new(Buckets { limits, held: HashMap::new(), swept_micros: 0 }))
    }

    /// Runs a call as far as the partitions admit it.
    pub(crate) fn run(&self, core: &Core, mut call: Call) -> Result<String, ApiError> {
        let mut refused = Refused::new();
        let held_back = match &mut call {
            Call::BatchWrite(batch) => {
                let held = hold_back_writes(batch, |table, item| {
                    self.refuses(core, Touched { table, item }, Kind::Write, &mut refused)
                });
                let held = held.into_iter().map(|(t, w)| (t, Value::from(w)));
                Some(("UnprocessedItems", held.collect::<Map<_, _>>()))
            }
            Call::BatchGet(batch) => {
                let held = hold_back_keys(batch, |table, item| {
                    self.refuses(core, Touched { table, item }, Kind::Read, &mut refused)
                });
                Some(("UnprocessedKeys", held.into_iter().collect()))
            }
            Call::TransactWrite(_) | Call::TransactGet(_) => {
                self.admit_transaction(core, &call)?;
                None
            }
            _ => {
                self.admit(core, &call, &mut refused);
                if !refused.is_empty() {
                    return Err(throttled(&refused));
                }
                None
            }
        };
        match held_back {
            Some((member, held)) if !held.is_empty() => {
                if call.touched().is_empty() {
                    return Err(throttled(&refused));
                }
                let answer = self.run_admitted(core, call)?;
                Ok(with_unprocessed(&answer, member, held))
            }
            _ => self.run_admitted(core, call),
        }
    }

    fn admit(&self, core: &Core, call: &Call, refused: &mut Refused) {
        if let Some(place) = queried(core, call)
            && self.is_empty(&place, core)
        {
            refused.insert(place);
        }
        let kind = kind_of(call);
        for touched in call.touched() {
            self.refuses(core, touched, kind, refused);
        }
    }

    fn admit_transaction(&self, core: &Core, call: &Call) -> Result<(), ApiError> {
        let kind = kind_of(call);
        let codes: Vec<_> = call
            .touched()
            .into_iter()
            .map(|touched| {
                let refused = self.refuses(core, touched, kind, &mut Refused::new());
                if refused { THROTTLED } else { ("None", "") }
            })
            .collect();
        if codes.contains(&THROTTLED) {
            return Err(ApiError::transaction_cancelled(&codes));
        }
        Ok(())
    }

    /// Whether a partition that an item's read or write draws on is empty; which, is added to `refused`.
    fn refuses(&self, core: &Core, touched: Touched<'_>, kind: Kind, refused: &mut Refused) -> bool {
        // A table or key that does not exist is for the database to refuse.
        let Ok(Some(table)) = core.table(touched.table) else {
            return false;
        };
        let mut places: BTreeSet<_> = place(&table, None, touched.item, kind).into_iter().collect();
        if kind == Kind::Write {
            let before = table.key.of(touched.item);
            let before = before.and_then(|key| core.image(&table, &key).ok().flatten());
            for image in [Some(touched.item), before.as_ref()].into_iter().flatten() {
                let indexes = table.indexes.iter();
                places.extend(indexes.filter_map(|i| place(&table, Some(i), image, kind)));
            }
        }
        places.retain(|place| self.is_empty(place, core));
        let refuses = !places.is_empty();
        refused.extend(places);
        refuses
    }

    fn run_admitted(&self, core: &Core, call: Call) -> Result<String, ApiError> {
        let factor = match call {
            Call::TransactWrite(_) | Call::TransactGet(_) => TRANSACTIONAL_CAPACITY_FACTOR,
            _ => 1.0,
        };
        if call.operation().is_write() {
            return core.write(call, |change| {
                for (place, units) in write_costs(change) {
                    self.charge(place, units * factor, core);
                }
            });
        }
        let queried = queried(core, &call);
        let staleness = call.staleness();
        if let Call::Query(query) = call {
            let (answer, units) = core.query_metered(query, staleness)?;
            if let Some(place) = queried {
                self.charge(place, units, core);
            }
            return Ok(answer);
        }
        for touched in call.touched() {
            let Some(table) = core.table(touched.table)? else {
                continue;
            };
            let image = core.image(&table, touched.item)?;
            let size = image.as_ref().map_or(0, item_size);
            let units = read_capacity_units_with_consistency(size, staleness.is_none()) * factor;
            if let Some(place) = place(&table, None, touched.item, Kind::Read) {
                self.charge(place, units, core);
            }
        }
        core.run_unlimited(call)
    }

    fn is_empty(&self, place: &Place, core: &Core) -> bool {
        self.buckets().fill(place, core.clock().now_micros()) <= 0.0
    }

    fn charge(&self, place: Place, units: f64, core: &Core) {
        self.buckets().charge(place, units, core.clock().now_micros());
    }

    fn buckets(&self) -> MutexGuard<'_, Buckets> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Buckets {
    fn rate(&self, kind: Kind) -> f64 {
        f64::from(match kind {
            Kind::Read => self.limits.read_units,
            Kind::Write => self.limits.write_units,
        })
    }

    fn full(&self, kind: Kind) -> f64 {
        self.rate(kind) * self.limits.burst.as_secs_f64()
    }

    /// A partition's bucket as it stands now.
    fn fill(&self, place: &Place, now_micros: u64) -> f64 {
        let bucket = self.held.get(place);
        bucket.map_or(self.full(place.kind), |bucket| self.filled(place.kind, *bucket, now_micros))
    }

    fn filled(&self, kind: Kind, bucket: Bucket, now_micros: u64) -> f64 {
        let passed = Duration::from_micros(now_micros.saturating_sub(bucket.at_micros));
        let gained = passed.as_secs_f64() * self.rate(kind);
        (bucket.units + gained).min(self.full(kind))
    }

    fn charge(&mut self, place: Place, units: f64, now_micros: u64) {
        self.sweep(now_micros);
        let units = self.fill(&place, now_micros) - units;
        let at_micros = now_micros;
        self.held.insert(place, Bucket { units, at_micros });
    }

    /// Forgets the buckets that are full again, once in a burst's time and once a second at most.
    fn sweep(&mut self, now_micros: u64) {
        let every = micros(self.limits.burst).max(1_000_000);
        if now_micros.saturating_sub(self.swept_micros) < every {
            return;
        }
        self.swept_micros = now_micros;
        let held = std::mem::take(&mut self.held);
        let left = held
            .into_iter()
            .filter(|(place, bucket)| self.filled(place.kind, *bucket, now_micros) < self.full(place.kind));
        self.held = left.collect();
    }
}

const THROTTLED: (&str, &str) = (
    "ThrottlingError",
    "Throughput exceeds the current capacity for one or more global secondary indexes or the table. DynamoDB is automatically scaling.",
);

fn throttled(refused: &Refused) -> ApiError {
    let reasons: Vec<_> = refused.iter().map(Place::reason).collect();
    ApiError::throttled(&reasons)
}

fn kind_of(call: &Call) -> Kind {
    if call.operation().is_write() { Kind::Write } else { Kind::Read }
}

fn place(table: &Table, index: Option<&Index>, item: &Item, kind: Kind) -> Option<Place> {
    let key = index.map_or(&table.key, |index| &index.key);
    if index.is_some() {
        key.of(item)?;
    }
    Some(Place {
        kind,
        table: table.name.clone(),
        index: index.map(|index| index.name.clone()),
        partition: key::text(item.get(&key.partition)?),
    })
}

/// The partition that a query reads. A scan reads all of them and is not limited.
fn queried(core: &Core, call: &Call) -> Option<Place> {
    let Call::Query(query) = call else {
        return None;
    };
    let table = core.table(&query.table_name).ok()??;
    let partition = key::queried(&table, query)?;
    Some(Place { kind: Kind::Read, table: table.name.clone(), index: query.index_name.clone(), partition })
}

/// What a write to one item draws on which partitions, by DynamoDB's rules.
fn write_costs(change: &Change) -> Vec<(Place, f64)> {
    let Change { table, key, before, after, .. } = change;
    let size = |image: &Option<Item>| image.as_ref().map(item_size);
    let mut costs = Vec::new();
    if let Some(place) = place(table, None, key, Kind::Write) {
        let units = table_write_capacity_units(size(before), size(after));
        costs.push((place, units));
    }
    for index in &table.indexes {
        let entry = |image: &Option<Item>| index.entry(image.as_ref()?);
        let (old, new) = (entry(before), entry(after));
        if old == new {
            continue;
        }
        let units = |entry: &Item| write_capacity_units(item_size(entry));
        let moved = match (&old, &new) {
            (Some(old), Some(new)) => index.key.of(old) != index.key.of(new),
            _ => true,
        };
        // An entry that moves is removed from one place and written to another.
        if moved {
            for entry in [&old, &new].into_iter().flatten() {
                let place = place(table, Some(index), entry, Kind::Write);
                costs.extend(place.map(|place| (place, units(entry))));
            }
        } else if let (Some(old), Some(new)) = (&old, &new) {
            let place = place(table, Some(index), new, Kind::Write);
            costs.extend(place.map(|place| (place, units(old).max(units(new)))));
        }
    }
    costs
}

/// Puts what was held back into a batch's answer.
pub(crate) fn with_unprocessed(answer: &str, member: &str, held: Map<String, Value>) -> String {
    let mut answer: Value = serde_json::from_str(answer).expect("the answer was rendered as JSON");
    answer[member] = Value::Object(held);
    answer.to_string()
}
