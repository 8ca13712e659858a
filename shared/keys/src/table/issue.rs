//! A repository's issues: by number, by status and number, by priority and number.
//!
//! ```text
//! table   pk  REPO#{owner}#{repo}    sk  ISSUE#{8 digits}
//! gsi1    pk  REPO#{owner}#{repo}    sk  ISSUE#{OPEN|CLOSED}#{8 digits}
//! gsi2    pk  REPO#{owner}#{repo}    sk  PRIORITY#{HIGH|MEDIUM|LOW}#{8 digits}
//! ```
//!
//! Numbers have eight digits, so that text sorts as numbers do.

use std::fmt;
use std::str::FromStr;

use super::RepositoryKey;
use crate::key::{Key, Place, TableKey};
use crate::limits::ISSUE_NUMBER;
use crate::text::{eight_digits, segments, serde_as_text};

/// An issue's number within its repository: 1 to 99,999,999.
///
/// ```
/// use lately_keys::table::IssueNumber;
///
/// assert_eq!(IssueNumber::try_from(42)?.get(), 42);
/// assert!(IssueNumber::try_from(0).is_err());
/// # Ok::<(), lately_keys::table::IssueNumberError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IssueNumber(u32);

/// The number cannot be an issue's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("issue: must be a number from 1 to {ISSUE_NUMBER}")]
pub struct IssueNumberError;

impl IssueNumber {
    /// The number of a repository's first issue.
    pub const MIN: Self = Self(1);
    /// The highest possible number.
    pub const MAX: Self = Self(ISSUE_NUMBER);

    /// The number.
    pub const fn get(self) -> u32 {
        self.0
    }

    fn parse_stored(text: &str) -> Option<Self> {
        eight_digits(text)?.try_into().ok()
    }
}

impl TryFrom<u32> for IssueNumber {
    type Error = IssueNumberError;

    fn try_from(number: u32) -> Result<Self, IssueNumberError> {
        let known = Self::MIN.0..=Self::MAX.0;
        known.contains(&number).then_some(Self(number)).ok_or(IssueNumberError)
    }
}

impl FromStr for IssueNumber {
    type Err = IssueNumberError;

    fn from_str(text: &str) -> Result<Self, IssueNumberError> {
        // The integer parser alone would also accept a sign.
        let digits = text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse::<u32>().ok().filter(|_| digits).ok_or(IssueNumberError)?.try_into()
    }
}

impl fmt::Display for IssueNumber {
    /// Without leading zeros; in keys it has eight digits.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

macro_rules! words {
    ($(#[$doc:meta])* $type:ident, $unknown:ident = $message:literal { $($variant:ident = $word:literal, $stored:literal;)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[expect(missing_docs, reason = "each variant is its word")]
        pub enum $type {
            $($variant,)*
        }

        /// The text is none of the words.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
        #[error($message)]
        pub struct $unknown;

        impl $type {
            /// All values.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// The word as clients write it.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)*
                }
            }

            /// The word in keys.
            const fn stored(self) -> &'static str {
                match self {
                    $(Self::$variant => $stored,)*
                }
            }

            fn parse_stored(text: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|word| word.stored() == text)
            }
        }

        impl FromStr for $type {
            type Err = $unknown;

            fn from_str(text: &str) -> Result<Self, $unknown> {
                Self::ALL.iter().copied().find(|word| word.as_str() == text).ok_or($unknown)
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }

        serde_as_text!($type);
    };
}

words! {
    /// The status of an issue.
    IssueStatus, UnknownStatus = "status: must be open or closed" {
        Open = "open", "OPEN";
        Closed = "closed", "CLOSED";
    }
}

words! {
    /// The priority of an issue.
    IssuePriority, UnknownPriority = "priority: must be high, medium or low" {
        High = "high", "HIGH";
        Medium = "medium", "MEDIUM";
        Low = "low", "LOW";
    }
}

