//! Walks through a topic's pages, against a list of the acknowledged events.
//!
//! Writers write single events, batches and imports, through throttles that make shards grow. Buckets roll over, and
//! the `type` view is switched on and off. Other processes read in both directions, with filters and without, from
//! replicas that are up to two seconds behind. Every page must show each promised event once, in order, and nothing
//! else.
//!
//! In a *rough* world, partitions take few writes a second, the writers' clocks differ, some of their calls stop for
//! seconds, and some writers die in the middle of a write.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use futures_util::future::{Either, join_all, select};
use lately_engine::fault::{Fault, Faults, Moment, Network, Stall, Target, Throttle};
use lately_engine::{Engine, Lag, Operation, Options, PartitionLimits};
use lately_items::AnyKey;
use lately_keys::{Cursor, EventId, Fingerprint, Order, Position, Topic, UnixMillis};
use lately_model::{Event, EventQuery, NewEvent, Page, PageSize, TimeRange};
use lately_store::{Store, TimelineError, TopicError, WriteError};

use crate::scene::key;
use crate::simulation::knobs::Knobs;
use crate::support::{
    World, assert_directory_held, change, connection, entry, event, ids, items, pass, query, seeds,
    start_with, store, stored, submission, topic,
};

/// An event may be missing from a page for this long after its acknowledgement.
const LAG: Duration = Duration::from_secs(2);

const WITH_TYPES: &str = r#"{"views":["actor","subject","type"]}"#;
const WITHOUT_TYPES: &str = r#"{"views":["actor","subject"]}"#;

/// The state of a simulation.
struct Simulation {
    world: World,
    topic: Topic,
    created_at: UnixMillis,
    /// All events that were sent, by the number in their data.
    sent: RefCell<Vec<NewEvent>>,
    /// The acknowledged events, each with the time of its acknowledgement.
    acknowledged: RefCell<Vec<(Event, UnixMillis)>>,
    /// The ids of the events that were ever seen.
    seen: RefCell<BTreeMap<usize, EventId>>,
    writers: Cell<usize>,
    is_rough: bool,
}

impl Simulation {
    /// A new event, which is noted as sent.
    fn invent(&self, rng: &mut fastrand::Rng, at: Option<UnixMillis>) -> NewEvent {
        let event_type = ["often", "often", "often", "often", "seldom", "seldom", "rarely"][rng.usize(..7)];
        let mut sent = self.sent.borrow_mut();
        let event = NewEvent { at, ..event(event_type, Some(sent.len().to_string())) };
        sent.push(event.clone());
        event
    }

    async fn write(&self, store: &Store, mut rng: fastrand::Rng) {
        for _ in 0..rng.u8(2..6) {
            pass(some_pause(&mut rng)).await;
            // Some are imports: up to an hour ago, or a little in the future.
            let at = (rng.u8(..4) == 0).then(|| match rng.u8(..4) {
                0 => self.world.now().saturating_add(rng.u64(..5_000)),
                _ => self.world.now().saturating_sub(rng.u64(..3_600_000)),
            });
            let most = if self.is_rough { 90 } else { 10 };
            let count = if rng.bool() { 1 } else { rng.usize(2..most) };
            let events: Vec<_> = (0..count).map(|_| self.invent(&mut rng, at)).collect();
            let op = store.op();
            let writing = Box::pin(op.topic(&self.topic).write(submission(events.clone())));
            let dies = self.is_rough && rng.u8(..5) == 0;
            let death = if dies { Duration::from_millis(rng.u64(..300)) } else { Duration::MAX };
            let Either::Left((written, _)) = select(writing, Box::pin(pass(death))).await else { continue };
            let ids: BTreeMap<usize, EventId> = match written {
                Ok(written) => ids(&written.events).into_iter().enumerate().collect(),
                Err(WriteError::Partly { accepted, .. }) => accepted.into_iter().collect(),
                Err(WriteError::Table(_) | WriteError::Topic(TopicError::Table(_))) => continue,
                Err(error) => panic!("{error}"),
            };
            let now = self.world.now();
            let written = events.into_iter().enumerate();
            let written =
                written.filter_map(|(index, event)| Some((Event::of(event, *ids.get(&index)?), now)));
            self.acknowledged.borrow_mut().extend(written);
        }
        self.writers.set(self.writers.get() - 1);
    }

