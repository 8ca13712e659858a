//! Busy partitions: fan-out leaves their writes to a backlog, and delays nothing else.

use std::time::Duration;

use lately_engine::Operation;
use lately_engine::fault::{Fault, Faults, FaultyClient, Moment, Network, Stall, Target, Throttle, When};
use lately_items::AnyKey;
use lately_store::{Ambient, FeedSettings, Store};

use crate::listed::{source, user};
use crate::scene::{Scene, about, fan_out, key, of_keys, tell};
use crate::support::{event, items, pass, store};

/// Faults that refuse all entries of one partition.
pub(crate) fn busy(partition: &str) -> Faults {
    let writes = Target::operation(Operation::BatchWriteItem).partition(partition);
    Faults::default().rule(writes, When::Always, Fault::Throttle(Throttle::TableKeyRange))
}

/// A process of fan-out with faults.
pub(crate) fn process(scene: &Scene, faults: Faults) -> (FaultyClient, Store) {
    let client = scene.engine.client_with(faults);
    let store = store(client.client(), &scene.world).with_feeds(scene.settings);
    (client, store)
}

/// The number of backlog items.
async fn waiting(scene: &Scene) -> usize {
    items(&scene.engine).await.iter().filter(|item| matches!(key(item), AnyKey::Backlog(_))).count()
}

/// Fans out all new records while the entries of one partition are refused. Returns how long this took.
pub(crate) async fn fan_out_while_busy(scene: &mut Scene, partition: &str) -> Duration {
    let (_, store) = process(scene, busy(partition));
    let begun = tokio::time::Instant::now();
    let outcome = fan_out(&store, &scene.news()).await;
    assert_eq!((outcome.failed, outcome.deferred > 0), (None, true));
    begun.elapsed()
}

#[tokio::test(start_paused = true)]
async fn a_throttled_write_is_retried_until_the_deadline() {
    let mut scene = Scene::new(FeedSettings::default()).await;
    scene.settle().await;
    let posted = scene.write(vec![event("note", None)]).await;
    // The throttle names no partition, so a write elsewhere would not help.
    let until = scene.world.since_epoch() + Duration::from_secs(40);
    let account = Fault::Throttle(Throttle::Account);
    let faults = Faults::default().rule_until(until, Target::writes(), When::Always, account);
    let (_, store) = process(&scene, faults);
    let outcome = fan_out(&store, &scene.news()).await;
    assert_eq!((outcome.failed, outcome.deferred), (None, 0));
    assert_eq!(scene.shown("ada").await, posted);
    assert_eq!(store.take_tally().throttles_given_up, 0);
}

#[tokio::test(start_paused = true)]
async fn a_busy_source_goes_to_its_backlog_and_delays_nobody() {
    let mut scene = Scene::new(FeedSettings::default()).await;
    scene.follow("cy", "actor:ada", 0).await;
    scene.follow("dee", "subject:s", 0).await;
    scene.settle().await;
    let posted = scene.write(vec![about("s"); 30]).await;
    let took = fan_out_while_busy(&mut scene, "SOURCE#actor:ada").await;
    assert!(took < Duration::from_millis(500), "{took:?}");
    // The other source has the events, and so have its follower and the author.
    assert_eq!(scene.listed("actor:ada").await.len(), 0);
    assert_eq!((scene.listed("subject:s").await.len(), scene.shown("dee").await.len()), (30, 30));
    assert_eq!((scene.shown("ada").await.len(), scene.shown("cy").await.len()), (30, 0));
    assert_eq!(waiting(&scene).await, 1);

    let outcomes = scene.settle().await;
    let oldest = outcomes[0].oldest.unwrap();
    assert!(oldest <= posted[0].at(), "the lag counts from the events, not from the backlog's item");
    assert_eq!((scene.listed("actor:ada").await.len(), scene.shown("cy").await.len()), (30, 30));
    assert_eq!(waiting(&scene).await, 0);
}

