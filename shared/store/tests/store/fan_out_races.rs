//! Races: users follow and unfollow, events are deleted, and sources are promoted while fan-out runs.

use std::collections::BTreeSet;
use std::time::Duration;

use lately_engine::Operation;
use lately_engine::fault::{Fault, Faults, Moment, Target, Throttle};
use lately_keys::EventId;
use lately_model::{Backfill, SourceMode};
use lately_store::{FeedSettings, Store};

use crate::fan_out::follow_in_two_shards;
use crate::listed::{source, user};
use crate::scene::{Scene, fan_out, markers, of_keys, small_jobs, tell};
use crate::support::{event, pass, store};

/// The n-th batch write to bob's feed.
fn to_bobs_feed(n: u64) -> (Target, u64) {
    (Target::operation(Operation::BatchWriteItem).partition("FEED#bob"), n)
}

/// The number of attempts of a call that fail, so that something else is surely done before the call.
const WAITS: u64 = 6;

/// Hands records to a process whose n-th call to a target has to wait, and does something else meanwhile. If the process
/// dies after that call, the records are delivered again.
async fn hindered(
    scene: &mut Scene,
    (calls, n): (Target, u64),
    dies: bool,
    news: &str,
    meanwhile: impl AsyncFnOnce(&mut Scene),
) {
    let throttled = |faults: Faults, n| faults.nth(n, calls.clone(), Fault::Throttle(Throttle::Account));
    let mut faults = (n..n + WAITS).fold(Faults::default(), throttled);
    if dies {
        faults = faults.nth(n + WAITS, calls, Fault::Crash(Moment::After));
    }
    let client = scene.engine.client_with(faults);
    let slow = store(client.client(), &scene.world).with_feeds(scene.settings);
    let meanwhile = async {
        // Time passes only while the other process waits.
        pass(Duration::from_millis(1)).await;
        meanwhile(scene).await;
    };
    let (outcome, ()) = futures_util::future::join(client.run(fan_out(&slow, news)), meanwhile).await;
    assert_eq!(outcome.is_none(), dies);
    match outcome {
        Some(outcome) => assert_eq!(outcome.failed, None),
        None => drop(tell(&scene.store, news).await),
    }
    scene.settle().await;
}

/// Posts an event. Returns its id, and the records that bring it to feeds: the event's own, or the job's.
async fn about_to_push(scene: &mut Scene) -> (Vec<EventId>, String) {
    let posted = scene.write(vec![event("note", None)]).await;
    let news = scene.news();
    if scene.settings.audience > 0 {
        return (posted, news);
    }
    fan_out(&scene.store, &news).await;
    (posted, scene.news())
}

