//! The weaknesses of the designs: each test shows exactly what one design loses and the others keep.

use jiff::tz::Offset;
use jiff::{SignedDuration, Timestamp};
use lately_designs::{Design, DesignTable, Walk};
use lately_designs::{InvertedUuid, NaturalOrder, QuarterHour, ShardedDay, ShardedDayScope, Token, WriteKey};
use lately_keys::Shard;
use lately_table::Item;

use crate::support::{
    all, at, chronological, designs, entropy, inverted_uuid, later, limit, numbered, numbers, reverse_ticks,
    scene, sharded_day, table, user_month,
};

fn noon() -> Timestamp {
    at("2026-03-14T12:00:00Z")
}

fn nanos(nanos: i64) -> SignedDuration {
    SignedDuration::from_nanos(nanos)
}

/// The numbers of all events of the day, newest first.
async fn day(table: &DesignTable) -> Vec<usize> {
    let walk = Walk::newest_first(at("2026-03-14T00:00:00Z"), at("2026-03-15T00:00:00Z"), limit(99));
    numbers(&all(table, &walk).await.0)
}

fn named(shard: u8, at: Timestamp, name: &str) -> WriteKey {
    ShardedDay::new(ShardedDayScope::Day(Shard::from(shard)), at, name).unwrap().write_key()
}

/// Writes some events one after another, and into another table all at once. Both tables must keep the same events,
/// which are returned.
async fn stored(design: &Design, keys: &[WriteKey]) -> Vec<usize> {
    let events: Vec<(WriteKey, Item)> =
        keys.iter().enumerate().map(|(n, key)| numbered(key.clone(), n)).collect();
    let (_, _, one_by_one) = scene(design);
    for event in events.clone() {
        one_by_one.write([event]).await.unwrap();
    }
    let (_, _, at_once) = scene(design);
    at_once.write(events).await.unwrap();
    let stored_events = day(&one_by_one).await;
    assert_eq!(day(&at_once).await, stored_events);
    stored_events
}

/// The stored events of two that are this far apart and get different random bits.
async fn stored_of_two(design: &Design, apart: SignedDuration) -> Vec<usize> {
    let keys = [(noon(), 1), (later(noon(), apart), 2)];
    let keys = keys.map(|(at, number)| design.write_key(at, entropy(number)).unwrap());
    stored(design, &keys).await
}

#[tokio::test(start_paused = true)]
async fn reverse_ticks_of_one_nanosecond_replace_each_other() {
    assert_eq!(stored_of_two(&reverse_ticks(), nanos(0)).await, [1]);
    assert_eq!(stored_of_two(&reverse_ticks(), nanos(1)).await, [1, 0]);
}

#[tokio::test(start_paused = true)]
async fn chronological_ticks_of_100_nanoseconds_replace_each_other() {
    for design in [chronological(NaturalOrder::NewestFirst), chronological(NaturalOrder::OldestFirst)] {
        assert_eq!(stored_of_two(&design, nanos(99)).await, [1]);
        assert_eq!(stored_of_two(&design, nanos(100)).await, [1, 0]);
    }
}

