//! A repository's issues, one page at a time: all issues by number from the table, or those of a status or priority
//! from an index.
//!
//! A page asks for one issue more than it may return. This costs a read of one more issue's bytes, and in return `next`
//! is null exactly at the end of the list. One query returns at most 1 MB, so a page makes further queries until it is
//! full or has reached its own size limit.
//!
//! An index is behind the table. A client that has changed an issue can wait until the page shows the change.

use lately_items::{IssueKey, ReadIssue};
use lately_keys::{CursorError, Order};
use lately_model::{Issue, IssueList, IssueQuery, IssueView, IssuesAwaited};
use lately_table::TableError;

use crate::handle::RepositoryHandle;
use crate::issue::draft::IssueDraft;
use crate::issue::view;
use crate::limits::PAGE_BYTES;
use crate::wait::wait_for;

/// Queries of one page of issues. One query fills a page, and a few do if issues are large. A page ends early, with a
/// cursor, only if an older writer left thousands of issues in the wrong place of an index.
const ISSUE_QUERIES: u32 = 16;

const _: () = assert!(ISSUE_QUERIES as usize > PAGE_BYTES / 1_000_000);

/// Why issues could not be listed.
#[derive(Debug, thiserror::Error)]
pub enum IssuesError {
    /// The cursor is malformed, or belongs to another query.
    #[error(transparent)]
    Cursor(#[from] CursorError),
    /// The awaited state of an issue did not become visible in time.
    #[error("the issue is not visible yet")]
    NotYetVisible,
    /// The table could not be read.
    #[error(transparent)]
    Table(#[from] TableError),
}

/// A page, and the issues that were read for it, including those that the page does not show.
type IssuePage = (IssueDraft, Vec<ReadIssue>);

impl RepositoryHandle<'_> {
    /// A page of the repository's issues.
    pub async fn list(self, query: &IssueQuery) -> Result<IssueList, IssuesError> {
        let (draft, read) = match query.wait_for {
            None => self.page_of_issues(query).await?,
            Some(awaited) => {
                let look = || async {
                    let issue = self.look_for_issue(query.view, awaited).await?;
                    let Some(issue) = issue else { return Ok(None) };
                    // This read of the index may be further behind than the one before.
                    let page = self.page_of_issues(query).await?;
                    Ok::<_, IssuesError>(page.0.shows(&issue, awaited.revision).then_some(page))
                };
                wait_for(self.op.ambient(), self.op.table.time_left(), look)
                    .await?
                    .ok_or(IssuesError::NotYetVisible)?
            }
        };
        self.op.issues().write_back(&read).await;
        Ok(draft.finish())
    }

    async fn page_of_issues(self, query: &IssueQuery) -> Result<IssuePage, IssuesError> {
        let mut draft = IssueDraft::new(self.repository, query)?;
        // A client that waits for an issue must see it. An index has no consistent reads.
        let consistent = query.view == IssueView::All && (query.consistent || query.wait_for.is_some());
        let mut read = Vec::new();
        for _ in 0..ISSUE_QUERIES {
            let Some((lowest, highest)) = draft.left.filter(|_| draft.is_open()) else { break };
            let issues = view::query(query.view, self.repository, [lowest, highest])
                .backward(draft.pager.order == Order::NewestFirst)
                .limit(draft.wanted())
                .consistent(consistent);
            let page = self.op.table.query_items(&issues).await?;
            self.op.table.meter().round();
            for item in page.items {
                let issue = ReadIssue::of(item).map_err(TableError::from)?;
                if !draft.take(&issue.issue) {
                    break;
                }
                read.push(issue);
            }
            if page.next.is_none() && draft.is_open() {
                draft.left = None;
            }
        }
        Ok((draft, read))
    }

    /// The awaited issue, if the index that the client reads shows it. Whichever view the client reads, this looks at
    /// the view of the index that holds the issue now.
    async fn look_for_issue(
        self,
        view: IssueView,
        awaited: IssuesAwaited,
    ) -> Result<Option<Issue>, TableError> {
        let IssuesAwaited { number, revision } = awaited;
        let key = IssueKey { repository: self.repository.clone(), number };
        let read = self.op.issue(&key).read(true).await?;
        let Some(read) = read.filter(|read| read.issue.revision >= revision) else { return Ok(None) };
        if view == IssueView::All {
            return Ok(Some(read.issue));
        }
        // An item of an older schema is not in every index.
        self.op.issues().write_back(std::slice::from_ref(&read)).await;
        let in_index = view::query(view::of(view, &read.issue), self.repository, [number, number]);
        let mut page = self.op.table.query_items(&in_index.limit(1)).await?;
        let shown = page.items.pop().map(ReadIssue::of).transpose()?;
        Ok(shown.is_some_and(|shown| shown.issue.revision >= revision).then_some(read.issue))
    }
}
