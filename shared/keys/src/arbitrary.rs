//! Strategies for property tests.

use proptest::prelude::*;

use crate::{
    Actor, App, Bucket, BucketWidth, Caller, Consumer, EventId, EventType, Owner, Repo, SessionId, Shard,
    Source, Subject, Tick, Topic, UnixMillis, User,
};

/// Any time, often near an end of the range or near the start of a month.
pub fn millis() -> impl Strategy<Value = UnixMillis> {
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
pub fn shard() -> impl Strategy<Value = Shard> {
    any::<u8>().prop_map(Shard::from)
}

/// Any id.
pub fn id() -> impl Strategy<Value = EventId> {
    (millis(), shard(), any::<u128>()).prop_map(|(at, shard, entropy)| EventId::import(at, shard, entropy))
}

/// Clock readings that often repeat, lie close together, or lie at the end of the year 9999.
pub fn tick_in_bursts() -> impl Strategy<Value = Tick> {
    prop_oneof![
        2 => millis().prop_map(Tick::first_of),
        4 => (1_700_000_000_000..1_700_000_000_003_u64).prop_map(|at| Tick::last_of(UnixMillis::new(at).expect("the time is in range"))),
        1 => Just(Tick::MAX),
    ]
}

/// Any width.
pub fn bucket_width() -> impl Strategy<Value = BucketWidth> {
    prop::sample::select(BucketWidth::ALL.to_vec())
}

/// Any bucket.
pub fn bucket() -> impl Strategy<Value = Bucket> {
    (bucket_width(), millis()).prop_map(|(width, at)| Bucket::containing(width, at))
}

macro_rules! name_strategies {
    ($($function:ident: $type:ident = $pattern:literal;)*) => {$(
        /// Any such name.
        pub fn $function() -> impl Strategy<Value = $type> {
            $pattern.prop_map(|text| text.parse().expect("the pattern is a name"))
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

/// Any source.
pub fn source() -> impl Strategy<Value = Source> {
    prop_oneof![actor().prop_map(Source::Actor), subject().prop_map(Source::Subject)]
}

/// Any session's id.
pub fn session_id() -> impl Strategy<Value = SessionId> {
    any::<u128>().prop_map(|bits| {
        uuid::Uuid::from_u128(bits).to_string().parse().expect("any UUID's text is a session's")
    })
}

/// Any caller.
pub fn caller() -> impl Strategy<Value = Caller> {
    prop_oneof![user().prop_map(Caller::User), session_id().prop_map(Caller::Session)]
}
