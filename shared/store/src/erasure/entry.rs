//! An entry of the list of erasures (`list.rs`), and the actors that the list names. Pure.

use std::collections::HashMap;

use lately_items::ErasureEntryKey;
use lately_keys::{Actor, ErasureId, UnixMillis, User};
use lately_table::{Corrupt, Item};

use crate::erasure::step::ErasureStep;
use crate::limits::ENDING_MARK_SECONDS;

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
    pub(super) fn of(entries: Vec<ErasureEntry>) -> Self {
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
