//! Whether a view of issues shows a state of one of them: an index is behind the table.

use lately_keys::Order;
use lately_keys::table::{IssueKey, IssueNumber};
use lately_model::{Issue, IssueView, IssuesAwaited, Revision};

use crate::error::TableError;
use crate::issue::RepositoryHandle;
use crate::issue::list::Asked;
use crate::issue::stored::ReadIssue;
use crate::issue::view;

impl RepositoryHandle<'_> {
    /// Looks where the issue stands now, in the index that is asked for, whichever of its views that is; the issue, if it
    /// is shown there so.
    pub(super) async fn look_for_issue(
        self,
        view: IssueView,
        awaited: IssuesAwaited,
    ) -> Result<Option<Issue>, TableError> {
        let repository = self.repository;
        let IssuesAwaited { number, revision } = awaited;
        let key = IssueKey { repository: repository.clone(), number };
        let read = self.op.issue(&key).read(true).await?;
        let Some(read) = read.filter(|read| read.issue.revision >= revision) else { return Ok(None) };
        if view == IssueView::All {
            return Ok(Some(read.issue));
        }
        // One of an older schema is not in every index.
        self.op.issues().write_back(std::slice::from_ref(&read)).await;
        let now = view::of(view, &read.issue);
        let shown = self.shown(now, number).await?;
        Ok(shown.is_some_and(|shown| shown >= revision).then_some(read.issue))
    }

    /// The state of an issue that a view shows, if it does.
    async fn shown(self, view: IssueView, number: IssueNumber) -> Result<Option<Revision>, TableError> {
        let numbers = (number, number);
        let asked = Asked { view, numbers, order: Order::NewestFirst, limit: 1, consistent: false };
        let answer = self.query_issues(asked).await?;
        let shown = answer.items.unwrap_or_default().pop().map(ReadIssue::of).transpose()?;
        Ok(shown.map(|shown| shown.issue.revision))
    }
}