#[tokio::test(start_paused = true)]
async fn an_unfollow_during_a_push_leaves_no_entry() {
    // If bob is the only follower, nobody follows when the event is pushed again.
    for (settings, others) in
        [(FeedSettings::default(), 0), (FeedSettings::default(), 1), (small_jobs(), 0), (small_jobs(), 1)]
    {
        for dies in [false, true] {
            let mut scene = Scene::new(settings).await;
            let others = &["cy"][..others];
            for who in ["bob"].iter().chain(others) {
                scene.follow(who, "actor:ada", 0).await;
            }
            scene.settle().await;
            let (posted, news) = about_to_push(&mut scene).await;
            hindered(&mut scene, to_bobs_feed(1), dies, &news, async |scene| {
                scene.store.op().user(&user("bob")).unfollow(&source("actor:ada")).await.unwrap();
                scene.settle().await;
            })
            .await;
            assert_eq!(scene.shown("bob").await, []);
            for other in others {
                assert_eq!(scene.shown(other).await, posted);
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_event_deleted_during_its_push_does_not_come_back() {
    for settings in [FeedSettings::default(), small_jobs()] {
        let mut scene = Scene::new(settings).await;
        scene.follow("bob", "actor:ada", 0).await;
        scene.settle().await;
        let (posted, news) = about_to_push(&mut scene).await;
        hindered(&mut scene, to_bobs_feed(1), false, &news, async |scene| {
            scene.store.op().event(&scene.posts, posted[0]).delete(None).await.unwrap();
            scene.settle().await;
        })
        .await;
        assert_eq!((scene.shown("bob").await, scene.shown("ada").await), (vec![], vec![]));
        assert!(scene.listed("actor:ada").await.is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn an_event_deleted_during_a_backfill_does_not_come_back() {
    for dies in [false, true] {
        let mut scene = Scene::new(FeedSettings::default()).await;
        let posted = scene.write(vec![event("note", None); 2]).await;
        scene.settle().await;
        scene.follow("bob", "actor:ada", 9).await;
        let news = scene.news();
        // The backfill has read the entries when an event is deleted, and may die after it has written them.
        hindered(&mut scene, to_bobs_feed(1), dies, &news, async |scene| {
            scene.store.op().event(&scene.posts, posted[0]).delete(None).await.unwrap();
            scene.settle().await;
        })
        .await;
        assert_eq!(scene.shown("bob").await, posted[1..]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_backfill_that_dies_after_the_unfollow_leaves_nothing() {
    let settings = FeedSettings { entries_per_query: 2, queries_per_step: 1, ..FeedSettings::default() };
    let mut scene = Scene::new(settings).await;
    let posted = scene.write(vec![event("note", None); 6]).await;
    scene.settle().await;
    pass(Duration::from_millis(1)).await;
    scene.follow("bob", "actor:ada", 6).await;
    let first = scene.news();
    assert_eq!(fan_out(&scene.store, &first).await.deliveries, 2);
    let second = scene.news();
    // The second step has read the entries when the cleanup runs and an event is deleted.
    hindered(&mut scene, to_bobs_feed(1), true, &second, async |scene| {
        scene.store.op().user(&user("bob")).unfollow(&source("actor:ada")).await.unwrap();
        scene.store.op().event(&scene.posts, posted[3]).delete(None).await.unwrap();
        scene.settle().await;
    })
    .await;
    assert_eq!(scene.shown("bob").await, []);
}

#[tokio::test(start_paused = true)]
async fn a_follow_during_the_cleanup_misses_nothing() {
    let mut scene = Scene::followed().await;
    let posted = scene.write(vec![event("note", None)]).await;
    pass(Duration::from_millis(1)).await;
    scene.settle().await;
    scene.store.op().user(&user("bob")).unfollow(&source("actor:ada")).await.unwrap();
    let news = scene.news();
    // The first write is that of the pull marker.
    hindered(&mut scene, to_bobs_feed(2), false, &news, async |scene| {
        scene.follow("bob", "actor:ada", 1).await;
        scene.settle().await;
    })
    .await;
    assert_eq!(scene.shown("bob").await, posted);
}

/// Follows or unfollows while one partition shows its part of the transaction late. Delivers the new records meanwhile.
async fn half_visibly(scene: &mut Scene, late: &str, act: impl AsyncFnOnce(&Store)) {
    let fault = Fault::HalfVisible { share: 1.0, longest: Duration::from_secs(1) };
    let faults = Faults::default().nth(1, Target::any().partition(late), fault);
    let half = store(scene.engine.client_with(faults).client(), &scene.world).with_feeds(scene.settings);
    let meanwhile = async {
        // The transaction is applied, but only a part of it is visible.
        pass(Duration::from_millis(1)).await;
        scene.settle().await;
    };
    futures_util::future::join(act(&half), meanwhile).await;
    scene.settle().await;
}

#[tokio::test(start_paused = true)]
async fn half_visible_follows_are_backfilled_and_cleaned_up() {
    // The late part is the edge, or everything in the follower's shard.
    for late in ["USER#bob", "FOLLOWERS#"] {
        let mut scene = Scene::new(FeedSettings::default()).await;
        let posted = scene.write(vec![event("note", None)]).await;
        scene.settle().await;
        pass(Duration::from_millis(1)).await;
        half_visibly(&mut scene, late, async |store| {
            store.op().user(&user("bob")).follow(&source("actor:ada"), Backfill::default()).await.unwrap();
        })
        .await;
        assert_eq!(scene.shown("bob").await, posted, "{late} is late");
        half_visibly(&mut scene, late, async |store| {
            store.op().user(&user("bob")).unfollow(&source("actor:ada")).await.unwrap();
        })
        .await;
        assert_eq!(scene.shown("bob").await, [], "{late} is late");
    }
}

#[tokio::test(start_paused = true)]
async fn an_event_deleted_between_two_follows_leaves_the_feed() {
    let mut scene = Scene::followed().await;
    let posted = scene.write(vec![event("note", None)]).await;
    scene.settle().await;
    assert_eq!(scene.shown("bob").await, posted);
    scene.store.op().user(&user("bob")).unfollow(&source("actor:ada")).await.unwrap();
    let unfollowed = scene.news();
    scene.store.op().event(&scene.posts, posted[0]).delete(None).await.unwrap();
    // Another shard of the stream is ahead, so the deletion is handled while bob follows nothing.
    let deleted = scene.news();
    tell(&scene.store, &deleted).await;
    scene.follow("bob", "actor:ada", 1).await;
    tell(&scene.store, &unfollowed).await;
    scene.settle().await;
    assert_eq!(scene.shown("bob").await, []);
}

#[tokio::test(start_paused = true)]
async fn an_unfollow_during_a_promotion_leaves_no_pull_marker() {
    for dies in [false, true] {
        let mut scene = Scene::new(FeedSettings { fan_out_limit: 1, ..FeedSettings::default() }).await;
        for who in ["bob", "cy"] {
            scene.follow(who, "actor:ada", 0).await;
        }
        // The records of the counts, and of the source's item that results. The job comes next.
        for _ in 0..2 {
            scene.tell().await;
        }
        let news = scene.news();
        assert!(news.contains("JOB#PROMOTE"));
        let unfollow = async |scene: &mut Scene| {
            scene.store.op().user(&user("bob")).unfollow(&source("actor:ada")).await.unwrap();
            scene.settle().await;
        };
        hindered(&mut scene, to_bobs_feed(1), dies, &news, unfollow).await;
        assert_eq!(markers(&scene).await, BTreeSet::from(["cy".to_owned()]));
    }
}

#[tokio::test(start_paused = true)]
async fn a_follow_in_a_new_shard_during_a_promotion_pulls() {
    let mut scene = Scene::new(FeedSettings { fan_out_limit: 1, ..FeedSettings::default() }).await;
    scene.follow("u0", "actor:ada", 0).await;
    scene.settle().await;
    scene.follow("u1", "actor:ada", 0).await;
    let news = scene.news();
    let begins = Target::operation(Operation::UpdateItem).partition("SOURCE#");
    hindered(&mut scene, (begins, 1), false, &news, async |scene| {
        follow_in_two_shards(scene, 2..8).await;
        // The backfills of the new followers run before the promotion; the records of their counts come later.
        let news = scene.news();
        let is_follower = |pk: &str, sk: &str| pk.starts_with("FOLLOWERS#") && sk != "#COUNT";
        let counts = of_keys(&news, |pk, sk| !is_follower(pk, sk));
        fan_out(&scene.store, &of_keys(&news, is_follower)).await;
        pass(Duration::from_secs(5)).await;
        fan_out(&scene.store, &counts).await;
    })
    .await;
    let view = scene.store.op().source(&source("actor:ada")).view().await.unwrap();
    assert_eq!((view.mode, view.followers), (SourceMode::Pull, 8));
    assert_eq!(markers(&scene).await.len(), 8);
}
