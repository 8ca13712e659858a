//! An issue's number, status and priority.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::limits::ISSUE_NUMBER;
use crate::words;

/// An issue's number within its repository: 1 to 99,999,999.
///
/// ```
/// use lately_keys::IssueNumber;
///
/// assert_eq!(IssueNumber::try_from(42)?.get(), 42);
/// assert!(IssueNumber::try_from(0).is_err());
/// # Ok::<(), lately_keys::IssueNumberError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "u32")]
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

crate::schema!(IssueNumber, "IssueNumber", number(IssueNumber::MIN.get(), IssueNumber::MAX.get()));

words! {
    /// The status of an issue.
    #[expect(missing_docs, reason = "each variant is its word")]
    pub enum IssueStatus {
        Open = "open",
        Closed = "closed",
    }
    else UnknownStatus = "status: must be open or closed"
}

crate::schema!(IssueStatus, "IssueStatus", words(IssueStatus::ALL.map(IssueStatus::as_str)));

words! {
    /// The priority of an issue.
    #[expect(missing_docs, reason = "each variant is its word")]
    pub enum IssuePriority {
        High = "high",
        Medium = "medium",
        Low = "low",
    }
    else UnknownPriority = "priority: must be high, medium or low"
}

crate::schema!(IssuePriority, "IssuePriority", words(IssuePriority::ALL.map(IssuePriority::as_str)));
