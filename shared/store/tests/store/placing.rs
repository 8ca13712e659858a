//! Placing by time, against a model: no acknowledged event lies outside of the places that the directory covers.
//!
//! Processes write single events, batches and imports to partitions that take few writes a second, so that shards grow,
//! go on and are let go. Their clocks differ, some of their calls stop for seconds, and some die in the middle of a
//! write. A bucket ends and another begins meanwhile. After each write another process reads the whole topic and must
//! find every event that was acknowledged before.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use futures_util::future::{Either, join_all, select};
use lately_engine::fault::{Fault, Faults, Moment, Network, Stall, Target};
use lately_engine::{Engine, Options, PartitionLimits};
use lately_items::DirectoryKey;
use lately_keys::{EventId, Order, TableKey, Topic};
use lately_model::{EventQuery, NewEvent, PageSize};
use lately_rig::connection;
use lately_store::{Store, TopicError, WriteError};

use crate::support::{
    World, assert_directory_held, change, coverage, engine, event, ids, items, pass, seeds, stored,
    submission, topic,
};

/// Eight seconds before a bucket ends: 2026-03-14T12:14:52Z.
const BEFORE_THE_END: Duration = Duration::from_secs(1_773_490_492);

/// The writes a second of a partition.
const PARTITION: u32 = 40;

struct Model {
    world: World,
    engine: Engine,
    topic: Topic,
    acknowledged: RefCell<BTreeSet<EventId>>,
    writers: Cell<u32>,
}

impl Model {
    /// A process with a clock of its own, whose calls may stop and fail.
    fn process(&self, rng: &mut fastrand::Rng) -> Store {
        let off = Duration::from_millis([0, rng.u64(..100), rng.u64(..4_000)][rng.usize(..3)]);
        let process = self.world.process();
        let process = if rng.bool() { process.ahead(off) } else { process.behind(off) };
        let moment = [Moment::Before, Moment::After][rng.usize(..2)];
        let stall = Stall { call: rng.u64(3..40), moment, time: Duration::from_millis(rng.u64(..12_000)) };
        let longest = Duration::from_millis([1, 5, 40][rng.usize(..3)]);
        let network = Network { seed: rng.u64(..), longest, stall: Some(stall) };
        let faults = Faults::seeded(rng.u64(..))
            .sometimes(0.02, Target::any(), Fault::InternalServerError)
            .sometimes(0.02, Target::any(), Fault::Timeout(Moment::After));
        let client = self.engine.client_with(faults).over(network);
        Store::new(connection(client, process))
    }

    /// The events of a request: one, some or many; now, or in the last half hour.
    fn events(&self, rng: &mut fastrand::Rng) -> Vec<NewEvent> {
        let count = [1, 1, rng.usize(2..30), rng.usize(30..=90)][rng.usize(..4)];
        let past = (rng.u8(..4) == 0).then(|| self.world.now().saturating_sub(rng.u64(..1_800_000)));
        (0..count).map(|_| NewEvent { at: past, ..event("note", None) }).collect()
    }

    async fn write(&self, store: &Store, mut rng: fastrand::Rng) {
        for _ in 0..rng.u8(3..6) {
            pass(Duration::from_millis(
                [rng.u64(..200), rng.u64(..4_000), rng.u64(..40_000)][rng.usize(..3)],
            ))
            .await;
            let (op, events) = (store.op(), self.events(&mut rng));
            let writing = Box::pin(op.topic(&self.topic).write(submission(events)));
            // The process dies at any moment of the write, or lives.
            let death = match rng.u8(..5) {
                0 => Duration::from_millis(rng.u64(..300)),
                _ => Duration::MAX,
            };
            let Either::Left((written, _)) = select(writing, Box::pin(pass(death))).await else { continue };
            let written: Vec<_> = match written {
                Ok(written) => ids(&written.events),
                Err(WriteError::Partly { accepted, .. }) => accepted.into_iter().map(|(_, id)| id).collect(),
                Err(WriteError::Table(_) | WriteError::Topic(TopicError::Table(_))) => continue,
                Err(error) => panic!("{error}"),
            };
            self.acknowledged.borrow_mut().extend(written);
        }
        self.writers.set(self.writers.get() - 1);
    }

