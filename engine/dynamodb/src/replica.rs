//! Replicas that lag behind the database. They answer eventually consistent reads and reads of an index.
//!
//! A replica is a second database in memory that receives the same changes later. Each change becomes visible after a
//! lag drawn from the seed, never before an earlier change of its partition. So a read of a partition always sees a
//! prefix of its changes, as DynamoDB allows, while different partitions lag by different times. Successive reads may
//! go back in time, because some are answered by a lagging replica and others by the database itself. The items of a
//! transaction become visible one by one.

use std::collections::btree_map::OccupiedEntry;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::time::Duration;

use dynoxide::{Database, DynoxideError, Item};

use crate::api_error::ApiError;
use crate::call::{Staleness, parse};
use crate::change::Change;
use crate::clock::micros;
use crate::error::EngineError;
use crate::image::set_image;
use crate::operation::Operation;
use crate::{limits, seed};

/// The lag of eventually consistent reads.
#[derive(Debug, Clone, Copy)]
pub struct Lag {
    /// The seed. It decides the lag of each change, and which reads a replica answers.
    pub seed: u64,
    /// The longest time until eventually consistent reads of the table see a change.
    pub table: Duration,
    /// The longest time until reads of an index see a change.
    pub index: Duration,
    /// The share of these reads that a lagging replica answers, from 0.0 to 1.0.
    pub behind: f64,
}

/// The two replicas of an engine: one for reads of tables, one for reads of indexes.
pub(crate) struct Replicas {
    lag: Lag,
    table: Replica,
    index: Replica,
    reads: u64,
}

/// The stream of draws that decides which reads a replica answers. Each replica draws its lags from a stream of its
/// own.
const READS: u64 = 0;

impl Replicas {
    pub(crate) fn new(lag: Lag) -> Result<Self, DynoxideError> {
        Ok(Self {
            lag,
            table: Replica::new(lag.seed, 1, lag.table)?,
            index: Replica::new(lag.seed, 2, lag.index)?,
            reads: 0,
        })
    }

    /// Makes both replicas copies of the database, by way of a file in `folder`. Nobody may write to the database
    /// meanwhile.
    pub(crate) fn copy(&mut self, db: &Database, folder: &Path) -> Result<(), EngineError> {
        let copy = folder.join("replica.sqlite");
        if copy.exists() {
            std::fs::remove_file(&copy)?;
        }
        let path = copy.to_str().ok_or_else(|| std::io::Error::other("the path is not UTF-8"))?;
        db.vacuum_into(path)?;
        self.table.db.restore_from(path)?;
        self.index.db.restore_from(path)?;
        Ok(std::fs::remove_file(&copy)?)
    }

    /// Repeats an operation on tables at once: such operations have no lag.
    pub(crate) fn control(&mut self, operation: Operation, body: &[u8]) -> Result<(), ApiError> {
        for replica in [&mut self.table, &mut self.index] {
            replica.apply_until(u64::MAX, usize::MAX)?;
            match operation {
                Operation::CreateTable => drop(replica.db.create_table(parse(operation, body)?)?),
                Operation::DeleteTable => drop(replica.db.delete_table(parse(operation, body)?)?),
                _ => drop(replica.db.update_table(parse(operation, body)?)?),
            }
        }
        Ok(())
    }

    pub(crate) fn observe(&mut self, change: &Change, now_micros: u64) -> Result<(), DynoxideError> {
        self.table.observe(change, now_micros)?;
        self.index.observe(change, now_micros)
    }

    /// The replica that answers a read. `None`: the database itself answers.
    pub(crate) fn choose(
        &mut self,
        staleness: Staleness,
        now_micros: u64,
    ) -> Result<Option<Database>, DynoxideError> {
        self.reads += 1;
        if seed::fraction(self.lag.seed, READS, self.reads) >= self.lag.behind {
            return Ok(None);
        }
        let replica = match staleness {
            Staleness::Table => &mut self.table,
            Staleness::Index => &mut self.index,
        };
        replica.apply_until(now_micros, usize::MAX)?;
        Ok(Some(replica.db.clone()))
    }
}

