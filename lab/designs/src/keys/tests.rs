//! Tests of the published designs against independently computed vectors and against the examples of their articles.

use jiff::tz::Offset;
use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;
use serde::Deserialize as _;
use serde_json::Value;

use super::*;
use lately_keys::{EventId, Shard, ShardCount, UnixMillis, User};

pub(super) fn id() -> impl Strategy<Value = EventId> {
    let millis = (0..=UnixMillis::MAX.get()).prop_map(|millis| UnixMillis::new(millis).unwrap());
    (millis, any::<u8>(), any::<u128>())
        .prop_map(|(at, shard, entropy)| EventId::import(at, Shard::from(shard), entropy))
}

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn s(text: &str) -> KeyValue {
    KeyValue::S(text.to_owned())
}

/// A vector. The tests take each of its fields exactly once.
struct Vector(serde_json::Map<String, Value>);

impl Vector {
    fn value(&mut self, field: &str) -> Value {
        self.0.remove(field).unwrap_or_else(|| panic!("no field {field}"))
    }

    fn text(&mut self, field: &str) -> String {
        String::deserialize(self.value(field)).unwrap()
    }

    fn number(&mut self, field: &str) -> i64 {
        i64::deserialize(self.value(field)).unwrap()
    }

    fn group(&mut self, field: &str) -> Self {
        match self.value(field) {
            Value::Object(map) => Self(map),
            other => panic!("{field} is {other}"),
        }
    }

    /// Asserts that every field was checked.
    fn finish(self) {
        assert!(self.0.is_empty(), "unchecked: {:?}", self.0.keys());
    }
}

#[test]
fn every_field_of_every_vector_matches() {
    let text = include_str!("../../tests/data/published-keys.json");
    let file: Value = serde_json::from_str(text).unwrap();
    let vectors = file["vectors"].as_array().unwrap();
    assert_eq!(vectors.len(), 64);
    for vector in vectors {
        check(Vector(vector.as_object().unwrap().clone()));
    }
}

fn check(mut vector: Vector) {
    let nanos: i128 = vector.text("unix_nanos").parse().unwrap();
    let at = Timestamp::from_nanosecond(nanos).unwrap();
    let user: User = vector.text("user").parse().unwrap();
    let event = vector.text("event");
    let shard = u8::try_from(vector.number("shard")).unwrap();
    let token = vector.text("token").parse().unwrap();
    let offset = Offset::from_seconds(vector.number("utc_offset_seconds").try_into().unwrap()).unwrap();
    let uuid = vector.text("uuid_v7").parse().unwrap();
    let millis = Timestamp::from_millisecond(at.as_millisecond()).unwrap();

    let mut expected = vector.group("reverse_ticks");
    let key = ReverseTicks::new(user.clone(), at).unwrap().write_key();
    let sk = expected.text("sk_n").parse().unwrap();
    assert_eq!(key, WriteKey { pk: s(&expected.text("pk_s")), sk: KeyValue::N(sk) });
    assert_eq!(ReverseTicks::time_of(sk), Ok(at));
    expected.finish();

    let mut expected = vector.group("chronological");
    let pk = expected.text("pk_s");
    for (order, field) in
        [(NaturalOrder::NewestFirst, "sk_s_newest_first"), (NaturalOrder::OldestFirst, "sk_s_oldest_first")]
    {
        let key = Chronological::new(user.clone(), at).unwrap().write_key(order);
        let sk = expected.text(field);
        assert_eq!(key, WriteKey { pk: s(&pk), sk: s(&sk) });
        let tick = Timestamp::from_nanosecond(nanos - nanos % 100).unwrap();
        assert_eq!(Chronological::time_of(&sk, order), Ok(tick));
    }
    expected.finish();

    let mut expected = vector.group("sharded_day");
    let key = ShardedDay::new(ShardedDayScope::Day(shard.into()), at, &event).unwrap().write_key();
    let sk = expected.text("sk_s");
    assert_eq!(key, WriteKey { pk: s(&expected.text("pk_s")), sk: s(&sk) });
    assert_eq!(ShardedDay::time_of(&sk), Ok(millis));
    expected.finish();

    let mut expected = vector.group("user_month");
    let key = ShardedDay::new(ShardedDayScope::UserMonth(user.clone()), at, &event).unwrap().write_key();
    assert_eq!(key, WriteKey { pk: s(&expected.text("pk_s")), sk: s(&sk) });
    expected.finish();
    let key = ShardedDay::new(ShardedDayScope::User(user.clone()), at, &event).unwrap().write_key();
    assert_eq!(key, WriteKey { pk: s(&format!("USER#{user}")), sk: s(&sk) });

    let mut expected = vector.group("inverted_uuid");
    let key = InvertedUuid::new(uuid, offset).unwrap().write_key();
    let (pk, sk) = (expected.text("pk_n").parse().unwrap(), expected.text("sk_s"));
    assert_eq!(key, WriteKey { pk: KeyValue::N(pk), sk: s(&sk) });
    assert_eq!(InvertedUuid::time_of(&sk), Ok(millis));
    expected.finish();

    let mut expected = vector.group("quarter_hour");
    let key = QuarterHour::new(at, token).unwrap().write_key();
    let sk = expected.text("sk_s");
    assert_eq!(key, WriteKey { pk: s(&expected.text("pk_s")), sk: s(&sk) });
    assert_eq!(QuarterHour::time_of(&sk), Timestamp::from_second(at.as_second()).map_err(|_| unreachable!()));
    expected.finish();

    vector.finish();
}