    /// Switches the `type` view on and off.
    async fn switch_views(&self, store: &Store, mut rng: fastrand::Rng) {
        while self.writers.get() > 0 {
            pass(Duration::from_secs(rng.u64(..600))).await;
            let views = if rng.bool() { WITH_TYPES } else { WITHOUT_TYPES };
            store.op().topic(&self.topic).put(&change(views)).await.unwrap();
        }
    }

    async fn read(&self, store: &Store, mut rng: fastrand::Rng) {
        while self.writers.get() > 0 {
            pass(some_pause(&mut rng)).await;
            let query = match self.is_rough && rng.bool() {
                true => EventQuery { consistent: true, ..query(200) },
                false => some_query(&mut rng, self.world.now()),
            };
            let mut walk = Walk::new(self, store, query);
            let first = walk.page().await;
            let newer = first.newer.clone();
            walk.go_on(&mut rng, 8).await;
            if let Some(newer) = newer.filter(|_| rng.bool()) {
                pass(Duration::from_millis(rng.u64(..4_000))).await;
                let mut later = walk.newer(&first, newer);
                later.go_on(&mut rng, 4).await;
            }
        }
    }
}

/// Usually a moment, sometimes a time up to the next bucket.
fn some_pause(rng: &mut fastrand::Rng) -> Duration {
    match rng.u8(..8) {
        0 => Duration::from_secs(rng.u64(..900)),
        1..4 => Duration::from_millis(rng.u64(..3_000)),
        _ => Duration::from_millis(rng.u64(..50)),
    }
}

fn some_query(rng: &mut fastrand::Rng, now: UnixMillis) -> EventQuery {
    let mut time = || (rng.u8(..3) == 0).then(|| now.saturating_sub(rng.u64(..4_000_000)));
    let (one, other) = (time(), time());
    let range = TimeRange::new(one, other).or_else(|_| TimeRange::new(other, one)).unwrap();
    let event_type = ["often", "seldom", "rarely"][rng.usize(..3)].parse().unwrap();
    EventQuery {
        limit: PageSize::new(if rng.bool() { rng.u16(1..=5) } else { rng.u16(1..=100) }).unwrap(),
        order: [None, Some(Order::NewestFirst), Some(Order::OldestFirst)][rng.usize(..3)],
        cursor: None,
        range,
        event_type: rng.bool().then_some(event_type),
        consistent: rng.u8(..3) == 0,
        ..EventQuery::default()
    }
}

/// The fingerprint of the query's cursors. It is spelled out here a second time, because cursors never expire.
fn fingerprint(topic: &Topic, query: &EventQuery) -> Fingerprint {
    let time = |at: Option<UnixMillis>| at.map(|at| at.to_string());
    Fingerprint::of("topic events")
        .text(topic.as_str())
        .option(query.event_type.as_ref().map(|event_type| event_type.as_str()))
        .option(time(query.range.from).as_deref())
        .option(time(query.range.to).as_deref())
        .finish()
}

/// A walk, and the events that it has shown.
struct Walk<'a> {
    simulation: &'a Simulation,
    store: &'a Store,
    query: EventQuery,
    order: Order,
    position: Option<EventId>,
    shown: BTreeSet<EventId>,
    ended: bool,
}

impl<'a> Walk<'a> {
    fn new(simulation: &'a Simulation, store: &'a Store, query: EventQuery) -> Self {
        let order = query.order.unwrap_or(Order::NewestFirst);
        Self { simulation, store, query, order, position: None, shown: BTreeSet::new(), ended: false }
    }

    /// The walk that a page's `newer` begins.
    fn newer(&self, page: &Page<Event>, cursor: String) -> Self {
        let query = EventQuery { cursor: Some(cursor.clone()), order: None, ..self.query.clone() };
        let mut walk = Self { order: Order::OldestFirst, ..Self::new(self.simulation, self.store, query) };
        walk.position = walk.place(&cursor);
        let newest = page.events.first().map(|event| event.id);
        assert!(walk.position <= newest, "`newer` begins behind the newest event");
        walk
    }

