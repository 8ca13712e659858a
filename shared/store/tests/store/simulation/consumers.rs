//! Simulations of consumers: whatever goes wrong, no consumer misses an event.
//!
//! A seed decides a story of some hours. Writers' clocks are minutes wrong, some writes are stored late, and events are
//! imported into the past, now and then by the thousand. The stream is minutes behind, and delivers records again. Some
//! consumers poll, stop for weeks, wait for longer or shorter times, and seek in both directions while late events are
//! under way. Their clocks are up to the assumed five seconds wrong.
//!
//! The check knows when each event was stored, and nothing of how consumers work. After its last seek, a consumer must get
//! each event after the position that it sought, and each event that was stored after the seek.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::time::Duration;

use futures_util::future::join_all;
use lately_engine::fault::{Fault, Faults, Moment, Network, Stall, Target, Throttle};
use lately_engine::stream::{EventName, SequenceNumber};
use lately_engine::{Engine, Options};
use lately_items::{AnyKey, ConsumerKey};
use lately_keys::{EventId, Topic, UnixMillis};
use lately_model::{NewConsumer, NewEvent, PollRequest, Seek, SeekTo, Start};
use lately_rig::for_each_seed;
use lately_store::{ConsumerError, Record, Store};

use crate::support::{TABLE, World, change, connection, event, pass, start_with, submission, topic};

const SEEDS: u64 = 12;

const MINUTE: u64 = 60;
const HOUR: u64 = 60 * MINUTE;

/// The seconds for which everybody acts.
const STORY: u64 = 2 * HOUR;

/// The largest error of a writer's clock, in seconds.
const WRITERS_SKEW: u64 = 5 * MINUTE;

/// The largest error of a consumer's clock, in milliseconds: a little less than is assumed.
const CONSUMERS_SKEW_MILLIS: u64 = 4_900;

/// The events that a consumer must get.
#[derive(Clone, Debug, Default)]
struct Expected {
    /// When it sought for the last time, and the position that it sought.
    sought: Option<(UnixMillis, EventId)>,
    /// The events that it got since then.
    given: BTreeMap<EventId, u32>,
}

struct Story {
    world: World,
    engine: Engine,
    topic: Topic,
    consumers: Vec<ConsumerKey>,
    state: RefCell<State>,
}

struct State {
    random: fastrand::Rng,
    /// The place in the stream up to which fan-out has handled it.
    handled: SequenceNumber,
    expected: Vec<Expected>,
}

