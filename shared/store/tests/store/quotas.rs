//! Quotas: no minute of the clock has more than the limit, little of the limit is lost, and a request costs little.

use std::collections::BTreeMap;
use std::time::Duration;

use futures_util::future::join_all;
use lately_engine::fault::{Fault, Faults, Moment, Network, Target, Throttle, When};
use lately_engine::{Engine, Operation};
use lately_items::QuotaHolder;
use lately_keys::{Order, QuotaKind};
use lately_model::{Event, Page, RequestsPerMinute, WaitSeconds};
use lately_rig::{connection, simulate};
use lately_store::{Cost, OpenStream, QuotaError, Store, TimelineError, Waiter};

use crate::support::{MINUTE, World, change, items, pass, query, seeds, start, store, topic};

/// Simulated callers.
const SEEDS: u64 = 8;

fn limit(number: u32) -> RequestsPerMinute {
    RequestsPerMinute::new(number).unwrap()
}

fn holder() -> QuotaHolder {
    QuotaHolder::of_jwt("ada".parse().unwrap(), "https://id.example.org/")
}

async fn take(store: &Store, number: u32, count: u32) -> Result<(), QuotaError> {
    store.op().quota(&holder(), QuotaKind::Writes, limit(number)).take(count).await
}

async fn owe(store: &Store, number: u32, count: u32) {
    store.op().quota(&holder(), QuotaKind::Writes, limit(number)).owe(count).await.unwrap();
}

/// Takes single requests until one is refused. Returns how many were permitted, and when to try again.
async fn take_all(store: &Store, number: u32) -> (u32, u32) {
    let mut taken = 0;
    loop {
        match take(store, number, 1).await {
            Ok(()) => taken += 1,
            Err(QuotaError::Over(seconds)) => return (taken, seconds),
            Err(QuotaError::Table(error)) => panic!("{error}"),
        }
    }
}

/// One process at the beginning of a minute of the clock.
async fn alone() -> (World, Engine, Store) {
    let (world, engine, store) = start(1);
    pass(MINUTE - Duration::from_millis(world.now().get() % 60_000)).await;
    (world, engine, store)
}

/// Processes that serve one caller, some milliseconds away from the table, with clocks that differ by up to a second.
fn fleet(world: &World, engine: &Engine, random: &mut fastrand::Rng, size: usize) -> Vec<Store> {
    let mut process = || {
        let network = Network { seed: random.u64(..), longest: Duration::from_millis(50), stall: None };
        let ahead = Duration::from_millis(random.u64(0..=1_000));
        let client = engine.client_with(Faults::default()).over(network);
        Store::new(connection(client, world.process().ahead(ahead)))
    };
    (0..size).map(|_| process()).collect()
}

#[test]
fn no_minute_of_the_clock_has_more_than_the_limit() {
    for seed in seeds(SEEDS) {
        simulate(async {
            let mut random = fastrand::Rng::with_seed(seed.0);
            let number = [1, 7, 45, 200, 1_000][random.usize(..5)];
            let size = [1, 3, 20, 200, 1_000][random.usize(..5)];
            // The first minute is short, so a request may wait for the item while the minute ends, with requests left.
            let (world, engine, _) = start(seed.0);
            pass(MINUTE - Duration::from_millis(random.u64(1..=3_000))).await;
            let mut stores = fleet(&world, &engine, &mut random, size);
            let mut permitted: BTreeMap<u64, u32> = BTreeMap::new();
            let end = world.now().saturating_add(90_000);
            while world.now() < end {
                let asks: Vec<_> = (0..random.usize(1..=30))
                    .map(|_| (random.usize(..size), random.u32(1..=number.min(60)), random.u32(0..200)))
                    .map(async |(process, count, debt)| {
                        let taken = take(&stores[process], number, count).await;
                        // Few requests owe anything, and some of them more than the limit.
                        if taken.is_ok() && debt < 5 {
                            owe(&stores[process], number, number / 3 * debt).await;
                        }
                        // The request counts for the minute of its process's clock at the moment of the permission.
                        let minute = stores[process].op().now().get() / 60_000;
                        (minute, if taken.is_ok() { count } else { 0 })
                    })
                    .collect();
                for (minute, count) in join_all(asks).await {
                    *permitted.entry(minute).or_default() += count;
                }
                // A process ends with its block, and another one begins.
                let victim = random.usize(..size);
                stores[victim] = fleet(&world, &engine, &mut random, 1).remove(0);
                pass(Duration::from_millis(random.u64(0..=2_000))).await;
            }
            let most = permitted.values().max().copied().unwrap_or_default();
            assert!(most <= number, "{most} of {number}, by {size}: {permitted:?}");
        });
    }
}

