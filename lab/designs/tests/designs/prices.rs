//! The price of reads in each design, as the engine reports it. The table holds a day of events of 512 bytes, one every
//! thirty seconds.
//!
//! The last event is half a minute old, and its quarter of an hour is over. The day is in its 18th hour in UTC, and in
//! its third hour in Tokyo.

use jiff::{SignedDuration, Timestamp};
use lately_designs::{Design, DesignTable, Walk};
use lately_designs::{KeyValue, NaturalOrder, WriteKey};
use lately_table::{Cost, Item};

use crate::support::{
    all, at, chronological, designs, entropy, inverted_uuid, later, limit, reverse_ticks, scene, sharded_day,
    user_month,
};

const EVENTS: usize = 2_880;

fn now() -> Timestamp {
    at("2026-03-14T17:59:59Z")
}

fn yesterday() -> Timestamp {
    later(now(), SignedDuration::from_hours(-24))
}

fn of_512_bytes(key: WriteKey) -> (WriteKey, Item) {
    let bytes = |value: &KeyValue| match value {
        KeyValue::S(text) => text.len(),
        KeyValue::N(number) => {
            number.unsigned_abs().to_string().len().div_ceil(2) + 1 + usize::from(*number < 0)
        }
    };
    let names = "partition".len() + "time".len() + "data".len();
    let data = "x".repeat(512 - names - bytes(&key.pk) - bytes(&key.sk));
    (key, Item::new().with("data", data))
}

async fn day(design: &Design) -> DesignTable {
    let (_, _, table) = scene(design);
    let at = |n| later(now(), SignedDuration::from_secs(-29 - 30 * i64::try_from(n).unwrap()));
    let key = |n| design.write_key(at(n), entropy(n)).unwrap();
    let cost = table.write((0..EVENTS).map(|n| of_512_bytes(key(n)))).await.unwrap();
    assert_eq!(cost.of_write(), format!("write_units={EVENTS}.0, calls={}", EVENTS.div_ceil(25)));
    table
}

/// The prices of three reads: the latest 50 events, the page of 20 behind them, and all events of the last 15 minutes.
async fn prices(design: &Design) -> [String; 3] {
    let table = day(design).await;
    let latest = Walk::newest_first(yesterday(), now(), limit(50));
    let (page, of_latest) = table.read(&latest).await.unwrap();
    assert_eq!(page.events.len(), 50);
    let behind = Walk { limit: limit(20), position: Some(page.position), ..latest };
    let (page, of_page) = table.read(&behind).await.unwrap();
    assert_eq!(page.events.len(), 20);
    let quarter_ago = later(now(), SignedDuration::from_mins(-15));
    let (page, of_since) = table.read(&Walk::oldest_first(quarter_ago, now(), limit(1_000))).await.unwrap();
    assert_eq!((page.events.len(), page.has_more), (30, false));
    [of_latest, of_page, of_since].map(|cost| cost.of_read())
}

