//! Fuzzes the names, ids and other words in paths, queries and bodies. A parsed value prints a text that parses to the
//! same value.
#![no_main]

use std::fmt::{Debug, Display};
use std::str::FromStr;

use lately_engine::stream::SequenceNumber;
use lately_items::IdempotencyKey;
use lately_keys::{Actor, App, Bucket, BucketWidth, Caller, Consumer, ErasureId, EventId, EventType, IssueNumber, IssuePriority, IssueStatus, Owner, Repo, SessionId, Shard, Source, Subject, Topic, UnixMillis, User};
use lately_model::{BatchToken, IssueTitle, Label, PageSize, Scope, View};
use libfuzzer_sys::fuzz_target;

/// Checks that a parsed value prints a text that parses to the same value, which prints the same text.
fn round_trip<T: FromStr<Err: Debug> + Display + PartialEq + Debug>(text: &str) {
    if let Ok(one) = text.parse::<T>() {
        let printed = one.to_string();
        assert_eq!(printed.parse::<T>().unwrap(), one);
        assert_eq!(printed.parse::<T>().unwrap().to_string(), printed);
    }
}

/// Checks also that the value prints the text from which it was parsed.
fn exact<T: FromStr<Err: Debug> + Display + PartialEq + Debug>(text: &str) {
    round_trip::<T>(text);
    if let Ok(one) = text.parse::<T>() {
        assert_eq!(one.to_string(), text);
    }
}

fuzz_target!(|text: &str| {
    exact::<Topic>(text);
    exact::<Actor>(text);
    exact::<App>(text);
    exact::<Consumer>(text);
    exact::<EventType>(text);
    exact::<Owner>(text);
    exact::<Repo>(text);
    exact::<Subject>(text);
    exact::<User>(text);
    exact::<Source>(text);
    exact::<Caller>(text);
    exact::<IdempotencyKey>(text);
    exact::<Bucket>(text);
    exact::<BucketWidth>(text);
    exact::<IssueStatus>(text);
    exact::<IssuePriority>(text);
    exact::<Scope>(text);
    exact::<View>(text);
    exact::<SequenceNumber>(text);
    round_trip::<EventId>(text);
    round_trip::<SessionId>(text);
    round_trip::<ErasureId>(text);
    if let Some(id) = EventId::of_sort_key(text) {
        assert_eq!(id.sort_key().to_string(), text);
    }
    round_trip::<UnixMillis>(text);
    round_trip::<IssueNumber>(text);
    round_trip::<BatchToken>(text);
    drop((text.parse::<Shard>(), text.parse::<PageSize>(), text.parse::<Label>(), text.parse::<IssueTitle>()));
    let _ = UnixMillis::parse_bound(text);
});
