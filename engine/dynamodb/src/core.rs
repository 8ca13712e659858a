//! The engine's core: one database, and the lock under which every write runs.
//!
//! A write reads the items that it names, runs, reads them again, and records the changes, all under the ledger's lock.
//! Nothing here awaits: dynoxide's calls take microseconds in SQLite, so running them on the caller's thread is cheaper
//! than handing them to another.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use dynoxide::actions::query::QueryRequest;
use dynoxide::actions::scan::ScanRequest;
use dynoxide::types::capacity_wanted;
use dynoxide::{Database, DynoxideError, Item};
use tokio::sync::watch;

use crate::api_error::ApiError;
use crate::call::{Call, ItemRequest, Staleness, Touched, render};
use crate::change::Change;
use crate::clock::Clock;
use crate::directory_lock::DirectoryLock;
use crate::image::{image, set_image};
use crate::journal::{IntendedItem, Intent};
use crate::ledger::Ledger;
use crate::limits;
use crate::options::Options;
use crate::partition::Partitions;
use crate::stream::SequenceNumber;
use crate::table::Table;

pub(crate) struct Core {
    pub(crate) db: Database,
    pub(crate) clock: Clock,
    ledger: Mutex<Ledger>,
    /// The partitions, if their rates are limited.
    pub(crate) partitions: Option<Partitions>,
    pub(crate) changes: watch::Sender<SequenceNumber>,
    /// Held as long as the engine uses the directory.
    _lock: Option<DirectoryLock>,
}

impl Core {
    pub(crate) fn new(db: Database, ledger: Ledger, options: &Options, lock: Option<DirectoryLock>) -> Self {
        let changes = watch::Sender::new(ledger.newest);
        Self {
            db,
            clock: options.clock.clone(),
            ledger: Mutex::new(ledger),
            partitions: options.partitions.map(Partitions::new),
            changes,
            _lock: lock,
        }
    }

    /// The lock under which writes run. A holder that panics leaves no state that harms the next holder, so a poisoned
    /// lock is used as any other.
    pub(crate) fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A table's description. `None` if the table does not exist.
    pub(crate) fn table(&self, name: &str) -> Result<Option<Arc<Table>>, DynoxideError> {
        self.ledger().table(&self.db, name)
    }

    /// Runs a call that reads or writes items, without regard to the partitions' rates.
    pub(crate) fn run_unlimited(&self, call: Call) -> Result<String, ApiError> {
        if call.operation.is_write() {
            return self.write(call, |_| ());
        }
        if let ItemRequest::TransactGet(_) = call.request {
            self.show(&call.touched())?;
        }
        let replica = self.replica(call.staleness())?;
        call.run(replica.as_ref().unwrap_or(&self.db))
    }

    /// Runs a query, and returns the units that it consumed. The response has them only if the request asked for them.
    pub(crate) fn query_metered(
        &self,
        mut query: QueryRequest,
        staleness: Option<Staleness>,
    ) -> Result<(String, f64), ApiError> {
        let wanted = capacity_wanted(query.return_consumed_capacity.as_deref());
        if !wanted {
            query.return_consumed_capacity = Some("TOTAL".to_owned());
        }
        let replica = self.replica(staleness)?;
        let mut answer = replica.as_ref().unwrap_or(&self.db).query(query)?;
        let consumed = answer.consumed_capacity.as_ref();
        let units = consumed.map_or(0.0, |consumed| consumed.capacity_units);
        if !wanted {
            answer.consumed_capacity = None;
        }
        Ok((render(Ok(answer))?, units))
    }

    /// The replica that answers a read. `None`: the database itself answers.
    fn replica(&self, staleness: Option<Staleness>) -> Result<Option<Database>, ApiError> {
        match (staleness, &mut self.ledger().replicas) {
            (Some(staleness), Some(replicas)) => Ok(replicas.choose(staleness, self.clock.now_micros())?),
            _ => Ok(None),
        }
    }

    /// Runs a write and captures its changes. `seen` is called with the effect on each item that the write names, also
    /// on an unchanged one.
    pub(crate) fn write(&self, call: Call, mut seen: impl FnMut(&Change)) -> Result<String, ApiError> {
        let mut ledger = self.ledger();
        let mut changes = Vec::new();
        for (position, touched) in call.touched().into_iter().enumerate() {
            let Some((table, key)) = ledger.item(&self.db, touched)? else { continue };
            self.show_item(&mut ledger, &table, &key)?;
            let before = image(&self.db, &table, &key)?;
            let is_held_back = call.held_back.contains(&position);
            changes.push((Change { table, key, before, after: None, expired: false }, is_held_back));
        }
        ledger.intend(changes.iter().map(|(change, _)| change), self.clock.now_micros())?;
        let answer = call.run(&self.db);
        for (mut change, is_held_back) in changes {
            change.after = image(&self.db, &change.table, &change.key)?;
            seen(&change);
            if is_held_back && change.before != change.after {
                set_image(&self.db, &change.table.name, &change.key, change.before.clone())?;
                ledger.held_back.add(change);
            } else {
                ledger.record(&change, self.clock.now_micros())?;
            }
        }
        self.announce(&ledger);
        answer
    }

