//! Backlogs: writes that wait because their partition takes no more writes now.
//!
//! A timeline and a feed are one partition each, which takes 1,000 writes a second. A busy actor or feed must not hold
//! up all others whose records are in the same lane of the stream (a quarter of a shard, read batch by batch). So after
//! some attempts (`writer.rs`) a batch of records leaves such writes to a backlog: it puts one item for each busy
//! partition, which lists the events, and is then done. The stream record of that item begins a *step*: the step reads
//! the oldest items, handles their events as if their records had come again, puts back the remaining events, which makes
//! the next stream record, and deletes the finished items.
//!
//! These rules must hold:
//! - A batch puts an item before it answers, and a step deletes an item after it handled the item's events. A step that
//!   dies is repeated, and everything that it does may be done twice.
//! - Only the record of the oldest item begins a step, because many items make many records, and each step delays the
//!   other records of the lane. A step that leaves events behind puts the oldest item back, which makes the next
//!   record. Another step looks for items once more after it deleted the finished ones: the record of a new item may have
//!   come while older items were there, and then began no step.
//! - A step replaces and deletes an item only as the step has read it: under a condition on `step`. Lambda keeps the
//!   order of an item's records only, so two steps of a backlog may run at once. A step that finds an item changed stops,
//!   and begins the next step.
//! - A step looks up each event when it handles the event. An event that no longer exists is removed, not written.
//!
//! A step begins nothing new after a fifth of a second, because other records wait behind it.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::time::Duration;

use futures_util::stream::{self, StreamExt, TryStreamExt};
use lately_items::{
    Backlog, BacklogItem, BacklogKey, DeferredEvent, DeferredTopic, EventKey, Timeline, TimelineEntry,
    own_feed, place_in_feed,
};
use lately_keys::{BucketWidth, EventId, Key, Source, TableKey, Topic, User};
use lately_table::{Condition, Corrupt, PutIf, Query, Rounds, TableError, Write};

use crate::fan_out::batch::{FanOut, count, fresh_id};
use crate::fan_out::deferred::{DeferredEvents, DeferredWork, DeferredWrite};
use crate::fan_out::spread::in_first_shard;
use crate::limits::{BACKLOG_EVENTS_PER_STEP, BUSY_FOR, RAILS_AT_ONCE, WRITES_AT_ONCE};
use crate::op::Op;

/// After this time a step of a backlog begins nothing more, because the stream's records behind it wait.
const BACKLOG_STEP_TIME: Duration = Duration::from_millis(200);

/// Items of a backlog that one step reads: as many as a busy shard of the stream makes in some seconds.
const BACKLOG_ITEMS_PER_STEP: usize = 100;

/// Events of one item of a backlog: 10 KB.
const BACKLOG_EVENTS_PER_ITEM: usize = 500;

/// Events that a step of a feed's backlog reads at the same time: 6 MB if all have the largest size.
const BACKLOG_EVENTS_AT_ONCE: usize = 25;