impl Story {
    async fn begin(seed: u64) -> Self {
        let (world, engine, store) = start_with(seed, Options { shards: 1, ..Options::default() });
        let topic = topic("billing");
        store.op().topic(&topic).put(&change(r#"{"fan_out":false,"views":[]}"#)).await.unwrap();
        let mut random = fastrand::Rng::with_seed(seed);
        let mut consumers = Vec::new();
        let many = if random.u8(..5) == 0 { 20 } else { 3 };
        for n in 0..many {
            let consumer = ConsumerKey { topic: topic.clone(), name: format!("c{n}").parse().unwrap() };
            let settle = [0, 3, 6, 10, 60][random.usize(..5)];
            let new = format!(r#"{{"start":"earliest","settle_seconds":{settle}}}"#);
            let new = NewConsumer::parse(new.as_bytes()).unwrap();
            store.op().consumer(&consumer).put(&new).await.unwrap();
            consumers.push(consumer);
        }
        let expected = vec![Expected::default(); consumers.len()];
        let state = State { random, handled: SequenceNumber::START, expected };
        Self { world, engine, topic, consumers, state: RefCell::new(state) }
    }

    fn draw<T>(&self, draw: impl FnOnce(&mut fastrand::Rng) -> T) -> T {
        draw(&mut self.state.borrow_mut().random)
    }

    fn one<T: Copy>(&self, of: &[T]) -> T {
        of[self.draw(|random| random.usize(..of.len()))]
    }

    async fn wait(&self, up_to: u64) {
        pass(Duration::from_millis(self.draw(|random| random.u64(..up_to * 1_000)))).await;
    }

    /// A process with faults, a slow network and a clock that is wrong by up to so many milliseconds.
    fn process(&self, skew_millis: u64, stall: Option<Stall>) -> Store {
        let seed = self.draw(|random| random.u64(..));
        let faults = Faults::seeded(seed);
        let faults = match self.draw(|random| random.u8(..4)) {
            0 => faults.sometimes(0.1, Target::any(), Fault::Timeout(Moment::After)),
            1 => faults.sometimes(0.1, Target::any(), Fault::TransactionConflict).sometimes(
                0.1,
                Target::any(),
                Fault::Throttle(Throttle::TableKeyRange),
            ),
            _ => faults,
        };
        let by = Duration::from_millis(self.draw(|random| random.u64(..=skew_millis)));
        let process = self.world.process();
        let process = if seed.is_multiple_of(2) { process.ahead(by) } else { process.behind(by) };
        let network = Network { seed, longest: Duration::from_millis(30), stall };
        Store::new(connection(self.engine.client_with(faults).over(network), process))
    }

    /// A call that takes long.
    fn stall(&self, calls: u64, seconds: &[u64]) -> Option<Stall> {
        let call = self.draw(|random| random.u64(1..=calls));
        let moment = self.one(&[Moment::Before, Moment::After]);
        let time = Duration::from_secs(self.one(seconds));
        let is_stalled = self.draw(|random| random.u8(..3)) == 0;
        is_stalled.then_some(Stall { call, moment, time })
    }

    /// A writer that writes now and then.
    async fn writer(&self) {
        for _ in 0..8 {
            self.wait(STORY / 4).await;
            let stall = self.stall(3, &[1, 4, 11, 70, HOUR]);
            let store = self.process(WRITERS_SKEW * 1_000, stall);
            let ago = self.one(&[0, 0, 0, 0, 0, 7, MINUTE, 10 * MINUTE, HOUR, 50 * HOUR]);
            let at = (ago > 0).then(|| self.world.now().saturating_sub(ago * 1_000));
            let count = self.one(&[1, 1, 1, 5, 30]);
            let events = vec![NewEvent { at, ..event("note", None) }; count];
            // The write may or may not have been applied: the stream shows it.
            drop(store.op().topic(&self.topic).write(submission(events)).await);
        }
    }

    /// An import of thousands, in some stories.
    async fn importer(&self) {
        self.wait(STORY).await;
        if self.draw(|random| random.u8(..4)) != 0 {
            return;
        }
        let store = self.process(0, None);
        let at = Some(self.world.now().saturating_sub(self.one(&[20, HOUR, 24 * HOUR]) * 1_000));
        for _ in 0..4 {
            let events = vec![NewEvent { at, ..event("note", None) }; 500];
            drop(store.op().topic(&self.topic).write(submission(events)).await);
        }
    }

    /// A consumer that polls, stops, seeks, and changes how long it waits.
    async fn consumer(&self, number: usize) {
        let consumer = &self.consumers[number];
        for _ in 0..14 {
            self.wait(STORY / 7).await;
            let store = self.process(CONSUMERS_SKEW_MILLIS, self.stall(8, &[1, 15, MINUTE, HOUR]));
            match self.draw(|random| random.u8(..10)) {
                0 => self.seek(&store, number).await,
                1 => {
                    let settle = self.one(&[0, 2, 5, 8, 10, 30, 300]);
                    let new = format!(r#"{{"settle_seconds":{settle}}}"#);
                    let new = NewConsumer::parse(new.as_bytes()).unwrap();
                    drop(store.op().consumer(consumer).put(&new).await);
                }
                _ => {
                    for _ in 0..self.draw(|random| random.u8(1..5)) {
                        drop(self.poll(&store, number, self.one(&[1, 3, 40, 1_000])).await);
                        pass(Duration::from_secs(self.one(&[0, 1, 5]))).await;
                    }
                }
            }
        }
    }

    async fn seek(&self, store: &Store, number: usize) {
        let now = self.world.now();
        let ago = self.one(&[0, 0, 5, MINUTE, HOUR, 100 * HOUR]);
        let at = now.saturating_sub(ago * 1_000);
        let to = SeekTo::Start(Start::Time(at));
        let position = EventId::first_of(at).just_before().unwrap();
        // A seek whose outcome is not known may be applied at any moment: the consumer seeks until it knows.
        while store.op().consumer(&self.consumers[number]).seek(Seek { to }).await.is_err() {
            pass(Duration::from_secs(1)).await;
        }
        // An event that was stored while the seek was under way may be skipped or not.
        let state = &mut self.state.borrow_mut();
        let expected = &mut state.expected[number];
        expected.sought = Some((self.world.now(), position));
        expected.given.clear();
    }

    /// Polls and commits one batch of at most so many events. Returns false if there was none.
    async fn poll(&self, store: &Store, number: usize, limit: u16) -> Result<bool, ConsumerError> {
        let consumer = &self.consumers[number];
        let request = PollRequest::parse(format!(r#"{{"limit":{limit}}}"#).as_bytes()).unwrap();
        let polled = store.op().consumer(consumer).poll(request).await?;
        for event in polled.events.iter().chain(&polled.late) {
            let state = &mut self.state.borrow_mut();
            *state.expected[number].given.entry(event.id).or_default() += 1;
        }
        let Some(batch) = polled.batch else { return Ok(!polled.caught_up) };
        store.op().consumer(consumer).commit(batch).await?;
        Ok(true)
    }

    /// Delivers the stream, seconds or minutes late, and now and then again.
    async fn delivery(&self) {
        let end = self.world.now().saturating_add(STORY * 1_000);
        while self.world.now() < end {
            pass(Duration::from_secs(self.one(&[1, 5, 20, 3 * MINUTE, 20 * MINUTE]))).await;
            let from = self.state.borrow().handled;
            let from =
                SequenceNumber(if self.draw(|random| random.u8(..4)) == 0 { from.0 / 2 } else { from.0 });
            self.deliver(from, self.one(&[5, 50, 100])).await;
        }
    }

    /// Delivers records after a place in the stream. Returns false if there are none.
    async fn deliver(&self, from: SequenceNumber, most: usize) -> bool {
        let stream = self.engine.stream(TABLE).unwrap();
        let batch = stream.read(0, from, most, u64::MAX);
        if batch.records.is_empty() {
            return false;
        }
        let news = stream.lambda_event(&batch.records);
        let store = self.process(0, self.stall(6, &[1, 30]));
        let records = Record::batch(news.as_bytes()).unwrap();
        let outcome = store.op_within(Duration::from_secs(50)).fan_out(&records).await;
        let state = &mut self.state.borrow_mut();
        if outcome.failed.is_none() && batch.next > state.handled && from <= state.handled {
            state.handled = batch.next;
        }
        true
    }

    /// Delivers and polls everything that remains, some weeks later. Returns when each event was stored.
    async fn settle(&self) -> BTreeMap<EventId, UnixMillis> {
        pass(Duration::from_secs(2 * WRITERS_SKEW)).await;
        loop {
            let handled = self.state.borrow().handled;
            if !self.deliver(handled, 100).await {
                break;
            }
        }
        let stored = self.stored();
        pass(Duration::from_secs(self.one(&[0, 24 * HOUR, 60 * 24 * HOUR]))).await;
        let sound = Store::new(connection(self.engine.client(), self.world.clone()));
        for number in 0..self.consumers.len() {
            let mut polls = 0;
            while self.poll(&sound, number, 1_000).await.unwrap() {
                polls += 1;
                assert!(polls < 100_000, "the consumer never ends");
            }
        }
        stored
    }

    /// When each event was stored.
    fn stored(&self) -> BTreeMap<EventId, UnixMillis> {
        let mut stored = BTreeMap::new();
        for record in self.engine.stream(TABLE).unwrap().all() {
            let keys = record.keys();
            let [pk, sk] = ["pk", "sk"].map(|name| keys[name].as_s().unwrap().clone());
            if let (EventName::Insert, Some(AnyKey::Event(key))) = (record.event, AnyKey::decode(&pk, &sk)) {
                stored.insert(key.id(), UnixMillis::new(record.at_micros / 1_000).unwrap());
            }
        }
        stored
    }

    fn check(&self, stored: &BTreeMap<EventId, UnixMillis>) {
        for (number, expected) in self.state.borrow().expected.iter().enumerate() {
            for (id, stored_at) in stored {
                let is_expected = match expected.sought {
                    Some((sought_at, position)) => *id > position || *stored_at > sought_at,
                    None => true,
                };
                let is_given = expected.given.contains_key(id);
                assert!(
                    is_given || !is_expected,
                    "consumer {number} misses {id} of {stored_at}: {:?}",
                    expected.sought
                );
            }
        }
    }
}

async fn play(seed: u64) {
    let story = Story::begin(seed).await;
    let shared = &story;
    let mut at_once: Vec<std::pin::Pin<Box<dyn Future<Output = ()> + '_>>> = Vec::new();
    for _ in 0..3 {
        at_once.push(Box::pin(shared.writer()));
    }
    for number in 0..shared.consumers.len() {
        at_once.push(Box::pin(shared.consumer(number)));
    }
    at_once.push(Box::pin(shared.importer()));
    at_once.push(Box::pin(shared.delivery()));
    join_all(at_once).await;
    let stored = story.settle().await;
    story.check(&stored);
}

#[test]
fn no_consumer_misses_an_event() {
    for_each_seed(SEEDS, play);
}
