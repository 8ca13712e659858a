//! The rig of the tests of consumers and reports: a topic, its table's stream, and the reported events of each run.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use lately_engine::stream::SequenceNumber;
use lately_engine::{Engine, Options};
use lately_items::{AnyKey, ConsumerKey, LateBatch, LateBatchKey, LateLogKey, LatePlace};
use lately_keys::{EventId, UnixMillis};
use lately_model::{NewConsumer, NewEvent, RunSpec};
use lately_store::{Begun, CommittedRun, FanOutOutcome, LookUp, Run, Store, TableError};

use crate::listed::{item, number, put};
use crate::scene::{key, news, tell};
use crate::support::{World, change, event, ids, items, pass, post, start_with, topic};

/// The length of a run's lease.
pub(crate) const LEASE: Duration = Duration::from_secs(60);

/// Longer than a consumer stays behind the present.
pub(crate) const SETTLED: Duration = Duration::from_secs(11);

pub(crate) fn nightly() -> ConsumerKey {
    ConsumerKey { topic: topic("billing"), name: "nightly".parse().unwrap() }
}

/// A table with the topic `billing`, which keeps no views and does not fan out.
pub(crate) struct Rig {
    pub(crate) world: World,
    pub(crate) engine: Engine,
    pub(crate) store: Store,
    told: SequenceNumber,
}