    /// Reads up to the end, but at most `pages` pages.
    async fn go_on(&mut self, rng: &mut fastrand::Rng, pages: u32) {
        for _ in 0..pages {
            if self.ended || (self.order == Order::OldestFirst && rng.u8(..40) == 0) {
                return;
            }
            if rng.u8(..4) == 0 {
                pass(Duration::from_millis(rng.u64(..3_000))).await;
            }
            if rng.u8(..8) == 0 {
                self.query.limit = PageSize::new(rng.u16(1..=100)).unwrap();
            }
            self.page().await;
        }
    }

    /// Reads a page, and checks it against the promise.
    async fn page(&mut self) -> Page<Event> {
        let mut failed = 0;
        let (asked, known, page) = loop {
            let asked = self.simulation.world.now();
            let known = self.simulation.acknowledged.borrow().len();
            match self.store.op().topic(&self.simulation.topic).latest(&self.query).await {
                Ok(page) => break (asked, known, page),
                Err(TimelineError::Table(error)) => {
                    failed += 1;
                    assert!(failed < 5, "{error}");
                }
                Err(error) => panic!("{error}"),
            }
        };
        // A page that took time, because calls were retried, may have settled events of that time.
        self.assert_nothing_else(&page, self.end_of(&page, self.simulation.world.now()));
        self.assert_nothing_missing(&page, self.end_of(&page, asked), asked, known);
        assert!(page.events.len() <= usize::from(self.query.limit.get()));

        self.shown.extend(ids(&page.events));
        self.position = page.next.as_deref().map_or(self.position, |next| self.place(next));
        self.query.cursor = page.next.clone();
        self.ended = page.next.is_none();
        page
    }

    /// An event may be missing from a page for this long after its acknowledgement. A newest-first page of a type is as far
    /// behind as the index. An oldest-first page never skips an event, however far behind the index is.
    fn lag(&self) -> Duration {
        let reads_index = self.query.event_type.is_some() && self.order == Order::NewestFirst;
        if reads_index { LAG.max(Knobs::SUITE.index_lag) } else { LAG }
    }

    /// The rank of the last id that the page covers, if it looked at this time.
    fn end_of(&self, page: &Page<Event>, looked: UnixMillis) -> u128 {
        match (self.order, &page.next) {
            (Order::NewestFirst, None) => {
                assert!(!page.has_more, "the page has more, but no cursor");
                u128::MAX
            }
            (Order::OldestFirst, None) => panic!("an ascending page always has a cursor"),
            (Order::OldestFirst, Some(_)) if !page.has_more => {
                self.rank(EventId::last_of(looked.saturating_sub(2_001)))
            }
            (_, Some(next)) => {
                assert!(page.has_more);
                self.place(next).map_or(0, |place| self.rank(place))
            }
        }
    }

    fn place(&self, cursor: &str) -> Option<EventId> {
        let created_at = self.simulation.created_at;
        let fingerprint = fingerprint(&self.simulation.topic, &self.query).created_at(created_at);
        match Cursor::decode(cursor, fingerprint).unwrap() {
            Cursor { order, position: Position::Event(id), .. } if order == self.order => Some(id),
            Cursor { order, position: Position::Start, .. } if order == self.order => None,
            other => panic!("{other:?}"),
        }
    }

    fn rank(&self, id: EventId) -> u128 {
        match self.order {
            Order::NewestFirst => !id.as_uuid().as_u128(),
            Order::OldestFirst => id.as_uuid().as_u128(),
        }
    }

    fn wants(&self, event: &Event) -> bool {
        let TimeRange { from, to } = self.query.range;
        let in_time = from.is_none_or(|from| event.at() >= from) && to.is_none_or(|to| event.at() < to);
        in_time && self.query.event_type.as_ref().is_none_or(|wanted| *wanted == event.event_type)
    }

