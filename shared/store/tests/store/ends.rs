//! The deletion of a topic, and another retention for what is there.

use std::collections::BTreeSet;
use std::time::Duration;

use futures_util::future::join;
use lately_engine::fault::{Faults, Moment, Network, Stall};
use lately_items::{AnyKey, ConsumerKey, Ending};
use lately_keys::{EventId, Order};
use lately_model::{EndingState, EventQuery, NewConsumer, NewEvent, PollRequest, TopicDeletion};
use lately_store::{DeletionError, FeedSettings, GetEventError, PutTopicError, Store};

use crate::faults::keyed;
use crate::listed::{feed_of, put, source, timeline_of, user};
use crate::scene::{Scene, about, key, tell};
use crate::support::{
    DAY, HOUR, Item, change, event, ids, items, pass, post, query, store, submission, topic,
};

const SECOND: Duration = Duration::from_secs(1);
const SETTLED: Duration = Duration::from_secs(60);

async fn scene() -> Scene {
    Scene::new(FeedSettings::default()).await
}

impl Scene {
    async fn delete(&self) -> TopicDeletion {
        self.store.op().ending(&self.posts).delete().await.unwrap()
    }

    async fn deletion(&self) -> TopicDeletion {
        self.store.op().ending(&self.posts).deletion().await.unwrap()
    }

    /// Deletes the topic `posts`, and lets the stream and the clock come to the end.
    async fn delete_and_settle(&mut self) -> TopicDeletion {
        self.delete().await;
        self.settle().await;
        pass(SETTLED).await;
        self.deletion().await
    }

    /// Everything in the table that still says something of `posts`, except for what expires by itself.
    async fn left(&self) -> Vec<String> {
        left_of(&items(&self.engine).await, "posts")
    }

    async fn page_of(&self, name: &str) -> Vec<EventId> {
        let page = self.store.op().topic(&topic(name)).latest(&query(200)).await.unwrap();
        ids(&page.events)
    }
}

/// The keys of the items of a topic, or with its entries, that do not expire within two days.
pub(crate) fn left_of(items: &[Item], name: &str) -> Vec<String> {
    let named = |item: &&Item| {
        let pk = item["pk"].as_s().unwrap();
        pk.split('#').any(|part| part == name) || item.get("o").is_some_and(|o| o.as_s().unwrap() == name)
    };
    let stays = |item: &&Item| !item.contains_key("expires_at");
    let told = |item: &Item| format!("{} / {}", item["pk"].as_s().unwrap(), item["sk"].as_s().unwrap());
    items.iter().filter(named).filter(stays).map(told).collect()
}

