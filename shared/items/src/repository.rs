//! A repository's item, which contains the counter of its issues.
//!
//! ```text
//! table   pk  REPO#{owner}#{repo}    sk  REPO
//!   last N (the last number that was taken)
//! ```
//!
//! It shares a partition with its issues ([`IssueKey`](crate::IssueKey)).

use lately_keys::{Owner, Repo};

use crate::key::key;

key! {
    /// The item of a repository. Its text is the partition of the repository and its issues, in the table and in both
    /// indexes.
    pub struct RepositoryKey {
        /// Its owner.
        pub owner: Owner,
        /// Its name.
        pub repo: Repo,
    }
    text "REPO#{owner}#{repo}"
    Table: pk text sk "REPO"
}

impl RepositoryKey {
    /// The attribute with the last issue number that was taken.
    pub const LAST: &str = "last";
}
