//! The query of a repository's issues.

use lately_keys::{IssueNumber, IssuePriority, IssueStatus, Order};

use crate::fault::{FaultList, Faults};
use crate::fields::Field;
use crate::page::PageSize;
use crate::query::{self, QueryString, parse_bool};
use crate::revision::Revision;

/// The issues of a repository to list. It also decides where they are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IssueView {
    /// All issues.
    #[default]
    All,
    /// The issues with this status.
    Status(IssueStatus),
    /// The issues with this priority.
    Priority(IssuePriority),
}

lately_keys::schema!(IssueView, "flat.IssueView", {
    let (status, priority) = (reference::<IssueStatus>(), reference::<IssuePriority>());
    ObjectBuilder::new()
        .property("status", described(status, "Only issues of this status. Not with `priority`."))
        .property("priority", described(priority, "Only issues of this priority. Not with `status`."))
});

/// A state of an issue that a list must show; a later state is enough too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IssuesAwaited {
    /// The issue's number.
    pub number: IssueNumber,
    /// The least revision to show.
    pub revision: Revision,
}

/// The query of a repository's issues.
///
/// ```
/// use lately_keys::IssueStatus;
/// use lately_model::{IssueQuery, IssueView, QueryString};
///
/// let query = IssueQuery::parse("status=open&from=10&to=19&wait_for=12@1795167000000001")?;
/// assert_eq!(query.view, IssueView::Status(IssueStatus::Open));
/// assert_eq!(query.wait_for.unwrap().number, "12".parse().unwrap());
///
/// let faults = IssueQuery::parse("status=open&priority=high").unwrap_err();
/// assert_eq!(faults.to_string(), "/priority: must not be given with `status`");
/// # Ok::<(), lately_model::Faults>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "document", derive(utoipa::ToSchema))]
pub struct IssueQuery {
    /// The issues to list.
    pub view: IssueView,
    /// Issues of this number and higher; not after `to`.
    pub from: Option<IssueNumber>,
    /// Issues of this number and lower.
    pub to: Option<IssueNumber>,
    /// `desc` (the default) is newest first. Optional with a cursor.
    pub order: Option<Order>,
    /// The most entries of a page.
    pub limit: PageSize,
    /// The `next` of a page. Repeat the filters of that page's query; `limit` and `consistent` may change.
    #[cfg_attr(feature = "document", schema(value_type = Option<crate::schemas::Cursor>))]
    pub cursor: Option<String>,
    /// The `<number>@<revision>` of an issue. Waits at most 5 s until the list shows that revision of the issue, or a
    /// later one. Not with `cursor`.
    pub wait_for: Option<IssuesAwaited>,
    /// If true, the read shows every acknowledged write, at twice the price. Not with `status` or `priority`, because
    /// these are read from an index.
    #[cfg_attr(feature = "document", schema(default = false))]
    pub consistent: bool,
}

lately_keys::schema!(IssuesAwaited, inline, text("^[1-9][0-9]{0,7}@(0|[1-9][0-9]{0,19})$"));

impl QueryString for IssueQuery {
    fn parse(query: &str) -> Result<Self, Faults> {
        let names =
            ["status", "priority", "from", "to", "order", "limit", "cursor", "wait_for", "consistent"];
        query::parse(query, names, |fields, found| {
            let [status, priority, from, to, order, limit, cursor, wait_for, consistent] = fields;
            let view = parse_view(&status, &priority, found);
            let (first, last): (Option<IssueNumber>, _) = (from.text(found), to.text(found));
            if last.is_some() && first > last {
                from.fault(found, "must not be after `to`");
            }
            let query = Self {
                view,
                from: first,
                to: last,
                order: order.text(found),
                limit: limit.text(found).unwrap_or_default(),
                wait_for: wait_for.parsed(found, parse_awaited),
                consistent: consistent.parsed(found, parse_bool).unwrap_or_default(),
                cursor: cursor.value,
            };
            if wait_for.value.is_some() && query.cursor.is_some() {
                wait_for.fault(found, "must not be given with `cursor`");
            }
            if query.consistent && query.view != IssueView::All {
                consistent.fault(found, "must not be given with `status` or `priority`");
            }
            Some(query)
        })
    }
}

fn parse_view(status: &Field<String>, priority: &Field<String>, found: &mut FaultList) -> IssueView {
    if status.value.is_some() && priority.value.is_some() {
        priority.fault(found, "must not be given with `status`");
    }
    let status = status.text(found).map(IssueView::Status);
    let priority = priority.text(found).map(IssueView::Priority);
    status.or(priority).unwrap_or_default()
}

fn parse_awaited(text: &str) -> Result<IssuesAwaited, &'static str> {
    let awaited = text.split_once('@').and_then(|(number, revision)| {
        Some(IssuesAwaited { number: number.parse().ok()?, revision: Revision::from_digits(revision)? })
    });
    awaited.ok_or("must be an issue's number and revision, such as 7@1795167000000000")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_empty_query_lists_all_issues() {
        assert_eq!(IssueQuery::parse(""), Ok(IssueQuery::default()));
        assert_eq!(IssueQuery::default().view, IssueView::All);
    }

    #[test]
    fn every_parameter_is_read() {
        let query = "from=1&to=99999999&order=asc&limit=7&consistent=true&wait_for=3%4018446744073709551615";
        let query = IssueQuery::parse(query).unwrap();
        assert_eq!((query.from, query.to), (Some(IssueNumber::MIN), Some(IssueNumber::MAX)));
        assert_eq!((query.order, query.limit.get()), (Some(Order::OldestFirst), 7));
        assert_eq!((query.consistent, query.cursor), (true, None));
        let awaited = IssuesAwaited { number: 3.try_into().unwrap(), revision: Revision::new(u64::MAX) };
        assert_eq!(query.wait_for, Some(awaited));
        let view = |query: &str| IssueQuery::parse(query).unwrap().view;
        assert_eq!(view("status=closed"), IssueView::Status(IssueStatus::Closed));
        assert_eq!(view("priority=low&cursor=AQ"), IssueView::Priority(IssuePriority::Low));
    }

    proptest! {
        #[test]
        fn any_text_is_a_query_or_an_error(
            text: String,
            near in "((status|priority|from|to|wait_for)=(open|low|[0-9]{1,3}|[0-9]@[0-9]+)&?){0,4}",
        ) {
            for text in [text, near] {
                if let Ok(query) = IssueQuery::parse(&text)
                    && let (Some(from), Some(to)) = (query.from, query.to)
                {
                    prop_assert!(from <= to);
                }
            }
        }
    }
}
