//! Tables of the published designs, imported: everything is there, once, at its time, however often the import dies.

use std::collections::HashMap;
use std::path::PathBuf;
use std::time::Duration;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::AttributeValue;
use clap::Parser;
use jiff::tz::Offset;
use jiff::{SignedDuration, Timestamp};
use lately::TEMPLATE;
use lately::import::ImportError;
use lately::options::{Command, Lately};
use lately_engine::fault::{Fault, Faults, Moment, Target};
use lately_engine::template::Template;
use lately_engine::{Attribute, Engine, KeyNames, Options, TableDefinition};
use lately_keys::published::{KeyType, KeyValue, NaturalOrder, WriteKey};
use lately_keys::{EventId, ShardCount, Topic, UnixMillis};
use lately_kit::limits::OPERATION_BUDGET;
use lately_kit::world::World;
use lately_model::{Event, EventQuery, PageSize, TopicChange};
use lately_store::published::{Attributes, Design, KeyAttributes, Table};
use lately_store::{Ambient, Store};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::program::{Program, call_dynamodb, command, http};

const SOURCE: &str = "old";
const LATELY: &str = "lately";

/// What users are told of all this.
const PAGE: &str = include_str!("../../../docs/designs.md");

type Item = HashMap<String, AttributeValue>;

/// A table of a design and Lately's own, side by side, and a folder for the state.
struct Scene {
    design: Design,
    engine: Engine,
    folder: TempDir,
}

/// How an import went.
struct Ran {
    result: Result<(), ImportError>,
    out: String,
    told: String,
}

impl Ran {
    fn done(self) -> Self {
        assert!(self.result.is_ok(), "{:?}", self.result);
        self
    }

    fn error(&self) -> String {
        self.result.as_ref().expect_err("it was to fail").to_string()
    }

    /// What stands behind a word of what was printed.
    fn counted(&self, word: &str) -> &str {
        let line = self.out.lines().find_map(|line| line.strip_prefix(word));
        line.unwrap_or_else(|| panic!("{word}: {}", self.out)).trim_start()
    }
}

/// The world, but that what is known stays fresh, however slow the machine is.
#[derive(Debug)]
struct Still(World);

impl Ambient for Still {
    fn since_epoch(&self) -> Duration {
        self.0.since_epoch()
    }

    fn monotonic(&self) -> Duration {
        Duration::ZERO
    }

    fn entropy(&self) -> u128 {
        self.0.entropy()
    }
}

fn store(client: Client, table: &str) -> Store {
    Store::new(client, table, Still(World::new()), OPERATION_BUDGET)
}

fn topic() -> Topic {
    "posts".parse().unwrap()
}

impl Scene {
    async fn new(design: Design) -> Self {
        Self::with(design, "{}").await
    }

    async fn with(design: Design, settings: &str) -> Self {
        let engine = Engine::memory(&Options::default()).unwrap();
        engine.create_table(&definition(&design), SOURCE).unwrap();
        engine.create_table(&Template::parse(TEMPLATE).unwrap().table().unwrap(), LATELY).unwrap();
        let change = TopicChange::parse(settings.as_bytes()).unwrap();
        store(engine.client(), LATELY).put_topic(&topic(), &change).await.unwrap();
        Self { design, engine, folder: TempDir::new().unwrap() }
    }

    fn table(&self) -> Table {
        let keys = KeyAttributes { pk: "partition".to_owned(), sk: "time".to_owned() };
        Table::new(store(self.engine.client(), SOURCE), self.design.clone(), keys)
    }

    /// Writes events into the design's table, each told by its number.
    async fn write(&self, events: impl IntoIterator<Item = (usize, Timestamp)>) {
        let event = |(n, at)| (self.design.write_key(at, entropy(n)).unwrap(), attributes(n));
        self.table().write(events.into_iter().map(event)).await.unwrap();
    }

    fn state(&self) -> PathBuf {
        self.folder.path().join("state.json")
    }

    /// The arguments that name the design and its table, and nothing else.
    fn arguments(&self, more: &str) -> Vec<String> {
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
        let line = format!(
            "import --design {design} --table {SOURCE} --pk partition --sk time --topic posts {more}"
        );
        let state = ["--state".to_owned(), self.state().to_str().unwrap().to_owned()];
        line.split_whitespace().map(str::to_owned).chain(state).collect()
    }

