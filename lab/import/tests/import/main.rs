//! Imports of tables of every published design: each event is imported once, at its time, however often the import
//! dies.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod items;
mod whole;

use std::collections::HashMap;
use std::path::PathBuf;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::AttributeValue;
use clap::Parser;
use jiff::tz::Offset;
use jiff::{SignedDuration, Timestamp};
use lately_designs::{Design, DesignTable, KeyAttributes, KeyType, NaturalOrder};
use lately_engine::fault::{Fault, Faults, Moment, Target};
use lately_engine::{Attribute, Engine, KeyNames, Options, TableDefinition};
use lately_import::{ImportError, ImportOptions};
use lately_keys::{EventId, ShardCount, Topic, UnixMillis};
use lately_model::{Event, EventQuery, PageSize, TopicChange};
use lately_rig::{BUDGET, TABLE, World};
use lately_store::Store;
use lately_table::Connection;
use serde_json::Value;
use tempfile::TempDir;

type Item = HashMap<String, AttributeValue>;

/// The names that an import's options give.
#[derive(Clone, Copy)]
struct Names {
    table: &'static str,
    pk: &'static str,
    sk: &'static str,
    topic: &'static str,
}

/// The usual names. The keys are words that expressions may not use.
const NAMES: Names = Names { table: "old", pk: "partition", sk: "time", topic: "posts" };

/// A table of a design, Lately's own table, and a folder for the state.
struct Scene {
    design: Design,
    names: Names,
    world: World,
    engine: Engine,
    folder: TempDir,
}

/// The result and the output of an import.
struct Ran {
    result: Result<(), ImportError>,
    out: String,
    messages: String,
}

impl Ran {
    fn done(self) -> Self {
        assert!(self.result.is_ok(), "{:?}", self.result);
        self
    }

    fn error(&self) -> String {
        self.result.as_ref().expect_err("the import fails").to_string()
    }

    /// The text behind a word at the beginning of a printed line.
    fn counted(&self, word: &str) -> &str {
        let line = self.out.lines().find_map(|line| line.strip_prefix(word));
        line.unwrap_or_else(|| panic!("{word}: {}", self.out)).trim_start()
    }
}

impl Scene {
    async fn new(design: Design) -> Self {
        Self::with(design, NAMES, "{}").await
    }

    async fn with(design: Design, names: Names, settings: &str) -> Self {
        let world = World::new(1);
        let engine = lately_rig::engine(&world, Options::default());
        engine.create_table(&definition(&design, names), names.table).unwrap();
        let scene = Self { design, names, world, engine, folder: TempDir::new().unwrap() };
        scene.change_topic(settings).await;
        scene
    }

    fn connection(&self, client: Client, table: &str) -> Connection {
        Connection::new(client, table, self.world.clone(), BUDGET)
    }

    fn store(&self, client: Client) -> Store {
        Store::new(self.connection(client, TABLE))
    }

    fn topic(&self) -> Topic {
        self.names.topic.parse().unwrap()
    }

    /// Creates the topic, or changes its settings.
    async fn change_topic(&self, settings: &str) {
        let change = TopicChange::parse(settings.as_bytes()).unwrap();
        self.store(self.engine.client()).op().topic(&self.topic()).put(&change).await.unwrap();
    }

    fn table(&self) -> DesignTable {
        let keys = KeyAttributes { pk: self.names.pk.to_owned(), sk: self.names.sk.to_owned() };
        let connection = self.connection(self.engine.client(), self.names.table);
        DesignTable::new(connection, self.design.clone(), keys)
    }

    /// Writes numbered events into the design's table.
    async fn write(&self, events: impl IntoIterator<Item = (usize, Timestamp)>) {
        let event = |(n, at)| (self.design.write_key(at, entropy(n)).unwrap(), attributes(n));
        self.table().write(events.into_iter().map(event)).await.unwrap();
    }

    fn state(&self) -> PathBuf {
        self.folder.path().join("state.json")
    }

