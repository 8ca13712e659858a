//! Fan-out, one behaviour at a time: the entries that each change leads to, and the failures of records in a batch.

use std::time::Duration;

use lately_engine::Operation;
use lately_engine::fault::{Fault, Faults, Network, Target, Throttle, When};
use lately_model::{Backfill, NewEvent, RetentionDays, SourceMode};
use lately_store::{Cost, FeedSettings, Record};

use crate::listed::{source, user};
use crate::scene::{Scene, about, fan_out, markers, tell};
use crate::support::{Item, MINUTE, change, event, pass, post, store, topic};

#[tokio::test(start_paused = true)]
async fn a_single_post_is_in_its_authors_feed_at_once() {
    let scene = Scene::new(FeedSettings::default()).await;
    let own = scene.write(vec![event("note", None)]).await;
    assert_eq!(scene.shown("ada").await, own);
    // Events of a topic without fan-out, and imports, never come into feeds. The events of a batch come later.
    scene.post(&scene.logs, vec![event("note", None)]).await;
    let at = Some(scene.world.now().saturating_sub(61_000));
    scene.write(vec![NewEvent { at, ..event("note", None) }]).await;
    scene.write(vec![event("note", None), event("note", None)]).await;
    assert_eq!(scene.shown("ada").await, own);
}

#[tokio::test(start_paused = true)]
async fn a_busy_own_feed_neither_fails_nor_delays_the_post() {
    let scene = Scene::new(FeedSettings::default()).await;
    let feeds = Target::writes().partition("FEED#");
    let faults = Faults::default().rule(feeds, When::Always, Fault::Throttle(Throttle::TableKeyRange));
    let store = store(scene.engine.client_with(faults).client(), &scene.world);
    let before = scene.world.now();
    post(&store, &scene.posts, vec![event("note", None)]).await;
    assert_eq!(scene.world.now(), before, "the post does not wait for the own feed");
    assert_eq!(scene.shown("ada").await, []);
}

