//! The views of issues, and where each lies: all in the table, those of a status or a priority in an index. Pure.

use lately_keys::Place;
use lately_keys::table::{IssueKey, IssueNumber, IssuePriorityKey, IssueStatusKey};
use lately_model::{Issue, IssueView};

/// Where a view lies.
pub(super) const fn place(view: IssueView) -> Place {
    match view {
        IssueView::All => Place::Table,
        IssueView::Status(_) => Place::Gsi1,
        IssueView::Priority(_) => Place::Gsi2,
    }
}

/// The sort key of an issue in a view. The partition is the repository's text.
pub(super) fn sort_key(view: IssueView, number: IssueNumber) -> String {
    match view {
        IssueView::All => IssueKey::sort_key(number),
        IssueView::Status(status) => IssueStatusKey::sort_key(status, number),
        IssueView::Priority(priority) => IssuePriorityKey::sort_key(priority, number),
    }
}

/// Of the views of the same kind, the one that an issue belongs to.
pub(super) const fn of(view: IssueView, issue: &Issue) -> IssueView {
    match view {
        IssueView::All => IssueView::All,
        IssueView::Status(_) => IssueView::Status(issue.status),
        IssueView::Priority(_) => IssueView::Priority(issue.priority),
    }
}