    /// The arguments that name the design, the tables and the topic, and more.
    fn line(&self, more: &str) -> String {
        let design = match &self.design {
            Design::ReverseTicks { .. } => "reverse-ticks --user ada",
            Design::Chronological { natural: NaturalOrder::NewestFirst, .. } => {
                "chronological --natural newest-first --user ada"
            }
            Design::Chronological { natural: NaturalOrder::OldestFirst, .. } => {
                "chronological --natural oldest-first --user ada"
            }
            Design::ShardedDay { .. } => "sharded-day --day-shards 4",
            Design::UserMonth { .. } => "user-month --user ada",
            Design::InvertedUuid { .. } => "inverted-uuid --offset +09:00",
            Design::QuarterHour => "quarter-hour",
        };
        let Names { table, pk, sk, topic } = self.names;
        format!(
            "--design {design} --table {table} --pk {pk} --sk {sk} --into {TABLE} --topic {topic} --rate 1000000 {more}"
        )
    }

    /// The words of a command line, with the file of this scene's state.
    fn words(&self, line: &str) -> Vec<String> {
        let state = ["--state", self.folder.path().join("state.json").to_str().unwrap()].map(str::to_owned);
        line.split_whitespace().map(str::to_owned).chain(state).collect()
    }

    async fn run(&self, client: Client, more: &str) -> Ran {
        self.run_line(client, &self.line(more)).await
    }

    async fn run_line(&self, client: Client, line: &str) -> Ran {
        let words = ["lately-import".to_owned()].into_iter().chain(self.words(line));
        let options = ImportOptions::try_parse_from(words).unwrap();
        let (source, target) = (self.connection(client.clone(), &options.table), self.store(client));
        let (mut out, mut messages) = (Vec::new(), Vec::new());
        let result = lately_import::run(&source, &target, options, &mut out, &mut messages).await;
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Ran { result, out: text(out), messages: text(messages) }
    }

    /// Imports with the usual arguments: the whole range that the tests write.
    async fn import(&self, more: &str) -> Ran {
        self.run(self.engine.client(), &format!("{USUAL} {more}")).await
    }

    /// All events, oldest first, read page by page.
    async fn read(&self) -> Vec<Event> {
        let store = self.store(self.engine.client());
        let topic = self.topic();
        let mut query = EventQuery { limit: PageSize::new(200).unwrap(), ..EventQuery::default() };
        let mut events = Vec::new();
        loop {
            let page = store.op().topic(&topic).latest(&query).await.unwrap();
            events.extend(page.events);
            query.cursor = page.next;
            if query.cursor.is_none() {
                events.reverse();
                return events;
            }
        }
    }

    /// Every item of Lately's table, sorted, but the topic's settings, which hold the time of its creation.
    async fn items(&self) -> Vec<Item> {
        let scan = self.engine.client().scan().table_name(TABLE).into_paginator().items().send();
        let mut items: Vec<Item> = scan.collect::<Result<_, _>>().await.unwrap();
        items.retain(|item| item["sk"].as_s().unwrap() != "CONFIG");
        items.sort_by_key(|item| ["pk", "sk"].map(|name| item[name].as_s().unwrap().clone()));
        items
    }
}

/// The usual arguments. They name an actor, because some designs have no user, and the range of [`times`].
const USUAL: &str = "--type-from kind --actor ada --since 2026-02-27T00:00:00Z --until 2026-03-03T00:00:00Z";

fn definition(design: &Design, names: Names) -> TableDefinition {
    let attribute = |name: &str, of| {
        let kind = match of {
            KeyType::S => "S",
            KeyType::N => "N",
        };
        Attribute { name: name.to_owned(), kind: kind.to_owned() }
    };
    let types = design.key_types();
    TableDefinition {
        attributes: vec![attribute(names.pk, types.pk), attribute(names.sk, types.sk)],
        key: KeyNames { partition: names.pk.to_owned(), sort: Some(names.sk.to_owned()) },
        indexes: Vec::new(),
        ttl_attribute: None,
        stream: None,
    }
}

fn user() -> lately_keys::User {
    "ada".parse().unwrap()
}

fn sharded_day() -> Design {
    Design::ShardedDay { shards: ShardCount::new(4).unwrap() }
}

fn designs() -> [Design; 7] {
    [
        Design::ReverseTicks { user: user() },
        Design::Chronological { user: user(), natural: NaturalOrder::NewestFirst },
        Design::Chronological { user: user(), natural: NaturalOrder::OldestFirst },
        sharded_day(),
        Design::UserMonth { user: user() },
        Design::InvertedUuid { offset: Offset::constant(9) },
        Design::QuarterHour,
    ]
}