/// The item that is an issue.
///
/// ```
/// use lately_keys::TableKey;
/// use lately_keys::table::{IssueKey, RepositoryKey};
///
/// let repository = RepositoryKey { owner: "octo".parse()?, repo: "hello".parse()? };
/// let key = IssueKey { repository, number: "42".parse()? }.encode();
/// assert_eq!((&*key.pk, &*key.sk), ("REPO#octo#hello", "ISSUE#00000042"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct IssueKey {
    /// The repository.
    pub repository: RepositoryKey,
    /// The number in the repository.
    pub number: IssueNumber,
}

impl IssueKey {
    /// The sort key of an issue, for a range of numbers. The partition is the repository's text.
    pub fn sort_key(number: IssueNumber) -> String {
        format!("ISSUE#{:08}", number.0)
    }
}

impl TableKey for IssueKey {
    const PLACE: Place = Place::Table;

    fn encode(&self) -> Key {
        Key { pk: self.repository.to_string(), sk: Self::sort_key(self.number) }
    }

    fn decode(pk: &str, sk: &str) -> Option<Self> {
        let ["ISSUE", number] = segments(sk)? else { return None };
        Some(Self { repository: RepositoryKey::parse(pk)?, number: IssueNumber::parse_stored(number)? })
    }
}

/// An issue's entry among the open or the closed issues.
///
/// ```
/// use lately_keys::TableKey;
/// use lately_keys::table::{IssueStatusKey, RepositoryKey};
///
/// let repository = RepositoryKey { owner: "octo".parse()?, repo: "hello".parse()? };
/// let key = IssueStatusKey { repository, status: "open".parse()?, number: "42".parse()? }.encode();
/// assert_eq!((&*key.pk, &*key.sk), ("REPO#octo#hello", "ISSUE#OPEN#00000042"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct IssueStatusKey {
    /// The repository.
    pub repository: RepositoryKey,
    /// Its status.
    pub status: IssueStatus,
    /// Its number.
    pub number: IssueNumber,
}

impl IssueStatusKey {
    /// The sort key of an issue of a status, for a range of numbers.
    pub fn sort_key(status: IssueStatus, number: IssueNumber) -> String {
        format!("ISSUE#{}#{:08}", status.stored(), number.0)
    }
}

impl TableKey for IssueStatusKey {
    const PLACE: Place = Place::Gsi1;

    fn encode(&self) -> Key {
        Key { pk: self.repository.to_string(), sk: Self::sort_key(self.status, self.number) }
    }

    fn decode(pk: &str, sk: &str) -> Option<Self> {
        let ["ISSUE", status, number] = segments(sk)? else { return None };
        Some(Self {
            repository: RepositoryKey::parse(pk)?,
            status: IssueStatus::parse_stored(status)?,
            number: IssueNumber::parse_stored(number)?,
        })
    }
}

/// An issue's entry among the issues of its priority.
///
/// ```
/// use lately_keys::TableKey;
/// use lately_keys::table::{IssuePriorityKey, RepositoryKey};
///
/// let repository = RepositoryKey { owner: "octo".parse()?, repo: "hello".parse()? };
/// let key = IssuePriorityKey { repository, priority: "high".parse()?, number: "42".parse()? }.encode();
/// assert_eq!((&*key.pk, &*key.sk), ("REPO#octo#hello", "PRIORITY#HIGH#00000042"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct IssuePriorityKey {
    /// The repository.
    pub repository: RepositoryKey,
    /// Its priority.
    pub priority: IssuePriority,
    /// Its number.
    pub number: IssueNumber,
}

impl IssuePriorityKey {
    /// The sort key of an issue of a priority, for a range of numbers.
    pub fn sort_key(priority: IssuePriority, number: IssueNumber) -> String {
        format!("PRIORITY#{}#{:08}", priority.stored(), number.0)
    }
}

impl TableKey for IssuePriorityKey {
    const PLACE: Place = Place::Gsi2;

    fn encode(&self) -> Key {
        Key { pk: self.repository.to_string(), sk: Self::sort_key(self.priority, self.number) }
    }

    fn decode(pk: &str, sk: &str) -> Option<Self> {
        let ["PRIORITY", priority, number] = segments(sk)? else { return None };
        Some(Self {
            repository: RepositoryKey::parse(pk)?,
            priority: IssuePriority::parse_stored(priority)?,
            number: IssueNumber::parse_stored(number)?,
        })
    }
}
