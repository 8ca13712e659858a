//! Strategies for property tests, also for those of `lately-items`, which include this file. A feature for them would build
//! this crate and all its dependents twice: for `cargo run`, and with the feature for `cargo test`.

use std::fmt::Debug;
use std::str::FromStr;

use proptest::prelude::*;

use super::{
    Actor, Bucket, BucketWidth, EventId, SessionId, Shard, Source, Subject, Tick, Topic, UnixMillis, User,
};

/// Any time, often near an end of the range or near the start of a month.
pub(crate) fn millis() -> impl Strategy<Value = UnixMillis> {
    let max = UnixMillis::MAX.get();
    let near_month = (0..96_360_u64, -2..2_i64).prop_map(move |(month, by)| {
        let label = format!("{:04}-{:02}", 1970 + month / 12, 1 + month % 12);
        let first = label.parse::<Bucket>().expect("a month is a bucket").first().get();
        first.saturating_add_signed(by).min(max)
    });
    prop_oneof![
        4 => 0..=max,
        2 => 1_500_000_000_000..2_000_000_000_000_u64,
        1 => near_month,
        1 => 0..3_u64,
        1 => max - 2..=max,
    ]
    .prop_map(|millis| UnixMillis::new(millis).expect("the time is in range"))
}

/// Any shard.
pub(crate) fn shard() -> impl Strategy<Value = Shard> {
    any::<u8>().prop_map(Shard::from)
}

/// Any id.
pub(crate) fn id() -> impl Strategy<Value = EventId> {
    (millis(), shard(), any::<u128>()).prop_map(|(at, shard, entropy)| EventId::import(at, shard, entropy))
}

/// Clock readings that often repeat, lie close together, or lie at the end of the year 9999.
pub(crate) fn tick_in_bursts() -> impl Strategy<Value = Tick> {
    prop_oneof![
        2 => millis().prop_map(Tick::first_of),
        4 => (1_700_000_000_000..1_700_000_000_003_u64).prop_map(|at| Tick::last_of(UnixMillis::new(at).expect("the time is in range"))),
        1 => Just(Tick::MAX),
    ]
}

/// Any width.
pub(crate) fn bucket_width() -> impl Strategy<Value = BucketWidth> {
    prop::sample::select(BucketWidth::ALL.to_vec())
}

/// Any bucket.
pub(crate) fn bucket() -> impl Strategy<Value = Bucket> {
    (bucket_width(), millis()).prop_map(|(width, at)| Bucket::containing(width, at))
}

/// The values whose texts match a pattern.
pub(crate) fn matching<T: FromStr<Err: Debug> + Debug>(pattern: &'static str) -> impl Strategy<Value = T> {
    pattern.prop_map(|text| text.parse().expect("the pattern matches only valid texts"))
}

/// The text of any name of a topic, an actor or a user.
pub(crate) const NAME: &str = "[A-Za-z0-9][A-Za-z0-9._@-]{0,127}";

/// Any topic.
pub(crate) fn topic() -> impl Strategy<Value = Topic> {
    matching(NAME)
}

/// Any actor.
pub(crate) fn actor() -> impl Strategy<Value = Actor> {
    matching(NAME)
}

/// Any user.
pub(crate) fn user() -> impl Strategy<Value = User> {
    matching(NAME)
}

/// Any subject.
pub(crate) fn subject() -> impl Strategy<Value = Subject> {
    matching("[A-Za-z0-9][A-Za-z0-9._@:-]{0,127}")
}

/// Any session's id.
pub(crate) fn session_id() -> impl Strategy<Value = SessionId> {
    matching("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
}

/// Any source.
pub(crate) fn source() -> impl Strategy<Value = Source> {
    prop_oneof![actor().prop_map(Source::Actor), subject().prop_map(Source::Subject)]
}
