//! Lists of issues against a model: every view, order and range, also with indexes that are behind; and lists that wait
//! for an issue.

use std::collections::BTreeMap;
use std::time::Duration;

use lately_engine::{Engine, Lag, Options};
use lately_model::{Issue, IssueQuery, IssueView};
use lately_store::limits::PAGE_BYTES;
use lately_store::{IssuesError, Store};

use super::support::{asking, change, now, open, repository, stored};
use crate::support::{World, pages, pass, seeds, start, start_with};

type Model = BTreeMap<u32, Issue>;

/// Opens and changes issues at random.
async fn scramble(store: &Store, random: &mut fastrand::Rng, model: &mut Model, steps: u32) {
    for step in 0..steps {
        let known = u32::try_from(model.len()).unwrap();
        let labels = [r"[]", r#"["critical"]"#, r#"["enhancement"]"#, r#"["ui"]"#][random.usize(0..4)];
        let issue = if known == 0 || random.u8(0..3) == 0 {
            open(store, &format!(r#"{{"title":"{step}","labels":{labels}}}"#)).await
        } else {
            let number = random.u32(1..=known);
            let status = ["open", "closed"][random.usize(0..2)];
            let priority = [r"", r#","priority":"high""#, r#","priority":"low""#][random.usize(0..3)];
            let body = format!(r#"{{"title":"{step}","labels":{labels},"status":"{status}"{priority}}}"#);
            change(store, number, &body, model[&number].revision).await.unwrap()
        };
        model.insert(issue.number.get(), issue);
    }
}

/// The issues that a query must give.
fn listed(model: &Model, query: &IssueQuery, is_descending: bool) -> Vec<Issue> {
    let is_wanted = |issue: &&Issue| {
        let in_range = query.from.is_none_or(|from| issue.number >= from)
            && query.to.is_none_or(|to| issue.number <= to);
        in_range
            && match query.view {
                IssueView::All => true,
                IssueView::Status(status) => issue.status == status,
                IssueView::Priority(priority) => issue.priority == priority,
            }
    };
    let mut listed: Vec<_> = model.values().filter(is_wanted).cloned().collect();
    if is_descending {
        listed.reverse();
    }
    listed
}

/// Reads all pages of a query.
async fn walk(store: &Store, query: &str) -> Vec<Issue> {
    let issues = pages(async |cursor| {
        let query = IssueQuery { cursor, ..asking(query) };
        let page = store.op().repository(&repository()).list(&query).await.unwrap();
        let is_full = page.issues.len() == usize::from(query.limit.get());
        assert!(is_full || page.next.is_none(), "a page is full, or the last one");
        (page.issues, page.next)
    });
    issues.await
}

const VIEWS: [&str; 6] =
    ["", "&status=open", "&status=closed", "&priority=high", "&priority=medium", "&priority=low"];

#[tokio::test(start_paused = true)]
async fn a_page_of_large_issues_ends_at_its_size_limit() {
    let (_, _, store) = start(1);
    let body = "x".repeat(60_000);
    for _ in 0..60 {
        open(&store, &format!(r#"{{"title":"t","body":"{body}"}}"#)).await;
    }
    for order in ["asc", "desc"] {
        let op = store.op();
        let query = asking(&format!("limit=200&order={order}"));
        let page = op.repository(&repository()).list(&query).await.unwrap();
        assert!(page.next.is_some() && (40..42).contains(&page.issues.len()), "{}", page.issues.len());
        assert!(serde_json::to_string(&page).unwrap().len() <= PAGE_BYTES);
        assert_eq!(op.cost().calls, 3, "1 MB per call");
        let rest = IssueQuery { cursor: page.next, ..asking("limit=200") };
        let rest = store.op().repository(&repository()).list(&rest).await.unwrap();
        assert_eq!((page.issues.len() + rest.issues.len(), rest.next), (60, None));
    }
}

/// A world in which a share of the reads is stale: of an index by up to `index`, of the table by up to half of that.
fn behind(seed: u64, index: Duration, behind: f64) -> (World, Engine, Store) {
    let lag = Lag { seed, table: index / 2, index, behind };
    start_with(seed, Options { lag: Some(lag), ..Options::default() })
}

#[tokio::test(start_paused = true)]
async fn every_view_order_and_range_matches_the_model_once_the_indexes_catch_up() {
    for seed in seeds(3) {
        let (_, engine, store) = behind(seed.0, Duration::from_secs(3), 0.7);
        let mut random = fastrand::Rng::with_seed(seed.0);
        let mut model = Model::new();
        for _ in 0..4 {
            scramble(&store, &mut random, &mut model, 15).await;
            // A view may be stale, but it never shows an issue twice or out of order.
            for view in VIEWS {
                let seen = walk(&store, &format!("limit=4{view}")).await;
                assert!(seen.windows(2).all(|pair| pair[0].number > pair[1].number), "{view}");
            }
            // Consistent reads of all issues are never stale.
            assert_eq!(walk(&store, "limit=4&consistent=true").await, listed(&model, &asking(""), true));
            pass(Duration::from_millis(500)).await;
        }
        pass(Duration::from_secs(4)).await;
        let last = u32::try_from(model.len()).unwrap();
        for view in VIEWS {
            for order in ["", "&order=asc", "&order=desc"] {
                for range in ["", "&from=5", "&to=9", "&from=4&to=12", "&from=7&to=7", "&from=90000000"] {
                    let limit = [1, 2, 3, 7, last, last + 1][random.usize(0..6)];
                    let query = format!("limit={limit}{view}{order}{range}");
                    let wanted = listed(&model, &asking(&query), order != "&order=asc");
                    assert_eq!(walk(&store, &query).await, wanted, "{query}");
                }
            }
        }
        // No stale item was written back.
        assert_eq!(stored(&engine).await.len(), model.len());
        for (number, issue) in &model {
            assert_eq!(now(&store, *number).await, *issue);
        }
    }
}

async fn waited(store: &Store, query: &str) -> Result<Vec<u32>, IssuesError> {
    let page = store.op().repository(&repository()).list(&asking(query)).await?;
    Ok(page.issues.iter().map(|issue| issue.number.get()).collect())
}

#[tokio::test(start_paused = true)]
async fn a_waiting_list_shows_the_change_in_every_view() {
    const SECOND: Duration = Duration::from_secs(1);
    for seed in seeds(4) {
        for (view, is_new) in [
            ("", true),
            ("&status=closed", true),
            ("&priority=medium&limit=1", true),
            // Views that the issue has left.
            ("&status=open", false),
            ("&priority=high", false),
        ] {
            // Either all reads are stale, or a read may be more stale than the one before.
            let share = [1.0, 0.5][usize::try_from(seed.0 % 2).unwrap()];
            let (_, _, store) = behind(seed.0, 2 * SECOND, share);
            let opened = open(&store, r#"{"title":"t","labels":["critical"]}"#).await;
            let opened_at = format!("wait_for=1@{}", opened.revision);
            assert_eq!(waited(&store, &format!("{opened_at}&status=open")).await.unwrap(), [1]);
            assert_eq!(waited(&store, &format!("{opened_at}&priority=high")).await.unwrap(), [1]);
            let closed = r#"{"status":"closed","labels":[]}"#;
            let changed = change(&store, 1, closed, opened.revision).await.unwrap();
            let query = asking(&format!("wait_for=1@{}{view}", changed.revision));
            let page = store.op().repository(&repository()).list(&query).await.unwrap();
            assert_eq!(page.issues, if is_new { vec![changed] } else { vec![] }, "{view}");
        }
    }
}
