use lately_keys::{IssueStatus, UnixMillis};
use lately_model::{Labels, Revision};
use proptest::prelude::*;

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

/// A page of the issues 1 to 12, if each query returns at most `at_once` of them.
fn page(query: &IssueQuery, at_once: usize) -> IssueList {
    let mut draft = IssueDraft::new(&repository(), query).unwrap();
    while let Some((lowest, highest)) = draft.left.filter(|_| draft.is_open()) {
        let mut found: Vec<u32> = (lowest.get()..=highest.get().min(12)).collect();
        if draft.order == Order::NewestFirst {
            found.reverse();
        }
        let asked = at_once.min(draft.wanted());
        let is_end = found.len() <= asked;
        for number in found.into_iter().take(asked) {
            if !draft.take(&issue(number, 0)) {
                break;
            }
        }
        if is_end && draft.is_open() {
            draft.exhaust();
        }
    }
    draft.finish()
}

#[test]
fn a_page_ends_at_its_byte_limit_but_takes_one_issue() {
    let mut draft = IssueDraft::new(&repository(), &query("limit=200")).unwrap();
    let mut taken = 0;
    while draft.take(&issue(200 - taken, 60_000)) {
        taken += 1;
    }
    // Each has 120,000 bytes as JSON.
    assert_eq!(taken, 20);
    let page = draft.finish();
    assert!(page.next.is_some());
    assert!(serde_json::to_string(&page).unwrap().len() <= PAGE_BYTES);
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

proptest! {
    #[test]
    fn consecutive_pages_list_every_issue_once_in_order(
        limit in 1..=14_u16,
        at_once in 1..20_usize,
        (one, other) in (1..14_u32, 1..14_u32),
        view in prop::sample::select(&["", "&status=open", "&status=closed"][..]),
        order in prop::sample::select(&["asc", "desc"][..]),
    ) {
        let (from, to) = (one.min(other), one.max(other));
        let text = format!("from={from}&to={to}&order={order}&limit={limit}{view}");
        let (mut seen, mut next) = (Vec::new(), None);
        loop {
            let query = IssueQuery { cursor: next, ..query(&text) };
            let page = page(&query, at_once);
            prop_assert!(page.issues.len() == usize::from(limit) || page.next.is_none());
            seen.extend(page.issues.iter().map(|issue| issue.number.get()));
            next = page.next;
            if next.is_none() {
                break;
            }
        }
        let in_view = |number: &u32| match view {
            "" => true,
            view => number.is_multiple_of(3) == view.ends_with("closed"),
        };
        let mut wanted: Vec<_> = (from..=to.min(12)).filter(in_view).collect();
        if order == "desc" {
            wanted.reverse();
        }
        prop_assert_eq!(seen, wanted);
    }
}
