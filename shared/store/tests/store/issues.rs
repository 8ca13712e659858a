//! Issues: their prices, their stored items, and the changes that are refused.

mod lists;
mod migration;
mod numbers;
pub(crate) mod support;
mod telling;

use std::time::Duration;

use lately_engine::Operation;
use lately_engine::fault::{Fault, Faults, Target};
use lately_model::Precondition;
use lately_store::{ChangeIssueError, Cost};

use self::support::{ada, asking, change, changing, new, now, number, open, repository, stored};
use crate::support::{pass, start, store};

/// The cost of a write that also reads.
fn paid(cost: Cost) -> (u64, String, String) {
    (cost.calls, cost.read_units.to_string(), cost.write_units.to_string())
}

fn price(calls: u64, read: &str, written: &str) -> (u64, String, String) {
    (calls, read.to_owned(), written.to_owned())
}

#[tokio::test(start_paused = true)]
async fn operations_cost_their_stated_calls_and_units() {
    let (_, _, store) = start(1);
    open(&store, r#"{"title":"t"}"#).await;
    let opening = new(r#"{"title":"t","body":"b","labels":["ui"]}"#);
    let op = store.op();
    let issue = op.repository(&repository()).open(&opening, &ada()).await.unwrap();
    let cost = op.cost();
    // The counter costs 1. A transaction, which costs twice, writes the issue in three places and its event. The own
    // feed costs 1.
    assert_eq!(paid(cost), price(3, "0.0", "8.0"));
    let op = store.op();
    op.issue(&number(2)).get(false).await.unwrap();
    assert_eq!(op.cost().of_read(), "read_units=0.5, calls=1, items=1, rounds=0");
    let op = store.op();
    op.issue(&number(2)).get(true).await.unwrap();
    assert_eq!(op.cost().of_read(), "read_units=1.0, calls=1, items=1, rounds=0");
    // The first change keeps the issue's places in both indexes. The second moves it in one, by a delete and a put. The
    // third changes nothing.
    for (body, price) in [
        (r#"{"title":"x"}"#, price(3, "1.0", "7.0")),
        (r#"{"status":"closed"}"#, price(3, "1.0", "8.0")),
        (r#"{"status":"closed","title":"x"}"#, price(1, "1.0", "0.0")),
    ] {
        let known = Precondition::Is(now(&store, 2).await.revision);
        let op = store.op();
        op.issue(&number(2)).change(&changing(body), known, &ada()).await.unwrap();
        let cost = op.cost();
        assert_eq!(paid(cost), price, "{body}");
    }
    // A refused change reads the issue, and writes nothing.
    let known = Precondition::Is(issue.revision);
    store.op().issue(&number(2)).change(&changing(r#"{"title":"y"}"#), known, &ada()).await.unwrap_err();
    for _ in 2..=60 {
        open(&store, r#"{"title":"t"}"#).await;
    }
    // Issues of about 260 bytes as stored, in all three places. A page reads one issue more than it returns.
    for query in ["", "consistent=true", "status=open", "priority=medium"] {
        let op = store.op();
        let page = op.repository(&repository()).list(&asking(query)).await.unwrap();
        let cost = op.cost();
        assert_eq!((page.issues.len(), page.next.is_some()), (50, true));
        let units = if query.starts_with("consistent") { "3.0" } else { "1.5" };
        assert_eq!(cost.of_read(), format!("read_units={units}, calls=1, items=51, rounds=1"), "{query}");
    }
    let nowhere = lately_items::RepositoryKey { repo: "world".parse().unwrap(), ..repository() };
    let op = store.op();
    let page = op.repository(&nowhere).list(&asking("")).await.unwrap();
    let cost = op.cost();
    assert_eq!((page.issues.len(), page.next), (0, None), "an unknown repository is empty");
    assert_eq!(cost.of_read(), "read_units=0.5, calls=1, items=0, rounds=1");
}

#[tokio::test(start_paused = true)]
async fn an_issue_and_the_counter_keep_their_stored_form() {
    let (_, engine, store) = start(1);
    pass(Duration::from_millis(2)).await;
    let opened = open(&store, r#"{"title":"t","body":"b","labels":["critical","ui"]}"#).await;
    pass(Duration::from_secs(1)).await;
    change(&store, 1, r#"{"status":"closed","priority":"low"}"#, opened.revision).await.unwrap();
    let wanted = serde_json::json!({
        "pk": {"S": "REPO#octo#hello"}, "sk": {"S": "ISSUE#00000001"},
        "gsi1pk": {"S": "REPO#octo#hello"}, "gsi1sk": {"S": "ISSUE#CLOSED#00000001"},
        "gsi2pk": {"S": "REPO#octo#hello"}, "gsi2sk": {"S": "PRIORITY#LOW#00000001"},
        "schema": {"N": "3"}, "title": {"S": "t"}, "body": {"S": "b"},
        "labels": {"L": [{"S": "critical"}, {"S": "ui"}]}, "status": {"S": "closed"}, "priority": {"S": "low"},
        "by_hand": {"BOOL": true}, "opened_by": {"S": "ada"}, "opened_at": {"N": "1773489600002"},
        "updated_at": {"N": "1773489601002"}, "revision": {"N": "1773489600002001"},
    });
    assert_eq!(stored(&engine).await[&1], support::item(&wanted));
    let counter =
        serde_json::json!({"pk": {"S": "REPO#octo#hello"}, "sk": {"S": "REPO"}, "last": {"N": "1"}});
    assert!(crate::support::items(&engine).await.contains(&support::item(&counter)));
}

#[tokio::test(start_paused = true)]
async fn a_lost_race_is_told_apart_from_a_busy_item() {
    let (world, engine, plain) = start(1);
    let opened = open(&plain, r#"{"title":"t"}"#).await;
    // The item is busy once, and the change is retried. In the second case, another client changes the issue meanwhile.
    let busy = Target::operation(Operation::TransactWriteItems);
    for is_first in [false, true] {
        let client = engine.client_with(Faults::default().nth(1, busy.clone(), Fault::TransactionConflict));
        let victim = store(client.client(), &world);
        let known = now(&plain, 1).await.revision;
        let ours = format!(r#"{{"title":"ours","status":"{}"}}"#, if is_first { "closed" } else { "open" });
        let meanwhile = async {
            support::befallen(&client).await;
            if is_first {
                change(&plain, 1, r#"{"title":"theirs"}"#, known).await.unwrap();
            }
        };
        let (told, ()) = tokio::join!(change(&victim, 1, &ours, known), meanwhile);
        if is_first {
            let there = known.next();
            assert!(matches!(told, Err(ChangeIssueError::Mismatch(Some(revision))) if revision == there));
        } else {
            assert_eq!(told.unwrap().revision, opened.revision.next());
        }
    }
}
