//! Simulations of live timelines: whatever goes wrong, a client that continues with its last cursor misses nothing.
//!
//! A seed decides a small story. Writers post to a topic through slow networks, with clocks that run ahead and with calls
//! that stall; the topic grows; some events are late by their own time. Fan-out handles the stream with lag, twice now
//! and then. Reads are eventually consistent, and calls are throttled. One client follows the topic, a source's timeline
//! or a feed. Its connection is cut at any point, its process may change, and it continues with the last cursor that it
//! has got.
//!
//! The check knows when each event became visible in the followed timeline, and nothing of how followers work:
//! - An event that became visible in time is told, before any cursor that lies ahead of it.
//! - An event that became visible late, after the client first connected, is told by the connection during which it was
//!   noted or by the next one, unless that connection is cut within seconds.
//! - No connection tells an event twice. Events that are told as settled come in order.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use futures_util::future::{join, join_all, join4};
use lately_engine::fault::{Fault, Faults, Moment, Network, Stall, Target, Throttle};
use lately_engine::stream::SequenceNumber;
use lately_engine::{Engine, Lag, Options};
use lately_items::{AnyKey, Timeline};
use lately_keys::{Cursor, EventId, Fingerprint, Order, Position, Topic, UnixMillis};
use lately_model::{Backfill, EventQuery, LiveQuery, NewEvent};
use lately_rig::for_each_seed;
use lately_store::limits::FOLLOWER_TOLD_KEPT;
use lately_store::{Ambient, LiveMessage, Record, Store};

use crate::listed::{source, user};
use crate::scene::key;
use crate::simulation::knobs::{ANSWERED_WITHIN, Knobs};
use crate::support::{
    DAY, TABLE, World, change, connection, event, items, pass, post, query, start_with, submission, topic,
};

const SEEDS: u64 = 9;

/// The time for which users act.
const ACTING: Duration = Duration::from_secs(9);

/// The time after that in which everything comes to an end: notes are read every few seconds.
const ENDING: Duration = Duration::from_secs(14);

/// An event that became visible within this time of its own time, by the true clock, was in time.
const IN_TIME_MILLIS: u64 = 1_300;

/// A late event is told within this time after it became visible.
const TOLD_WITHIN_MILLIS: u64 = 9_000;

/// One connection of the client.
#[derive(Debug, Default)]
struct Connected {
    from: u64,
    until: u64,
    /// The messages: the event, if there is one, whether it was late, the cursor's position, and the time.
    told: Vec<(Option<EventId>, bool, EventId, u64)>,
}

struct Story {
    seed: u64,
    knobs: Knobs,
    world: World,
    engine: Engine,
    posts: Topic,
    created_at: UnixMillis,
    /// The timeline that the client follows.
    timeline: Timeline,
    random: RefCell<fastrand::Rng>,
    /// The times between which an event became visible in the followed timeline.
    visible: RefCell<BTreeMap<EventId, (u64, u64)>>,
    /// When fan-out had handled an event of the topic.
    handled: RefCell<BTreeMap<EventId, u64>>,
    connections: RefCell<Vec<Connected>>,
    /// True when all writers are done.
    is_written: Cell<bool>,
    is_over: Cell<bool>,
}

