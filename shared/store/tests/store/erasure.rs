//! Erasures: everything of a person goes, all else stays, and the receipt is exact.

pub(crate) mod life;
pub(crate) mod proof;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use aws_sdk_dynamodb::types::AttributeValue;
use lately_engine::Operation;
use lately_engine::fault::{Fault, Faults, Moment, Network, Stall, Target, Throttle, When};
use lately_items::{AnyKey, FollowerCountKey};
use lately_keys::{ErasureId, EventId, TableKey, Topic};
use lately_model::{Erasure, ErasureCounts, ErasureState, ListQuery, NewErasure, NewEvent, QueryString};
use lately_store::{ErasureError, FeedSettings, WriteError};

use self::life::{asked, by, lived, lived_shortly, of_ada};
use self::proof::{assert_proven, countable, sha256, text, verified};
use crate::faults::keyed;
use crate::issues::support as issues;
use crate::listed::{source, user};
use crate::scene::{Scene, fan_out, key, of_keys, small_jobs, tell};
use crate::support::{DAY, Item, MINUTE, TABLE, change, items, pages, pass, store, submission, table, topic};

#[tokio::test(start_paused = true)]
async fn a_step_of_an_erasure_is_short_also_if_the_events_are_large() {
    let partitions = Some(lately_engine::PartitionLimits::default());
    let options = lately_engine::Options { shards: 1, partitions, ..lately_engine::Options::default() };
    let mut scene = Scene::with(FeedSettings::default(), options).await;
    let logs = scene.logs.clone();
    let data = format!("\"{}\"", "x".repeat(100_000));
    for _ in 0..40 {
        let large = NewEvent { data: Some(data.parse().unwrap()), ..by("ada", None) };
        scene.post(&logs, vec![large; 5]).await;
        pass(Duration::from_secs(1)).await;
        scene.settle().await;
    }
    pass(MINUTE).await;
    scene.store.op().erasures().begin(&asked(Some("ada"), None)).await.unwrap();
    let mut longest = Duration::ZERO;
    while scene.has_news() {
        let begun = tokio::time::Instant::now();
        let news = scene.news();
        assert_eq!(fan_out(&scene.store, &news).await.failed, None);
        longest = longest.max(begun.elapsed());
    }
    // The events of a step are 1,000 write units of one partition.
    assert!(longest < Duration::from_secs(3), "a step took {longest:?}");
    assert_eq!(scene.listed("actor:ada").await.len(), 0);
}

