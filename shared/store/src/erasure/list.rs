//! The list of erasures: the names that are being erased, and those that were erased within two days.
//!
//! ```text
//! ERASURES / {erasure}   actor S?, user S?, until N? (milliseconds: when the erasure was done), expires_at N? (with `until`)
//! ```
//!
//! The list is usually empty. It is read as a whole and consistently: by writers with the age of their topics, and by
//! fan-out once for each batch with new events.

use std::sync::Arc;

use lately_items::{ErasureEntry, ErasureEntryKey, ErasureStep, ErasureStepKey};
use lately_keys::{Fingerprint, Key, Order, Position, TableKey};
use lately_model::{ErasureList, ListQuery};
use lately_table::{Query, TableError};

use crate::erasure::actors::ErasedActors;
use crate::erasure::view;
use crate::handle::ErasuresHandle;
use crate::limits::TOPIC_AGE;
use crate::list::{ListError, Pager};
use crate::moments::{Aged, Sent};

impl ErasuresHandle<'_> {
    /// A page of the erasures that run, or that were done within two days: newest first.
    pub async fn list(self, query: &ListQuery) -> Result<ErasureList, ListError> {
        let pager = Pager { list: Fingerprint::of("erasures").finish(), order: Order::NewestFirst };
        let after = pager.after(query.cursor.as_deref())?;
        let entries = self.entries().await?.into_iter().rev().map(|entry| entry.erasure);
        let mut ids: Vec<_> = entries.filter(|id| after.is_none_or(|after| *id < after)).collect();
        let limit = usize::from(query.limit.get());
        let more = ids.len() > limit;
        ids.truncate(limit);
        let keys: Vec<Key> = ids.iter().map(|id| ErasureStepKey { erasure: *id }.encode()).collect();
        let steps = self.op.table.get_many(&keys, true).await?;
        let steps: Result<Vec<_>, _> = steps.iter().map(ErasureStep::decode).collect();
        let mut erasures: Vec<_> = steps.map_err(TableError::from)?.iter().map(view).collect();
        erasures.sort_by_key(|erasure| std::cmp::Reverse(erasure.id));
        self.op.table.meter().items(erasures.len());
        let next = ids.last().filter(|_| more).map(|last| pager.cursor(Position::Erasure(*last)));
        Ok(ErasureList { erasures, next })
    }

    /// The whole list, oldest first. The read is consistent.
    pub(crate) async fn entries(self) -> Result<Vec<ErasureEntry>, TableError> {
        let now = self.op.now();
        let items = self.op.table.query_all(Query::partition(ErasureEntryKey::partition()).consistent(true));
        let mut entries = Vec::new();
        for item in items.await? {
            if !item.is_over(now)? {
                entries.push(ErasureEntry::decode(&item)?);
            }
        }
        Ok(entries)
    }

    /// The actors whose events are erased. The read is consistent.
    pub(crate) async fn erased_actors(self) -> Result<ErasedActors, TableError> {
        Ok(ErasedActors(self.entries().await?))
    }

    /// The actors whose events must not be written, as this process last read them, at most [`TOPIC_AGE`] ago.
    pub(crate) async fn known_erased_actors(self) -> Result<Arc<Aged<ErasedActors>>, TableError> {
        let known = &self.op.memory().erased_actors;
        if let Some(read) = known.get(&()).filter(|read| read.sent.is_within(TOPIC_AGE, self.op.ambient())) {
            return Ok(read);
        }
        let sent = Sent::now(self.op.ambient());
        let read = Arc::new(Aged { value: self.erased_actors().await?, sent });
        known.insert((), Arc::clone(&read));
        Ok(read)
    }
}