impl Story {
    async fn begin(seed: u64, knobs: Knobs) -> Self {
        let mut random = fastrand::Rng::with_seed(seed);
        let lag = Lag {
            seed: random.u64(..),
            table: Duration::from_millis(random.u64(..400)),
            index: Duration::ZERO,
            behind: 0.5,
        };
        let slow = Lag { table: Duration::from_millis(400), behind: 1.0, ..lag };
        let lag = if knobs.writes_slowly { slow } else { lag };
        let options = Options {
            shards: 2,
            lag: Some(lag),
            partitions: if seed % 9 == 7 { knobs.partitions_of_streams() } else { None },
            ..Options::default()
        };
        let (world, engine, store) = start_with(seed, options);
        let posts = topic("posts");
        let timelines = [
            Timeline::Topic(posts.clone()),
            Timeline::Source(source("actor:ada")),
            Timeline::Feed(user("bob")),
        ];
        let timeline = timelines[random.usize(..3)].clone();
        let (view, _) = store.op().topic(&posts).put(&change("{}")).await.unwrap();
        store.op().user(&user("bob")).follow(&source("actor:ada"), Backfill::new(0).unwrap()).await.unwrap();
        Self {
            seed,
            knobs,
            world,
            engine,
            posts,
            created_at: view.created_at,
            timeline,
            random: RefCell::new(random),
            visible: RefCell::default(),
            handled: RefCell::default(),
            connections: RefCell::default(),
            is_written: Cell::new(false),
            is_over: Cell::new(false),
        }
    }

    fn draw<T>(&self, draw: impl FnOnce(&mut fastrand::Rng) -> T) -> T {
        draw(&mut self.random.borrow_mut())
    }

    fn millis(&self, most: u64) -> Duration {
        Duration::from_millis(self.draw(|random| random.u64(..most)))
    }

    fn now(&self) -> u64 {
        self.world.now().get()
    }

    fn process(&self, faults: Faults, stall: Option<Stall>, ambient: impl Ambient) -> Store {
        let (seed, longest) = (self.draw(|random| random.u64(..)), self.millis(60));
        let client = self.engine.client_with(faults).over(Network { seed, longest, stall });
        Store::new(connection(client, ambient))
    }

    fn faults(&self) -> Faults {
        let faults = Faults::seeded(self.draw(|random| random.u64(..)));
        match self.draw(|random| random.u8(..4)) {
            0 => faults.sometimes(0.15, Target::any(), Fault::Throttle(Throttle::TableKeyRange)),
            1 => faults.sometimes(0.05, Target::any(), Fault::Timeout(Moment::After)),
            _ => faults,
        }
    }

    /// A writer: its clock may be ahead, one of its calls may stall, and throttles make the topic grow.
    async fn writer(&self) {
        let ahead = self.millis(400);
        let stall = self.draw(|random| {
            (random.u8(..3) == 0).then(|| Stall {
                call: random.u64(3..12),
                moment: [Moment::Before, Moment::After][random.usize(..2)],
                time: Duration::from_millis(random.u64(1_000..4_000)),
            })
        });
        let store = self.process(self.faults(), stall, self.world.process().ahead(ahead));
        let begun = self.now();
        while self.now() - begun < u64::try_from(ACTING.as_millis()).unwrap() {
            let at = self.draw(|random| {
                // Some events are late by their own time, and some of these are imports.
                let back = [0, 0, 0, 0, 0, 3_000, 8_000, 90_000][random.usize(..8)];
                (back > 0).then(|| self.world.now().saturating_sub(back))
            });
            let count = self.draw(|random| if random.u8(..25) == 0 { random.usize(2..150) } else { 1 });
            let new = NewEvent { at, subject: Some("x".parse().unwrap()), ..event("note", None) };
            self.write(&store, vec![new; count]).await;
            let pause = [100, 500, 3_000][self.draw(|random| random.usize(..3))];
            pass(self.millis(pause)).await;
        }
    }

    /// A writer whose puts arrive almost two seconds after the times of their events, which are early in a second.
    async fn slow_writer(&self) {
        while !self.is_over.get() {
            // The timeline is not idle.
            let store = self.process(Faults::default(), None, self.world.process());
            self.write(&store, vec![event("note", None)]).await;
            let into_second = self.now() % 1_000;
            pass(Duration::from_millis(1_000 - into_second + self.draw(|random| random.u64(5..20)))).await;
            // The fourth call of a new process is the put.
            let time = self.draw(|random| Duration::from_millis(random.u64(1_900..1_990)));
            let stall = Some(Stall { call: 4, moment: Moment::Before, time });
            let network = Network { seed: 1, longest: Duration::ZERO, stall };
            let client = self.engine.client_with(Faults::default()).over(network);
            let store = Store::new(connection(client, self.world.process()));
            self.write(&store, vec![event("note", None)]).await;
        }
    }

