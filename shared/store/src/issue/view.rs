//! The views of issues, and their places: all issues in the table, those of a status or a priority in an index. Pure.

use lately_items::{IssueKey, IssuePriorityKey, IssueStatusKey, RepositoryKey};
use lately_keys::{IssueNumber, Place};
use lately_model::{Issue, IssueView};
use lately_table::Query;

/// The query of the issues of a view from the lowest number to the highest.
pub(super) fn query(view: IssueView, repository: &RepositoryKey, numbers: [IssueNumber; 2]) -> Query {
    let (place, [lowest, highest]) = match view {
        IssueView::All => (Place::Table, numbers.map(IssueKey::sort_key)),
        IssueView::Status(status) => {
            (Place::Gsi1, numbers.map(|number| IssueStatusKey::sort_key(status, number)))
        }
        IssueView::Priority(priority) => {
            (Place::Gsi2, numbers.map(|number| IssuePriorityKey::sort_key(priority, number)))
        }
    };
    Query::of(place, repository.to_string()).between(lowest, highest)
}

/// The view of the same kind that an issue belongs to.
pub(super) const fn of(view: IssueView, issue: &Issue) -> IssueView {
    match view {
        IssueView::All => IssueView::All,
        IssueView::Status(_) => IssueView::Status(issue.status),
        IssueView::Priority(_) => IssueView::Priority(issue.priority),
    }
}