    async fn read(&self, store: &Store, mut rng: fastrand::Rng) {
        while self.writers.get() > 0 {
            let known = self.acknowledged.borrow().clone();
            let shown = self.walk(store, Order::NewestFirst).await;
            assert!(known.is_subset(&shown), "missing: {:?}", known.difference(&shown).collect::<Vec<_>>());
            pass(Duration::from_millis(rng.u64(..8_000))).await;
        }
    }

    /// All events of the topic, read consistently.
    async fn walk(&self, store: &Store, order: Order) -> BTreeSet<EventId> {
        let limit = PageSize::new(200).unwrap();
        let mut query = EventQuery { limit, order: Some(order), consistent: true, ..EventQuery::default() };
        let mut shown = BTreeSet::new();
        loop {
            let page = store.op().topic(&self.topic).latest(&query).await.unwrap();
            let found = ids(&page.events);
            assert!(
                found.is_sorted_by(|one, next| (order == Order::OldestFirst) == (one < next)),
                "in order"
            );
            let before = shown.len();
            shown.extend(&found);
            assert_eq!(shown.len(), before + found.len(), "each once");
            if !page.has_more {
                return shown;
            }
            query.cursor = page.next;
        }
    }
}

/// Runs a model. Returns it with the most shards that a bucket had.
async fn simulate(seed: u64) -> (Model, u16) {
    let mut rng = fastrand::Rng::with_seed(seed);
    let world = World::beginning(BEFORE_THE_END, seed);
    let limits = PartitionLimits {
        write_units: PARTITION,
        burst: Duration::from_millis([500, 1_000][rng.usize(..2)]),
        writes_in_10_ms: [None, Some(10)][rng.usize(..2)],
        ..PartitionLimits::default()
    };
    let engine = engine(&world, Options { partitions: Some(limits), ..Options::default() });
    let acknowledged = RefCell::default();
    let model = Model { world, engine, topic: topic("posts"), acknowledged, writers: Cell::new(4) };
    let right = Store::new(connection(model.engine.client(), model.world.clone()));
    let settings =
        format!(r#"{{"bucket":"quarter-hour","fan_out":false,"min_shards":{}}}"#, 1 << rng.u8(..2));
    right.op().topic(&model.topic).put(&change(&settings)).await.unwrap();

    let stores: Vec<_> = (0..4).map(|_| model.process(&mut rng)).collect();
    let mut tasks: Vec<Pin<Box<dyn Future<Output = ()> + '_>>> = Vec::new();
    for store in &stores {
        tasks.push(Box::pin(model.write(store, rng.fork())));
    }
    tasks.push(Box::pin(model.read(&right, rng.fork())));
    join_all(tasks).await;
    let most = items(&model.engine).await.iter().filter_map(most_shards).max().unwrap_or_default();
    (model, most)
}

/// The most shards of a directory entry; `None` for another item.
fn most_shards(item: &crate::support::Item) -> Option<u16> {
    let (pk, sk) = (item["pk"].as_s().unwrap(), item["sk"].as_s().unwrap());
    DirectoryKey::decode(pk, sk)?;
    Some(coverage(item).most_shards().get())
}

#[tokio::test(start_paused = true)]
async fn no_acknowledged_event_lies_outside_of_the_directory() {
    let mut widest = Vec::new();
    for seed in seeds(6) {
        let (model, most) = simulate(seed.0).await;
        assert_directory_held(&model.engine);
        widest.push(most);
        // Ids of a process whose clock is ahead are in the future of others.
        pass(Duration::from_secs(10)).await;
        let right = Store::new(connection(model.engine.client(), model.world.clone()));
        let all: BTreeSet<_> = stored(&model.engine, &model.topic).await.into_iter().collect();
        assert!(model.acknowledged.borrow().is_subset(&all), "an acknowledged event was not written");
        for order in [Order::NewestFirst, Order::OldestFirst] {
            assert_eq!(model.walk(&right, order).await, all);
        }
    }
    assert!(lately_rig::are_named() || widest.iter().any(|most| *most >= 8), "{widest:?}: shards grow");
}
