//! Fan-out beside what changes meanwhile: who follows, what there is, and how a source is read.

use std::collections::BTreeSet;
use std::time::Duration;

use lately_engine::Operation;
use lately_engine::fault::{Fault, Faults, Moment, Target, Throttle};
use lately_keys::EventId;
use lately_model::{Backfill, SourceMode};
use lately_store::{FanOutOutcome, FeedSettings, Store};

use crate::listed::{source, user};
use crate::scene::{Scene, fan_out, markers, small_jobs};
use crate::support::{event, pass, store};

/// The writes of a batch of records to a feed.
fn to_bobs_feed() -> Target {
    Target::operation(Operation::BatchWriteItem).partition("FEED#bob")
}

/// Hands over news to a process that has to wait for the n-th of some calls, and does something else meanwhile.
async fn hindered(
    scene: &mut Scene,
    calls: Target,
    n: u64,
    news: &str,
    meanwhile: impl AsyncFnOnce(&mut Scene),
) {
    let outcome = hindered_by(scene, waiting(&calls, n), news, meanwhile).await;
    assert_eq!(outcome.unwrap().failed, None);
    scene.settle().await;
}

/// The same, but the process dies when the call is done; then the news comes once more.
async fn hindered_to_death(
    scene: &mut Scene,
    calls: Target,
    n: u64,
    news: &str,
    meanwhile: impl AsyncFnOnce(&mut Scene),
) {
    let faults = waiting(&calls, n).nth(n + WAITS, calls, Fault::Crash(Moment::After));
    assert_eq!(hindered_by(scene, faults, news, meanwhile).await, None, "it died");
    assert_eq!(fan_out(&scene.store, news).await.failed, None);
    scene.settle().await;
}

/// An event, and the news that bring it to feeds: its own, or the job's.
async fn about_to_push(scene: &mut Scene) -> (Vec<EventId>, String) {
    let posted = scene.post(&scene.posts.clone(), vec![event("note", None)]).await;
    let news = scene.news();
    if scene.settings.audience > 0 {
        return (posted, news);
    }
    fan_out(&scene.store, &news).await;
    (posted, scene.news())
}

/// How often a call has to wait, for something else to be surely done before.
const WAITS: u64 = 6;

fn waiting(calls: &Target, n: u64) -> Faults {
    (n..n + WAITS)
        .fold(Faults::default(), |faults, n| faults.nth(n, calls.clone(), Fault::Throttle(Throttle::Account)))
}

async fn hindered_by(
    scene: &mut Scene,
    faults: Faults,
    news: &str,
    meanwhile: impl AsyncFnOnce(&mut Scene),
) -> Option<FanOutOutcome> {
    let client = scene.engine.client_with(faults);
    let slow = store(client.client(), &scene.world).with_feeds(scene.settings);
    let meanwhile = async {
        // Time passes once the other can do no more.
        pass(Duration::from_millis(1)).await;
        meanwhile(scene).await;
    };
    futures_util::future::join(client.run(fan_out(&slow, news)), meanwhile).await.0
}

#[tokio::test(start_paused = true)]
async fn who_unfollows_while_an_event_is_pushed_is_not_left_with_it() {
    for settings in [FeedSettings::default(), small_jobs()] {
        let mut scene = Scene::new(settings).await;
        for who in ["bob", "cy"] {
            scene.follow(who, "actor:ada", 0).await;
        }
        scene.settle().await;
        let (posted, news) = about_to_push(&mut scene).await;
        hindered(&mut scene, to_bobs_feed(), 1, &news, async |scene| {
            scene.store.op().user(&user("bob")).unfollow(&source("actor:ada")).await.unwrap();
            scene.settle().await;
        })
        .await;
        assert_eq!((scene.shown("bob").await, scene.shown("cy").await), (vec![], posted));
    }
}