#[test]
fn the_examples_of_the_articles_hold() {
    for (day, sk) in [
        ("2010-05-28T00:00:00Z", "2521272959999999999"),
        ("2010-05-27T00:00:00Z", "2521273823999999999"),
        ("2009-04-21T00:00:00Z", "2521620287999999999"),
    ] {
        let key = Chronological::new("ada".parse().unwrap(), at(day)).unwrap();
        assert_eq!(key.write_key(NaturalOrder::NewestFirst).sk, s(sk));
    }

    let id = "0190a4cd-d3e7-7222-9f99-fdb74feee752".parse().unwrap();
    let key = InvertedUuid::new(id, Offset::UTC).unwrap().write_key();
    assert_eq!(key.sk, s("fe6f5b32-2c18-8ddd-6066-0248b01118ad"));

    let tokyo = Offset::from_seconds(9 * 3600).unwrap();
    let new_year = at("2024-01-01T00:00:00+09:00");
    let days: Vec<_> = InvertedUuid::partitions(new_year, new_year, tokyo).collect();
    assert_eq!(days, [KeyValue::N(-1_704_034_800)]);

    let key = QuarterHour::new(at("2016-10-23T01:30:00Z"), Token::from_entropy(0)).unwrap();
    assert_eq!(key.write_key().pk, s("201610230130"));
}

#[test]
fn walks_visit_every_partition_in_either_direction() {
    let (first, last) = (at("2023-12-30T23:59:59Z"), at("2024-01-01T00:00:00Z"));
    let two = ShardCount::new(2).unwrap();
    let days: Vec<_> = ShardedDay::partitions(two, first, last).collect();
    assert_eq!(
        days,
        [
            s("EVENTS#2023-12-30#SHARD0"),
            s("EVENTS#2023-12-30#SHARD1"),
            s("EVENTS#2023-12-31#SHARD0"),
            s("EVENTS#2023-12-31#SHARD1"),
            s("EVENTS#2024-01-01#SHARD0"),
            s("EVENTS#2024-01-01#SHARD1"),
        ]
    );
    let mut backwards: Vec<_> = ShardedDay::partitions(two, first, last).rev().collect();
    backwards.reverse();
    assert_eq!(backwards, days);

    let user = "ada".parse().unwrap();
    let months: Vec<_> = ShardedDay::user_partitions(&user, first, last).rev().collect();
    assert_eq!(months, [s("USER#ada#2024-01"), s("USER#ada#2023-12")]);

    let days: Vec<_> = InvertedUuid::partitions(first, last, Offset::UTC).rev().collect();
    let start = |day: &str| KeyValue::N(-at(&format!("{day}T00:00:00Z")).as_second());
    assert_eq!(days, [start("2024-01-01"), start("2023-12-31"), start("2023-12-30")]);

    let quarters: Vec<_> = QuarterHour::partitions(at("2023-12-31T23:44:59Z"), last).collect();
    assert_eq!(quarters, [s("202312312330"), s("202312312345"), s("202401010000")]);
    assert_eq!(QuarterHour::partitions(last, first).count(), 0);

    assert_eq!(ReverseTicks::partitions(&user, first, last).rev().collect::<Vec<_>>(), [s("ada")]);
    assert_eq!(Chronological::partitions(&user, first, last).rev().collect::<Vec<_>>(), [s("ada")]);
}

