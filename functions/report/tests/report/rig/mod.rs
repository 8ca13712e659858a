//! The rig of the tests: a table, objects, a stream that a test delivers when it wants to, and processes with their own
//! clocks.

mod objects;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use aws_sdk_dynamodb::Client;
use futures_util::TryStreamExt;
use lately_engine::fault::{Faults, FaultyClient};
use lately_engine::stream::{Record as StreamRecord, SequenceNumber};
use lately_engine::{Engine, Options};
use lately_items::{ConsumerKey, RunKey};
use lately_keys::{EventId, TableKey, Topic, UnixMillis};
use lately_model::{NewEvent, RunSpec, TopicChange};
use lately_report::{Outcome, Output, Report, ReportError, Summary};
use lately_rig::{TABLE, World, connection};
use lately_store::{Record, Store, Submission};
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};

pub(crate) use lately_rig::Process;
pub(crate) use objects::{Effect, Objects, Plan};

/// Time of fan-out for a batch.
const FAN_OUT_TIME: Duration = Duration::from_secs(52);

/// The report function's time, less the platform's share.
pub(crate) const TIME: Duration = Duration::from_secs(292);

/// The time after which events are old enough to be reported.
pub(crate) const SETTLED: Duration = Duration::from_secs(11);

/// A table with the topic `billing`, objects, and a position in the stream.
#[derive(Debug)]
pub(crate) struct Rig {
    pub(crate) world: World,
    pub(crate) engine: Engine,
    /// A store in a process with correct clocks.
    pub(crate) store: Store,
    /// The objects themselves, without faults.
    pub(crate) objects: Arc<InMemory>,
    pub(crate) topic: Topic,
    delivered_to: SequenceNumber,
}

/// A process that makes reports, with its faults.
#[derive(Debug)]
pub(crate) struct Reporter {
    pub(crate) table: FaultyClient,
    pub(crate) objects: Objects,
    pub(crate) store: Store,
    pub(crate) output: Output,
}

/// The content of a run's files.
#[derive(Clone, Debug)]
pub(crate) struct Published {
    pub(crate) ids: Vec<EventId>,
    pub(crate) lines: Vec<serde_json::Value>,
    pub(crate) summary: Summary,
}

