//! A topic's late log: the events that were stored so late that a reader may have passed them.
//!
//! An event gets its id before it is stored, clocks differ, writes stall, and imports go into the past. So an event can
//! be stored behind the position of somebody who reads the topic in order: a consumer, or a live follower. The log is how
//! such a reader still finds the event. One log serves all readers of a topic, so the price of a late event does not grow
//! with their number, and a reader that nobody uses any more costs nothing.
//!
//! ```text
//! reader    announces how long it waits before it passes an event (once)      ANNOUNCED#{topic} / {name}
//! writer    stores the event
//! fan-out   sees the stored event, then reads the announcements consistently
//!           if a reader may have passed the event (readers.rs): raises the log's end, and puts an item with that number
//!           answers the batch
//! reader    reads the log from its own place to the end, then its range of the topic, consistently
//! ```
//!
//! **Why no event is missed.** Take an event that a reader has passed, and that its range did not hold. Then the event was
//! stored after the range was read. The reader had announced itself before, so fan-out reads its announcement, and the rule
//! says that the event is late. The item is durable before the batch is answered, and the reader goes on from its place.
//!
//! **Why a slow stream makes no work.** The rule compares the time at which the event was *stored* with the time at which
//! a reader passes it. The time at which fan-out handles the record does not matter.
//!
//! **Why the log has no gap for long.** The numbers are dense. A writer that dies between its two writes leaves a number
//! without an item. A reader that meets such a gap fills it with an empty item, under the condition that there is none. If
//! the writer is alive after all, its own put fails, and it takes another number. So a reader never has to wait, and an
//! item that a reader has passed never changes.
//!
//! **The one assumption.** The clocks of a reader and of DynamoDB differ by at most [`CLOCK_SKEW_MILLIS`]. The clock of
//! whoever writes events does not matter.
//!
//! Items expire after 100 days ([`LATE_LOG_SECONDS`]). A reader that stops for longer may miss late events.
//!
//! [`CLOCK_SKEW_MILLIS`]: crate::limits::CLOCK_SKEW_MILLIS

pub(crate) mod readers;
#[cfg(test)]
mod specification;

use std::collections::BTreeMap;

use lately_items::{LATE_SLOTS, LateBatch, LateBatchKey, LateLogEnd, LateLogKey, LatePlace};
use lately_keys::{EventId, Key, TableKey, UnixMillis};
use lately_table::limits::BATCH_KEYS;
use lately_table::{Condition, Item, Query, Rounds, TableError, Update};

use crate::at_once::collect_all;
use crate::handle::LateLogHandle;
use crate::limits::{LATE_LOG_SECONDS, WRITES_AT_ONCE};
use crate::work::delete_each;

/// The most ids in an item: 8 KB, so that a call which reads a hundred items costs at most 200 units.
const IDS_PER_ITEM: usize = 500;

/// The items that one step of a topic's deletion deletes from each partition of its log.
const DELETED_PER_SLOT: usize = 50;

