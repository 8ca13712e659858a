//! The admission of calls: decides which calls the partitions serve, and charges the units of those that they serve.
//!
//! A call draws on the buckets of the partitions that it touches. It is admitted if each of them is above zero, and
//! pays once its cost is known: DynamoDB too learns a read's cost by reading. So a call may overdraw a bucket,
//! and later calls are throttled until the bucket has filled again. A write also draws on the index partitions that it
//! changes, and an empty one throttles the write. The throttled items of a batch come back unprocessed. If all of its
//! items are throttled, the batch is.

use std::collections::BTreeSet;

use dynoxide::Item;
use dynoxide::types::{
    TRANSACTIONAL_CAPACITY_FACTOR, item_size, read_capacity_units_with_consistency,
    table_write_capacity_units, write_capacity_units,
};

use crate::api_error::ApiError;
use crate::call::{Call, ItemRequest, Touched};
use crate::change::Change;
use crate::core::Core;
use crate::image::image;
use crate::key;
use crate::partition::{AccessKind, BucketId, Part, Partitions};
use crate::table::{Index, Table};

/// The buckets that a call was refused at.
type Refused = BTreeSet<BucketId>;

/// The partitions' rates, applied to the calls of one core.
pub(crate) struct Admission<'a> {
    core: &'a Core,
    partitions: &'a Partitions,
}

impl<'a> Admission<'a> {
    pub(crate) fn new(core: &'a Core, partitions: &'a Partitions) -> Self {
        Self { core, partitions }
    }

    /// Runs a call as far as the partitions admit it.
    pub(crate) fn run(&self, mut call: Call) -> Result<String, ApiError> {
        let kind = if call.operation.is_write() { AccessKind::Write } else { AccessKind::Read };
        let mut refused = Refused::new();
        let unprocessed =
            call.hold_back(|table, item| self.refuses(Touched { table, item }, kind, &mut refused));
        match &call.request {
            // A batch is throttled only if all of its items are.
            ItemRequest::BatchWrite(_) | ItemRequest::BatchGet(_) if call.touched().is_empty() => {}
            ItemRequest::BatchWrite(_) | ItemRequest::BatchGet(_) => refused.clear(),
            ItemRequest::TransactWrite(_) | ItemRequest::TransactGet(_) => {
                self.admit_transaction(&call, kind)?
            }
            _ => {
                refused.extend(queried(self.core, &call).filter(|bucket| self.is_empty(bucket)));
                for touched in call.touched() {
                    self.refuses(touched, kind, &mut refused);
                }
            }
        }
        if !refused.is_empty() {
            let reasons: Vec<_> = refused.iter().map(BucketId::reason).collect();
            return Err(ApiError::throttled(&reasons));
        }
        Ok(unprocessed.add_to(self.run_admitted(call)?))
    }

    fn admit_transaction(&self, call: &Call, kind: AccessKind) -> Result<(), ApiError> {
        let codes: Vec<_> = call
            .touched()
            .into_iter()
            .map(|touched| {
                let refused = self.refuses(touched, kind, &mut Refused::new());
                if refused { THROTTLED } else { ("None", "") }
            })
            .collect();
        if codes.contains(&THROTTLED) {
            return Err(ApiError::transaction_cancelled(&codes));
        }
        Ok(())
    }

    /// True if a partition that an item's read or write draws on is empty. The empty buckets are added to `refused`.
    fn refuses(&self, touched: Touched<'_>, kind: AccessKind, refused: &mut Refused) -> bool {
        // The database itself refuses a table or key that does not exist.
        let Ok(Some(table)) = self.core.table(touched.table) else { return false };
        let mut buckets: BTreeSet<_> = bucket_of(&table, None, touched.item, kind).into_iter().collect();
        if kind == AccessKind::Write {
            let before = table.key.of(touched.item);
            let before = before.and_then(|key| image(&self.core.db, &table, &key).ok().flatten());
            for image in [Some(touched.item), before.as_ref()].into_iter().flatten() {
                let indexes = table.indexes.iter();
                buckets.extend(indexes.filter_map(|i| bucket_of(&table, Some(i), image, kind)));
            }
        }
        buckets.retain(|bucket| self.is_empty(bucket));
        let refuses = !buckets.is_empty();
        refused.extend(buckets);
        refuses
    }

