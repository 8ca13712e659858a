//! Damaged feeds: `verify` finds the damage and `rebuild` repairs it, also while others change what the feed must show.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::time::Duration;

use futures_util::future::join;
use lately_engine::Engine;
use lately_engine::fault::{Fault, Faults, Moment, Network, Target};
use lately_items::FeedEntryKey;
use lately_keys::{EventId, Source, TableKey, UnixMillis, User};
use lately_store::{FeedFinding, FeedReport, FeedSettings, Store};

use crate::listed::{Listed, delete, follow, id, pull, put, source, source_item, user};
use crate::support::{Item, World, change, items, pass, seeds, start, store, table};

const SOURCES: [&str; 4] = ["actor:ada", "actor:cyd", "subject:s:1", "subject:s:2"];

/// A feed without damage, and the entries, follows and pull markers that it is made from.
struct Scene {
    engine: Engine,
    store: Store,
    world: World,
    listed: Vec<Listed>,
    follows: Vec<(Source, UnixMillis)>,
    pulls: Vec<(Source, EventId)>,
}

fn bob() -> User {
    user("bob")
}

impl Scene {
    async fn some(seed: u64, rng: &mut fastrand::Rng, most: u64) -> Self {
        let (world, engine, store) = start(seed);
        let now = world.now();
        let count = rng.u64(..most);
        let some = |number| {
            let at = now.saturating_sub(3_000 + rng.u64(..100_000));
            let actor = ["ada", "cyd", "bob", "eve"][rng.usize(..4)];
            let subject = [None, Some("s:1"), Some("s:2")][rng.usize(..3)];
            let mut one = Listed::new(id(at, number), actor, subject);
            one.fans_out = rng.u8(..5) > 0;
            one.points = rng.u8(..5) == 0;
            one.expires_at = [None, None, Some(now.get() / 1000)][rng.usize(..3)];
            one
        };
        let mut listed: Vec<_> = (0..count).map(some).collect();
        listed.sort_by_key(Listed::id);
        put(&engine.client(), listed.iter().flat_map(Listed::at_sources)).await;
        put(&engine.client(), listed.iter().map(Listed::event)).await;

        let follows = SOURCES.into_iter().filter(|_| rng.bool()).map(source).collect::<Vec<_>>();
        let since = |rng: &mut fastrand::Rng| now.saturating_sub(rng.u64(..120_000));
        let follows: Vec<_> = follows.into_iter().map(|source| (source, since(rng))).collect();
        put(&engine.client(), follows.iter().map(|(source, since)| follow(&bob(), source, *since))).await;
        let mut pulls = Vec::new();
        for (source, since) in follows.iter().filter(|_| rng.u8(..3) == 0) {
            // The source was promoted long ago. The feed pulls it from a minute before the follow on.
            let promotion = EventId::MIN;
            put(&engine.client(), [source_item(source, promotion)]).await;
            pulls.push((source.clone(), EventId::first_of(since.saturating_sub(65_000))));
        }
        put(&engine.client(), pulls.iter().map(|(source, since)| pull(&bob(), source, *since))).await;
        let scene = Self { engine, store, world, listed, follows, pulls };
        put(&scene.engine.client(), scene.must_hold().map(|one| one.in_feed(&bob()))).await;
        scene
    }

    fn is_there(&self, one: &Listed) -> bool {
        one.fans_out && one.is_there(self.world.now())
    }

    /// The events of which the feed itself must hold copies.
    fn must_hold(&self) -> impl Iterator<Item = &Listed> {
        self.listed.iter().filter(|one| {
            let is_of = |(source, _): &&(Source, _)| one.sources().contains(source);
            let followed = self.follows.iter().filter(|(source, _)| one.sources().contains(source));
            let since = followed.map(|(_, since)| EventId::first_of(*since)).min();
            let pulled = self.pulls.iter().filter(is_of).any(|(_, since)| one.id() >= *since);
            let own = one.told.event.actor.as_str() == "bob";
            self.is_there(one) && !pulled && (own || since.is_some_and(|since| one.id() >= since))
        })
    }

    /// True if the feed may hold a copy of an event.
    fn may_hold(&self, one: &Listed) -> bool {
        let followed = self.follows.iter().any(|(source, _)| one.sources().contains(source));
        followed || one.told.event.actor.as_str() == "bob"
    }

