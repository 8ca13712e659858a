//! The common behaviour of the designs: the same events, read in the same ways.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use lately_designs::WriteKey;
use lately_designs::{Design, DesignTable, Position, ReadError, Walk};
use lately_engine::{Lag, Options};
use lately_keys::Order;
use lately_table::Item;

use crate::support::{
    all, at, designs, engine, entropy, later, limit, number, numbered, numbers, reverse_ticks, scene,
    sharded_day, table, walk,
};
use lately_rig::World;
use tokio::time::sleep as pass;

/// The number of events; the last of them is the newest.
const EVENTS: usize = 300;

fn now() -> Timestamp {
    at("2026-03-01T18:30:00Z")
}

/// Some days earlier, in another month.
fn begin() -> Timestamp {
    at("2026-02-26T00:00:00Z")
}

/// No two events lie in one second, and no event lies at the end of a second. Some hours have no event.
fn time(number: usize) -> Timestamp {
    let ago = EVENTS - number;
    let seconds = ago * 701 + (ago / 60) * 20_000;
    let seconds = SignedDuration::from_secs(i64::try_from(seconds).unwrap());
    later(now(), SignedDuration::from_nanos(123_456_789) - seconds)
}

/// The last moment of an event's second. No design's rounding crosses it.
fn just_after(number: usize) -> Timestamp {
    Timestamp::new(time(number).as_second(), 999_999_999).unwrap()
}

fn events(design: &Design, numbers: std::ops::Range<usize>) -> Vec<(WriteKey, Item)> {
    let event = |n| numbered(design.write_key(time(n), entropy(n)).unwrap(), n);
    numbers.map(event).collect()
}

async fn filled(design: &Design) -> DesignTable {
    let (_, _, table) = scene(design);
    // The events are not written in the order of their times.
    let mut events = events(design, 0..EVENTS);
    events.rotate_left(EVENTS / 3);
    table.write(events).await.unwrap();
    table
}

fn descending(from: usize, to: usize) -> Vec<usize> {
    (to..=from).rev().collect()
}

