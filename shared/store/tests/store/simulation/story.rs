//! The story of a seed: users act, and the stream's records are delivered (`delivery.rs`), each with its own faults and
//! pace.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::pin::Pin;
use std::time::Duration;

use futures_util::future::join_all;
use lately_engine::fault::{Fault, Faults, FaultyClient, Moment, Network, Target, Throttle};
use lately_engine::stream::SequenceNumber;
use lately_engine::{Engine, Lag, Operation, Options};
use lately_items::Timeline;
use lately_keys::{EventId, Source, Topic, User};
use lately_model::{Backfill, LiveQuery, NewErasure, NewEvent};
use lately_store::{FeedSettings, Store};
use lately_table::Connection;

use crate::issues::support as issues;
use crate::listed::{source, user};
use crate::simulation::delivery::StoryLane;
use crate::simulation::knobs::Knobs;
use crate::support::{Item, TABLE, World, change, pass, post, start_with, store, submission, topic};

/// The time limit of an operation.
const BUDGET: Duration = Duration::from_secs(5);

pub(super) const SECOND: u64 = 1_000;

/// The probability that a transaction is half visible for a while: its changes and their records appear one by one.
const HALF_VISIBLE: f64 = 0.3;

/// The longest time for which a change of a half-visible transaction is held back.
const HELD_BACK: Duration = Duration::from_millis(500);

/// The number of users who act at the same time, and the number of actions of each.
const ACTIVE: usize = 3;
const ACTS: usize = 4;

/// The topic that some stories delete.
pub(super) const DELETED: &str = "notes";

pub(super) const USERS: [&str; 5] = ["ada", "bob", "cy", "dee", "eve"];
pub(super) const SOURCES: [&str; 4] = ["actor:ada", "actor:bob", "subject:s", "subject:t"];
const TOPICS: [&str; 3] = ["posts", "notes", "logs"];