#[test]
fn times_without_a_key_are_refused() {
    let before = at("1969-12-31T23:59:59.999999999Z");
    let ada = || "ada".parse::<User>().unwrap();
    assert!(ReverseTicks::new(ada(), before).is_err());
    assert!(ReverseTicks::new(ada(), at("2262-04-11T23:47:16.854775807Z")).is_ok());
    assert!(ReverseTicks::new(ada(), at("2262-04-11T23:47:16.854775808Z")).is_err());
    assert!(Chronological::new(ada(), before).is_err());
    assert!(Chronological::new(ada(), Timestamp::MAX).is_ok());
    assert!(ShardedDay::new(ShardedDayScope::User(ada()), before, "e").is_err());
    assert!(ShardedDay::new(ShardedDayScope::User(ada()), Timestamp::MAX, "").is_err());
    assert!(QuarterHour::new(before, Token::from_entropy(0)).is_err());
    let version_4 = "0190a4cd-d3e7-4222-9f99-fdb74feee752".parse().unwrap();
    assert_eq!(InvertedUuid::new(version_4, Offset::UTC), Err(PublishedError::Key));
}

#[test]
fn invalid_sort_keys_are_refused() {
    for sk in [i64::MIN, -1] {
        assert_eq!(ReverseTicks::time_of(sk), Err(PublishedError::Key));
    }
    for sk in ["", "1", "252127295999999999é", "+521272959999999999", "9999999999999999999"] {
        for order in [NaturalOrder::NewestFirst, NaturalOrder::OldestFirst] {
            assert_eq!(Chronological::time_of(sk, order), Err(PublishedError::Key), "{sk}");
        }
    }
    for sk in ["", "#", "1#", "#e", "-1#e", "+1#e", "1.5#e", "99999999999999999999#e"] {
        assert_eq!(ShardedDay::time_of(sk), Err(PublishedError::Key), "{sk}");
    }
    for sk in ["", "0190a4cd-d3e7-7222-9f99-fdb74feee752", "fe6f5b322c188ddd60660248b01118ad"] {
        assert_eq!(InvertedUuid::time_of(sk), Err(PublishedError::Key), "{sk}");
    }
    let token = "swuypZt9arcEU4Xx";
    for second in ["", "2016-10-23", "2016-10-23T01:30", "2016-10-23 01:30:00", "2016-02-30T00:00:00"] {
        assert_eq!(QuarterHour::time_of(&format!("{second}.{token}")), Err(PublishedError::Key), "{second}");
    }
    assert_eq!(QuarterHour::time_of("2016-10-23T01:30:00.short"), Err(PublishedError::Key));
}

#[test]
fn two_writes_in_one_tick_collide_as_documented() {
    let (first, second) = (at("2024-01-01T00:00:00.000000100Z"), at("2024-01-01T00:00:00.000000199Z"));
    let ada = || "ada".parse::<User>().unwrap();
    let chronological = |at| Chronological::new(ada(), at).unwrap().write_key(NaturalOrder::NewestFirst);
    assert_eq!(chronological(first), chronological(second));
    assert_ne!(
        ReverseTicks::new(ada(), first).unwrap().write_key(),
        ReverseTicks::new(ada(), second).unwrap().write_key()
    );
}

fn timestamp() -> impl Strategy<Value = Timestamp> {
    // Times with thirteen digits of milliseconds: the sharded day's text sorts only then.
    (1_000_000_000..10_000_000_000_i64, 0..1_000_000_000_i32)
        .prop_map(|(second, nano)| Timestamp::new(second, nano).unwrap())
}

fn up_to_2262() -> impl Strategy<Value = Timestamp> {
    any::<i64>().prop_map(|nanos| Timestamp::from_nanosecond((nanos & i64::MAX).into()).unwrap())
}