#[tokio::test(start_paused = true)]
async fn tick_keys_lose_most_of_a_burst_with_microsecond_clocks() {
    // 1,000 events in a tenth of a millisecond, with a clock that counts microseconds.
    for (design, stored_events) in [
        (reverse_ticks(), 100),
        (chronological(NaturalOrder::NewestFirst), 100),
        (sharded_day(4), 1_000),
        (user_month(), 1_000),
        (inverted_uuid(), 1_000),
        (Design::QuarterHour, 1_000),
    ] {
        let (_, _, table) = scene(&design);
        let key = |n: usize| {
            let micros = i64::try_from(n / 10).unwrap();
            design.write_key(later(noon(), SignedDuration::from_micros(micros)), entropy(n)).unwrap()
        };
        table.write((0..1_000).map(|n| numbered(key(n), n))).await.unwrap();
        assert_eq!(day(&table).await.len(), stored_events, "{design:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn sharded_days_separate_events_of_a_millisecond_by_name() {
    let design = sharded_day(4);
    let in_its_millisecond = later(noon(), nanos(999_999));
    let two = [named(1, noon(), "evt-a"), named(1, in_its_millisecond, "evt-a")];
    assert_eq!(stored(&design, &two).await, [1]);
    // With different names, the events are in the order of their names, not of their times.
    let two = [named(1, noon(), "evt-b"), named(1, in_its_millisecond, "evt-a")];
    assert_eq!(stored(&design, &two).await, [0, 1]);
    let two = [named(1, noon(), "evt-a"), named(1, later(noon(), nanos(1_000_000)), "evt-a")];
    assert_eq!(stored(&design, &two).await, [1, 0]);
}

#[tokio::test(start_paused = true)]
async fn sharded_days_duplicate_an_event_retried_in_another_shard() {
    let design = sharded_day(4);
    let (_, _, table) = scene(&design);
    for shard in [3, 0] {
        table.write([numbered(named(shard, noon(), "evt-a"), 7)]).await.unwrap();
    }
    assert_eq!(day(&table).await, [7, 7]);
    // A page that ends between the two events loses neither of them, although their sort keys are equal.
    for order in [Walk::newest_first, Walk::oldest_first] {
        let walk = order(at("2026-03-14T00:00:00Z"), noon(), limit(1));
        assert_eq!(numbers(&all(&table, &walk).await.0), [7, 7]);
    }
}

#[tokio::test(start_paused = true)]
async fn sharded_days_read_with_too_few_shards_miss_events() {
    let (world, engine, table_of_four) = scene(&sharded_day(4));
    let key = |n: usize| sharded_day(4).write_key(later(noon(), nanos(0)), entropy(n)).unwrap();
    table_of_four.write((0..8).map(|n| numbered(key(n), n))).await.unwrap();
    let found = async |shards| day(&table(engine.client(), &world, &sharded_day(shards))).await.len();
    assert_eq!((found(2).await, found(4).await, found(8).await), (4, 8, 8));
}

#[tokio::test(start_paused = true)]
async fn inverted_uuids_of_a_millisecond_sort_by_random_bits() {
    let design = inverted_uuid();
    let key = |low: u128| {
        let millis = u128::try_from(noon().as_millisecond()).unwrap();
        let id = format!("{:032x}", millis << 80 | 0x7000_8000_0000_0000_0000 | low);
        InvertedUuid::new(id.parse().unwrap(), Offset::constant(9)).unwrap().write_key()
    };
    assert_eq!(stored(&design, &[key(5), key(9)]).await, [1, 0]);
    assert_eq!(stored(&design, &[key(9), key(5)]).await, [0, 1], "the later event counts as the earlier one");
    assert_eq!(stored(&design, &[key(9), key(9)]).await, [1], "one id is one event");
}

#[tokio::test(start_paused = true)]
async fn inverted_uuids_are_found_only_with_their_own_offset() {
    let (world, engine, tokyo) = scene(&inverted_uuid());
    let key = inverted_uuid().write_key(noon(), 1).unwrap();
    tokyo.write([numbered(key, 7)]).await.unwrap();
    assert_eq!(day(&tokyo).await, [7]);
    let utc = table(engine.client(), &world, &Design::InvertedUuid { offset: Offset::UTC });
    assert!(day(&utc).await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn inverted_uuids_take_a_query_for_each_day() {
    // A Scan would not return this order: DynamoDB scans by the hash of the day. The engine does not.
    let design = inverted_uuid();
    let (_, _, table) = scene(&design);
    let begin = at("2026-02-01T00:00:00Z");
    let days = |n: usize| SignedDuration::from_hours(24 * i64::try_from(n).unwrap());
    let key = |n| design.write_key(later(begin, days(n)), entropy(n)).unwrap();
    table.write((0..30).map(|n| numbered(key(n), n))).await.unwrap();

    let walk = Walk::newest_first(later(begin, -nanos(1)), later(begin, days(29)), limit(30));
    let (page, cost) = table.read(&walk).await.unwrap();
    assert!(numbers(&page.events).into_iter().eq((0..30).rev()));
    // 1, 2, 4, 8 and 15 days at once.
    assert_eq!(cost.of_read(), "read_units=15.0, calls=30, items=30, rounds=5");
    // A read looks ahead no further than the page has room: at most one day for each missing event.
    let (page, cost) = table.read(&Walk { limit: limit(4), ..walk }).await.unwrap();
    assert_eq!(numbers(&page.events), [29, 28, 27, 26]);
    assert_eq!(cost.of_read(), "read_units=2.0, calls=4, items=4, rounds=3");
}

#[tokio::test(start_paused = true)]
async fn quarter_hours_lose_only_the_order_within_a_second() {
    let key = |at, token: &str| QuarterHour::new(at, token.parse::<Token>().unwrap()).unwrap().write_key();
    let (early, late) = (noon(), later(noon(), SignedDuration::from_millis(900)));
    let (low, high) = ("1111111111111111", "zzzzzzzzzzzzzzzz");
    let design = Design::QuarterHour;
    assert_eq!(stored(&design, &[key(early, low), key(late, high)]).await, [1, 0]);
    assert_eq!(stored(&design, &[key(early, high), key(late, low)]).await, [0, 1], "by token, not by time");
    let next = later(noon(), SignedDuration::from_secs(1));
    assert_eq!(stored(&design, &[key(late, high), key(next, low)]).await, [1, 0]);
}

#[tokio::test(start_paused = true)]
async fn a_quarter_hour_report_misses_later_events_of_its_last_second() {
    let since_noon = async |design: &Design| {
        let (_, _, table) = scene(design);
        let write = async |millis, n| {
            let at = later(noon(), SignedDuration::from_millis(millis));
            table.write([numbered(design.write_key(at, entropy(n)).unwrap(), n)]).await.unwrap();
        };
        write(100, 0).await;
        let report = Walk::oldest_first(
            later(noon(), nanos(-1)),
            later(noon(), SignedDuration::from_millis(500)),
            limit(9),
        );
        let (page, _) = table.read(&report).await.unwrap();
        assert_eq!((numbers(&page.events), page.has_more), (vec![0], false));
        write(600, 1).await;
        write(1_200, 2).await;
        let to = later(noon(), SignedDuration::from_secs(2));
        numbers(&all(&table, &Walk { to, position: Some(page.position), ..report }).await.0)
    };
    for design in designs() {
        let missed: &[usize] = if design == Design::QuarterHour { &[2] } else { &[1, 2] };
        assert_eq!(since_noon(&design).await, missed, "{design:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn every_design_misses_events_that_arrive_behind_a_checkpoint() {
    for design in designs() {
        let (_, _, table) = scene(&design);
        let write = async |minutes, n| {
            let at = later(noon(), SignedDuration::from_mins(minutes));
            table.write([numbered(design.write_key(at, entropy(n)).unwrap(), n)]).await.unwrap();
        };
        write(1, 1).await;
        write(3, 3).await;
        let to = later(noon(), SignedDuration::from_mins(5));
        let report = Walk { consistent: true, ..Walk::oldest_first(noon(), to, limit(9)) };
        let (page, _) = table.read(&report).await.unwrap();
        assert_eq!(numbers(&page.events), [1, 3]);
        // The writer was slow, or its clock was.
        write(2, 2).await;
        write(6, 6).await;
        let to = later(noon(), SignedDuration::from_mins(10));
        let next = Walk { to, position: Some(page.position), ..report.clone() };
        assert_eq!(numbers(&all(&table, &next).await.0), [6], "{design:?}");
        assert_eq!(numbers(&all(&table, &Walk { to, ..report }).await.0), [1, 2, 3, 6]);
    }
}

#[tokio::test(start_paused = true)]
async fn designs_by_user_keep_users_apart() {
    let of = |user: &str| -> [Design; 3] {
        let user = || user.parse().unwrap();
        [
            Design::ReverseTicks { user: user() },
            Design::Chronological { user: user(), natural: NaturalOrder::OldestFirst },
            Design::UserMonth { user: user() },
        ]
    };
    for (ada, bob) in of("ada").into_iter().zip(of("bob")) {
        let (world, engine, adas) = scene(&ada);
        let bobs = table(engine.client(), &world, &bob);
        adas.write([numbered(ada.write_key(noon(), 1).unwrap(), 1)]).await.unwrap();
        bobs.write([numbered(bob.write_key(noon(), 2).unwrap(), 2)]).await.unwrap();
        assert_eq!((day(&adas).await, day(&bobs).await), (vec![1], vec![2]));
    }
}

#[tokio::test(start_paused = true)]
async fn sharded_days_skip_times_whose_text_does_not_sort() {
    let design = sharded_day(1);
    let (_, _, table) = scene(&design);
    let switch = at("2001-09-09T01:46:40Z");
    for (n, millis) in [-1, 0, 1].into_iter().enumerate() {
        let key = design.write_key(later(switch, SignedDuration::from_millis(millis)), entropy(n)).unwrap();
        table.write([numbered(key, n)]).await.unwrap();
    }
    let walk = Walk::newest_first(at("2001-09-08T00:00:00Z"), at("2001-09-10T00:00:00Z"), limit(9));
    assert_eq!(numbers(&all(&table, &walk).await.0), [2, 1]);
}
