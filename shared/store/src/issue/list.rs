//! A repository's issues, a page at a time: all by number, or by status or priority from their index.
//!
//! A page asks for one issue more than it may have, which costs what one issue's bytes cost, and in return `next` is null
//! exactly at the end. It goes on behind what DynamoDB gives at once (1 MB), up to the page's own bytes.

use aws_sdk_dynamodb::operation::query::QueryOutput;
use lately_keys::table::IssueNumber;
use lately_keys::{CursorError, Order};
use lately_model::{IssueList, IssueQuery, IssueView};

use crate::error::TableError;
use crate::issue::RepositoryHandle;
use crate::issue::draft::IssueDraft;
use crate::issue::stored::ReadIssue;
use crate::issue::view;
use crate::item::text;
use crate::limits::ISSUE_QUERIES;
use crate::wait::wait_for;

/// Why issues could not be listed.
#[derive(Debug, thiserror::Error)]
pub enum IssuesError {
    /// The cursor is none, or not one of this query.
    #[error(transparent)]
    Cursor(#[from] CursorError),
    /// The state of an issue that was waited for did not show in time.
    #[error("the issue is not visible yet")]
    NotYetVisible,
    /// The table could not be read.
    #[error(transparent)]
    Table(#[from] TableError),
}

/// What one query of issues asks for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asked {
    pub(super) view: IssueView,
    /// The lowest number and the highest.
    pub(super) numbers: (IssueNumber, IssueNumber),
    pub(super) order: Order,
    pub(super) limit: usize,
    /// Only of the table: an index has no such reads.
    pub(super) consistent: bool,
}

/// A page, and what was read for it: also what does not belong to it.
#[derive(Debug)]
struct IssuePage {
    draft: IssueDraft,
    read: Vec<ReadIssue>,
}

impl RepositoryHandle<'_> {
    /// A page of a repository's issues.
    ///
    /// # Errors
    /// See [`IssuesError`].
    pub async fn list(self, query: &IssueQuery) -> Result<IssueList, IssuesError> {
        let page = match query.wait_for {
            None => self.page_of_issues(query).await?,
            Some(awaited) => {
                let look = || async {
                    let issue = self.look_for_issue(query.view, awaited).await?;
                    let Some(issue) = issue else { return Ok(None) };
                    // A read of an index may be further behind than the one before.
                    let page = self.page_of_issues(query).await?;
                    Ok::<_, IssuesError>(page.draft.shows(&issue, awaited.revision).then_some(page))
                };
                wait_for(self.op.ambient(), self.op.table.time_left(), look)
                    .await?
                    .ok_or(IssuesError::NotYetVisible)?
            }
        };
        self.op.issues().write_back(&page.read).await;
        Ok(page.draft.finish())
    }

    async fn page_of_issues(self, query: &IssueQuery) -> Result<IssuePage, IssuesError> {
        let repository = self.repository;
        let mut draft = IssueDraft::new(repository, query)?;
        // Who waited for an issue is shown it.
        let consistent = query.view == IssueView::All && (query.consistent || query.wait_for.is_some());
        let mut read = Vec::new();
        for _ in 0..ISSUE_QUERIES {
            let Some(numbers) = draft.left.filter(|_| draft.is_open()) else { break };
            let limit = draft.wanted();
            let asked = Asked { view: query.view, numbers, order: draft.order, limit, consistent };
            let answer = self.query_issues(asked).await?;
            self.op.table.meter.round();
            let is_end = answer.last_evaluated_key().is_none();
            for item in answer.items.unwrap_or_default() {
                let issue = ReadIssue::of(item).map_err(TableError::from)?;
                if !draft.take(&issue.issue) {
                    break;
                }
                read.push(issue);
            }
            if is_end && draft.is_open() {
                draft.exhaust();
            }
        }
        Ok(IssuePage { draft, read })
    }

    pub(super) async fn query_issues(
        self,
        Asked { view, numbers: (lowest, highest), order, limit, consistent }: Asked,
    ) -> Result<QueryOutput, TableError> {
        let repository = self.repository;
        let place = view::place(view);
        let answer = self
            .op
            .table
            .query(|query| {
                query
                    .set_index_name(place.index().map(str::to_owned))
                    .key_condition_expression(format!(
                        "{} = :pk AND {} BETWEEN :lowest AND :highest",
                        place.pk(),
                        place.sk()
                    ))
                    .expression_attribute_values(":pk", text(repository.to_string()))
                    .expression_attribute_values(":lowest", text(view::sort_key(view, lowest)))
                    .expression_attribute_values(":highest", text(view::sort_key(view, highest)))
                    .scan_index_forward(order == Order::OldestFirst)
                    .limit(i32::try_from(limit).unwrap_or(i32::MAX))
                    .consistent_read(consistent)
            })
            .await?;
        self.op.table.meter.items(answer.items().len());
        Ok(answer)
    }
}
