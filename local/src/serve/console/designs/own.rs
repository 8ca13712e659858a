//! Lately's own design: the same events in the template's table, written by the store.

use std::collections::BTreeSet;

use lately_items::EventKey;
use lately_keys::{BucketWidth, TableKey, Topic};
use lately_kit::limits::OPERATION_BUDGET;
use lately_kit::problem::Problem;
use lately_kit::world::World;
use lately_model::{Event, EventQuery, NewEvent, PageSize, TopicChange};
use lately_store::{Store, Submission};
use lately_table::Connection;

use crate::serve::console::designs::{
    DesignView, KeysView, PartitionView, ReadView, SampleView, engine, number, partitions, sample,
};
use crate::serve::console::parts::ConsoleState;
use crate::serve::system::TABLE;

pub(super) async fn compare(
    shared: &ConsoleState,
    topic: &Topic,
    events: &[Event],
    limit: PageSize,
) -> Result<DesignView, Problem> {
    let engine = engine()?;
    let created = shared.parts.system.table().map(|table| engine.create_table(&table, TABLE));
    created.map_err(|error| Problem::unavailable(&error))?.map_err(|error| Problem::unavailable(&error))?;
    let store = || Store::new(Connection::new(engine.client(), TABLE, World::new(), OPERATION_BUDGET));
    let known = shared.looking.op().topic(topic).view().await?;
    let bucket = known.settings.bucket;
    let (placed, write_units) = write(&store(), topic, bucket, events).await?;
    let query = EventQuery { limit, ..EventQuery::default() };
    let op = store().op();
    let page = op.topic(topic).latest(&query).await?;
    let cost = op.cost();
    let mut partitions = partitions(&engine, TABLE).await?;
    // Leave out the partition of the topic and its directory.
    partitions.retain(|pk, _| placed.contains(pk));
    let stored = partitions.values().sum();
    Ok(DesignView {
        name: "lately",
        title: "Lately",
        keys: KeysView { pk: "S", sk: "S" },
        stored,
        lost: events.len() - stored,
        write_units,
        read: ReadView::of(&cost, true),
        partitions: partitions.into_iter().map(|(pk, items)| PartitionView { pk, items }).collect(),
        sample: sample(&page.events, |event| sample_of(topic, bucket, event)),
    })
}

/// Creates the topic and writes the events to it. The result is their partitions and the write units.
async fn write(
    store: &Store,
    topic: &Topic,
    bucket: BucketWidth,
    events: &[Event],
) -> Result<(BTreeSet<String>, f64), Problem> {
    let change = serde_json::json!({"bucket": bucket, "fan_out": false, "views": []}).to_string();
    let change = TopicChange::parse(change.as_bytes()).expect("the settings are a topic's own");
    store.op().topic(topic).put(&change).await?;
    // A submission has at least one event.
    if events.is_empty() {
        return Ok((BTreeSet::new(), 0.0));
    }
    let again = |event: &Event| {
        let Event { event_type, actor, subject, data, .. } = event.clone();
        NewEvent { event_type, actor, subject, data, at: Some(event.at()) }
    };
    let events = events.iter().map(again).collect();
    let submission = Submission { may_import: true, ..Submission::new(events) };
    let op = store.op();
    let written = op.topic(topic).write(submission).await?;
    let key = |event: &Event| EventKey::new(topic.clone(), bucket, event.id);
    let placed = written.events.iter().map(|event| key(event).partition().to_string()).collect();
    Ok((placed, number(op.cost().write_units)))
}

/// An event with its stored keys.
fn sample_of(topic: &Topic, bucket: BucketWidth, event: &Event) -> SampleView {
    let key = EventKey::new(topic.clone(), bucket, event.id).encode();
    SampleView {
        pk: key.pk,
        sk: key.sk,
        at: event.at().to_string(),
        event_type: event.event_type.to_string(),
        actor: event.actor.to_string(),
    }
}