proptest! {
    #[test]
    fn reverse_ticks_are_ordered_newest_first(a in up_to_2262(), b in up_to_2262()) {
        let sk = |at| ReverseTicks::new("ada".parse().unwrap(), at).unwrap().write_key().sk;
        prop_assert_eq!(sk(a).partial_cmp(&sk(b)), Some(b.cmp(&a)));
        let KeyValue::N(number) = sk(a) else { unreachable!() };
        prop_assert_eq!(ReverseTicks::time_of(number), Ok(a));
    }

    #[test]
    fn text_keys_are_ordered_as_each_design_says(a in timestamp(), b in timestamp(), entropy: u128) {
        let ada = || "ada".parse::<User>().unwrap();
        let (earlier, later) = (a.min(b), a.max(b));
        prop_assume!(later.duration_since(earlier) >= SignedDuration::from_secs(1));

        let sk = |at, order| Chronological::new(ada(), at).unwrap().write_key(order).sk;
        prop_assert!(sk(later, NaturalOrder::NewestFirst) < sk(earlier, NaturalOrder::NewestFirst));
        prop_assert!(sk(earlier, NaturalOrder::OldestFirst) < sk(later, NaturalOrder::OldestFirst));

        let sk = |at| ShardedDay::new(ShardedDayScope::Day(0.into()), at, "e").unwrap().write_key().sk;
        prop_assert!(sk(earlier) < sk(later));

        let sk = |at: Timestamp| {
            let millis = UnixMillis::from_nanos(at.as_nanosecond()).unwrap();
            let id = EventId::import(millis, 0.into(), entropy).as_uuid();
            InvertedUuid::new(id, Offset::UTC).unwrap().write_key().sk
        };
        prop_assert!(sk(later) < sk(earlier));

        let sk = |at| QuarterHour::new(at, Token::from_entropy(entropy)).unwrap().write_key().sk;
        prop_assert!(sk(earlier) < sk(later));
    }

    #[test]
    fn the_walk_visits_the_partition_of_every_write(
        at in timestamp(),
        before in 0..500_000_i64,
        after in 0..500_000_i64,
        shard in 0..4_u8,
        offset in -64_800..64_800_i32,
        id in id(),
    ) {
        let around = |at: Timestamp| {
            let by = SignedDuration::from_secs;
            (at.saturating_sub(by(before)).unwrap(), at.saturating_add(by(after)).unwrap())
        };
        let (first, last) = around(at);
        let four = ShardCount::new(4).unwrap();
        let visits = |mut walk: Box<dyn Iterator<Item = KeyValue> + '_>, pk: KeyValue| walk.any(|visited| visited == pk);

        let day = ShardedDay::new(ShardedDayScope::Day(shard.into()), at, "e").unwrap().write_key();
        prop_assert!(visits(Box::new(ShardedDay::partitions(four, first, last)), day.pk));

        let ada: User = "ada".parse().unwrap();
        let month = ShardedDay::new(ShardedDayScope::UserMonth(ada.clone()), at, "e").unwrap().write_key();
        prop_assert!(visits(Box::new(ShardedDay::user_partitions(&ada, first, last)), month.pk));

        let quarter = QuarterHour::new(at, Token::from_entropy(1)).unwrap().write_key();
        prop_assert!(visits(Box::new(QuarterHour::partitions(first, last)), quarter.pk));

        let offset = Offset::from_seconds(offset).unwrap();
        prop_assume!(id.at().get() < 253_402_200_000_000);
        let (first, last) = around(Timestamp::from_millisecond(id.at().get().try_into().unwrap()).unwrap());
        let day = InvertedUuid::new(id.as_uuid(), offset).unwrap().write_key();
        prop_assert!(visits(Box::new(InvertedUuid::partitions(first, last, offset)), day.pk));
    }
}

/// One design's keys for a time: the key of an event, the times that share its partition, and the sort keys to query.
struct Case {
    key: WriteKey,
    partitions: Vec<KeyValue>,
    window: Window,
    keys: Option<SortKeys>,
    /// The time in the key.
    at: Timestamp,
}

