//! Revisions: which state of a record a client has seen, and which it means to write on.
//!
//! A record's `ETag` is its revision in quotes. A write says by `If-Match` which revision it replaces, or by
//! `If-None-Match: *` that there must be nothing yet. Only that is read: a weak tag, a list or `*` in `If-Match` would
//! let a client overwrite what it has not seen.

use std::fmt;
use std::time::Duration;

/// A state of a record: each write's is one above that of the write before it.
///
/// ```
/// use std::time::Duration;
///
/// use lately_model::Revision;
///
/// let first = Revision::first(Duration::from_micros(1_795_167_000_000_000));
/// assert_eq!(first.next().etag(), "\"1795167000000001\"");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Revision(u64);

impl Revision {
    /// A revision by its number.
    #[must_use]
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// The first revision of what is created at a time: its microseconds. What is deleted and made again goes on above
    /// all revisions that it had, since nothing is written once a microsecond.
    #[must_use]
    pub fn first(since_epoch: Duration) -> Self {
        Self(u64::try_from(since_epoch.as_micros()).unwrap_or(u64::MAX))
    }

    /// The number.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The revision of the next write. Behind the last number there is none: no record ever gets there, though a client
    /// may send it.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }

    /// What the header `ETag` says.
    #[must_use]
    pub fn etag(self) -> String {
        format!("\"{self}\"")
    }

    /// Reads what [`Revision::etag`] writes, and nothing else.
    fn from_etag(text: &str) -> Option<Self> {
        Self::from_digits(text.strip_prefix('"')?.strip_suffix('"')?)
    }

    /// Reads the number alone. No sign, no leading zero: one revision has one text.
    pub(crate) fn from_digits(digits: &str) -> Option<Self> {
        let revision = digits.parse().ok().map(Self)?;
        (revision.to_string() == digits).then_some(revision)
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// What must be so for a write to be done.
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
    /// Nothing was said. Enough to create, and not to replace.
    None,
    /// There must be nothing yet.
    Absent,
    /// What is there must be of this revision.
    Is(Revision),
}

/// Headers that say no precondition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PreconditionError {
    /// `If-Match` is not one `ETag` of ours.
    #[error("If-Match must be one ETag as a response returned it: digits in double quotes")]
    IfMatch,
    /// `If-None-Match` is not `*`.
    #[error("If-None-Match must be *")]
    IfNoneMatch,
    /// Both are given: one asks for something to be there, the other for nothing.
    #[error("If-Match and If-None-Match must not be given together")]
    Both,
}

impl Precondition {
    /// Reads the values of `If-Match` and `If-None-Match`.
    ///
    /// # Errors
    /// See [`PreconditionError`].
    pub fn parse(if_match: Option<&str>, if_none_match: Option<&str>) -> Result<Self, PreconditionError> {
        match (if_match, if_none_match) {
            (None, None) => Ok(Self::None),
            (None, Some("*")) => Ok(Self::Absent),
            (None, Some(_)) => Err(PreconditionError::IfNoneMatch),
            (Some(tag), None) => Revision::from_etag(tag).map(Self::Is).ok_or(PreconditionError::IfMatch),
            (Some(_), Some(_)) => Err(PreconditionError::Both),
        }
    }

    /// The revision that is named, if one is.
    #[must_use]
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
    fn only_one_strong_tag_of_ours_is_a_revision() {
        for tag in [
            "",
            "*",
            "42",
            "\"\"",
            "\"42",
            "42\"",
            "W/\"42\"",
            "w/\"42\"",
            "\"42\", \"43\"",
            "\"42\",",
            "\"*\"",
            "\"+42\"",
            "\"042\"",
            "\"-1\"",
            "\"4 2\"",
            " \"42\"",
            "\"42\" ",
            "'42'",
            "\"abc\"",
            "\"\"42\"\"",
            "\"18446744073709551616\"",
            "\"\u{664}\"",
        ] {
            assert_eq!(Precondition::parse(Some(tag), None), Err(PreconditionError::IfMatch), "{tag}");
            assert_eq!(
                Precondition::parse(None, Some(tag)).is_ok(),
                tag == "*",
                "a create names no revision: {tag}"
            );
        }
        assert_eq!(Precondition::parse(Some("\"1\""), Some("*")), Err(PreconditionError::Both));
        assert_eq!(Precondition::parse(None, None), Ok(Precondition::None));
    }

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
        fn what_is_read_is_what_would_be_answered(tag in "\"?[0-9+ W/\"]{0,22}\"?") {
            if let Ok(Precondition::Is(revision)) = Precondition::parse(Some(&tag), None) {
                prop_assert_eq!(revision.etag(), tag);
            }
        }
    }
}
