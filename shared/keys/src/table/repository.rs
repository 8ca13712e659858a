//! A repository's item, which contains the counter of its issues.
//!
//! ```text
//! table   pk  REPO#{owner}#{repo}    sk  REPO
//! ```
//!
//! It shares a partition with its issues ([`IssueKey`](super::IssueKey)).

use std::fmt;

use crate::key::{Key, Place, TableKey};
use crate::name::{Owner, Repo};
use crate::text::segments;

/// The item of a repository. Its text is the partition of the repository and its issues, in the table and
/// in both indexes.
///
/// ```
/// use lately_keys::TableKey;
/// use lately_keys::table::RepositoryKey;
///
/// let key = RepositoryKey { owner: "octo".parse()?, repo: "hello".parse()? }.encode();
/// assert_eq!((&*key.pk, &*key.sk), ("REPO#octo#hello", "REPO"));
/// # Ok::<(), lately_keys::NameError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RepositoryKey {
    /// Its owner.
    pub owner: Owner,
    /// Its name.
    pub repo: Repo,
}

impl RepositoryKey {
    pub(super) fn parse(pk: &str) -> Option<Self> {
        let ["REPO", owner, repo] = segments(pk)? else { return None };
        Some(Self { owner: owner.parse().ok()?, repo: repo.parse().ok()? })
    }
}

impl fmt::Display for RepositoryKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "REPO#{}#{}", self.owner, self.repo)
    }
}

impl TableKey for RepositoryKey {
    const PLACE: Place = Place::Table;

    fn encode(&self) -> Key {
        Key { pk: self.to_string(), sk: "REPO".to_owned() }
    }

    fn decode(pk: &str, sk: &str) -> Option<Self> {
        (sk == "REPO").then(|| Self::parse(pk)).flatten()
    }
}
