//! An erasure of an actor or a user, named by its id.

use std::fmt;
use std::str::FromStr;

use uuid::{Builder, Uuid};

use crate::id::parse_hyphenated;
use crate::text::serde_as_text;
use crate::time::UnixMillis;

/// An erasure's public name: a UUID, of version 7 when made here. Its text is hyphenated and in lower case, and no other
/// form is accepted.
///
/// ```
/// use lately_keys::table::ErasureId;
///
/// assert!("0190a4cd-d3e7-7222-9f99-fdb74feee752".parse::<ErasureId>().is_ok());
/// assert!("0190A4CD-D3E7-7222-9F99-FDB74FEEE752".parse::<ErasureId>().is_err());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ErasureId(Uuid);

/// The text is not an erasure's id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("erasure: must be a hyphenated UUID in lower case")]
pub struct ErasureIdError;

impl ErasureId {
    /// An id with a time and random bits.
    ///
    /// ```
    /// use lately_keys::table::ErasureId;
    ///
    /// let id = ErasureId::new("2026-11-20T09:30:00Z".parse()?, 7);
    /// assert!(id < ErasureId::new("2026-11-20T09:30:00.001Z".parse()?, 0));
    /// # Ok::<(), lately_keys::TimeError>(())
    /// ```
    #[must_use]
    pub fn new(at: UnixMillis, entropy: u128) -> Self {
        let [random @ .., _, _, _, _, _, _] = entropy.to_be_bytes();
        Self(Builder::from_unix_timestamp_millis(at.get(), &random).into_uuid())
    }
}

impl FromStr for ErasureId {
    type Err = ErasureIdError;

    fn from_str(text: &str) -> Result<Self, ErasureIdError> {
        let lower = !text.bytes().any(|byte| byte.is_ascii_uppercase());
        parse_hyphenated(text).filter(|_| lower).map(Self).ok_or(ErasureIdError)
    }
}

impl fmt::Display for ErasureId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.hyphenated().fmt(f)
    }
}

serde_as_text!(ErasureId);