#[tokio::test(start_paused = true)]
async fn who_unfollows_while_an_event_is_pushed_by_one_who_dies_is_not_left_with_it() {
    // Alone, nobody is there any more when it is pushed again.
    for (settings, others) in
        [(FeedSettings::default(), 0), (FeedSettings::default(), 1), (small_jobs(), 0), (small_jobs(), 1)]
    {
        let mut scene = Scene::new(settings).await;
        let others = &["cy"][..others];
        for who in ["bob"].iter().chain(others) {
            scene.follow(who, "actor:ada", 0).await;
        }
        scene.settle().await;
        let (posted, news) = about_to_push(&mut scene).await;
        hindered_to_death(&mut scene, to_bobs_feed(), 1, &news, async |scene| {
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

#[tokio::test(start_paused = true)]
async fn an_event_that_is_deleted_while_it_is_pushed_does_not_come_back() {
    for settings in [FeedSettings::default(), small_jobs()] {
        let mut scene = Scene::new(settings).await;
        scene.follow("bob", "actor:ada", 0).await;
        scene.settle().await;
        let (posted, news) = about_to_push(&mut scene).await;
        hindered(&mut scene, to_bobs_feed(), 1, &news, async |scene| {
            scene.store.op().topic(&scene.posts).delete_event(posted[0], None).await.unwrap();
            scene.settle().await;
        })
        .await;
        assert_eq!((scene.shown("bob").await, scene.shown("ada").await), (vec![], vec![]));
        assert!(scene.listed("actor:ada").await.is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn an_event_that_is_deleted_while_it_is_backfilled_does_not_come_back() {
    let mut scene = Scene::new(FeedSettings::default()).await;
    let posted = scene.post(&scene.posts.clone(), vec![event("note", None)]).await;
    scene.settle().await;
    scene.follow("bob", "actor:ada", 9).await;
    let news = scene.news();
    hindered(&mut scene, to_bobs_feed(), 1, &news, async |scene| {
        scene.store.op().topic(&scene.posts).delete_event(posted[0], None).await.unwrap();
        scene.settle().await;
    })
    .await;
    assert_eq!(scene.shown("bob").await, []);
}

#[tokio::test(start_paused = true)]
async fn a_backfill_that_dies_before_it_looks_leaves_no_deleted_event() {
    let mut scene = Scene::new(FeedSettings::default()).await;
    let posted = scene.post(&scene.posts.clone(), vec![event("note", None); 2]).await;
    scene.settle().await;
    scene.follow("bob", "actor:ada", 9).await;
    let news = scene.news();
    // It has read the entries when one of their events is deleted, and dies when it has written them.
    hindered_to_death(&mut scene, to_bobs_feed(), 1, &news, async |scene| {
        scene.store.op().topic(&scene.posts).delete_event(posted[0], None).await.unwrap();
        scene.settle().await;
    })
    .await;
    assert_eq!(scene.shown("bob").await, posted[1..]);
}

#[tokio::test(start_paused = true)]
async fn a_backfill_that_dies_after_the_unfollow_leaves_nothing() {
    let settings = FeedSettings { entries_per_query: 2, queries_per_step: 1, ..FeedSettings::default() };
    let mut scene = Scene::new(settings).await;
    let posted = scene.post(&scene.posts.clone(), vec![event("note", None); 6]).await;
    scene.settle().await;
    pass(Duration::from_millis(1)).await;
    scene.follow("bob", "actor:ada", 6).await;
    let first = scene.news();
    assert_eq!(fan_out(&scene.store, &first).await.deliveries, 2);
    let second = scene.news();
    // The second step has read the entries when the cleanup passes and one of their events is deleted.
    hindered_to_death(&mut scene, to_bobs_feed(), 1, &second, async |scene| {
        scene.store.op().user(&user("bob")).unfollow(&source("actor:ada")).await.unwrap();
        scene.store.op().topic(&scene.posts).delete_event(posted[3], None).await.unwrap();
        scene.settle().await;
    })
    .await;
    assert_eq!(scene.shown("bob").await, []);
}

#[tokio::test(start_paused = true)]
async fn who_follows_again_while_their_feed_is_cleaned_up_misses_nothing() {
    let mut scene = Scene::new(FeedSettings::default()).await;
    scene.follow("bob", "actor:ada", 0).await;
    scene.settle().await;
    let posted = scene.post(&scene.posts.clone(), vec![event("note", None)]).await;
    pass(Duration::from_millis(1)).await;
    scene.settle().await;
    scene.store.op().user(&user("bob")).unfollow(&source("actor:ada")).await.unwrap();
    let news = scene.news();
    // The first write is that of the mark to pull.
    hindered(&mut scene, to_bobs_feed(), 2, &news, async |scene| {
        scene.follow("bob", "actor:ada", 1).await;
        scene.settle().await;
    })
    .await;
    assert_eq!(scene.shown("bob").await, posted);
}

/// Follows or unfollows while one partition shows its part of the transaction late, and hands over the news meanwhile.
async fn half_visibly(scene: &mut Scene, late: &str, act: impl AsyncFnOnce(&Store)) {
    let fault = Fault::HalfVisible { share: 1.0, longest: Duration::from_secs(1) };
    let faults = Faults::default().nth(1, Target::any().partition(late), fault);
    let half = store(scene.engine.client_with(faults).client(), &scene.world).with_feeds(scene.settings);
    let meanwhile = async {
        // The transaction is applied, and only a part of it is shown.
        pass(Duration::from_millis(1)).await;
        scene.settle().await;
    };
    futures_util::future::join(act(&half), meanwhile).await;
    scene.settle().await;
}

#[tokio::test(start_paused = true)]
async fn a_follow_that_is_half_visible_is_backfilled() {
    // The edge, or all of the follower's shard.
    for late in ["USER#bob", "FOLLOWERS#"] {
        let mut scene = Scene::new(FeedSettings::default()).await;
        let posted = scene.post(&scene.posts.clone(), vec![event("note", None)]).await;
        scene.settle().await;
        pass(Duration::from_millis(1)).await;
        half_visibly(&mut scene, late, async |store| {
            store.op().user(&user("bob")).follow(&source("actor:ada"), Backfill::default()).await.unwrap();
        })
        .await;
        assert_eq!(scene.shown("bob").await, posted, "{late} is late");
    }
}

#[tokio::test(start_paused = true)]
async fn an_unfollow_that_is_half_visible_is_cleaned_up() {
    for late in ["USER#bob", "FOLLOWERS#"] {
        let mut scene = Scene::new(FeedSettings::default()).await;
        scene.follow("bob", "actor:ada", 0).await;
        let posted = scene.post(&scene.posts.clone(), vec![event("note", None)]).await;
        scene.settle().await;
        assert_eq!(scene.shown("bob").await, posted);
        half_visibly(&mut scene, late, async |store| {
            store.op().user(&user("bob")).unfollow(&source("actor:ada")).await.unwrap();
        })
        .await;
        assert_eq!(scene.shown("bob").await, [], "{late} is late");
    }
}

#[tokio::test(start_paused = true)]
async fn an_event_deleted_between_two_follows_leaves_the_feed() {
    let mut scene = Scene::new(FeedSettings::default()).await;
    scene.follow("bob", "actor:ada", 0).await;
    scene.settle().await;
    let posted = scene.post(&scene.posts.clone(), vec![event("note", None)]).await;
    scene.settle().await;
    assert_eq!(scene.shown("bob").await, posted);
    scene.store.op().user(&user("bob")).unfollow(&source("actor:ada")).await.unwrap();
    let unfollowed = scene.news();
    scene.store.op().topic(&scene.posts).delete_event(posted[0], None).await.unwrap();
    // Another shard of the stream is ahead: the deletion is handled while Bob follows nothing.
    let deleted = scene.news();
    assert_eq!(fan_out(&scene.store, &deleted).await.failed, None);
    scene.follow("bob", "actor:ada", 1).await;
    assert_eq!(fan_out(&scene.store, &unfollowed).await.failed, None);
    scene.settle().await;
    assert_eq!(scene.shown("bob").await, []);
}

#[tokio::test(start_paused = true)]
async fn who_unfollows_while_a_source_is_promoted_is_not_told_to_pull_it() {
    for dies in [false, true] {
        let mut scene = Scene::new(FeedSettings { fan_out_limit: 1, ..FeedSettings::default() }).await;
        for who in ["bob", "cy"] {
            scene.follow(who, "actor:ada", 0).await;
        }
        // The counts, and the source's item that comes of them: the job is next.
        for _ in 0..2 {
            let news = scene.news();
            fan_out(&scene.store, &news).await;
        }
        let news = scene.news();
        assert!(news.contains("JOB#PROMOTE"));
        let unfollow = async |scene: &mut Scene| {
            scene.store.op().user(&user("bob")).unfollow(&source("actor:ada")).await.unwrap();
            scene.settle().await;
        };
        match dies {
            true => hindered_to_death(&mut scene, to_bobs_feed(), 1, &news, unfollow).await,
            false => hindered(&mut scene, to_bobs_feed(), 1, &news, unfollow).await,
        }
        assert_eq!(markers(&scene).await, BTreeSet::from(["cy".to_owned()]));
    }
}

#[tokio::test(start_paused = true)]
async fn who_follows_in_a_new_shard_while_a_promotion_begins_is_told_to_pull_too() {
    let mut scene = Scene::new(FeedSettings { fan_out_limit: 1, ..FeedSettings::default() }).await;
    scene.follow("u0", "actor:ada", 0).await;
    scene.settle().await;
    scene.follow("u1", "actor:ada", 0).await;
    let news = scene.news();
    let begins = Target::operation(Operation::UpdateItem).partition("SOURCE#");
    hindered(&mut scene, begins, 1, &news, async |scene| {
        let busy = Target::operation(Operation::TransactWriteItems).partition("FOLLOWERS#");
        let faults = Faults::default().nth(1, busy, Fault::Throttle(Throttle::TableKeyRange));
        let store = store(scene.engine.client_with(faults).client(), &scene.world);
        for n in 2..8 {
            let who = user(&format!("u{n}"));
            store.op().user(&who).follow(&source("actor:ada"), Backfill::default()).await.unwrap();
        }
        // Their backfills, while nobody is promoted; but not what their counts say.
        let mut news: serde_json::Value = serde_json::from_str(&scene.news()).unwrap();
        let is_follower = |record: &serde_json::Value| {
            let key = &record["dynamodb"]["Keys"];
            key["pk"]["S"].as_str().unwrap().starts_with("FOLLOWERS#") && key["sk"]["S"] != "#COUNT"
        };
        let counts = news["Records"].as_array().unwrap().iter().filter(|record| !is_follower(record));
        let counts = serde_json::json!({"Records": counts.collect::<Vec<_>>()}).to_string();
        news["Records"].as_array_mut().unwrap().retain(is_follower);
        fan_out(&scene.store, &news.to_string()).await;
        pass(Duration::from_secs(5)).await;
        fan_out(&scene.store, &counts).await;
    })
    .await;
    let view = scene.store.op().source(&source("actor:ada")).view().await.unwrap();
    assert_eq!((view.mode, view.followers), (SourceMode::Pull, 8));
    assert_eq!(markers(&scene).await.len(), 8);
}
