//! Whether a view of issues shows a state of one of them: an index is behind the table.

use lately_keys::Order;
use lately_keys::table::{IssueKey, IssueNumber, RepositoryKey};
use lately_model::{Issue, IssueView, IssuesAwaited, Revision};

use crate::call::Operation;
use crate::error::TableError;
use crate::issue::list::Asked;
use crate::issue::stored::ReadIssue;
use crate::issue::view;
use crate::store::Store;

impl Store {
    /// Looks where the issue stands now, in the index that is asked for, whichever of its views that is; the issue, if it
    /// is shown there so.
    pub(super) async fn look_for_issue(
        &self,
        repository: &RepositoryKey,
        view: IssueView,
        awaited: IssuesAwaited,
        operation: &Operation<'_>,
    ) -> Result<Option<Issue>, TableError> {
        let IssuesAwaited { number, revision } = awaited;
        let key = IssueKey { repository: repository.clone(), number };
        let read = self.read_issue(&key, true, operation).await?;
        let Some(read) = read.filter(|read| read.issue.revision >= revision) else { return Ok(None) };
        if view == IssueView::All {
            return Ok(Some(read.issue));
        }
        // One of an older schema is not in every index.
        self.write_back(std::slice::from_ref(&read), operation).await;
        let now = view::of(view, &read.issue);
        let shown = self.shown(repository, now, number, operation).await?;
        Ok(shown.is_some_and(|shown| shown >= revision).then_some(read.issue))
    }

    /// The state of an issue that a view shows, if it does.
    async fn shown(
        &self,
        repository: &RepositoryKey,
        view: IssueView,
        number: IssueNumber,
        operation: &Operation<'_>,
    ) -> Result<Option<Revision>, TableError> {
        let numbers = (number, number);
        let asked = Asked { view, numbers, order: Order::NewestFirst, limit: 1, consistent: false };
        let answer = self.query_issues(repository, asked, operation).await?;
        let shown = answer.items.unwrap_or_default().pop().map(ReadIssue::of).transpose()?;
        Ok(shown.map(|shown| shown.issue.revision))
    }
}
