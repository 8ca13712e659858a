//! The erasure of an actor or a user: the keys of its steps, and the ids that it erased.
//!
//! ```text
//! table   pk  JOB#ERASURE#{erasure}                                     sk  STEP               the next step, then the receipt: see erasure_step.rs
//!                                                                       sk  IDS#{8 digits}     a page of erased ids
//!   e B (16 bytes for each event that a step erased), expires_at N
//! ```

use std::fmt;
use std::str::FromStr;

use lately_keys::limits::ERASED_PAGE;
use lately_keys::{Actor, ErasureId, EventId, User};
use sha2::{Digest, Sha256};

use crate::attribute::Value;
use crate::form::EightDigits;
use crate::item::{Corrupt, Item};
use crate::key::key;
use crate::session::{HashError, TokenHash};

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
    type Err = HashError;

    fn from_str(text: &str) -> Result<Self, HashError> {
        text.parse().map(|hash: TokenHash| Self(*hash.as_bytes()))
    }
}
