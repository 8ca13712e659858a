//! The numbers of issues: each is given once, in order, and without gaps as long as nothing fails.

use futures_util::future::join_all;
use lately_engine::Engine;
use lately_engine::fault::Faults;
use lately_store::{OpenIssueError, Store};
use lately_table::limits::CONFLICTS;

use super::support::{ada, new, repository, stored, told};
use crate::listed;
use crate::support::{Item, seeds, start, store, with_a_death_at_each_call};

async fn opened(store: &Store, title: &str) -> Result<u32, OpenIssueError> {
    let new = new(&format!(r#"{{"title":"{title}"}}"#));
    store.op().repository(&repository()).open(&new, &ada()).await.map(|issue| issue.number.get())
}

/// Sets the repository's counter, as a restore from a backup would.
async fn restore(engine: &Engine, last: u32) {
    listed::put(&engine.client(), [listed::item(&repository(), [("last", listed::number(last))])]).await;
}

#[tokio::test(start_paused = true)]
async fn sixteen_concurrent_openers_get_distinct_numbers_without_gaps() {
    for seed in seeds(3) {
        let (world, engine, _) = start(seed.0);
        let clients: Vec<_> = (0..16)
            .map(|opener| engine.client_with(Faults::seeded(seed.0 ^ opener << 32).interleaved(4)))
            .collect();
        let numbers = join_all(clients.iter().map(async |client| {
            let store = store(client.client(), &world);
            [opened(&store, "a").await.unwrap(), opened(&store, "b").await.unwrap()]
        }));
        let mut numbers: Vec<_> = numbers.await.into_iter().flatten().collect();
        numbers.sort_unstable();
        assert_eq!(numbers, (1..=32).collect::<Vec<_>>());
        assert_eq!(stored(&engine).await.len(), 32);
    }
}

#[test]
fn a_crash_while_opening_leaves_at_most_a_gap() {
    let calls = with_a_death_at_each_call(async |call, faults| {
        let (world, engine, plain) = start(1);
        let client = engine.client_with(faults);
        let lived = client.run(opened(&store(client.client(), &world), "t")).await.is_some();
        let there = stored(&engine).await.len();
        assert_eq!(told(&engine).await.len(), there, "{call}");
        let next = opened(&plain, "t").await.unwrap();
        let is_free = next == 2 || next == 1 && there == 0;
        assert!(is_free && (there == 1 || !lived), "{call}: {there} issues, and then {next}");
        !lived
    });
    // Two reads of the topic, the removal of an earlier topic's mark, and the creation; the number; a read of the erasures;
    // reads of the bucket's entry and of the one before, and its creation; the transaction; the author's own feed.
    assert_eq!(calls, 4 + 1 + 1 + 3 + 1 + 1);
}

#[tokio::test(start_paused = true)]
async fn a_restored_counter_overwrites_no_issue() {
    let (_, engine, store) = start(1);
    for number in 1..=6 {
        assert_eq!(opened(&store, &number.to_string()).await.unwrap(), number);
    }
    restore(&engine, 2).await;
    let before: Vec<Item> = stored(&engine).await.into_values().collect();
    assert_eq!(opened(&store, "7").await.unwrap(), 7);
    let after: Vec<Item> = stored(&engine).await.into_values().collect();
    assert_eq!((&after[..6], told(&engine).await.len()), (&before[..], 7));
    // If the counter is further behind than one opener counts, the next opener continues.
    const { assert!(CONFLICTS < 20) };
    for number in 8..=20 {
        assert_eq!(opened(&store, "x").await.unwrap(), number);
    }
    restore(&engine, 0).await;
    assert!(matches!(opened(&store, "y").await, Err(OpenIssueError::Table(_))));
    assert_eq!(opened(&store, "y").await.unwrap(), 21);
}

#[tokio::test(start_paused = true)]
async fn no_issue_is_opened_beyond_the_last_number() {
    let (_, engine, store) = start(1);
    restore(&engine, 99_999_998).await;
    assert_eq!(opened(&store, "last").await.unwrap(), 99_999_999);
    for _ in 0..2 {
        assert!(matches!(opened(&store, "t").await, Err(OpenIssueError::TooManyIssues { .. })));
    }
    assert_eq!(stored(&engine).await.len(), 1);
}