impl Rig {
    pub(crate) async fn new() -> Self {
        Self::with(r#"{"fan_out":false,"views":[]}"#).await
    }

    /// A rig with a consumer that starts at the earliest event.
    pub(crate) async fn consumed() -> Self {
        let rig = Self::new().await;
        let earliest = NewConsumer::parse(br#"{"start":"earliest"}"#).unwrap();
        assert!(rig.store.op().consumer(&nightly()).put(&earliest).await.unwrap().1);
        rig
    }

    /// A rig whose consumer has reported once, and the run's files.
    pub(crate) async fn reported() -> (Self, Files) {
        let (rig, mut files) = (Self::new().await, Files::default());
        report_later(&rig, &mut files).await;
        (rig, files)
    }

    pub(crate) async fn with(settings: &str) -> Self {
        let (world, engine, store) = start_with(1, Options { shards: 1, ..Options::default() });
        store.op().topic(&topic("billing")).put(&change(settings)).await.unwrap();
        Self { world, engine, store, told: SequenceNumber::START }
    }

    /// Writes an event whose time is `ago` before now.
    pub(crate) async fn write(&self, ago: Duration) -> EventId {
        self.write_many(1, ago).await[0]
    }

    pub(crate) async fn write_many(&self, count: usize, ago: Duration) -> Vec<EventId> {
        let millis = u64::try_from(ago.as_millis()).unwrap();
        let at = (millis > 0).then(|| self.world.now().saturating_sub(millis));
        let mut written = Vec::new();
        for n in (0..count).step_by(500) {
            let batch = vec![NewEvent { at, ..event("note", None) }; (count - n).min(500)];
            written.extend(post(&self.store, &topic("billing"), batch).await);
        }
        written
    }

    /// The stream's new records, in the form in which Lambda gets them.
    pub(crate) fn news(&mut self) -> String {
        news(&self.engine, &mut self.told)
    }

    /// Hands the new records to fan-out.
    pub(crate) async fn tell(&mut self) -> FanOutOutcome {
        let news = self.news();
        tell(&self.store, &news).await
    }

    /// The items of the late log, by their numbers.
    pub(crate) async fn log(&self) -> BTreeMap<u64, LateBatch> {
        let mut log = BTreeMap::new();
        for item in items(&self.engine).await {
            if let AnyKey::LateBatch(LateBatchKey { number, .. }) = key(&item) {
                log.insert(number, LateBatch::decode(&item.into()).unwrap());
            }
        }
        log
    }

    /// The events that the late log names.
    pub(crate) async fn logged(&self) -> BTreeSet<EventId> {
        self.log().await.into_values().flat_map(|batch| batch.ids).collect()
    }

    /// The consumer's place in the late log.
    pub(crate) async fn place(&self) -> LatePlace {
        let all = items(&self.engine).await;
        let checkpoint = all.into_iter().find(|item| matches!(key(item), AnyKey::Consumer(_))).unwrap();
        lately_items::Item::from(checkpoint).get("log").unwrap()
    }

    /// True if the consumer has read the whole late log.
    pub(crate) async fn has_read_log(&self) -> bool {
        let end = self.log().await.last_key_value().map_or(0, |(number, _)| *number);
        self.place().await == LatePlace::after(end)
    }

    /// Adds items to the late log, as fan-out does.
    pub(crate) async fn append(&self, batches: &[Vec<EventId>]) {
        let client = self.engine.client();
        let mut end = self.log().await.last_key_value().map_or(0, |(number, _)| *number);
        let mut items = Vec::new();
        for ids in batches {
            end += 1;
            let key = LateBatchKey::new(topic("billing"), end);
            items.push(key.item(ids, self.world.now(), u64::from(u32::MAX)).into_attributes());
        }
        put(&client, items).await;
        let end_key = LateLogKey { topic: topic("billing") };
        let end = [("n", number(end)), ("created", number(rig_created(&self.store).await))];
        put(&client, [item(&end_key, end)]).await;
    }
}

/// When the topic was created, in milliseconds.
async fn rig_created(store: &Store) -> u64 {
    store.op().topic(&topic("billing")).view().await.unwrap().created_at.get()
}

/// The files of committed runs.
#[derive(Clone, Debug, Default)]
pub(crate) struct Files {
    /// The events of each run, by the end of its range.
    pub(crate) files: BTreeMap<EventId, BTreeSet<EventId>>,
    /// The number of look-ups so far.
    pub(crate) looks: usize,
}

impl LookUp for Files {
    type Error = TableError;

    async fn look_up(&mut self, run: &Run, ids: &[EventId]) -> Result<Vec<bool>, TableError> {
        assert!(run.committed.is_some() && ids.is_sorted());
        self.looks += 1;
        tokio::task::yield_now().await;
        Ok(ids.iter().map(|id| self.files[&run.to].contains(id)).collect())
    }
}

impl Files {
    /// The events of all files. Fails if two files have the same event.
    pub(crate) fn reported(&self) -> BTreeSet<EventId> {
        let mut all = BTreeSet::new();
        for id in self.files.values().flatten() {
            assert!(all.insert(*id), "{id} is reported twice");
        }
        all
    }
}

pub(crate) fn attempt(name: &str, at: UnixMillis) -> CommittedRun {
    CommittedRun { attempt: name.to_owned(), events: 1, late: 0, bytes: 10, committed_at: at }
}

pub(crate) async fn begin(store: &Store) -> Run {
    match store.op().runs(&nightly()).begin(&RunSpec::default(), LEASE).await.unwrap() {
        Begun::Run(run) => *run,
        other => panic!("{other:?}"),
    }
}

/// The events that a run reports, late events first.
pub(crate) async fn read(store: &Store, run: &Run, files: &mut Files) -> Vec<EventId> {
    let late = store.op().run(run).late_ids(files).await.unwrap();
    let mut found = ids(&store.op().topic(&run.consumer.topic).events_of(&late).await.unwrap());
    let mut range = store.op().topic(&run.consumer.topic).range(run.from, run.to).await.unwrap();
    while let Some(events) = range.next().await.unwrap() {
        found.extend(ids(&events));
    }
    found
}

/// Does a whole run.
pub(crate) async fn report(store: &Store, files: &mut Files) -> Run {
    let run = begin(store).await;
    let found = read(store, &run, files).await;
    let run = store.op().run(&run).commit(&attempt("a", store.now())).await.unwrap();
    files.files.insert(run.to, found.into_iter().collect());
    store.op().run(&run).finish().await.unwrap();
    run
}

/// Lets time pass, then does a whole run.
pub(crate) async fn report_later(rig: &Rig, files: &mut Files) -> Run {
    pass(SETTLED).await;
    report(&rig.store, files).await
}