    /// Writes events, and notes when they became visible.
    async fn write(&self, store: &Store, events: Vec<NewEvent>) {
        let asked = self.now();
        let written = store.op().topic(&self.posts).write(submission(events)).await;
        if let (Timeline::Topic(_), Ok(written)) = (&self.timeline, written) {
            let arrived = (asked, self.now());
            self.visible.borrow_mut().extend(written.events.iter().map(|event| (event.id, arrived)));
        }
    }

    fn has_hot_partitions(&self) -> bool {
        self.knobs.read_units.is_some() && self.seed % 9 == 7
    }

    /// The time by which a shard of the stream is behind the other.
    fn shard_behind(&self) -> Duration {
        if self.seed % 9 == 4 { self.knobs.shard_behind } else { Duration::ZERO }
    }

    /// Fan-out of a shard, with lag. It stops for some seconds now and then.
    async fn fan_out(&self, shard: u16) {
        if shard == 1 {
            pass(self.shard_behind()).await;
        }
        let stream = self.engine.stream(TABLE).unwrap();
        let mut handled = SequenceNumber::START;
        while !self.is_over.get() {
            let most = [50, 400, 3_000][self.draw(|random| random.usize(..3))];
            pass(self.millis(most)).await;
            let batch = stream.read(shard, handled, 60, u64::MAX);
            if batch.records.is_empty() {
                continue;
            }
            let began = self.now();
            let store = self.process(Faults::seeded(1), None, self.world.process());
            let records = Record::batch(stream.lambda_event(&batch.records).as_bytes()).unwrap();
            let outcome = store.op_within(60 * Duration::from_secs(1)).fan_out(&records).await;
            assert_eq!(outcome.failed, None);
            let took = Duration::from_millis(self.now() - began);
            assert!(
                !self.has_hot_partitions() || took < ANSWERED_WITHIN,
                "a batch was answered after {took:?}"
            );
            for record in &batch.records {
                if let AnyKey::Event(key) = key(&record.keys()) {
                    self.handled.borrow_mut().entry(key.id()).or_insert(self.now());
                }
            }
            if self.draw(|random| random.u8(..6)) > 0 {
                handled = batch.next;
            }
            self.note_entries(began).await;
        }
    }

    /// Notes the entries that fan-out has written since `began`.
    async fn note_entries(&self, began: u64) {
        let now = self.now();
        for item in items(&self.engine).await {
            let id = match (key(&item), &self.timeline) {
                (AnyKey::SourceEntry(key), Timeline::Source(source)) if key.source == *source => key.id,
                (AnyKey::FeedEntry(key), Timeline::Feed(user)) if key.user == *user => key.id,
                _ => continue,
            };
            self.visible.borrow_mut().entry(id).or_insert((began, now));
        }
    }

    fn position(&self, cursor: &str) -> EventId {
        let print = match &self.timeline {
            Timeline::Topic(topic) => Fingerprint::of("topic events").text(topic.as_str()),
            Timeline::Source(source) => {
                Fingerprint::of("source events").text(&source.to_string()).option(None)
            }
            Timeline::Feed(user) => Fingerprint::of("feed").text(user.as_str()).option(None),
        };
        let print = (0..3).fold(print, |print, _| print.option(None)).finish();
        let is_topic = matches!(self.timeline, Timeline::Topic(_));
        let print = if is_topic { print.created_at(self.created_at) } else { print };
        let Cursor { order, position, .. } = Cursor::decode(cursor, print).unwrap();
        assert_eq!(order, Order::OldestFirst);
        let Position::Event(id) = position else { panic!("a live cursor is an event's position") };
        id
    }