fn attributes(n: usize) -> lately_table::Item {
    let number = |digits: String| AttributeValue::N(digits);
    lately_table::Item::from([("kind", "post.created")])
        .with("n", number(n.to_string()))
        .with("amount", number("12345678901234567890123456789012345678".to_owned()))
}

/// Random bits, the same for the same number. Consecutive numbers fall into consecutive shards.
fn entropy(n: usize) -> u128 {
    let n = u64::try_from(n).unwrap();
    fastrand::Rng::with_seed(n).u128(..) << 8 | u128::from(n % 256)
}

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn later(at: Timestamp, nanos: i64) -> Timestamp {
    at.checked_add(SignedDuration::from_nanos(nanos)).unwrap()
}

/// Times around the end of a month: every 25 minutes, six within one millisecond, a hundred nanoseconds apart.
fn times(count: usize) -> Vec<(usize, Timestamp)> {
    let begin = at("2026-02-27T18:00:00.123Z");
    let time = |n: usize| {
        let (group, nth) = (i64::try_from(n / 6).unwrap(), i64::try_from(n % 6).unwrap());
        (n, later(begin, group * 1_500_000_000_000 + nth * 100))
    };
    (0..count).map(time).collect()
}

fn number(event: &Event) -> usize {
    let data: Value = serde_json::from_str(event.data.as_ref().unwrap().as_str()).unwrap();
    data["n"].as_u64().unwrap().try_into().unwrap()
}

/// The time as precisely as a design's key stores it.
fn known_time(design: &Design, at: Timestamp) -> UnixMillis {
    let millis = match design {
        Design::QuarterHour => at.as_second() * 1000,
        _ => at.as_millisecond(),
    };
    UnixMillis::new(millis.try_into().unwrap()).unwrap()
}

