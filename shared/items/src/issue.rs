//! A repository with the counter of its issues, and its issues: by number, by status and number, by priority and number.
//!
//! ```text
//! table   pk  REPO#{owner}#{repo}    sk  REPO
//!   last N (the last number that was taken)
//! table   pk  REPO#{owner}#{repo}    sk  ISSUE#{8 digits}
//! gsi1    pk  REPO#{owner}#{repo}    sk  ISSUE#{OPEN|CLOSED}#{8 digits}
//! gsi2    pk  REPO#{owner}#{repo}    sk  PRIORITY#{HIGH|MEDIUM|LOW}#{8 digits}
//!   title S, body S?, labels L of S?, status S (open, closed), opened_by S, opened_at N (milliseconds), gsi1pk, gsi1sk
//!   since schema 2: schema N (absent: 1), revision N, updated_at N (milliseconds)
//!   since schema 3: priority S (high, medium, low), by_hand BOOL? (someone set the priority, so it ignores labels),
//!                   gsi2pk, gsi2sk
//! ```
//!
//! Numbers have eight digits, so that text sorts as numbers do.
//!
//! The attribute names are those of existing tables, and not short: older writers and readers know them.
//!
//! Two rules must hold. The keys of both indexes follow from status and priority. And an issue that was read keeps its
//! item as it is stored: a write starts from the stored item, so it leaves attributes alone that this program does not
//! know.

use lately_keys::{IssueNumber, IssuePriority, IssueStatus, Owner, Repo};
use lately_model::Issue;

use crate::form::{Capitals, EightDigits};
use crate::item::{Item, REVISION};
use crate::key::key;
use crate::record::{Record, record};

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

/// The schema that this program writes.
pub const SCHEMA: u32 = 3;

/// The attribute with the name of the person who opened the issue.
pub const OPENED_BY: &str = "opened_by";

/// The attribute of the time at which the issue was opened.
pub const OPENED_AT: &str = "opened_at";

/// The attributes that must not have changed between a read and the write that follows. The revision is not enough: a
/// writer of an older schema changes some of the others without a new revision.
pub const BASIS: [&str; 6] = ["schema", REVISION, "status", "labels", "priority", "by_hand"];

record! {
    Issue {
        owner: of_key,
        repo: of_key,
        number: of_key,
        title: required("title"),
        body: optional("body"),
        labels: default("labels"),
        status: required("status"),
        priority: required("priority"),
        priority_by_hand: flag("by_hand"),
        opened_by: required("opened_by"),
        opened_at: required("opened_at"),
        updated_at: required("updated_at"),
        revision: required("revision"),
    }
    key IssueKey { repository: RepositoryKey { owner, repo }, number }
}

/// The item of an issue.
pub fn encode(issue: &Issue) -> Item {
    let key = IssueKey::of(issue);
    let IssueKey { repository, number } = key.clone();
    let Issue { status, priority, .. } = *issue;
    issue
        .add_to(Item::at(&key))
        .also_at(&IssueStatusKey { repository: repository.clone(), status, number })
        .also_at(&IssuePriorityKey { repository, priority, number })
        .with("schema", SCHEMA)
}

#[cfg(test)]
mod tests {
    use lately_keys::UnixMillis;
    use lately_model::{Labels, Revision};

    use super::*;
    use crate::attribute::Value;

    fn issue() -> Issue {
        Issue {
            owner: "octo".parse().unwrap(),
            repo: "hello".parse().unwrap(),
            number: IssueNumber::try_from(7).unwrap(),
            title: "It says hello".parse().unwrap(),
            body: "Why?".parse().ok(),
            labels: Labels::new(vec!["ui".parse().unwrap()]).unwrap(),
            status: IssueStatus::Open,
            priority: IssuePriority::High,
            priority_by_hand: true,
            opened_by: "ada".parse().unwrap(),
            opened_at: UnixMillis::new(5).unwrap(),
            updated_at: UnixMillis::new(6).unwrap(),
            revision: Revision::new(9),
        }
    }

    #[test]
    fn golden_bytes() {
        let repository = "REPO#octo#hello";
        let item = Item::from([("pk", repository), ("gsi1pk", repository), ("gsi2pk", repository)])
            .with("sk", "ISSUE#00000007")
            .with("gsi1sk", "ISSUE#OPEN#00000007")
            .with("gsi2sk", "PRIORITY#HIGH#00000007")
            .with("schema", 3_u64)
            .with("title", "It says hello")
            .with("body", "Why?")
            .with("labels", Value::list(["ui"]))
            .with("status", "open")
            .with("priority", "high")
            .with("by_hand", true)
            .with("opened_by", "ada")
            .with("opened_at", 5_u64)
            .with("updated_at", 6_u64)
            .with("revision", 9_u64);
        assert_eq!(encode(&issue()), item);
        assert_eq!(Issue::decode(&item), Ok(issue()));
    }
}