#[tokio::test(start_paused = true)]
async fn a_backlog_copies_nothing_to_users_who_have_unfollowed() {
    let mut scene = Scene::followed().await;
    scene.write(vec![event("note", None); 3]).await;
    fan_out_while_busy(&mut scene, "FEED#bob").await;
    scene.store.op().user(&user("bob")).unfollow(&source("actor:ada")).await.unwrap();
    scene.settle().await;
    assert_eq!((scene.shown("bob").await.len(), waiting(&scene).await), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_backlog_leaves_no_deleted_event() {
    for partition in ["SOURCE#actor:ada", "FEED#bob", "FEED#ada"] {
        for is_busy_still in [false, true] {
            let mut scene = Scene::followed().await;
            let posted = scene.write(vec![event("note", None); 3]).await;
            fan_out_while_busy(&mut scene, partition).await;
            scene.store.op().event(&scene.posts, posted[1]).delete(None).await.unwrap();
            if is_busy_still {
                let (_, store) = process(&scene, busy(partition));
                for _ in 0..3 {
                    assert!(scene.has_news(), "a step that leaves events causes the next step");
                    tell(&store, &scene.news()).await;
                }
            }
            scene.settle().await;
            let kept = vec![posted[2], posted[0]];
            let shown = (scene.shown("bob").await, scene.shown("ada").await);
            assert_eq!(shown, (kept.clone(), kept), "{partition}");
            assert_eq!((scene.listed("actor:ada").await.len(), waiting(&scene).await), (2, 0));

            // The other events are deleted while the partition is busy.
            for id in [posted[0], posted[2]] {
                scene.store.op().event(&scene.posts, id).delete(None).await.unwrap();
            }
            let took = fan_out_while_busy(&mut scene, partition).await;
            assert!(took < Duration::from_millis(500), "{took:?}");
            scene.settle().await;
            let shown = (scene.shown("bob").await, scene.shown("ada").await);
            assert_eq!(shown, (vec![], vec![]), "{partition}");
            assert_eq!((scene.listed("actor:ada").await.len(), waiting(&scene).await), (0, 0));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_long_backlog_is_worked_off_in_short_steps() {
    let mut scene = Scene::new(FeedSettings::default()).await;
    scene.settle().await;
    let (_, busy_store) = process(&scene, busy("SOURCE#actor:ada"));
    for _ in 0..2 {
        scene.write(vec![event("note", None); 300]).await;
        tell(&busy_store, &scene.news()).await;
    }
    let outcomes = scene.settle().await;
    assert!(outcomes.len() >= 2, "{} steps", outcomes.len());
    assert_eq!((scene.listed("actor:ada").await.len(), waiting(&scene).await), (600, 0));
}

#[tokio::test(start_paused = true)]
async fn a_step_is_short_even_if_calls_are_slow() {
    for partition in ["SOURCE#actor:ada", "FEED#ada"] {
        let mut scene = Scene::new(FeedSettings::default()).await;
        scene.settle().await;
        let posted = scene.write(vec![event("note", None); 400]).await;
        fan_out_while_busy(&mut scene, partition).await;
        let slow = Network { seed: 1, longest: Duration::from_millis(40), stall: None };
        let client = scene.engine.client_with(Faults::default()).over(slow);
        let store = store(client, &scene.world).with_feeds(scene.settings);
        let mut steps = Vec::new();
        while scene.has_news() {
            let begun = tokio::time::Instant::now();
            tell(&store, &scene.news()).await;
            steps.push(begun.elapsed());
        }
        // A step finishes the work that it has begun.
        assert!(steps.iter().all(|took| *took < Duration::from_millis(1_500)), "{partition}: {steps:?}");
        assert_eq!((scene.listed("actor:ada").await.len(), scene.shown("ada").await.len()), (400, 400));
        assert_eq!((posted.len(), waiting(&scene).await), (400, 0));
    }
}

#[tokio::test(start_paused = true)]
async fn events_in_a_backlog_cost_a_small_part_of_a_unit() {
    let mut scene = Scene::new(FeedSettings::default()).await;
    scene.settle().await;
    scene.write(vec![event("note", None); 100]).await;
    // The timeline cannot grow either.
    let writes = Target::writes().partition("SOURCE#actor:ada");
    let refuse = Fault::Throttle(Throttle::TableKeyRange);
    let (_, store) = process(&scene, Faults::default().rule(writes, When::Always, refuse));
    let news = scene.news();
    let left = fan_out(&store, &news).await;
    // The author's own feed takes its copies. The backlog's item of 2.1 KB costs three units.
    assert_eq!((left.deferred, left.cost.write_units.halves / 2), (100, 100 + 3));
    let outcomes = scene.settle().await;
    let units: u64 = outcomes.iter().map(|outcome| outcome.cost.write_units.halves).sum();
    // The entries, and the deletion of the backlog's item.
    assert_eq!(units / 2, 100 + 3);
}

#[tokio::test(start_paused = true)]
async fn a_process_remembers_for_seconds_that_a_partition_is_busy() {
    let mut scene = Scene::new(FeedSettings::default()).await;
    scene.settle().await;
    let (client, store) = process(&scene, busy("SOURCE#actor:ada"));
    let mut news = Vec::new();
    for _ in 0..3 {
        scene.write(vec![event("note", None); 5]).await;
        news.push(scene.news());
    }
    let refused = async |news: &str| {
        let before = client.injected().len();
        assert_eq!(fan_out(&store, news).await.deferred, 5);
        client.injected().len() - before
    };
    assert!(refused(&news[0]).await > 0);
    assert_eq!(refused(&news[1]).await, 0, "no write to the partition is tried");
    pass(Duration::from_secs(6)).await;
    assert!(refused(&news[2]).await > 0, "the partition is tried again");
}

/// The oldest item of the backlogs.
async fn oldest(scene: &Scene) -> String {
    let items = items(&scene.engine).await;
    let backlog = items.iter().filter(|item| matches!(key(item), AnyKey::Backlog(_)));
    backlog.map(|item| item["sk"].as_s().unwrap().clone()).min().unwrap()
}

#[tokio::test(start_paused = true)]
async fn two_steps_of_a_backlog_at_once_lose_no_event() {
    for call in 1..24 {
        let mut scene = Scene::followed().await;
        scene.write(vec![event("note", None)]).await;
        fan_out(&process(&scene, busy("FEED#bob")).1, &scene.news()).await;
        let first = oldest(&scene).await;
        let news = of_keys(&scene.news(), |_, sk| sk == first);
        // The first step reads one event, and then one of its calls stalls.
        let stall = Some(Stall { call, moment: Moment::Before, time: Duration::from_secs(5) });
        let slow = Network { seed: 3, longest: Duration::from_millis(150), stall };
        let client = scene.engine.client_with(Faults::default()).over(slow);
        let first = store(client, &scene.world).with_feeds(scene.settings);
        // Meanwhile two more events are deferred, and a redrive begins a step while the feed is still busy.
        let meanwhile = async {
            pass(Duration::from_millis(300)).await;
            for _ in 0..2 {
                scene.write(vec![event("note", None)]).await;
                let news = scene.news();
                fan_out(&process(&scene, busy("FEED#bob")).1, &news).await;
            }
            pass(Duration::from_secs(2)).await;
            if waiting(&scene).await > 0 {
                let first = oldest(&scene).await;
                let news = of_keys(&scene.all_news(), |_, sk| sk == first);
                fan_out(&process(&scene, busy("FEED#bob")).1, &news).await;
            }
        };
        futures_util::future::join(fan_out(&first, &news), meanwhile).await;
        pass(Duration::from_secs(30)).await;
        scene.settle().await;
        assert_eq!((scene.shown("bob").await.len(), waiting(&scene).await), (3, 0), "call {call} stalls");
    }
}