    async fn run(&self, client: Client, more: &str) -> Ran {
        let said = ["lately".to_owned()].into_iter().chain(self.arguments(&format!("--rate 1000000 {more}")));
        let Some(Command::Import(options)) = Lately::try_parse_from(said).unwrap().command else {
            unreachable!()
        };
        let (source, target) = (store(client.clone(), SOURCE), store(client, LATELY));
        let (mut out, mut told) = (Vec::new(), Vec::new());
        let result = lately::import::between(&source, &target, options, &mut out, &mut told).await;
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Ran { result, out: text(out), told: text(told) }
    }

    /// Imports as most tests do: all of the days that they write.
    async fn import(&self, more: &str) -> Ran {
        self.run(self.engine.client(), &format!("{USUAL} {more}")).await
    }

    /// All events, oldest first, as they are read page by page.
    async fn read(&self) -> Vec<Event> {
        let store = store(self.engine.client(), LATELY);
        let mut query = EventQuery { limit: PageSize::new(200).unwrap(), ..EventQuery::default() };
        let mut events = Vec::new();
        loop {
            let (page, _) = store.latest(&topic(), &query).await.unwrap();
            events.extend(page.events);
            query.cursor = page.next;
            if query.cursor.is_none() {
                events.reverse();
                return events;
            }
        }
    }

    /// Every item of Lately's table, in an order of its own, without when the topic was made.
    async fn items(&self) -> Vec<Item> {
        let scan = self.engine.client().scan().table_name(LATELY).into_paginator().items().send();
        let mut items: Vec<Item> = scan.collect::<Result<_, _>>().await.unwrap();
        items.retain(|item| item["sk"].as_s().unwrap() != "CONFIG");
        items.sort_by_key(|item| ["pk", "sk"].map(|name| item[name].as_s().unwrap().clone()));
        items
    }
}

/// The actor is named where the design has no user, and the range is that of [`times`].
const USUAL: &str = "--type-from kind --actor ada --since 2026-02-27T00:00:00Z --until 2026-03-03T00:00:00Z";