struct Replica {
    db: Database,
    seed: u64,
    stream: u64,
    longest_micros: u64,
    changes: u64,
    /// The changes that are not visible yet, by the time at which they become visible and their number.
    pending: BTreeMap<(u64, u64), Pending>,
    /// The time at which the last pending change of each partition becomes visible.
    visible_micros: HashMap<String, u64>,
}

struct Pending {
    table: String,
    partition: String,
    key: Item,
    after: Option<Item>,
}

impl Replica {
    fn new(seed: u64, stream: u64, longest: Duration) -> Result<Self, DynoxideError> {
        Ok(Self {
            db: Database::memory()?,
            seed,
            stream,
            longest_micros: micros(longest),
            changes: 0,
            pending: BTreeMap::new(),
            visible_micros: HashMap::new(),
        })
    }

    fn observe(&mut self, change: &Change, now_micros: u64) -> Result<(), DynoxideError> {
        self.apply_until(now_micros, limits::APPLIED_PER_CHANGE)?;
        self.changes += 1;
        let lag = seed::up_to(self.longest_micros, self.seed, self.stream, self.changes);
        let table = &change.table;
        let partition = table.partition_of(&change.key).unwrap_or_default();
        let partition = format!("{}/{partition}", table.name);
        let visible = self.visible_micros.entry(partition.clone()).or_default();
        *visible = (*visible).max(now_micros.saturating_add(lag));
        let (key, after) = (change.key.clone(), change.after.clone());
        let pending = Pending { table: table.name.clone(), partition, key, after };
        self.pending.insert((*visible, self.changes), pending);
        Ok(())
    }

    /// Applies the changes that are visible by now, at most `most` of them.
    fn apply_until(&mut self, now_micros: u64, most: usize) -> Result<(), DynoxideError> {
        for _ in 0..most {
            let next = self.pending.first_entry().filter(|next| next.key().0 <= now_micros);
            let Some(((visible_micros, _), next)) = next.map(OccupiedEntry::remove_entry) else {
                return Ok(());
            };
            if self.visible_micros.get(&next.partition) == Some(&visible_micros) {
                self.visible_micros.remove(&next.partition);
            }
            set_image(&self.db, &next.table, &next.key, next.after)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use aws_sdk_dynamodb::types::AttributeValue;

    use super::*;
    use crate::clock::Clock;
    use crate::{Attribute, Engine, KeyNames, Options, TableDefinition};

    #[tokio::test]
    async fn a_replica_without_readers_holds_only_changes_within_its_lag() {
        let lag = |seconds| Duration::from_secs(seconds);
        let lag = Lag { seed: 0, table: lag(10), index: lag(10), behind: 1.0 };
        let clock = Clock::manual(Duration::from_secs(1));
        let engine = Engine::memory(&Options { clock: clock.clone(), lag: Some(lag), ..Options::default() });
        let engine = engine.unwrap();
        let table = TableDefinition {
            attributes: vec![Attribute { name: "pk".to_owned(), kind: "S".to_owned() }],
            key: KeyNames { partition: "pk".to_owned(), sort: None },
            indexes: Vec::new(),
            ttl_attribute: None,
            stream: None,
        };
        engine.create_table(&table, "lately").unwrap();
        for number in 0..500 {
            let put = engine.client().put_item().table_name("lately");
            put.item("pk", AttributeValue::S(number.to_string())).send().await.unwrap();
            clock.advance(Duration::from_secs(1));
        }
        let ledger = engine.core.ledger();
        let replicas = ledger.replicas.as_ref().unwrap();
        for replica in [&replicas.table, &replicas.index] {
            assert!(replica.pending.len() <= 12, "{}", replica.pending.len());
            assert_eq!(replica.visible_micros.len(), replica.pending.len());
        }
    }
}