#[tokio::test(start_paused = true)]
async fn the_newest_events_come_first_for_any_write_order() {
    for design in designs() {
        let table = filled(&design).await;
        for consistent in [false, true] {
            let latest = Walk { consistent, ..Walk::newest_first(begin(), now(), limit(50)) };
            let (page, _) = table.read(&latest).await.unwrap();
            assert_eq!(numbers(&page.events), descending(EVENTS - 1, EVENTS - 50), "{design:?}");
            assert!(page.has_more);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_event_is_read_as_written_with_the_time_of_its_key() {
    for design in designs() {
        let table = filled(&design).await;
        let (page, _) = table.read(&Walk::newest_first(begin(), now(), limit(9))).await.unwrap();
        for event in page.events {
            let n = number(&event);
            assert_eq!((event.key.clone(), event.attributes.clone()), events(&design, n..n + 1)[0]);
            assert_eq!(design.time_of(&event.key.sk).unwrap(), event.at);
            let rounded_down = time(n).duration_since(event.at);
            assert!((SignedDuration::ZERO..SignedDuration::from_secs(1)).contains(&rounded_down));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn pages_contain_each_event_once_up_to_the_end() {
    for design in designs() {
        let table = filled(&design).await;
        for size in [1, 7, 20, 299, 300, 301, u32::MAX] {
            let (found, _) = all(&table, &Walk::newest_first(begin(), now(), limit(size))).await;
            assert_eq!(numbers(&found), descending(EVENTS - 1, 0), "{design:?} in pages of {size}");
            let (found, _) = all(&table, &Walk::oldest_first(begin(), now(), limit(size))).await;
            assert!(numbers(&found).into_iter().eq(0..EVENTS), "{design:?} in pages of {size}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_range_excludes_its_first_time_and_includes_its_last() {
    for design in designs() {
        let table = filled(&design).await;
        for (after, to) in [(0, 299), (10, 11), (57, 200), (119, 121), (200, 200), (201, 200)] {
            let (after_time, to_time) = (just_after(after), just_after(to));
            let (found, _) = all(&table, &walk(Order::NewestFirst, after_time, to_time, 40)).await;
            assert_eq!(numbers(&found), descending(to, after + 1), "{design:?} from {after} to {to}");
            let (found, _) = all(&table, &walk(Order::OldestFirst, after_time, to_time, 40)).await;
            assert!(numbers(&found).into_iter().eq(after + 1..=to), "{design:?} from {after} to {to}");
        }
        // The bounds are exact to the tick: the time of a key is excluded at the first bound and included at the last.
        let (newest, _) = table.read(&Walk::newest_first(begin(), now(), limit(2))).await.unwrap();
        let [last, before] = &newest.events[..] else { panic!() };
        let (found, _) = all(&table, &walk(Order::OldestFirst, before.at, last.at, 9)).await;
        assert_eq!(numbers(&found), [EVENTS - 1], "{design:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_walk_since_a_checkpoint_returns_each_new_event_once() {
    for design in designs() {
        let (_, _, table) = scene(&design);
        let mut since = Walk { consistent: true, ..Walk::oldest_first(begin(), begin(), limit(16)) };
        let mut written = 0;
        for count in [100, 0, 1, 60, 139] {
            table.write(events(&design, written..written + count)).await.unwrap();
            let mut found = Vec::new();
            since.to = just_after(written + count - 1);
            loop {
                let (page, _) = table.read(&since).await.unwrap();
                found.extend(numbers(&page.events));
                since.position = Some(page.position);
                if !page.has_more {
                    break;
                }
            }
            assert!(found.into_iter().eq(written..written + count), "{design:?}");
            written += count;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_finished_walk_continues_when_its_range_grows() {
    for design in designs() {
        let table = filled(&design).await;
        let half = Walk::oldest_first(begin(), just_after(149), limit(150));
        let (page, _) = table.read(&half).await.unwrap();
        assert_eq!(page.events.len(), 150);
        let mut again = Walk { position: Some(page.position), ..half };
        let (page, _) = table.read(&again).await.unwrap();
        assert_eq!((page.events.len(), page.has_more), (0, false), "{design:?}");
        again.position = Some(page.position);
        again.to = now();
        let (found, _) = all(&table, &again).await;
        assert!(numbers(&found).into_iter().eq(150..EVENTS), "{design:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_position_outside_the_range_does_not_extend_it() {
    for design in designs() {
        let table = filled(&design).await;
        let (page, _) = table.read(&Walk::newest_first(begin(), now(), limit(3))).await.unwrap();
        let newest = Some(page.position);
        let earlier =
            Walk { position: newest.clone(), ..Walk::newest_first(begin(), just_after(9), limit(99)) };
        assert_eq!(numbers(&all(&table, &earlier).await.0), descending(9, 0), "{design:?}");
        let ascending = Walk { position: newest, ..Walk::oldest_first(begin(), just_after(9), limit(99)) };
        assert_eq!(all(&table, &ascending).await.0, [], "{design:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn empty_timelines_and_empty_ranges_return_nothing() {
    for design in designs() {
        let (_, _, table) = scene(&design);
        for order in [Order::NewestFirst, Order::OldestFirst] {
            let (page, _) = table.read(&walk(order, begin(), now(), 10)).await.unwrap();
            assert_eq!((page.events.len(), page.has_more), (0, false), "{design:?}");
            let (page, cost) = table.read(&walk(order, now(), begin(), 10)).await.unwrap();
            assert_eq!((page.events.len(), page.has_more, cost.calls), (0, false, 0), "{design:?}");
            // No design has keys before 1970, so nothing is queried.
            let before_1970 = walk(order, Timestamp::MIN, at("1969-12-31T23:59:59Z"), 10);
            let (page, cost) = table.read(&before_1970).await.unwrap();
            assert_eq!((page.events.len(), page.has_more, cost.calls), (0, false, 0), "{design:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_consistent_read_sees_the_latest_writes() {
    for design in designs() {
        let world = World::new(1);
        let lag = Lag { seed: 1, table: Duration::from_secs(2), index: Duration::ZERO, behind: 1.0 };
        let engine = engine(&world, &design, Options { lag: Some(lag), ..Options::default() });
        let table = table(engine.client(), &world, &design);
        table.write(events(&design, 0..40)).await.unwrap();
        let latest = Walk::newest_first(begin(), now(), limit(40));
        let consistent = Walk { consistent: true, ..latest.clone() };
        assert_eq!(table.read(&consistent).await.unwrap().0.events.len(), 40);
        assert!(table.read(&latest).await.unwrap().0.events.len() < 40, "{design:?}");
        pass(Duration::from_secs(2)).await;
        assert_eq!(table.read(&latest).await.unwrap().0.events.len(), 40);
    }
}

#[tokio::test(start_paused = true)]
async fn a_position_of_another_timeline_is_refused() {
    let of_design = |design: &Design| Position::Behind(design.write_key(now(), 3).unwrap());
    for (design, other) in [
        (reverse_ticks(), of_design(&Design::ReverseTicks { user: "bob".parse().unwrap() })),
        (sharded_day(2), of_design(&sharded_day(4))),
        (Design::QuarterHour, of_design(&reverse_ticks())),
    ] {
        let (_, _, table) = scene(&design);
        let walk = Walk { position: Some(other), ..Walk::newest_first(begin(), now(), limit(1)) };
        assert!(matches!(table.read(&walk).await, Err(ReadError::Position(_))), "{design:?}");
    }
}
