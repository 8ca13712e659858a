//! Strategies for the crate's property tests.

use proptest::prelude::*;

use crate::{
    Actor, App, Bucket, BucketWidth, Caller, Consumer, EventId, EventType, Owner, Repo, Shard, Source,
    Subject, Tick, Topic, UnixMillis, User, table::SessionId,
};

/// Any time, often near an end of the range or near the start of a month.
pub(crate) fn millis() -> impl Strategy<Value = UnixMillis> {
    let max = UnixMillis::MAX.get();
    let near_month = (0..96_360_u64, -2..2_i64).prop_map(move |(month, by)| {
        let label = format!("{:04}-{:02}", 1970 + month / 12, 1 + month % 12);
        let first = label.parse::<Bucket>().unwrap().first().get();
        first.saturating_add_signed(by).min(max)
    });
    prop_oneof![
        4 => 0..=max,
        2 => 1_500_000_000_000..2_000_000_000_000_u64,
        1 => near_month,
        1 => 0..3_u64,
        1 => max - 2..=max,
    ]
    .prop_map(|millis| UnixMillis::new(millis).unwrap())
}

pub(crate) fn shard() -> impl Strategy<Value = Shard> {
    any::<u8>().prop_map(Shard::from)
}

pub(crate) fn id() -> impl Strategy<Value = EventId> {
    (millis(), shard(), any::<u128>()).prop_map(|(at, shard, entropy)| EventId::import(at, shard, entropy))
}

/// Clock readings that often repeat, lie close together, or lie at the end of the year 9999.
pub(crate) fn tick_in_bursts() -> impl Strategy<Value = Tick> {
    prop_oneof![
        2 => millis().prop_map(Tick::first_of),
        4 => (1_700_000_000_000..1_700_000_000_003_u64).prop_map(|at| Tick::last_of(UnixMillis::new(at).unwrap())),
        1 => Just(Tick::MAX),
    ]
}

pub(crate) fn bucket_width() -> impl Strategy<Value = BucketWidth> {
    prop::sample::select(BucketWidth::ALL.to_vec())
}

pub(crate) fn bucket() -> impl Strategy<Value = Bucket> {
    (bucket_width(), millis()).prop_map(|(width, at)| Bucket::containing(width, at))
}

macro_rules! name_strategies {
    ($($function:ident: $type:ident = $pattern:literal;)*) => {$(
        pub(crate) fn $function() -> impl Strategy<Value = $type> {
            $pattern.prop_map(|text| text.parse().unwrap())
        }
    )*};
}

name_strategies! {
    topic: Topic = "[A-Za-z0-9][A-Za-z0-9._@-]{0,127}";
    actor: Actor = "[A-Za-z0-9][A-Za-z0-9._@-]{0,127}";
    user: User = "[A-Za-z0-9][A-Za-z0-9._@-]{0,127}";
    app: App = "[A-Za-z0-9][A-Za-z0-9._@-]{0,127}";
    consumer: Consumer = "[A-Za-z0-9][A-Za-z0-9._@-]{0,127}";
    owner: Owner = "[A-Za-z0-9][A-Za-z0-9._@-]{0,59}";
    repo: Repo = "[A-Za-z0-9][A-Za-z0-9._@-]{0,59}";
    subject: Subject = "[A-Za-z0-9][A-Za-z0-9._@:-]{0,127}";
    event_type: EventType = "[a-z0-9][a-z0-9._-]{0,63}";
}

pub(crate) fn source() -> impl Strategy<Value = Source> {
    prop_oneof![actor().prop_map(Source::Actor), subject().prop_map(Source::Subject)]
}

pub(crate) fn session_id() -> impl Strategy<Value = SessionId> {
    any::<u128>().prop_map(|bits| {
        uuid::Uuid::from_u128(bits).to_string().parse().expect("any UUID's text is a session's")
    })
}

pub(crate) fn caller() -> impl Strategy<Value = Caller> {
    prop_oneof![user().prop_map(Caller::User), session_id().prop_map(Caller::Session)]
}
