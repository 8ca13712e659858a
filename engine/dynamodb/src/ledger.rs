//! The engine's state besides the items: tables' descriptions, stream logs, expiry times, replicas.
//!
//! One lock guards the ledger. It is derived only from the changes, in their order.

use std::collections::HashMap;
use std::sync::Arc;

use dynoxide::types::item_size;
use dynoxide::{Database, DynoxideError, Item};
use serde_json::value::{RawValue, to_raw_value};

use crate::api_error::ApiError;
use crate::call::Touched;
use crate::change::Change;
use crate::expiry::Expiry;
use crate::held_back::HeldBack;
use crate::journal::{IntendedItem, Intent, Journal, JournalRest};
use crate::options::Options;
use crate::replica::Replicas;
use crate::seed;
use crate::stream::{EventName, Log, Record, SequenceNumber};
use crate::table::{StreamView, Table};

pub(crate) struct Ledger {
    tables: HashMap<String, Arc<Table>>,
    logs: HashMap<String, Log>,
    pub(crate) expiry: Expiry,
    pub(crate) replicas: Option<Replicas>,
    pub(crate) held_back: HeldBack,
    journal: Option<Journal>,
    /// The newest record's position in the order of changes.
    pub(crate) newest: SequenceNumber,
    options: Options,
}

impl Ledger {
    pub(crate) fn new(options: &Options) -> Result<Self, DynoxideError> {
        Ok(Self {
            tables: HashMap::new(),
            logs: HashMap::new(),
            expiry: Expiry::default(),
            replicas: options.lag.map(Replicas::new).transpose()?,
            held_back: HeldBack::default(),
            journal: None,
            newest: SequenceNumber::START,
            options: options.clone(),
        })
    }

    /// A table's description, read once and cached until [`Ledger::forget`].
    pub(crate) fn table(&mut self, db: &Database, name: &str) -> Result<Option<Arc<Table>>, DynoxideError> {
        if let Some(table) = self.tables.get(name) {
            return Ok(Some(Arc::clone(table)));
        }
        let Some(table) = Table::load(db, name)? else { return Ok(None) };
        let table = Arc::new(table);
        self.tables.insert(name.to_owned(), Arc::clone(&table));
        Ok(Some(table))
    }

    /// The table and the key of an item that a call names. `None` if the table does not exist, or the item has no key.
    pub(crate) fn item(
        &mut self,
        db: &Database,
        touched: Touched<'_>,
    ) -> Result<Option<(Arc<Table>, Item)>, DynoxideError> {
        let table = self.table(db, touched.table)?;
        Ok(table.and_then(|table| Some((Arc::clone(&table), table.key.of(touched.item)?))))
    }

    /// Forgets the description of a table that has changed.
    pub(crate) fn forget(&mut self, name: &str) {
        self.tables.remove(name);
    }

    /// Forgets everything about a deleted table.
    pub(crate) fn drop_table(&mut self, name: &str) {
        self.tables.remove(name);
        self.logs.remove(name);
        self.expiry.drop_table(name);
    }

    /// A stream's records.
    pub(crate) fn log(&mut self, table: &str) -> Option<&mut Log> {
        self.logs.get_mut(table)
    }

    /// The log of a table that has a stream, created if necessary.
    pub(crate) fn open_log(&mut self, table: &str) -> &mut Log {
        let Options { shards, retention, .. } = self.options;
        let log = self.logs.entry(table.to_owned());
        log.or_insert_with(|| Log::new(shards, retention))
    }

    /// Drops the log of a table whose stream was switched off.
    pub(crate) fn close_log(&mut self, table: &str) {
        self.logs.remove(table);
    }

