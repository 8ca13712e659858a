//! Compares the published designs with Lately's: writes the same events into a table of each design, and reads back the
//! latest.
//!
//! The tables are in temporary engines. The crate [`lately_designs`] writes and reads each design
//! as its author meant it. If a design has one timeline per user and none for all, the topic counts as one user. Only
//! the timeline itself is written, for Lately too: no views and no feeds. The price of a read is that of a process with
//! empty caches.

mod own;
mod table;

use std::collections::BTreeMap;

use aws_sdk_dynamodb::types::AttributeValue;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use jiff::Timestamp;
use jiff::tz::Offset;
use lately_designs::{Design, KeyType, NaturalOrder};
use lately_engine::{Clock, Engine};
use lately_keys::{EventId, ShardCount, Topic, User};
use lately_kit::problem::Problem;
use lately_kit::query::{Query, QueryString};
use lately_kit::{answer, clock};
use lately_model::{Event, EventQuery, Faults, PageSize};
use lately_store::{Cost, Units};
use serde::Serialize;

use crate::serve::console::limits::{COMPARED, SAMPLE};
use crate::serve::console::parts::ConsoleState;
use crate::serve::console::refusal::{Refusals, child, parameters};

/// The number of shards of the sharded day, a constant in that design. Its publications usually have four.
const SHARDS: u16 = 4;

#[derive(Serialize)]
struct Comparison {
    events: usize,
    limit: u16,
    designs: Vec<DesignView>,
}

#[derive(Serialize)]
struct DesignView {
    name: &'static str,
    title: &'static str,
    keys: KeysView,
    stored: usize,
    lost: usize,
    write_units: f64,
    read: ReadView,
    partitions: Vec<PartitionView>,
    sample: Vec<SampleView>,
}

#[derive(Serialize)]
struct KeysView {
    pk: &'static str,
    sk: &'static str,
}

#[derive(Serialize)]
struct ReadView {
    calls: u64,
    read_units: f64,
    items: u64,
    rounds: u64,
    /// True if the read found the latest events within its limit of work.
    complete: bool,
}

#[derive(Serialize)]
struct PartitionView {
    pk: String,
    items: usize,
}

#[derive(Serialize)]
struct SampleView {
    pk: String,
    sk: String,
    at: String,
    #[serde(rename = "type")]
    event_type: String,
    actor: String,
}

/// The parameters of a comparison.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct DesignsQuery {
    topic: Topic,
    limit: PageSize,
}

impl QueryString for DesignsQuery {
    fn parse(query: &str) -> Result<Self, Faults> {
        let (mut topic, mut limit, mut refusals) = (None, PageSize::default(), Refusals::default());
        for (name, value) in parameters(query) {
            match name {
                "topic" => match value.parse() {
                    Ok(named) => topic = Some(named),
                    Err(error) => refusals.add("/topic", format_args!("{error}")),
                },
                "limit" => match value.parse() {
                    Ok(asked) => limit = asked,
                    Err(error) => refusals.add("/limit", format_args!("{error}")),
                },
                _ => refusals.unknown(child("", name)),
            }
        }
        if topic.is_none() && refusals.is_empty() {
            refusals.add("/topic", "must be given");
        }
        let topic: Option<Topic> = refusals.or(topic)?;
        Ok(Self { topic: topic.expect("without one there is a fault"), limit })
    }
}

impl ReadView {
    fn of(cost: &Cost, complete: bool) -> Self {
        let Cost { calls, read_units, items, rounds, .. } = *cost;
        Self { calls, read_units: number(read_units), items, rounds, complete }
    }
}

fn number(units: Units) -> f64 {
    f64::from(u32::try_from(units.halves).unwrap_or(u32::MAX)) / 2.0
}

const fn letter(key: KeyType) -> &'static str {
    match key {
        KeyType::S => "S",
        KeyType::N => "N",
    }
}

pub(super) async fn get_designs(
    State(shared): State<ConsoleState>,
    Query(DesignsQuery { topic, limit }): Query<DesignsQuery>,
) -> Result<Response, Problem> {
    let events = newest(&shared, &topic).await?;
    let mut compared = Vec::new();
    for (name, title, design) in published(&topic) {
        compared.push(table::compare(name, title, design, &events, limit).await?);
    }
    compared.push(own::compare(&shared, &topic, &events, limit).await?);
    let comparison = Comparison { events: events.len(), limit: limit.get(), designs: compared };
    Ok(answer::json(StatusCode::OK, &comparison))
}

/// The five published designs, with their names and titles.
fn published(topic: &Topic) -> [(&'static str, &'static str, Design); 5] {
    // Topics and users have the same alphabet.
    let user = || topic.as_str().parse::<User>().expect("a topic's name may be a user's");
    let shards = ShardCount::new(SHARDS).expect("four is a number of shards");
    [
        ("reverse-ticks", "Reverse ticks", Design::ReverseTicks { user: user() }),
        (
            "chronological",
            "Chronological",
            Design::Chronological { user: user(), natural: NaturalOrder::NewestFirst },
        ),
        ("sharded-day", "Sharded day", Design::ShardedDay { shards }),
        ("inverted-uuid", "Inverted UUID", Design::InvertedUuid { offset: Offset::UTC }),
        ("quarter-hour", "Quarter of an hour", Design::QuarterHour),
    ]
}

/// The newest events of a topic, newest first.
async fn newest(shared: &ConsoleState, topic: &Topic) -> Result<Vec<Event>, Problem> {
    let mut query = EventQuery { limit: PageSize::MAX, ..EventQuery::default() };
    let mut events = Vec::new();
    // Every page that is not empty adds events, so the loop ends with the topic at the latest.
    loop {
        let page = shared.looking.op().topic(topic).latest(&query).await?;
        events.extend(page.events);
        query.cursor = page.next;
        if events.len() >= COMPARED || query.cursor.is_none() {
            events.truncate(COMPARED);
            return Ok(events);
        }
    }
}

/// A temporary engine.
fn engine() -> Result<Engine, Problem> {
    let options = lately_engine::Options { clock: Clock::from_fn(clock::unix_now), ..Default::default() };
    Engine::memory(&options).map_err(|error| Problem::unavailable(&error))
}

/// The number of items in each partition. This is a scan, but the table holds only the compared events.
async fn partitions(engine: &Engine, table: &str) -> Result<BTreeMap<String, usize>, Problem> {
    let (mut partitions, mut after) = (BTreeMap::new(), None);
    loop {
        let scan = engine.client().scan().table_name(table).set_exclusive_start_key(after);
        let page = scan.send().await.map_err(|error| Problem::unavailable(&error))?;
        for item in page.items() {
            if let Some(AttributeValue::S(pk) | AttributeValue::N(pk)) = item.get("pk") {
                *partitions.entry(pk.clone()).or_default() += 1;
            }
        }
        after = page.last_evaluated_key;
        if after.is_none() {
            return Ok(partitions);
        }
    }
}

/// The time of an event, as precisely as its id holds it: finer than a millisecond, as these designs' programs would
/// know it.
fn time_of(id: EventId) -> Timestamp {
    let fraction = u64::from(id.as_uuid().as_fields().2 & 0x0fff);
    let nanos = i128::from(id.at().get()) * 1_000_000 + i128::from(fraction * 1_000_000 / 4096);
    Timestamp::from_nanosecond(nanos).unwrap_or(Timestamp::MAX)
}

/// The first events of a read, as many as are shown.
fn sample<T>(events: impl IntoIterator<Item = T>, view: impl Fn(T) -> SampleView) -> Vec<SampleView> {
    events.into_iter().take(SAMPLE).map(view).collect()
}
