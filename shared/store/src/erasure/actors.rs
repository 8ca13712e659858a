//! The actors that the list of erasures names. Pure.

use std::collections::HashMap;

use lately_items::ErasureEntry;
use lately_keys::{Actor, UnixMillis};

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
