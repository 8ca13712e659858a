//! The plan and the merge, for every design: no key is asked for twice, and the events are given in order.

use std::collections::VecDeque;

use crate::keys::{KeyValue, NaturalOrder};
use jiff::tz::Offset;
use lately_keys::ShardCount;
use proptest::prelude::*;

use super::*;
use lately_table::Item;

use crate::key::Event;
use crate::stop::Answer;

fn design() -> impl Strategy<Value = Design> {
    let user = || "ada".parse().unwrap();
    prop_oneof![
        Just(Design::ReverseTicks { user: user() }),
        Just(Design::Chronological { user: user(), natural: NaturalOrder::NewestFirst }),
        Just(Design::Chronological { user: user(), natural: NaturalOrder::OldestFirst }),
        Just(Design::ShardedDay { shards: ShardCount::new(4).unwrap() }),
        Just(Design::UserMonth { user: user() }),
        (-64_800..64_800_i32)
            .prop_map(|seconds| Design::InvertedUuid { offset: Offset::from_seconds(seconds).unwrap() }),
        Just(Design::QuarterHour),
    ]
}

/// A time within two days around the end of a month, often the first or the second nanosecond of a second.
fn time() -> impl Strategy<Value = Timestamp> {
    (1_772_236_800..1_772_409_600_i64, prop_oneof![Just(0), Just(1), 0..1_000_000_000_i32])
        .prop_map(|(second, nano)| Timestamp::new(second, nano).unwrap())
}

fn order() -> impl Strategy<Value = Order> {
    prop_oneof![Just(Order::NewestFirst), Just(Order::OldestFirst)]
}

fn walk(order: Order, after: Timestamp, to: Timestamp, position: Option<Position>) -> Walk {
    Walk { order, position, ..Walk::newest_first(after, to, NonZeroU32::MIN) }
}

/// The number of times that a walk's lanes ask for a key. Keys that a lane has behind it do not count.
fn asked(design: &Design, walk: &Walk, key: &WriteKey) -> usize {
    let mut span = Span::new(design, walk).unwrap();
    let stops = std::iter::from_fn(|| span.next_stop());
    let asks = |stop: &Stop| {
        let holds = |(_, lane): &(usize, &Lane)| {
            let lies_there = lane.keys.least <= key.sk && key.sk <= lane.keys.greatest;
            lane.partition == key.pk && lies_there && lane.behind.as_ref() != Some(&key.sk)
        };
        stop.hungry().filter(holds).count()
    };
    stops.map(|stop| asks(&stop)).sum()
}

proptest! {
    #[test]
    fn a_walk_asks_once_for_each_key_of_its_times(
        design in design(),
        order in order(),
        (after, to, at) in (time(), time(), time()),
        entropy: u128,
    ) {
        let key = design.write_key(at, entropy).unwrap();
        let time = design.time_of(&key.sk).unwrap();
        let is_wanted = after < time && time <= to;
        prop_assert_eq!(asked(&design, &walk(order, after, to, None), &key), usize::from(is_wanted));
    }

    #[test]
    fn a_walk_continues_behind_an_event_with_all_later_events(
        design in design(),
        order in order(),
        (at, other) in (time(), time()),
        (entropy, other_entropy) in (any::<u128>(), any::<u128>()),
    ) {
        let key = design.write_key(at, entropy).unwrap();
        let other = design.write_key(other, other_entropy).unwrap();
        let (at, other_at) = (design.time_of(&key.sk).unwrap(), design.time_of(&other.sk).unwrap());
        prop_assume!(at != other_at);
        let (after, to) = ("2026-02-01T00:00:00Z".parse().unwrap(), "2026-04-01T00:00:00Z".parse().unwrap());
        let walk = walk(order, after, to, Some(Position::Behind(key.clone())));
        let comes_later = if order == Order::NewestFirst { other_at < at } else { other_at > at };
        prop_assert_eq!(asked(&design, &walk, &key), 0);
        prop_assert_eq!(asked(&design, &walk, &other), usize::from(comes_later));
    }

    #[test]
    fn a_stop_merges_its_lanes_in_order_for_any_page_size(
        lanes in prop::collection::vec(prop::collection::btree_set(0..30_i64, 0..12), 1..5),
        (order, natural) in (order(), order()),
        page in 1..5_usize,
    ) {
        let forward = order == natural;
        let key = |sk: i64, lane: usize| WriteKey { pk: KeyValue::N(lane.try_into().unwrap()), sk: KeyValue::N(sk) };
        let event = |sk, lane| Event { key: key(sk, lane), at: Timestamp::UNIX_EPOCH, attributes: Item::new() };
        let keys = crate::keys::SortKeys { least: KeyValue::N(0), greatest: KeyValue::N(30) };
        let lane = |lane: usize| Lane::new(KeyValue::N(lane.try_into().unwrap()), keys.clone());
        let end = Position::At(Timestamp::MAX);
        let mut stop = Stop::new(order, natural, (0..lanes.len()).map(lane).collect(), end);

        let mut unread: Vec<VecDeque<Event>> = lanes.iter().enumerate().map(|(lane, sks)| {
            let mut events: VecDeque<_> = sks.iter().map(|sk| event(*sk, lane)).collect();
            if !forward {
                events.make_contiguous().reverse();
            }
            events
        }).collect();
        let mut given = Vec::new();
        loop {
            let hungry: Vec<usize> = stop.hungry().map(|(lane, _)| lane).collect();
            for lane in hungry {
                let count = page.min(unread[lane].len());
                let events: VecDeque<_> = unread[lane].drain(..count).collect();
                let stopped_at = events.back().filter(|_| count == page).map(|last| last.key.sk.clone());
                stop.absorb(lane, Answer { events, stopped_at });
            }
            if stop.hungry().next().is_some() {
                continue;
            }
            match stop.give() {
                Some(event) => given.push(event.key),
                None => break,
            }
        }
        prop_assert!(!stop.has_more());

        let mut expected: Vec<(i64, usize)> =
            lanes.iter().enumerate().flat_map(|(lane, sks)| sks.iter().map(move |sk| (*sk, lane))).collect();
        // Newest first, the shards count up. Oldest first is exactly the reverse.
        expected.sort_by_key(|(sk, lane)| (if natural == Order::NewestFirst { *sk } else { -*sk }, *lane));
        if order == Order::OldestFirst {
            expected.reverse();
        }
        prop_assert_eq!(given, expected.into_iter().map(|(sk, lane)| key(sk, lane)).collect::<Vec<_>>());
    }
}
