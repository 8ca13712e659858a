//! The rig of the tests of consumers and reports: a topic, its table's stream, and the reported events of each run.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use lately_engine::stream::SequenceNumber;
use lately_engine::{Engine, Options};
use lately_items::{AnyKey, ConsumerKey, LateEventKey};
use lately_keys::{EventId, UnixMillis};
use lately_model::{NewConsumer, NewEvent, RunSpec};
use lately_store::{Begun, CommittedRun, FanOutOutcome, LookUp, Run, Store, TableError};

use crate::scene::{key, news, tell};
use crate::support::{Item, World, change, event, ids, items, pass, post, start_with, topic};

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

    /// The entries of the late ledger.
    pub(crate) async fn ledger(&self) -> BTreeMap<EventId, Item> {
        let entries = items(&self.engine).await.into_iter().filter_map(|item| match key(&item) {
            AnyKey::LateEvent(LateEventKey { id, .. }) => Some((id, item)),
            _ => None,
        });
        entries.collect()
    }

    /// The events of the ledger that are not settled.
    pub(crate) async fn unsettled(&self) -> BTreeSet<EventId> {
        let entries = self.ledger().await.into_iter();
        entries.filter(|(_, entry)| !entry.contains_key("by")).map(|(id, _)| id).collect()
    }

    /// For each partition of the ledger, its counter in the announcement.
    pub(crate) async fn counts(&self) -> BTreeMap<u8, u64> {
        let all = items(&self.engine).await;
        let announced = all.iter().find(|item| matches!(key(item), AnyKey::Announcement(_))).unwrap();
        let count =
            |shard: u8| Some((shard, announced.get(&format!("l{shard}"))?.as_n().unwrap().parse().unwrap()));
        (0..16).filter_map(count).collect()
    }
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