impl Rig {
    pub(crate) async fn new(seed: u64) -> Self {
        let world = World::new(seed);
        let engine = lately_rig::engine(&world, Options { shards: 1, ..Options::default() });
        let store = store(engine.client(), world.process());
        let topic: Topic = "billing".parse().unwrap();
        let settings = TopicChange::parse(br#"{"fan_out":false,"views":[],"bucket":"hour"}"#).unwrap();
        store.op().topic(&topic).put(&settings).await.unwrap();
        Self { world, engine, store, objects: Arc::default(), topic, delivered_to: SequenceNumber::START }
    }

    /// A store in another process.
    pub(crate) fn store(&self, process: Process) -> Store {
        store(self.engine.client(), process)
    }

    /// A process that makes reports, with these faults.
    pub(crate) fn reporter(&self, process: Process, table: Faults, objects: Plan) -> Reporter {
        let table = self.engine.client_with(table);
        let objects = Objects::new(Arc::clone(&self.objects) as Arc<dyn ObjectStore>, objects);
        Reporter {
            store: store(table.client(), process),
            output: Output::new(Arc::new(objects.clone()), Path::from("reports")),
            table,
            objects,
        }
    }

    /// A process that makes reports, without faults.
    pub(crate) fn sound(&self) -> Reporter {
        self.reporter(self.world.process(), Faults::default(), Plan::none())
    }

    /// A consumer's report, by actor, with the sum of `amount`.
    pub(crate) fn report(&self, name: &str) -> Report {
        let consumer = ConsumerKey { topic: self.topic.clone(), name: name.parse().unwrap() };
        Report { consumer, spec: RunSpec { sum: "amount".parse().ok(), ..RunSpec::default() } }
    }

    /// Writes events, now or into the past.
    pub(crate) async fn write(&self, count: usize, at: Option<UnixMillis>) -> Vec<EventId> {
        let event = |n| NewEvent { at, ..paid(["ada", "bob", "cy"][n % 3], "{\"amount\": 1.10}") };
        self.write_all((0..count).map(event).collect()).await
    }

    pub(crate) async fn write_all(&self, events: Vec<NewEvent>) -> Vec<EventId> {
        let written = self.store.op().topic(&self.topic).write(submission(events)).await.unwrap();
        written.events.iter().map(|event| event.id).collect()
    }

    /// The stream records since the last call, as both mappings would send them: each of them applies its own filter.
    pub(crate) fn news(&mut self) -> Vec<Arc<StreamRecord>> {
        let batch = self.engine.stream(TABLE).unwrap().read(0, self.delivered_to, usize::MAX, u64::MAX);
        self.delivered_to = batch.next;
        batch.records
    }

    /// All stream records so far.
    pub(crate) fn history(&self) -> Vec<Arc<StreamRecord>> {
        self.engine.stream(TABLE).unwrap().all()
    }

    /// The Lambda event of these records.
    pub(crate) fn event(&self, records: &[Arc<StreamRecord>]) -> String {
        self.engine.stream(TABLE).unwrap().lambda_event(records)
    }

    /// Delivers records to fan-out.
    pub(crate) async fn fan_out(&self, store: &Store, records: &[Arc<StreamRecord>]) {
        let event = self.event(records);
        let outcome = store.op_within(FAN_OUT_TIME).fan_out(&Record::batch(event.as_bytes()).unwrap()).await;
        assert_eq!(outcome.failed, None);
    }

    /// Delivers new records to fan-out, and those that result from them, until there are none.
    pub(crate) async fn settle(&mut self) {
        loop {
            let news = self.news();
            if news.is_empty() {
                return;
            }
            self.fan_out(&self.store, &news).await;
        }
    }

    /// The published files of each run, by the name of its events' file. A run with a file of ids must have all its
    /// files, and they must be consistent.
    pub(crate) async fn published(&self) -> BTreeMap<String, Published> {
        let objects = self.all_objects().await;
        let mut published = BTreeMap::new();
        for (name, lines) in &objects {
            let Some(stem) = name.strip_suffix(".ndjson").filter(|_| !name.contains("/.attempts/")) else {
                continue;
            };
            if let Some(ids) = objects.get(&format!("{stem}.ids")) {
                let summary = &objects[&format!("{stem}.summary.json")];
                published.insert(name.clone(), Published::read(lines, ids, summary));
            }
        }
        published
    }

    /// Every reported id, in the order of the reports.
    pub(crate) async fn reported(&self) -> Vec<EventId> {
        self.published().await.into_values().flat_map(|published| published.ids).collect()
    }

    /// The names of the attempts' objects.
    pub(crate) async fn private(&self) -> Vec<String> {
        let names = self.all_objects().await.into_keys();
        names.filter(|name| name.contains("/.attempts/")).collect()
    }

    /// Removes the attempts' objects, as a lifecycle rule of the bucket does with old ones.
    pub(crate) async fn remove_private(&self) {
        for name in self.private().await {
            self.remove_object(&name).await;
        }
    }

    /// Removes an object, as its reader may do.
    pub(crate) async fn remove_object(&self, name: &str) {
        self.objects.delete(&Path::from(name)).await.unwrap();
    }

    async fn all_objects(&self) -> BTreeMap<String, Vec<u8>> {
        let listed: Vec<_> = self.objects.list(None).try_collect().await.unwrap();
        let mut objects = BTreeMap::new();
        for object in listed {
            let name = object.location.to_string();
            objects.insert(name.clone(), self.object(&name).await);
        }
        objects
    }

    async fn object(&self, name: &str) -> Vec<u8> {
        self.objects.get(&Path::from(name)).await.unwrap().bytes().await.unwrap().to_vec()
    }
}

impl Published {
    fn read(lines: &[u8], ids: &[u8], summary: &[u8]) -> Self {
        let lines = std::str::from_utf8(lines).unwrap().lines();
        let lines: Vec<serde_json::Value> = lines.map(|line| serde_json::from_str(line).unwrap()).collect();
        let in_lines: Vec<EventId> =
            lines.iter().map(|line| line["id"].as_str().unwrap().parse().unwrap()).collect();
        assert!(in_lines.is_sorted_by(|a, b| a < b), "oldest first, and no event twice");

        let (blocks, in_ids) = (in_lines.len().div_ceil(4_096), in_lines.iter());
        let bytes: Vec<u8> = in_ids.flat_map(|id| *id.as_uuid().as_bytes()).collect();
        assert_eq!(ids[..bytes.len()], bytes[..], "the ids belong to the events");
        assert_eq!(ids.len(), bytes.len() + 16 * blocks);

        let summary: Summary = serde_json::from_slice(summary).unwrap();
        assert_eq!(summary.head.events, lines.len() as u64);
        let groups = summary.groups.iter().map(|group| &group.counted).chain(&summary.others);
        assert_eq!(groups.map(|counted| counted.count).sum::<u64>(), summary.head.events);
        let late = in_lines.iter().filter(|id| id.at() <= summary.head.from).count();
        assert_eq!(summary.head.late, late as u64, "events older than the range are late");
        Self { ids: in_lines, lines, summary }
    }
}

impl Reporter {
    /// Makes a report; none if the process died.
    pub(crate) async fn run(&self, report: &Report, time: Duration) -> Option<Result<Outcome, ReportError>> {
        let work = lately_report::run(&self.store, &self.output, report, time);
        self.alive(Box::pin(work)).await
    }

