//! The erasure of an actor or a user: the keys of its steps, the ids that it erased, and its entry in the list of erasures.
//!
//! ```text
//! table   pk  JOB#ERASURE#{erasure}                                     sk  STEP               the next step, then the receipt: see erasure_step.rs
//!                                                                       sk  IDS#{8 digits}     a page of erased ids
//!   e B (16 bytes for each event that a step erased), expires_at N
//!         pk  ERASURES                                                  sk  {erasure}          the names, and the end
//!   actor S?, user S?, until N? (milliseconds: the end), expires_at N? (once it is done)
//! ```
//!
//! The list of erasures has one partition, because writers and fan-out read all of it. It is usually empty.

use lately_keys::{Actor, ErasureId, EventId, UnixMillis, User};
use sha2::{Digest, Sha256};

use crate::attribute::{Value, stored_as};
use crate::erasure_step::ErasureStep;
use crate::form::EightDigits;
use crate::item::{Corrupt, Item};
use crate::key::key;
use crate::limits::ENDING_MARK_SECONDS;
use crate::record::{Record, record};
use crate::session::TokenHash;

key! {
    /// The item with an erasure's next step. When the erasure is done, it is the receipt.
    #[derive(Copy)]
    pub struct ErasureStepKey {
        /// The erasure.
        pub erasure: ErasureId,
    }
    Table: pk "JOB#ERASURE#{erasure}" sk "STEP"
    fn partition(erasure: ErasureId)
}

key! {
    /// The item with a page of the ids that an erasure has erased.
    #[derive(Copy)]
    pub struct ErasedPageKey {
        /// The erasure.
        pub erasure: ErasureId,
        /// The number of the step that erased them. An erasure has far fewer than 100 million steps.
        pub page: u64 as EightDigits,
    }
    Table: pk "JOB#ERASURE#{erasure}" sk "IDS#{page}"
    const PREFIX
}

impl ErasedPageKey {
    /// The item of a page. It expires at this time, in unix seconds.
    pub fn item(&self, ids: &[EventId], expires_at: u64) -> Item {
        Item::at(self).with("e", Value::of_list(ids)).with("expires_at", expires_at)
    }

    /// The ids on a page.
    pub fn ids_of(item: &Item) -> Result<Vec<EventId>, Corrupt> {
        item.get("e")
    }
}

/// The SHA-256 of the names that an erasure erases. It stays when the names are forgotten.
///
/// ```
/// use lately_items::ErasedNames;
///
/// let names = ErasedNames::of(Some(&"ada".parse()?), None);
/// assert_eq!(names, ErasedNames::of(Some(&"ada".parse()?), None));
/// assert_ne!(names, ErasedNames::of(None, Some(&"ada".parse()?)));
/// # Ok::<(), lately_keys::NameError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErasedNames(TokenHash);

impl ErasedNames {
    /// The hash of an actor's and a user's name.
    pub fn of(actor: Option<&Actor>, user: Option<&User>) -> Self {
        let line =
            |kind: &str, name: Option<&str>| name.map(|name| format!("{kind}:{name}\n")).unwrap_or_default();
        let actor = line("actor", actor.map(Actor::as_str));
        let names = actor + &line("user", user.map(User::as_str));
        Self(<[u8; 32]>::from(Sha256::digest(names)).into())
    }
}

stored_as! {
    ErasedNames as TokenHash: |names| names.0, |hash| Some(Self(hash));
}

key! {
    /// The entry of an erasure in the list of all erasures.
    #[derive(Copy)]
    pub struct ErasureEntryKey {
        /// The erasure.
        pub erasure: ErasureId,
    }
    Table: pk "ERASURES" sk "{erasure}"
    fn partition()
}

record! {
    /// An erasure in the list.
    pub struct ErasureEntry {
        /// The erasure.
        pub erasure: ErasureId = of_key,
        /// The actor that is erased.
        pub actor: Option<Actor> = optional(ACTOR = "actor"),
        /// The user that is erased.
        pub user: Option<User> = optional(USER = "user"),
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
    use crate::tests::ID;

    #[test]
    fn golden_bytes() {
        let entry = ErasureEntry {
            erasure: ID.parse().unwrap(),
            actor: "ada".parse().ok(),
            user: "bob".parse().ok(),
            until: None,
        };
        let running = Item::from([("pk", "ERASURES"), ("sk", ID), ("actor", "ada"), ("user", "bob")]);
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