    async fn held(&self) -> BTreeSet<EventId> {
        let key = |item: &Item| FeedEntryKey::decode(item["pk"].as_s().unwrap(), item["sk"].as_s().unwrap());
        items(&self.engine).await.iter().filter_map(key).map(|key| key.id).collect()
    }

    /// Deletes entries of the feed, and puts entries that do not belong there: one of some. Returns the findings that
    /// result.
    async fn damage(&self, rng: &mut fastrand::Rng, some: u8) -> BTreeSet<String> {
        let (client, held, mut damage) = (self.engine.client(), self.held().await, BTreeSet::new());
        for one in self.listed.iter().filter(|_| rng.u8(..some) == 0) {
            if held.contains(&one.id()) {
                delete(&client, [one.in_feed(&bob())]).await;
                damage.insert(format!("{:?}", FeedFinding::Missing(one.id())));
            } else if !self.may_hold(one) && self.is_there(one) {
                put(&client, [one.in_feed(&bob())]).await;
                damage.insert(format!("{:?}", FeedFinding::Extra(one.id())));
            }
        }
        damage
    }

    async fn verify(&self, mends: bool) -> (FeedReport, Vec<FeedFinding>) {
        let (op, bob, mut found) = (self.store.op(), bob(), Vec::new());
        let compared = op.feed(&bob).compare(mends, |_, page| found.extend_from_slice(page));
        let report = compared.await.unwrap();
        assert_eq!(report.missing + report.extra, found.len() as u64);
        (report, found)
    }
}

#[tokio::test(start_paused = true)]
async fn all_damage_is_found_and_only_damage_is_repaired() {
    for seed in seeds(6) {
        let mut rng = fastrand::Rng::with_seed(seed.0);
        let scene = Scene::some(seed.0, &mut rng, 260).await;
        let client = scene.engine.client();
        let whole = table(&scene.engine).await;
        assert_eq!(scene.verify(false).await.1, []);

        let mut damage = scene.damage(&mut rng, 4).await;
        // A copy of a deleted event.
        let deleted = Listed::new(id(scene.world.now().saturating_sub(9_000), 999), "bob", None);
        put(&client, [deleted.in_feed(&bob())]).await;
        damage.insert(format!("{:?}", FeedFinding::Extra(deleted.id())));
        let mark = pull(&bob(), &source("actor:gone"), deleted.id());
        put(&client, [mark]).await;
        damage.insert(format!("{:?}", FeedFinding::ExtraPull(source("actor:gone"))));
        if let Some((star, since)) = scene.pulls.first() {
            delete(&client, [pull(&bob(), star, *since)]).await;
            damage.insert(format!("{:?}", FeedFinding::MissingPull(star.clone())));
        }

        let told = |found: Vec<FeedFinding>| -> BTreeSet<String> {
            found.iter().map(|finding| format!("{finding:?}")).collect()
        };
        let (report, found) = scene.verify(false).await;
        assert_eq!(told(found), damage);
        assert_eq!(report.missing + report.extra, damage.len() as u64, "each finding once");
        assert_eq!(told(scene.verify(true).await.1), damage);
        assert_eq!(table(&scene.engine).await, whole, "the same items as before the damage");
        assert_eq!(scene.verify(true).await.1, [], "nothing is left to repair");
    }
}

#[tokio::test(start_paused = true)]
async fn own_posts_that_no_source_lists_yet_are_not_extra() {
    let scene = Scene::some(1, &mut fastrand::Rng::with_seed(1), 260).await;
    scene.store.op().topic(&"posts".parse().unwrap()).put(&change("{}")).await.unwrap();
    let post = Listed::new(id(scene.world.now(), 7), "bob", None);
    put(&scene.engine.client(), [post.event(), post.in_feed(&bob())]).await;
    assert_eq!(scene.verify(true).await.1, []);
    assert!(scene.held().await.contains(&post.id()));
}

#[tokio::test(start_paused = true)]
async fn an_entry_past_its_retention_is_not_missing() {
    let mut scene = Scene::some(1, &mut fastrand::Rng::with_seed(1), 260).await;
    let day = 24 * 60 * 60 * 1_000;
    let old = Listed::new(id(scene.world.now().saturating_sub(day + 1_000), 7), "bob", None);
    put(&scene.engine.client(), old.at_sources()).await;
    assert_eq!(scene.verify(false).await.1, [FeedFinding::Missing(old.id())]);
    let retention = Some(lately_model::RetentionDays::new(1).unwrap());
    scene.store = scene.store.clone().with_feeds(FeedSettings { retention, ..FeedSettings::default() });
    assert_eq!(scene.verify(false).await.1, []);
}

