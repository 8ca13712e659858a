//! Stories in which a person is erased while everything else goes on.
//!
//! The story is that of `story.rs`, with its faults, crashes and redelivered records. At some moment one of its users
//! asks for the erasure of ada. In the end all records are delivered once more, and the table must hold what the model
//! says, and nothing of ada that is older than the receipt. The receipt must be exact.

use std::collections::{BTreeSet, VecDeque};
use std::num::NonZeroU32;

use lately_engine::stream::EventName;
use lately_items::AnyKey;
use lately_keys::EventId;
use lately_model::{ErasureReceipt, ErasureState, NewErasure};
use lately_rig::for_each_seed;
use lately_store::{ErasureTrace, FeedSettings, Store};
use lately_table::Connection;

use crate::erasure::finish;
use crate::erasure::life::{asked, by};
use crate::erasure::proof::sha256;
use crate::fan_out::follow_in_two_shards;
use crate::issues::support as issues;
use crate::listed::{put, user};
use crate::scene::{Scene, key, of_keys, tell as deliver};
use crate::simulation::knobs::Knobs;
use crate::simulation::story::{Story, tell};
use crate::support::{DAY, Item, TABLE, items, pass};

/// Each kind of story: of three, one deletes a topic; of four, one has a single lane, and erases the actor alone.
const SEEDS: u64 = 12;

impl Story {
    /// Asserts that nothing of ada is left that is older than the receipt, and that the receipt is exact.
    async fn check_erasure(&self, new: &NewErasure) {
        let store = Store::new(Connection::new(
            self.engine.client(),
            TABLE,
            self.world.clone(),
            std::time::Duration::from_secs(600),
        ));
        let op = store.op();
        let begun = op.erasures().begin(new).await.unwrap();
        // This erasure is the second one if the first one is done. Then the first one is the only receipt.
        let all = items(&self.engine).await;
        let erasures: BTreeSet<_> = all
            .iter()
            .filter_map(|item| match key(item) {
                AnyKey::ErasureStep(key) if key.erasure != begun.id => Some(key.erasure),
                _ => None,
            })
            .collect();
        let Some(first) = erasures.first() else { panic!("the erasure has not come to its end") };
        let erasure = op.erasures().get(*first).await.unwrap();
        assert_eq!(erasure.state, ErasureState::Done);

        if self.knobs.opens_issues && new.user.is_some() {
            let issue = issues::now(&store, 1).await;
            assert_eq!(issue.opened_by.as_str(), "erased", "the issue forgets the name");
        }
        let stored: BTreeSet<EventId> = all
            .iter()
            .flat_map(|item| match key(item) {
                AnyKey::ErasedPage(_) => {
                    let ids = item["e"].as_b().unwrap().as_ref();
                    ids.chunks(16).map(|id| EventId::from_slice(id).unwrap()).collect()
                }
                _ => Vec::new(),
            })
            .collect();
        assert_eq!(erasure.ids_sha256.as_ref(), Some(&sha256(&stored)));
        assert_eq!(erasure.counts.events, stored.len() as u64);

        let mut of_ada = BTreeSet::new();
        // Follows that were written after the erasure began may stay, whatever their writers' clocks say.
        let mut followed = BTreeSet::new();
        let mut has_begun = false;
        for record in self.engine.stream(TABLE).unwrap().all() {
            match key(&record.keys()) {
                AnyKey::ErasureStep(key) => has_begun |= key.erasure == *first,
                AnyKey::Follow(key) if has_begun => followed.extend([(key.user, key.source)]),
                AnyKey::Event(key)
                    if record.event == EventName::Insert
                        && record.new_image().unwrap()["a"].as_s().unwrap() == "ada" =>
                {
                    of_ada.insert(key.id());
                }
                _ => {}
            }
        }
        assert!(stored.is_subset(&of_ada), "{:?} erased", stored.difference(&of_ada));

        // The check below finds events and entries that are left. No other item has the words of ada.
        for item in &all {
            let has_words = format!("{item:?}").contains("words of ada");
            let is_known =
                matches!(key(item), AnyKey::Event(_) | AnyKey::SourceEntry(_) | AnyKey::FeedEntry(_));
            assert!(!has_words || is_known, "{item:?}");
        }
        let finished = erasure.finished_at.unwrap();
        let receipt = ErasureReceipt { actor: new.actor.clone(), user: new.user.clone(), erasure };
        let (mut left, mut expiring) = (Vec::new(), Vec::new());
        let rate = NonZeroU32::new(1_000_000).unwrap();
        let check = op.erasures().verify(&receipt, rate, |_, found| {
            for finding in found {
                match finding.trace {
                    ErasureTrace::Left => left.push(finding.clone()),
                    ErasureTrace::Expires => expiring.push(finding.key.clone()),
                    _ => {}
                }
            }
        });
        let check = check.await.unwrap();
        assert_eq!((check.receipt, check.ids), (Some(true), Some(true)));
        left.retain(|finding| match AnyKey::decode(&finding.key.pk, &finding.key.sk) {
            Some(AnyKey::FeedEntry(key)) => !followed.iter().any(|(user, _)| *user == key.user),
            Some(AnyKey::Follow(key)) => !followed.contains(&(key.user, key.source)),
            Some(AnyKey::Follower(key)) => !followed.contains(&(key.user, key.source)),
            Some(AnyKey::PullMarker(key)) => !followed.contains(&(key.user, key.source)),
            Some(AnyKey::FollowerCount(key)) => !followed.iter().any(|(_, source)| *source == key.source),
            _ => true,
        });
        assert_eq!(left, []);
        // An item that was written after the end may name ada for longer.
        let latest = finished.get() / 1000 + 3 * 24 * 60 * 60;
        for item in all.iter().filter(|item| expiring.contains(&key(item).encode())) {
            let expires_at: u64 = item["expires_at"].as_n().unwrap().parse().unwrap();
            assert!(expires_at <= latest, "{:?} expires {} s late", key(item), expires_at - latest);
        }
    }
}

