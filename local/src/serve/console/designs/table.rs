//! One published design: its table, the events that it stores, and a read of the latest.

use std::num::NonZeroU32;

use jiff::{SignedDuration, Timestamp};
use lately_designs::{self as designs, Design, DesignTable, KeyAttributes, KeyType, Walk};
use lately_engine::{Attribute, KeyNames, TableDefinition};
use lately_keys::Subject;
use lately_kit::limits::OPERATION_BUDGET;
use lately_kit::problem::Problem;
use lately_kit::world::World;
use lately_model::{Data, Event, PageSize};
use lately_table::{Connection, Cost, Item};

use crate::serve::console::designs::{
    DesignView, KeysView, PartitionView, ReadView, SampleView, engine, letter, number, partitions, sample,
    time_of,
};
use crate::serve::console::limits::{COMPARED, READS};

/// The name of the table.
const TABLE: &str = "design";
/// The names of the key attributes.
const KEYS: [&str; 2] = ["pk", "sk"];

pub(super) async fn compare(
    name: &'static str,
    title: &'static str,
    design: Design,
    events: &[Event],
    limit: PageSize,
) -> Result<DesignView, Problem> {
    let types = design.key_types();
    let engine = engine()?;
    let created = engine.create_table(&definition(&design), TABLE);
    created.map_err(|error| Problem::unavailable(&error))?;
    let connection = Connection::new(engine.client(), TABLE, World::new(), OPERATION_BUDGET);
    let [pk, sk] = KEYS.map(str::to_owned);
    let table = DesignTable::new(connection, design.clone(), KeyAttributes { pk, sk });
    let mut items = Vec::new();
    for event in events {
        // The random part of an event's key is the same each time.
        let (_, seed) = event.id.as_uuid().as_u64_pair();
        let entropy = fastrand::Rng::with_seed(seed).u128(..);
        let key = design.write_key(time_of(event.id), entropy);
        items.push((key.map_err(|error| Problem::unavailable(&error))?, attributes(event)));
    }
    let written = table.write(items).await.map_err(|error| Problem::unavailable(&error))?;
    let partitions = partitions(&engine, TABLE).await?;
    let stored = partitions.values().sum();
    let (found, cost, complete) = latest(&table, events, limit).await?;
    let view = |event: designs::Event| {
        let text = |name| event.attributes.text(name).map(str::to_owned).ok();
        SampleView {
            pk: event.key.pk.to_string(),
            sk: event.key.sk.to_string(),
            at: event.at.to_string(),
            event_type: text("t").unwrap_or_default(),
            actor: text("a").unwrap_or_default(),
        }
    };
    Ok(DesignView {
        name,
        title,
        keys: KeysView { pk: letter(types.pk), sk: letter(types.sk) },
        stored,
        lost: events.len() - stored,
        write_units: number(written.write_units),
        read: ReadView::of(&cost, complete),
        partitions: partitions.into_iter().map(|(pk, items)| PartitionView { pk, items }).collect(),
        sample: sample(found, view),
    })
}

fn definition(design: &Design) -> TableDefinition {
    let types = design.key_types();
    let attribute =
        |name: &str, of: KeyType| Attribute { name: name.to_owned(), kind: letter(of).to_owned() };
    let [pk, sk] = KEYS;
    TableDefinition {
        attributes: vec![attribute(pk, types.pk), attribute(sk, types.sk)],
        key: KeyNames { partition: pk.to_owned(), sort: Some(sk.to_owned()) },
        indexes: Vec::new(),
        ttl_attribute: None,
        stream: None,
    }
}

/// The attributes of an event except its time, with names as short as Lately's.
fn attributes(event: &Event) -> Item {
    Item::from([("t", event.event_type.as_str()), ("a", event.actor.as_str())])
        .with_some("s", event.subject.as_ref().map(Subject::as_str))
        .with_some("d", event.data.as_ref().map(Data::as_str))
}

/// Reads the latest events in the design's own way. The result has their cost, and true if all were found.
async fn latest(
    table: &DesignTable,
    events: &[Event],
    limit: PageSize,
) -> Result<(Vec<designs::Event>, Cost, bool), Problem> {
    let times =
        events.first().zip(events.last()).map(|(newest, oldest)| [newest, oldest].map(|it| time_of(it.id)));
    let [to, oldest] = times.unwrap_or([Timestamp::UNIX_EPOCH; 2]);
    // A design that stores whole seconds puts the oldest event at the beginning of its second.
    let after = oldest.checked_sub(SignedDuration::from_secs(1)).unwrap_or(Timestamp::MIN);
    let wanted = usize::from(limit.get()).min(events.len()).min(COMPARED);
    let (mut found, mut cost, mut position) = (Vec::new(), Cost::default(), None);
    for _ in 0..READS {
        let missing = u32::try_from(wanted - found.len()).ok().and_then(NonZeroU32::new);
        let Some(missing) = missing else { return Ok((found, cost, true)) };
        let walk = Walk { position: position.take(), ..Walk::newest_first(after, to, missing) };
        let (page, paid) = table.read(&walk).await.map_err(|error| Problem::unavailable(&error))?;
        found.extend(page.events);
        cost += paid;
        position = Some(page.position);
        if !page.has_more {
            return Ok((found, cost, true));
        }
    }
    let complete = found.len() == wanted;
    Ok((found, cost, complete))
}
