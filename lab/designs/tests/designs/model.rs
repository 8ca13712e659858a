//! Random writes and random walks, compared with a map.
//!
//! There are few times, so events share ticks, keys collide, and pages end between events of one tick. The map says
//! which events remain, and in which order. While others write, a walk still returns each event that was there before
//! it, exactly once.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use lately_designs::{Design, DesignTable, Walk};
use lately_designs::{KeyValue, WriteKey};
use lately_engine::{Engine, Options};
use lately_keys::Order;
use lately_table::Item;

use crate::support::{at, engine, limit, number, numbered, numbers, stories, table};
use lately_rig::{Seed, World};

/// The position of an event in its timeline, oldest first: its tick, then its sort key, then its shard.
type Position = (Timestamp, SortKey, Reverse<String>);

/// A sort key among those of its tick, oldest first.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum SortKey {
    Ascending(String),
    Descending(Reverse<String>),
}

#[derive(Debug)]
struct Model {
    design: Design,
    events: BTreeMap<Position, usize>,
    written: usize,
}

impl Model {
    fn position(&self, key: &WriteKey) -> Position {
        // Events of one tick never share a sort key that is a number, so numbers need no order here.
        let sk = key.sk.to_string();
        let sk = match self.design.natural_order() {
            Order::OldestFirst => SortKey::Ascending(sk),
            Order::NewestFirst => SortKey::Descending(Reverse(sk)),
        };
        (self.design.time_of(&key.sk).unwrap(), sk, Reverse(key.pk.to_string()))
    }

    /// Some new events.
    fn invent(&mut self, random: &mut fastrand::Rng, count: usize) -> Vec<(WriteKey, Item)> {
        let event = |_| {
            let key = self.design.write_key(some_time(random), some_entropy(random)).unwrap();
            self.events.insert(self.position(&key), self.written);
            self.written += 1;
            numbered(key, self.written - 1)
        };
        (0..count).map(event).collect()
    }

    fn walked(&self, walk: &Walk) -> Vec<usize> {
        let is_wanted = |((at, ..), _): &(&Position, &usize)| walk.after < *at && *at <= walk.to;
        let mut walked: Vec<_> = self.events.iter().filter(is_wanted).map(|(_, number)| *number).collect();
        if walk.order == Order::NewestFirst {
            walked.reverse();
        }
        walked
    }
}

/// A time within 33 hours that contain the ends of a month, of days and of quarters.
fn some_time(random: &mut fastrand::Rng) -> Timestamp {
    let quarters = SignedDuration::from_mins(15 * random.i64(0..132));
    let within = match random.u8(..4) {
        0 => SignedDuration::ZERO,
        1 => SignedDuration::from_nanos(random.i64(0..3)),
        2 => SignedDuration::from_nanos(900_000_000_000 - random.i64(1..3)),
        _ => SignedDuration::from_nanos(random.i64(0..900_000_000_000)),
    };
    at("2026-02-28T06:00:00Z").checked_add(quarters).unwrap().checked_add(within).unwrap()
}

/// Random bits, mostly new ones, sometimes the bits of an earlier event.
fn some_entropy(random: &mut fastrand::Rng) -> u128 {
    if random.bool() {
        random.u128(..)
    } else {
        u128::from(random.u8(..8)) << 96 | u128::from(random.u8(..4))
    }
}

fn some_walk(random: &mut fastrand::Rng) -> Walk {
    let (one, other) = (some_time(random), some_time(random));
    let (after, to) = if random.u8(..8) == 0 { (one, other) } else { (one.min(other), one.max(other)) };
    let order = if random.bool() { Walk::newest_first } else { Walk::oldest_first };
    let events = if random.bool() { random.u32(1..5) } else { random.u32(1..300) };
    Walk { consistent: random.bool(), ..order(after, to, limit(events)) }
}

