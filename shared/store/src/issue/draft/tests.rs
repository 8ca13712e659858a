use lately_keys::{IssueStatus, UnixMillis};
use lately_model::{Labels, Revision};

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
fn the_estimated_size_of_an_issue_is_never_too_small() {
    let longest = "x".repeat(60);
    let mut large = issue(99_999_999, 1_000);
    large.owner = longest.parse().unwrap();
    large.repo = longest.parse().unwrap();
    large.opened_by = longest.parse().unwrap();
    large.title = "\"\\".repeat(128).parse().unwrap();
    large.body = Some("a\"\\\n\r\té".repeat(100).parse().unwrap());
    let labels = (0..20).map(|label| format!("{label}\"\\").parse().unwrap());
    large.labels = Labels::new(labels.collect()).unwrap();
    for issue in [issue(1, 0), large] {
        let sent = serde_json::to_string(&issue).unwrap().len();
        assert!((sent..sent + 200).contains(&sent_bytes(&issue)), "{sent}, {}", sent_bytes(&issue));
    }
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
    draft.exhaust();
    assert!(!is_shown(&draft, 4) && is_shown(&draft, 1));
}
