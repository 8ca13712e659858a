//! The events of issues: each change has one event of the right type, and both are written or neither.

use std::collections::BTreeMap;

use futures_util::future::join_all;
use lately_engine::fault::{Fault, Faults, Moment, Target, Throttle, When};
use lately_engine::{Operation, Options};
use lately_model::{Issue, Revision};
use lately_store::{ChangeIssueError, Store};

use super::support::{change, now, open, stored, told};
use crate::records::storm;
use crate::support::{
    World, assert_directory_held, change as topic_change, engine, seeds, start, store, topic,
};

#[tokio::test(start_paused = true)]
async fn a_crash_leaves_the_change_and_its_event_or_neither() {
    // A change makes six calls: the issue, the topic, the erasures, the bucket's entry, the transaction, the author's own
    // feed.
    for moment in [Moment::Before, Moment::After] {
        for n in 1..=7 {
            let world = World::new(n);
            let engine = engine(&world, Options::default());
            let opened = open(&store(engine.client(), &world), r#"{"title":"t"}"#).await;
            let client = engine.client_with(Faults::default().nth(n, Target::any(), Fault::Crash(moment)));
            let victim = store(client.client(), &world);
            let changing = change(&victim, 1, r#"{"status":"closed"}"#, opened.revision);
            assert_eq!(client.run(changing).await.is_some(), n == 7, "six calls");
            let is_done = n > 5 || (n == 5 && moment == Moment::After);
            let there = now(&store(engine.client(), &world), 1).await;
            assert_eq!(there.revision, if is_done { opened.revision.next() } else { opened.revision });
            assert_eq!(told(&engine).await.len(), 1 + usize::from(is_done), "call {n} {moment:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_retried_transaction_is_applied_once() {
    for fault in [
        Fault::Timeout(Moment::After),
        Fault::Timeout(Moment::Before),
        Fault::InternalServerError,
        Fault::TransactionInProgress,
        Fault::TransactionConflict,
        Fault::Throttle(Throttle::TableKeyRange),
    ] {
        let world = World::new(1);
        let engine = engine(&world, Options::default());
        let writes = Target::operation(Operation::TransactWriteItems);
        let faults = Faults::default().rule(writes, When::First(3), fault.clone());
        let client = engine.client_with(faults);
        let store = store(client.client(), &world);
        let opened = open(&store, r#"{"title":"t"}"#).await;
        assert_eq!((opened.number.get(), client.injected().len()), (1, 3), "{fault:?}");
        assert_eq!((stored(&engine).await.len(), told(&engine).await.len()), (1, 1), "{fault:?}");
    }
    // This also holds for a change: its retry is not refused because of the revision that the first attempt wrote.
    let world = World::new(1);
    let engine = engine(&world, Options::default());
    let opened = open(&store(engine.client(), &world), r#"{"title":"t"}"#).await;
    let writes = Target::operation(Operation::TransactWriteItems);
    let client = engine.client_with(Faults::default().nth(1, writes, Fault::Timeout(Moment::After)));
    let changed =
        change(&store(client.client(), &world), 1, r#"{"title":"x"}"#, opened.revision).await.unwrap();
    assert_eq!((changed.revision, told(&engine).await.len()), (opened.revision.next(), 2));
}

#[tokio::test(start_paused = true)]
async fn only_a_throttle_of_the_topic_doubles_its_shards() {
    for (partition, shards) in [("EVENTS#issues", 2), ("REPO#", 1)] {
        let world = World::new(1);
        let engine = engine(&world, Options::default());
        let writes = Target::operation(Operation::TransactWriteItems).partition(partition);
        let throttled = Faults::default().nth(1, writes, Fault::Throttle(Throttle::TableKeyRange));
        let client = engine.client_with(throttled);
        let store = store(client.client(), &world);
        store.op().topic(&topic("issues")).put(&topic_change("{}")).await.unwrap();
        open(&store, r#"{"title":"t"}"#).await;
        assert_eq!(client.injected().len(), 1);
        let view = store.op().topic(&topic("issues")).view().await.unwrap();
        assert_eq!(view.buckets[0].shards.get(), shards, "{partition}");
        assert_directory_held(&engine);
    }
}

/// Changes issues at random. Returns the changes that were acknowledged.
async fn process(store: &Store, random: &mut fastrand::Rng, process: u64) -> Vec<(u32, Revision)> {
    let mut changed = Vec::new();
    for round in 0..12 {
        let of = random.u32(1..=3);
        let Ok(known) = store.op().issue(&super::support::number(of)).get(true).await else { continue };
        let status = ["open", "closed"][random.usize(0..2)];
        let body = format!(r#"{{"title":"{process}-{round}","status":"{status}"}}"#);
        match change(store, of, &body, known.revision).await {
            Ok(issue) => changed.push((of, issue.revision)),
            Err(ChangeIssueError::Mismatch(_) | ChangeIssueError::Table(_)) => {}
            Err(error) => panic!("{error}"),
        }
    }
    changed
}

#[tokio::test(start_paused = true)]
async fn under_random_faults_each_state_has_one_event_of_its_type() {
    for seed in seeds(12) {
        let (world, engine, plain) = start(seed.0);
        for _ in 1..=3 {
            open(&plain, r#"{"title":"t"}"#).await;
        }
        let clients: Vec<_> =
            (0..5_u64).map(|process| engine.client_with(storm(seed.0 ^ process << 32, 0.06))).collect();
        let acknowledged = join_all((0_u64..).zip(&clients).map(async |(number, client)| {
            let mut random = fastrand::Rng::with_seed(seed.0 << 8 ^ number);
            process(&store(client.client(), &world), &mut random, number).await
        }));
        let acknowledged: Vec<_> = acknowledged.await.into_iter().flatten().collect();
        // The states of each issue in the stream's order, each with the type of the event that it must have.
        let mut states = BTreeMap::<u64, Vec<(String, String)>>::new();
        let mut revisions = BTreeMap::<u32, Vec<Revision>>::new();
        for record in engine.stream(crate::support::TABLE).unwrap().all() {
            let Some(item) = record.new_image().filter(|item| item.contains_key("opened_by")) else {
                continue;
            };
            let text = |name: &str| item[name].as_s().unwrap().clone();
            let number: u32 = text("sk").strip_prefix("ISSUE#").unwrap().parse().unwrap();
            let before = record.old_image().map(|before| before["status"].as_s().unwrap().clone());
            let name = match (before.as_deref(), &*text("status")) {
                (None, _) => "issue.opened",
                (Some("open"), "closed") => "issue.closed",
                (Some("closed"), "open") => "issue.reopened",
                _ => "issue.updated",
            };
            states.entry(number.into()).or_default().push((name.to_owned(), text("title")));
            let revision = item["revision"].as_n().unwrap().parse().unwrap();
            revisions.entry(number).or_default().push(Revision::new(revision));
        }
        let mut events = BTreeMap::<u64, Vec<(String, String)>>::new();
        for (name, data) in told(&engine).await {
            let title = data["title"].as_str().unwrap().to_owned();
            events.entry(data["number"].as_u64().unwrap()).or_default().push((name, title));
        }
        // An event's id is made before its transaction is applied, so two events may have the reverse order.
        states.values_mut().chain(events.values_mut()).for_each(|told| told.sort());
        assert_eq!(events, states);
        for revisions in revisions.values() {
            assert!(revisions.windows(2).all(|pair| pair[1] == pair[0].next()), "{revisions:?}");
        }
        assert!(acknowledged.iter().all(|(number, revision)| revisions[number].contains(revision)));
        let now: Vec<Issue> = join_all((1..=3).map(|number| now(&plain, number))).await;
        assert!(now.iter().all(|issue| revisions[&issue.number.get()].last() == Some(&issue.revision)));
    }
}
