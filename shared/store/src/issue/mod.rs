//! Issues: opened under a number, read, listed, changed under a revision. An event reports each change.
//!
//! - **Stored** (`items/issue.rs`, `items/issue_schema.rs`, pure): the item of an issue, and the steps from an item of an
//!   older schema to the current schema.
//! - **Upgrade** (`upgrade.rs`): stores upgraded items: the items that a request reads, and the items that nobody
//!   reads.
//! - **Events** (`with_event.rs`): writes an issue and its event, both or neither.
//! - **Open** (`open.rs`), **Change** (`change.rs`), **List** (`list.rs`, with the pure `view.rs` and `draft.rs`): one
//!   operation each.
//!
//! Three rules must hold. No two issues of a repository have the same number. A change of an issue and its event are
//! stored together, or neither is. A write takes effect only if the issue is still as the writer has read it, even if
//! programs that know no revisions write too.

mod change;
mod draft;
mod list;
mod open;
mod upgrade;
mod view;
mod with_event;

use lately_items::issue::BASIS;
use lately_items::{IssueKey, ReadIssue};
use lately_keys::TableKey;
use lately_model::Issue;
use lately_table::{Item, TableError, Update};

use crate::error::FindError;
use crate::handle::IssueHandle;

pub use change::ChangeIssueError;
pub use list::IssuesError;
pub use open::OpenIssueError;
pub use upgrade::{MigrationPlan, MigrationReport};

/// The repository has no issue of this number.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the repository has no issue {}", issue.number)]
pub struct IssueNotFound {
    /// The key that was read.
    pub issue: IssueKey,
}

/// Why an issue could not be read.
pub type GetIssueError = FindError<IssueNotFound>;

impl IssueHandle<'_> {
    /// The issue in the current schema, whatever schema it is stored in. Unless the read is consistent, it may return
    /// an issue that was changed a moment ago; a write under that issue's revision then fails.
    pub async fn get(self, consistent: bool) -> Result<Issue, GetIssueError> {
        let not_found = || GetIssueError::NotFound(IssueNotFound { issue: self.key.clone() });
        let read = self.read(consistent).await?.ok_or_else(not_found)?;
        self.op.table.meter().items(1);
        self.op.issues().write_back(std::slice::from_ref(&read)).await;
        Ok(read.issue)
    }

    async fn read(self, consistent: bool) -> Result<Option<ReadIssue>, TableError> {
        let item = self.op.table.read(self.key.encode(), consistent).await?;
        Ok(item.map(ReadIssue::of).transpose()?)
    }
}

/// The update of the stored item to another item of the issue; `None` if nothing differs.
fn update_between(read: &ReadIssue, wanted: &Item) -> Option<Update> {
    Update::between(IssueKey::of(&read.issue).encode(), &read.stored, wanted, &BASIS)
}
