//! Changing an issue: it is read, changed, and written under the revision that was read, together with the event that
//! reports the change.
//!
//! The read costs a call, which cannot be saved: the priority, the index keys and the event depend on the whole issue,
//! and not only on the change.

use lately_items::{IssueKey, ReadIssue};
use lately_keys::Actor;
use lately_model::{Issue, IssueChange, Precondition, Revision, issue_changed};
use lately_table::{Rounds, TableError, Transaction};

use crate::erasure::ActorIsBeingErased;
use crate::handle::IssueHandle;
use crate::issue::IssueNotFound;
use crate::issue::read::update_between;
use crate::issue::with_event::IssueWrite;

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
        self.update(by, |issue| {
            let current = issue.map(|issue| issue.revision);
            match (precondition, current) {
                (Precondition::None | Precondition::Absent, None) => Err(not_found(self.key)),
                (Precondition::None, Some(current)) => Err(ChangeIssueError::RevisionRequired(current)),
                (Precondition::Is(known), current) if current == Some(known) => Ok(Some(change.clone())),
                (_, current) => Err(ChangeIssueError::Mismatch(current)),
            }
        })
        .await
    }

    /// Reads the issue, asks `update` for a change, and applies the change. If another writer came first, this starts
    /// again from that writer's issue, up to [`CONFLICTS`](lately_table::limits::CONFLICTS) times. If `update` returns
    /// `None`, the issue stays as it is. Returns the issue that is stored in the end.
    ///
    /// # Errors
    /// See [`ChangeIssueError`]. There is no precondition, so no error is about the revision.
    pub async fn update_with_retry(
        self,
        by: &Actor,
        mut update: impl FnMut(&Issue) -> Option<IssueChange>,
    ) -> Result<Issue, ChangeIssueError> {
        self.update(by, |issue| Ok(update(issue.ok_or_else(|| not_found(self.key))?))).await
    }

    async fn update(
        self,
        by: &Actor,
        mut decide: impl FnMut(Option<&Issue>) -> Result<Option<IssueChange>, ChangeIssueError>,
    ) -> Result<Issue, ChangeIssueError> {
        let mut known = self.read(true).await?;
        let mut rounds = Rounds::of(&self.op.table, "the issue");
        loop {
            let change = decide(known.as_ref().map(|read| &read.issue))?;
            let Some(read) = known else { return Err(not_found(self.key)) };
            let changed = change.map(|change| change.apply_to(&read.issue));
            let told = changed.and_then(|next| Some((issue_changed(&read.issue, &next, by)?, next)));
            let Some((event, next)) = told else {
                self.op.issues().write_back(std::slice::from_ref(&read)).await;
                return Ok(read.issue);
            };
            let next = Issue { updated_at: self.op.now(), revision: read.issue.revision.next(), ..next };
            let topic = self.op.issues().topic().await?;
            let update =
                update_between(&read, &read.item_of(&next)).expect("a change sets a revision, at least");
            let write = Transaction::new(self.op.ambient()).update(update);
            match self.op.issues().write_and_tell(write, event, &topic).await? {
                IssueWrite::Written => return Ok(next),
                // The failed write has returned the item, so a read is not needed.
                IssueWrite::Stale(there) => {
                    known = there.map(ReadIssue::of).transpose().map_err(TableError::from)?;
                }
                IssueWrite::Refused(error) => return Err(error.into()),
            }
            rounds.lose_and_pause().await?;
        }
    }
}

fn not_found(issue: &IssueKey) -> ChangeIssueError {
    IssueNotFound { issue: issue.clone() }.into()
}
