//! Busy key ranges: reads that a partition refuses hold up nobody, and the work that needed them is done later. `work.rs` has
//! the model of all kinds of work.

use std::time::Duration;

use lately_engine::fault::{Fault, Faults, Target, Throttle, When};
use lately_items::AnyKey;
use lately_store::{Ambient, FeedSettings};

use crate::backlog::process;
use crate::listed::{source, user};
use crate::scene::{Scene, fan_out, key, small_jobs, tell};
use crate::support::{event, items, with_a_death_at_each_call};

const HOT: Fault = Fault::Throttle(Throttle::TableKeyRange);

/// Adds to faults that the partitions with a prefix refuse all reads.
fn refusing(faults: Faults, partition: &str) -> Faults {
    faults.rule(Target::reads().partition(partition), When::Always, HOT)
}

/// The number of steps, pages and notes that wait.
async fn waiting(scene: &Scene) -> usize {
    let is_waiting =
        |key: &AnyKey| matches!(key, AnyKey::Backlog(_) | AnyKey::ChangeNote(_) | AnyKey::Job(_));
    items(&scene.engine).await.iter().map(key).filter(is_waiting).count()
}

fn of_eve() -> lately_model::NewEvent {
    lately_model::NewEvent { actor: "eve".parse().unwrap(), ..event("note", None) }
}

#[tokio::test(start_paused = true)]
async fn events_whose_reads_are_refused_delay_no_others() {
    for partition in ["SOURCE#actor:ada", "FOLLOWERS#actor:ada", "EVENTS#logs"] {
        let mut scene = Scene::followed().await;
        scene.follow("cy", "actor:eve", 0).await;
        scene.settle().await;
        let posted = scene.write(vec![event("note", None); 30]).await;
        let logged = scene.post(&scene.logs, vec![event("note", None); 30]).await;
        let others = scene.write(vec![of_eve()]).await;
        let (client, busy) = process(&scene, refusing(Faults::default(), partition));
        let begun = tokio::time::Instant::now();
        let outcome = tell(&busy, &scene.news()).await;
        assert!(begun.elapsed() < Duration::from_millis(700), "{partition}: {:?}", begun.elapsed());
        assert!(outcome.deferred >= 30, "{partition}: {}", outcome.deferred);
        assert_eq!(scene.shown("cy").await, others, "{partition}");
        // The rails share their reads, also those that are refused.
        assert!(client.injected().len() <= 24, "{partition}: {} refusals", client.injected().len());

        scene.settle().await;
        assert_eq!(scene.listed("actor:ada").await.len(), posted.len() + logged.len(), "{partition}");
        assert_eq!(scene.shown("bob").await.len(), 30, "{partition}");
        assert_eq!(waiting(&scene).await, 0, "{partition}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_read_that_a_limit_of_the_account_refuses_is_repeated() {
    let mut scene = Scene::followed().await;
    let posted = scene.write(vec![event("note", None)]).await;
    let until = scene.world.since_epoch() + Duration::from_secs(40);
    let account = Fault::Throttle(Throttle::Account);
    let faults = Faults::default().rule_until(until, Target::reads(), When::Always, account);
    let outcome = tell(&process(&scene, faults).1, &scene.news()).await;
    assert_eq!((outcome.deferred, outcome.put_away), (0, 0));
    assert_eq!(scene.shown("bob").await, posted);
}

#[tokio::test(start_paused = true)]
async fn keys_that_a_batch_leaves_unprocessed_are_asked_for_alone() {
    let mut scene = Scene::followed().await;
    scene.write(vec![event("note", None); 5]).await;
    let others = scene.post(&scene.logs, vec![of_eve()]).await;
    let batches = Target::operation(lately_engine::Operation::BatchGetItem).partition("EVENTS#posts");
    let (_, busy) = process(&scene, Faults::seeded(1).rule(batches, When::Always, Fault::Unprocessed(1.0)));
    let begun = tokio::time::Instant::now();
    let outcome = tell(&busy, &scene.news()).await;
    assert!(begun.elapsed() < Duration::from_millis(500), "{:?}", begun.elapsed());
    // Under the source, and in the author's own feed.
    assert_eq!(outcome.deferred, 10);
    assert_eq!(scene.listed("actor:eve").await[0].0, others[0]);
    scene.settle().await;
    assert_eq!((scene.shown("bob").await.len(), waiting(&scene).await), (5, 0));
}

#[tokio::test(start_paused = true)]
async fn refused_work_comes_round_a_few_times_a_second_and_costs_little() {
    let mut scene = Scene::new(small_jobs()).await;
    for n in 0..4 {
        scene.follow(&format!("u{n}"), "actor:ada", 0).await;
    }
    scene.settle().await;
    scene.write(vec![event("note", None); 200]).await;
    let (_, busy) = process(&scene, refusing(Faults::default(), "SOURCE#actor:ada"));
    let begun = tokio::time::Instant::now();
    tell(&busy, &scene.news()).await;
    let mut rounds = 0;
    let mut halves = 0;
    while begun.elapsed() < Duration::from_secs(10) {
        halves += tell(&busy, &scene.news()).await.cost.write_units.halves;
        rounds += 1;
    }
    assert!((50..200).contains(&rounds), "{rounds} rounds in ten seconds");
    // Each round writes the entry of one event, and puts the backlog's item of 4.2 KB.
    assert!(halves / 2 <= rounds * 16, "{} write units in {rounds} rounds", halves / 2);
    scene.settle().await;
    assert_eq!((scene.shown("u1").await.len(), waiting(&scene).await), (200, 0));
}

#[test]
fn a_crash_at_any_call_loses_no_refused_work() {
    for partition in ["SOURCE#actor:ada", "FOLLOWERS#actor:ada", "USER#"] {
        with_a_death_at_each_call(async |call, faults| {
            let mut scene = Scene::new(FeedSettings::default()).await;
            scene.follow("bob", "actor:ada", 0).await;
            let old = scene.write(vec![event("note", None); 2]).await;
            scene.settle().await;
            let posted = scene.write(vec![event("note", None); 2]).await;
            scene.store.op().event(&scene.posts, old[0]).delete(None).await.unwrap();
            scene.store.op().event(&scene.posts, posted[0]).delete(None).await.unwrap();
            scene.follow("cy", "actor:ada", 9).await;
            scene.store.op().user(&user("bob")).unfollow(&source("actor:ada")).await.unwrap();
            let news = scene.news();
            let (client, victim) = process(&scene, refusing(faults, partition));
            let outcome = client.run(fan_out(&victim, &news)).await;
            if outcome.as_ref().is_none_or(|outcome| outcome.failed.is_some()) {
                tell(&scene.store, &news).await;
            }
            scene.settle().await;
            let kept = vec![posted[1], old[1]];
            for delivery in ["once", "twice"] {
                assert_eq!(scene.shown("cy").await, kept, "{partition}, {call}, {delivery}");
                assert_eq!(scene.shown("ada").await, kept, "{partition}, {call}, {delivery}");
                assert_eq!(scene.shown("bob").await, [], "{partition}, {call}, {delivery}");
                assert_eq!((scene.listed("actor:ada").await.len(), waiting(&scene).await), (2, 0), "{call}");
                // The records come again, after the deferred work is done.
                tell(&scene.store, &news).await;
                scene.settle().await;
            }
            outcome.is_none()
        });
    }
}
