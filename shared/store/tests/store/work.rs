//! One model for all kinds of background work: whatever disturbs its steps, the table ends as after an undisturbed run.
//!
//! Each kind begins in the same scene. Its records are then delivered twice, in another order, to processes that die,
//! that are throttled, or that run the same step at the same time. Only the order of an item's records is kept, as Lambda
//! keeps it.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use futures_util::future;
use lately_engine::Operation;
use lately_engine::fault::{Fault, Faults, Moment, Network, Stall, Target, Throttle, When};
use lately_items::AnyKey;
use lately_rig::for_each_seed;
use lately_store::{Ambient, FeedSettings, FindError, WaitingStep};
use serde_json::{Value, json};

use crate::backlog::{fan_out_while_busy, process};
use crate::erasure::life::{lived_shortly, of_ada};
use crate::listed::{source, user};
use crate::scene::{Scene, about, fan_out, key, of_keys, small_jobs, tell};
use crate::simulation::knobs::ANSWERED_WITHIN;
use crate::support::{MINUTE, change, items, pass, store};

/// The kinds of work. `records` are records of all kinds with few followers, which need no second step.
const KINDS: [&str; 10] = [
    "deletion",
    "retention",
    "erasure",
    "backfill",
    "cleanup",
    "push",
    "remove",
    "promotion",
    "backlog",
    "records",
];