/// The items of an event and of its entry in the timeline.
async fn of_event(scene: &Scene, id: EventId) -> Vec<Item> {
    let is_of_event = |item: &Item| match key(item) {
        AnyKey::Event(key) => key.id() == id,
        AnyKey::SourceEntry(key) => key.id == id,
        _ => false,
    };
    items(&scene.engine).await.into_iter().filter(is_of_event).collect()
}

/// Users follow ada, whose followers are in two shards, before and after her erasure, or also between its stages. The
/// records of follows may be behind the erasure's steps. Two days later, each of the users gets her next event.
async fn follow_around_an_erasure(seed: u64, knobs: Knobs) {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut scene = Scene::new(FeedSettings::default()).await;
    follow_in_two_shards(&scene, 0..8).await;
    scene.settle().await;
    let posted = scene.write(vec![by("ada", None)]).await;
    scene.settle().await;
    let mut users: Vec<_> = (0..30).map(|number| format!("z{number}")).collect();
    let mut following = Vec::new();
    let stalled = of_event(&scene, posted[0]).await;
    let begun = scene.store.op().erasures().begin(&asked(Some("ada"), None)).await.unwrap();
    if knobs.follows_during_erasure {
        let mut steps = VecDeque::new();
        let mut others = VecDeque::new();
        // A write of the event that stalled arrives after some steps.
        let mut stages_until_stalled = random.usize(..12);
        loop {
            let news = scene.news();
            steps.push_back(of_keys(&news, |pk, _| pk.starts_with("JOB#")));
            others.push_back(of_keys(&news, |pk, _| !pk.starts_with("JOB#")));
            let has_steps = steps.iter().any(|records| records.contains("JOB#"));
            if !has_steps && !scene.has_news() {
                break;
            }
            if random.bool() {
                for records in others.drain(..) {
                    deliver(&scene.store, &records).await;
                }
            }
            if random.u8(..4) == 0 {
                stages_until_stalled = stages_until_stalled.saturating_sub(1);
                for records in steps.drain(..) {
                    deliver(&scene.store, &records).await;
                }
            }
            if stages_until_stalled == 1 {
                put(&scene.engine.client(), stalled.clone()).await;
                stages_until_stalled = 0;
            }
            if random.u8(..4) == 0 {
                let now = users.split_off(users.len() - users.len().min(random.usize(..4)));
                for who in &now {
                    scene.follow(who, "actor:ada", 0).await;
                }
                following.extend(now);
            }
        }
        for records in others {
            deliver(&scene.store, &records).await;
        }
    }
    finish(&mut scene, begun.id).await;
    for who in users {
        scene.follow(&who, "actor:ada", 0).await;
        following.push(who);
    }
    scene.settle().await;
    pass(3 * DAY).await;
    scene.engine.expire(100_000).unwrap();
    scene.settle().await;
    let posted = scene.write(vec![by("ada", None)]).await;
    scene.settle().await;
    let edges = items(&scene.engine).await;
    for who in following {
        // The erasure ends the follows that it finds.
        let still_follows =
            edges.iter().any(|item| matches!(key(item), AnyKey::Follow(key) if key.user == user(&who)));
        if !still_follows {
            continue;
        }
        assert_eq!(scene.shown(&who).await, posted, "{who} follows ada, and gets her new event");
    }
}

#[test]
fn followers_get_the_new_events_of_an_actor_who_was_erased() {
    for_each_seed(2, async |seed| follow_around_an_erasure(seed, Knobs::SUITE).await);
}

#[test]
fn nothing_older_than_the_receipt_is_left_of_an_erased_person() {
    for_each_seed(SEEDS, async |seed| {
        let user = (!seed.is_multiple_of(4)).then(|| user("ada"));
        let is_user_alone = Knobs::SUITE.erases_users_alone && seed % 5 == 4;
        let actor = (!is_user_alone).then(|| "ada".parse().unwrap());
        let user = if is_user_alone { Some(crate::listed::user("ada")) } else { user };
        let new = NewErasure { actor, user, confirm: "ada".to_owned() };
        let story = tell(seed, Some(&new), Knobs::SUITE).await;
        if !is_user_alone {
            // The model knows only erasures that delete the person's events.
            story.check().await;
        }
        story.check_erasure(&new).await;
    });
}
