//! The tables for a workload: a table of a published design, or a topic of Lately.
//!
//! Both are filled by the code that a program would use, in full batches. A table has no stream unless the stream is
//! read.

use std::time::Duration;

use jiff::Timestamp;
use lately_designs::{Design, DesignTable, KeyAttributes, KeyType, KeyValue, WriteKey};
use lately_engine::{Attribute, KeyNames, Options, TableDefinition};
use lately_keys::UnixMillis;
use lately_model::NewEvent;
use lately_rig::{World, definition, engine_of};
use lately_table::{Connection, Item};

use super::workload::{Happening, Workload};
use crate::topic::{Bench, of_512_bytes};

/// The events of one call to the writer: enough that several of its batches are under way at once.
const AT_ONCE: usize = 500;

const TABLE: &str = "elsewhere";
const KEYS: [&str; 2] = ["pk", "sk"];

/// A connection to an empty table of a published design. `budget` is the time for which it tries to write.
pub(super) fn elsewhere(design: &Design, options: Options, budget: Duration) -> Connection {
    let types = design.key_types();
    let attribute = |name: &str, of: KeyType| {
        let kind = match of {
            KeyType::S => "S",
            KeyType::N => "N",
        };
        Attribute { name: name.to_owned(), kind: kind.to_owned() }
    };
    let [pk, sk] = KEYS;
    let definition = TableDefinition {
        attributes: vec![attribute(pk, types.pk), attribute(sk, types.sk)],
        key: KeyNames { partition: pk.to_owned(), sort: Some(sk.to_owned()) },
        indexes: Vec::new(),
        ttl_attribute: None,
        stream: None,
    };
    let world = World::beginning(since_epoch(Workload::end()), 0);
    let engine = engine_of(&world, &definition, TABLE, options);
    Connection::new(engine.client(), TABLE, world, budget)
}

/// A timeline in such a table.
pub(super) fn timeline(connection: &Connection, design: Design) -> DesignTable {
    let [pk, sk] = KEYS.map(str::to_owned);
    DesignTable::new(connection.clone(), design, KeyAttributes { pk, sk })
}

/// An event of a published design, whose item has 512 bytes.
pub(super) fn of_design(design: &Design, Happening { at, entropy, .. }: Happening) -> (WriteKey, Item) {
    let key = design.write_key(at, entropy).expect("the design has keys for this time");
    // A number has a byte for each two digits, one more byte, and one for a minus sign.
    let bytes = |value: &KeyValue| match value {
        KeyValue::S(text) => text.len(),
        KeyValue::N(number) => {
            number.unsigned_abs().to_string().len().div_ceil(2) + 1 + usize::from(*number < 0)
        }
    };
    let names = KEYS.concat().len() + "data".len();
    let data = "x".repeat(512 - names - bytes(&key.pk) - bytes(&key.sk));
    (key, Item::new().with("data", data))
}

/// Writes the workload's events to a timeline.
pub(super) async fn fill(table: &DesignTable, design: &Design, happenings: impl Iterator<Item = Happening>) {
    let mut events = happenings.map(|happening| of_design(design, happening)).peekable();
    while events.peek().is_some() {
        table.write(events.by_ref().take(AT_ONCE)).await.expect("the engine injects no faults");
    }
}

/// A topic of Lately at the workloads' end. With `stream`, the table has a stream.
pub(super) async fn lately(settings: &str, stream: bool, options: Options) -> Bench {
    let without = TableDefinition { stream: None, ttl_attribute: None, ..definition().clone() };
    let definition = if stream { definition() } else { &without };
    Bench::at(since_epoch(Workload::end()), 0, settings, definition, options).await
}

/// Writes the workload's events to a topic. `actor` gives the actor of a user's events.
pub(super) async fn fill_topic(
    bench: &Bench,
    happenings: impl Iterator<Item = Happening>,
    actor: impl Fn(u32) -> String,
) {
    let template = of_512_bytes();
    let mut events = happenings
        .map(|Happening { at, user, .. }| {
            let actor = actor(user).parse().expect("an actor");
            NewEvent { at: Some(millis(at)), actor, ..template.clone() }
        })
        .peekable();
    while events.peek().is_some() {
        bench.write(events.by_ref().take(AT_ONCE).collect()).await;
    }
}

pub(super) fn millis(at: Timestamp) -> UnixMillis {
    UnixMillis::from_nanos(at.as_nanosecond()).expect("the time is in the valid range")
}

fn since_epoch(at: Timestamp) -> Duration {
    Duration::try_from(at.as_duration()).expect("after 1970")
}