    fn run_admitted(&self, call: Call) -> Result<String, ApiError> {
        let factor = if call.operation.is_transaction() { TRANSACTIONAL_CAPACITY_FACTOR } else { 1.0 };
        if call.operation.is_write() {
            return self.core.write(call, |change| {
                for (bucket, units) in write_costs(change) {
                    self.charge(bucket, units * factor);
                }
            });
        }
        let queried = queried(self.core, &call);
        let staleness = call.staleness();
        if let ItemRequest::Query(query) = call.request {
            let (answer, units) = self.core.query_metered(query, staleness)?;
            if let Some(bucket) = queried {
                self.charge(bucket, units);
            }
            return Ok(answer);
        }
        for touched in call.touched() {
            let Some(table) = self.core.table(touched.table)? else {
                continue;
            };
            let image = image(&self.core.db, &table, touched.item)?;
            let size = image.as_ref().map_or(0, item_size);
            let units = read_capacity_units_with_consistency(size, staleness.is_none()) * factor;
            if let Some(bucket) = bucket_of(&table, None, touched.item, AccessKind::Read) {
                self.charge(bucket, units);
            }
        }
        self.core.run_unlimited(call)
    }

    fn is_empty(&self, bucket: &BucketId) -> bool {
        self.partitions.is_empty(bucket, self.core.clock.now_micros())
    }

    fn charge(&self, bucket: BucketId, units: f64) {
        self.partitions.charge(&bucket, units, self.core.clock.now_micros());
    }
}

const THROTTLED: (&str, &str) = (
    "ThrottlingError",
    "Throughput exceeds the current capacity for one or more global secondary indexes or the table. DynamoDB is automatically scaling.",
);

fn bucket_of(table: &Table, index: Option<&Index>, item: &Item, kind: AccessKind) -> Option<BucketId> {
    let key = index.map_or(&table.key, |index| &index.key);
    if index.is_some() {
        key.of(item)?;
    }
    Some(BucketId {
        kind,
        table: table.name.clone(),
        index: index.map(|index| index.name.clone()),
        part: Part::Key(key::text(item.get(&key.partition)?)),
    })
}

/// The partition that a query reads. A scan reads all of them and is not limited.
fn queried(core: &Core, call: &Call) -> Option<BucketId> {
    let ItemRequest::Query(query) = &call.request else { return None };
    let table = core.table(&query.table_name).ok()??;
    let partition = table.queried_partition(query)?;
    Some(BucketId {
        kind: AccessKind::Read,
        table: table.name.clone(),
        index: query.index_name.clone(),
        part: Part::Key(partition),
    })
}

/// The units that a write to one item draws on each partition, by DynamoDB's rules.
fn write_costs(change: &Change) -> Vec<(BucketId, f64)> {
    let Change { table, key, before, after, .. } = change;
    let size = |image: &Option<Item>| image.as_ref().map(item_size);
    let mut costs = Vec::new();
    if let Some(bucket) = bucket_of(table, None, key, AccessKind::Write) {
        let units = table_write_capacity_units(size(before), size(after));
        costs.push((bucket, units));
    }
    for index in &table.indexes {
        let entry = |image: &Option<Item>| index.entry(image.as_ref()?);
        let (old, new) = (entry(before), entry(after));
        if old == new {
            continue;
        }
        let units = |entry: &Item| write_capacity_units(item_size(entry));
        let mut add = |entry: &Item, units: f64| {
            let bucket = bucket_of(table, Some(index), entry, AccessKind::Write);
            costs.extend(bucket.map(|bucket| (bucket, units)));
        };
        match (&old, &new) {
            (Some(old), Some(new)) if index.key.of(old) == index.key.of(new) => {
                add(new, units(old).max(units(new)));
            }
            // An entry that moves is a delete in one partition and a put in another.
            _ => [&old, &new].into_iter().flatten().for_each(|entry| add(entry, units(entry))),
        }
    }
    costs
}