#[tokio::test(start_paused = true)]
async fn every_event_is_imported_once_at_its_time_in_order() {
    for design in designs() {
        let scene = Scene::new(design.clone()).await;
        // More than one page.
        let times = times(620);
        scene.write(times.clone()).await;
        let ran = scene.import("--shards 4").await.done();
        assert_eq!((ran.counted("imported"), ran.counted("skipped")), ("620", "0"), "{design:?}");
        assert_eq!(ran.counted("up to"), "2026-03-03T00:00:00Z");

        let events = scene.read().await;
        assert_eq!(events.len(), 620, "{design:?}");
        let mut seen = [false; 620];
        for event in &events {
            let n = number(event);
            assert!(!std::mem::replace(&mut seen[n], true));
            assert_eq!(event.at(), known_time(&design, times[n].1), "{design:?}");
            let data = format!(r#"{{"amount":12345678901234567890123456789012345678,"n":{n}}}"#);
            assert_eq!(event.data.as_ref().unwrap().as_str(), data);
            assert_eq!((event.event_type.as_str(), event.actor.as_str()), ("post.created", "ada"));
        }
        if matches!(design, Design::ReverseTicks { .. } | Design::Chronological { .. }) {
            // Also in order within one millisecond, though the events are on several shards.
            assert!(events.iter().map(number).eq(0..620), "{design:?}");
            assert!(events.iter().any(|event| event.id.shard() != events[0].id.shard()));
        }
        if let Design::InvertedUuid { .. } = design {
            let millis = |n: usize| UnixMillis::from_nanos(times[n].1.as_nanosecond()).unwrap();
            let tick = |n: usize| EventId::import(millis(n), 0.into(), entropy(n)).tick();
            assert!(events.iter().all(|event| event.id.tick() == tick(number(event))));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_second_run_changes_no_item_and_adds_no_stream_record() {
    for design in designs() {
        let scene = Scene::new(design.clone()).await;
        scene.write(times(60)).await;
        scene.import("--shards 2").await.done();
        let (items, records) = (scene.items().await, scene.engine.stream(TABLE).unwrap().all().len());
        // Once with the state file, and once without.
        scene.import("").await.done();
        std::fs::remove_file(scene.state()).unwrap();
        scene.import("--shards 2").await.done();
        assert_eq!(scene.items().await, items, "{design:?}");
        assert_eq!(scene.engine.stream(TABLE).unwrap().all().len(), records, "{design:?}");
    }
}

/// Kills an import at each of its calls in turn, and lets another run finish it. No event is lost or duplicated.
/// Lets an import die before and after its calls, from one to every `step`th.
async fn survives_crashes(design: Design, events: usize, range: &str, step: usize) {
    let whole = Scene::new(design.clone()).await;
    whole.write(times(events)).await;
    let counting = whole.engine.client_with(Faults::default());
    let actor = "--type-from kind --actor ada";
    let usual = format!("{actor} {range} --shards 2");
    whole.run(counting.client(), &usual).await.done();
    let (items, calls) = (whole.items().await, counting.calls().len());
    assert_eq!(whole.read().await.len(), events);
    for call in (1..=u64::try_from(calls).unwrap()).step_by(step) {
        for moment in [Moment::Before, Moment::After] {
            let scene = Scene::new(design.clone()).await;
            scene.write(times(events)).await;
            let faults = Faults::default().nth(call, Target::any(), Fault::Crash(moment));
            let client = scene.engine.client_with(faults);
            let dying = scene.run(client.client(), &usual);
            assert!(Box::pin(client.run(dying)).await.is_none(), "call {call}");
            let shards = if scene.state().exists() { "" } else { "--shards 2" };
            let ran = scene.run(scene.engine.client(), &format!("{actor} {range} {shards}")).await.done();
            assert_eq!(scene.items().await, items, "{design:?}, call {call}, {moment:?}");
            assert_eq!(ran.counted("imported"), events.to_string(), "each event is counted once");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_import_that_dies_at_any_call_is_finished_by_the_next() {
    // Two quarter hours with events, and empty ones around them.
    let range = "--since 2026-02-27T17:50:00Z --until 2026-02-27T18:35:00Z";
    for design in designs() {
        Box::pin(survives_crashes(design, 12, range, 1)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn an_import_that_dies_between_pages_is_finished_by_the_next() {
    let design = Design::ReverseTicks { user: user() };
    Box::pin(survives_crashes(design, 510, "--until 2026-03-03T00:00:00Z", 8)).await;
}

#[tokio::test(start_paused = true)]
async fn newer_items_are_for_the_next_run() {
    for design in designs() {
        let scene = Scene::new(design.clone()).await;
        scene.write(times(60)).await;
        let first = "--type-from kind --actor ada --since 2026-02-27T00:00:00Z --until 2026-02-27T18:30:00Z";
        let client = scene.engine.client();
        let ran = scene.run(client.clone(), first).await.done();
        assert_eq!(ran.counted("imported"), "12", "{design:?}");
        let ran = scene
            .run(client.clone(), "--type-from kind --actor ada --until 2026-02-27T19:00:00Z")
            .await
            .done();
        assert_eq!((ran.counted("imported"), scene.read().await.len()), ("6", 18), "{design:?}");
        // The rest, and again some that are already imported.
        let overlapping =
            "--type-from kind --actor ada --since 2026-02-27T18:30:00Z --until 2026-03-03T00:00:00Z";
        let ran = scene.run(client, overlapping).await.done();
        assert_eq!((ran.counted("imported"), scene.read().await.len()), ("48", 60), "{design:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn users_are_imported_one_after_the_other() {
    let scene = Scene::new(Design::UserMonth { user: user() }).await;
    scene.write(times(30)).await;
    let bob = Scene {
        design: Design::UserMonth { user: "bob".parse().unwrap() },
        folder: TempDir::new().unwrap(),
        world: scene.world.clone(),
        engine: scene.engine.clone(),
        ..scene
    };
    bob.write(times(12)).await;
    let more = "--user bob --type post --since 2026-02-01T00:00:00Z --until 2026-03-14T00:00:00Z";
    let ran = scene.run(scene.engine.client(), more).await.done();
    assert_eq!(ran.counted("imported"), "42");
    let of =
        |name: &str, events: &[Event]| events.iter().filter(|event| event.actor.as_str() == name).count();
    let events = scene.read().await;
    assert_eq!((of("ada", &events), of("bob", &events)), (30, 12));
    // An attribute that no option names as type or actor becomes data.
    assert!(events[0].data.as_ref().unwrap().as_str().contains(r#""kind":"post.created""#));
}
