//! The entry of an erasure in the list of erasures: the names, and the end.
//!
//! ```text
//! table   pk  ERASURES                                                  sk  {erasure}          the names, and the end
//!   actor S?, user S?, until N? (milliseconds: the end), expires_at N? (once it is done)
//! ```
//!
//! The list has one partition, because writers and fan-out read all of it. It is usually empty.

use lately_keys::{Actor, ErasureId, UnixMillis, User};

use crate::erasure_step::ErasureStep;
use crate::item::Item;
use crate::key::key;
use crate::limits::ENDING_MARK_SECONDS;
use crate::record::{Record, record};

key! {
    /// The entry of an erasure in the list of all erasures.
    #[derive(Copy)]
    pub struct ErasureEntryKey {
        /// The erasure.
        pub erasure: ErasureId,
    }
    Table: pk "ERASURES" sk "{erasure}"
}

impl ErasureEntryKey {
    /// The partition of the list.
    pub const PARTITION: &str = "ERASURES";
}

record! {
    /// An erasure in the list.
    pub struct ErasureEntry {
        /// The erasure.
        pub erasure: ErasureId = of_key,
        /// The actor that is erased.
        pub actor: Option<Actor> = optional("actor"),
        /// The user that is erased.
        pub user: Option<User> = optional("user"),
        /// When the erasure was done; `None` while it runs.
        pub until: Option<UnixMillis> = optional("until"),
    }
    key ErasureEntryKey { erasure }
}

impl ErasureEntry {
    /// The entry of a step's erasure, which ends at `until`.
    pub fn of(step: &ErasureStep, until: Option<UnixMillis>) -> Self {
        Self { erasure: step.erasure, actor: step.actor.clone(), user: step.user.clone(), until }
    }

    /// The entry's item.
    pub fn encode(&self) -> Item {
        self.add_to(Item::at(&ErasureEntryKey { erasure: self.erasure }))
            .with_some("expires_at", self.until.map(|until| until.get() / 1000 + ENDING_MARK_SECONDS))
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