impl LateLogHandle<'_> {
    /// Makes sure that the topic, which was created at this time, has a log. A reader does so before it announces itself.
    /// Returns the number of the last item. If the end of a deleted topic's log can still be seen, its numbers go on.
    pub(crate) async fn open(self, created_at: UnixMillis) -> Result<u64, TableError> {
        let mut found = self.stored_end(false).await?;
        let mut rounds = Rounds::of(&self.op.table, "the late log");
        loop {
            let number = match found {
                Some(end) if end.created_at >= created_at => return Ok(end.number),
                Some(end) => end.number,
                None => 0,
            };
            let is_of_deleted = Condition::equals(LateLogEnd::NUMBER, number)
                .and(Condition::below(LateLogEnd::CREATED, &created_at));
            let end = self.end_key().item(LateLogEnd { number, created_at });
            let may_open = Condition::no_item().or(is_of_deleted);
            let Some(there) = self.op.table.put_if(&end, &may_open).await? else { return Ok(number) };
            found = Some(LateLogEnd::decode(&there)?);
            rounds.lose()?;
        }
    }

    /// The number of the last item; 0 if there is none. The read is not consistent: a reader that gets an earlier number
    /// reads the rest the next time.
    pub(crate) async fn end(self) -> Result<u64, TableError> {
        Ok(self.stored_end(false).await?.map_or(0, |end| end.number))
    }

    /// The end of the log, if the topic has one.
    pub(crate) async fn stored_end(self, consistent: bool) -> Result<Option<LateLogEnd>, TableError> {
        let end = self.op.table.read(self.end_key().encode(), consistent).await?;
        Ok(end.as_ref().map(LateLogEnd::decode).transpose()?)
    }

    /// Adds late events to the log. They are durable when this returns. A log that was deleted with its topic stays so.
    pub(crate) async fn append(self, ids: &[EventId]) -> Result<(), TableError> {
        for ids in ids.chunks(IDS_PER_ITEM) {
            self.append_item(ids).await?;
        }
        Ok(())
    }

    async fn append_item(self, ids: &[EventId]) -> Result<(), TableError> {
        let mut rounds = Rounds::of(&self.op.table, "the late log");
        loop {
            let raise =
                Update::of(&self.end_key()).add(LateLogEnd::NUMBER, 1_u64).only_if(Condition::any_item());
            let Some(end) = self.op.table.update_and_get(&raise).await? else { return Ok(()) };
            let item = self.item(LateLogEnd::decode(&end)?.number, ids);
            let Some(there) = self.op.table.put_if(&item, &Condition::no_item()).await? else {
                return Ok(());
            };
            // An earlier attempt of this put may have been applied. Otherwise a reader has filled the gap.
            if LateBatch::decode(&there)?.ids == ids {
                return Ok(());
            }
            rounds.lose()?;
        }
    }

    fn item(self, number: u64, ids: &[EventId]) -> Item {
        let now = self.op.now();
        self.key(number).item(ids, now, now.get() / 1000 + LATE_LOG_SECONDS)
    }

    fn key(self, number: u64) -> LateBatchKey {
        LateBatchKey::new(self.topic.clone(), number)
    }

    fn end_key(self) -> LateLogKey {
        LateLogKey { topic: self.topic.clone() }
    }

    /// The items after a place, as many as one call reads, and at most up to `end`. A gap is filled. The reads are
    /// consistent.
    pub(crate) async fn read(self, place: LatePlace, end: u64) -> Result<Vec<LateBatch>, TableError> {
        let mut items = Vec::new();
        let mut found = self.stored(place.number, end).await?;
        for number in numbers(place.number, end) {
            match found.remove(&number) {
                Some(batch) => items.push(batch),
                None => items.push(self.fill(number).await?),
            }
        }
        Ok(items)
    }

    /// The stored items after a number, as many as one call reads, and at most up to `end`.
    pub(crate) async fn stored(self, after: u64, end: u64) -> Result<BTreeMap<u64, LateBatch>, TableError> {
        let keys: Vec<Key> = numbers(after, end).map(|number| self.key(number).encode()).collect();
        let mut found = BTreeMap::new();
        for item in self.op.table.get_many(&keys, true).await? {
            let batch = LateBatch::decode(&item)?;
            found.insert(batch.number, batch);
        }
        Ok(found)
    }

    /// A place before all items that were put since a time. It looks backwards from the end, in steps that double.
    pub(crate) async fn place_at(self, since: UnixMillis, end: u64) -> Result<LatePlace, TableError> {
        let mut step = 8;
        let mut first = end;
        while first > 0 {
            let after = first.saturating_sub(step);
            let found = self.stored(after, first).await?;
            first = after;
            // Older items have expired.
            let is_old = found.is_empty() || found.values().any(|batch| batch.at < since);
            if is_old {
                break;
            }
            step = (step * 2).min(BATCH_KEYS as u64);
        }
        Ok(LatePlace::after(first))
    }

    /// Fills a gap with an empty item. Returns the item that is there now.
    async fn fill(self, number: u64) -> Result<LateBatch, TableError> {
        let filler = self.item(number, &[]);
        let there = self.op.table.put_if(&filler, &Condition::no_item()).await?;
        Ok(LateBatch::decode(there.as_ref().unwrap_or(&filler))?)
    }

    /// Deletes some items of the log of a topic that is being deleted. Returns true if it found none.
    pub(crate) async fn delete_some(self) -> Result<bool, TableError> {
        let pages = (0..LATE_SLOTS).map(async |slot| {
            let query = Query::partition(LateBatchKey::partition(self.topic, slot));
            self.op.table.query_items(&query.limit(DELETED_PER_SLOT).consistent(true)).await
        });
        let mut keys = Vec::new();
        for page in collect_all(WRITES_AT_ONCE, pages).await? {
            for item in &page.items {
                keys.push(item.key()?);
            }
        }
        let is_empty = keys.is_empty();
        delete_each(self.op, keys).await?;
        Ok(is_empty)
    }

    /// The key of the item that must be deleted last.
    pub(crate) fn last_key(self) -> Key {
        self.end_key().encode()
    }
}

/// The numbers after one number that one call reads, at most up to `end`.
fn numbers(after: u64, end: u64) -> std::ops::RangeInclusive<u64> {
    after + 1..=end.min(after + BATCH_KEYS as u64)
}
