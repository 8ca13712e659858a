//! Revisions: the states of a record. A client says which state it has seen when it writes.
//!
//! A record's `ETag` is its revision in quotes. A write names the revision that it replaces in `If-Match`, or requires
//! with `If-None-Match: *` that the record does not exist. No other form is accepted: a weak tag, a list or `*` in
//! `If-Match` would let a client overwrite a state that it has not seen.

use std::fmt;
use std::time::Duration;

use crate::text::canonical;

/// A state of a record. Each write's revision is one higher than that of the write before.
///
/// ```
/// use std::time::Duration;
///
/// use lately_model::Revision;
///
/// let first = Revision::first(Duration::from_micros(1_795_167_000_000_000));
/// assert_eq!(first.next().etag(), "\"1795167000000001\"");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub struct Revision(u64);

lately_keys::schema!(Revision, inline, number(0u64, u64::MAX).maximum(None::<u64>));

impl Revision {
    /// A revision by its number.
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// The first revision of a record created at this time: the time in microseconds. A record that is deleted and
    /// created again continues above all its old revisions, because no record is written once per microsecond.
    pub fn first(since_epoch: Duration) -> Self {
        Self(u64::try_from(since_epoch.as_micros()).unwrap_or(u64::MAX))
    }

    /// The number.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The revision of the next write. The highest number has no next one. No record ever reaches it, but a client may
    /// send it.
    pub const fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }

    /// The value of the header `ETag`.
    pub fn etag(self) -> String {
        format!("\"{self}\"")
    }

    /// Parses the output of [`Revision::etag`] and nothing else.
    fn from_etag(text: &str) -> Option<Self> {
        Self::from_digits(text.strip_prefix('"')?.strip_suffix('"')?)
    }

    /// Parses the number alone, without sign or leading zero: each revision has only one valid text.
    pub(crate) fn from_digits(digits: &str) -> Option<Self> {
        canonical(digits).map(Self)
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The precondition of a write.
///
/// ```
/// use lately_model::{Precondition, Revision};
///
/// assert_eq!(Precondition::parse(Some("\"42\""), None)?, Precondition::Is(Revision::new(42)));
/// assert_eq!(Precondition::parse(None, Some("*"))?, Precondition::Absent);
/// # Ok::<(), lately_model::PreconditionError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precondition {
    /// The client named no precondition. It can create a record but not replace one.
    None,
    /// The record must not exist.
    Absent,
    /// The record must have this revision.
    Is(Revision),
}

/// The headers are not a valid precondition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PreconditionError {
    /// `If-Match` is not one `ETag` of this API.
    #[error(
        "If-Match must be one ETag as a response returned it: a write names the revision that it replaces"
    )]
    IfMatch,
    /// `If-None-Match` is not `*`.
    #[error("If-None-Match must be *")]
    IfNoneMatch,
    /// Both are sent: one requires the record to exist, the other requires that it does not.
    #[error("If-Match and If-None-Match must not be given together")]
    Both,
}

impl Precondition {
    /// Reads the values of `If-Match` and `If-None-Match`.
    pub fn parse(if_match: Option<&str>, if_none_match: Option<&str>) -> Result<Self, PreconditionError> {
        match (if_match, if_none_match) {
            (None, None) => Ok(Self::None),
            (None, Some("*")) => Ok(Self::Absent),
            (None, Some(_)) => Err(PreconditionError::IfNoneMatch),
            (Some(tag), None) => Revision::from_etag(tag).map(Self::Is).ok_or(PreconditionError::IfMatch),
            (Some(_), Some(_)) => Err(PreconditionError::Both),
        }
    }

    /// The revision that the precondition names, if it names one.
    pub const fn revision(self) -> Option<Revision> {
        match self {
            Self::Is(revision) => Some(revision),
            Self::None | Self::Absent => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn revisions_rise_and_end_without_wrapping() {
        let first = Revision::first(Duration::from_micros(7));
        assert_eq!((first.get(), first.next().get()), (7, 8));
        assert_eq!(Revision::new(u64::MAX).next(), Revision::new(u64::MAX));
    }

    proptest! {
        #[test]
        fn an_etag_comes_back_as_its_revision(number: u64) {
            let revision = Revision::new(number);
            prop_assert_eq!(Precondition::parse(Some(&revision.etag()), None), Ok(Precondition::Is(revision)));
        }

        #[test]
        fn an_accepted_tag_is_the_etag_of_its_revision(tag in "\"?[0-9+ W/\"]{0,22}\"?") {
            if let Ok(Precondition::Is(revision)) = Precondition::parse(Some(&tag), None) {
                prop_assert_eq!(revision.etag(), tag);
            }
        }
    }
}
