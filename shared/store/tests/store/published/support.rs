//! Every design on a table of its own key types, whose names are words that expressions may not use.

use std::num::NonZeroU32;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::AttributeValue;
use jiff::tz::Offset;
use jiff::{SignedDuration, Timestamp};
use lately_engine::{Attribute, Engine, KeyNames, Options, TableDefinition};
use lately_keys::published::{KeyType, NaturalOrder, WriteKey};
use lately_keys::{Order, ShardCount};
use lately_store::published::{Attributes, Design, DesignTable, Event, KeyAttributes, Page, Walk};
use lately_store::{Cost, Store};

use crate::support::{BUDGET, World};

const TABLE: &str = "elsewhere";

pub(super) fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

/// So much later, or earlier.
pub(super) fn later(at: Timestamp, by: SignedDuration) -> Timestamp {
    at.checked_add(by).unwrap()
}

pub(super) fn limit(events: u32) -> NonZeroU32 {
    NonZeroU32::new(events).unwrap()
}

pub(super) fn sharded_day(shards: u16) -> Design {
    Design::ShardedDay { shards: ShardCount::new(shards).unwrap() }
}

pub(super) fn chronological(natural: NaturalOrder) -> Design {
    Design::Chronological { user: "ada".parse().unwrap(), natural }
}

pub(super) fn reverse_ticks() -> Design {
    Design::ReverseTicks { user: "ada".parse().unwrap() }
}

pub(super) fn user_month() -> Design {
    Design::UserMonth { user: "ada".parse().unwrap() }
}

/// Days that begin in Tokyo.
pub(super) fn inverted_uuid() -> Design {
    Design::InvertedUuid { offset: Offset::constant(9) }
}

/// The five, and their variants.
pub(super) fn designs() -> [Design; 7] {
    [
        reverse_ticks(),
        chronological(NaturalOrder::NewestFirst),
        chronological(NaturalOrder::OldestFirst),
        sharded_day(4),
        user_month(),
        inverted_uuid(),
        Design::QuarterHour,
    ]
}

/// An engine with an empty table of a design.
pub(super) fn engine(world: &World, design: &Design, options: Options) -> Engine {
    let types = design.key_types();
    let attribute = |name: &str, of: KeyType| {
        let kind = match of {
            KeyType::S => "S",
            KeyType::N => "N",
        };
        Attribute { name: name.to_owned(), kind: kind.to_owned() }
    };
    let definition = TableDefinition {
        attributes: vec![attribute("partition", types.pk), attribute("time", types.sk)],
        key: KeyNames { partition: "partition".to_owned(), sort: Some("time".to_owned()) },
        indexes: Vec::new(),
        ttl_attribute: None,
        stream: None,
    };
    let engine = Engine::memory(&Options { clock: world.clock(), ..options }).unwrap();
    engine.create_table(&definition, TABLE).unwrap();
    engine
}

pub(super) fn table(client: Client, world: &World, design: &Design) -> DesignTable {
    let store = Store::new(client, TABLE, world.clone(), BUDGET);
    let keys = KeyAttributes { pk: "partition".to_owned(), sk: "time".to_owned() };
    DesignTable::new(store, design.clone(), keys)
}

/// An empty table on an engine where nothing goes wrong.
pub(super) fn scene(design: &Design) -> (World, Engine, DesignTable) {
    let world = World::new(1);
    let engine = engine(&world, design, Options::default());
    let table = table(engine.client(), &world, design);
    (world, engine, table)
}

/// An event that is told by its number.
pub(super) fn numbered(key: WriteKey, number: usize) -> (WriteKey, Attributes) {
    (key, Attributes::from([("n".to_owned(), AttributeValue::N(number.to_string()))]))
}

pub(super) fn number(event: &Event) -> usize {
    event.attributes["n"].as_n().unwrap().parse().unwrap()
}

pub(super) fn numbers(events: &[Event]) -> Vec<usize> {
    events.iter().map(number).collect()
}

/// Random bits that are the same for the same number, and fall into shards in turn.
pub(super) fn entropy(number: usize) -> u128 {
    let number = u64::try_from(number).unwrap();
    let mut random = fastrand::Rng::with_seed(number);
    random.u128(..) << 8 | u128::from(number % 256)
}

/// Reads a walk to its end.
pub(super) async fn all(table: &DesignTable, walk: &Walk) -> (Vec<Event>, Cost) {
    let (page, mut cost) = table.read(walk).await.unwrap();
    let Page { mut events, mut position, mut has_more } = page;
    while has_more {
        let (page, paid) = table.read(&Walk { position: Some(position), ..walk.clone() }).await.unwrap();
        assert!(page.events.len() <= usize::try_from(walk.limit.get()).unwrap());
        cost += paid;
        events.extend(page.events);
        (position, has_more) = (page.position, page.has_more);
    }
    (events, cost)
}

/// A walk of an order.
pub(super) fn walk(order: Order, after: Timestamp, to: Timestamp, events: u32) -> Walk {
    match order {
        Order::NewestFirst => Walk::newest_first(after, to, limit(events)),
        Order::OldestFirst => Walk::oldest_first(after, to, limit(events)),
    }
}
