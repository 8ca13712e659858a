//! Simulations with all faults at once: whatever happens, each event is reported exactly once.
//!
//! A seed decides a story of some hours. Writers' clocks are minutes wrong, writes arrive an hour late, and
//! events are imported into the past. The stream is delivered hours late, and twice. Report runs overlap, die before or
//! after any call to the table and to the objects, run out of time, or stop in the middle of a call and wake hours
//! later. In the end everything that remains is delivered and reported, and the files must contain exactly the table's
//! events. The only assumption is that the clock of a process that reads is less than five seconds wrong.
//!
//! At the same time another consumer polls. It must receive each event at least once.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::pin::Pin;
use std::time::Duration;

use futures_util::future::join_all;
use lately_engine::fault::{Fault, Faults, Moment, Network, Stall, Target, Throttle};
use lately_items::{AnyKey, ConsumerKey};
use lately_keys::EventId;
use lately_model::{NewConsumer, NewEvent, PollRequest};
use lately_report::{Outcome, Report};
use lately_rig::for_each_seed;
use lately_store::{ConsumerError, Record};

use crate::rig::{Effect, Plan, Process, Reporter, Rig, paid, pass, store, submission};

const MINUTE: u64 = 60;
const HOUR: u64 = 60 * MINUTE;

/// The seconds for which users write. Everything else may continue for as long again before the story settles.
const STORY: u64 = 4 * HOUR;

/// The largest error of a writer's clock.
const WRITERS_SKEW: u64 = 5 * MINUTE;

/// The largest error of the clock of a process that reports or polls: less than the assumed five seconds.
const REPORTERS_SKEW: u64 = 4;

/// The number of each.
const WRITERS: usize = 3;
const WRITES: usize = 5;
const REPORTS: usize = 14;
const POLLS: usize = 6;

struct Story {
    rig: Rig,
    report: Report,
    poller: ConsumerKey,
    state: RefCell<State>,
}

struct State {
    random: fastrand::Rng,
    /// The number of stream records that were handled.
    handled: usize,
    /// The events that the poller received.
    polled: BTreeSet<EventId>,
    /// The ids of each published file when the file was first seen.
    published: BTreeMap<String, Vec<EventId>>,
    /// The outcomes of the report's invocations, counted.
    ends: BTreeMap<&'static str, u32>,
}