/// A scene in which work of a kind has just begun.
async fn begun(kind: &'static str) -> Scene {
    let settings = match kind {
        "records" => FeedSettings::default(),
        _ => FeedSettings { fan_out_limit: 4, ..small_jobs() },
    };
    if kind == "erasure" {
        let scene = lived_shortly(settings).await;
        scene.store.op().erasures().begin(&of_ada()).await.unwrap();
        return scene;
    }
    let mut scene = Scene::new(settings).await;
    let ada = source("actor:ada");
    for who in ["u0", "u1", "u2", "u3"] {
        scene.follow(who, "actor:ada", 0).await;
    }
    scene.follow("u0", "subject:s", 0).await;
    scene.settle().await;
    let posted = scene.write(vec![about("s"), about("t"), about("t"), about("t")]).await;
    scene.settle().await;
    pass(Duration::from_secs(1)).await;
    let op = scene.store.op();
    match kind {
        "deletion" => drop(op.ending(&scene.posts).delete().await.unwrap()),
        "retention" => drop(op.topic(&scene.posts).put(&change(r#"{"retention_days":7}"#)).await.unwrap()),
        "backfill" => scene.follow("u4", "actor:ada", 9).await,
        "cleanup" => op.user(&user("u0")).unfollow(&ada).await.unwrap(),
        "push" => drop(scene.write(vec![about("s"), about("t")]).await),
        "remove" => op.event(&scene.posts, posted[1]).delete(None).await.unwrap(),
        "promotion" => scene.follow("u4", "actor:ada", 0).await,
        "backlog" => {
            scene.write(vec![about("s"), about("t")]).await;
            fan_out_while_busy(&mut scene, "SOURCE#subject:t").await;
            op.event(&scene.posts, posted[1]).delete(None).await.unwrap();
            fan_out_while_busy(&mut scene, "SOURCE#subject:t").await;
            scene.write(vec![about("s")]).await;
            // This begins a job, which comes to the feed.
            scene.tell().await;
            fan_out_while_busy(&mut scene, "FEED#u1").await;
        }
        "records" => {
            scene.write(vec![about("s"), about("t")]).await;
            op.event(&scene.posts, posted[1]).delete(None).await.unwrap();
            op.user(&user("u0")).unfollow(&ada).await.unwrap();
            pass(Duration::from_secs(1)).await;
            scene.follow("u4", "actor:ada", 9).await;
        }
        _ => unreachable!("{kind} is no kind"),
    }
    scene
}

/// Families of partitions that clients read, or that many clients write to.
const FAMILIES: [&str; 5] = ["SOURCE#", "FOLLOWERS#", "FEED#", "EVENTS#", "USER#"];

/// A disturbance of the steps.
#[derive(Clone, Copy, Debug)]
enum Trouble {
    /// Nothing.
    None,
    /// The records come in random batches, in random order between items, and some come again.
    Disorder(u64),
    /// A process dies at the n-th call.
    Death(u64, Moment),
    /// For each batch, the first process dies at a call, the second one three calls later, until one survives.
    Deaths(u64, Moment),
    /// Calls are throttled or fail.
    Faults(u64),
    /// One family of partitions refuses all reads or all calls for some seconds, and other key ranges refuse some.
    Busy(u64),
    /// Two processes run each batch at the same time, and a call of one of them stalls.
    Together(u64),
    /// The reads of some partitions are refused for a while. Each batch is still answered soon.
    HotReads(&'static str),
}

/// The number of troubles.
const TROUBLES: usize = 7;

/// The time for which reads are refused.
const HOT: Duration = Duration::from_secs(40);

/// Delivers all records.
async fn deliver(scene: &mut Scene, trouble: Trouble) {
    match trouble {
        Trouble::None => drop(scene.settle().await),
        Trouble::Disorder(seed) => deliver_in_disorder(scene, seed).await,
        Trouble::HotReads(partition) => deliver_beside_hot_reads(scene, partition).await,
        Trouble::Death(n, moment) => {
            let (client, victims) =
                process(scene, Faults::default().nth(n, Target::any(), Fault::Crash(moment)));
            let mut is_dead = false;
            while scene.has_news() {
                let news = scene.news();
                is_dead = is_dead || client.run(fan_out(&victims, &news)).await.is_none();
                if is_dead {
                    tell(&scene.store, &news).await;
                }
            }
        }
        Trouble::Deaths(first, moment) => {
            while scene.has_news() {
                let news = scene.news();
                for n in (first..).step_by(3) {
                    let faults = Faults::default().nth(n, Target::any(), Fault::Crash(moment));
                    let (client, store) = process(scene, faults);
                    if client.run(fan_out(&store, &news)).await.is_some() {
                        break;
                    }
                }
            }
        }
        Trouble::Faults(seed) => {
            let (feeds, hot) =
                (Target::writes().partition("FEED#"), Fault::Throttle(Throttle::TableKeyRange));
            let faults = Faults::seeded(seed)
                .sometimes(0.1, Target::any(), Fault::Throttle(Throttle::Account))
                .sometimes(0.2, Target::operation(Operation::BatchWriteItem), Fault::Unprocessed(0.3))
                .sometimes(0.05, feeds, hot)
                .sometimes(0.05, Target::any(), Fault::InternalServerError);
            let (_, store) = process(scene, faults);
            while scene.has_news() {
                let news = scene.news();
                while fan_out(&store, &news).await.failed.is_some() {}
            }
        }
        Trouble::Busy(seed) => {
            let mut random = fastrand::Rng::with_seed(seed);
            let hot = || Fault::Throttle(Throttle::TableKeyRange);
            let calls = if random.bool() { Target::reads() } else { Target::any() };
            let family = calls.partition(random.choice(FAMILIES).unwrap());
            let until = scene.world.since_epoch() + Duration::from_millis(random.u64(..6_000));
            let faults = Faults::seeded(seed)
                .rule_until(until, family, When::Always, hot())
                .rule_until(until, Target::reads(), When::Chance(0.5), hot())
                .rule_until(until, Target::writes(), When::Chance(0.3), hot())
                .sometimes(0.1, Target::operation(Operation::BatchGetItem), Fault::Unprocessed(0.5));
            let (_, store) = process(scene, faults);
            while scene.has_news() {
                let news = scene.news();
                while fan_out(&store, &news).await.failed.is_some() {}
            }
        }
        Trouble::Together(seed) => {
            let mut random = fastrand::Rng::with_seed(seed);
            while scene.has_news() {
                let news = scene.news();
                // One call stalls, or no step is put for so long that the other process can run all of them.
                let time = Duration::from_millis(random.u64(..40_000));
                let stall =
                    random.bool().then(|| Stall { call: random.u64(1..16), moment: Moment::Before, time });
                let until = scene.world.since_epoch() + if stall.is_none() { time } else { Duration::ZERO };
                let puts = Target::operation(Operation::PutItem).partition("JOB#");
                let throttled = Fault::Throttle(Throttle::Account);
                let faults = Faults::default().rule_until(until, puts, When::Always, throttled);
                let slow = Network { seed: random.u64(..), longest: Duration::from_millis(50), stall };
                let slow = store(scene.engine.client_with(faults).over(slow), &scene.world);
                let slow = slow.with_feeds(scene.settings);
                let behind = async {
                    tell(&slow, &news).await;
                };
                let ahead = async {
                    tell(&scene.store, &news).await;
                    if random.bool() {
                        scene.settle().await;
                    }
                };
                future::join(behind, ahead).await;
            }
        }
    }
}

/// Delivers all records while the reads of some partitions are refused.
async fn deliver_beside_hot_reads(scene: &mut Scene, partition: &str) {
    let until = scene.world.since_epoch() + HOT;
    let reads = Target::reads().partition(partition);
    let hot = Fault::Throttle(Throttle::TableKeyRange);
    let (_, store) = process(scene, Faults::default().rule_until(until, reads, When::Always, hot));
    while scene.has_news() {
        let news = scene.news();
        loop {
            let asked = tokio::time::Instant::now();
            let outcome = fan_out(&store, &news).await;
            let time = asked.elapsed();
            assert!(time < ANSWERED_WITHIN, "{partition} is hot, and a batch was answered after {time:?}");
            if outcome.failed.is_none() {
                break;
            }
        }
    }
}

async fn deliver_in_disorder(scene: &mut Scene, seed: u64) {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut waiting: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    let mut earlier: Vec<Value> = Vec::new();
    loop {
        let mut news: Value = serde_json::from_str(&scene.news()).unwrap();
        for record in news["Records"].as_array_mut().unwrap().drain(..) {
            waiting.entry(record["dynamodb"]["Keys"].to_string()).or_default().push(record);
        }
        let mut ready: Vec<_> = waiting.keys().cloned().collect();
        if ready.is_empty() {
            break;
        }
        random.shuffle(&mut ready);
        ready.truncate(random.usize(1..=ready.len()));
        let mut records = Vec::new();
        for item in ready {
            let of_item = waiting.get_mut(&item).unwrap();
            records.extend(of_item.drain(..random.usize(1..=of_item.len())));
            if of_item.is_empty() {
                waiting.remove(&item);
            }
        }
        let again = earlier.iter().filter(|_| random.u8(..8) == 0).cloned();
        let batch = again.chain(records.iter().cloned()).collect::<Vec<_>>();
        tell(&scene.store, &json!({ "Records": batch }).to_string()).await;
        earlier.extend(records);
        pass(Duration::from_millis(random.u64(..2_000))).await;
    }
}

/// Attributes that say when something was done, by which step, or where it is stored.
const VOLATILE: [&str; 15] = [
    "begun", "changed", "deleting", "done", "finished", "left_at", "pk", "pull", "revision", "since", "sk",
    "step", "touched", "until", "waiting",
];

/// Everything in the table that does not depend on time.
async fn state(scene: &Scene) -> BTreeSet<String> {
    assert_eq!(steps(scene).await, [], "no step waits");
    let mut state = BTreeSet::new();
    for mut item in items(&scene.engine).await {
        let key = match key(&item) {
            // The shards of a timeline grow when it is throttled.
            AnyKey::SourceEntry(key) => format!("{} lists {}", key.source, key.id),
            AnyKey::SourceItem(_) => continue,
            // Marks and notes that expire.
            AnyKey::Begun(_) | AnyKey::Leaver(_) | AnyKey::DeletedEvent(_) => continue,
            AnyKey::ErasedPage(_) | AnyKey::LateNote(_) | AnyKey::LateBatch(_) | AnyKey::LateLog(_) => {
                continue;
            }
            other => format!("{other:?}"),
        };
        if !key.contains(" lists ") && !key.starts_with("FeedEntry") && !key.starts_with("Event(") {
            item.retain(|name, _| name != "expires_at");
        }
        item.retain(|name, _| !VOLATILE.contains(&name.as_str()));
        let item: BTreeMap<_, _> = item.into_iter().collect();
        state.insert(format!("{key}: {item:?}"));
    }
    state
}

/// The state after an undisturbed run.
async fn undisturbed(kind: &'static str) -> BTreeSet<String> {
    static KNOWN: Mutex<BTreeMap<&str, BTreeSet<String>>> = Mutex::new(BTreeMap::new());
    if let Some(known) = KNOWN.lock().unwrap_or_else(PoisonError::into_inner).get(kind) {
        return known.clone();
    }
    let mut scene = begun(kind).await;
    let before = scene.engine.stream(crate::support::TABLE).unwrap().all().len();
    deliver(&mut scene, Trouble::None).await;
    assert!(scene.engine.stream(crate::support::TABLE).unwrap().all().len() > before, "{kind} did something");
    let found = state(&scene).await;
    KNOWN.lock().unwrap_or_else(PoisonError::into_inner).insert(kind, found.clone());
    found
}

async fn assert_undisturbed(kind: &'static str, trouble: Trouble) {
    let expected = undisturbed(kind).await;
    let mut scene = begun(kind).await;
    deliver(&mut scene, trouble).await;
    let found = state(&scene).await;
    let missing: Vec<_> = expected.difference(&found).collect();
    let extra: Vec<_> = found.difference(&expected).collect();
    assert!(
        missing.is_empty() && extra.is_empty(),
        "{kind}, {trouble:?}: missing {missing:#?}, extra {extra:#?}"
    );
}

#[test]
fn every_kind_ends_the_same_whatever_disturbs_it() {
    for_each_seed((KINDS.len() * TROUBLES) as u64, async |seed| {
        let mut random = fastrand::Rng::with_seed(seed);
        // With the fixed seeds, each kind meets each trouble once, and processes die before their calls for half of the
        // kinds. The first calls are drawn most often, because only long work has late ones.
        let number = usize::try_from(seed).unwrap();
        let (round, kind) = (number / KINDS.len(), number % KINDS.len());
        let moments = [Moment::Before, Moment::After];
        let last = [16, 64, 256][random.usize(..3)];
        let troubles = [
            Trouble::Disorder(seed),
            Trouble::Together(seed),
            Trouble::Faults(seed),
            Trouble::Busy(seed),
            Trouble::Deaths(random.u64(1..=3), moments[(round + kind) % 2]),
            Trouble::Death(random.u64(1..last), moments[random.usize(..2)]),
            Trouble::HotReads(["FEED#", "SOURCE#", "FOLLOWERS#", "EVENTS#"][random.usize(..4)]),
        ];
        assert_undisturbed(KINDS[kind], troubles[round % TROUBLES]).await;
    });
}

/// Rounds in which a family of partitions refuses all calls.
const BUSY_ROUNDS: u32 = 6;

#[test]
fn no_kind_holds_up_its_batch_while_key_ranges_are_busy() {
    for_each_seed(2, async |seed| {
        let calls = if seed == 0 { Target::reads() } else { Target::any() };
        for kind in KINDS {
            for family in FAMILIES {
                let expected = undisturbed(kind).await;
                let mut scene = begun(kind).await;
                if kind == "erasure" {
                    // The first step waits until all that was written can be seen.
                    pass(Duration::from_secs(12)).await;
                }
                let hot = Fault::Throttle(Throttle::TableKeyRange);
                let faults = Faults::default().rule(calls.clone().partition(family), When::Always, hot);
                let (_, busy) = process(&scene, faults);
                for round in 0..BUSY_ROUNDS {
                    let begun = tokio::time::Instant::now();
                    let outcome = fan_out(&busy, &scene.news()).await;
                    let took = begun.elapsed();
                    assert_eq!(outcome.failed, None, "{kind}, {family}, round {round}");
                    assert!(took < Duration::from_millis(2_500), "{kind}, {family}, round {round}: {took:?}");
                }
                scene.settle().await;
                assert_eq!(state(&scene).await, expected, "{kind}, {family}");
            }
        }
    });
}

/// The steps that wait.
async fn steps(scene: &Scene) -> Vec<WaitingStep> {
    let mut steps = Vec::new();
    let all = NonZeroU32::new(1_000_000).unwrap();
    scene.store.op_within(MINUTE).steps().list(all, |step| steps.push(step.unwrap())).await.unwrap();
    steps
}

#[tokio::test(start_paused = true)]
async fn an_operator_sees_every_kind_and_resumes_lost_steps() {
    let mut kinds = BTreeSet::new();
    for kind in KINDS {
        let expected = undisturbed(kind).await;
        let mut scene = begun(kind).await;
        // Nobody gets the record of a step. All other records are delivered.
        for _ in 0..200 {
            let news = of_keys(&scene.news(), |pk, _| !pk.starts_with("JOB#"));
            tell(&scene.store, &news).await;
            if !scene.has_news() {
                break;
            }
        }
        while let Some(step) = steps(&scene).await.first() {
            kinds.insert(step.kind());
            let resumed = scene.store.op().steps().resume(&step.kind(), step.name()).await.unwrap();
            assert!(resumed.contains(step), "{resumed:?}");
            scene.settle().await;
        }
        assert_eq!(state(&scene).await, expected, "{kind}");
    }
    let all =
        ["backfill", "backlog", "cleanup", "deletion", "erasure", "promote", "push", "remove", "retention"];
    assert_eq!(kinds.iter().map(String::as_str).collect::<Vec<_>>(), all);
}

#[tokio::test(start_paused = true)]
async fn work_that_is_done_or_unknown_cannot_be_resumed() {
    let mut scene = begun("deletion").await;
    scene.settle().await;
    for (kind, name) in [("deletion", "posts"), ("deletion", "logs"), ("nothing", "x")] {
        let refused = scene.store.op().steps().resume(kind, name).await;
        assert!(matches!(refused, Err(FindError::NotFound(_))), "{refused:?}");
    }
}
