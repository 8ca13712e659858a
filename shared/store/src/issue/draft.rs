//! A page of issues: the numbers that it covers, and the issues that it takes from those that queries find. Pure.

use lately_items::RepositoryKey;
use lately_keys::{CursorError, Fingerprint, IssueNumber, Order, Position};
use lately_model::{Issue, IssueList, IssueQuery, IssueView, Revision};

use crate::issue::view;
use crate::limits::PAGE_BYTES;
use crate::list::{Pager, start};

/// A page being filled.
#[derive(Debug)]
pub(super) struct IssueDraft {
    pub(super) pager: Pager,
    view: IssueView,
    limit: usize,
    /// The numbers that the query covers, the lowest and the highest.
    all: (IssueNumber, IssueNumber),
    /// The numbers that the page has not looked at yet, the lowest and the highest; `None` if there are none left.
    pub(super) left: Option<(IssueNumber, IssueNumber)>,
    issues: Vec<Issue>,
    bytes: usize,
    /// The last number that the page has looked at.
    last: Option<IssueNumber>,
    is_full: bool,
}

impl IssueDraft {
    pub(super) fn new(repository: &RepositoryKey, query: &IssueQuery) -> Result<Self, CursorError> {
        let list = fingerprint(repository, query);
        let (order, position) = start(query.cursor.as_deref(), list, query.order)?;
        let all = (query.from.unwrap_or(IssueNumber::MIN), query.to.unwrap_or(IssueNumber::MAX));
        let mut draft = Self {
            pager: Pager { list, order },
            view: query.view,
            limit: query.limit.get().into(),
            all,
            left: Some(all),
            issues: Vec::new(),
            bytes: 0,
            last: None,
            is_full: false,
        };
        if let Some(position) = position {
            draft.pass(position);
        }
        Ok(draft)
    }

    /// The number of issues to ask for: one more than the page can take, which shows whether there is a next page.
    pub(super) fn wanted(&self) -> usize {
        self.limit - self.issues.len() + 1
    }

    /// Takes an issue that was found, if it belongs to the view. Returns false if the page has no room for it; the page
    /// is then full.
    ///
    /// An older writer may change an issue's status or priority without its index key. The index then lists the issue
    /// in a view that it no longer belongs to.
    pub(super) fn take(&mut self, issue: &Issue) -> bool {
        if view::of(self.view, issue) == self.view {
            let bytes = serde_json::to_string(issue).map_or(PAGE_BYTES, |json| json.len());
            let fits = self.issues.is_empty() || self.bytes + bytes <= PAGE_BYTES;
            self.is_full = self.issues.len() == self.limit || !fits;
            if self.is_full {
                return false;
            }
            self.bytes += bytes;
            self.issues.push(issue.clone());
        }
        self.pass(issue.number);
        true
    }

    /// True if the page has room, and numbers to look at.
    pub(super) const fn is_open(&self) -> bool {
        self.left.is_some() && !self.is_full
    }

    /// True if the page is up to date about an issue: it shows the issue at this revision or a later one, or rightly
    /// does not show it.
    pub(super) fn shows(&self, issue: &Issue, revision: Revision) -> bool {
        if let Some(listed) = self.issues.iter().find(|listed| listed.number == issue.number) {
            return listed.revision >= revision;
        }
        let holds = |(lowest, highest)| (lowest..=highest).contains(&issue.number);
        let was_passed = holds(self.all) && !self.left.is_some_and(holds);
        !was_passed || view::of(self.view, issue) != self.view
    }

    pub(super) fn finish(self) -> IssueList {
        let position = self.last.map_or(Position::Start, Position::Issue);
        let next = self.left.map(|_| self.pager.cursor(position));
        IssueList { issues: self.issues, next }
    }

    /// Marks all numbers up to this one as looked at, in the page's order.
    fn pass(&mut self, number: IssueNumber) {
        self.last = Some(number);
        self.left = self.left.and_then(|(lowest, highest)| {
            let (lowest, highest) = match self.pager.order {
                Order::NewestFirst => (lowest, highest.min(IssueNumber::try_from(number.get() - 1).ok()?)),
                Order::OldestFirst => (lowest.max(IssueNumber::try_from(number.get() + 1).ok()?), highest),
            };
            (lowest <= highest).then_some((lowest, highest))
        });
    }
}

/// The part of a query that its cursors are bound to. Order, page size and consistency are not part of it.
fn fingerprint(repository: &RepositoryKey, query: &IssueQuery) -> Fingerprint {
    let (status, priority) = match query.view {
        IssueView::All => (None, None),
        IssueView::Status(status) => (Some(status.as_str()), None),
        IssueView::Priority(priority) => (None, Some(priority.as_str())),
    };
    let number = |number: Option<IssueNumber>| number.map(|number| number.to_string());
    Fingerprint::of("issues")
        .text(repository.owner.as_str())
        .text(repository.repo.as_str())
        .option(status)
        .option(priority)
        .option(number(query.from).as_deref())
        .option(number(query.to).as_deref())
        .finish()
}

#[cfg(test)]
mod tests;
