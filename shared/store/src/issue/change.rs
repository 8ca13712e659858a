//! Changing an issue: read, changed, written under the revision that was read, and told.
//!
//! The read costs a call, and is needed: what follows from a change (the priority, the index keys, which event it is)
//! follows from the rest of the issue too.

use aws_sdk_dynamodb::types::{ReturnValuesOnConditionCheckFailure, TransactWriteItem, Update};
use lately_keys::table::IssueKey;
use lately_keys::{Actor, Place, TableKey};
use lately_model::{Issue, IssueChange, Precondition, Revision, issue_changed};

use crate::error::TableError;
use crate::issue::IssueHandle;
use crate::issue::IssueNotFound;
use crate::issue::stored::ReadIssue;
use crate::issue::telling::Told;
use crate::item::keyed;
use crate::revision::Rounds;

/// Why an issue was not changed.
#[derive(Debug, thiserror::Error)]
pub enum ChangeIssueError {
    /// The issue does not exist.
    #[error(transparent)]
    NotFound(#[from] IssueNotFound),
    /// The writer did not say which revision to change. The issue has this revision.
    #[error("the revision to change is required")]
    RevisionRequired(Revision),
    /// The issue differs from what the writer has seen. The issue's revision; none if there is no issue.
    #[error("the issue has another revision than the writer expects")]
    Mismatch(Option<Revision>),
    /// The table could not be read or written. What was asked for may be done or not.
    #[error(transparent)]
    Table(#[from] TableError),
}

impl IssueHandle<'_> {
    /// Changes the issue of the revision that the precondition names, and tells of it. A change after which all is as it
    /// was writes nothing.
    ///
    /// # Errors
    /// See [`ChangeIssueError`].
    pub async fn change(
        self,
        change: &IssueChange,
        precondition: Precondition,
        by: &Actor,
    ) -> Result<Issue, ChangeIssueError> {
        let key = self.key;
        self.update(by, |issue| {
            let current = issue.map(|issue| issue.revision);
            match (precondition, current) {
                (Precondition::None | Precondition::Absent, None) => Err(not_found(key)),
                (Precondition::None, Some(current)) => Err(ChangeIssueError::RevisionRequired(current)),
                (Precondition::Is(known), current) if current == Some(known) => Ok(Some(change.clone())),
                (_, current) => Err(ChangeIssueError::Mismatch(current)),
            }
        })
        .await
    }

    /// Reads an issue, lets `update` say what is to be changed, and changes it; again, from what is there then, if another
    /// writer came in between, up to [`CONFLICTS`](crate::limits::CONFLICTS) times. `None` from `update` leaves all as it
    /// is. What is there in the end.
    ///
    /// # Errors
    /// See [`ChangeIssueError`]; nothing is required of the revision.
    pub async fn update_with_retry(
        self,
        by: &Actor,
        mut update: impl FnMut(&Issue) -> Option<IssueChange>,
    ) -> Result<Issue, ChangeIssueError> {
        let key = self.key;
        self.update(by, |issue| Ok(update(issue.ok_or_else(|| not_found(key))?))).await
    }

    async fn update(
        self,
        by: &Actor,
        mut decide: impl FnMut(Option<&Issue>) -> Result<Option<IssueChange>, ChangeIssueError>,
    ) -> Result<Issue, ChangeIssueError> {
        let key = self.key;
        let mut known = self.read(true).await?;
        let mut rounds = Rounds::new(&self.op.table);
        loop {
            let change = decide(known.as_ref().map(|read| &read.issue))?;
            let Some(read) = known else { return Err(not_found(key)) };
            let changed = change.map(|change| change.apply_to(&read.issue));
            let told = changed.and_then(|next| Some((issue_changed(&read.issue, &next, by)?, next)));
            let Some((event, next)) = told else {
                self.op.issues().write_back(std::slice::from_ref(&read)).await;
                return Ok(read.issue);
            };
            let next = Issue { updated_at: self.op.now(), revision: read.issue.revision.next(), ..next };
            let topic = self.op.issues().topic().await?;
            let write = self.changing(&read, &next)?;
            match self.op.issues().write_and_tell(write, event, &topic).await? {
                Told::Written => return Ok(next),
                // Told by the failed write: no need to read it.
                Told::Stale(there) => {
                    known = there.map(ReadIssue::of).transpose().map_err(TableError::from)?;
                }
            }
            rounds.lose().await?;
        }
    }

    fn changing(self, read: &ReadIssue, next: &Issue) -> Result<TransactWriteItem, TableError> {
        let key = self.key;
        let edit = read.edit_to(next).expect("a change sets a revision, at least");
        let update = Update::builder()
            .table_name(&*self.op.table.name)
            .set_key(Some(keyed(Place::Table, key.encode())))
            .update_expression(edit.update)
            .condition_expression(edit.condition)
            .set_expression_attribute_names(Some(edit.names))
            .set_expression_attribute_values(Some(edit.values))
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld)
            .build()
            .map_err(TableError::unavailable)?;
        Ok(TransactWriteItem::builder().update(update).build())
    }
}

fn not_found(issue: &IssueKey) -> ChangeIssueError {
    IssueNotFound { issue: issue.clone() }.into()
}
