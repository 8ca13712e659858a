//! Issues: opened under a number, read, listed, changed under a revision; each change is told by an event.
//!
//! - **Stored** (`stored.rs`, pure): an issue's item, and the issue that it is.
//! - **Migration** (`migration.rs`, pure): an item of an older schema becomes one of today's, step by step.
//! - **Edit** (`edit.rs`, pure): the update that makes one item of another, under what must still be so.
//! - **Write-back** (`write_back.rs`): what a read upgraded is written, unless someone else wrote meanwhile.
//! - **Telling** (`telling.rs`): a write of an issue and its event, both or neither.
//! - **Number** (`number.rs`), **Change** (`change.rs`), **List** (`list.rs`, of the pure `view.rs` and `draft.rs`),
//!   **Look** (`look.rs`): one operation each.
//! - **Background** (`background.rs`): all that nobody reads is upgraded too.
//!
//! What must hold: no two issues of a repository have one number; an issue and the event of its change are there both
//! or neither; a write is made of what its writer has seen, whoever else writes, also those who know no revisions.

mod background;
mod change;
mod draft;
mod edit;
mod list;
mod look;
mod migration;
mod number;
mod stored;
mod telling;
mod view;
mod write_back;

use aws_sdk_dynamodb::types::{Put, TransactWriteItem};
use lately_keys::table::{IssueKey, IssueStatus, RepositoryKey};
use lately_keys::{Actor, Place, TableKey};
use lately_model::{Issue, NewIssue, issue_opened};

use crate::error::{FindError, TableError};
use crate::issue::stored::{ReadIssue, encode};
use crate::issue::telling::Told;
use crate::item::keyed;
use crate::limits::CONFLICTS;
use crate::op::Op;

pub use background::{MigrationPlan, MigrationReport};
pub use change::ChangeIssueError;
pub use list::IssuesError;

/// Why an issue was not opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenIssueError {
    /// The repository has used up all issue numbers.
    #[error("the repository has no issue number left")]
    TooManyIssues {
        /// The repository.
        repository: RepositoryKey,
    },
    /// The table could not be written. The issue may be opened or not.
    #[error(transparent)]
    Table(#[from] TableError),
}

/// The repository has no issue of this number.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the repository has no issue {}", issue.number)]
pub struct IssueNotFound {
    /// The issue that was asked for.
    pub issue: IssueKey,
}

/// Why an issue could not be read.
pub type GetIssueError = FindError<IssueNotFound>;

/// The issues of one repository, in one request.
#[derive(Clone, Copy, Debug)]
pub struct RepositoryHandle<'a> {
    pub(crate) op: &'a Op,
    pub(crate) repository: &'a RepositoryKey,
}

/// One issue, in one request.
#[derive(Clone, Copy, Debug)]
pub struct IssueHandle<'a> {
    pub(crate) op: &'a Op,
    pub(crate) key: &'a IssueKey,
}

/// The issues of all repositories, in one request.
#[derive(Clone, Copy, Debug)]
pub struct IssuesHandle<'a> {
    pub(crate) op: &'a Op,
}

impl RepositoryHandle<'_> {
    /// Opens an issue, and tells of it.
    ///
    /// Its number is the next of the repository's. One that failed on the way is missing for ever: nobody can tell
    /// whether its issue is still to land.
    ///
    /// # Errors
    /// See [`OpenIssueError`].
    pub async fn open(self, new: &NewIssue, by: &Actor) -> Result<Issue, OpenIssueError> {
        let repository = self.repository;
        // Before a number is taken: what fails here leaves no gap.
        let topic = self.op.issues().topic().await?;
        for _ in 0..CONFLICTS {
            let number = self.next_number().await?;
            let now = self.op.now();
            let issue = Issue {
                repository: repository.clone(),
                number,
                title: new.title.clone(),
                body: new.body.clone(),
                labels: new.labels.clone(),
                status: IssueStatus::Open,
                priority: new.labels.priority(),
                priority_by_hand: false,
                opened_by: by.clone(),
                opened_at: now,
                updated_at: now,
                revision: self.op.first_revision(),
            };
            let put = Put::builder()
                .table_name(&*self.op.table.name)
                .set_item(Some(encode(&issue)))
                .condition_expression("attribute_not_exists(pk)")
                .build()
                .map_err(TableError::unavailable)?;
            let put = TransactWriteItem::builder().put(put).build();
            match self.op.issues().write_and_tell(put, issue_opened(&issue), &topic).await? {
                Told::Written => return Ok(issue),
                // The counter was restored from before this number was given: it goes on.
                Told::Stale(_) => {}
            }
        }
        Err(TableError::unavailable("the repository's counter is behind its issues").into())
    }
}

impl IssueHandle<'_> {
    /// An issue, in the schema of today, whatever it is stored in. Unless `consistent`, it may be one that was changed a
    /// moment ago; who then writes under its revision is refused.
    ///
    /// # Errors
    /// See [`GetIssueError`].
    pub async fn get(self, consistent: bool) -> Result<Issue, GetIssueError> {
        let key = self.key;
        let read = self
            .read(consistent)
            .await?
            .ok_or_else(|| GetIssueError::NotFound(IssueNotFound { issue: key.clone() }))?;
        self.op.table.meter.items(1);
        self.op.issues().write_back(std::slice::from_ref(&read)).await;
        Ok(read.issue)
    }

    async fn read(self, consistent: bool) -> Result<Option<ReadIssue>, TableError> {
        let key = self.key;
        let item = self.op.table.read_item(keyed(Place::Table, key.encode()), consistent).await?;
        Ok(item.map(ReadIssue::of).transpose()?)
    }
}
