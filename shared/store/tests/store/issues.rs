//! Issues: their prices, and the changes that are refused.

mod lists;
mod migration;
mod numbers;
pub(crate) mod support;
mod telling;

use lately_engine::Operation;
use lately_engine::fault::{Fault, Faults, Target};
use lately_model::Precondition;
use lately_store::{ChangeIssueError, Cost};

use self::support::{ada, asking, change, changing, new, now, number, open, repository};
use crate::support::{start, store};

/// The cost of a write that also reads.
fn paid(cost: Cost) -> String {
    format!("calls={}, read={}, written={}", cost.calls, cost.read_units, cost.write_units)
}

#[tokio::test(start_paused = true)]
async fn operations_cost_their_stated_calls_and_units() {
    let (_, _, store) = start(1);
    open(&store, r#"{"title":"t"}"#).await;
    let opening = new(r#"{"title":"t","body":"b","labels":["ui"]}"#);
    let op = store.op();
    let issue = op.repository(&repository()).open(&opening, &ada()).await.unwrap();
    // The counter costs 1. A transaction, which costs twice, writes the issue in three places and its event. The own
    // feed costs 1.
    assert_eq!(paid(op.cost()), "calls=3, read=0.0, written=8.0");
    for (consistent, units) in [(false, "0.5"), (true, "1.0")] {
        let op = store.op();
        op.issue(&number(2)).get(consistent).await.unwrap();
        assert_eq!(op.cost().of_read(), format!("read_units={units}, calls=1, items=1, rounds=0"));
    }
    // The first change keeps the issue's places in both indexes. The second moves it in one, by a delete and a put. The
    // third changes nothing.
    for (body, price) in [
        (r#"{"title":"x"}"#, "calls=3, read=1.0, written=7.0"),
        (r#"{"status":"closed"}"#, "calls=3, read=1.0, written=8.0"),
        (r#"{"status":"closed","title":"x"}"#, "calls=1, read=1.0, written=0.0"),
    ] {
        let known = Precondition::Is(now(&store, 2).await.revision);
        let op = store.op();
        op.issue(&number(2)).change(&changing(body), known, &ada()).await.unwrap();
        assert_eq!(paid(op.cost()), price, "{body}");
    }
    // A refused change reads the issue, and writes nothing.
    let known = Precondition::Is(issue.revision);
    let op = store.op();
    op.issue(&number(2)).change(&changing(r#"{"title":"y"}"#), known, &ada()).await.unwrap_err();
    assert_eq!(paid(op.cost()), "calls=1, read=1.0, written=0.0");
    for _ in 2..=60 {
        open(&store, r#"{"title":"t"}"#).await;
    }
    // Issues of about 260 bytes as stored, in all three places. A page reads one issue more than it returns.
    for query in ["", "consistent=true", "status=open", "priority=medium"] {
        let op = store.op();
        let page = op.repository(&repository()).list(&asking(query)).await.unwrap();
        assert_eq!((page.issues.len(), page.next.is_some()), (50, true));
        let units = if query.starts_with("consistent") { "3.0" } else { "1.5" };
        assert_eq!(
            op.cost().of_read(),
            format!("read_units={units}, calls=1, items=51, rounds=1"),
            "{query}"
        );
    }
    let nowhere = lately_items::RepositoryKey { repo: "world".parse().unwrap(), ..repository() };
    let op = store.op();
    let page = op.repository(&nowhere).list(&asking("")).await.unwrap();
    assert_eq!((page.issues.len(), page.next), (0, None), "an unknown repository is empty");
    assert_eq!(op.cost().of_read(), "read_units=0.5, calls=1, items=0, rounds=1");
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