/// Unfollows a source, follows another one, and deletes an event. All changes of the feed that result are made at once.
async fn change_meanwhile(scene: &mut Scene, rng: &mut fastrand::Rng) {
    let client = scene.engine.client();
    let pushed = |(source, _): &(Source, _)| scene.pulls.iter().all(|(pulled, _)| pulled != source);
    if let Some(left) = scene.follows.iter().position(pushed) {
        let (left, since) = scene.follows.swap_remove(left);
        delete(&client, [follow(&bob(), &left, since)]).await;
        let gone = scene.listed.iter().filter(|one| one.sources().contains(&left) && !scene.may_hold(one));
        delete(&client, gone.map(|one| one.in_feed(&bob()))).await;
    }
    let new = source("actor:eve");
    put(&client, [follow(&bob(), &new, UnixMillis::MIN)]).await;
    scene.follows.push((new.clone(), UnixMillis::MIN));
    let eves = scene.must_hold().filter(|one| one.sources().contains(&new));
    put(&client, eves.map(|one| one.in_feed(&bob()))).await;
    if !scene.listed.is_empty() {
        let deleted = scene.listed.swap_remove(rng.usize(..scene.listed.len()));
        delete(&client, [deleted.event()]).await;
        delete(&client, deleted.at_sources()).await;
        delete(&client, [deleted.in_feed(&bob())]).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_rebuild_neither_undoes_nor_loses_concurrent_changes() {
    // The changes come after so many calls of the rebuild, or after its end if it has fewer. Hardly any has more than 60.
    for seed in seeds(60) {
        let calls = usize::try_from(seed.0 % 60).unwrap();
        let mut rng = fastrand::Rng::with_seed(seed.0);
        let mut scene = Scene::some(seed.0, &mut rng, 30).await;
        scene.damage(&mut rng, 1).await;
        let client = scene.engine.client_with(Faults::default());
        let slow = Network { seed: seed.0, longest: Duration::from_millis(30), stall: None };
        let (rebuilding, rebuilt) = (store(client.over(slow), &scene.world), Cell::new(false));
        let bob = bob();
        let rebuild = async {
            rebuilding.op().feed(&bob).compare(true, |_, _| {}).await.unwrap();
            rebuilt.set(true);
        };
        let others = async {
            while client.calls().len() < calls && !rebuilt.get() {
                pass(Duration::from_millis(1)).await;
            }
            change_meanwhile(&mut scene, &mut rng).await;
        };
        join(rebuild, others).await;
        assert_eq!(scene.verify(false).await.1, [], "after {calls} calls");
    }
}

#[tokio::test(start_paused = true)]
async fn a_rebuild_that_fails_can_be_repeated() {
    for seed in seeds(6) {
        let mut rng = fastrand::Rng::with_seed(seed.0);
        let mut scene = Scene::some(seed.0, &mut rng, 260).await;
        let whole = scene.held().await;
        scene.damage(&mut rng, 4).await;
        for life in 0.. {
            assert!(life < 1_000, "the rebuild makes no progress");
            let faults = Faults::seeded(seed.0 << 32 | life)
                .sometimes(0.02, Target::any(), Fault::Crash(Moment::Before))
                .sometimes(0.02, Target::any(), Fault::Crash(Moment::After));
            let client = scene.engine.client_with(faults);
            let store = store(client.client(), &scene.world);
            let (bob, rebuild) = (bob(), Duration::from_secs(60));
            if let Ok(rebuilt) =
                tokio::time::timeout(rebuild, store.op().feed(&bob).compare(true, |_, _| {})).await
            {
                rebuilt.unwrap();
                break;
            }
        }
        scene.store = store(scene.engine.client(), &scene.world);
        assert_eq!(scene.verify(false).await.1, []);
        let expired =
            |id: &EventId| scene.listed.iter().any(|one| one.id() == *id && one.expires_at.is_some());
        let held: BTreeSet<_> = scene.held().await.into_iter().filter(|id| !expired(id)).collect();
        assert_eq!(held, whole);
    }
}