impl FanOut<'_> {
    /// Writes items, and defers writes to busy partitions to the backlogs of these. Returns the keys of the deferred
    /// writes. An entry of a source's timeline is given with its key in the first shard, and is written to the shard
    /// of its time; a timeline that is too busy gets more shards (`spread.rs`).
    pub(super) async fn write_or_defer(
        &self,
        writes: Vec<Write>,
        later: impl Fn(&Key) -> DeferredWrite,
    ) -> Result<HashSet<Key>, TableError> {
        let (mut deferred, mut asked, mut listed) = (Vec::new(), Vec::new(), HashMap::new());
        for mut write in writes {
            let entry = self.listed(&mut write);
            let key = write.key()?;
            let is_ours = || Backlog::of(&key).as_ref() == self.backlog;
            if self.op.memory().busy.is_noted(&key.pk, BUSY_FOR, self.op.ambient()) && !is_ours() {
                deferred.push(key);
                continue;
            }
            listed.extend(entry.map(|entry| (key, entry)));
            asked.push(write);
        }
        let mut again = Vec::new();
        for key in self.writer.write_or_refuse(asked).await? {
            self.op.memory().busy.note(key.pk.clone(), self.op.ambient());
            match listed.remove(&key) {
                Some(entry) => again.push((key, entry)),
                None => deferred.push(key),
            }
        }
        deferred.extend(self.spread(again).await?);
        for key in &deferred {
            let backlog = Backlog::of(key).ok_or_else(|| Corrupt::new(&key.pk, "sk"))?;
            self.deferred.add(backlog, later(key), self.place);
        }
        Ok(deferred.into_iter().map(in_first_shard).collect())
    }

    /// Puts the deferred events into backlogs. Returns the places of the records for which this failed.
    pub(super) async fn put_deferred(&self, deferred: &DeferredWork) -> BTreeSet<usize> {
        let deferred = std::mem::take(&mut *deferred.all());
        let puts: Vec<_> = deferred
            .into_iter()
            .map(async |((backlog, written), DeferredEvents { events, places })| {
                let events: Vec<_> = events.into_iter().collect();
                match self.put_to(backlog, written, &events).await {
                    Ok(()) => BTreeSet::new(),
                    Err(error) => {
                        tracing::warn!(%error, "events were not put into a backlog");
                        places
                    }
                }
            })
            .collect();
        let failed = stream::iter(puts).buffer_unordered(WRITES_AT_ONCE).collect::<Vec<_>>().await;
        failed.into_iter().flatten().collect()
    }

    async fn put_to(
        &self,
        backlog: Backlog,
        written: DeferredTopic,
        events: &[DeferredEvent],
    ) -> Result<(), TableError> {
        for events in events.chunks(BACKLOG_EVENTS_PER_ITEM) {
            let key = BacklogKey { backlog: backlog.clone(), id: fresh_id(self.op)? };
            let item = BacklogItem { key, written: written.clone(), events: events.to_vec(), step: 0 };
            self.op.table.put(&item.encode()).await?;
            count(&self.done.deferred, events.len());
        }
        Ok(())
    }

    /// Runs a step of a backlog, if `records` contains the oldest item, or an item older than that which was already
    /// deleted: a step may have died after it deleted that item. Otherwise the record of the oldest item is still to come.
    pub(super) async fn work_off(
        &self,
        backlog: &Backlog,
        records: &BTreeSet<EventId>,
    ) -> Result<(), TableError> {
        let (items, more) = oldest_of(self.op, backlog).await?;
        let is_due = |first: &&BacklogItem| records.first().is_some_and(|oldest| *oldest <= first.key.id);
        let Some(first) = items.first().filter(is_due) else { return Ok(()) };
        self.done.saw(items.iter().flat_map(|item| &item.events).map(|event| event.at).min());
        let deferred = DeferredWork::default();
        let step = BacklogStep {
            fan_out: FanOut { deferred: &deferred, backlog: Some(backlog), ..*self },
            backlog,
            until: self.op.ambient().monotonic() + BACKLOG_STEP_TIME,
        };
        match backlog {
            Backlog::Source(source) => {
                step.handle_again(source, &items).await?;
                if let Source::Actor(actor) = source {
                    self.erase_deferred(actor, &items).await?;
                }
            }
            Backlog::Feed(user) => step.settle_in_feed(user, &items).await?,
        }
        let mut rest = deferred.take(backlog);
        if !self.put_deferred(&deferred).await.is_empty() {
            return Err(TableError::unavailable("events were not put into a backlog"));
        }
        if rest.is_empty() && more {
            // The oldest item is put back without events, so that there is a next step.
            rest.push((first.written.clone(), Vec::new()));
        }
        match self.put_back(backlog, items, rest).await? {
            true => Ok(()),
            false => self.begin_next(backlog).await,
        }
    }

    /// Puts back the remaining events of a step's items, and deletes the other items. Returns true if the oldest item was
    /// put, which makes the next step; false if it was deleted, or if another step has changed one of the items.
    ///
    /// The remaining events of an item are always put before the item is replaced or deleted: deleted events come first,
    /// and all others remain in an item of their topic.
    async fn put_back(
        &self,
        backlog: &Backlog,
        mut items: Vec<BacklogItem>,
        rest: Vec<(DeferredTopic, Vec<DeferredEvent>)>,
    ) -> Result<bool, TableError> {
        let oldest = items.first().map(|item| item.key.id);
        let mut makes_next = false;
        for (written, events) in rest {
            let Some(place) = items.iter().position(|item| item.written == written) else {
                // Some of the written events were deleted since, and deleted events need an item of their own.
                self.put_to(backlog.clone(), written, &events).await?;
                continue;
            };
            let item = BacklogItem { events, ..items.remove(place) };
            if !self.replace(&item).await? {
                return Ok(false);
            }
            makes_next |= Some(item.key.id) == oldest;
        }
        let deletes: Vec<_> = items
            .iter()
            .map(async |item| {
                let unchanged = Condition::equals("step", item.step);
                self.op.table.delete_if(item.key.encode(), &unchanged).await
            })
            .collect();
        let deleted: Vec<bool> = stream::iter(deletes).buffered(WRITES_AT_ONCE).try_collect().await?;
        Ok(makes_next && deleted.iter().all(|is_deleted| *is_deleted))
    }

    /// Puts the oldest item again, so that there is a next step. The item's record may have come while older items were
    /// there, and then began no step.
    async fn begin_next(&self, backlog: &Backlog) -> Result<(), TableError> {
        let mut rounds = Rounds::of(&self.op.table, "a backlog");
        while let Some(oldest) = oldest_of(self.op, backlog).await?.0.first() {
            if self.replace(oldest).await? {
                break;
            }
            rounds.lose()?;
        }
        Ok(())
    }

    /// Puts an item with its next step. Returns false if another step has changed or deleted the item.
    async fn replace(&self, item: &BacklogItem) -> Result<bool, TableError> {
        let unchanged = Condition::equals("step", item.step);
        let next = BacklogItem { step: item.step + 1, ..item.clone() };
        Ok(self.op.table.put_if(&next.encode(), &unchanged).await? == PutIf::Done)
    }
}

