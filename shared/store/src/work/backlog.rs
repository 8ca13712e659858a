//! The queue of a backlog: several items in one partition, and only the record of the oldest one begins a step.
//!
//! A busy partition makes many items, and each step delays the other records of its lane. So `queue.rs`, which runs a step
//! for each item, is not for backlogs.
//!
//! These rules must hold:
//! - A step deletes an item after it handled the item's events.
//! - A step that could not handle all events puts the oldest item again, which makes the next record. Any other step looks for
//!   items once more after it deleted the finished ones: the record of a new item may have come while older items
//!   existed, and then began no step.
//! - A step replaces and deletes an item only as the step has read it: under a condition on the item's number of puts.
//!   Lambda keeps the order of an item's records only, so two steps of a backlog may run at once. A step that finds an
//!   item changed stops, and begins the next step.

use std::collections::BTreeSet;

use lately_items::{BacklogItem, BacklogKey, DeferredEvent, DeferredTopic, StepName};
use lately_keys::{EventId, TableKey};
use lately_table::{Condition, Query, Rounds, TableError};

use crate::at_once::collect_all;
use crate::handle::BacklogQueue;
use crate::limits::{BACKLOG_EVENTS_PER_STEP, WRITES_AT_ONCE};

/// Items of a backlog that one step reads: as many as a busy shard of the stream makes in some seconds.
const BACKLOG_ITEMS_PER_STEP: usize = 100;

/// Events of one item of a backlog: 10 KB.
const BACKLOG_EVENTS_PER_ITEM: usize = 500;

impl BacklogQueue<'_> {
    /// Puts events into new items.
    pub(crate) async fn put(
        self,
        written: &DeferredTopic,
        events: &[DeferredEvent],
    ) -> Result<(), TableError> {
        for events in events.chunks(BACKLOG_EVENTS_PER_ITEM) {
            let key = BacklogKey { backlog: self.backlog.clone(), id: self.op.new_id()? };
            let item = BacklogItem { key, written: written.clone(), events: events.to_vec(), step: 0 };
            self.op.table.put(&item.encode()).await?;
        }
        Ok(())
    }

    /// The oldest items, and whether there are more, if `records` contains the oldest item, or an item older than that
    /// which was already deleted: a step may have died after it deleted that item. Otherwise the record of the oldest item
    /// is still to come.
    pub(crate) async fn due(
        self,
        records: &BTreeSet<EventId>,
    ) -> Result<Option<(Vec<BacklogItem>, bool)>, TableError> {
        let (items, has_more) = self.oldest().await?;
        let is_due = |first: &BacklogItem| records.first().is_some_and(|oldest| *oldest <= first.key.id);
        Ok(items.first().is_some_and(is_due).then_some((items, has_more)))
    }

    /// The oldest items, and whether there are more.
    async fn oldest(self) -> Result<(Vec<BacklogItem>, bool), TableError> {
        let query = Query::partition(self.backlog.to_string()).limit(BACKLOG_ITEMS_PER_STEP).consistent(true);
        let page = self.op.table.query(&query).await?;
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

    /// Ends a step: puts the remaining events of its items, and deletes the other items. Makes sure that there is a next
    /// step if items exist.
    pub(crate) async fn finish(
        self,
        mut items: Vec<BacklogItem>,
        has_more: bool,
        mut rest: Vec<(DeferredTopic, Vec<DeferredEvent>)>,
    ) -> Result<(), TableError> {
        if let Some(first) = items.first().filter(|_| rest.is_empty() && has_more) {
            // The oldest item is put again without events, so that there is a next step.
            rest.push((first.written.clone(), Vec::new()));
        }
        if self.put_rest(&mut items, rest).await? {
            return Ok(());
        }
        let mut rounds = Rounds::of(&self.op.table, "a backlog");
        while let Some(oldest) = self.oldest().await?.0.first() {
            if self.replace(oldest).await? {
                break;
            }
            rounds.lose()?;
        }
        Ok(())
    }

    /// Puts the remaining events, and deletes the other items. Returns true if the oldest item was put, which makes the
    /// next step; false if it was deleted, or if another step has changed one of the items.
    ///
    /// The remaining events of an item are always put before the item is replaced or deleted: deleted events come first,
    /// and all others remain in an item of their topic.
    async fn put_rest(
        self,
        items: &mut Vec<BacklogItem>,
        rest: Vec<(DeferredTopic, Vec<DeferredEvent>)>,
    ) -> Result<bool, TableError> {
        let oldest = items.first().map(|item| item.key.id);
        let mut makes_next = false;
        for (written, events) in rest {
            let Some(index) = items.iter().position(|item| item.written == written) else {
                // Some of the written events were deleted since, and deleted events need an item of their own.
                self.put(&written, &events).await?;
                continue;
            };
            let item = BacklogItem { events, ..items.remove(index) };
            if !self.replace(&item).await? {
                return Ok(false);
            }
            makes_next |= Some(item.key.id) == oldest;
        }
        let delete =
            async |item: &BacklogItem| self.op.table.delete_if(item.key.encode(), &is_unchanged(item)).await;
        let kept = collect_all(WRITES_AT_ONCE, items.iter().map(delete)).await?;
        Ok(makes_next && kept.iter().all(Option::is_none))
    }

    /// Puts an item with its next step. Returns false if another step has changed or deleted the item.
    async fn replace(self, item: &BacklogItem) -> Result<bool, TableError> {
        let next = BacklogItem { step: item.step + 1, ..item.clone() };
        Ok(self.op.table.put_if(&next.encode(), &is_unchanged(item)).await?.is_none())
    }
}

fn is_unchanged(item: &BacklogItem) -> Condition {
    Condition::equals(StepName::NUMBER, item.step)
}