#[tokio::test(start_paused = true)]
async fn a_page_of_one_partition_costs_its_bytes() {
    for design in [
        reverse_ticks(),
        chronological(NaturalOrder::NewestFirst),
        chronological(NaturalOrder::OldestFirst),
        user_month(),
        inverted_uuid(),
    ] {
        let expected = [
            "read_units=3.5, calls=1, items=50, rounds=1",
            "read_units=1.5, calls=1, items=20, rounds=1",
            "read_units=2.0, calls=1, items=30, rounds=1",
        ];
        assert_eq!(prices(&design).await, expected, "{design:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn sharded_days_ask_every_shard_for_the_whole_page() {
    let expected = [
        "read_units=14.0, calls=4, items=200, rounds=1",
        "read_units=6.0, calls=4, items=80, rounds=1",
        "read_units=2.0, calls=4, items=30, rounds=1",
    ];
    assert_eq!(prices(&sharded_day(4)).await, expected);
    let [latest, ..] = prices(&sharded_day(16)).await;
    assert_eq!(latest, "read_units=56.0, calls=16, items=800, rounds=1");
}

#[tokio::test(start_paused = true)]
async fn quarter_hours_read_several_partitions_for_a_page() {
    let expected = [
        // 30 events of the last quarter, and then 20 of each of the two quarters before, only one of which is needed.
        "read_units=5.0, calls=3, items=70, rounds=2",
        // Ten events remain of the quarter in which the first page ended; the next two quarters are asked for ten
        // each.
        "read_units=3.0, calls=3, items=30, rounds=2",
        "read_units=2.0, calls=1, items=30, rounds=1",
    ];
    assert_eq!(prices(&Design::QuarterHour).await, expected);

    // The incremental report: one query reads the quarter that just ended. A range across two quarters takes two.
    let table = day(&Design::QuarterHour).await;
    let (after, to) = (at("2026-03-14T17:40:00Z"), at("2026-03-14T17:55:00Z"));
    let (page, cost) = table.read(&Walk::oldest_first(after, to, limit(1_000))).await.unwrap();
    assert_eq!((page.events.len(), page.has_more), (30, false));
    assert_eq!(cost.of_read(), "read_units=2.5, calls=2, items=30, rounds=2");
}

#[tokio::test(start_paused = true)]
async fn a_write_costs_a_unit_in_every_design() {
    for design in designs() {
        let (_, _, table) = scene(&design);
        let cost = table.write([of_512_bytes(design.write_key(now(), 1).unwrap())]).await.unwrap();
        assert_eq!(cost.of_write(), "write_units=1.0, calls=1", "{design:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn consistent_reads_cost_twice_as_much() {
    for design in designs() {
        let table = day(&design).await;
        let latest = Walk::newest_first(yesterday(), now(), limit(50));
        let (_, cost) = table.read(&latest).await.unwrap();
        let (_, paid) = table.read(&Walk { consistent: true, ..latest }).await.unwrap();
        assert_eq!(paid.read_units.halves, 2 * cost.read_units.halves, "{design:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_price_does_not_grow_with_the_depth_of_a_page() {
    for design in designs() {
        let table = day(&design).await;
        let mut walk = Walk::newest_first(yesterday(), now(), limit(20));
        let mut costs = Vec::new();
        for _ in 0..100 {
            let (page, cost) = table.read(&walk).await.unwrap();
            walk.position = Some(page.position);
            costs.push(cost);
        }
        let most = |of: fn(&Cost) -> u64| costs.iter().map(of).max().unwrap();
        let (calls, halves) = (most(|cost| cost.calls), most(|cost| cost.read_units.halves));
        let bound = match design {
            Design::ShardedDay { .. } => (12, 24),
            Design::QuarterHour => (3, 7),
            _ => (3, 5),
        };
        assert!(calls <= bound.0 && halves <= bound.1, "{design:?}: {calls} calls, {halves} halves");
    }
}

#[tokio::test(start_paused = true)]
async fn empty_partitions_are_visited_and_paid_for() {
    // A month with a single event, at its beginning.
    let begin = at("2026-03-01T00:00:00Z");
    let end = at("2026-03-31T23:59:59Z");
    for (design, partitions) in [
        (reverse_ticks(), 1),
        (chronological(NaturalOrder::OldestFirst), 1),
        (user_month(), 1),
        // In days of Tokyo, the month has one day more.
        (inverted_uuid(), 32),
        (sharded_day(4), 31 * 4),
        (Design::QuarterHour, 31 * 96),
    ] {
        let (_, _, table) = scene(&design);
        table.write([of_512_bytes(design.write_key(begin, 1).unwrap())]).await.unwrap();
        let month = Walk::newest_first(later(begin, SignedDuration::from_nanos(-1)), end, limit(50));
        let (found, cost) = all(&table, &month).await;
        assert_eq!(found.len(), 1, "{design:?}");
        assert_eq!((cost.calls, cost.read_units.halves), (partitions, partitions), "{design:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_read_visits_a_bounded_number_of_partitions() {
    let design = Design::QuarterHour;
    let (_, _, table) = scene(&design);
    let begin = at("2026-03-01T00:00:00Z");
    table.write([of_512_bytes(design.write_key(begin, 1).unwrap())]).await.unwrap();
    let mut month = Walk::newest_first(
        later(begin, SignedDuration::from_nanos(-1)),
        at("2026-03-31T23:59:59Z"),
        limit(50),
    );
    for (events, calls, has_more) in [(0, 1_039, true), (0, 1_039, true), (1, 2_976 - 2 * 1_039, false)] {
        let (page, cost) = table.read(&month).await.unwrap();
        assert_eq!((page.events.len(), cost.calls, page.has_more), (events, calls, has_more));
        // Waves of 1, 2, 4, 8 and then 16.
        assert_eq!(cost.rounds, 4 + (calls - 15).div_ceil(16));
        month.position = Some(page.position);
    }
}
