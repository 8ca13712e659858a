//! Requests that a retry finishes late, or that are written in part. The moment when a request first came decides what
//! its events are.

use std::collections::BTreeSet;
use std::time::Duration;

use lately_engine::Operation;
use lately_engine::fault::{Fault, Faults, Moment, Network, Stall, Target, Throttle, When};
use lately_keys::EventId;
use lately_model::NewEvent;
use lately_store::{FeedSettings, Submission, WriteError};

use crate::faults::keyed;
use crate::listed::{feed_of, user};
use crate::scene::Scene;
use crate::support::{MINUTE, event, ids, in_two_shards, pass, post, store, stored, submission};

/// Events of these ages, in milliseconds. `None` is an event without a time from the client.
fn aged(scene: &Scene, ages: &[Option<u64>]) -> Vec<NewEvent> {
    let at = |age: &Option<u64>| age.map(|age| scene.world.now().saturating_sub(age));
    ages.iter().map(|age| NewEvent { at: at(age), ..event("note", None) }).collect()
}

/// Writes with a process that dies before its n-th call to a target. Returns the events that are stored.
async fn written_before(scene: &Scene, n: u64, calls: Target, request: &Submission) -> Vec<EventId> {
    let client = scene.engine.client_with(Faults::default().nth(n, calls, Fault::Crash(Moment::Before)));
    let victim = store(client.client(), &scene.world);
    assert!(client.run(victim.op().topic(&scene.posts).write(request.clone())).await.is_none());
    stored(&scene.engine, &scene.posts).await
}

/// The calls that mark a request as done, when all of its events are written.
fn marks() -> Target {
    Target::operation(Operation::UpdateItem).partition("IDEMPOTENCY#")
}

/// The entries of a source's timeline that are marked as imports.
async fn imports(scene: &Scene) -> BTreeSet<EventId> {
    let listed = scene.listed("actor:ada").await.into_iter();
    listed.filter(|(_, entry)| entry.contains_key("i")).map(|(id, _)| id).collect()
}

#[tokio::test(start_paused = true)]
async fn a_post_that_a_late_retry_finishes_is_a_post() {
    let ages = [None, Some(30_000), Some(61_000)];
    for count in [1, 3] {
        let mut scene = Scene::followed().await;
        let request = keyed("k", aged(&scene, &ages[..count]));
        // The process dies after the request is recorded, and before any event is written.
        let there = written_before(&scene, 1, Target::writes().partition("EVENTS#"), &request).await;
        assert_eq!(there, []);
        pass(10 * MINUTE).await;
        let written = scene.store.op().topic(&scene.posts).write(request).await.unwrap();
        scene.settle().await;
        let mut posts = ids(&written.events);
        let import: BTreeSet<_> = posts.split_off(count.min(2)).into_iter().collect();
        posts.sort_unstable_by(|a, b| b.cmp(a));
        assert_eq!(scene.shown("bob").await, posts);
        assert_eq!(scene.shown("ada").await, posts);
        assert_eq!(imports(&scene).await, import);
    }
}

#[tokio::test(start_paused = true)]
async fn the_landing_time_does_not_decide_import_or_post() {
    let mut scene = Scene::followed().await;
    // DynamoDB reports in whole seconds when an event landed.
    pass(Duration::from_millis(500)).await;
    let slow = Faults::default().rule(
        Target::operation(Operation::PutItem).partition("EVENTS#"),
        When::First(8),
        Fault::Throttle(Throttle::Account),
    );
    let slow = store(scene.engine.client_with(slow).client(), &scene.world);
    let posted = post(&slow, &scene.posts, aged(&scene, &[Some(59_900)])).await;
    scene.settle().await;
    assert_eq!((scene.shown("bob").await, imports(&scene).await), (posted.clone(), [].into()));

    pass(Duration::from_millis(2_999 - (scene.world.now().get() % 1_000))).await;
    let import = post(&scene.store, &scene.posts, aged(&scene, &[Some(60_500)])).await;
    scene.settle().await;
    assert_eq!(scene.shown("bob").await, posted);
    assert_eq!(imports(&scene).await, import.into_iter().collect());
}

