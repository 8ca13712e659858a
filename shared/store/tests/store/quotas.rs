//! Quotas: no minute has more than 110 % of the limit, a caller that asks for its limit gets 90 % of it, and a request
//! costs little.

use std::time::Duration;

use aws_sdk_dynamodb::Client;
use futures_util::future::join_all;
use lately_engine::fault::{Fault, Faults, Moment, Network, Target, Throttle, When};
use lately_engine::{Engine, Operation, Options};
use lately_keys::table::{QuotaHolder, QuotaKey, QuotaKind};
use lately_model::RequestsPerMinute;
use lately_rig::{connection, simulate};
use lately_store::{Cost, OverQuota, Store};
use tokio::time::Instant;

use crate::support::{World, engine, items, pass, seeds, store};

const MINUTE: Duration = Duration::from_secs(60);

/// Simulated callers of each property.
const SEEDS: u64 = 16;

fn limit(number: u32) -> RequestsPerMinute {
    RequestsPerMinute::new(number).unwrap()
}

fn key() -> QuotaKey {
    QuotaKey {
        holder: QuotaHolder::of_jwt("ada".parse().unwrap(), "https://id.example.org/"),
        kind: QuotaKind::Writes,
    }
}

async fn take(store: &Store, number: u32, count: u32) -> Result<(), OverQuota> {
    let key = key();
    store.op().quota(&key, limit(number)).take(count).await
}

/// Takes single requests until one is refused. Returns how many were permitted.
async fn take_all(store: &Store, number: u32) -> u32 {
    let mut taken = 0;
    while take(store, number, 1).await.is_ok() {
        taken += 1;
    }
    taken
}

/// A process that serves requests of the caller.
struct Server {
    store: Store,
    /// Its requests a second.
    rate: f64,
    /// The part of a request that time has made since the last one.
    due: f64,
    /// The most events of its batches.
    batch: u32,
}

impl Server {
    /// Serves the requests of this time. Returns how many were permitted.
    async fn serve(&mut self, number: u32, seconds: f64) -> u32 {
        self.due += self.rate * seconds;
        let mut permitted = 0;
        while self.due >= 1.0 {
            let mut count = 1;
            while count < self.batch.min(number) && f64::from(count + 1) <= self.due {
                count += 1;
            }
            self.due -= f64::from(count);
            let taken = take(&self.store, number, count).await;
            permitted += if taken.is_ok() { count } else { 0 };
        }
        permitted
    }
}

/// Many processes that serve one caller.
struct Fleet {
    world: World,
    engine: Engine,
    random: fastrand::Rng,
    number: u32,
    servers: Vec<Server>,
    /// The times at which requests were permitted, and how many.
    permitted: Vec<(Instant, u32)>,
}

impl Fleet {
    /// Processes with random shares of a number of requests a minute, and with clocks that differ by up to 1 s.
    fn new(seed: u64, number: u32, size: usize, per_minute: f64) -> Self {
        let world = World::new(seed);
        let engine = engine(&world, Options::default());
        let mut random = fastrand::Rng::with_seed(seed);
        let shares: Vec<f64> = (0..size).map(|_| random.f64().powi(2) + 0.01).collect();
        let all: f64 = shares.iter().sum();
        let mut fleet = Self { world, engine, random, number, servers: Vec::new(), permitted: Vec::new() };
        for share in shares {
            let rate = per_minute / 60.0 * share / all;
            let due = fleet.random.f64();
            let store = fleet.process();
            fleet.servers.push(Server { store, rate, due, batch: 1 });
        }
        fleet
    }

    /// A new process, some milliseconds away from the table.
    fn process(&mut self) -> Store {
        let network = Network { seed: self.random.u64(..), longest: Duration::from_millis(10), stall: None };
        let client = self.engine.client_with(Faults::default()).over(network);
        self.process_with(client)
    }

    fn process_with(&mut self, client: Client) -> Store {
        let ahead = Duration::from_millis(self.random.u64(0..=1_000));
        Store::new(connection(client, self.world.process().ahead(ahead)))
    }

    /// Serves for some time.
    async fn serve(&mut self, time: Duration) {
        let (begin, mut last) = (Instant::now(), Instant::now());
        while begin.elapsed() < time {
            pass(Duration::from_millis(100)).await;
            let seconds = last.elapsed().as_secs_f64();
            last = Instant::now();
            let number = self.number;
            let served = self.servers.iter_mut().map(async |server| {
                let permitted = server.serve(number, seconds).await;
                (Instant::now(), permitted)
            });
            self.permitted.extend(join_all(served).await);
        }
    }