    /// Records the changes of a write whose process was killed before it had recorded all of them.
    pub(crate) fn finish(&self, intent: Intent) -> Result<(), ApiError> {
        let Intent { at_micros, expired, items, .. } = intent;
        let mut ledger = self.ledger();
        for IntendedItem { table, label, key, old: before } in items {
            let table = ledger.table(&self.db, &table)?;
            let same_stream =
                |table: &Arc<Table>| table.stream.as_ref().is_some_and(|stream| stream.label == label);
            if let Some(table) = table.filter(same_stream) {
                let after = image(&self.db, &table, &key)?;
                ledger.record(&Change { table, key, before, after, expired }, at_micros)?;
            }
        }
        Ok(())
    }

    /// Wakes the readers that wait for records, if there are new ones.
    pub(crate) fn announce(&self, ledger: &Ledger) {
        let newest = ledger.newest;
        self.changes.send_if_modified(|known| {
            let modified = *known != newest;
            *known = newest;
            modified
        });
    }
}

/// The changes of transactions that are shown later: see `Fault::HalfVisible`.
impl Core {
    /// Shows the changes that are held back for these items.
    pub(crate) fn show(&self, items: &[Touched<'_>]) -> Result<(), ApiError> {
        let mut ledger = self.ledger();
        for touched in items {
            if let Some((table, key)) = ledger.item(&self.db, *touched)? {
                self.show_item(&mut ledger, &table, &key)?;
            }
        }
        self.announce(&ledger);
        Ok(())
    }

    fn show_item(&self, ledger: &mut Ledger, table: &Table, key: &Item) -> Result<(), ApiError> {
        match ledger.held_back.remove(table, key) {
            Some(change) => self.show_change(ledger, &change),
            None => Ok(()),
        }
    }

    /// Shows all changes that are held back.
    pub(crate) fn show_all(&self, ledger: &mut Ledger) -> Result<(), ApiError> {
        for change in ledger.held_back.remove_all() {
            self.show_change(ledger, &change)?;
        }
        self.announce(ledger);
        Ok(())
    }

    fn show_change(&self, ledger: &mut Ledger, change: &Change) -> Result<(), ApiError> {
        ledger.intend([change], self.clock.now_micros())?;
        set_image(&self.db, &change.table.name, &change.key, change.after.clone())?;
        ledger.record(change, self.clock.now_micros())
    }
}

/// Expiry.
impl Core {
    /// Indexes a page of the items that the index of expiry times lacks, and removes up to `limit` expired items, as the
    /// TTL service does.
    pub(crate) fn expire(&self, limit: usize) -> Result<usize, ApiError> {
        let now = self.clock.now();
        let until = now.as_secs();
        let from = now.saturating_sub(limits::TTL_HORIZON).as_secs();
        let mut ledger = self.ledger();
        self.show_all(&mut ledger)?;
        self.index_expiry(&mut ledger)?;
        let due = ledger.expiry.due(from, until, limit);
        for (table, key) in &due {
            self.expire_item(&mut ledger, table, key)?;
        }
        self.announce(&ledger);
        Ok(due.len())
    }

    /// Removes an item that the index of expiry times lists. Item and index change under one lock, so the item is still
    /// expired.
    fn expire_item(&self, ledger: &mut Ledger, table: &str, key: &Item) -> Result<(), ApiError> {
        let Some(table) = ledger.table(&self.db, table)? else { return Ok(()) };
        let before = image(&self.db, &table, key)?;
        let change = Change { table, key: key.clone(), before, after: None, expired: true };
        ledger.intend([&change], self.clock.now_micros())?;
        set_image(&self.db, &change.table.name, key, None)?;
        ledger.record(&change, self.clock.now_micros())
    }

    /// Indexes the next page of items of a table that is not indexed yet.
    fn index_expiry(&self, ledger: &mut Ledger) -> Result<(), ApiError> {
        let Some((name, exclusive_start_key)) = ledger.expiry.next_page() else { return Ok(()) };
        let mut last = None;
        if let Some(table) = ledger.table(&self.db, &name)?
            && table.ttl_attribute.is_some()
        {
            let request =
                ScanRequest { table_name: name.clone(), exclusive_start_key, ..ScanRequest::default() };
            let page = self.db.scan(request)?;
            for item in page.items.into_iter().flatten() {
                let Some(key) = table.key.of(&item) else { continue };
                let (table, after) = (Arc::clone(&table), Some(item));
                ledger.expiry.observe(&Change { table, key, before: None, after, expired: false });
            }
            last = page.last_evaluated_key;
        }
        ledger.expiry.indexed_up_to(&name, last);
        Ok(())
    }
}

impl std::fmt::Debug for Core {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Core").finish_non_exhaustive()
    }
}