/// The items of a step, and whether there are more.
async fn oldest_of(op: &Op, backlog: &Backlog) -> Result<(Vec<BacklogItem>, bool), TableError> {
    let most = u32::try_from(BACKLOG_ITEMS_PER_STEP).unwrap_or(u32::MAX);
    let query = Query::partition(backlog.to_string()).limit(most).consistent(true);
    let page = op.table.query(&query).await?;
    let mut events = 0;
    let mut items = Vec::new();
    for item in &page.items {
        if events >= BACKLOG_EVENTS_PER_STEP {
            return Ok((items, true));
        }
        let item = BacklogItem::decode(item)?;
        events += item.events.len();
        items.push(item);
    }
    Ok((items, page.next.is_some()))
}

/// One step of a backlog, while it handles events.
#[derive(Clone, Copy)]
struct BacklogStep<'a> {
    fan_out: FanOut<'a>,
    backlog: &'a Backlog,
    /// The step begins nothing new after this time. It handles the events that it begins at once in any case, so a
    /// backlog comes to an end.
    until: Duration,
}

impl BacklogStep<'_> {
    /// Defers events to the next step if this step has no time for them. Returns true if they are deferred.
    fn leaves(self, written: &DeferredTopic, events: &[DeferredEvent]) -> bool {
        let FanOut { op, deferred, place, .. } = self.fan_out;
        if op.ambient().monotonic() < self.until {
            return false;
        }
        for event in events {
            deferred.add(
                self.backlog.clone(),
                DeferredWrite { written: written.clone(), event: *event },
                place,
            );
        }
        true
    }

    /// Handles events under a source as if their records had come again.
    async fn handle_again(self, source: &Source, items: &[BacklogItem]) -> Result<(), TableError> {
        let events = items.iter().flat_map(|item| item.events.iter().map(|event| (&item.written, event)));
        let handled: Vec<_> =
            events.map(|(written, event)| self.handle_left(source, written, event)).collect();
        stream::iter(handled).buffer_unordered(RAILS_AT_ONCE).try_collect().await
    }

    async fn handle_left(
        self,
        source: &Source,
        written: &DeferredTopic,
        event: &DeferredEvent,
    ) -> Result<(), TableError> {
        if self.leaves(written, std::slice::from_ref(event)) {
            return Ok(());
        }
        let DeferredEvent { id, at, .. } = *event;
        if let Some((topic, width)) = written {
            let key = EventKey::new(topic.clone(), *width, id);
            let item = self.fan_out.op.table.get(key.encode()).await?;
            let entry = item.map(|item| TimelineEntry::of(&key, &item)).transpose()?.flatten();
            if let Some(entry) = entry.filter(|entry| entry.sources().any(|listed| listed == *source)) {
                return Box::pin(self.fan_out.deliver_entry(&key, &entry, at, vec![source.clone()], None))
                    .await;
            }
        }
        // An attempt that died may have written entries, also into feeds of followers who have unfollowed since.
        Box::pin(self.fan_out.clear(event, vec![source.clone()], None, written.is_some())).await
    }

    /// Corrects a feed as regards some events: puts an entry for each event that exists and that the user follows, and
    /// deletes the entries of the others.
    async fn settle_in_feed(self, user: &User, items: &[BacklogItem]) -> Result<(), TableError> {
        for BacklogItem { written, events, .. } in items {
            for events in events.chunks(BACKLOG_EVENTS_AT_ONCE) {
                if self.leaves(written, events) {
                    continue;
                }
                let entries = match written {
                    Some((topic, width)) => self.followed(user, topic, *width, events).await?,
                    None => Vec::new(),
                };
                self.settle(user, written, events, entries).await?;
            }
        }
        Ok(())
    }

    /// The entries of the events that exist and belong into the feed now.
    async fn followed(
        self,
        user: &User,
        topic: &Topic,
        width: BucketWidth,
        events: &[DeferredEvent],
    ) -> Result<Vec<TimelineEntry>, TableError> {
        let keys = events.iter().map(|event| EventKey::new(topic.clone(), width, event.id));
        let keys: HashMap<Key, EventKey> = keys.map(|key| (key.encode(), key)).collect();
        let wanted: Vec<_> = keys.keys().cloned().collect();
        let mut entries = Vec::new();
        for item in self.fan_out.op.table.get_many(&wanted, true).await? {
            if let Some(key) = keys.get(&item.key()?) {
                entries.extend(TimelineEntry::of(key, &item)?.filter(|entry| entry.fans_out));
            }
        }
        entries.sort_by_key(|entry| entry.id);
        let edges = self.fan_out.op.user(user).edges(&entries).await?;
        entries
            .retain(|entry| is_own(entry, user) || entry.sources().any(|source| edges.contains_key(&source)));
        Ok(entries)
    }

    async fn settle(
        self,
        user: &User,
        written: &DeferredTopic,
        events: &[DeferredEvent],
        mut entries: Vec<TimelineEntry>,
    ) -> Result<(), TableError> {
        let fan_out = self.fan_out;
        let retention = fan_out.op.store.feeds().retention;
        let shown: BTreeSet<EventId> = entries.iter().map(|entry| entry.id).collect();
        let gone = events.iter().filter(|event| !shown.contains(&event.id));
        let gone = gone.map(|event| Write::Delete(place_in_feed(event.id, user)));
        let copies = entries.iter().map(|entry| Write::Put(entry.in_feed(user, retention)));
        let by_key: HashMap<Key, DeferredEvent> =
            events.iter().map(|event| (place_in_feed(event.id, user), *event)).collect();
        let later = |key: &Key| DeferredWrite { written: written.clone(), event: by_key[key] };
        let deferred = fan_out.write_or_defer(copies.chain(gone).collect(), later).await?;
        entries.retain(|entry| !deferred.contains(&place_in_feed(entry.id, user)));
        count(&fan_out.done.deliveries, entries.len());
        let ids: Vec<_> = entries.iter().map(|entry| entry.id).collect();
        fan_out.done.late_entries.add(fan_out.op.now(), &ids, [Timeline::Feed(user.clone())]);
        let (own, others): (Vec<_>, Vec<_>) = entries.into_iter().partition(|entry| is_own(entry, user));
        fan_out.feed(user).remove_deleted(own).await?;
        fan_out.feed(user).withdraw(others).await
    }
}

fn is_own(entry: &TimelineEntry, user: &User) -> bool {
    own_feed(&entry.actor).as_ref() == Some(user)
}