    /// The client: it connects, is cut, waits, and connects again.
    async fn client(&self) {
        let mut cursor: Option<String> = None;
        let mut store = self.process(self.faults(), None, self.world.process());
        pass(self.millis(3_000)).await;
        while !self.is_over.get() {
            let query = LiveQuery { cursor: cursor.clone(), ..LiveQuery::default() };
            let is_last = self.is_written.get();
            if is_last {
                store = self.process(Faults::seeded(1), None, self.world.process());
            }
            let follower = store.op().follow(self.timeline.clone(), &query, None).await;
            let mut connected = Connected { from: self.now(), ..Connected::default() };
            let mut has_failed = false;
            if let Ok(mut follower) = follower {
                let most = [100, 2_000, 9_000][self.draw(|random| random.usize(..3))];
                let cut = tokio::time::Instant::now() + if is_last { ENDING } else { self.millis(most) };
                while let Ok(told) = tokio::time::timeout_at(cut, follower.next()).await {
                    let told = match told {
                        Ok(told) => told,
                        Err(error) => {
                            has_failed = true;
                            let may_fail = !is_last || self.has_hot_partitions();
                            assert!(may_fail, "the last connection ends with {error}");
                            break;
                        }
                    };
                    let (event, late, at) = match told {
                        LiveMessage::Event { cursor, event } => (Some(event), false, cursor),
                        LiveMessage::Late { cursor, event } => (Some(event), true, cursor),
                        LiveMessage::Settled { cursor } => (None, false, cursor),
                    };
                    let position = self.position(&at);
                    connected.told.push((event.map(|event| event.event.id), late, position, self.now()));
                    cursor = Some(at);
                }
                connected.until = self.now();
                // Nothing fails in the last connection, unless its partitions are hot.
                self.is_over.set(is_last && !has_failed);
                self.connections.borrow_mut().push(connected);
            }
            if self.draw(|random| random.bool()) {
                store = self.process(self.faults(), None, self.world.process());
            }
            pass(self.millis(3_000)).await;
        }
    }

    fn check(&self) {
        let visible = self.visible.borrow();
        let connections = self.connections.borrow();
        let Some(start) = connections.iter().flat_map(|it| &it.told).next().map(|told| told.2) else {
            return;
        };
        let mut told = BTreeSet::new();
        for connected in connections.iter() {
            let (mut once, mut settled) = (BTreeMap::new(), EventId::MIN);
            let mut last = settled;
            for (number, (event, late, position, at)) in connected.told.iter().enumerate() {
                assert!(*position >= last, "cursors go forward");
                last = *position;
                if let Some(id) = event {
                    // A connection remembers the events that it told last. An older one may be told again, as late.
                    let before = once.insert(*id, number);
                    let forgotten = before.is_none_or(|before| *late && number - before > FOLLOWER_TOLD_KEPT);
                    assert!(forgotten, "{id} was told {before:?} and {number} by {}", self.timeline);
                    told.insert(*id);
                    if !late && id <= position {
                        assert!(*id > settled, "settled events come in order");
                        settled = *id;
                    }
                }
                // No event that was in time lies behind the cursor untold.
                for (id, (_, landed)) in visible.range(..=*position).filter(|(id, _)| **id > start) {
                    let in_time = *landed <= id.at().get() + IN_TIME_MILLIS;
                    assert!(
                        !in_time || told.contains(id),
                        "{id} ({}), visible at {landed}, lies behind {position} at {at}",
                        id.at().get()
                    );
                }
            }
        }
        for (id, (began, landed)) in visible.iter() {
            let in_time = *id > start && *landed <= id.at().get() + IN_TIME_MILLIS;
            // Fan-out notes a late event after it has landed.
            let handled = self.handled.borrow().get(id).copied().unwrap_or(u64::MAX - TOLD_WITHIN_MILLIS);
            let noted = handled.max(*landed);
            let first = connections.iter().find(|it| !it.told.is_empty());
            let is_followed = first.is_some_and(|first| first.from <= *began);
            // The connection during which it was noted may be cut at once, and the next one, too.
            let lasts = |it: &&Connected| noted.max(it.from) + TOLD_WITHIN_MILLIS < it.until;
            let is_due = is_followed && connections.iter().any(|it| lasts(&it));
            assert!(
                !(in_time || is_due) || told.contains(id),
                "{id} ({}) of {}, visible from {began} to {landed}, noted at {noted}, was not told: {:?}",
                id.at().get(),
                self.timeline,
                connections.iter().map(|it| (it.from, it.until, it.told.last())).collect::<Vec<_>>()
            );
        }
    }
}