#[tokio::test(start_paused = true)]
async fn an_event_without_views_has_no_entries() {
    let mut scene = Scene::new(FeedSettings::default()).await;
    let quiet = topic("quiet");
    scene.store.op().topic(&quiet).put(&change(r#"{"fan_out":false,"views":["type"]}"#)).await.unwrap();
    scene.settle().await;
    scene.post(&quiet, vec![about("s")]).await;
    let outcomes = scene.settle().await;
    // Fan-out reads the erasures and the announcements of the event's topic nevertheless.
    let [outcome] = &*outcomes else { panic!("{outcomes:?}") };
    let Cost { calls, read_units, write_units, .. } = outcome.cost;
    assert_eq!((calls, read_units.halves, write_units.halves), (2, 4, 0));
}

#[tokio::test(start_paused = true)]
async fn entries_expire_with_their_event_or_sooner() {
    let retention = Some(RetentionDays::new(3).unwrap());
    let mut scene = Scene::new(FeedSettings { retention, ..FeedSettings::default() }).await;
    let week = topic("week");
    scene.store.op().topic(&week).put(&change(r#"{"retention_days":7}"#)).await.unwrap();
    let day = topic("day");
    scene.store.op().topic(&day).put(&change(r#"{"retention_days":1}"#)).await.unwrap();
    let now = scene.world.now().get() / 1000;
    for (topic, in_feed, at_source) in [(scene.posts.clone(), 3, None), (week, 3, Some(7)), (day, 1, Some(1))]
    {
        let posted = scene.post(&topic, vec![event("note", None)]).await;
        scene.settle().await;
        let days = |item: &Item| {
            let seconds: u64 = item.get("expires_at")?.as_n().unwrap().parse().unwrap();
            Some((seconds - now) / 86_400)
        };
        let (_, entry) = scene.feed("ada").await.into_iter().find(|(id, _)| *id == posted[0]).unwrap();
        assert_eq!(days(&entry), Some(in_feed));
        let listed = scene.listed("actor:ada").await;
        let (_, entry) = listed.into_iter().find(|(id, _)| *id == posted[0]).unwrap();
        assert_eq!(days(&entry), at_source);
    }
}

#[tokio::test(start_paused = true)]
async fn a_follow_backfills_the_latest_events_that_fan_out() {
    let mut scene = Scene::new(FeedSettings::default()).await;
    let mut posted = Vec::new();
    for _ in 0..4 {
        posted.extend(scene.write(vec![event("note", None)]).await);
        scene.post(&scene.logs, vec![event("note", None)]).await;
        pass(Duration::from_secs(1)).await;
    }
    scene.settle().await;
    posted.reverse();
    for backfill in 0..6 {
        let who = format!("u{backfill}");
        scene.follow(&who, "actor:ada", backfill).await;
        scene.settle().await;
        assert_eq!(scene.shown(&who).await, posted[..posted.len().min(backfill.into())]);
    }
    // The events may be far apart.
    scene.post(&scene.logs, vec![event("note", None); 300]).await;
    pass(Duration::from_secs(1)).await;
    scene.settle().await;
    scene.follow("far", "actor:ada", 2).await;
    scene.settle().await;
    assert_eq!(scene.shown("far").await, posted[..2]);
}

/// Users follow ada. The first follow is refused once, so that their entries lie in two shards.
pub(crate) async fn follow_in_two_shards(scene: &Scene, users: std::ops::Range<u8>) {
    let busy = Target::operation(Operation::TransactWriteItems).partition("FOLLOWERS#");
    let faults = Faults::default().nth(1, busy, Fault::Throttle(Throttle::TableKeyRange));
    let store = store(scene.engine.client_with(faults).client(), &scene.world);
    for n in users {
        let who = user(&format!("u{n}"));
        store.op().user(&who).follow(&source("actor:ada"), Backfill::default()).await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_source_is_pulled_only_when_every_feed_has_its_marker() {
    let settings = FeedSettings { fan_out_limit: 3, followers_per_job: 1, ..FeedSettings::default() };
    let mut scene = Scene::new(settings).await;
    follow_in_two_shards(&scene, 0..8).await;
    let mut jobs = 0;
    while scene.has_news() {
        let news: serde_json::Value = serde_json::from_str(&scene.news()).unwrap();
        for record in news["Records"].as_array().unwrap() {
            let view = scene.store.op().source(&source("actor:ada")).view().await.unwrap();
            let markers = markers(&scene).await.len();
            assert!(
                view.mode != SourceMode::Pull || markers == 8,
                "the source is pulled, and {markers} of 8 feeds have its marker"
            );
            let pk = record["dynamodb"]["Keys"]["pk"]["S"].as_str().unwrap();
            jobs += usize::from(pk.starts_with("JOB#PROMOTE#") && record["eventName"] == "INSERT");
            tell(&scene.store, &serde_json::json!({"Records": [record]}).to_string()).await;
        }
    }
    assert_eq!(scene.store.op().source(&source("actor:ada")).view().await.unwrap().mode, SourceMode::Pull);
    assert_eq!(jobs, 8 + 2, "a page for each follower, and an empty one for each shard");
}

#[tokio::test(start_paused = true)]
async fn a_bad_record_does_not_stop_the_others_of_its_batch() {
    let mut scene = Scene::new(FeedSettings::default()).await;
    scene.settle().await;
    let posted = scene.write(vec![event("note", None); 100]).await;
    let mut news: serde_json::Value = serde_json::from_str(&scene.news()).unwrap();
    let records = news["Records"].as_array_mut().unwrap();
    let poison =
        records.iter().position(|record| record["dynamodb"]["NewImage"]["a"]["S"] == "ada").unwrap() + 40;
    records[poison]["dynamodb"]["NewImage"]["a"] = serde_json::json!({"N": "7"});
    let sequence = records[poison]["dynamodb"]["SequenceNumber"].as_str().unwrap().to_owned();
    let outcome = fan_out(&scene.store, &news.to_string()).await;
    assert_eq!((outcome.failed, outcome.failures), (Some(sequence), 1));
    assert_eq!(scene.listed("actor:ada").await.len(), posted.len() - 1);
    assert_eq!(scene.feed("ada").await.len(), posted.len() - 1);
    assert!(Record::batch(b"{}").is_err() && Record::batch(b"[1").is_err());
}

#[tokio::test(start_paused = true)]
async fn a_batch_that_needs_more_time_than_there_is_ends_with_an_answer() {
    let mut scene = Scene::new(FeedSettings::default()).await;
    let posted = scene.write(vec![event("note", None); 3]).await;
    scene.settle().await;
    // Only 32 of the backfills run at the same time.
    let users: Vec<_> = (0..90).map(|n| format!("u{n}")).collect();
    for user in &users {
        scene.follow(user, "actor:ada", 5).await;
    }
    let news = scene.news();
    let network = Network { seed: 1, longest: Duration::from_secs(1), stall: None };
    let slow = store(scene.engine.client_with(Faults::default()).over(network), &scene.world);
    let (begun, time) = (scene.world.now().get(), Duration::from_secs(12));
    let outcome = slow.op_within(time).fan_out(&Record::batch(news.as_bytes()).unwrap()).await;
    let took = scene.world.now().get() - begun;
    assert!(took < 20_000, "{took} ms");
    assert!(outcome.failed.is_some() && outcome.deliveries > 0, "{outcome:?}");
    assert_eq!(outcome.failures, 0, "a record for which there is no time has not failed");
    // The records come again.
    tell(&scene.store, &news).await;
    for user in &users {
        assert_eq!(scene.shown(user).await.len(), posted.len(), "{user}");
    }
}

#[tokio::test(start_paused = true)]
async fn only_records_of_the_same_item_wait_for_each_other() {
    let mut scene = Scene::new(FeedSettings::default()).await;
    scene.settle().await;
    let actors: Vec<String> = (0..20).map(|n| format!("a{n}")).collect();
    let event_of = |actor: &String| NewEvent { actor: actor.parse().unwrap(), ..event("note", None) };
    let posted = scene.write(actors.iter().map(event_of).collect()).await;
    for id in &posted {
        scene.store.op().event(&scene.posts, *id).delete(None).await.unwrap();
    }
    let news = scene.news();

    // Each source's item is read only at the fourth attempt. One source after the other, this would take seconds.
    let faults = actors.iter().fold(Faults::default(), |faults, actor| {
        let item = Target::operation(Operation::GetItem).partition(&format!("SOURCE#actor:{actor}"));
        faults.rule(item, When::First(3), Fault::Throttle(Throttle::TableKeyRange))
    });
    let begun = scene.world.now().get();
    let slow = store(scene.engine.client_with(faults).client(), &scene.world);
    tell(&slow, &news).await;
    assert!(scene.world.now().get() - begun < 400);

    // One event cannot be handled. Its deletion comes later, and is not begun.
    let held = format!("SOURCE#actor:{}", actors[3]);
    let held = Target::operation(Operation::GetItem).partition(&held);
    let faults = Faults::default().rule(held, When::Always, Fault::Throttle(Throttle::Account));
    let stuck = store(scene.engine.client_with(faults).client(), &scene.world);
    let outcome = fan_out(&stuck, &news).await;
    assert_eq!(outcome.failures, 1);
    let first: Vec<_> =
        Record::batch(news.as_bytes()).unwrap().iter().map(|record| record.sequence().to_owned()).collect();
    assert!(first.contains(&outcome.failed.unwrap()));
    let listed = scene.listed("actor:a3").await.len();
    assert_eq!(listed, 1, "the entry is written, and its deletion is not handled");
    assert!(scene.listed("actor:a4").await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn only_unprocessed_entries_of_a_call_are_retried() {
    let mut scene = Scene::new(FeedSettings::default()).await;
    for n in 0..40 {
        scene.follow(&format!("u{n}"), "actor:ada", 0).await;
    }
    scene.settle().await;
    let posted = scene.write(vec![event("note", None)]).await;
    let news = scene.news();
    let batches = Target::operation(Operation::BatchWriteItem);
    let faults = Faults::seeded(3).rule(batches, When::First(2), Fault::Unprocessed(0.5));
    let outcome = fan_out(&store(scene.engine.client_with(faults).client(), &scene.world), &news).await;
    assert_eq!((outcome.failed, outcome.deliveries, outcome.written_items), (None, 40, 42));
    assert_eq!(outcome.cost.write_units.halves, 2 * 42, "each entry is written once");
    for n in 0..40 {
        assert_eq!(scene.shown(&format!("u{n}")).await, posted);
    }
}

#[tokio::test(start_paused = true)]
async fn deleting_a_pulled_sources_event_removes_its_backfilled_copies() {
    for audience in [100, 0] {
        let mut scene =
            Scene::new(FeedSettings { fan_out_limit: 5, audience, ..FeedSettings::default() }).await;
        for n in 0..6 {
            scene.follow(&format!("u{n}"), "actor:ada", 0).await;
        }
        scene.settle().await;
        pass(MINUTE * 2).await;
        let posted = scene.write(vec![event("note", None)]).await;
        scene.settle().await;
        assert_eq!(scene.shown("u1").await, [], "the source is pulled");
        pass(MINUTE * 2).await;
        scene.follow("late", "actor:ada", 5).await;
        scene.settle().await;
        assert_eq!(scene.shown("late").await, posted);
        scene.store.op().event(&scene.posts, posted[0]).delete(None).await.unwrap();
        let outcomes = scene.settle().await;
        assert_eq!((scene.shown("late").await, scene.listed("actor:ada").await.len()), (vec![], 0));
        // The timeline's entry, the author's own copy, and the only other copy.
        assert_eq!(outcomes.iter().map(|outcome| outcome.written_items).sum::<u64>(), 3);
    }
}