fn definition(design: &Design) -> TableDefinition {
    let attribute = |name: &str, of| {
        let kind = match of {
            KeyType::S => "S",
            KeyType::N => "N",
        };
        Attribute { name: name.to_owned(), kind: kind.to_owned() }
    };
    let types = design.key_types();
    TableDefinition {
        attributes: vec![attribute("partition", types.pk), attribute("time", types.sk)],
        key: KeyNames { partition: "partition".to_owned(), sort: Some("time".to_owned()) },
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

fn attributes(n: usize) -> Attributes {
    let text = |text: &str| AttributeValue::S(text.to_owned());
    let number = |digits: String| AttributeValue::N(digits);
    Attributes::from([
        ("kind".to_owned(), text("post.created")),
        ("n".to_owned(), number(n.to_string())),
        ("amount".to_owned(), number("12345678901234567890123456789012345678".to_owned())),
    ])
}

/// Random bits that are the same for the same number, and fall into shards in turn.
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

/// Times over the end of a month: every 25 minutes six, in one millisecond, a hundred nanoseconds apart.
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

/// To what the key of a design rounds a time down.
fn told(design: &Design, at: Timestamp) -> UnixMillis {
    let millis = match design {
        Design::QuarterHour => at.as_second() * 1000,
        _ => at.as_millisecond(),
    };
    UnixMillis::new(millis.try_into().unwrap()).unwrap()
}

#[tokio::test]
async fn every_event_is_there_once_at_its_time_and_in_its_order() {
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
            assert_eq!(event.at(), told(&design, times[n].1), "{design:?}");
            let data = format!(r#"{{"amount":12345678901234567890123456789012345678,"n":{n}}}"#);
            assert_eq!(event.data.as_ref().unwrap().as_str(), data);
            assert_eq!((event.event_type.as_str(), event.actor.as_str()), ("post.created", "ada"));
        }
        if matches!(design, Design::ReverseTicks { .. } | Design::Chronological { .. }) {
            // Of one millisecond too, though they are on several shards.
            assert!(events.iter().map(number).eq(0..620), "{design:?}");
            assert!(events.iter().any(|event| event.id.shard() != events[0].id.shard()));
        }
        if let Design::InvertedUuid { .. } = design {
            let millis = |n: usize| UnixMillis::try_from(times[n].1).unwrap();
            let tick = |n: usize| EventId::import(millis(n), 0.into(), entropy(n)).tick();
            assert!(events.iter().all(|event| event.id.tick() == tick(number(event))));
        }
    }
}

#[tokio::test]
async fn run_twice_it_writes_the_same_and_the_stream_tells_of_nothing() {
    for design in designs() {
        let scene = Scene::new(design.clone()).await;
        scene.write(times(60)).await;
        scene.import("--shards 2").await.done();
        let (items, records) = (scene.items().await, scene.engine.stream(LATELY).unwrap().all().len());
        // From its own state, and without one.
        scene.import("").await.done();
        std::fs::remove_file(scene.state()).unwrap();
        scene.import("--shards 2").await.done();
        assert_eq!(scene.items().await, items, "{design:?}");
        assert_eq!(scene.engine.stream(LATELY).unwrap().all().len(), records, "{design:?}");
    }
}

/// Kills an import at each of its calls in turn, and lets another finish: nothing is lost, nothing there twice.
async fn survives_every_crash(design: Design, events: usize, range: &str) {
    let whole = Scene::new(design.clone()).await;
    whole.write(times(events)).await;
    let counting = whole.engine.client_with(Faults::default());
    let actor = "--type-from kind --actor ada";
    let usual = format!("{actor} {range} --shards 2");
    whole.run(counting.client(), &usual).await.done();
    let (items, calls) = (whole.items().await, counting.calls().len());
    assert_eq!(whole.read().await.len(), events);
    for call in 1..=u64::try_from(calls).unwrap() {
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
            assert_eq!(ran.counted("imported"), events.to_string(), "each is counted once");
        }
    }
}

#[tokio::test]
async fn one_that_dies_at_any_call_is_finished_by_the_next() {
    // Two quarters of an hour, and the empty ones around them.
    let range = "--since 2026-02-27T17:50:00Z --until 2026-02-27T18:35:00Z";
    for design in designs() {
        Box::pin(survives_every_crash(design, 12, range)).await;
    }
}

#[tokio::test]
async fn one_that_dies_between_pages_is_finished_by_the_next() {
    let design = Design::ReverseTicks { user: user() };
    Box::pin(survives_every_crash(design, 510, "--until 2026-03-03T00:00:00Z")).await;
}

#[tokio::test]
async fn what_came_meanwhile_is_for_the_next_run() {
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
        // All that is left, and once more some of what is there.
        let overlapping =
            "--type-from kind --actor ada --since 2026-02-27T18:30:00Z --until 2026-03-03T00:00:00Z";
        let ran = scene.run(client, overlapping).await.done();
        assert_eq!((ran.counted("imported"), scene.read().await.len()), ("48", 60), "{design:?}");
    }
}

