//! Throttles, failures and large items: reads and writes return the same events, and the price includes every attempt.

use jiff::{SignedDuration, Timestamp};
use lately_designs::WriteKey;
use lately_designs::{Design, ReadError, Walk};
use lately_engine::fault::{Fault, Faults, Moment, Target, Throttle, When};
use lately_engine::{Operation, Options};
use lately_keys::Order;
use lately_table::Item;
use lately_table::TableError;

use crate::support::{
    all, all_by, at, designs, engine, entropy, inverted_uuid, later, limit, numbered, numbers, reverse_ticks,
    scene, stories, table, walk,
};
use lately_rig::World;

fn begin() -> Timestamp {
    at("2026-03-13T00:00:00Z")
}

fn end() -> Timestamp {
    at("2026-03-15T00:00:00Z")
}

/// An event every five minutes.
fn events(design: &Design, count: usize) -> Vec<(WriteKey, Item)> {
    let at = |n| later(begin(), SignedDuration::from_mins(1 + 5 * i64::try_from(n).unwrap()));
    (0..count).map(|n| numbered(design.write_key(at(n), entropy(n)).unwrap(), n)).collect()
}

#[tokio::test(start_paused = true)]
async fn a_failed_query_is_retried_and_counted() {
    for design in designs() {
        let (world, engine, calm) = scene(&design);
        calm.write(events(&design, 100)).await.unwrap();
        let latest = Walk::newest_first(begin(), end(), limit(50));
        let (page, cost) = calm.read(&latest).await.unwrap();
        for fault in [
            Fault::Throttle(Throttle::TableKeyRange),
            Fault::Throttle(Throttle::Provisioned),
            Fault::InternalServerError,
            Fault::Timeout(Moment::After),
        ] {
            let query = Target::operation(Operation::Query);
            let client = engine.client_with(Faults::default().nth(1, query, fault.clone()));
            let (found, paid) = table(client.client(), &world, &design).read(&latest).await.unwrap();
            assert_eq!(found, page, "{design:?}");
            assert_eq!((paid.calls, paid.rounds), (cost.calls + 1, cost.rounds), "{design:?}: {fault:?}");
            assert_eq!(paid.read_units, cost.read_units);
            assert_eq!(client.injected().len(), 1);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_operation_throttled_until_its_deadline_is_unavailable() {
    for design in designs() {
        let (world, engine, _) = scene(&design);
        let stuck =
            Faults::default().rule(Target::any(), When::Always, Fault::Throttle(Throttle::TableKeyRange));
        let client = engine.client_with(stuck);
        let table = table(client.client(), &world, &design);
        let read = table.read(&Walk::newest_first(begin(), end(), limit(1))).await;
        assert!(matches!(read, Err(ReadError::Table(TableError::Unavailable(_)))));
        assert!(table.write(events(&design, 1)).await.is_err());
        assert!(table.write(events(&design, 30)).await.is_err());
    }
}

#[tokio::test(start_paused = true)]
async fn unprocessed_items_and_failed_batches_are_written_again() {
    for (seed, design) in stories(2) {
        let world = World::new(seed.0);
        let engine = engine(&world, &design, Options::default());
        let faults = Faults::seeded(seed.0)
            .sometimes(0.2, Target::any(), Fault::Throttle(Throttle::Account))
            .sometimes(0.1, Target::any(), Fault::Timeout(Moment::After))
            .sometimes(0.8, Target::any(), Fault::Unprocessed(0.4));
        let client = engine.client_with(faults);
        let writer = table(client.client(), &world, &design);
        let cost = match writer.write(events(&design, 240)).await {
            // The account may be throttled for as long as a request tries.
            Err(TableError::Unavailable(_)) => writer.write(events(&design, 240)).await.unwrap(),
            written => written.unwrap(),
        };
        assert!(cost.calls > 10, "{cost:?}");
        assert!(!client.injected().is_empty());
        let calm = table(engine.client(), &world, &design);
        let (found, _) = all(&calm, &walk(Order::OldestFirst, begin(), end(), 1_000)).await;
        assert!(numbers(&found).into_iter().eq(0..240), "{design:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_walk_under_many_faults_returns_each_event_once() {
    for (seed, design) in stories(2) {
        let (world, engine, calm) = scene(&design);
        calm.write(events(&design, 200)).await.unwrap();
        let storm = Faults::seeded(seed.0)
            .sometimes(0.1, Target::reads(), Fault::Throttle(Throttle::TableKeyRange))
            .sometimes(0.1, Target::reads(), Fault::Timeout(Moment::Before))
            .sometimes(0.1, Target::reads(), Fault::ServiceUnavailable);
        let client = engine.client_with(storm);
        let stormy = table(client.client(), &world, &design);
        // The storm may last for as long as a request tries.
        let read = async |walk: &Walk| match stormy.read(walk).await {
            Err(ReadError::Table(TableError::Unavailable(_))) => stormy.read(walk).await.unwrap(),
            read => read.unwrap(),
        };
        let (found, _) = all_by(&walk(Order::NewestFirst, begin(), end(), 23), read).await;
        assert!(numbers(&found).into_iter().eq((0..200).rev()), "{design:?}");
    }
}

/// Events of this many bytes, a second apart.
fn large(design: &Design, count: usize, bytes: usize) -> Vec<(WriteKey, Item)> {
    let at = |n| later(begin(), SignedDuration::from_secs(i64::try_from(n).unwrap() + 1));
    let data = "x".repeat(bytes);
    let event = |n| {
        let (key, mut attributes) = numbered(design.write_key(at(n), entropy(n)).unwrap(), n);
        attributes.set("data", data.clone());
        (key, attributes)
    };
    (0..count).map(event).collect()
}

#[tokio::test(start_paused = true)]
async fn queries_that_end_at_a_megabyte_are_continued() {
    for design in designs() {
        let (_, _, table) = scene(&design);
        table.write(large(&design, 48, 100_000)).await.unwrap();
        let (first, last) = (begin(), later(begin(), SignedDuration::from_mins(10)));
        for order in [Order::NewestFirst, Order::OldestFirst] {
            let (page, cost) = table.read(&walk(order, first, last, 48)).await.unwrap();
            let mut expected: Vec<usize> = (0..48).collect();
            if order == Order::NewestFirst {
                expected.reverse();
            }
            assert_eq!(numbers(&page.events), expected, "{design:?}");
            // One query returns eleven events: 48 in one partition take five queries, and twelve in each of four
            // partitions take two queries each. No event is read twice, so the price is that of the bytes.
            let calls = if matches!(design, Design::ShardedDay { .. }) { 8 } else { 5 };
            assert_eq!((cost.calls, cost.items), (calls, 48), "{design:?}");
            let floor = 48 * 100_000 / 4096;
            assert!((floor..floor + 48).contains(&cost.read_units.halves), "{cost:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_read_ends_at_its_limit_with_a_position() {
    for design in [reverse_ticks(), inverted_uuid()] {
        let (_, _, table) = scene(&design);
        // The events have 35 MB.
        table.write(large(&design, 100, 350_000)).await.unwrap();
        let all_of_it = walk(Order::NewestFirst, begin(), end(), u32::MAX);
        let (page, cost) = table.read(&all_of_it).await.unwrap();
        assert!(page.has_more && (90..100).contains(&page.events.len()), "{}", page.events.len());
        assert!((4_096..4_096 + 130).contains(&(cost.read_units.halves / 2)), "{cost:?}");
        let (rest, _) = table.read(&Walk { position: Some(page.position), ..all_of_it }).await.unwrap();
        let found = [numbers(&page.events), numbers(&rest.events)].concat();
        assert!(!rest.has_more && found.into_iter().eq((0..100).rev()));
    }
}
