//! Effects: writes and removes the entries of events, under their sources and in feeds.
//!
//! A timeline and a feed are one partition each, which takes 1,000 writes a second. A busy actor or feed must not delay
//! all others whose records are in the same lane of the stream. So after some attempts (`writer.rs`), writes to a busy
//! partition are deferred to its backlog.

use std::collections::{HashMap, HashSet};

use lately_items::{Backlog, DeferredEvent, EXPIRES_AT, EventKey, JobStep, TimelineEntry, place_in_feed};
use lately_keys::{EventId, Key, TableKey, UnixMillis, User};
use lately_table::{Condition, Corrupt, Item, TableError, Update, Write};

use crate::at_once::run_each;
use crate::fan_out::batch::FanOut;
use crate::fan_out::deferred::DeferredWrite;
use crate::fan_out::spread::{listed, spread};
use crate::limits::{BUSY_FOR, WRITES_AT_ONCE};
use crate::op::Op;

impl FanOut<'_> {
    pub(super) async fn put(self, items: Vec<Item>) -> Result<(), TableError> {
        self.writer.write(items.into_iter().map(Write::Put).collect()).await
    }

    pub(super) async fn delete(self, keys: Vec<Key>) -> Result<(), TableError> {
        self.writer.write(keys.into_iter().map(Write::Delete).collect()).await
    }

    /// Puts the first pages of some jobs.
    pub(super) async fn begin_jobs(self, first: &[JobStep]) -> Result<(), TableError> {
        run_each(WRITES_AT_ONCE, first.iter().map(async |step| self.op.table.put(&step.encode()).await))
            .await?;
        self.done.add(|all| all.jobs += first.len() as u64);
        Ok(())
    }

    /// Writes entries of some events, and defers writes to busy partitions. Returns the backlogs of the deferred writes, each
    /// with the write's event. An entry of a source's timeline is given with its key in the first shard, and is written to
    /// the shard of its time; a timeline that is too busy gets more shards (`spread.rs`).
    pub(super) async fn write(
        self,
        writes: Vec<Write>,
        events: &[DeferredWrite],
    ) -> Result<HashSet<(Backlog, EventId)>, TableError> {
        let op = self.op;
        let (mut refused, mut open, mut spreadable) = (Vec::new(), Vec::new(), HashMap::new());
        for mut write in writes {
            let entry = listed(op, &mut write);
            let key = write.key()?;
            let is_ours = || Backlog::of(&key).as_ref() == self.backlog;
            if op.memory().busy.is_noted(&key.pk, BUSY_FOR, op.ambient()) && !is_ours() {
                refused.push(key);
                continue;
            }
            spreadable.extend(entry.map(|entry| (key, entry)));
            open.push(write);
        }
        let mut again = Vec::new();
        for key in self.writer.write_or_refuse(open).await? {
            op.memory().busy.note(key.pk.clone(), op.ambient());
            match spreadable.remove(&key) {
                Some(entry) => again.push((key, entry)),
                None => refused.push(key),
            }
        }
        refused.extend(spread(self, again).await?);
        let mut deferred = HashSet::new();
        for key in refused {
            let event = events.iter().find(|later| later.event.id.sort_key().to_string() == key.sk);
            let later = Backlog::of(&key).zip(event);
            let (backlog, later) = later.ok_or_else(|| Corrupt::new(&key.pk, "sk"))?;
            self.deferred.add(backlog.clone(), later.clone(), self.record);
            deferred.insert((backlog, later.event.id));
        }
        Ok(deferred)
    }

    /// Deletes entries of an event that no longer exists, and defers deletions in busy partitions. Returns their backlogs.
    pub(super) async fn remove(
        self,
        event: DeferredEvent,
        keys: impl IntoIterator<Item = Key>,
    ) -> Result<HashSet<(Backlog, EventId)>, TableError> {
        let deletes = keys.into_iter().map(Write::Delete).collect();
        self.write(deletes, &[DeferredWrite { written: None, event }]).await
    }

    /// Deletes an event's copies in the feeds of some users. The topic of the event fans out.
    pub(super) async fn remove_copies<'u>(
        self,
        id: EventId,
        users: impl Iterator<Item = &'u User>,
        at: UnixMillis,
    ) -> Result<(), TableError> {
        let event = DeferredEvent { id, at, fans_out: true };
        self.remove(event, users.map(|user| place_in_feed(id, user))).await.map(drop)
    }
}

/// The entry of an event, if the event exists and timelines list it.
pub(super) async fn entry_of(op: &Op, key: &EventKey) -> Result<Option<TimelineEntry>, TableError> {
    let Some(event) = op.table.get(key.encode()).await? else { return Ok(None) };
    Ok(TimelineEntry::of(key, &event)?)
}

/// Gives an event's copies in some feeds the event's expiry.
pub(super) async fn restamp_copies<'u>(
    op: &Op,
    entry: &TimelineEntry,
    users: impl Iterator<Item = &'u User>,
) -> Result<(), TableError> {
    let keys: Vec<_> = users.map(|user| place_in_feed(entry.id, user)).collect();
    restamp(op, &keys, entry.expiry_in_feed(op.store.feeds.retention)).await
}

/// Gives some items another expiry. Items that do not exist are not written.
pub(super) async fn restamp(op: &Op, keys: &[Key], expires_at: Option<u64>) -> Result<(), TableError> {
    let existing = op.table.existing(keys).await?;
    run_each(WRITES_AT_ONCE, existing.into_iter().map(|key| stamp(op, key, expires_at))).await
}

/// Sets an item's expiry, if the item exists.
pub(super) async fn stamp(op: &Op, key: Key, expires_at: Option<u64>) -> Result<(), TableError> {
    let update = Update::under(key).assign(EXPIRES_AT, expires_at).only_if(Condition::any_item());
    op.table.update(&update).await.map(drop)
}
