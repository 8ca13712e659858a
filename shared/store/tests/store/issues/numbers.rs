//! The numbers of issues: each is given once, in order, and without gaps as long as nothing fails.

use futures_util::future::join_all;
use lately_engine::fault::{Fault, Faults, Moment, Target};
use lately_engine::{Engine, Options};
use lately_store::{OpenIssueError, Store};
use lately_table::limits::CONFLICTS;

use super::support::{ada, new, repository, stored, told};
use crate::listed;
use crate::support::{Item, World, engine, seeds, start, store};

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
        let world = World::new(seed.0);
        let engine = engine(&world, Options::default());
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

#[tokio::test(start_paused = true)]
async fn a_crash_while_opening_leaves_at_most_a_gap() {
    // Opening makes eleven calls: two reads of the topic, the removal of an earlier topic's mark, and the creation; the
    // number; a read of the erasures; reads of the bucket's entry and of the one before, and its creation; the
    // transaction; the author's own feed.
    for moment in [Moment::Before, Moment::After] {
        for n in 1..=12 {
            let world = World::new(n);
            let engine = engine(&world, Options::default());
            let client = engine.client_with(Faults::default().nth(n, Target::any(), Fault::Crash(moment)));
            let victim = store(client.client(), &world);
            let lived = client.run(opened(&victim, "t")).await.is_some();
            assert_eq!(lived, n == 12);
            let is_there = n > 10 || (n == 10 && moment == Moment::After);
            let there = usize::from(is_there);
            assert_eq!((stored(&engine).await.len(), told(&engine).await.len()), (there, there), "call {n}");
            let taken = n > 5 || (n == 5 && moment == Moment::After);
            let next = opened(&store(engine.client(), &world), "t").await.unwrap();
            assert_eq!(next, 1 + u32::from(taken), "call {n}");
        }
    }
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