    /// The most requests of any minute.
    fn busiest_minute(&mut self) -> u32 {
        self.permitted.sort();
        let (mut busiest, mut within, mut first) = (0, 0, 0);
        for (at, count) in &self.permitted {
            within += count;
            while self.permitted[first].0 + MINUTE <= *at {
                within -= self.permitted[first].1;
                first += 1;
            }
            busiest = busiest.max(within);
        }
        busiest
    }

    fn permitted_since(&self, begin: Instant) -> u32 {
        self.permitted.iter().filter(|(at, _)| *at >= begin).map(|(_, count)| count).sum()
    }
}

#[test]
fn no_minute_has_more_than_a_tenth_above_the_limit() {
    for seed in seeds(SEEDS) {
        simulate(async {
            let mut random = fastrand::Rng::with_seed(seed.0);
            let number = [1, 7, 10, 45, 200, 600, 1_000][random.usize(..7)];
            let size = random.usize(1..12);
            let mut fleet = Fleet::new(seed.0, number, size, f64::from(number) * 1.5);
            // Loads come and go, requests become batches, and processes die with their leases.
            for _ in 0..20 {
                fleet.serve(Duration::from_millis(fastrand_up_to(&mut random, 20_000))).await;
                let victim = random.usize(..size);
                match random.u8(..5) {
                    4 => fleet.servers[victim].batch = random.u32(1..=number),
                    0 => fleet.servers[victim].store = fleet.process(),
                    1 => fleet.servers[victim].rate *= random.f64() * 3.0,
                    2 => pass(Duration::from_millis(fastrand_up_to(&mut random, 70_000))).await,
                    _ => fleet.servers[victim].due += f64::from(number) * random.f64(),
                }
            }
            let (busiest, most) = (fleet.busiest_minute(), number + number / 10);
            assert!(busiest <= most, "{busiest} of {number}, by {size}");
        });
    }
}

fn fastrand_up_to(random: &mut fastrand::Rng, most: u64) -> u64 {
    random.u64(0..most)
}

#[test]
fn a_caller_that_asks_for_its_limit_gets_nine_tenths() {
    for seed in seeds(SEEDS) {
        simulate(async {
            let mut random = fastrand::Rng::with_seed(seed.0);
            let number = [1, 7, 10, 45, 200, 600, 1_000][random.usize(..7)];
            let size = random.usize(1..12);
            // Room that becomes free waits for the next request, which matters if requests are rare.
            let demand = f64::from(number) * (1.0 + random.f64()) + 60.0;
            let mut fleet = Fleet::new(seed.0, number, size, demand);
            fleet.serve(2 * MINUTE).await;
            let begin = Instant::now();
            fleet.serve(5 * MINUTE).await;
            let permitted = fleet.permitted_since(begin);
            // Five minutes hold 4.7 windows of 64 s, and a limit of 1 allows one request in each.
            let least = f64::from(5 * number) * 0.9 - 1.0;
            assert!(f64::from(permitted) >= least, "{permitted} of 5 * {number}, by {size}");
        });
    }
}

/// The cost of each permitted request of one process that gets this many requests a minute, over some minutes.
async fn price(number: u32, per_minute: u32) -> Price {
    let world = World::new(1);
    let engine = engine(&world, Options::default());
    let store = store(engine.client(), &world);
    let (mut permitted, mut cost) = (0, Cost::default());
    let key = key();
    let begin = Instant::now();
    let total = 5 * per_minute;
    for request in 0..total {
        let at = begin + 5 * MINUTE * request / total;
        tokio::time::sleep_until(at).await;
        let op = store.op();
        permitted += u32::from(op.quota(&key, limit(number)).take(1).await.is_ok());
        cost += op.cost();
    }
    let units = |halves: u64| f64::from(u32::try_from(halves).unwrap()) / 2.0;
    Price {
        permitted: permitted.into(),
        writes: units(cost.write_units.halves),
        reads: units(cost.read_units.halves),
    }
}

/// The permitted requests, and the units that they cost.
#[derive(Debug)]
struct Price {
    permitted: f64,
    writes: f64,
    reads: f64,
}