    /// Runs work in this process; none if the process died.
    pub(crate) async fn alive<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        self.objects.run(self.table.run(work)).await.flatten()
    }

    /// Makes a report that must succeed.
    pub(crate) async fn finish(&self, report: &Report) -> Outcome {
        self.run(report, TIME).await.unwrap().unwrap()
    }

    /// The number of calls to the table.
    pub(crate) fn table_calls(&self) -> usize {
        self.table.calls().len()
    }

    /// True if a fault hit the process.
    pub(crate) fn is_hurt(&self) -> bool {
        !self.table.injected().is_empty() || self.objects.is_hurt()
    }
}

/// A store over a client, in a process.
pub(crate) fn store(client: Client, process: Process) -> Store {
    Store::new(connection(client, process))
}

/// An event with data.
pub(crate) fn paid(actor: &str, data: &str) -> NewEvent {
    NewEvent {
        event_type: "paid".parse().unwrap(),
        actor: actor.parse().unwrap(),
        subject: None,
        data: Some(data.parse().unwrap()),
        at: None,
    }
}

/// The records of unfinished runs, as the template's second mapping selects them.
pub(crate) fn unfinished(records: &[Arc<StreamRecord>]) -> Vec<Arc<StreamRecord>> {
    let is_unfinished = |record: &&Arc<StreamRecord>| {
        record.new_image().is_some_and(|item| {
            let (pk, sk) = (item["pk"].as_s().unwrap(), item["sk"].as_s().unwrap());
            let is_free = || item["lease"].as_n().unwrap() == "0";
            RunKey::decode(pk, sk).is_some() && item.contains_key("progress") && is_free()
        })
    };
    records.iter().filter(is_unfinished).cloned().collect()
}

/// Lets time pass.
pub(crate) async fn pass(time: Duration) {
    tokio::time::sleep(time).await;
}

/// Events for a store to write.
pub(crate) fn submission(events: Vec<NewEvent>) -> Submission {
    Submission { may_import: true, ..Submission::new(events) }
}
