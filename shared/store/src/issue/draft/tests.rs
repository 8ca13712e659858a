use lately_keys::{IssueStatus, UnixMillis};
use lately_model::{Labels, QueryString, Revision};

use super::*;

fn repository() -> RepositoryKey {
    RepositoryKey { owner: "octo".parse().unwrap(), repo: "hello".parse().unwrap() }
}

fn issue(number: u32, body: usize) -> Issue {
    Issue {
        owner: "octo".parse().unwrap(),
        repo: "hello".parse().unwrap(),
        number: number.try_into().unwrap(),
        title: "t".parse().unwrap(),
        body: Some("\"".repeat(body).parse().unwrap()),
        labels: Labels::default(),
        status: if number.is_multiple_of(3) { IssueStatus::Closed } else { IssueStatus::Open },
        priority: Labels::default().priority(),
        priority_by_hand: false,
        opened_by: "ada".parse().unwrap(),
        opened_at: UnixMillis::MIN,
        updated_at: UnixMillis::MAX,
        revision: Revision::new(u64::MAX),
    }
}

fn query(text: &str) -> IssueQuery {
    IssueQuery::parse(text).unwrap()
}

#[test]
fn a_page_knows_whether_it_shows_an_awaited_issue() {
    let mut draft = IssueDraft::new(&repository(), &query("status=open&from=2&to=9&limit=3")).unwrap();
    let old = Issue { revision: Revision::new(7), ..issue(8, 0) };
    assert!(draft.take(&old) && draft.take(&issue(5, 0)));
    let is_shown = |draft: &IssueDraft, number| draft.shows(&issue(number, 0), Revision::new(8));
    assert!(!is_shown(&draft, 8), "the page shows an earlier revision");
    assert!(draft.shows(&old, Revision::new(7)));
    assert!(!is_shown(&draft, 7), "the page has passed this number without an issue");
    assert!(is_shown(&draft, 6), "a closed issue is not in this view");
    assert!(is_shown(&draft, 4) && is_shown(&draft, 1) && is_shown(&draft, 10), "not on this page");
    draft.left = None;
    assert!(!is_shown(&draft, 4) && is_shown(&draft, 1));
}