/// Runs the story of a seed to its end. A person may be erased in it. In the end of a story with an erasure or a deletion,
/// all records are delivered once more.
pub(super) async fn tell(seed: u64, erasure: Option<&NewErasure>, knobs: Knobs) -> Story {
    let story = Story::begin(seed, knobs).await;
    if erasure.is_some() && knobs.opens_issues {
        issues::open(&store(story.engine.client(), &story.world), r#"{"title":"of ada"}"#).await;
    }
    story.state.borrow_mut().active = ACTIVE + usize::from(erasure.is_some());
    let mut at_once: Vec<Pin<Box<dyn Future<Output = ()> + '_>>> = Vec::new();
    for _ in 0..ACTIVE {
        at_once.push(Box::pin(story.user()));
    }
    for lane in story.lanes() {
        at_once.push(Box::pin(story.lane(lane)));
    }
    // Records that were never delivered are not redriven.
    if story.shard_behind().is_none() {
        at_once.push(Box::pin(story.redrive()));
    }
    match erasure {
        Some(new) => at_once.push(Box::pin(story.erase(new))),
        None if seed % 8 == 1 => {
            at_once.push(Box::pin(story.follow_live(Timeline::Source(source("actor:ada")))));
            at_once.push(Box::pin(story.follow_live(Timeline::Feed(user("bob")))));
        }
        None => {}
    }
    if story.deletes_a_topic() {
        at_once.push(Box::pin(story.delete_topic()));
    }
    join_all(at_once).await;
    // Transactions of processes that died become fully visible without their sender.
    pass(HELD_BACK).await;
    if story.shard_behind().is_some() {
        story.settle_others().await;
        pass(knobs.redriven_after.unwrap_or(knobs.shard_behind)).await;
        story.expire();
        if story.reuses_name() {
            story.use_name_again().await;
        }
    }
    story.settle().await;
    if erasure.is_some() || story.deletes_a_topic() {
        story.deliver_again().await;
    }
    story
}

/// An action of a user.
#[derive(Debug)]
enum Act {
    Post(Topic, Vec<NewEvent>),
    /// Follows a source, with this many older events.
    Follow(User, Source, u16),
    Unfollow(User, Source),
    FollowAgain(User, Source),
    /// Unfollows a source some time after posting an event that the source lists.
    Leave(User, Source, NewEvent, Duration),
    Delete(Topic, EventId),
}

pub(super) struct Story {
    pub(super) world: World,
    pub(super) engine: Engine,
    pub(super) seed: u64,
    pub(super) knobs: Knobs,
    settings: FeedSettings,
    pub(super) state: RefCell<State>,
}

pub(super) struct State {
    random: fastrand::Rng,
    /// The number of users who still act.
    active: usize,
    /// For each lane, the last record that was handled.
    pub(super) handled: BTreeMap<StoryLane, SequenceNumber>,
    /// Events that were acknowledged, and that nobody asked to delete.
    posted: Vec<(Topic, EventId)>,
    /// Follows that were asked for, and that nobody asked to end.
    followed: Vec<(User, Source)>,
    /// For each event, the last sequence number at which its record or its jobs pushed it.
    pub(super) pushed: BTreeMap<EventId, u64>,
    /// The clients of all processes. They list the calls that were made.
    clients: Vec<FaultyClient>,
    /// The events of the topic that has the name of the deleted one, if there is such a topic.
    pub(super) of_new_topic: Option<Vec<EventId>>,
}

impl Story {
    async fn begin(seed: u64, knobs: Knobs) -> Self {
        let mut random = fastrand::Rng::with_seed(seed);
        // A generator of its own, so that older seeds still tell the same stories.
        let mut steps = fastrand::Rng::with_seed(!seed);
        let lag = Lag { seed, table: Duration::from_secs(5), index: Duration::from_secs(5), behind: 0.5 };
        let options = Options {
            shards: random.u16(2..=4),
            lag: seed.is_multiple_of(8).then_some(lag),
            // A redriven record comes from the failure destination, which keeps it for longer than the stream.
            retention: Duration::from_secs(14 * 24 * 60 * 60),
            partitions: if seed % 5 == 2 { knobs.partitions() } else { None },
            ..Options::default()
        };
        let (world, engine, store) = start_with(seed, options);
        let settings = FeedSettings {
            fan_out_limit: [1, 2, 3, 1000][random.usize(..4)],
            retention: None,
            audience: random.u16(0..=3),
            followers_per_job: random.u16(1..=3),
            entries_per_query: steps.u32(1..=3),
            queries_per_step: steps.u32(1..=2),
        };
        let state = State {
            random,
            active: 0,
            handled: BTreeMap::new(),
            posted: Vec::new(),
            followed: Vec::new(),
            pushed: BTreeMap::new(),
            clients: Vec::new(),
            of_new_topic: None,
        };
        let topics = [r#"{"bucket":"hour"}"#, "{}", r#"{"fan_out":false}"#];
        for (name, settings) in TOPICS.into_iter().zip(topics) {
            store.op().topic(&topic(name)).put(&change(settings)).await.unwrap();
        }
        Self { world, engine, seed, knobs, settings, state: RefCell::new(state) }
    }

    pub(super) fn draw<T>(&self, draw: impl FnOnce(&mut fastrand::Rng) -> T) -> T {
        draw(&mut self.state.borrow_mut().random)
    }

    pub(super) fn one<T: Copy>(&self, of: &[T]) -> T {
        of[self.draw(|random| random.usize(..of.len()))]
    }

    /// True once in `times`, at random.
    pub(super) fn once_in(&self, times: u32) -> bool {
        self.draw(|random| random.u32(..times)) == 0
    }

    /// A process with its own faults, network and clock error.
    pub(super) fn process(&self, faulty: bool) -> (FaultyClient, Store) {
        let faults = Faults::seeded(self.draw(|random| random.u64(..)));
        let any = Target::any;
        let hot = || Fault::Throttle(Throttle::TableKeyRange);
        let kind = self.draw(|random| random.u8(..8));
        let early = self.draw(|random| random.u64(1..30));
        let faults = match kind {
            _ if !faulty => faults,
            0 => faults.nth(early, any(), Fault::Crash(Moment::Before)),
            1 => faults.nth(early, any(), Fault::Crash(Moment::After)),
            2 => faults.sometimes(0.2, any(), Fault::Timeout(Moment::Before)),
            3 => faults.sometimes(0.2, any(), Fault::Timeout(Moment::After)),
            4 => faults.sometimes(0.4, Target::writes(), Fault::Unprocessed(0.5)),
            5 => faults.sometimes(0.2, any(), hot()).sometimes(0.1, any(), Fault::InternalServerError),
            6 => {
                let follows = || Target::operation(Operation::TransactWriteItems).partition("FOLLOWERS#");
                let entries = self.one(&["SOURCE#actor:ada", "SOURCE#", "FEED#bob", "FEED#"]);
                let entries = Target::operation(Operation::BatchWriteItem).partition(entries);
                faults
                    .sometimes(0.3, follows(), Fault::TransactionConflict)
                    .sometimes(0.3, follows(), hot())
                    .sometimes(0.9, entries, hot())
            }
            _ => faults
                .sometimes(0.1, any(), Fault::ServiceUnavailable)
                .sometimes(0.1, any(), Fault::Timeout(Moment::After))
                .nth(2 * early, any(), Fault::Crash(Moment::After)),
        };
        let half_visible = Fault::HalfVisible { share: 0.5, longest: HELD_BACK };
        let faults = faults.sometimes(HALF_VISIBLE, any(), half_visible);
        let client = self.engine.client_with(faults);
        self.state.borrow_mut().clients.push(client.clone());
        let by_millis = self.draw(|random| random.i64(-1500..=1500));
        let by = Duration::from_millis(by_millis.unsigned_abs());
        let process = self.world.process();
        let ambient = if by_millis < 0 { process.behind(by) } else { process.ahead(by) };
        let pace = self.one(&[1, 5, 5, 20, 200]);
        // Beside hot partitions, nothing else delays a batch.
        let pace = if self.has_hot_partitions() { pace.min(5) } else { pace };
        let longest = Duration::from_millis(pace);
        let slow = client.over(Network { seed: self.draw(|random| random.u64(..)), longest, stall: None });
        (client, Store::new(Connection::new(slow, TABLE, ambient, BUDGET)).with_feeds(self.settings))
    }

    fn act(&self) -> Act {
        let (user, source) = (user(self.one(&USERS)), source(self.one(&SOURCES)));
        match self.draw(|random| random.u8(..12)) {
            0..5 => {
                let count = if self.once_in(4) { self.one(&[2, 3]) } else { 1 };
                let events = (0..count).map(|_| self.event()).collect();
                Act::Post(topic(self.one(&TOPICS)), events)
            }
            5..8 => {
                self.state.borrow_mut().followed.push((user.clone(), source.clone()));
                Act::Follow(user, source, self.one(&[0, 1, 2, 3]))
            }
            8..10 => {
                let State { followed, random, .. } = &mut *self.state.borrow_mut();
                let (user, source) = take(followed, random).unwrap_or((user, source));
                let wait = Duration::from_millis(random.u64(..500));
                match random.u8(..4) {
                    0 => Act::FollowAgain(user, source),
                    1 => Act::Unfollow(user, source),
                    _ => Act::Leave(user, source.clone(), about(&source), wait),
                }
            }
            _ => {
                let State { posted, random, .. } = &mut *self.state.borrow_mut();
                match take(posted, random) {
                    Some((topic, id)) => Act::Delete(topic, id),
                    None => Act::Unfollow(user, source),
                }
            }
        }
    }

    fn event(&self) -> NewEvent {
        let ago = [None, None, None, Some(3), Some(50), Some(90)];
        let at = self.one(&ago).map(|seconds| self.world.now().saturating_sub(seconds * SECOND));
        let actor = self.one(&["ada", "ada", "bob"]);
        let small = format!("\"words of {actor}\"");
        let large = format!("\"words of {actor}{}\"", "x".repeat(1200));
        let data = self.one(&[None, Some(small.as_str()), Some(large.as_str())]);
        NewEvent {
            event_type: "note".parse().unwrap(),
            actor: actor.parse().unwrap(),
            subject: self.one(&[None, Some("s"), Some("t")]).map(|name| name.parse().unwrap()),
            data: data.map(|data| data.parse().unwrap()),
            at,
        }
    }

    /// Performs an action of a user, as far as the faults allow.
    async fn perform(&self, act: Act) {
        let faulty = self.once_in(4);
        let (client, store) = self.process(faulty);
        let act = async {
            match act {
                Act::Post(topic, events) => {
                    let written = store.op().topic(&topic).write(submission(events)).await?;
                    let events = written.events.iter().map(|event| (topic.clone(), event.id));
                    self.state.borrow_mut().posted.extend(events);
                }
                Act::Follow(user, source, backfill) => {
                    store.op().user(&user).follow(&source, Backfill::new(backfill)?).await?;
                }
                Act::Unfollow(user, source) => {
                    store.op().user(&user).unfollow(&source).await?;
                }
                Act::FollowAgain(user, source) => {
                    store.op().user(&user).unfollow(&source).await?;
                    store.op().user(&user).follow(&source, Backfill::default()).await?;
                }
                Act::Leave(user, source, event, wait) => {
                    store.op().topic(&topic(TOPICS[0])).write(submission(vec![event])).await?;
                    pass(wait).await;
                    store.op().user(&user).unfollow(&source).await?;
                }
                Act::Delete(topic, id) => {
                    store.op().event(&topic, id).delete(None).await?;
                }
            }
            Ok::<(), Box<dyn std::error::Error>>(())
        };
        let done = client.run(act).await;
        let is_refusal = |error: &dyn std::error::Error| {
            let text = error.to_string();
            text == format!("there is no topic {DELETED}") && self.deletes_a_topic()
                || text == "the actor ada is being erased"
        };
        let is_refused = matches!(&done, Some(Err(error)) if is_refusal(&**error));
        let faulty = faulty || self.has_hot_partitions();
        assert!(faulty || is_refused || matches!(done, Some(Ok(()))), "{done:?}");
    }

    /// True if one of the topics is deleted in this story.
    pub(super) const fn deletes_a_topic(&self) -> bool {
        self.seed.is_multiple_of(3)
    }

    /// True if partitions serve few reads in this story.
    pub(super) const fn has_hot_partitions(&self) -> bool {
        self.knobs.read_units.is_some() && self.seed % 5 == 2
    }

    /// The shard of the stream that is delivered minutes after the others, if this story has one.
    pub(super) fn shard_behind(&self) -> Option<u16> {
        let is_behind = !self.knobs.shard_behind.is_zero() && self.seed % 5 == 4;
        let shards = u64::from(self.engine.stream(TABLE).unwrap().shards());
        is_behind.then(|| u16::try_from(self.seed / 5 % shards).unwrap())
    }

    /// TTL removes what has expired, if records are redriven in this story.
    pub(super) fn expire(&self) {
        if self.knobs.redriven_after.is_some() && self.shard_behind().is_some() {
            self.engine.expire(100_000).unwrap();
        }
    }

    /// True if the deleted topic's name is used again in this story.
    fn reuses_name(&self) -> bool {
        self.knobs.reuses_names && self.deletes_a_topic() && self.shard_behind().is_some()
    }

    /// Deletes a topic, and asks again until the deletion is acknowledged.
    async fn delete_topic(&self) {
        let notes = topic(DELETED);
        pass(Duration::from_millis(self.one(&[0, 20, 500, 5_000, 20_000]))).await;
        let stale = store(self.engine.client(), &self.world);
        if self.reuses_name() {
            post(&stale, &notes, vec![about(&source("actor:ada"))]).await;
        }
        loop {
            let (client, store) = self.process(true);
            let done = client.run(async { store.op().ending(&notes).delete().await.is_ok() }).await;
            if done == Some(true) {
                break;
            }
        }
        if self.reuses_name() {
            // A process that knows the topic writes one more event.
            pass(Duration::from_millis(self.one(&[100, 800, 1_500]))).await;
            let events = submission(vec![about(&source("actor:ada"))]);
            drop(stale.op().topic(&notes).write(events).await);
        }
    }

    /// Uses the deleted topic's name for another topic, if its deletion is done.
    async fn use_name_again(&self) {
        let notes = topic(DELETED);
        let store = store(self.engine.client(), &self.world);
        if store.op().topic(&notes).put(&change("{}")).await.is_err() {
            return;
        }
        let new = post(&store, &notes, vec![about(&source("actor:ada"))]).await;
        self.state.borrow_mut().of_new_topic = Some(new);
        self.settle_others().await;
    }

    pub(super) fn goes_on(&self) -> bool {
        self.state.borrow().active > 0
    }

    async fn user(&self) {
        for _ in 0..ACTS {
            let act = self.act();
            self.perform(act).await;
            pass(Duration::from_millis(self.one(&[0, 0, 5, 10, 50, 50, 1_000, 20_000]))).await;
        }
        self.state.borrow_mut().active -= 1;
    }

    /// Follows a timeline live, so that fan-out notes its late events, which are many while its partition is throttled.
    async fn follow_live(&self, timeline: Timeline) {
        let store = store(self.engine.client(), &self.world);
        let mut follower = store.op().follow(timeline, &LiveQuery::default(), None).await.unwrap();
        while self.goes_on() {
            drop(tokio::time::timeout(Duration::from_millis(500), follower.next()).await);
        }
    }

    /// Asks for an erasure, until somebody hears of it.
    async fn erase(&self, new: &NewErasure) {
        pass(Duration::from_millis(self.one(&[0, 5, 50, 500, 5_000, 20_000]))).await;
        loop {
            let faulty = self.once_in(4);
            let (client, store) = self.process(faulty);
            let begun = client.run(async { store.op().erasures().begin(new).await }).await;
            if matches!(begun, Some(Ok(_))) {
                break;
            }
            assert!(faulty, "{begun:?}");
        }
        self.state.borrow_mut().active -= 1;
    }

    /// Everything that happened: every call, and every change of the table.
    pub(super) fn trace(&self) -> String {
        let state = self.state.borrow();
        let calls = state.clients.iter().map(|client| format!("{:?}", client.calls()));
        let records = self.engine.stream(TABLE).unwrap().all().into_iter().map(|record| {
            let sorted = |item: Item| format!("{:?}", item.into_iter().collect::<BTreeMap<_, _>>());
            let images = (record.old_image().map(sorted), record.new_image().map(sorted));
            format!("{} {:?} {} {images:?}", record.sequence, record.event, record.at_micros)
        });
        calls.chain(records).collect::<Vec<_>>().join("\n")
    }
}

/// An event that the source's timeline lists.
fn about(source: &Source) -> NewEvent {
    let (actor, subject) = match source {
        Source::Actor(actor) => (actor.clone(), None),
        Source::Subject(subject) => ("bob".parse().unwrap(), Some(subject.clone())),
    };
    NewEvent { event_type: "note".parse().unwrap(), actor, subject, data: None, at: None }
}

fn take<T>(from: &mut Vec<T>, random: &mut fastrand::Rng) -> Option<T> {
    let chosen = random.usize(..from.len().max(1));
    (!from.is_empty()).then(|| from.swap_remove(chosen))
}