/// Reads a walk to its end, and calls `between` before each page but the first.
async fn walked(table: &DesignTable, walk: &Walk, mut between: impl AsyncFnMut()) -> Vec<usize> {
    let mut walk = walk.clone();
    let mut found: Vec<lately_designs::Event> = Vec::new();
    loop {
        let (page, _) = table.read(&walk).await.unwrap();
        assert!(page.events.len() <= usize::try_from(walk.limit.get()).unwrap());
        found.extend(page.events);
        walk.position = Some(page.position);
        if !page.has_more {
            break;
        }
        between().await;
    }
    let keys: BTreeSet<(String, String)> = found.iter().map(|event| text(&event.key)).collect();
    assert_eq!(keys.len(), found.len(), "a key came twice");
    let times = |pair: &[lately_designs::Event]| match walk.order {
        Order::NewestFirst => pair[0].at >= pair[1].at,
        Order::OldestFirst => pair[0].at <= pair[1].at,
    };
    assert!(found.windows(2).all(times), "the events are out of order");
    assert!(found.iter().all(|event| walk.after < event.at && event.at <= walk.to));
    numbers(&found)
}

fn text(WriteKey { pk, sk }: &WriteKey) -> (String, String) {
    let text = KeyValue::to_string;
    (text(pk), text(sk))
}

/// The beginning of a seed's story: an empty table of a design.
fn story(seed: &Seed, design: Design) -> (fastrand::Rng, Engine, DesignTable, Model) {
    let world = World::new(seed.0);
    let engine = engine(&world, &design, Options::default());
    let table = table(engine.client(), &world, &design);
    let model = Model { design, events: BTreeMap::new(), written: 0 };
    (fastrand::Rng::with_seed(seed.0), engine, table, model)
}

#[tokio::test(start_paused = true)]
async fn every_walk_returns_the_events_of_a_map_in_order() {
    for (seed, design) in stories(3) {
        let (mut random, _engine, table, mut model) = story(&seed, design);
        for _ in 0..4 {
            let count = random.usize(1..120);
            table.write(model.invent(&mut random, count)).await.unwrap();
            for _ in 0..3 {
                let walk = some_walk(&mut random);
                let found = walked(&table, &walk, async || {}).await;
                assert_eq!(found, model.walked(&walk), "{:?} {walk:?}", model.design);
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_walk_during_writes_returns_each_earlier_event_once() {
    for (seed, design) in stories(2) {
        let (mut random, _engine, table, mut model) = story(&seed, design);
        table.write(model.invent(&mut random, 150)).await.unwrap();
        let walk = some_walk(&mut random);
        let mut missing: BTreeSet<usize> = model.walked(&walk).into_iter().collect();
        let found = walked(&table, &walk, async || {
            table.write(model.invent(&mut random, 3)).await.unwrap();
        })
        .await;
        // An event that is replaced meanwhile may have been read before or after its replacement.
        let still_there: BTreeSet<usize> = model.walked(&walk).into_iter().collect();
        missing.retain(|number| still_there.contains(number) && !found.contains(number));
        assert!(missing.is_empty(), "{:?} {walk:?} missed {missing:?}", model.design);
    }
}

#[tokio::test(start_paused = true)]
async fn consecutive_reports_contain_each_timely_event_once() {
    for (seed, design) in stories(2) {
        let (mut random, _engine, table, mut model) = story(&seed, design);
        let mut ends: Vec<Timestamp> = (0..4).map(|_| some_time(&mut random)).collect();
        ends.sort();
        let begin = at("2026-02-28T05:00:00Z");
        let mut report = Walk::oldest_first(begin, begin, limit(random.u32(1..50)));
        let mut expected = Vec::new();
        let mut reported = Vec::new();
        for to in ends {
            let checkpoint = report.to;
            table.write(model.invent(&mut random, 40)).await.unwrap();
            report.to = to;
            expected.extend(model.walked(&Walk { after: checkpoint, ..report.clone() }));
            loop {
                let (page, _) = table.read(&report).await.unwrap();
                reported.extend(page.events.iter().map(number));
                report.position = Some(page.position);
                if !page.has_more {
                    break;
                }
            }
        }
        assert_eq!(reported, expected, "{:?}", model.design);
    }
}