fn cases(at: Timestamp, (first, last): (Timestamp, Timestamp), offset: Offset, entropy: u128) -> Vec<Case> {
    let ada = || "ada".parse::<User>().unwrap();
    let of_text = |key: &WriteKey, time_of: &dyn Fn(&str) -> Result<Timestamp, PublishedError>| {
        let KeyValue::S(text) = &key.sk else { unreachable!() };
        time_of(text).unwrap()
    };
    let mut cases = Vec::new();
    let key = ReverseTicks::new(ada(), at).unwrap().write_key();
    let KeyValue::N(number) = key.sk else { unreachable!() };
    cases.push(Case {
        partitions: ReverseTicks::partitions(&ada(), at, at).collect(),
        window: Window::ALL,
        keys: ReverseTicks::sort_keys(first, last),
        at: ReverseTicks::time_of(number).unwrap(),
        key,
    });
    for order in [NaturalOrder::NewestFirst, NaturalOrder::OldestFirst] {
        let key = Chronological::new(ada(), at).unwrap().write_key(order);
        cases.push(Case {
            partitions: Chronological::partitions(&ada(), at, at).collect(),
            window: Window::ALL,
            keys: Chronological::sort_keys(first, last, order),
            at: of_text(&key, &|sk| Chronological::time_of(sk, order)),
            key,
        });
    }
    let two = ShardCount::new(2).unwrap();
    let day = ShardedDayScope::Day(two.pick(u64::from(entropy % 2 == 1)));
    let month = ShardedDayScope::UserMonth(ada());
    for (scope, partitions, window) in [
        (day, ShardedDay::partitions(two, at, at).collect(), ShardedDay::window(at)),
        (month, ShardedDay::user_partitions(&ada(), at, at).collect(), ShardedDay::user_window(at)),
    ] {
        let key = ShardedDay::new(scope, at, &entropy.to_string()).unwrap().write_key();
        let keys = ShardedDay::sort_keys(first, last);
        cases.push(Case { partitions, window, keys, at: of_text(&key, &ShardedDay::time_of), key });
    }
    let millis = UnixMillis::from_nanos(at.as_nanosecond()).unwrap();
    let id = EventId::import(millis, 0.into(), entropy).as_uuid();
    let key = InvertedUuid::new(id, offset).unwrap().write_key();
    cases.push(Case {
        partitions: InvertedUuid::partitions(at, at, offset).collect(),
        window: InvertedUuid::window(at, offset),
        keys: InvertedUuid::sort_keys(first, last),
        at: of_text(&key, &InvertedUuid::time_of),
        key,
    });
    let key = QuarterHour::new(at, Token::from_entropy(entropy)).unwrap().write_key();
    cases.push(Case {
        partitions: QuarterHour::partitions(at, at).collect(),
        window: QuarterHour::window(at),
        keys: QuarterHour::sort_keys(first, last),
        at: of_text(&key, &QuarterHour::time_of),
        key,
    });
    cases
}

/// The times for which every design has keys.
fn of_all_designs() -> impl Strategy<Value = Timestamp> {
    (1_000_000_100..9_000_000_000_i64, 0..1_000_000_000_i32)
        .prop_map(|(second, nano)| Timestamp::new(second, nano).unwrap())
}

