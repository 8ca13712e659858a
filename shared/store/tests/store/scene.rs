//! The scene of the tests of fan-out: a table with two topics, and its stream, which a test hands to fan-out.

use std::collections::BTreeSet;

use lately_engine::stream::SequenceNumber;
use lately_engine::{Engine, Options};
use lately_items::AnyKey;
use lately_keys::{EventId, Topic};
use lately_model::{Backfill, NewEvent};
use lately_store::{FanOutOutcome, FeedSettings, Record, Store};

use crate::listed::{source, user};
use crate::support::{Item, MINUTE, TABLE, World, change, event, items, post, start_with, topic};

/// A table with the topics `posts`, which fans out, and `logs`, which does not, and the place in its stream that
/// fan-out has reached.
pub(crate) struct Scene {
    pub(crate) world: World,
    pub(crate) engine: Engine,
    pub(crate) store: Store,
    pub(crate) posts: Topic,
    pub(crate) logs: Topic,
    pub(crate) settings: FeedSettings,
    /// The last record that was handed to fan-out.
    told: SequenceNumber,
}

impl Scene {
    pub(crate) async fn new(settings: FeedSettings) -> Self {
        Self::with(settings, Options { shards: 1, ..Options::default() }).await
    }

    /// A scene in which bob follows ada.
    pub(crate) async fn followed() -> Self {
        let mut scene = Self::new(FeedSettings::default()).await;
        scene.follow("bob", "actor:ada", 0).await;
        scene.settle().await;
        scene
    }

    /// A scene on an engine with other options. Its stream has one shard.
    pub(crate) async fn with(settings: FeedSettings, options: Options) -> Self {
        let (world, engine, store) = start_with(1, options);
        let store = store.with_feeds(settings);
        let (posts, logs) = (topic("posts"), topic("logs"));
        store.op().topic(&posts).put(&change("{}")).await.unwrap();
        store.op().topic(&logs).put(&change(r#"{"fan_out":false}"#)).await.unwrap();
        Self { world, engine, store, posts, logs, settings, told: SequenceNumber::START }
    }

    pub(crate) async fn follow(&self, who: &str, what: &str, backfill: u16) {
        let backfill = Backfill::new(backfill).unwrap();
        self.store.op().user(&user(who)).follow(&source(what), backfill).await.unwrap();
    }

    /// Writes events to `posts`.
    pub(crate) async fn write(&self, events: Vec<NewEvent>) -> Vec<EventId> {
        self.post(&self.posts, events).await
    }

    pub(crate) async fn post(&self, topic: &Topic, events: Vec<NewEvent>) -> Vec<EventId> {
        post(&self.store, topic, events).await
    }

    pub(crate) fn has_news(&self) -> bool {
        self.told < self.engine.stream(TABLE).unwrap().latest(0)
    }

    /// The stream's new records, in the form in which Lambda gets them.
    pub(crate) fn news(&mut self) -> String {
        news(&self.engine, &mut self.told)
    }

    /// All records that the stream ever had.
    pub(crate) fn all_news(&self) -> String {
        news(&self.engine, &mut { SequenceNumber::START })
    }

    /// Hands fan-out the new records.
    pub(crate) async fn tell(&mut self) -> FanOutOutcome {
        let news = self.news();
        tell(&self.store, &news).await
    }

    /// Hands fan-out the new records, and the records that result from them, until there are none.
    pub(crate) async fn settle(&mut self) -> Vec<FanOutOutcome> {
        let mut outcomes = Vec::new();
        while self.has_news() {
            outcomes.push(self.tell().await);
        }
        outcomes
    }

    /// The entries of a feed, newest first.
    pub(crate) async fn feed(&self, who: &str) -> Vec<(EventId, Item)> {
        let entries = items(&self.engine).await.into_iter().filter_map(|item| match key(&item) {
            AnyKey::FeedEntry(key) if key.user == user(who) => Some((key.id, item)),
            _ => None,
        });
        let mut entries: Vec<_> = entries.collect();
        entries.sort_by_key(|(id, _)| std::cmp::Reverse(*id));
        entries
    }

    pub(crate) async fn shown(&self, who: &str) -> Vec<EventId> {
        self.feed(who).await.into_iter().map(|(id, _)| id).collect()
    }

    /// The entries of a source's timeline.
    pub(crate) async fn listed(&self, what: &str) -> Vec<(EventId, Item)> {
        let entries = items(&self.engine).await.into_iter().filter_map(|item| match key(&item) {
            AnyKey::SourceEntry(key) if key.source == source(what) => Some((key.id, item)),
            _ => None,
        });
        entries.collect()
    }
}

/// The records behind a place in the stream's only shard, in the form in which Lambda gets them. The place moves on.
pub(crate) fn news(engine: &Engine, told: &mut SequenceNumber) -> String {
    let stream = engine.stream(TABLE).unwrap();
    let batch = stream.read(0, *told, usize::MAX, u64::MAX);
    *told = batch.next;
    stream.lambda_event(&batch.records)
}

/// Hands fan-out records, none of which may fail.
pub(crate) async fn tell(store: &Store, news: &str) -> FanOutOutcome {
    let outcome = fan_out(store, news).await;
    assert_eq!(outcome.failed, None);
    outcome
}

/// The users whose feeds have a pull marker.
pub(crate) async fn markers(scene: &Scene) -> BTreeSet<String> {
    let markers = items(&scene.engine).await.into_iter().filter_map(|item| match key(&item) {
        AnyKey::PullMarker(key) => Some(key.user.to_string()),
        _ => None,
    });
    markers.collect()
}

pub(crate) fn key(item: &Item) -> AnyKey {
    AnyKey::decode(item["pk"].as_s().unwrap(), item["sk"].as_s().unwrap()).unwrap()
}

pub(crate) async fn fan_out(store: &Store, event: &str) -> FanOutOutcome {
    store.op_within(MINUTE).fan_out(&Record::batch(event.as_bytes()).unwrap()).await
}

/// Those records of an event of Lambda whose keys are wanted.
pub(crate) fn of_keys(news: &str, is_wanted: impl Fn(&str, &str) -> bool) -> String {
    let mut event: serde_json::Value = serde_json::from_str(news).unwrap();
    event["Records"].as_array_mut().unwrap().retain(|record| {
        let [pk, sk] = ["pk", "sk"].map(|name| record["dynamodb"]["Keys"][name]["S"].as_str().unwrap());
        is_wanted(pk, sk)
    });
    event.to_string()
}

pub(crate) fn about(subject: &str) -> NewEvent {
    NewEvent { subject: Some(subject.parse().unwrap()), ..event("note", Some("1".to_owned())) }
}

pub(crate) fn small_jobs() -> FeedSettings {
    let settings = FeedSettings { entries_per_query: 2, queries_per_step: 1, ..FeedSettings::default() };
    FeedSettings { audience: 0, followers_per_job: 3, ..settings }
}