/// Delivers all records, and waits until the erasure's end has passed.
pub(crate) async fn finish(scene: &mut Scene, id: ErasureId) -> Erasure {
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

/// The items that are nobody's but others' than ada's, and that the work of an erasure does not change.
async fn of_others(scene: &Scene) -> BTreeMap<[String; 2], Item> {
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
    let mut all = table(&scene.engine).await;
    all.retain(|_, item| is_others(item));
    all
}

/// The items whose keys name ada, with the seconds at which they expire, or 0.
async fn lasting(scene: &Scene) -> BTreeMap<[String; 2], u64> {
    let names_ada = |text: &String| text.split('#').any(|part| part == "ada" || part == "actor:ada");
    let mut all = table(&scene.engine).await;
    all.retain(|key, _| key.iter().any(names_ada));
    let expires_at = |item: &Item| item.get("expires_at").map_or(0, |at| at.as_n().unwrap().parse().unwrap());
    all.into_iter().map(|(key, item)| (key, expires_at(&item))).collect()
}

/// The key of the item of the source ada.
fn source_of_ada() -> [String; 2] {
    ["SOURCE#actor:ada", "#SOURCE"].map(str::to_owned)
}

#[tokio::test(start_paused = true)]
async fn nothing_of_the_person_is_left_and_all_else_stays() {
    let promoting = FeedSettings { fan_out_limit: 1, ..small_jobs() };
    for settings in [FeedSettings::default(), small_jobs(), promoting] {
        let mut scene = lived(settings).await;
        let (expected, ids) = countable(&scene).await;
        assert!(expected.events > 8 && expected.follows > 0 && expected.followers > 0, "{expected:?}");
        let before = of_others(&scene).await;
        let erasure = erase(&mut scene, &of_ada()).await;
        assert_eq!(erasure.counts, expected, "{settings:?}");
        assert_eq!(erasure.ids_sha256, Some(sha256(&ids)));
        assert_proven(&scene, &of_ada(), &erasure).await;
        assert_eq!(of_others(&scene).await, before);
        assert_eq!(issues::now(&scene.store, 1).await.opened_by.as_str(), "erased");
        assert_eq!(issues::now(&scene.store, 2).await.opened_by.as_str(), "bob");
        let (lasting, soon) = (lasting(&scene).await, scene.world.now().get() / 1000 + 3 * 24 * 60 * 60);
        assert!(lasting.values().all(|expires_at| (1..=soon).contains(expires_at)), "{lasting:?}");
        assert_eq!(lasting.contains_key(&source_of_ada()), settings == promoting);
        // Nothing of the receipt names the person.
        let (again, _) = countable(&scene).await;
        assert_eq!(again, ErasureCounts::default());
    }
}

#[tokio::test(start_paused = true)]
async fn an_actor_or_a_user_alone_is_erased() {
    for new in [asked(Some("ada"), None), asked(None, Some("ada"))] {
        let mut scene = lived(FeedSettings::default()).await;
        let (both, _) = countable(&scene).await;
        let before = of_others(&scene).await;
        let counts = erase(&mut scene, &new).await.counts;
        let erasure = scene.store.op().erasures().begin(&of_ada()).await.unwrap();
        assert_eq!(of_others(&scene).await, before);
        assert_eq!(counts.events == both.events, new.actor.is_some());
        assert_eq!(counts.follows == both.follows, new.user.is_some());
        assert_eq!((counts.profile, counts.sessions) == (1, 1), new.user.is_some());
        assert_eq!(counts.issues, 1);
        if new.actor.is_some() {
            // The own posts in ada's feed are copies of the actor's events, and ada follows the actor, too.
            assert_eq!((counts.feed, counts.followers), (0, both.followers + 1));
        } else {
            assert_eq!(counts.feed, both.feed);
        }
        let erasure = finish(&mut scene, erasure.id).await;
        assert_proven(&scene, &of_ada(), &erasure).await;
    }
}

#[tokio::test(start_paused = true)]
async fn the_same_request_returns_the_erasure_that_is_under_way() {
    let mut scene = Scene::new(FeedSettings::default()).await;
    let op = scene.store.op();
    let first = op.erasures().begin(&of_ada()).await.unwrap();
    assert_eq!(op.erasures().begin(&of_ada()).await.unwrap(), first);
    assert_ne!(op.erasures().begin(&asked(Some("ada"), None)).await.unwrap().id, first.id);
    let unknown = "0190a4cd-d3e7-7222-9f99-fdb74feee752".parse().unwrap();
    assert!(matches!(op.erasures().get(unknown).await, Err(ErasureError::NotFound(_))));
    let done = finish(&mut scene, first.id).await;
    assert_eq!(done.counts, ErasureCounts::default());
    assert_eq!(done.ids_sha256, Some(sha256(&BTreeSet::new())));
    assert_ne!(scene.store.op().erasures().begin(&of_ada()).await.unwrap().id, first.id);
    // The receipt does not name anybody.
    let is_receipt = |item: &Item| matches!(key(item), AnyKey::ErasureStep(key) if key.erasure == first.id);
    let receipt = format!("{:?}", items(&scene.engine).await.into_iter().find(is_receipt));
    assert!(!receipt.contains("\"ada\""), "{receipt}");
}

/// Writes events of ada, unless the writer has read of the erasure.
async fn try_post(scene: &Scene, topic: &Topic) -> Option<EventId> {
    match scene.store.op().topic(topic).write(submission(vec![by("ada", Some("s"))])).await {
        Ok(written) => Some(written.events[0].id),
        Err(WriteError::ActorIsBeingErased(refused)) => {
            assert_eq!(refused.actor.as_str(), "ada");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

#[tokio::test(start_paused = true)]
async fn writers_refuse_an_erased_actors_events_and_a_stale_writers_event_is_erased() {
    let mut scene = lived(FeedSettings::default()).await;
    // The writer reads the list now, and then not for two seconds.
    pass(Duration::from_secs(3)).await;
    let first = scene.write(vec![by("ada", Some("s"))]).await;
    let begun = scene.store.op().erasures().begin(&of_ada()).await.unwrap();
    let stale = try_post(&scene, &scene.posts).await.expect("the writer does not know of the erasure yet");
    let mut refused = 0;
    while scene.has_news() {
        scene.tell().await;
        refused += usize::from(try_post(&scene, &scene.posts).await.is_none());
    }
    assert!(refused > 8, "{refused} refused");
    let erasure = finish(&mut scene, begun.id).await;
    assert_proven(&scene, &of_ada(), &erasure).await;
    for gone in [first[0], stale] {
        assert!(scene.store.op().event(&scene.posts, gone).get().await.is_err());
    }

    let later = try_post(&scene, &scene.posts).await.unwrap();
    let old = NewEvent { at: Some(begun.started_at), ..by("ada", None) };
    let refused = scene.store.op().topic(&scene.posts).write(submission(vec![old])).await;
    assert!(matches!(refused, Err(WriteError::ActorIsBeingErased(_))));
    let all = scene.all_news();
    scene.settle().await;
    tell(&scene.store, &all).await;
    scene.settle().await;
    assert_eq!(scene.store.op().event(&scene.posts, later).get().await.unwrap().id, later);
    assert_eq!(scene.shown("dee").await.first(), Some(&later));
    assert_eq!(scene.store.op().erasures().get(begun.id).await.unwrap(), erasure);
    let (check, left) = verified(&scene, &of_ada(), &erasure).await;
    assert_eq!(left, Vec::<String>::new());
    assert!(check.new > 0 && check.is_proven(), "{check:?}");
}

#[tokio::test(start_paused = true)]
async fn an_event_whose_record_comes_after_the_end_is_erased() {
    let mut scene = lived(FeedSettings::default()).await;
    let (_, ids) = countable(&scene).await;
    scene.write(vec![by("ada", Some("s"))]).await;
    scene.post(&scene.logs, vec![by("ada", None)]).await;
    let held = scene.news();
    let erasure = erase(&mut scene, &of_ada()).await;
    assert_eq!(erasure.ids_sha256, Some(sha256(&ids)));
    let (check, left) = verified(&scene, &of_ada(), &erasure).await;
    assert_eq!((check.left, left.len()), (2, 2));
    // The stream holds a record for a day.
    pass(DAY).await;
    for _ in 0..2 {
        tell(&scene.store, &held).await;
        scene.settle().await;
    }
    assert_eq!(scene.store.op().erasures().get(erasure.id).await.unwrap(), erasure);
    assert_proven(&scene, &of_ada(), &erasure).await;
}

#[tokio::test(start_paused = true)]
async fn an_erasure_is_not_done_while_fan_out_is_behind() {
    let mut scene = lived(FeedSettings::default()).await;
    let begun = scene.store.op().erasures().begin(&of_ada()).await.unwrap();
    let (now, is_step) = (scene.world.now(), |pk: &str, _: &str| pk.starts_with("JOB#ERASURE#"));
    let mut held = Vec::new();
    while scene.world.now() < now.saturating_add(30_000) {
        let news = scene.news();
        held.push(of_keys(&news, |pk, sk| !is_step(pk, sk)));
        tell(&scene.store, &of_keys(&news, is_step)).await;
        pass(Duration::from_millis(100)).await;
    }
    assert_eq!(scene.store.op().erasures().get(begun.id).await.unwrap().state, ErasureState::Erasing);
    for held in held {
        tell(&scene.store, &held).await;
    }
    let erasure = finish(&mut scene, begun.id).await;
    assert_proven(&scene, &of_ada(), &erasure).await;
}

#[tokio::test(start_paused = true)]
async fn a_last_step_that_was_refused_comes_again() {
    for fault in [Fault::Throttle(Throttle::TableKeyRange), Fault::TransactionConflict] {
        let mut scene = lived_shortly(FeedSettings::default()).await;
        let begun = scene.store.op().erasures().begin(&of_ada()).await.unwrap();
        let last = Target::operation(Operation::TransactWriteItems).partition("JOB#ERASURE#");
        let faults = Faults::default().rule(last, When::First(1), fault);
        let refused = store(scene.engine.client_with(faults).client(), &scene.world);
        let mut again = 0;
        while scene.has_news() {
            let news = scene.news();
            while fan_out(&refused, &news).await.failed.is_some() {
                again += 1;
            }
        }
        assert_eq!(again, 1);
        let erasure = finish(&mut scene, begun.id).await;
        assert_proven(&scene, &of_ada(), &erasure).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_topic_that_is_created_meanwhile_is_searched_too() {
    let mut scene = Scene::new(FeedSettings::default()).await;
    scene.write(vec![by("ada", None)]).await;
    let begun = scene.store.op().erasures().begin(&of_ada()).await.unwrap();
    let more = topic("more");
    let unlisted = r#"{"views":[],"fan_out":false}"#;
    scene.store.op().topic(&more).put(&change(unlisted)).await.unwrap();
    assert!(try_post(&scene, &more).await.is_some());
    let erasure = finish(&mut scene, begun.id).await;
    assert_proven(&scene, &of_ada(), &erasure).await;
}

#[tokio::test(start_paused = true)]
async fn nobody_writes_an_erased_event_again() {
    let mut scene = lived(FeedSettings::default()).await;
    // The request of a keyed event has not come to its end.
    let ends = Target::operation(Operation::UpdateItem).partition("IDEMPOTENCY#");
    let crash = Faults::default().rule(ends, When::Always, Fault::InternalServerError);
    let broken = store(scene.engine.client_with(crash).client(), &scene.world);
    let keyed = || keyed("half", vec![by("ada", None)]);
    broken.op().topic(&scene.posts).write(keyed()).await.unwrap();
    scene.settle().await;
    let erasure = erase(&mut scene, &of_ada()).await;
    let refused = scene.store.op().topic(&scene.posts).write(keyed()).await;
    assert!(matches!(refused, Err(WriteError::ActorIsBeingErased(_))), "{refused:?}");
    scene.settle().await;
    assert_proven(&scene, &of_ada(), &erasure).await;
}

#[tokio::test(start_paused = true)]
async fn a_follow_after_an_erasure_counts_again() {
    let mut scene = lived(FeedSettings::default()).await;
    erase(&mut scene, &of_ada()).await;
    let counts = async |scene: &Scene| {
        let of_ada = |item: &Item| matches!(key(item), AnyKey::FollowerCount(key) if key.source.to_string() == "actor:ada");
        let item = items(&scene.engine).await.into_iter().find(of_ada).unwrap();
        (item["here"].as_n().unwrap().clone(), item.contains_key("expires_at"))
    };
    assert_eq!(counts(&scene).await, ("0".to_owned(), true));
    scene.follow("bob", "actor:ada", 5).await;
    assert_eq!(counts(&scene).await, ("1".to_owned(), false));
}

#[tokio::test(start_paused = true)]
async fn a_source_that_is_followed_again_in_a_later_shard_keeps_its_item() {
    for shard in [0_u8, 1] {
        let mut scene = lived(FeedSettings { fan_out_limit: 1, ..small_jobs() }).await;
        erase(&mut scene, &asked(Some("ada"), None)).await;
        // A follower in this shard, as a follow writes it.
        let count = FollowerCountKey { source: source("actor:ada"), shard: shard.into() }.encode();
        let client = scene.engine.client();
        let update = client.update_item().table_name(TABLE);
        let update = update.key("pk", AttributeValue::S(count.pk)).key("sk", AttributeValue::S(count.sk));
        let update = update.update_expression("ADD here :one REMOVE expires_at");
        let update = update.expression_attribute_values(":one", AttributeValue::N("1".to_owned()));
        update.send().await.unwrap();
        scene.settle().await;
        let expires_at = lasting(&scene).await[&source_of_ada()];
        assert_eq!(expires_at == 0, shard > 0, "shard {shard} needs the item");
    }
}

#[tokio::test(start_paused = true)]
async fn an_erasure_costs_one_unit_for_each_item_and_little_more() {
    // More than one step lists.
    const EVENTS: usize = 600;
    const ENTRIES: usize = 1_000;
    let mut scene = Scene::new(FeedSettings::default()).await;
    for follower in ["bob", "cy", "dee"] {
        scene.follow(follower, "actor:ada", 0).await;
    }
    scene.settle().await;
    for _ in 0..EVENTS / 100 {
        scene.write(vec![by("ada", None); 100]).await;
        scene.settle().await;
    }
    // The deletion of a younger event is noted, too.
    pass(Duration::from_millis(lately_store::limits::WRITE_MILLIS + 1_000)).await;
    let begun = scene.store.op().erasures().begin(&asked(Some("ada"), None)).await.unwrap();
    let outcomes = scene.settle().await;
    let counts = finish(&mut scene, begun.id).await.counts;
    let events = EVENTS as u64;
    assert_eq!((counts.events, counts.followers), (events, 3));
    // Events, entries, three followers' copies, and those in the author's own feed.
    let items = 6 * events;
    let halves: u64 = outcomes.iter().map(|outcome| outcome.cost.write_units.halves).sum();
    assert!(halves * 100 <= items * 2 * 105, "{halves} half units for {items} items");

    // The user's feed holds the entries of others.
    scene.follow("ada", "actor:bob", 0).await;
    scene.settle().await;
    for _ in 0..ENTRIES / 100 {
        scene.write(vec![by("bob", None); 100]).await;
        scene.settle().await;
    }
    let begun = scene.store.op().erasures().begin(&asked(None, Some("ada"))).await.unwrap();
    let outcomes = scene.settle().await;
    let counts = finish(&mut scene, begun.id).await.counts;
    assert_eq!((counts.feed, counts.follows), (ENTRIES as u64, 1));
    let halves: u64 = outcomes.iter().map(|outcome| outcome.cost.write_units.halves).sum();
    assert!(halves * 100 <= counts.feed * 2 * 105, "{halves} half units for {} entries", counts.feed);
}

#[tokio::test(start_paused = true)]
async fn the_list_shows_the_erasures_of_two_days_newest_first() {
    let mut scene = Scene::new(FeedSettings::default()).await;
    let mut begun = Vec::new();
    for name in ["ada", "bob", "cy"] {
        begun.push(scene.store.op().erasures().begin(&asked(Some(name), None)).await.unwrap().id);
        pass(Duration::from_secs(1)).await;
    }
    let done = finish(&mut scene, begun[0]).await;
    let shown = pages(async |cursor| {
        let query = ListQuery { cursor, ..ListQuery::parse("limit=2").unwrap() };
        let page = scene.store.op().erasures().list(&query).await.unwrap();
        (page.erasures, page.next)
    });
    let shown = shown.await;
    let ids: Vec<_> = shown.iter().map(|erasure| erasure.id).collect();
    assert_eq!(ids, begun.iter().rev().copied().collect::<Vec<_>>());
    assert_eq!(shown.last(), Some(&done));
    pass(2 * DAY).await;
    let page = scene.store.op().erasures().list(&ListQuery::default()).await.unwrap();
    assert_eq!((page.erasures, page.next), (Vec::new(), None));
}

#[tokio::test(start_paused = true)]
async fn the_list_costs_a_read_unit_for_each_batch_and_an_erasure_in_forty_bytes_more() {
    let mut scene = Scene::new(FeedSettings::default()).await;
    let units = async |scene: &mut Scene| {
        scene.write(vec![by("bob", None)]).await;
        let outcomes = scene.settle().await;
        outcomes.iter().map(|outcome| outcome.cost.read_units.halves).sum::<u64>()
    };
    units(&mut scene).await;
    let empty = units(&mut scene).await;
    for n in 0..200 {
        scene.store.op().erasures().begin(&asked(Some(&format!("person-{n}")), None)).await.unwrap();
    }
    // No step of these erasures is run.
    scene.news();
    let long = units(&mut scene).await;
    assert!(long - empty <= 2 * 6, "{empty} half units with an empty list, {long} with 200 erasures");
}

#[tokio::test(start_paused = true)]
async fn a_batch_that_stalls_at_any_call_leaves_no_event_behind() {
    for call in 1..=12 {
        let moment = [Moment::Before, Moment::After][usize::try_from(call % 2).unwrap()];
        let mut scene = lived_shortly(FeedSettings::default()).await;
        scene.write(vec![by("ada", Some("s"))]).await;
        let news = scene.news();
        let stall = Some(Stall { call, moment, time: MINUTE / 2 });
        let network = Network { seed: 1, longest: Duration::from_millis(3), stall };
        let slow = store(scene.engine.client_with(Faults::default()).over(network), &scene.world);
        // The erasure comes to its end while the batch stands still.
        let erasing = async {
            pass(Duration::from_secs(1)).await;
            erase(&mut scene, &of_ada()).await.id
        };
        let (outcome, id) = futures_util::future::join(fan_out(&slow, &news), erasing).await;
        assert_eq!(outcome.failed, None);
        let erasure = finish(&mut scene, id).await;
        assert_proven(&scene, &of_ada(), &erasure).await;
    }
}