#[tokio::test(start_paused = true)]
async fn a_topic_is_deleted_with_everything_that_it_holds() {
    let mut scene = scene().await;
    scene.follow("bob", "actor:ada", 10).await;
    scene.follow("cy", "subject:x", 10).await;
    let consumer = ConsumerKey { topic: scene.posts.clone(), name: "reader".parse().unwrap() };
    let earliest = NewConsumer::parse(br#"{"start":"earliest","settle_seconds":0}"#).unwrap();
    scene.store.op().consumer(&consumer).put(&earliest).await.unwrap();
    scene.write(vec![about("x"); 40]).await;
    scene.settle().await;
    pass(3 * DAY).await;
    scene.write(vec![about("x"); 40]).await;
    let kept = scene.post(&scene.logs, vec![event("note", None); 3]).await;
    scene.settle().await;
    pass(Duration::from_secs(5)).await;
    scene.store.op().consumer(&consumer).poll(PollRequest::default()).await.unwrap();
    assert_eq!((scene.shown("bob").await.len(), scene.listed("subject:x").await.len()), (80, 80));

    let begun = scene.delete().await;
    assert_eq!((begun.state, begun.events), (EndingState::Deleting, 0));
    scene.settle().await;
    assert_eq!(scene.deletion().await.state, EndingState::Deleting, "the name is not free yet");
    pass(SETTLED).await;
    let done = scene.deletion().await;
    assert_eq!((done.state, done.events, done.buckets, done.consumers), (EndingState::Done, 80, 2, 1));
    assert!(done.finished_at.unwrap() >= done.begun_at.saturating_add(60_000));

    assert_eq!(scene.left().await, Vec::<String>::new());
    assert_eq!((scene.shown("bob").await, scene.shown("cy").await), (vec![], vec![]));
    assert_eq!(scene.page_of("logs").await.len(), kept.len());
    assert_eq!(scene.listed("actor:ada").await.len(), kept.len());
    // The outcome is shown for a day.
    pass(DAY).await;
    let gone = scene.store.op().ending(&scene.posts).deletion().await;
    assert!(matches!(gone, Err(DeletionError::NotFound(_))));
}

#[tokio::test(start_paused = true)]
async fn a_name_is_used_again_by_another_topic() {
    let mut scene = scene().await;
    let posts = scene.posts.clone();
    // Another process remembers the directory of the first topic.
    let other = store(scene.engine.client(), &scene.world);
    let write = async |store: &Store, data: &str| {
        let events = vec![event("note", Some(data.to_owned()))];
        post(store, &posts, events).await[0]
    };
    write(&other, "1").await;
    scene.delete_and_settle().await;

    let created = scene.store.op().topic(&scene.posts).put(&change(r#"{"min_shards":2}"#)).await.unwrap();
    assert!(created.1);
    let new = [write(&other, "2").await, write(&scene.store, "3").await];
    scene.settle().await;
    pass(Duration::from_secs(1)).await;
    let shown: BTreeSet<_> = scene.page_of("posts").await.into_iter().collect();
    assert_eq!(shown, BTreeSet::from(new));
    assert_eq!(scene.listed("actor:ada").await.len(), 2, "fan-out does not take the new events for old ones");
    // It can be deleted again.
    let done = scene.delete_and_settle().await;
    assert_eq!((done.state, done.events), (EndingState::Done, 2));
    assert_eq!(scene.left().await, Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn a_request_that_stalls_while_the_name_is_used_again_and_deleted_keeps_the_later_mark() {
    let mut scene = scene().await;
    scene.delete_and_settle().await;
    // The first call finds that the name is free, and the second one removes the mark of the first deletion.
    let stall = Some(Stall { call: 2, moment: Moment::Before, time: SECOND });
    let network = Network { seed: 1, longest: Duration::from_millis(3), stall };
    let slow = store(scene.engine.client_with(Faults::default()).over(network), &scene.world);
    let (op, again) = (slow.op(), change("{}"));
    let meanwhile = async {
        pass(SECOND / 2).await;
        scene.store.op().topic(&scene.posts).put(&again).await.unwrap();
        scene.delete().await;
    };
    let (refused, ()) = join(op.topic(&scene.posts).put(&again), meanwhile).await;
    assert!(matches!(refused, Err(PutTopicError::BeingDeleted(_))), "{refused:?}");
    let is_mark =
        |item: &Item| matches!(key(item), AnyKey::EndingMark(key) if key.ending == Ending::Deletion);
    assert!(items(&scene.engine).await.iter().any(is_mark));
}

#[tokio::test(start_paused = true)]
async fn what_lands_from_a_process_that_does_not_know_is_deleted() {
    let mut scene = scene().await;
    let stale = store(scene.engine.client(), &scene.world);
    let late = |at| NewEvent { at, ..about("x") };
    let past = |days: u64| Some(scene.world.now().saturating_sub(days * 24 * 3_600_000));
    let (past, far_past) = (past(3), past(9));
    post(&stale, &scene.posts, vec![late(None), late(far_past)]).await;
    let is_written = |item: &Item| matches!(key(item), AnyKey::Event(_) | AnyKey::Directory(_));
    let written: Vec<_> = items(&scene.engine).await.into_iter().filter(is_written).collect();
    assert_eq!(written.len(), 4);
    scene.settle().await;
    scene.delete().await;
    // In a bucket that is there, and in a new one, before the walk and after it.
    post(&stale, &scene.posts, vec![late(None), late(past)]).await;
    scene.settle().await;
    put(&scene.engine.client(), written).await;
    scene.settle().await;
    assert_eq!(scene.left().await, Vec::<String>::new());
    pass(SETTLED).await;
    assert_eq!(scene.deletion().await.state, EndingState::Done);
}

#[tokio::test(start_paused = true)]
async fn a_repetition_of_an_earlier_topics_request_is_a_new_request() {
    let mut scene = scene().await;
    let keyed = || keyed("k", vec![event("note", None)]);
    let first = scene.store.op().topic(&scene.posts).write(keyed()).await.unwrap().events[0].id;
    assert!(scene.store.op().topic(&scene.posts).write(keyed()).await.unwrap().replayed);
    scene.delete_and_settle().await;
    scene.store.op().topic(&scene.posts).put(&change("{}")).await.unwrap();
    let again = scene.store.op().topic(&scene.posts).write(keyed()).await.unwrap();
    assert_eq!((again.replayed, again.events[0].id == first), (false, false));
    let replayed = scene.store.op().topic(&scene.posts).write(keyed()).await.unwrap();
    assert_eq!((replayed.replayed, replayed.events[0].id), (true, again.events[0].id));
}

#[tokio::test(start_paused = true)]
async fn a_preview_reads_the_directory_alone() {
    let mut scene = scene().await;
    for _ in 0..3 {
        scene.write(vec![about("x")]).await;
        pass(DAY).await;
    }
    scene.settle().await;
    let op = scene.store.op();
    let preview = op.ending(&scene.posts).preview().await.unwrap();
    assert_eq!((preview.buckets, preview.shards, preview.consumers), (3, 3, 0));
    assert!(preview.oldest.is_some() && preview.oldest < preview.newest, "{preview:?}");
    // The topic, the directory and the announcements.
    assert_eq!((op.cost().calls, op.cost().write_units.halves), (3, 0), "{:?}", op.cost());
    let empty = scene.store.op().ending(&scene.logs).preview().await.unwrap();
    assert_eq!((empty.buckets, empty.oldest, empty.newest, empty.shards), (0, None, None, 0));
}

/// An event some days ago.
fn old(scene: &Scene, days: u64) -> NewEvent {
    let at = scene.world.now().saturating_sub(days * 24 * 3_600_000 + 1);
    NewEvent { at: Some(at), ..about("x") }
}

async fn retain(scene: &Scene, json: &str) {
    scene.store.op().topic(&scene.posts).put(&change(json)).await.unwrap();
}

/// The expiry of each event, and of all entries, in days after the event's time.
async fn expiries(scene: &Scene) -> BTreeSet<Option<u64>> {
    let items = items(&scene.engine).await;
    let expiry = |item: &Item| {
        let id = match key(item) {
            AnyKey::Event(key) => key.id(),
            AnyKey::SourceEntry(key) => key.id,
            AnyKey::FeedEntry(key) => key.id,
            _ => return None,
        };
        let seconds = item.get("expires_at").map(|at| at.as_n().unwrap().parse::<u64>().unwrap());
        Some(seconds.map(|seconds| (seconds - id.at().get() / 1000) / 86_400))
    };
    items.iter().filter_map(expiry).collect()
}

#[tokio::test(start_paused = true)]
async fn a_shorter_retention_hides_at_once_and_expiry_follows() {
    let mut scene = Scene::followed().await;
    let first = scene.write(vec![about("x"); 3]).await;
    scene.settle().await;
    pass(10 * DAY).await;
    let second = scene.write(vec![about("x"); 2]).await;
    scene.settle().await;
    let other = store(scene.engine.client(), &scene.world);
    assert_eq!(ids(&other.op().topic(&scene.posts).latest(&query(9)).await.unwrap().events).len(), 5);

    retain(&scene, r#"{"retention_days":7}"#).await;
    pass(Duration::from_secs(2)).await;
    for store in [&scene.store, &other] {
        assert_eq!(store.op().topic(&scene.posts).latest(&query(9)).await.unwrap().events.len(), 2);
        let found = store.op().event(&scene.posts, first[0]).get().await;
        assert!(matches!(found, Err(GetEventError::NotFound(_))));
        assert_eq!(timeline_of(store, &source("actor:ada")).await.len(), 2);
        assert_eq!(feed_of(store, &user("bob")).await.len(), 2);
    }
    pass(Duration::from_secs(1)).await;
    let ascending = EventQuery { order: Some(Order::OldestFirst), ..query(9) };
    assert_eq!(scene.store.op().topic(&scene.posts).latest(&ascending).await.unwrap().events.len(), 2);
    scene.settle().await;
    assert_eq!(scene.listed("actor:ada").await.len(), 2, "what is past the retention is deleted");
    assert_eq!(expiries(&scene).await, BTreeSet::from([Some(7)]));
    // What was past the shorter retention stays gone under a longer one; everything else is kept longer.
    retain(&scene, r#"{"retention_days":null}"#).await;
    scene.settle().await;
    assert_eq!(expiries(&scene).await, BTreeSet::from([None]));
    assert_eq!(scene.page_of("posts").await.len(), second.len());
    pass(30 * DAY).await;
    assert_eq!(scene.page_of("posts").await.len(), second.len());
    let third = scene.write(vec![old(&scene, 1)]).await;
    assert_eq!(scene.page_of("posts").await.len(), second.len() + third.len());
}

#[tokio::test(start_paused = true)]
async fn an_event_of_a_process_that_knows_the_earlier_retention_gets_the_new_expiry() {
    let mut scene = scene().await;
    let stale = store(scene.engine.client(), &scene.world);
    post(&stale, &scene.posts, vec![about("x")]).await;
    scene.settle().await;
    retain(&scene, r#"{"retention_days":7}"#).await;
    scene.settle().await;
    post(&stale, &scene.posts, vec![about("x")]).await;
    scene.settle().await;
    assert_eq!(expiries(&scene).await, BTreeSet::from([Some(7)]));
}

#[tokio::test(start_paused = true)]
async fn a_bucket_of_a_process_that_knows_the_earlier_retention_shows_its_events_as_long() {
    let mut scene = scene().await;
    retain(&scene, r#"{"retention_days":7}"#).await;
    scene.settle().await;
    let stale = store(scene.engine.client(), &scene.world);
    post(&stale, &scene.posts, vec![about("x")]).await;
    retain(&scene, r#"{"retention_days":30}"#).await;
    scene.settle().await;
    let late = post(&stale, &scene.posts, vec![old(&scene, 2)]).await;
    scene.settle().await;
    pass(10 * DAY).await;
    assert!(scene.page_of("posts").await.contains(&late[0]));
}

#[tokio::test(start_paused = true)]
async fn a_record_that_is_redriven_gives_entries_the_expiry_that_its_event_has_now() {
    let mut scene = Scene::followed().await;
    retain(&scene, r#"{"retention_days":7}"#).await;
    scene.settle().await;
    scene.write(vec![about("x")]).await;
    let written = scene.news();
    pass(2 * HOUR).await;
    retain(&scene, r#"{"retention_days":30}"#).await;
    scene.settle().await;
    tell(&scene.store, &written).await;
    assert_eq!(scene.shown("bob").await.len(), 1);
    assert_eq!(expiries(&scene).await, BTreeSet::from([Some(30)]));

    retain(&scene, r#"{"retention_days":60}"#).await;
    scene.tell().await;
    let stamped = scene.news();
    pass(2 * HOUR).await;
    retain(&scene, r#"{"retention_days":90}"#).await;
    scene.settle().await;
    tell(&scene.store, &stamped).await;
    assert_eq!(expiries(&scene).await, BTreeSet::from([Some(90)]));
}

#[tokio::test(start_paused = true)]
async fn an_ending_costs_one_write_unit_an_item_and_a_twentieth_at_most() {
    let mut scene = Scene::followed().await;
    scene.write(vec![about("x"); 160]).await;
    scene.settle().await;
    // The deletion of a younger event is noted, too.
    pass(Duration::from_millis(lately_store::limits::WRITE_MILLIS + 1_000)).await;
    for is_deletion in [false, true] {
        let op = scene.store.op();
        match is_deletion {
            true => drop(op.ending(&scene.posts).delete().await.unwrap()),
            false => drop(op.topic(&scene.posts).put(&change(r#"{"retention_days":7}"#)).await.unwrap()),
        }
        let outcomes = scene.settle().await;
        let expected = if is_deletion { BTreeSet::new() } else { BTreeSet::from([Some(7)]) };
        assert_eq!(expiries(&scene).await, expected);
        let units = outcomes.iter().map(|outcome| outcome.cost.write_units.halves).sum::<u64>();
        let units = op.cost().write_units.halves + units;
        // For each event: itself, two entries under its sources, the author's own copy, and a follower's.
        assert!(units * 100 <= 800 * 2 * 105, "{units} half write units");
    }
}

#[tokio::test(start_paused = true)]
async fn the_steps_of_an_ending_may_be_two_days_apart() {
    for is_deletion in [false, true] {
        let mut scene = scene().await;
        // One step of a change of the retention takes 500 events of a partition.
        for _ in 0..2 {
            scene.write(vec![event("note", None); if is_deletion { 20 } else { 260 }]).await;
        }
        scene.settle().await;
        match is_deletion {
            true => drop(scene.delete().await),
            false => retain(&scene, r#"{"retention_days":3650}"#).await,
        }
        let mut shown = Vec::new();
        while scene.has_news() {
            if !is_deletion {
                let view = scene.store.op().topic(&scene.posts).view().await.unwrap();
                shown.extend(view.retention_change.map(|change| (change.events, change.bucket.is_some())));
            }
            // The stream keeps a record for a day, and Lambda may hold it longer.
            let news = scene.news();
            pass(2 * DAY + DAY / 12).await;
            scene.engine.expire(10_000).unwrap();
            tell(&scene.store, &news).await;
        }
        if is_deletion {
            pass(SETTLED).await;
            assert_eq!((scene.left().await.len(), scene.listed("actor:ada").await.len()), (0, 0));
        } else {
            shown.dedup();
            assert_eq!(shown, [(0, false), (500, true)], "the progress");
            assert_eq!(expiries(&scene).await, BTreeSet::from([Some(3_650)]));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_shorter_retention_hid_stays_hidden_before_its_steps_have_come_to_it() {
    let mut scene = scene().await;
    scene.write(vec![event("note", None); 40]).await;
    scene.settle().await;
    pass(3 * DAY).await;
    retain(&scene, r#"{"retention_days":1}"#).await;
    retain(&scene, r#"{"retention_days":null}"#).await;
    pass(Duration::from_secs(3)).await;
    // The floor is there until the steps have gone through the topic. An older import would be deleted with the rest.
    assert_eq!(scene.page_of("posts").await, []);
    let import = submission(vec![old(&scene, 2)]);
    assert!(scene.store.op().topic(&scene.posts).write(import).await.is_err());
    scene.tell().await;
    assert_eq!(scene.page_of("posts").await, []);
    scene.settle().await;
    assert_eq!(scene.page_of("posts").await, []);
    assert_eq!(expiries(&scene).await, BTreeSet::new());
    pass(Duration::from_secs(3)).await;
    let import = scene.write(vec![old(&scene, 2)]).await;
    scene.settle().await;
    assert_eq!(scene.page_of("posts").await, import);
}

#[tokio::test(start_paused = true)]
async fn the_steps_of_an_ending_go_through_several_partitions_at_once() {
    let mut scene = scene().await;
    for _ in 0..5 {
        scene.write(vec![event("note", None); 40]).await;
        pass(DAY).await;
    }
    scene.settle().await;
    retain(&scene, r#"{"retention_days":3650}"#).await;
    let is_changing = async |scene: &Scene| {
        scene.store.op().topic(&scene.posts).view().await.unwrap().retention_change.is_some()
    };
    assert!(is_changing(&scene).await);
    scene.tell().await;
    assert!(!is_changing(&scene).await, "one step goes through all partitions");
    scene.settle().await;
    scene.delete().await;
    scene.tell().await;
    assert_eq!(scene.deletion().await.events, 200);
}

#[tokio::test(start_paused = true)]
async fn no_item_has_a_word_of_an_event_when_its_topic_is_deleted() {
    let settings = FeedSettings { audience: 1, ..FeedSettings::default() };
    let mut scene = Scene::new(settings).await;
    for who in ["bob", "cy", "dan"] {
        scene.follow(who, "actor:ada", 10).await;
    }
    let secret = |n: usize| event("note", Some(format!("\"a secret{}\"", "x".repeat(n))));
    scene.write(vec![secret(0), secret(2_000)]).await;
    scene.settle().await;
    // Both events are pushed by jobs. Their pages are done.
    let has_pages = async |scene: &Scene| {
        items(&scene.engine).await.iter().any(|item| matches!(key(item), AnyKey::Job(_)))
    };
    assert!(!has_pages(&scene).await);
    assert_eq!(scene.shown("cy").await.len(), 2);
    scene.write(vec![secret(1)]).await;
    scene.tell().await;
    assert!(has_pages(&scene).await, "a page waits");
    scene.delete_and_settle().await;
    for item in items(&scene.engine).await {
        assert!(!format!("{item:?}").contains("secret"), "{item:?}");
    }
}
