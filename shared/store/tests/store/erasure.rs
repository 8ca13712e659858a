//! Erasures: everything of a person goes, all else stays, and the receipt is exact.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;
use std::time::Duration;

use lately_engine::fault::{Fault, Faults, FaultyClient, Moment, Target};
use lately_keys::table::{AnyKey, ConsumerKey, ErasureId, TokenHash};
use lately_keys::{EventId, Topic};
use lately_model::{
    Document, Erasure, ErasureCounts, ErasureReceipt, ErasureState, NewConsumer, NewErasure, NewEvent,
    NewSession, PollRequest, Precondition,
};
use lately_store::{ErasureCheck, ErasureError, ErasureTrace, FeedSettings, Idempotency, Store, Submission};

use crate::issues::support as issues;
use crate::listed::user;
use crate::scene::{MINUTE, Scene, fan_out, key, small_jobs};
use crate::support::{Item, change, event, items, pass, store, submission, topic};

fn asked(json: &str) -> NewErasure {
    NewErasure::parse(json.as_bytes()).unwrap()
}

/// The erasure of everything that is named ada.
fn of_ada() -> NewErasure {
    asked(r#"{"actor":"ada","user":"ada"}"#)
}

fn by(actor: &str, subject: Option<&str>) -> NewEvent {
    let subject = subject.map(|subject| subject.parse().unwrap());
    NewEvent { actor: actor.parse().unwrap(), subject, ..event("note", Some("1".to_owned())) }
}

/// A scene in which ada and bob have left every trace that they can leave.
async fn lived(settings: FeedSettings) -> Scene {
    let mut scene = Scene::new(settings).await;
    let unlisted = topic("unlisted");
    let op = scene.store.op();
    op.topic(&unlisted)
        .put(&change(r#"{"views":["subject"],"fan_out":false,"min_shards":2}"#))
        .await
        .unwrap();
    for (who, what) in [
        ("bob", "actor:ada"),
        ("cy", "actor:ada"),
        ("cy", "subject:s"),
        ("dee", "subject:s"),
        ("dee", "actor:bob"),
        ("ada", "actor:bob"),
        ("ada", "subject:t"),
        ("ada", "actor:ada"),
    ] {
        scene.follow(who, what, 0).await;
    }
    scene.settle().await;
    consume(&scene.store, &scene.posts).await;
    let late = scene.world.now().saturating_sub(600_000);
    let (posts, logs) = (scene.posts.clone(), scene.logs.clone());
    for (topic, late) in [(&posts, None), (&logs, None), (&unlisted, None), (&posts, Some(late))] {
        for (actor, subject) in
            [("ada", Some("s")), ("bob", Some("s")), ("bob", Some("t")), ("ada", None), ("cy", Some("s"))]
        {
            scene.post(topic, vec![NewEvent { at: late, ..by(actor, subject) }]).await;
        }
    }
    let keyed = Submission { idempotency: Some(idempotency()), ..submission(&posts, vec![by("ada", None)]) };
    scene.store.op().write(keyed).await.unwrap();
    issues::open(&scene.store, r#"{"title":"of ada"}"#).await;
    let of_bob = scene.store.op();
    of_bob
        .repository(&issues::repository())
        .open(&issues::new(r#"{"title":"of bob"}"#), &"bob".parse().unwrap())
        .await
        .unwrap();
    for (n, who) in (0_u8..).zip(["ada", "bob"]) {
        let who = user(who);
        let document = Document::parse(br#"{"likes":"tea"}"#).unwrap();
        let profile = lately_keys::table::ProfileKey { user: who.clone() };
        op.record(&profile).put(&document, Precondition::Absent).await.unwrap();
        let session = format!(r#"{{"user":"{who}","scopes":["read"],"ttl_seconds":3600}}"#);
        let session = NewSession::parse(session.as_bytes()).unwrap();
        op.sessions().create(&session, TokenHash::from([n; 32])).await.unwrap();
    }
    scene.settle().await;
    let seen = scene.shown("ada").await[0];
    op.feed(&user("ada")).see(seen).await.unwrap();
    op.feed(&user("bob")).see(seen).await.unwrap();
    pass(Duration::from_secs(1)).await;
    scene.settle().await;
    scene
}

fn idempotency() -> Idempotency {
    Idempotency { caller: "user:bob".parse().unwrap(), key: "once".parse().unwrap(), body_hash: [1; 32] }
}

/// Creates a consumer that has announced that it reads up to now.
async fn consume(store: &Store, topic: &Topic) {
    let consumer = ConsumerKey { topic: topic.clone(), name: "nightly".parse().unwrap() };
    let op = store.op();
    op.consumer(&consumer).put(&NewConsumer::parse(br#"{"start":"earliest"}"#).unwrap()).await.unwrap();
    op.consumer(&consumer).poll(PollRequest::default()).await.unwrap();
}

/// Delivers all records, and waits until the erasure's end has passed.
async fn finish(scene: &mut Scene, id: ErasureId) -> Erasure {
    scene.settle().await;
    pass(Duration::from_secs(2)).await;
    let erasure = scene.store.op().erasures().get(id).await.unwrap();
    assert_eq!(erasure.state, ErasureState::Done);
    erasure
}

async fn erase(scene: &mut Scene, new: &NewErasure) -> Erasure {
    let begun = scene.store.op().erasures().begin(new).await.unwrap();
    assert_eq!(begun.state, ErasureState::Erasing);
    finish(scene, begun.id).await
}

/// Compares a receipt with the table. Returns the items that are left, too.
async fn verified(scene: &Scene, new: &NewErasure, erasure: &Erasure) -> (ErasureCheck, Vec<String>) {
    let receipt =
        ErasureReceipt { actor: new.actor.clone(), user: new.user.clone(), erasure: erasure.clone() };
    let (op, mut left) = (scene.store.op_within(MINUTE), Vec::new());
    let rate = NonZeroU32::new(1_000_000).unwrap();
    let check = op.erasures().verify(&receipt, rate, |_, found| {
        let found = found.iter().filter(|finding| finding.trace == ErasureTrace::Left);
        left.extend(found.map(|finding| format!("{} / {}", finding.key.pk, finding.key.sk)));
    });
    (check.await.unwrap(), left)
}

async fn assert_proven(scene: &Scene, new: &NewErasure, erasure: &Erasure) {
    let (check, left) = verified(scene, new, erasure).await;
    assert_eq!((left, check.left), (Vec::new(), 0));
    assert_eq!((check.receipt, check.ids), (Some(true), Some(true)));
    assert!(check.is_proven());
}

fn text<'a>(item: &'a Item, name: &str) -> &'a str {
    item.get(name).map_or("", |text| text.as_s().unwrap())
}

/// The items that are nobody's but others' than ada's, and that the work of an erasure does not change.
async fn of_others(scene: &Scene) -> BTreeMap<(String, String), BTreeMap<String, String>> {
    let is_others = |item: &Item| match key(item) {
        AnyKey::Event(_) | AnyKey::SourceEntry(_) => text(item, "a") != "ada",
        AnyKey::FeedEntry(key) => key.user != user("ada") && text(item, "a") != "ada",
        AnyKey::Follow(key) => key.user != user("ada") && key.source.to_string() != "actor:ada",
        AnyKey::Follower(key) => key.user != user("ada") && key.source.to_string() != "actor:ada",
        AnyKey::Profile(key) => key.user != user("ada"),
        AnyKey::Session(_) => text(item, "user") != "ada",
        AnyKey::UserSession(key) => key.user != user("ada"),
        AnyKey::SeenMark(key) => key.user != user("ada"),
        AnyKey::Issue(_) => text(item, "opened_by") != "ada" && text(item, "opened_by") != "erased",
        AnyKey::Topic(_) | AnyKey::Directory(_) | AnyKey::Consumer(_) | AnyKey::Announcement(_) => true,
        AnyKey::Idempotency(_) | AnyKey::Repository(_) | AnyKey::Settings(_) => true,
        _ => false,
    };
    let sorted = |item: Item| item.into_iter().map(|(name, value)| (name, format!("{value:?}"))).collect();
    let items = items(&scene.engine).await.into_iter().filter(is_others);
    items.map(|item| ((text(&item, "pk").to_owned(), text(&item, "sk").to_owned()), sorted(item))).collect()
}

/// What an erasure of ada must count, by the items that are there.
async fn countable(scene: &Scene) -> (ErasureCounts, BTreeSet<EventId>) {
    let (mut counts, mut ids) = (ErasureCounts::default(), BTreeSet::new());
    let items = items(&scene.engine).await;
    for item in &items {
        let is_adas = text(item, "a") == "ada";
        match key(item) {
            AnyKey::Event(key) if is_adas => ids.extend([key.id()]),
            AnyKey::SourceEntry(_) if is_adas => counts.entries += 1,
            AnyKey::FeedEntry(key) if key.user == user("ada") => counts.feed += 1,
            AnyKey::FeedEntry(_) if is_adas => counts.copies += 1,
            AnyKey::SeenMark(key) if key.user == user("ada") => counts.feed += 1,
            AnyKey::PullMarker(key) if key.user == user("ada") => counts.feed += 1,
            AnyKey::Follow(key) if key.user == user("ada") => counts.follows += 1,
            AnyKey::Follower(key) if key.source.to_string() == "actor:ada" && key.user != user("ada") => {
                counts.followers += 1;
            }
            AnyKey::Profile(key) if key.user == user("ada") => counts.profile += 1,
            AnyKey::UserSession(key) if key.user == user("ada") => counts.sessions += 1,
            AnyKey::Issue(_) if text(item, "opened_by") == "ada" => counts.issues += 1,
            _ => {}
        }
    }
    let late = items.iter().filter_map(|item| match key(item) {
        AnyKey::LateEvent(key) => Some(key.id),
        _ => None,
    });
    counts.late = late.filter(|id| ids.contains(id)).count() as u64;
    counts.events = ids.len() as u64;
    (counts, ids)
}

fn sha256(ids: &BTreeSet<EventId>) -> String {
    use sha2::Digest;
    let text: String = ids.iter().map(|id| format!("{id}\n")).collect();
    sha2::Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[tokio::test(start_paused = true)]
async fn nothing_of_the_person_is_left_and_all_else_stays() {
    let promoting = FeedSettings { fan_out_limit: 1, ..small_jobs() };
    for settings in [FeedSettings::default(), small_jobs(), promoting] {
        let mut scene = lived(settings).await;
        let (expected, ids) = countable(&scene).await;
        assert!(expected.events > 8 && expected.entries > 8 && expected.late > 0, "{expected:?}");
        assert!(expected.copies > 4 || settings.fan_out_limit == 1, "{expected:?}");
        let before = of_others(&scene).await;
        let erasure = erase(&mut scene, &of_ada()).await;
        assert_eq!(erasure.counts, expected, "{settings:?}");
        assert_eq!(erasure.ids_sha256, Some(sha256(&ids)));
        assert_proven(&scene, &of_ada(), &erasure).await;
        assert_eq!(of_others(&scene).await, before);
        assert_eq!(issues::now(&scene.store, 1).await.opened_by.as_str(), "erased");
        assert_eq!(issues::now(&scene.store, 2).await.opened_by.as_str(), "bob");
        // Nothing of the receipt names the person.
        let (again, _) = countable(&scene).await;
        assert_eq!(again, ErasureCounts::default());
    }
}