    fn assert_nothing_else(&self, page: &Page<Event>, end: u128) {
        let mut before = self.position.map(|position| self.rank(position));
        let settled = self.simulation.world.now().saturating_sub(2_001);
        for event in &page.events {
            let rank = self.rank(event.id);
            assert!(before.is_none_or(|before| before < rank), "out of order: {event:?}");
            assert!(rank <= end, "behind the cursor: {event:?}");
            assert!(self.wants(event), "not asked for: {event:?}");
            assert!(!self.shown.contains(&event.id), "shown twice: {event:?}");
            if self.order == Order::OldestFirst {
                assert!(event.at() <= settled, "not settled yet: {event:?}");
            }
            self.assert_was_sent(event);
            before = Some(rank);
        }
    }

    fn assert_was_sent(&self, event: &Event) {
        let number: usize = event.data.as_ref().unwrap().as_str().parse().unwrap();
        let sent = self.simulation.sent.borrow()[number].clone();
        assert!(sent.at.is_none_or(|at| at == event.at()), "at another time than sent: {event:?}");
        assert_eq!(*event, Event::of(sent, event.id));
        let mut seen = self.simulation.seen.borrow_mut();
        assert_eq!(*seen.entry(number).or_insert(event.id), event.id, "one event under two ids");
    }

    fn assert_nothing_missing(&self, page: &Page<Event>, end: u128, asked: UnixMillis, known: usize) {
        let shown: BTreeSet<_> = ids(&page.events).into_iter().collect();
        let begun = self.position.map(|position| self.rank(position));
        let acknowledged = self.simulation.acknowledged.borrow();
        for (number, (event, at)) in acknowledged.iter().enumerate() {
            let old = at.saturating_add(u64::try_from(self.lag().as_millis()).unwrap()) <= asked;
            // The writers send some events whose time is still to come. A page looks no further ahead than a slice, unless it
            // is consistent (ADR 15).
            let in_sight = self.query.consistent || event.at() <= asked;
            let promised = in_sight && old || (self.query.consistent && number < known);
            let rank = self.rank(event.id);
            let covered = begun.is_none_or(|begun| begun < rank) && rank <= end;
            if promised && covered && self.wants(event) {
                let page = (asked.to_string(), &self.query, &shown);
                assert!(shown.contains(&event.id), "{event:?} of {at} is missing from {page:?}");
            }
        }
    }
}

fn lag(rng: &mut fastrand::Rng, seed: u64) -> Option<Lag> {
    (rng.u8(..5) > 0).then(|| Lag {
        seed,
        table: up_to(LAG, rng),
        index: up_to(Knobs::SUITE.index_lag, rng),
        behind: [1.0, 0.5][rng.usize(..2)],
    })
}

/// Half the time, the longest lag.
fn up_to(longest: Duration, rng: &mut fastrand::Rng) -> Duration {
    let millis = u64::try_from(longest.as_millis()).unwrap();
    Duration::from_millis([millis, rng.u64(..=millis)][rng.usize(..2)])
}

fn faults(seed: u64) -> Faults {
    let hot = Fault::Throttle(Throttle::TableKeyRange);
    Faults::seeded(seed)
        .sometimes(0.1, Target::operation(Operation::PutItem).partition("EVENTS#"), hot)
        .sometimes(0.2, Target::operation(Operation::BatchWriteItem), Fault::Unprocessed(0.3))
        .sometimes(0.01, Target::any(), Fault::InternalServerError)
        .interleaved(2)
}

/// Eight seconds before the first bucket of a quarter of an hour ends.
const BEFORE_THE_END: Duration = Duration::from_secs(14 * 60 + 52);

/// Partitions that take forty writes a second.
fn narrow(rng: &mut fastrand::Rng) -> PartitionLimits {
    let burst = Duration::from_millis([500, 1_000][rng.usize(..2)]);
    let writes_in_10_ms = [None, Some(10)][rng.usize(..2)];
    PartitionLimits { write_units: 40, burst, writes_in_10_ms, ..PartitionLimits::default() }
}

