//! A repository's issues: by number, by status and number, by priority and number.
//!
//! ```text
//! table   pk  REPO#{owner}#{repo}    sk  ISSUE#{8 digits}
//! gsi1    pk  REPO#{owner}#{repo}    sk  ISSUE#{OPEN|CLOSED}#{8 digits}
//! gsi2    pk  REPO#{owner}#{repo}    sk  PRIORITY#{HIGH|MEDIUM|LOW}#{8 digits}
//! ```
//!
//! Numbers have eight digits, so that text sorts as numbers do.

use lately_keys::{IssueNumber, IssuePriority, IssueStatus};
use lately_model::Issue;

use crate::RepositoryKey;
use crate::form::{Capitals, EightDigits};
use crate::key::key;

key! {
    /// The item that is an issue.
    pub struct IssueKey {
        /// The repository.
        pub repository: RepositoryKey,
        /// The number in the repository.
        pub number: IssueNumber as EightDigits,
    }
    Table: pk "{repository}" sk "ISSUE#{number}"
    fn sort_key(number: IssueNumber as EightDigits)
}

impl IssueKey {
    /// The key of an issue.
    pub fn of(issue: &Issue) -> Self {
        let repository = RepositoryKey { owner: issue.owner.clone(), repo: issue.repo.clone() };
        Self { repository, number: issue.number }
    }
}

key! {
    /// An issue's entry among the open or the closed issues.
    pub struct IssueStatusKey {
        /// The repository.
        pub repository: RepositoryKey,
        /// Its status.
        pub status: IssueStatus as Capitals,
        /// Its number.
        pub number: IssueNumber as EightDigits,
    }
    Gsi1: pk "{repository}" sk "ISSUE#{status}#{number}"
    fn sort_key(status: IssueStatus as Capitals, number: IssueNumber as EightDigits)
}

key! {
    /// An issue's entry among the issues of its priority.
    pub struct IssuePriorityKey {
        /// The repository.
        pub repository: RepositoryKey,
        /// Its priority.
        pub priority: IssuePriority as Capitals,
        /// Its number.
        pub number: IssueNumber as EightDigits,
    }
    Gsi2: pk "{repository}" sk "PRIORITY#{priority}#{number}"
    fn sort_key(priority: IssuePriority as Capitals, number: IssueNumber as EightDigits)
}
