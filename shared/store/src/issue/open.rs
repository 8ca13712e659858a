//! Opening an issue under the repository's next number.
//!
//! One call increments the counter and returns its value, so openers need not look for the numbers that others took. If
//! an opener dies, or its response is lost, its number is given to nobody else. So numbers may have gaps, but are never
//! given twice.

use lately_items::RepositoryKey;
use lately_items::issue::encode;
use lately_keys::{Actor, IssueNumber, IssueStatus};
use lately_model::{Issue, NewIssue, issue_opened};
use lately_table::{Condition, Rounds, TableError, Transaction, Update};

use crate::erasure::ActorIsBeingErased;
use crate::handle::RepositoryHandle;
use crate::issue::with_event::IssueWrite;

/// Why an issue was not opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenIssueError {
    /// The repository has used up all issue numbers.
    #[error("the repository has no issue number left")]
    TooManyIssues {
        /// The repository.
        repository: RepositoryKey,
    },
    /// The opener is being erased. Nothing was written.
    #[error(transparent)]
    ActorIsBeingErased(#[from] ActorIsBeingErased),
    /// The table could not be written. The issue may be opened or not.
    #[error(transparent)]
    Table(#[from] TableError),
}

impl RepositoryHandle<'_> {
    /// Opens an issue, and writes the event that reports it.
    ///
    /// The issue gets the repository's next number. If the write fails, the number stays unused for ever, because the
    /// issue may still land.
    pub async fn open(self, new: &NewIssue, by: &Actor) -> Result<Issue, OpenIssueError> {
        // The topic comes first: if it cannot be read, no number is lost.
        let topic = self.op.issues().topic().await?;
        let mut rounds = Rounds::of(&self.op.table, "the repository's counter");
        loop {
            let number = self.next_number().await?;
            let now = self.op.now();
            let issue = Issue {
                owner: self.repository.owner.clone(),
                repo: self.repository.repo.clone(),
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
            let put = Transaction::new(self.op.ambient()).put_if(encode(&issue), Condition::no_item());
            match self.op.issues().write_and_tell::<OpenIssueError>(put, issue_opened(&issue), &topic).await?
            {
                IssueWrite::Written => return Ok(issue),
                // The number is taken: the counter was restored to an earlier value. The next round takes the next
                // number.
                IssueWrite::Stale(_) => rounds.lose()?,
            }
        }
    }

    /// Takes the repository's next number.
    async fn next_number(self) -> Result<IssueNumber, OpenIssueError> {
        let has_numbers = Condition::absent(RepositoryKey::LAST)
            .or(Condition::below(RepositoryKey::LAST, IssueNumber::MAX.get()));
        let next = Update::of(self.repository).add(RepositoryKey::LAST, 1_u64).only_if(has_numbers);
        let Some(counter) = self.op.table.update_and_get(&next).await? else {
            return Err(OpenIssueError::TooManyIssues { repository: self.repository.clone() });
        };
        Ok(counter.get(RepositoryKey::LAST).map_err(TableError::from)?)
    }
}
