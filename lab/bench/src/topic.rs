//! A topic of Lately in a table of its own, for measurements.

use std::time::Duration;

use lately_engine::stream::{SequenceNumber, Stream};
use lately_engine::{Engine, Options, TableDefinition};
use lately_keys::Topic;
use lately_model::{Backfill, EventQuery, NewEvent, PageSize, TopicChange};
use lately_store::{Cost, FanOutOutcome, Record, Store, Submission};
use lately_table::Connection;

use lately_rig::{Process, World, definition, engine_of};

/// 2026-03-14T12:00:00Z.
pub(crate) const NOON: Duration = Duration::from_secs(1_773_489_600);

/// The settings of a topic that does not fan out.
pub(crate) const QUIET: &str = r#"{"fan_out":false}"#;

/// The time for an operation, the same as in a function.
pub(crate) const BUDGET: Duration = lately_kit::limits::OPERATION_BUDGET;

pub(crate) const TABLE: &str = "lately";

/// A topic, the engine with its table, and the store that writes and reads it.
#[derive(Clone, Debug)]
pub(crate) struct Bench {
    pub(crate) world: World,
    pub(crate) engine: Engine,
    pub(crate) store: Store,
    pub(crate) topic: Topic,
}

impl Bench {
    /// A new topic, at noon.
    pub(crate) async fn new(seed: u64, settings: &str) -> Self {
        Self::at(NOON, seed, settings, definition(), Options::default()).await
    }

    /// A new topic in a table with this definition. The definition may lack parts that the measurement does not need.
    pub(crate) async fn at(
        now: Duration,
        seed: u64,
        settings: &str,
        table: &TableDefinition,
        options: Options,
    ) -> Self {
        let world = World::beginning(now, seed);
        let engine = engine_of(&world, table, TABLE, options);
        let store = Store::new(Connection::new(engine.client(), TABLE, world.clone(), BUDGET));
        let topic = "posts".parse().expect("a topic");
        let change = TopicChange::parse(settings.as_bytes()).expect("settings");
        store.op().topic(&topic).put(&change).await.expect("the topic is new");
        Self { world, engine, store, topic }
    }

    /// The store of another process, with a clock of its own.
    pub(crate) fn store_of(&self, process: Process) -> Store {
        Store::new(Connection::new(self.engine.client(), TABLE, process, BUDGET))
    }

    /// The same topic, for a process that has read nothing yet.
    pub(crate) fn of_new_process(&self) -> Self {
        Self { store: self.store_of(self.world.process()), ..self.clone() }
    }

    /// The time of the engine's clock.
    pub(crate) fn now(&self) -> Duration {
        self.engine.clock().now()
    }

    /// Writes events of 512 bytes.
    pub(crate) async fn fill(&self, events: usize) -> Cost {
        self.write(vec![of_512_bytes(); events]).await
    }

    pub(crate) async fn write(&self, events: Vec<NewEvent>) -> Cost {
        let submission = Submission { may_import: true, ..Submission::new(events) };
        let op = self.store.op();
        op.topic(&self.topic).write(submission).await.expect("the engine injects no faults");
        op.cost()
    }

    /// Reads the latest events.
    pub(crate) async fn latest(&self, limit: u16) -> Cost {
        let query = EventQuery { limit: page_size(limit), ..EventQuery::default() };
        let op = self.store.op();
        let page = op.topic(&self.topic).latest(&query).await.expect("the engine injects no faults");
        let cost = op.cost();
        assert_eq!(page.events.len(), usize::from(limit));
        cost
    }

    pub(crate) async fn follow(&self, user: &str, source: &str) {
        let (user, source) = (user.parse().expect("a user"), source.parse().expect("a source"));
        let followed = self.store.op().user(&user).follow(&source, Backfill::default()).await;
        followed.expect("the engine injects no faults");
    }
}

pub(crate) fn page_size(limit: u16) -> PageSize {
    PageSize::new(limit).expect("a page")
}

/// An event whose item has 512 bytes in a shard with two digits.
pub(crate) fn of_512_bytes() -> NewEvent {
    let keys = "pk".len() + "EVENTS#posts#2026-03-14#SHARD63".len() + "sk".len() + 36;
    let rest = "tnote".len() + "aada".len() + "vasf".len() + "d\"\"".len();
    NewEvent {
        event_type: "note".parse().expect("a type"),
        actor: "ada".parse().expect("an actor"),
        subject: None,
        data: Some(format!("\"{}\"", "x".repeat(512 - keys - rest)).parse().expect("JSON")),
        at: None,
    }
}

/// The table's stream, and the position up to which fan-out has handled each shard.
pub(crate) struct Behind {
    stream: Stream,
    positions: Vec<SequenceNumber>,
}

impl Behind {
    pub(crate) fn new(engine: &Engine) -> Self {
        let stream = engine.stream(TABLE).expect("the table has a stream");
        let positions = vec![SequenceNumber::START; stream.shards().into()];
        Self { stream, positions }
    }

    /// Runs fan-out for all new records, and for the records of its own writes, until none remains. Returns what
    /// fan-out did.
    pub(crate) async fn settle(&mut self, store: &Store) -> FanOutOutcome {
        let mut all = FanOutOutcome::default();
        loop {
            let mut quiet = true;
            for shard in 0..self.stream.shards() {
                let position = &mut self.positions[usize::from(shard)];
                let batch = self.stream.read(shard, *position, 100, u64::MAX);
                if batch.records.is_empty() {
                    continue;
                }
                (quiet, *position) = (false, batch.next);
                let event = self.stream.lambda_event(&batch.records);
                let records = Record::batch(event.as_bytes()).expect("a batch of the stream");
                let done = store.op_within(Duration::from_secs(60)).fan_out(&records).await;
                assert_eq!(done.failed, None);
                all.deliveries += done.deliveries;
                all.write_calls += done.write_calls;
                all.written_items += done.written_items;
                all.cost += done.cost;
            }
            if quiet {
                return all;
            }
        }
    }
}
