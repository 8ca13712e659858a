//! Changing an issue: it is read, changed, and written under the revision that was read, together with the event that
//! reports the change.
//!
//! The read costs a call, which cannot be saved: the priority, the index keys and the event depend on the whole issue,
//! and not only on the change.

use lately_items::ReadIssue;
use lately_keys::Actor;
use lately_model::{Issue, IssueChange, Precondition, Revision, issue_changed};
use lately_table::{Rounds, TableError, Transaction};

use crate::erasure::ActorIsBeingErased;
use crate::handle::IssueHandle;
use crate::issue::with_event::IssueWrite;
use crate::issue::{IssueNotFound, update_between};

/// Why an issue was not changed.
#[derive(Debug, thiserror::Error)]
pub enum ChangeIssueError {
    /// The issue does not exist.
    #[error(transparent)]
    NotFound(#[from] IssueNotFound),
    /// The writer did not name the revision to change. The issue has this revision.
    #[error("the revision to change is required")]
    RevisionRequired(Revision),
    /// The issue does not have the revision that the writer expects. The issue's revision; `None` if there is no issue.
    #[error("the issue has another revision than the writer expects")]
    Mismatch(Option<Revision>),
    /// The user is being erased. Nothing was written.
    #[error(transparent)]
    ActorIsBeingErased(#[from] ActorIsBeingErased),
    /// The table could not be read or written. The change may have happened.
    #[error(transparent)]
    Table(#[from] TableError),
}

impl IssueHandle<'_> {
    /// Changes the issue if it has the revision that the precondition names, and writes the event that reports the
    /// change. A change without effect writes nothing.
    pub async fn change(
        self,
        change: &IssueChange,
        precondition: Precondition,
        by: &Actor,
    ) -> Result<Issue, ChangeIssueError> {
        let mut known = self.read(true).await?;
        let mut rounds = Rounds::of(&self.op.table, "the issue");
        loop {
            let current = known.as_ref().map(|read| read.issue.revision);
            let read = match (precondition, known) {
                (Precondition::None | Precondition::Absent, None) => {
                    return Err(IssueNotFound { issue: self.key.clone() }.into());
                }
                (Precondition::None, Some(read)) => {
                    return Err(ChangeIssueError::RevisionRequired(read.issue.revision));
                }
                (Precondition::Is(known), Some(read)) if read.issue.revision == known => read,
                _ => return Err(ChangeIssueError::Mismatch(current)),
            };
            let next = change.clone().apply_to(&read.issue);
            let Some(event) = issue_changed(&read.issue, &next, by) else {
                self.op.issues().write_back(std::slice::from_ref(&read)).await;
                return Ok(read.issue);
            };
            let next = Issue { updated_at: self.op.now(), revision: read.issue.revision.next(), ..next };
            let topic = self.op.issues().topic().await?;
            let update =
                update_between(&read, &read.item_of(&next)).expect("a change sets a revision, at least");
            let write = Transaction::new(self.op.ambient()).update(update);
            match self.op.issues().write_and_tell::<ChangeIssueError>(write, event, &topic).await? {
                IssueWrite::Written => return Ok(next),
                // The failed write has returned the item, so a read is not needed.
                IssueWrite::Stale(there) => {
                    known = there.map(ReadIssue::of).transpose().map_err(TableError::from)?;
                }
            }
            rounds.lose_and_pause().await?;
        }
    }
}