#[test]
fn a_client_that_continues_with_its_last_cursor_misses_nothing() {
    for_each_seed(SEEDS, async |seed| {
        let story = Story::begin(seed, Knobs::SUITE).await;
        let writers = async {
            let writers = 1 + story.draw(|random| random.usize(..3));
            join_all((0..writers).map(|_| story.writer())).await;
            pass(story.shard_behind()).await;
            story.is_written.set(true);
        };
        let fan_out = join(story.fan_out(0), story.fan_out(1));
        let slow_writer = async {
            if story.knobs.writes_slowly {
                story.slow_writer().await;
            }
        };
        join4(writers, slow_writer, fan_out, story.client()).await;
        story.check();
    });
}

/// The old events that a client reads in small steps.
const OLD: usize = 900;

/// A client follows a topic from its oldest events on while the topic gets a shorter retention, or soon after.
async fn shorten_retention(seed: u64, knobs: Knobs) {
    let mut random = fastrand::Rng::with_seed(seed);
    let (world, _, store) = start_with(seed, Options { shards: 1, ..Options::default() });
    let posts = topic("posts");
    store.op().topic(&posts).put(&change("{}")).await.unwrap();
    let ago = u64::try_from((10 * DAY).as_millis()).unwrap();
    for _ in 0..OLD / 300 {
        let at = Some(world.now().saturating_sub(ago - random.u64(..1_000)));
        post(&store, &posts, vec![NewEvent { at, ..event("note", None) }; 300]).await;
    }
    let oldest = EventQuery { order: Some(Order::OldestFirst), ..query(1) };
    let cursor = store.op().topic(&posts).latest(&oldest).await.unwrap().next;
    let shorter = change(r#"{"retention_days":1}"#);
    if !knobs.shortens_retention {
        store.op().topic(&posts).put(&shorter).await.unwrap();
        pass(SHOWN_AFTER).await;
    }
    let query = LiveQuery { cursor, ..LiveQuery::default() };
    let mut follower = store.op().follow(Timeline::Topic(posts.clone()), &query, None).await.unwrap();
    if knobs.shortens_retention {
        for _ in 0..random.usize(1..OLD / 2) {
            follower.next().await.unwrap();
        }
        store.op().topic(&posts).put(&shorter).await.unwrap();
        pass(SHOWN_AFTER).await;
    }
    let end = tokio::time::Instant::now() + Duration::from_secs(5);
    let mut shown = 0;
    while let Ok(message) = tokio::time::timeout_at(end, follower.next()).await {
        shown += usize::from(matches!(message.unwrap(), LiveMessage::Event { .. }));
    }
    // The stream had read one page when the retention changed.
    assert!(shown <= 200, "{shown} of {OLD} events that the retention hides are told");
}

/// A change of the retention holds for every reader after this time.
const SHOWN_AFTER: Duration = Duration::from_secs(3);

#[test]
fn a_stream_shows_no_event_that_a_shorter_retention_hides() {
    for_each_seed(2, async |seed| shorten_retention(seed, Knobs::SUITE).await);
}
