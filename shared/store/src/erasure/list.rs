//! The list of erasures: the names that are being erased, and those that were erased within two days.
//!
//! ```text
//! ERASURES / {erasure}   actor S?, user S?, until N? (milliseconds: when the erasure was done), expires_at N? (with `until`)
//! ```
//!
//! The list is usually empty. It is read as a whole and consistently: by writers with the age of their topics, and by
//! fan-out once for each batch with new events.

use std::collections::HashMap;
use std::sync::Arc;

use lately_keys::table::{ErasureEntryKey, ErasureId};
use lately_keys::{Actor, Fingerprint, Key, Order, Position, UnixMillis, User};
use lately_model::{ErasureList, ListQuery};
use lately_table::{Corrupt, Item, Query, TableError};

use crate::erasure::ErasuresHandle;
use crate::erasure::step::ErasureStep;
use crate::event::is_over;
use crate::limits::{ENDING_MARK_SECONDS, TOPIC_AGE};
use crate::list::{ListError, Pager};
use crate::memory::{Aged, Sent};

/// An erasure in the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ErasureEntry {
    pub(crate) erasure: ErasureId,
    pub(crate) actor: Option<Actor>,
    pub(crate) user: Option<User>,
    /// When the erasure was done; `None` while it runs.
    pub(crate) until: Option<UnixMillis>,
}

impl ErasureEntry {
    /// The entry of a step's erasure, which ends at `until`.
    pub(crate) fn of(step: &ErasureStep, until: Option<UnixMillis>) -> Self {
        Self { erasure: step.erasure, actor: step.actor.clone(), user: step.user.clone(), until }
    }

    pub(crate) fn encode(&self) -> Item {
        Item::at(&ErasureEntryKey { erasure: self.erasure })
            .with_some("actor", self.actor.as_ref().map(Actor::as_str))
            .with_some("user", self.user.as_ref().map(User::as_str))
            .with_some("until", self.until.map(UnixMillis::get))
            .with_some("expires_at", self.until.map(|until| until.get() / 1000 + ENDING_MARK_SECONDS))
    }

    pub(crate) fn decode(item: &Item) -> Result<Self, Corrupt> {
        let ErasureEntryKey { erasure } = item.key_as()?;
        let until = item.optional_millis("until")?;
        let (actor, user) = (item.optional_parsed("actor")?, item.optional_parsed("user")?);
        Ok(Self { erasure, actor, user, until })
    }
}

/// The actors whose events are erased, each with the end of the erasure.
#[derive(Clone, Debug, Default)]
pub(crate) struct ErasedActors(HashMap<Actor, UnixMillis>);

impl ErasedActors {
    fn of(entries: Vec<ErasureEntry>) -> Self {
        let mut actors = HashMap::new();
        for ErasureEntry { actor, until, .. } in entries {
            let Some(actor) = actor else { continue };
            let end = actors.entry(actor).or_insert(UnixMillis::MIN);
            *end = until.unwrap_or(UnixMillis::MAX).max(*end);
        }
        Self(actors)
    }

    /// True if an event of this actor and time is erased, or must not be written.
    pub(crate) fn cover(&self, actor: &Actor, at: UnixMillis) -> bool {
        self.0.get(actor).is_some_and(|end| at < *end)
    }
}

impl ErasuresHandle<'_> {
    /// A page of the erasures that run, or that were done within two days: newest first.
    pub async fn list(self, query: &ListQuery) -> Result<ErasureList, ListError> {
        let pager = Pager { list: Fingerprint::of("erasures").finish(), order: Order::NewestFirst };
        let after = pager.after(query, |position| match position {
            Position::Erasure(id) => Some(id),
            _ => None,
        })?;
        let entries = self.entries().await?.into_iter().rev().map(|entry| entry.erasure);
        let mut ids: Vec<_> = entries.filter(|id| after.is_none_or(|after| *id < after)).collect();
        let limit = usize::from(query.limit.get());
        let more = ids.len() > limit;
        ids.truncate(limit);
        let keys: Vec<Key> = ids.iter().map(|id| ErasureStep::key(*id)).collect();
        let steps = self.op.table.get_many(&keys, true).await?;
        let steps: Result<Vec<_>, _> = steps.iter().map(ErasureStep::decode).collect();
        let mut erasures: Vec<_> = steps.map_err(TableError::from)?.iter().map(ErasureStep::view).collect();
        erasures.sort_by_key(|erasure| std::cmp::Reverse(erasure.id));
        self.op.table.meter().items(erasures.len());
        let next = ids.last().filter(|_| more).map(|last| pager.cursor(Position::Erasure(*last)));
        Ok(ErasureList { erasures, next })
    }

    /// The whole list, oldest first. The read is consistent.
    pub(crate) async fn entries(self) -> Result<Vec<ErasureEntry>, TableError> {
        let now = self.op.now();
        let items = self.op.table.query_all(Query::partition(ErasureEntryKey::PARTITION).consistent(true));
        let mut entries = Vec::new();
        for item in items.await? {
            if !is_over(&item, now)? {
                entries.push(ErasureEntry::decode(&item)?);
            }
        }
        Ok(entries)
    }

    /// The actors whose events are erased. The read is consistent.
    pub(crate) async fn erased_actors(self) -> Result<ErasedActors, TableError> {
        Ok(ErasedActors::of(self.entries().await?))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn golden_bytes() {
        let id = "0190a4cd-d3e7-7222-9f99-fdb74feee752";
        let entry = ErasureEntry {
            erasure: id.parse().unwrap(),
            actor: "ada".parse().ok(),
            user: "bob".parse().ok(),
            until: None,
        };
        let running = Item::from([("pk", "ERASURES"), ("sk", id), ("actor", "ada"), ("user", "bob")]);
        assert_eq!(entry.encode(), running);
        let until = UnixMillis::new(1_000_500).ok();
        let done = ErasureEntry { until, ..entry.clone() };
        let stored = running.with("until", 1_000_500_u64).with("expires_at", 1_000 + ENDING_MARK_SECONDS);
        assert_eq!(done.encode(), stored);
        for entry in [entry, done] {
            assert_eq!(ErasureEntry::decode(&entry.encode()), Ok(entry));
        }
    }
}