#[tokio::test(start_paused = true)]
async fn a_request_costs_at_most_a_twentieth_of_a_write_unit() {
    let mut dear = Vec::new();
    for number in [200, 250, 1_000, 5_000] {
        for percent in [10, 25, 50, 65, 75, 90, 100, 120] {
            let price = price(number, number * percent / 100).await;
            // The last lease is not used up.
            if price.writes > price.permitted * 0.05 + 1.0 || price.reads > price.permitted * 0.13 {
                dear.push((number, percent, price.writes / price.permitted, price.reads / price.permitted));
            }
        }
    }
    assert!(dear.is_empty(), "{dear:?}");
}

#[tokio::test(start_paused = true)]
async fn a_process_with_few_requests_makes_one_lease_a_minute() {
    let world = World::new(1);
    let engine = engine(&world, Options::default());
    let store = store(engine.client(), &world);
    let mut calls = 0;
    for _ in 0..20 {
        let op = store.op();
        assert_eq!(op.quota(&key(), limit(1_000)).take(1).await, Ok(()));
        calls += op.cost().calls;
        pass(Duration::from_secs(3)).await;
    }
    assert_eq!(calls, 2, "a read and a write");
    let [item] = &*items(&engine).await else { panic!("a quota is one item") };
    assert_eq!(item["pk"].as_s().unwrap(), &*format!("QUOTA#{}#writes", key().holder));
}

#[tokio::test(start_paused = true)]
async fn small_limits_cost_about_one_lease_for_each_tenth() {
    // Write units and read units of each request of a process that asks for all that it may have.
    let mut dear = Vec::new();
    for (number, each) in [(1, 1.0), (9, 1.0), (20, 0.55), (60, 0.2), (100, 0.105)] {
        for percent in [50, 100, 120] {
            let price = price(number, (number * percent / 100).max(1)).await;
            if price.writes > price.permitted * each + 1.0 {
                dear.push((number, percent, price.writes / price.permitted, price.reads / price.permitted));
            }
        }
    }
    assert!(dear.is_empty(), "{dear:?}");
}

#[tokio::test(start_paused = true)]
async fn a_burst_may_take_the_whole_limit_and_then_waits() {
    let world = World::new(1);
    let engine = engine(&world, Options::default());
    let store = store(engine.client(), &world);
    assert_eq!(take_all(&store, 100).await, 110);
    let over = take(&store, 100, 1).await.unwrap_err();
    assert_eq!(over.retry_after_seconds, 60);
    // Refusals cost nothing until the process looks again.
    let op = store.op();
    assert!(op.quota(&key(), limit(100)).take(1).await.is_err());
    assert_eq!(op.cost(), Cost::default());
    assert_eq!(op.quota(&key(), limit(100)).remaining().await, 0);
    pass(MINUTE).await;
    let over = take(&store, 100, 1).await.unwrap_err();
    assert!((4..=8).contains(&over.retry_after_seconds), "{over:?}");
    pass(Duration::from_secs(over.retry_after_seconds.into())).await;
    // The process now leaves a rest that is too small for a lease.
    assert!((100..=110).contains(&take_all(&store, 100).await));
}

#[tokio::test(start_paused = true)]
async fn a_batch_is_permitted_whole_or_not_at_all() {
    let world = World::new(1);
    let engine = engine(&world, Options::default());
    let store = store(engine.client(), &world);
    assert_eq!(take(&store, 100, 100).await, Ok(()));
    assert!(take(&store, 100, 20).await.is_err());
    assert_eq!(take(&store, 100, 1).await, Ok(()), "a smaller request fits");
    pass(Duration::from_secs(68)).await;
    assert_eq!(take(&store, 100, 100).await.map_err(|_| ()), Ok(()));
}

#[tokio::test(start_paused = true)]
async fn permission_from_a_lease_can_be_given_back() {
    let world = World::new(1);
    let engine = engine(&world, Options::default());
    let store = store(engine.client(), &world);
    take(&store, 100, 1).await.unwrap();
    take(&store, 100, 5).await.unwrap();
    let op = store.op();
    op.quota(&key(), limit(100)).give_back(5).await;
    assert_eq!(take_all(&store, 100).await, 109);
}