#[test]
fn each_process_loses_a_twentieth_of_the_limit_at_most() {
    for (number, size) in [(20, 1), (100, 2), (100, 10), (600, 5), (600, 15), (1_000, 19)] {
        simulate(async {
            let (world, engine, last) = alone().await;
            let mut random = fastrand::Rng::with_seed(number.into());
            // All processes but one end after their first requests.
            let mut permitted = 0;
            for idle in fleet(&world, &engine, &mut random, size - 1) {
                take(&idle, number, 1).await.unwrap();
                permitted += 1;
            }
            permitted += take_all(&last, number).await.0;
            let least = number - u32::try_from(size).unwrap() * number / 20;
            assert!((least..=number).contains(&permitted), "{permitted} of {number}, by {size}");
        });
    }
}

#[tokio::test(start_paused = true)]
async fn a_block_costs_a_write_unit_and_a_refusal_nothing() {
    for (number, blocks) in [(1, 1), (20, 20), (100, 20), (1_000, 20), (5_000, 20)] {
        let (_, engine, store) = alone().await;
        let (mut cost, mut permitted) = (Cost::default(), 0);
        loop {
            let op = store.op();
            let taken = op.quota(&holder(), QuotaKind::Writes, limit(number)).take(1).await;
            cost += op.cost();
            match taken {
                Ok(()) => permitted += 1,
                Err(_) => break,
            }
        }
        assert_eq!(permitted, number);
        let units = (cost.calls, cost.write_units.halves, cost.read_units.halves);
        assert_eq!(units, (blocks, 2 * blocks, 0), "a limit of {number}");
        let op = store.op();
        let holder = holder();
        let quota = || op.quota(&holder, QuotaKind::Writes, limit(number));
        assert!(quota().take(1).await.is_err());
        assert_eq!((quota().remaining().await, op.cost()), (0, Cost::default()));
        // A busy minute is one item, which expires.
        pass(Duration::from_secs(9 * 60)).await;
        assert_eq!(items(&engine).await.len(), 1);
        pass(Duration::from_secs(2 * 60)).await;
        engine.expire(10).unwrap();
        assert_eq!(items(&engine).await.len(), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn a_debt_counts_beyond_the_limit_and_for_every_process() {
    for debt in [59, 60, 1_000] {
        let (world, engine, first) = alone().await;
        let second = store(engine.client(), &world);
        take(&first, 60, 1).await.unwrap();
        owe(&first, 60, debt).await;
        for store in [&first, &second, &first] {
            let refused = take(store, 60, 1).await;
            assert!(matches!(refused, Err(QuotaError::Over(60))), "a debt of {debt}: {refused:?}");
        }
        // The next minute owes nothing.
        pass(MINUTE).await;
        assert_eq!(take_all(&second, 60).await.0, 60);
    }
    // Less than the limit: the rest may be used.
    let (world, engine, first) = alone().await;
    take(&first, 60, 1).await.unwrap();
    owe(&first, 60, 29).await;
    let second = store(engine.client(), &world);
    assert_eq!(take_all(&second, 60).await.0, 30);
}

#[tokio::test(start_paused = true)]
async fn debts_cost_no_more_than_blocks() {
    let (_, _, store) = alone().await;
    let (mut cost, mut permitted) = (Cost::default(), 0);
    let holder = holder();
    loop {
        let op = store.op();
        let taken = op.quota(&holder, QuotaKind::Reads, limit(1_000)).take(1).await;
        if taken.is_err() {
            break;
        }
        permitted += 1;
        op.quota(&holder, QuotaKind::Reads, limit(1_000)).owe(3).await.unwrap();
        cost += op.cost();
    }
    assert_eq!((permitted, cost.calls, cost.write_units.halves), (250, 20, 40));
}

#[tokio::test(start_paused = true)]
async fn a_refused_batch_leaves_the_rest_of_the_minute_to_other_processes() {
    let (world, engine, first) = alone().await;
    for _ in 0..90 {
        take(&first, 100, 1).await.unwrap();
    }
    // Neither process knows what the other has taken.
    let second = store(engine.client(), &world);
    for calls in [1, 0] {
        let op = second.op();
        let refused = op.quota(&holder(), QuotaKind::Writes, limit(100)).take(20).await;
        assert!(matches!(refused, Err(QuotaError::Over(_))), "{refused:?}");
        assert_eq!(op.cost().calls, calls);
    }
    let third = store(engine.client(), &world);
    take(&third, 100, 6).await.unwrap();
    assert_eq!(take_all(&second, 100).await.0, 4);
}

#[tokio::test(start_paused = true)]
async fn a_refused_caller_hears_the_exact_time_of_the_next_minute() {
    let (_, _, store) = alone().await;
    for offset in [0, 1, 999, 12_345, 59_001, 59_999] {
        pass(Duration::from_millis(offset)).await;
        let (taken, seconds) = take_all(&store, 100).await;
        let left = 60_000 - store.op().now().get() % 60_000;
        assert_eq!((taken, u64::from(seconds)), (100, left.div_ceil(1_000)), "{offset} ms into the minute");
        pass(Duration::from_millis(left - 1)).await;
        assert!(take(&store, 100, 1).await.is_err());
        pass(Duration::from_millis(1)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn without_its_item_a_process_permits_the_limit_by_itself() {
    for fault in [
        Fault::Throttle(Throttle::TableKeyRange),
        Fault::InternalServerError,
        Fault::ServiceUnavailable,
        Fault::Timeout(Moment::Before),
        Fault::Timeout(Moment::After),
    ] {
        let (world, engine, _) = alone().await;
        let updates = Target::operation(Operation::UpdateItem).partition("QUOTA#");
        let broken = engine.client_with(Faults::default().rule(updates, When::Always, fault.clone()));
        let store = store(broken.client(), &world);
        assert_eq!(take_all(&store, 20).await.0, 20, "{fault:?}");
        let calls = broken.calls().len();
        assert!(take(&store, 20, 1).await.is_err());
        assert_eq!(broken.calls().len(), calls, "{fault:?}");
        // A debt is no failure either.
        pass(MINUTE).await;
        take(&store, 20, 1).await.unwrap();
        owe(&store, 20, 100).await;
        assert!(take(&store, 20, 1).await.is_err(), "{fault:?}");
    }
    // An error that no retry mends is an error of the request.
    let (world, engine, _) = alone().await;
    let updates = Target::operation(Operation::UpdateItem).partition("QUOTA#");
    let broken = engine.client_with(Faults::default().rule(updates, When::Always, Fault::ConditionFailed));
    let refused = take(&store(broken.client(), &world), 20, 1).await;
    assert!(matches!(refused, Err(QuotaError::Table(_))), "{refused:?}");
}

/// The first page that waits for an event of the topic `posts`, as one of the caller's.
async fn wait_for_event(
    store: &Store,
    reads: Option<u32>,
    seconds: u8,
) -> Result<Page<Event>, TimelineError> {
    let waiter = Waiter { holder: holder(), reads: reads.map(limit) };
    let mut query = query(10);
    query.order = Some(Order::OldestFirst);
    query.cursor = store.op().topic(&topic("posts")).latest(&query).await.unwrap().next;
    query.wait = WaitSeconds::new(seconds).unwrap();
    store.op().waiting_as(waiter).topic(&topic("posts")).latest(&query).await
}

#[tokio::test(start_paused = true)]
async fn a_page_that_waits_is_a_read_for_each_five_seconds() {
    for (reads, seconds) in [(None, 25), (Some(4), 25), (Some(2), 15)] {
        let (_, _, store) = alone().await;
        store.op().topic(&topic("posts")).put(&change("{}")).await.unwrap();
        let begun = tokio::time::Instant::now();
        assert!(wait_for_event(&store, reads, 25).await.unwrap().events.is_empty());
        let took = begun.elapsed();
        assert!((Duration::from_secs(seconds)..Duration::from_secs(seconds + 1)).contains(&took), "{took:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_caller_has_at_most_ten_pages_that_wait_and_streams() {
    let (_, _, store) = alone().await;
    store.op().topic(&topic("posts")).put(&change("{}")).await.unwrap();
    let stream = OpenStream::open(&store.op(), &holder(), MINUTE).await.unwrap();
    let pages = join_all((0..10).map(|_| wait_for_event(&store, None, 20))).await;
    let (waited, refused): (Vec<_>, Vec<_>) = pages.into_iter().partition(Result::is_ok);
    assert_eq!(waited.len(), 9);
    assert!(matches!(refused[..], [Err(TimelineError::TooManyStreams(20))]), "{refused:?}");
    drop(stream);
    pass(Duration::from_secs(1)).await;
    // The pages no longer count when they are answered.
    let again = join_all((0..10).map(|_| wait_for_event(&store, None, 1))).await;
    assert!(again.iter().all(Result::is_ok), "{again:?}");
}