proptest! {
    #[test]
    fn the_sort_keys_of_a_range_match_exactly_its_times(
        at in of_all_designs(),
        before in -5_000_000_000..5_000_000_000_i64,
        length in 0..5_000_000_000_i64,
        offset in -64_800..64_800_i32,
        entropy: u128,
    ) {
        let by = SignedDuration::from_nanos;
        let first = at.checked_sub(by(before)).unwrap();
        let last = first.checked_add(by(length)).unwrap();
        let offset = Offset::from_seconds(offset).unwrap();
        let holds = |keys: &Option<SortKeys>, key: &WriteKey| {
            keys.as_ref().is_some_and(|keys| keys.least <= key.sk && key.sk <= keys.greatest)
        };
        let in_range = cases(at, (first, last), offset, entropy);
        for (n, Case { key, partitions, window, keys, at: time }) in in_range.into_iter().enumerate() {
            prop_assert_eq!(holds(&keys, &key), first <= time && time <= last, "{:?}", key);
            prop_assert!(window.first <= at && at <= window.last);
            prop_assert!(partitions.contains(&key.pk));

            let keys = |first, last| cases(at, (first, last), offset, entropy).swap_remove(n).keys;
            prop_assert!(holds(&keys(time, time), &key), "{:?}", key);
            let one = by(1);
            let (before, after) = (time.checked_sub(one).unwrap(), time.checked_add(one).unwrap());
            prop_assert!(!holds(&keys(first.min(before), before), &key));
            prop_assert!(!holds(&keys(after, last.max(after)), &key));
        }
    }

    #[test]
    fn windows_are_adjacent_and_share_no_partition(at in of_all_designs(), offset in -64_800..64_800_i32) {
        let offset = Offset::from_seconds(offset).unwrap();
        let of = |at| cases(at, (at, at), offset, 7);
        let one = SignedDuration::from_nanos(1);
        for (n, Case { partitions, window, .. }) in of(at).into_iter().enumerate() {
            prop_assert_eq!(&of(at)[n].window, &window);
            if window == Window::ALL {
                continue;
            }
            for inside in [window.first, window.last] {
                prop_assert_eq!(&of(inside)[n].window, &window);
                prop_assert_eq!(&of(inside)[n].partitions, &partitions);
            }
            let next = &of(window.last.checked_add(one).unwrap())[n];
            prop_assert_eq!(next.window.first, window.last.checked_add(one).unwrap());
            prop_assert!(next.partitions.iter().all(|pk| !partitions.contains(pk)));
        }
    }
}

#[test]
fn times_without_a_tick_or_a_key_have_no_sort_keys() {
    let (first, last) = (at("2024-01-01T00:00:00.000000001Z"), at("2024-01-01T00:00:00.000000099Z"));
    assert!(ReverseTicks::sort_keys(first, last).is_some());
    assert_eq!(Chronological::sort_keys(first, last, NaturalOrder::NewestFirst), None);
    assert_eq!(ShardedDay::sort_keys(first, last), None);
    assert_eq!(InvertedUuid::sort_keys(first, last), None);
    assert_eq!(QuarterHour::sort_keys(first, last), None);

    let before = at("1969-12-31T23:59:59.999999999Z");
    let of_all = |first, last| {
        [
            ReverseTicks::sort_keys(first, last),
            Chronological::sort_keys(first, last, NaturalOrder::OldestFirst),
            ShardedDay::sort_keys(first, last),
            InvertedUuid::sort_keys(first, last),
            QuarterHour::sort_keys(first, last),
        ]
    };
    assert!(of_all(Timestamp::MIN, before).iter().all(Option::is_none));
    assert!(of_all(last, first).iter().all(Option::is_none));
    assert!(of_all(Timestamp::MIN, Timestamp::MAX).iter().all(Option::is_some));
    assert_eq!(ReverseTicks::sort_keys(at("2262-04-11T23:47:16.854775808Z"), Timestamp::MAX), None);
    // The text does not sort as time there.
    assert_eq!(ShardedDay::sort_keys(Timestamp::UNIX_EPOCH, at("2001-09-09T01:46:39.999Z")), None);
    assert_eq!(ShardedDay::sort_keys(at("2286-11-20T17:46:40Z"), Timestamp::MAX), None);
}

#[test]
fn windows_end_at_the_first_and_last_times() {
    for offset in [-64_800, 64_800] {
        let offset = Offset::from_seconds(offset).unwrap();
        assert_eq!(InvertedUuid::window(Timestamp::MIN, offset).first, Timestamp::MIN);
        assert_eq!(InvertedUuid::window(Timestamp::MAX, offset).last, Timestamp::MAX);
    }
    for window in [ShardedDay::window, ShardedDay::user_window, QuarterHour::window] {
        assert_eq!(window(Timestamp::MIN).first, Timestamp::MIN);
        assert_eq!(window(Timestamp::MAX).last, Timestamp::MAX);
    }
}

#[test]
fn sharded_day_text_stops_sorting_as_documented() {
    let sk =
        |at_text| ShardedDay::new(ShardedDayScope::Day(0.into()), at(at_text), "e").unwrap().write_key().sk;
    assert!(sk("2286-11-20T17:46:39.999Z") > sk("2286-11-20T17:46:40Z"));
    assert!(sk("2001-09-09T01:46:39.999Z") > sk("2001-09-09T01:46:40Z"));
}