impl Story {
    async fn begin(seed: u64) -> Self {
        let rig = Rig::new(seed).await;
        let report = rig.report("nightly");
        let poller = ConsumerKey { topic: rig.topic.clone(), name: "poller".parse().unwrap() };
        let earliest = NewConsumer::parse(br#"{"start":"earliest"}"#).unwrap();
        rig.store.op().consumer(&poller).put(&earliest).await.unwrap();
        let state = State {
            random: fastrand::Rng::with_seed(seed),
            handled: 0,
            polled: BTreeSet::new(),
            published: BTreeMap::new(),
            ends: BTreeMap::new(),
        };
        Self { rig, report, poller, state: RefCell::new(state) }
    }

    fn draw<T>(&self, draw: impl FnOnce(&mut fastrand::Rng) -> T) -> T {
        draw(&mut self.state.borrow_mut().random)
    }

    fn one<T: Copy>(&self, of: &[T]) -> T {
        of[self.draw(|random| random.usize(..of.len()))]
    }

    fn once_in(&self, times: u32) -> bool {
        self.draw(|random| random.u32(..times)) == 0
    }

    /// A process whose wall clock is up to `skew` seconds wrong.
    fn process(&self, skew: u64) -> Process {
        let by = Duration::from_millis(self.draw(|random| random.u64(..=skew * 1_000)));
        let process = self.rig.world.process();
        if self.once_in(2) { process.ahead(by) } else { process.behind(by) }
    }

    /// The faults of a process's calls to the table.
    fn table_faults(&self) -> Faults {
        let faults = Faults::seeded(self.draw(|random| random.u64(..)));
        let call = self.draw(|random| random.u64(1..40));
        let any = Target::any;
        match self.draw(|random| random.u8(..8)) {
            0 => faults.nth(call, any(), Fault::Crash(Moment::Before)),
            1 => faults.nth(call, any(), Fault::Crash(Moment::After)),
            2 => faults.sometimes(0.2, any(), Fault::Timeout(Moment::After)),
            3 => faults.sometimes(0.3, any(), Fault::Throttle(Throttle::TableKeyRange)),
            4 => faults
                .sometimes(0.1, any(), Fault::TransactionConflict)
                .sometimes(0.1, any(), Fault::Unprocessed(0.5))
                .sometimes(0.1, any(), Fault::InternalServerError),
            _ => faults,
        }
    }

    /// The faults of a process's calls to the objects.
    fn object_faults(&self) -> Plan {
        let call = self.draw(|random| random.u64(1..16));
        let moment = self.one(&[Moment::Before, Moment::After]);
        match self.draw(|random| random.u8(..8)) {
            0 => Plan::nth(call, Effect::Crash(moment)),
            1 => Plan::nth(call, Effect::Fail(moment)),
            2 => Plan::nth(call, Effect::Hang(moment, self.hours())),
            _ => Plan::none(),
        }
    }

    /// A stall: a call that takes up to some hours.
    fn stall(&self, once_in: u32, calls: u64) -> Option<Stall> {
        let call = self.draw(|random| random.u64(1..=calls));
        let moment = self.one(&[Moment::Before, Moment::After]);
        let time = self.hours();
        self.once_in(once_in).then_some(Stall { call, moment, time })
    }

    fn hours(&self) -> Duration {
        Duration::from_secs(self.one(&[MINUTE, 20 * MINUTE, HOUR, 3 * HOUR]))
    }

    /// A new process with faults of every kind.
    fn troubled(&self, skew: u64, stall: Option<Stall>) -> Reporter {
        let process = self.process(skew);
        let mut reporter = self.rig.reporter(process.clone(), self.table_faults(), self.object_faults());
        let seed = self.draw(|random| random.u64(..));
        reporter.store = store(reporter.table.over(network(seed, stall)), process);
        reporter
    }

    /// A writer that writes now and then, by a clock that is minutes wrong.
    async fn writer(&self) {
        let process = self.process(WRITERS_SKEW);
        for _ in 0..WRITES {
            self.wait(STORY / WRITES as u64 * 2).await;
            let events = (0..self.one(&[1, 1, 1, 2, 4])).map(|_| self.event()).collect();
            // The call that puts the event is among the first three, so it can stall and arrive an hour later.
            let stall = self
                .stall(3, 3)
                .map(|stall| Stall { time: stall.time.min(Duration::from_secs(HOUR)), ..stall });
            let writer = self.rig.reporter(process.clone(), self.table_faults(), Plan::none());
            let seed = self.draw(|random| random.u64(..));
            let store = store(writer.table.over(network(seed, stall)), process.clone());
            // The write may or may not have been applied: the table shows it.
            drop(writer.alive(store.op().topic(&self.rig.topic).write(submission(events))).await);
        }
    }

    fn event(&self) -> NewEvent {
        let ago = self.one(&[0, 0, 0, 0, MINUTE, 10 * MINUTE, HOUR, 3 * HOUR, 40 * HOUR]);
        let at = (ago > 0).then(|| self.rig.world.now().saturating_sub(ago * 1_000));
        NewEvent {
            at,
            ..paid(self.one(&["ada", "bob"]), self.one(&["{\"amount\":0.10}", "{\"amount\":1e2}"]))
        }
    }

    /// An invocation of the report at a random time.
    async fn invocation(&self) {
        self.wait(STORY).await;
        let stall = self.stall(3, 30);
        let reporter = self.troubled(REPORTERS_SKEW, stall);
        let time = Duration::from_secs(self.one(&[21, 60, 292, 292]));
        let outcome = reporter.run(&self.report, time).await;
        let end = match outcome {
            None => "died",
            Some(Err(_)) => "failed",
            Some(Ok(Outcome::Nothing)) => "nothing",
            Some(Ok(Outcome::Busy { .. })) => "busy",
            Some(Ok(Outcome::Unfinished { .. })) => "unfinished",
            Some(Ok(Outcome::Finished { .. })) => "finished",
        };
        *self.state.borrow_mut().ends.entry(end).or_default() += 1;
        self.see().await;
    }

    /// A process that polls for a while.
    async fn polling(&self) {
        self.wait(STORY).await;
        let poller = self.troubled(REPORTERS_SKEW, self.stall(3, 8));
        let rounds = self.draw(|random| random.u8(1..4));
        let poll = async {
            for _ in 0..rounds {
                self.poll(&poller).await?;
                pass(Duration::from_secs(self.one(&[0, 1, MINUTE]))).await;
            }
            Ok::<(), ConsumerError>(())
        };
        drop(poller.alive(poll).await);
    }

    /// Polls and commits one batch; returns the number of its events, late events included, or `None` if there was no batch.
    async fn poll(&self, poller: &Reporter) -> Result<Option<usize>, ConsumerError> {
        let limit = self.one(&[r#"{"limit":1}"#, r#"{"limit":3}"#, "{}"]);
        let request = PollRequest::parse(limit.as_bytes()).unwrap();
        let polled = poller.store.op().consumer(&self.poller).poll(request).await?;
        let given: Vec<_> = polled.events.iter().chain(&polled.late).map(|event| event.id).collect();
        self.state.borrow_mut().polled.extend(&given);
        let Some(batch) = polled.batch else { return Ok(None) };
        poller.store.op().consumer(&self.poller).commit(batch).await?;
        Ok(Some(given.len()))
    }

    /// Delivers the stream: sometimes at once, sometimes hours later, and now and then again.
    async fn delivery(&self) {
        let end = self.rig.world.now().saturating_add(STORY * 1_000);
        while self.rig.world.now() < end {
            let idle = [1, 10, MINUTE, 10 * MINUTE, HOUR, 2 * HOUR];
            pass(Duration::from_secs(self.one(&idle))).await;
            let handled = self.state.borrow().handled;
            let again = self.draw(|random| random.usize(..=handled));
            if self.once_in(4) {
                self.deliver(again, self.one(&[1, 10])).await;
            } else if let Some(handled) = self.deliver(handled, self.one(&[1, 5, 50])).await {
                let state = &mut self.state.borrow_mut();
                state.handled = state.handled.max(handled);
            }
        }
    }

    /// Delivers records from an index on. Returns the index after the handled records, if the handler lived.
    async fn deliver(&self, from: usize, count: usize) -> Option<usize> {
        let records = self.rig.history();
        let batch: Vec<_> = records.iter().skip(from).take(count).cloned().collect();
        let handler = self.troubled(0, self.stall(6, 6));
        let event = self.rig.event(&batch);
        let parsed = Record::batch(event.as_bytes()).unwrap();
        let time = Duration::from_secs(self.one(&[2, 52]));
        let outcome = handler.alive(handler.store.op_within(time).fan_out(&parsed)).await?;
        let handled = match outcome.failed {
            None => batch.len(),
            Some(failed) => batch.iter().take_while(|record| record.sequence.to_string() != failed).count(),
        };
        Some(from + handled)
    }

    async fn wait(&self, up_to: u64) {
        pass(Duration::from_millis(self.draw(|random| random.u64(..up_to * 1_000)))).await;
    }

    /// Asserts that published files have not changed since they were first seen.
    async fn see(&self) {
        for (name, published) in self.rig.published().await {
            let before = self.state.borrow_mut().published.insert(name.clone(), published.ids.clone());
            assert!(before.is_none_or(|before| before == published.ids), "{name} has changed");
        }
    }

    /// Delivers, reports and polls everything that remains, without faults.
    async fn settle(&mut self) {
        // Time passes until all writes of clocks that are ahead lie in the past and every lease is over.
        for _ in 0..4 {
            pass(Duration::from_secs(2 * WRITERS_SKEW)).await;
            self.rig.settle().await;
            let sound = self.rig.sound();
            while let Outcome::Finished { .. } = sound.finish(&self.report).await {}
        }
        let sound = self.rig.sound();
        for _ in 0..400 {
            if self.poll(&sound).await.unwrap().is_none() {
                return;
            }
        }
        panic!("the poller never ends");
    }

    /// Asserts that every event in the table was reported once and polled.
    async fn check(&self) {
        self.see().await;
        let stored: BTreeSet<EventId> = self.stored().await;
        let reported = self.rig.reported().await;
        let unique: BTreeSet<EventId> = reported.iter().copied().collect();
        let twice: Vec<_> =
            unique.iter().filter(|id| reported.iter().filter(|other| other == id).count() > 1).collect();
        assert!(twice.is_empty(), "reported twice: {twice:?}");
        let missed: Vec<_> = stored.difference(&unique).collect();
        assert!(missed.is_empty(), "never reported: {missed:?}");
        let unknown: Vec<_> = unique.difference(&stored).collect();
        assert!(unknown.is_empty(), "reported, and never written: {unknown:?}");
        let polled = self.state.borrow().polled.clone();
        let unpolled: Vec<_> = stored.difference(&polled).collect();
        assert!(unpolled.is_empty(), "never polled: {unpolled:?}");
        for published in self.rig.published().await.into_values() {
            let cents = |data: &serde_json::Value| if data["amount"] == 0.1 { 10 } else { 10_000 };
            let sum: u64 = published.lines.iter().map(|line| cents(&line["data"])).sum();
            let summed: Vec<_> =
                published.summary.groups.iter().filter_map(|group| group.counted.sum.clone()).collect();
            let total: u64 = summed.iter().map(|sum| hundredths(&sum.to_string())).sum();
            assert_eq!(total, sum, "{summed:?}");
        }
    }

    /// The ids of all events in the table.
    async fn stored(&self) -> BTreeSet<EventId> {
        let client = self.rig.engine.client();
        let mut items =
            client.scan().table_name("lately").consistent_read(true).into_paginator().items().send();
        let mut ids = BTreeSet::new();
        while let Some(item) = items.next().await {
            let item = item.unwrap();
            let (pk, sk) = (item["pk"].as_s().unwrap(), item["sk"].as_s().unwrap());
            if let Some(AnyKey::Event(key)) = AnyKey::decode(pk, sk) {
                ids.insert(key.id());
            }
        }
        ids
    }

    /// All changes of the table and all published ids, as text.
    async fn trace(&self) -> String {
        let records = self.rig.history();
        let changes = records.iter().map(|record| {
            let image =
                record.new_image().map(|item| format!("{:?}", item.into_iter().collect::<BTreeMap<_, _>>()));
            format!("{} {} {image:?}", record.sequence, record.at_micros)
        });
        let published =
            self.rig.published().await.into_iter().map(|(name, of)| format!("{name} {:?}", of.ids));
        changes.chain(published).collect::<Vec<_>>().join("\n")
    }
}

/// A decimal with at most two decimal places, in hundredths.
fn hundredths(decimal: &str) -> u64 {
    let (whole, part) = decimal.split_once('.').unwrap_or((decimal, ""));
    whole.parse::<u64>().unwrap() * 100 + format!("{part:0<2}").parse::<u64>().unwrap()
}

async fn play(seed: u64) -> Story {
    let mut story = Story::begin(seed).await;
    let shared = &story;
    let mut at_once: Vec<Pin<Box<dyn Future<Output = ()> + '_>>> = Vec::new();
    for _ in 0..WRITERS {
        at_once.push(Box::pin(shared.writer()));
    }
    for _ in 0..REPORTS {
        at_once.push(Box::pin(shared.invocation()));
    }
    for _ in 0..POLLS {
        at_once.push(Box::pin(shared.polling()));
    }
    at_once.push(Box::pin(shared.delivery()));
    join_all(at_once).await;
    story.settle().await;
    story
}

const SEEDS: u64 = 25;

/// Calls take a short time, and one of them may stall.
const fn network(seed: u64, stall: Option<Stall>) -> Network {
    Network { seed, longest: Duration::from_millis(50), stall }
}

#[test]
fn each_event_is_reported_once_and_polled_at_least_once() {
    let ends = for_each_seed(SEEDS, async |seed| {
        let story = play(seed).await;
        story.check().await;
        story.state.into_inner().ends
    });
    if !lately_rig::are_named() {
        for end in ["died", "failed", "busy", "unfinished", "finished"] {
            let count: u32 = ends.iter().filter_map(|ends| ends.get(end)).sum();
            assert!(u64::from(count) * 10 >= SEEDS, "{end}: {count} in {SEEDS} stories");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn the_same_seed_plays_the_same_story() {
    for seed in [3, 8, 21] {
        let (once, again) = (play(seed).await.trace().await, play(seed).await.trace().await);
        let differs = once.lines().zip(again.lines()).find(|(once, again)| once != again);
        assert_eq!(differs, None);
        assert_eq!(once, again);
    }
}