#[tokio::test]
async fn users_are_imported_one_after_the_other() {
    let scene = Scene::new(Design::UserMonth { user: user() }).await;
    scene.write(times(30)).await;
    let bob = Scene {
        design: Design::UserMonth { user: "bob".parse().unwrap() },
        folder: TempDir::new().unwrap(),
        engine: scene.engine.clone(),
    };
    bob.write(times(12)).await;
    let more = "--user bob --type post --since 2026-02-01T00:00:00Z --until 2026-04-01T00:00:00Z";
    let ran = scene.run(scene.engine.client(), more).await.done();
    assert_eq!(ran.counted("imported"), "42");
    let of =
        |name: &str, events: &[Event]| events.iter().filter(|event| event.actor.as_str() == name).count();
    let events = scene.read().await;
    assert_eq!((of("ada", &events), of("bob", &events)), (30, 12));
    // What was a type or an actor elsewhere is data where it is not asked for.
    assert!(events[0].data.as_ref().unwrap().as_str().contains(r#""kind":"post.created""#));
}

/// Puts items into the table under keys of the design, in the order of time.
async fn put(scene: &Scene, n: usize, more: &[(&str, AttributeValue)]) {
    let mut item = attributes(n);
    item.extend(more.iter().map(|(name, value)| ((*name).to_owned(), value.clone())));
    let key = scene.design.write_key(times(n + 1)[n].1, entropy(n)).unwrap();
    scene.table().write([(key, item)]).await.unwrap();
}

#[tokio::test]
async fn attributes_become_what_is_asked_for() {
    let scene = Scene::new(sharded_day()).await;
    let text = |text: &str| AttributeValue::S(text.to_owned());
    let body = AttributeValue::M(HashMap::from([
        ("tags".to_owned(), AttributeValue::Ss(vec!["b".to_owned(), "c".to_owned()])),
        ("small".to_owned(), AttributeValue::N("0.0000001".to_owned())),
    ]));
    put(&scene, 0, &[("who", text("bob")), ("about", text("repo:octo:hello")), ("body", body)]).await;
    put(&scene, 1, &[("who", AttributeValue::N("7".to_owned()))]).await;
    let more = "--type-from kind --actor-from who --subject-from about --data-from body --since 2026-02-27T00:00:00Z --until 2026-03-03T00:00:00Z";
    scene.run(scene.engine.client(), more).await.done();
    let mut events = scene.read().await;
    events.sort_by_key(|event| event.actor.to_string());
    let told = |event: &Event| {
        let subject = event.subject.as_ref().map(ToString::to_string);
        (event.actor.to_string(), subject, event.data.as_ref().map(|data| data.as_str().to_owned()))
    };
    assert_eq!(told(&events[0]), ("7".to_owned(), None, None));
    let data = r#"{"small":0.0000001,"tags":["b","c"]}"#.to_owned();
    assert_eq!(told(&events[1]), ("bob".to_owned(), Some("repo:octo:hello".to_owned()), Some(data)));
}

#[tokio::test]
async fn what_is_no_event_stops_it_until_it_is_mended_or_may_be_skipped() {
    let text = |text: &str| AttributeValue::S(text.to_owned());
    for (invalid, why) in [
        (("kind", text("Post Created")), "its kind: "),
        (("kind", AttributeValue::Bool(true)), "its kind is neither a string nor a number"),
        (("large", text(&"x".repeat(300_000))), "its data is larger than 256 KiB"),
    ] {
        let scene = Scene::new(Design::QuarterHour).await;
        scene.write(times(30)).await;
        put(&scene, 13, std::slice::from_ref(&invalid)).await;
        let stopped = scene.import("").await;
        let key = scene.design.write_key(times(14)[13].1, entropy(13)).unwrap();
        let named = format!("{} / {}: {why}", key.pk, key.sk);
        assert!(stopped.error().starts_with(&named), "{}", stopped.error());
        assert_eq!(scene.read().await.len(), 0, "nothing of its page");

        let skipping = scene.import("--skip-invalid").await.done();
        assert_eq!((skipping.counted("imported"), skipping.counted("skipped")), ("29", "1"));
        assert!(skipping.told.starts_with(&format!("skipped  {named}")), "{}", skipping.told);
        put(&scene, 13, &[("large", AttributeValue::Null(true))]).await;
        assert_eq!(scene.import("").await.done().counted("imported"), "30");
        assert_eq!(scene.read().await.len(), 30);
    }
}

#[tokio::test]
async fn an_item_that_is_none_of_the_designs_stops_it_always_and_is_named() {
    let scene = Scene::new(Design::QuarterHour).await;
    scene.write(times(6)).await;
    let key =
        |sk: &str| WriteKey { pk: KeyValue::S("202602271800".to_owned()), sk: KeyValue::S(sk.to_owned()) };
    scene.table().write([(key("2026-02-27T18:00:00.no token"), attributes(7))]).await.unwrap();
    for more in ["", "--skip-invalid"] {
        let error = scene.import(more).await.error();
        assert!(
            error.contains("the item under 202602271800 / 2026-02-27T18:00:00.no token is corrupt"),
            "{error}"
        );
    }
    assert!(scene.read().await.is_empty());
}

#[tokio::test]
async fn an_import_that_was_stopped_by_an_item_goes_on_when_it_is_mended() {
    let scene = Scene::new(Design::ReverseTicks { user: user() }).await;
    scene.write(times(620)).await;
    put(&scene, 555, &[("kind", AttributeValue::S("?".to_owned()))]).await;
    assert!(scene.import("").await.error().contains("its kind"));
    assert_eq!(scene.read().await.len(), 500, "the page before it is there");
    put(&scene, 555, &[]).await;
    let client = scene.engine.client_with(Faults::default());
    let ran = scene.run(client.client(), USUAL).await.done();
    assert_eq!((ran.counted("imported"), scene.read().await.len()), ("620", 620));
    // The topic, its directory, a page of 120, and five calls to write it.
    assert!(client.calls().len() < 12, "{:?}", client.calls());
}

#[tokio::test]
async fn what_the_topic_does_not_keep_is_named_as_such() {
    // Longer than since the events, and not as long.
    let scene = Scene::with(Design::QuarterHour, r#"{"retention_days":30}"#).await;
    scene.write(times(12)).await;
    assert!(scene.import("").await.error().contains("older than what the topic keeps"));
    let ran = scene.import("--skip-invalid").await.done();
    assert_eq!((ran.counted("imported"), ran.counted("skipped")), ("0", "12"));
}

#[tokio::test]
async fn a_dry_run_shows_the_first_events_and_writes_nothing() {
    let scene = Scene::new(sharded_day()).await;
    scene.write(times(30)).await;
    put(&scene, 3, &[("kind", AttributeValue::S("?".to_owned()))]).await;
    let before = scene.items().await;
    let ran = scene.import("--dry-run --shards 2").await.done();
    assert_eq!(scene.items().await, before);
    assert!(!scene.state().exists());
    let shown: Vec<Value> = ran.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(shown.len(), 10);
    assert!(ran.told.starts_with("invalid  ") && ran.told.contains("nothing was written"), "{}", ran.told);
    assert!(ran.told.contains("a page of 30 items from 2026-02-27T00:00:00Z on"), "{}", ran.told);
    scene.import("--skip-invalid --shards 2").await.done();
    let ids: Vec<_> = scene.read().await.iter().map(|event| json!(event.id)).collect();
    assert!(shown.iter().all(|event| ids.contains(&event["id"])), "the ids are those that they get");
}

#[tokio::test]
async fn another_number_of_shards_or_another_table_is_refused() {
    let scene = Scene::with(sharded_day(), r#"{"max_shards":8}"#).await;
    scene.write(times(6)).await;
    assert!(scene.import("--shards 16").await.error().contains("max_shards, which is 8"));
    scene.import("--shards 4").await.done();
    assert!(scene.import("--shards 2").await.error().contains("imported with --shards 4"));
    assert!(scene.import("--subject-from n").await.error().contains("with --subject-from not given"));
    // Without a number it is the one of the file, whatever the topic says by now.
    let change = TopicChange::parse(br#"{"min_shards":8}"#).unwrap();
    store(scene.engine.client(), LATELY).put_topic(&topic(), &change).await.unwrap();
    scene.import("").await.done();
    assert_eq!(scene.read().await.len(), 6);
}

/// What makes an item 512 bytes as stored.
fn of_512_bytes(key: &WriteKey) -> Attributes {
    let bytes = |value: &KeyValue| match value {
        KeyValue::S(text) => text.len(),
        KeyValue::N(number) => {
            number.unsigned_abs().to_string().len().div_ceil(2) + 1 + usize::from(*number < 0)
        }
    };
    let names = "partition".len() + "time".len() + "data".len();
    let data = "x".repeat(512 - names - bytes(&key.pk) - bytes(&key.sk));
    Attributes::from([("data".to_owned(), AttributeValue::S(data))])
}

#[tokio::test]
async fn a_thousand_events_cost_a_unit_each_to_write_and_a_fifth_at_most_to_read() {
    let mut told = Vec::new();
    for design in designs() {
        let scene = Scene::with(design.clone(), r#"{"views":[],"fan_out":false}"#).await;
        // Three seconds apart, within the hour.
        let begin = at("2026-02-28T12:00:00Z");
        let event = |n: usize| {
            let at = later(begin, i64::try_from(n).unwrap() * 3_000_000_000);
            let key = scene.design.write_key(at, entropy(n)).unwrap();
            let item = of_512_bytes(&key);
            (key, item)
        };
        scene.table().write((0..1_000).map(event)).await.unwrap();
        let range = "--since 2026-02-28T12:00:00Z --until 2026-02-28T13:00:00Z";
        let ran = scene.run(scene.engine.client(), &format!("--type post --actor ada {range}")).await.done();
        let (read, written) = ran.told.trim_end().split_once("; ").unwrap();
        // And the directory: an entry that is looked for, the one before it, and its put; and the topic's settings.
        assert_eq!(written, "write_units=1001.0, calls=44");
        told.push(read.to_owned());
    }
    // Two full pages, of which nobody knows that the second is the last; two of each shard, and what each page read of
    // them in vain; a quarter after the other.
    let one = "read_units=127.0, calls=3, items=1000, rounds=3";
    let sharded = "read_units=192.0, calls=8, items=1500, rounds=2";
    let quarters = "read_units=152.0, calls=6, items=1200, rounds=4";
    assert_eq!(told, [one, one, one, sharded, one, one, quarters]);
    let page = PAGE.split_whitespace().collect::<Vec<_>>().join(" ");
    for figure in
        ["127 read units and three queries", "152 from quarter hours", "1,001 write units in 44 calls"]
    {
        assert!(page.contains(figure), "{figure}");
    }
}

#[test]
fn an_operator_imports_a_table_with_its_own_credentials() {
    let program = Program::started(&["--no-demo"]);
    let attribute = |name: &str| json!({"AttributeName": name, "AttributeType": "S"});
    let key = |name: &str, kind: &str| json!({"AttributeName": name, "KeyType": kind});
    let table = json!({
        "TableName": "old", "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [attribute("day"), attribute("event")],
        "KeySchema": [key("day", "HASH"), key("event", "RANGE")],
    });
    call_dynamodb(&program, "CreateTable", &table);
    let put = |shard: u8, millis: u64, name: &str, kind: &str| {
        let item = json!({
            "day": {"S": format!("EVENTS#2026-03-14#SHARD{shard}")}, "event": {"S": format!("{millis}#{name}")},
            "kind": {"S": kind}, "who": {"S": name}, "amount": {"N": "1.5"},
        });
        call_dynamodb(&program, "PutItem", &json!({"TableName": "old", "Item": item}));
    };
    // 2026-03-14T12:00:00Z.
    put(0, 1_773_489_600_000, "ada", "post.created");
    put(3, 1_773_489_600_001, "bob", "post.created");
    put(1, 1_773_489_600_002, "carol", "Post");
    let admin = ["authorization: Bearer dev"];
    assert_eq!(http(program.api(), "PUT", "/topics/posts", &admin, "{}").0, 201);

    let folder = TempDir::new().unwrap();
    let state = folder.path().join("state.json");
    let usual = [
        "import",
        "--design",
        "sharded-day",
        "--day-shards",
        "4",
        "--table",
        "old",
        "--pk",
        "day",
        "--sk",
        "event",
        "--topic",
        "posts",
        "--type-from",
        "kind",
        "--actor-from",
        "who",
        "--since",
        "2026-03-14T00:00:00Z",
        "--until",
        "2026-03-15T00:00:00Z",
        "--state",
        state.to_str().unwrap(),
    ];
    let import = |more: &[&str]| command(&program, &[&usual, more].concat());
    let read = || {
        let (_, body) = http(program.api(), "GET", "/topics/posts/events?consistent=true", &admin, "");
        let page: Value = serde_json::from_str(&body).unwrap();
        page["events"].as_array().unwrap().clone()
    };

    let (shown, out, told) = import(&["--dry-run"]);
    assert!(shown && out.lines().count() == 2 && told.contains("1 are no events"), "{told}");
    let (done, _, told) = import(&[]);
    assert!(
        !done && told.contains("lately: EVENTS#2026-03-14#SHARD1 / 1773489600002#carol: its kind"),
        "{told}"
    );
    assert!(read().is_empty());
    let (done, out, told) = import(&["--skip-invalid"]);
    assert!(done && out.starts_with("imported  2\nskipped   1\n"), "{out}{told}");
    let events = read();
    assert_eq!(events[0]["at"], "2026-03-14T12:00:00.001Z");
    assert_eq!((&events[0]["actor"], &events[0]["data"]), (&json!("bob"), &json!({"amount": 1.5})));
    put(1, 1_773_489_600_002, "carol", "post");
    assert!(import(&[]).0);
    assert_eq!(read().len(), 3);
    assert_eq!(read()[1..], events);

    for (more, word) in [
        (&["--shards", "2"][..], "imported with --shards 1"),
        (&["--user", "ada"], "this design has no --user"),
        (&["--into", "nowhere"], "Is the table's name right"),
        (&["--subject-from", "about"], "with --subject-from not given. --state names another file"),
        (&["--type", "x"], "cannot be used with"),
    ] {
        let (done, out, told) = import(more);
        assert!(!done && out.is_empty() && told.contains(word), "{more:?}: {told}");
    }
    program.stopped("-TERM");
}

/// The lines of the documentation that import something.
fn lines() -> Vec<Vec<&'static str>> {
    let lines = PAGE.lines().filter_map(|line| line.strip_prefix("lately "));
    lines.map(|line| line.split(' ').collect()).collect()
}

#[test]
fn the_lines_of_the_documentation_import_what_they_say() {
    let program = Program::started(&["--no-demo"]);
    let folder = TempDir::new().unwrap();
    let lines = lines();
    assert_eq!(lines.len(), 6);
    for (n, line) in lines.into_iter().enumerate() {
        let said = |option: &str| {
            let place = line.iter().position(|word| *word == option);
            place.map(|place| line[place + 1])
        };
        let (table, pk, sk) =
            (said("--table").unwrap(), said("--pk").unwrap_or("pk"), said("--sk").unwrap_or("sk"));
        let named = |design: &Design| said("--design") == Some(design.name());
        let design = designs().into_iter().find(named).unwrap();

        let types = design.key_types();
        let kind = |of: KeyType| if of == KeyType::S { "S" } else { "N" };
        let definition = json!({
            "TableName": table, "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": [
                {"AttributeName": pk, "AttributeType": kind(types.pk)}, {"AttributeName": sk, "AttributeType": kind(types.sk)},
            ],
            "KeySchema": [{"AttributeName": pk, "KeyType": "HASH"}, {"AttributeName": sk, "KeyType": "RANGE"}],
        });
        // Two lines are of one table.
        if said("--design") != Some("user-month") {
            call_dynamodb(&program, "CreateTable", &definition);
        }
        let key = design.write_key(at("2026-03-14T12:00:00Z"), entropy(n)).unwrap();
        let item = json!({
            pk: {kind(types.pk): key.pk.to_string()}, sk: {kind(types.sk): key.sk.to_string()},
            "kind": {"S": "note"}, "who": {"S": "ada"},
        });
        call_dynamodb(&program, "PutItem", &json!({"TableName": table, "Item": item}));
        let topic = said("--topic").unwrap();
        let admin = ["authorization: Bearer dev"];
        assert_eq!(http(program.api(), "PUT", &format!("/topics/{topic}"), &admin, "{}").0, 201, "{topic}");

        let state = folder.path().join(topic);
        // Until soon after it, lest more is looked at with each day.
        let until = if said("--until").is_none() { &["--until", "2026-03-15T00:00:00Z"][..] } else { &[] };
        let state = ["--state", state.to_str().unwrap()];
        let (done, out, told) = command(&program, &[&line, &state[..], until].concat());
        assert!(done && out.starts_with("imported  1\nskipped   0\n"), "{line:?}: {out}{told}");
        let (_, page) =
            http(program.api(), "GET", &format!("/topics/{topic}/events?consistent=true"), &admin, "");
        assert!(page.contains(r#""type":"note""#), "{topic}: {page}");
    }
    program.stopped("-TERM");
}