/// A process with a clock of its own, whose calls may stop and fail.
fn rough(world: &World, engine: &Engine, rng: &mut fastrand::Rng) -> Store {
    let off = Duration::from_millis([0, rng.u64(..100), rng.u64(..4_000)][rng.usize(..3)]);
    let process = if rng.bool() { world.process().ahead(off) } else { world.process().behind(off) };
    let moment = [Moment::Before, Moment::After][rng.usize(..2)];
    let stall = Stall { call: rng.u64(3..40), moment, time: Duration::from_millis(rng.u64(..12_000)) };
    let longest = Duration::from_millis([1, 5, 40][rng.usize(..3)]);
    let network = Network { seed: rng.u64(..), longest, stall: Some(stall) };
    let faults = Faults::seeded(rng.u64(..))
        .sometimes(0.02, Target::any(), Fault::InternalServerError)
        .sometimes(0.02, Target::any(), Fault::Timeout(Moment::After));
    Store::new(connection(engine.client_with(faults).over(network), process))
}

async fn simulate(seed: u64) -> (Simulation, Engine) {
    let mut rng = fastrand::Rng::with_seed(seed);
    let is_rough = seed % 3 == 2;
    let partitions = is_rough.then(|| narrow(&mut rng));
    let options = Options { lag: lag(&mut rng, seed), partitions, ..Options::default() };
    let (world, engine, plain) = start_with(seed, options);
    let (bucket, shards) = (["quarter-hour", "hour"][rng.usize(..2)], 1 << rng.u8(..3));
    let max_shards = if is_rough { 64 } else { 8 };
    let settings = format!(r#"{{"bucket":"{bucket}","min_shards":{shards},"max_shards":{max_shards}}}"#);
    let topic = topic("posts");
    let (view, _) = plain.op().topic(&topic).put(&change(&settings)).await.unwrap();
    if rng.bool() {
        plain.op().topic(&topic).put(&change(WITH_TYPES)).await.unwrap();
    }
    // Three processes, each with its own caches.
    let clients = [0, 1, 2].map(|process| engine.client_with(faults(seed ^ process << 32)));
    let stores = clients.each_ref().map(|client| store(client.client(), &world));
    let mut writers = vec![stores[0].clone(), stores[0].clone(), stores[1].clone()];
    if is_rough {
        pass(BEFORE_THE_END).await;
        writers = (0..4).map(|_| rough(&world, &engine, &mut rng)).collect();
    }
    let simulation = Simulation {
        topic,
        world,
        created_at: view.created_at,
        sent: RefCell::default(),
        acknowledged: RefCell::default(),
        seen: RefCell::default(),
        writers: Cell::new(writers.len()),
        is_rough,
    };

    let mut tasks: Vec<Pin<Box<dyn Future<Output = ()> + '_>>> = Vec::new();
    for store in &writers {
        tasks.push(Box::pin(simulation.write(store, rng.fork())));
    }
    if rng.bool() {
        tasks.push(Box::pin(simulation.switch_views(&stores[1], rng.fork())));
    }
    for store in [&stores[1], &stores[2]] {
        tasks.push(Box::pin(simulation.read(store, rng.fork())));
    }
    join_all(tasks).await;
    (simulation, engine)
}

#[tokio::test(start_paused = true)]
async fn a_walk_shows_each_event_once_in_order() {
    let mut has_grown = false;
    for seed in seeds(15) {
        let (simulation, engine) = simulate(seed.0).await;
        assert_directory_held(&engine);
        has_grown |= simulation.is_rough && widest(&engine).await >= 8;

        // In the end, both directions show exactly the table's events, and every acknowledged event.
        pass(Duration::from_secs(10)).await;
        let fresh = store(engine.client(), &simulation.world);
        let stored = stored(&engine, &simulation.topic).await;
        for order in [Order::NewestFirst, Order::OldestFirst] {
            let page_size = 1 + u16::try_from(seed.0 % 100).unwrap();
            let query = EventQuery { order: Some(order), ..query(page_size) };
            let mut walk = Walk::new(&simulation, &fresh, query);
            while walk.page().await.has_more {}
            assert_eq!(walk.shown.into_iter().collect::<Vec<_>>(), stored);
        }
    }
    assert!(has_grown || lately_rig::are_named(), "shards grow");
}

/// The most shards of a bucket.
async fn widest(engine: &Engine) -> u16 {
    let items = items(engine).await;
    let entries = items.iter().filter(|item| matches!(key(item), AnyKey::Directory(_)));
    entries.map(|item| entry(item).coverage.most_shards().get()).max().unwrap_or_default()
}