#[tokio::test(start_paused = true)]
async fn a_dead_process_costs_its_lease_for_two_minutes() {
    let world = World::new(1);
    let engine = engine(&world, Options::default());
    let victim = store(engine.client(), &world);
    assert_eq!(take(&victim, 100, 1).await, Ok(()));
    // The victim was alone, and had leased a tenth of the window.
    let survivor = store(engine.client(), &world);
    assert_eq!(take_all(&survivor, 100).await, 99);
    // One minute later, the requests no longer count, but the rest of the lease does …
    pass(Duration::from_secs(68)).await;
    assert_eq!(take_all(&survivor, 100).await, 100);
    // … for a minute after its end.
    pass(Duration::from_secs(68)).await;
    assert_eq!(take_all(&survivor, 100).await, 110);
}

#[tokio::test(start_paused = true)]
async fn without_its_item_a_process_permits_a_tenth_every_six_seconds() {
    let gets = || Target::operation(Operation::GetItem).partition("QUOTA#");
    let puts = || Target::operation(Operation::PutItem).partition("QUOTA#");
    for (target, fault) in [
        (gets(), Fault::Throttle(Throttle::TableKeyRange)),
        (gets(), Fault::Timeout(Moment::Before)),
        (puts(), Fault::Throttle(Throttle::TableKeyRange)),
        (puts(), Fault::Timeout(Moment::After)),
    ] {
        let world = World::new(1);
        let engine = engine(&world, Options::default());
        let broken = Faults::default().rule(target, When::Always, fault.clone());
        let broken = engine.client_with(broken);
        let store = store(broken.client(), &world);
        let begin = Instant::now();
        assert_eq!(take_all(&store, 100).await, 11, "{fault:?}");
        assert!(begin.elapsed() <= Duration::from_millis(1_500), "{fault:?}");
        let calls = broken.calls().len();
        assert_eq!(take(&store, 100, 1).await.map_err(|over| over.retry_after_seconds <= 6), Err(true));
        assert_eq!(broken.calls().len(), calls, "the item is not asked again, {fault:?}");
        pass(Duration::from_secs(6)).await;
        assert_eq!(take_all(&store, 100).await, 11, "{fault:?}");
    }
}

#[test]
fn faults_permit_at_most_a_tenth_each() {
    for seed in seeds(SEEDS) {
        simulate(async {
            let number = 200;
            let mut fleet = Fleet::new(seed.0, number, 4, 300.0);
            let puts = || Target::operation(Operation::PutItem);
            let faults = Faults::seeded(seed.0)
                .sometimes(0.05, puts(), Fault::Timeout(Moment::After))
                .sometimes(0.05, puts(), Fault::Timeout(Moment::Before))
                .sometimes(0.1, puts(), Fault::ConditionFailed)
                .sometimes(0.1, Target::reads(), Fault::InternalServerError);
            let faulty = fleet.engine.client_with(faults);
            let stores: Vec<_> = (0..4).map(|_| fleet.process_with(faulty.client())).collect();
            fleet.servers.iter_mut().zip(stores).for_each(|(server, store)| server.store = store);
            fleet.serve(3 * MINUTE).await;
            let lost = u32::try_from(faulty.injected().len()).unwrap();
            let window = number + number / 10;
            let most = window + lost * window / 10;
            assert!(lost > 0 && fleet.busiest_minute() <= most, "{} of {most}", fleet.busiest_minute());
            assert!(fleet.permitted_since(Instant::now() - 2 * MINUTE) >= number, "it is not starved");
        });
    }
}

#[tokio::test(start_paused = true)]
async fn a_clock_that_is_an_hour_ahead_blocks_nobody() {
    let world = World::new(1);
    let engine = engine(&world, Options::default());
    let ahead = world.process().ahead(Duration::from_secs(3_600));
    let ahead = Store::new(connection(engine.client(), ahead));
    assert_eq!(take_all(&ahead, 100).await, 110);
    // It keeps a window of its own.
    let right = store(engine.client(), &world);
    assert_eq!(take_all(&right, 100).await, 110);
}

#[tokio::test(start_paused = true)]
async fn a_quotas_item_expires() {
    let world = World::new(1);
    let engine = engine(&world, Options::default());
    take(&store(engine.client(), &world), 100, 1).await.unwrap();
    pass(Duration::from_secs(120)).await;
    assert_eq!(items(&engine).await.len(), 1);
    pass(Duration::from_secs(20)).await;
    engine.expire(10).unwrap();
    assert_eq!(items(&engine).await.len(), 0);
}
