//! A consumer's late ledger: the events that landed behind an id that the consumer had announced.
//!
//! Fan-out creates an entry. A run or a batch settles it, once it has given the event or knows which run or batch did.
//! A settled entry is not deleted at once, because the record that created it may be delivered again. An entry that is
//! not settled never expires.
//!
//! A process that works for an earlier incarnation of a consumer must not change an entry of a later one.

use lately_items::{EXPIRES_AT, INCARNATION, LateEventKey};
use lately_keys::EventId;
use lately_table::{Condition, Item, Query, TableError, Update};

use crate::at_once::run_each;
use crate::consumer::is_of;
use crate::handle::Incarnation;
use crate::limits::{REDELIVERED_SECONDS, WRITES_AT_ONCE};

/// Some of the unsettled entries of a partition.
#[derive(Debug)]
pub(crate) struct Unsettled {
    /// Oldest first.
    pub(crate) ids: Vec<EventId>,
    /// The last entry that was read; `None` if there are no more.
    pub(crate) last: Option<EventId>,
}

/// A walk through a partition, to its end or until the request may read no more.
#[derive(Debug)]
pub(crate) struct Walked {
    /// The unsettled entries up to an id, oldest first.
    pub(crate) ids: Vec<EventId>,
    /// Unsettled entries after this id that were on the last page.
    pub(crate) ahead: Vec<EventId>,
    /// All entries up to this id are settled; `None` if the walk has not passed a page of settled entries.
    pub(crate) behind: Option<EventId>,
    /// True if there may be more entries up to the id.
    pub(crate) is_cut: bool,
}

impl Incarnation<'_> {
    fn key(self, id: EventId) -> LateEventKey {
        LateEventKey { consumer: self.consumer.clone(), id }
    }

    /// An entry that is not settled.
    fn entry(self, id: EventId) -> Item {
        self.key(id).item(self.incarnation)
    }

    /// Notes an event as late, unless it is noted already. Returns whether its entry is unsettled. Then its partition
    /// must be counted, even if the entry was there before: the process that put it may have died before it counted.
    pub(crate) async fn note(self, id: EventId) -> Result<bool, TableError> {
        let is_new = Condition::no_item().or(Condition::below(INCARNATION, self.incarnation.get()));
        Ok(match self.op.table.put_if(&self.entry(id), &is_new).await? {
            None => true,
            Some(there) => LateEventKey::is_unsettled(&there, self.incarnation)?,
        })
    }

    /// Lets entries expire that were noted for a consumer while it was being deleted: its deletion may have missed
    /// them. The entries are put again, because fan-out's function may only put entries.
    pub(crate) async fn drop(self, ids: &[EventId]) -> Result<(), TableError> {
        let expires_at = self.op.now().get() / 1000;
        let drops = ids.iter().map(async |id| {
            let item = self.entry(*id).with(LateEventKey::BY, "deleted").with(EXPIRES_AT, expires_at);
            self.op.table.put_if(&item, &is_of(self.incarnation)).await.map(drop)
        });
        run_each(WRITES_AT_ONCE, drops).await
    }

    /// Looks for the unsettled entries of a partition up to an id, starting after the entry `behind`. Ends once it has
    /// found more than `most`, or when the request may read no more. It reads at least one page, so a caller that
    /// continues where the last walk ended comes to the end of the partition.
    pub(crate) async fn walk(
        self,
        shard: u8,
        behind: Option<EventId>,
        upto: EventId,
        most: usize,
    ) -> Result<Walked, TableError> {
        let mut walked = Walked { ids: Vec::new(), ahead: Vec::new(), behind, is_cut: false };
        let mut after = behind;
        loop {
            let page = self.unsettled(shard, after, EventId::MAX).await?;
            let (late, ahead) = page.ids.split_at(page.ids.partition_point(|id| *id <= upto));
            walked.ids.extend(late);
            if !ahead.is_empty() {
                return Ok(Walked { ahead: ahead.to_vec(), ..walked });
            }
            let Some(last) = page.last else { return Ok(walked) };
            if walked.ids.is_empty() {
                walked.behind = Some(last);
            }
            if walked.ids.len() > most || self.op.table.is_spent() {
                return Ok(Walked { is_cut: true, ..walked });
            }
            after = Some(last);
        }
    }

    /// The unsettled entries of a partition after one id and up to another, from 1 MB of the partition.
    pub(crate) async fn unsettled(
        self,
        shard: u8,
        after: Option<EventId>,
        upto: EventId,
    ) -> Result<Unsettled, TableError> {
        let query = Query::partition(LateEventKey::partition(self.consumer, shard))
            .up_to(upto.to_string())
            .filter(is_of(self.incarnation).and(Condition::absent(LateEventKey::BY)))
            .start(after.map(|id| Item::at(&self.key(id))))
            .consistent(true);
        let page = self.op.table.query_items(&query).await?;
        let ids = page.items.iter().map(|item| item.get("sk")).collect::<Result<_, _>>()?;
        let last = page.next.map(|next| next.get("sk")).transpose()?;
        Ok(Unsettled { ids, last })
    }

    /// Marks entries as settled. An entry that is gone, or belongs to another incarnation, stays as it is.
    pub(crate) async fn settle(self, ids: &[EventId], by: &str) -> Result<(), TableError> {
        let expires_at = self.op.now().get() / 1000 + REDELIVERED_SECONDS;
        let settle = |id: &EventId| {
            let update = Update::of(&self.key(*id))
                .set(LateEventKey::BY, by)
                .set(EXPIRES_AT, expires_at)
                .only_if(is_of(self.incarnation));
            async move { self.op.table.update(&update).await.map(drop) }
        };
        run_each(WRITES_AT_ONCE, ids.iter().map(settle)).await
    }

    /// The partitions among `shards` that have no unsettled entry at all.
    pub(crate) async fn settled_shards(self, shards: Vec<u8>) -> Result<Vec<u8>, TableError> {
        let mut settled = Vec::new();
        for shard in shards {
            let mut page = self.unsettled(shard, None, EventId::MAX).await?;
            while page.ids.is_empty() && page.last.is_some() {
                page = self.unsettled(shard, page.last, EventId::MAX).await?;
            }
            if page.ids.is_empty() {
                settled.push(shard);
            }
        }
        Ok(settled)
    }
}
