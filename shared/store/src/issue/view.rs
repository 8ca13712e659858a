//! The views of issues, and their places: all issues in the table, those of a status or a priority in an index. Pure.

use lately_items::{IssueKey, IssuePriorityKey, IssueStatusKey};
use lately_keys::{IssueNumber, Place};
use lately_model::{Issue, IssueView};

/// The place of a view: the table or an index.
pub(super) const fn place(view: IssueView) -> Place {
    match view {
        IssueView::All => Place::Table,
        IssueView::Status(_) => Place::Gsi1,
        IssueView::Priority(_) => Place::Gsi2,
    }
}

/// The sort key of an issue in a view. The partition key is the repository's text.
pub(super) fn sort_key(view: IssueView, number: IssueNumber) -> String {
    match view {
        IssueView::All => IssueKey::sort_key(number),
        IssueView::Status(status) => IssueStatusKey::sort_key(status, number),
        IssueView::Priority(priority) => IssuePriorityKey::sort_key(priority, number),
    }
}

/// The view of the same kind that an issue belongs to.
pub(super) const fn of(view: IssueView, issue: &Issue) -> IssueView {
    match view {
        IssueView::All => IssueView::All,
        IssueView::Status(_) => IssueView::Status(issue.status),
        IssueView::Priority(_) => IssueView::Priority(issue.priority),
    }
}