#[tokio::test(start_paused = true)]
async fn a_retry_brings_no_deleted_event_back() {
    for count in [1_usize, 60] {
        for whose in [None, Some("ada")] {
            let scene = Scene::new(FeedSettings::default()).await;
            let events: Vec<_> = (0..count).map(|n| event("note", Some(n.to_string()))).collect();
            let request = keyed("k", events);
            let mut left = written_before(&scene, 1, marks(), &request).await;
            assert_eq!(left.len(), count);
            let deleted = left.remove(count / 2);
            let by = whose.map(|name| name.parse().unwrap());
            scene.store.op().event(&scene.posts, deleted).delete(by.as_ref()).await.unwrap();
            for wait in [Duration::ZERO, 23 * 60 * MINUTE] {
                pass(wait).await;
                let written = scene.store.op().topic(&scene.posts).write(request.clone()).await.unwrap();
                assert!(
                    written.replayed && ids(&written.events).contains(&deleted),
                    "the retry gets the first response"
                );
                assert_eq!(stored(&scene.engine, &scene.posts).await, left);
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_retry_writes_missing_events_but_no_deleted_ones() {
    let scene = Scene::new(FeedSettings::default()).await;
    let events: Vec<_> = (0..60).map(|n| event("note", Some(n.to_string()))).collect();
    let request = keyed("k", events);
    let there = written_before(&scene, 3, Target::operation(Operation::BatchWriteItem), &request).await;
    assert!(!there.is_empty() && there.len() < 60, "{}", there.len());
    for id in &there[..2] {
        scene.store.op().event(&scene.posts, *id).delete(None).await.unwrap();
    }
    let written = scene.store.op().topic(&scene.posts).write(request).await.unwrap();
    let mut expected = ids(&written.events);
    expected.retain(|id| !there[..2].contains(id));
    expected.sort();
    assert_eq!(expected.len(), 58);
    assert_eq!(stored(&scene.engine, &scene.posts).await, expected);
}

#[tokio::test(start_paused = true)]
async fn a_deletion_wins_over_a_concurrent_retry() {
    for call in 1..=12 {
        for moment in [Moment::Before, Moment::After] {
            let scene = Scene::new(FeedSettings::default()).await;
            let request = keyed("k", vec![event("note", None)]);
            let id = written_before(&scene, 1, marks(), &request).await[0];
            // The retry, and then the deletion, stalls in one of its calls while the other one runs.
            let stall = Stall { call, moment, time: Duration::from_secs(2) };
            let network = |stall| Network { seed: 1, longest: Duration::from_millis(3), stall };
            for (mine, other) in [(Some(stall), None), (None, Some(stall))] {
                let [repeating, deleting] = [mine, other].map(|stall| {
                    let client = scene.engine.client_with(Faults::default()).over(network(stall));
                    store(client, &scene.world)
                });
                let repeat = async {
                    repeating.op().topic(&scene.posts).write(request.clone()).await.unwrap().replayed
                };
                let delete = async { deleting.op().event(&scene.posts, id).delete(None).await.unwrap() };
                assert!(futures_util::future::join(repeat, delete).await.0);
                assert_eq!(stored(&scene.engine, &scene.posts).await, [], "call {call}");
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_own_feed_that_is_written_late_shows_no_deleted_event() {
    // The calls: the topic; the erasures; the bucket's entry, the entry before, the entry's creation; the event; the own
    // feed.
    for (call, landed) in [(6, false), (7, true)] {
        let mut scene = Scene::new(FeedSettings::default()).await;
        let stall = Stall { call, moment: Moment::Before, time: MINUTE };
        let network = Network { seed: 1, longest: Duration::from_millis(3), stall: Some(stall) };
        let client = scene.engine.client_with(Faults::default()).over(network);
        let author = store(client, &scene.world);
        let (op, posts) = (author.op(), scene.posts.clone());
        let post = op.topic(&posts).write(submission(vec![event("note", None)]));
        let meanwhile = async {
            pass(MINUTE / 2).await;
            let there = stored(&scene.engine, &scene.posts).await;
            assert_eq!(there.len(), usize::from(landed));
            for id in there {
                scene.store.op().event(&scene.posts, id).delete(None).await.unwrap();
            }
            scene.settle().await;
        };
        let (posted, ()) = futures_util::future::join(post, meanwhile).await;
        let shown = if landed { Vec::new() } else { ids(&posted.unwrap().events) };
        assert_eq!(feed_of(&scene.store, &user("ada")).await, shown);
        scene.settle().await;
        // An entry that the late write left expires.
        pass(25 * 60 * MINUTE).await;
        scene.engine.expire(10).unwrap();
        scene.settle().await;
        assert_eq!(scene.shown("ada").await, shown);
    }
}

#[tokio::test(start_paused = true)]
async fn events_reported_as_rejected_are_not_written() {
    // The events of one shard are written, but no call gets a response.
    for (looked, expected) in [(true, 60), (false, 0)] {
        let scene = Scene::new(FeedSettings::default()).await;
        let settings = crate::support::change(r#"{"bucket":"quarter-hour","min_shards":2}"#);
        let notes = crate::support::topic("notes");
        scene.store.op().topic(&notes).put(&settings).await.unwrap();
        let hot = "EVENTS#notes#2026-03-14T12:00#SHARD1";
        let stuck = Faults::seeded(1)
            .rule(Target::writes().partition(hot), When::Always, Fault::Unprocessed(1.0))
            .rule(
                Target::operation(Operation::PutItem).partition(hot),
                When::Always,
                Fault::Timeout(Moment::After),
            );
        let looks = Target::operation(Operation::BatchGetItem);
        let stuck = match looked {
            true => stuck,
            false => stuck.rule(looks, When::Always, Fault::ServiceUnavailable),
        };
        let client = scene.engine.client_with(stuck);
        pass(Duration::from_millis(400)).await;
        let events: Vec<_> = in_two_shards(&scene.world, (0..60).map(|n| event("note", Some(n.to_string()))));
        let written = store(client.client(), &scene.world).op().topic(&notes).write(submission(events)).await;
        let there = stored(&scene.engine, &notes).await;
        assert_eq!(there.len(), 60);
        match written {
            Ok(written) => assert_eq!((written.events.len(), looked), (expected, true)),
            Err(WriteError::Partly { accepted, rejected }) => {
                // The store does not know whether the other events were written.
                assert!(!looked && rejected.is_empty() && (10..50).contains(&accepted.len()));
                assert!(accepted.iter().all(|(_, id)| there.contains(id)));
            }
            Err(error) => panic!("{error}"),
        }
    }
}
