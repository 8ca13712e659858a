//! Every design on a table of its own key types. The table's key names are words that expressions may not use.

use std::num::NonZeroU32;

use aws_sdk_dynamodb::Client;
use jiff::tz::Offset;
use jiff::{SignedDuration, Timestamp};
use lately_designs::{
    Design, DesignTable, Event, KeyAttributes, KeyType, NaturalOrder, Page, Walk, WriteKey,
};
use lately_engine::{Attribute, Engine, KeyNames, Options, TableDefinition};
use lately_keys::{Order, ShardCount};
use lately_rig::{BUDGET, Seed, World, engine_of, seeds};
use lately_table::{Connection, Cost, Item};

const TABLE: &str = "elsewhere";

pub(crate) fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

/// A time that is later, or earlier, than another.
pub(crate) fn later(at: Timestamp, by: SignedDuration) -> Timestamp {
    at.checked_add(by).unwrap()
}

pub(crate) fn limit(events: u32) -> NonZeroU32 {
    NonZeroU32::new(events).unwrap()
}

pub(crate) fn sharded_day(shards: u16) -> Design {
    Design::ShardedDay { shards: ShardCount::new(shards).unwrap() }
}

pub(crate) fn chronological(natural: NaturalOrder) -> Design {
    Design::Chronological { user: "ada".parse().unwrap(), natural }
}

pub(crate) fn reverse_ticks() -> Design {
    Design::ReverseTicks { user: "ada".parse().unwrap() }
}

pub(crate) fn user_month() -> Design {
    Design::UserMonth { user: "ada".parse().unwrap() }
}

/// Inverted UUIDs, with days that begin in Tokyo.
pub(crate) fn inverted_uuid() -> Design {
    Design::InvertedUuid { offset: Offset::constant(9) }
}

/// Seeds, each with the design of its story. As many seeds in a row as there are designs tell of each design once.
pub(crate) fn stories(of_each: u64) -> impl Iterator<Item = (Seed, Design)> {
    let designs = designs();
    let count = u64::try_from(designs.len()).unwrap();
    seeds(of_each * count).map(move |seed| {
        let index = usize::try_from(seed.0 % count).unwrap();
        (seed, designs[index].clone())
    })
}

/// The five designs and their variants.
pub(crate) fn designs() -> [Design; 7] {
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
pub(crate) fn engine(world: &World, design: &Design, options: Options) -> Engine {
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
    engine_of(world, &definition, TABLE, options)
}

pub(crate) fn table(client: Client, world: &World, design: &Design) -> DesignTable {
    let connection = Connection::new(client, TABLE, world.clone(), BUDGET);
    let keys = KeyAttributes { pk: "partition".to_owned(), sk: "time".to_owned() };
    DesignTable::new(connection, design.clone(), keys)
}

/// An empty table on an engine without faults.
pub(crate) fn scene(design: &Design) -> (World, Engine, DesignTable) {
    let world = World::new(1);
    let engine = engine(&world, design, Options::default());
    let table = table(engine.client(), &world, design);
    (world, engine, table)
}

/// An event that carries a number.
pub(crate) fn numbered(key: WriteKey, number: usize) -> (WriteKey, Item) {
    (key, Item::new().with("n", u64::try_from(number).unwrap()))
}

pub(crate) fn number(event: &Event) -> usize {
    event.attributes.get::<u64>("n").unwrap().try_into().unwrap()
}

pub(crate) fn numbers(events: &[Event]) -> Vec<usize> {
    events.iter().map(number).collect()
}

/// Random bits. A number always gives the same bits, and consecutive numbers fall into shards in turn.
pub(crate) fn entropy(number: usize) -> u128 {
    let number = u64::try_from(number).unwrap();
    let mut random = fastrand::Rng::with_seed(number);
    random.u128(..) << 8 | u128::from(number % 256)
}

/// Reads a walk to its end.
pub(crate) async fn all(table: &DesignTable, walk: &Walk) -> (Vec<Event>, Cost) {
    all_by(walk, async |walk| table.read(walk).await.unwrap()).await
}

/// Reads a walk to its end. A function reads each page.
pub(crate) async fn all_by(walk: &Walk, read: impl AsyncFn(&Walk) -> (Page, Cost)) -> (Vec<Event>, Cost) {
    let (mut walk, mut events, mut cost) = (walk.clone(), Vec::new(), Cost::default());
    loop {
        let (page, paid) = read(&walk).await;
        assert!(page.events.len() <= usize::try_from(walk.limit.get()).unwrap());
        cost += paid;
        events.extend(page.events);
        if !page.has_more {
            return (events, cost);
        }
        walk.position = Some(page.position);
    }
}

/// A walk in an order.
pub(crate) fn walk(order: Order, after: Timestamp, to: Timestamp, events: u32) -> Walk {
    match order {
        Order::NewestFirst => Walk::newest_first(after, to, limit(events)),
        Order::OldestFirst => Walk::oldest_first(after, to, limit(events)),
    }
}
