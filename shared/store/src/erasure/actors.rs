//! The actors that the list of erasures names. Pure.

use lately_items::ErasureEntry;
use lately_keys::{Actor, UnixMillis};

/// The actors whose events are erased, as the list of erasures names them.
#[derive(Clone, Debug, Default)]
pub(crate) struct ErasedActors(pub(super) Vec<ErasureEntry>);

impl ErasedActors {
    /// True if an event of this actor and time is erased, or must not be written.
    pub(crate) fn cover(&self, actor: &Actor, at: UnixMillis) -> bool {
        let covers = |entry: &ErasureEntry| {
            entry.actor.as_ref() == Some(actor) && at < entry.until.unwrap_or(UnixMillis::MAX)
        };
        self.0.iter().any(covers)
    }
}