    /// Records a change in the stream, the expiry times and the replicas.
    pub(crate) fn record(&mut self, change: &Change, now_micros: u64) -> Result<(), ApiError> {
        if change.before == change.after {
            return Ok(());
        }
        self.expiry.observe(change);
        if let Some(replicas) = &mut self.replicas {
            replicas.observe(change, now_micros)?;
        }
        let Some(stream) = &change.table.stream else { return Ok(()) };
        let sequence = SequenceNumber(self.newest.0 + 1);
        let record = Arc::new(capture(change, stream.view, sequence, now_micros));
        let partition = change.table.partition_of(&change.key).unwrap_or_default();
        let log = self.open_log(&change.table.name);
        let hash = seed::hash(&partition);
        log.append(hash, Arc::clone(&record));
        self.newest = sequence;
        if let Some(journal) = &mut self.journal
            && let Err(error) = journal.append(&change.table.name, &stream.label, hash, &record)
        {
            // The write is committed and its record is not lost: the journal appends it before the next write.
            tracing::warn!(%error, "a record of the stream waits until the folder can be written");
        }
        Ok(())
    }

    /// Writes the intent of a write to the journal, if there is one. Called before the write runs.
    pub(crate) fn intend<'a>(
        &mut self,
        changes: impl IntoIterator<Item = &'a Change>,
        at_micros: u64,
    ) -> Result<(), ApiError> {
        let Some(journal) = &mut self.journal else { return Ok(()) };
        let mut intent = Intent { after: self.newest, at_micros, expired: false, items: Vec::new() };
        for change in changes {
            let Some(stream) = &change.table.stream else {
                continue;
            };
            intent.expired = change.expired;
            intent.items.push(IntendedItem {
                table: change.table.name.clone(),
                label: stream.label.clone(),
                key: change.key.clone(),
                old: change.before.clone(),
            });
        }
        if intent.items.is_empty() {
            return Ok(());
        }
        journal.intend(&intent).map_err(|error| {
            tracing::warn!(%error, "the stream's journal cannot be written, so a write is refused");
            ApiError::internal()
        })
    }

    /// Drops the records of a table up to a position in each shard, but the `retained` newest of all shards. The
    /// journal drops its segments that no stream needs any more.
    pub(crate) fn forget_settled(&mut self, table: &str, settled: &[SequenceNumber], retained: u64) {
        let old = SequenceNumber(self.newest.0.saturating_sub(retained));
        let Some(log) = self.logs.get_mut(table) else { return };
        for (shard, settled) in (0..).zip(settled) {
            log.forget(shard, old.min(*settled));
        }
        let oldest = self.logs.values().filter_map(Log::oldest_micros).min();
        if let (Some(journal), Some(oldest)) = (&self.journal, oldest)
            && let Err(error) = journal.drop_before(oldest)
        {
            tracing::warn!(%error, "old records of the stream cannot be deleted");
        }
    }

    /// Continues a journal: adds its records to the logs, and appends new records to it from now on. Returns the intent
    /// that is unfinished.
    pub(crate) fn continue_journal(&mut self, journal: Journal, rest: JournalRest) -> Option<Intent> {
        self.newest = rest.newest;
        for line in rest.lines {
            let table = self.tables.get(&line.table);
            let stream = table.and_then(|table| table.stream.as_ref());
            // The record of an earlier table or stream of the same name has another label.
            if stream.is_none_or(|stream| stream.label != line.label) {
                continue;
            }
            self.open_log(&line.table).append(line.hash, Arc::new(line.record));
        }
        self.journal = Some(journal);
        rest.intent
    }
}

fn capture(change: &Change, view: StreamView, sequence: SequenceNumber, at_micros: u64) -> Record {
    let old = change.before.as_ref().filter(|_| view.has_old());
    let new = change.after.as_ref().filter(|_| view.has_new());
    let size = item_size(&change.key) + old.map_or(0, item_size) + new.map_or(0, item_size);
    Record {
        sequence,
        event: match (&change.before, &change.after) {
            (None, _) => EventName::Insert,
            (_, None) => EventName::Remove,
            _ => EventName::Modify,
        },
        at_micros,
        expired: change.expired,
        size_bytes: size as u64,
        keys: json(&change.key),
        old: old.map(json),
        new: new.map(json),
    }
}

fn json(item: &Item) -> Box<RawValue> {
    to_raw_value(item).expect("an item has string keys")
}
