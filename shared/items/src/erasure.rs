//! The erasure of an actor or a user: its steps, the ids that it erased, and its entry in the list of erasures.
//!
//! ```text
//! table   pk  JOB#ERASURE#{erasure}                                     sk  STEP               the next step, then the receipt: see erasure_step.rs
//!                                                                       sk  IDS#{8 digits}     a page of erased ids
//!   e B (16 bytes for each event that a step erased), expires_at N
//!         pk  ERASURES                                                  sk  {erasure}          the names, and the end
//!   actor S?, user S?, until N? (milliseconds: the end), expires_at N? (once it is done)
//! ```
//!
//! The list has one partition, because writers and fan-out read all of it. It is usually empty.

use std::fmt;
use std::str::FromStr;

use sha2::{Digest, Sha256};

use lately_keys::limits::ERASED_PAGE;
use lately_keys::{Actor, ErasureId, EventId, UnixMillis, User};

use crate::TokenHash;
use crate::erasure_step::ErasureStep;
use crate::form::EightDigits;
use crate::item::{Corrupt, Item, Value};
use crate::key::key;
use crate::limits::ENDING_MARK_SECONDS;

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
        erasure: ErasureId,
        page: u32 as EightDigits,
    }
    Table: pk "JOB#ERASURE#{erasure}" sk "IDS#{page}"
    const PREFIX
}

impl ErasedPageKey {
    /// The key of a page; `None` above page 99,999,999.
    pub fn new(erasure: ErasureId, page: u32) -> Option<Self> {
        (page <= ERASED_PAGE).then_some(Self { erasure, page })
    }

    /// The item of a page. It expires at this time, in unix seconds.
    pub fn item(&self, ids: &[EventId], expires_at: u64) -> Item {
        Item::at(self).with("e", Value::ids(ids)).with("expires_at", expires_at)
    }

    /// The ids on a page.
    ///
    /// # Errors
    /// If the item has another form.
    pub fn ids_of(item: &Item) -> Result<Vec<EventId>, Corrupt> {
        item.ids("e")
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ErasedNames([u8; 32]);

impl ErasedNames {
    /// The hash of an actor's and a user's name.
    pub fn of(actor: Option<&Actor>, user: Option<&User>) -> Self {
        let line =
            |kind: &str, name: Option<&str>| name.map(|name| format!("{kind}:{name}\n")).unwrap_or_default();
        let actor = line("actor", actor.map(Actor::as_str));
        Self(Sha256::digest(actor + &line("user", user.map(User::as_str))).into())
    }
}

impl fmt::Display for ErasedNames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl FromStr for ErasedNames {
    type Err = ErasedNamesError;

    fn from_str(text: &str) -> Result<Self, ErasedNamesError> {
        TokenHash::parse(text).map(|hash| Self(*hash.as_bytes())).ok_or(ErasedNamesError)
    }
}

/// The text is not a hash of names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must be 64 hexadecimal digits in lower case")]
pub struct ErasedNamesError;

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

/// An erasure in the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErasureEntry {
    /// The erasure.
    pub erasure: ErasureId,
    /// The actor that is erased.
    pub actor: Option<Actor>,
    /// The user that is erased.
    pub user: Option<User>,
    /// When the erasure was done; `None` while it runs.
    pub until: Option<UnixMillis>,
}

impl ErasureEntry {
    /// The entry of a step's erasure, which ends at `until`.
    pub fn of(step: &ErasureStep, until: Option<UnixMillis>) -> Self {
        Self { erasure: step.erasure, actor: step.actor.clone(), user: step.user.clone(), until }
    }

    /// The entry's item.
    pub fn encode(&self) -> Item {
        Item::at(&ErasureEntryKey { erasure: self.erasure })
            .with_some("actor", self.actor.as_ref().map(Actor::as_str))
            .with_some("user", self.user.as_ref().map(User::as_str))
            .with_some("until", self.until.map(UnixMillis::get))
            .with_some("expires_at", self.until.map(|until| until.get() / 1000 + ENDING_MARK_SECONDS))
    }

    /// The entry of an item.
    ///
    /// # Errors
    /// If the item has another form.
    pub fn decode(item: &Item) -> Result<Self, Corrupt> {
        let ErasureEntryKey { erasure } = item.key_as()?;
        let until = item.optional_millis("until")?;
        let (actor, user) = (item.optional_parsed("actor")?, item.optional_parsed("user")?);
        Ok(Self { erasure, actor, user, until })
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
