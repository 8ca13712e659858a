//! Fan-out dies before or after each of its calls. The next delivery finishes the work, with the same result.

use std::collections::BTreeSet;

use lately_engine::fault::{Fault, Faults, FaultyClient};
use lately_items::{AnyKey, SourceEntryKey};
use lately_model::{EventQuery, FeedQuery};
use lately_store::{FeedSettings, Store};

use crate::scene::{Scene, about, fan_out, key, small_jobs};
use crate::support::{items, store, with_a_fault_at_each_call};

/// Hands all new records to a process that may die, and to another one if it dies. Returns true if it died.
async fn settle(scene: &mut Scene, victim: &FaultyClient, victims: &Store) -> bool {
    let mut died = false;
    while scene.has_news() {
        let news = scene.news();
        match victim.run(fan_out(victims, &news)).await {
            Some(outcome) => assert_eq!(outcome.failed, None),
            None => {
                died = true;
                assert_eq!(fan_out(&scene.store, &news).await.failed, None);
            }
        }
    }
    died
}

/// The entries of feeds and timelines after posts, follows, an unfollow and a deletion; and true if a process died.
async fn settled(settings: FeedSettings, faults: Faults) -> (BTreeSet<String>, bool) {
    let mut scene = Scene::new(settings).await;
    let victim = scene.engine.client_with(faults);
    let victims = store(victim.client(), &scene.world).with_feeds(settings);
    for user in ["u0", "u1", "u2", "u3"] {
        scene.follow(user, "actor:ada", 0).await;
    }
    scene.follow("u0", "subject:s", 0).await;
    // Otherwise the backfills of these follows would do the work that a crash leaves undone for a post.
    scene.settle().await;
    let posts = scene.posts.clone();
    let posted = scene.post(&posts, vec![about("s"), about("t"), about("t")]).await;
    let before = settle(&mut scene, &victim, &victims).await;

    scene.store.op().topic(&posts).delete_event(posted[1], None).await.unwrap();
    let (u0, ada) = ("u0".parse().unwrap(), "actor:ada".parse().unwrap());
    scene.store.op().user(&u0).unfollow(&ada).await.unwrap();
    scene.follow("u4", "actor:ada", 5).await;
    let after = settle(&mut scene, &victim, &victims).await;

    let mut shown = BTreeSet::new();
    for user in ["ada", "u0", "u1", "u2", "u3", "u4"] {
        let page = EventQuery { consistent: true, ..EventQuery::default() };
        let query = FeedQuery { page, wait_for: None };
        let feed = scene.store.op().feed(&user.parse().unwrap()).page(&query).await.unwrap();
        shown.extend(feed.page.events.iter().map(|told| format!("{user} is shown {}", told.event.id)));
    }
    for item in items(&scene.engine).await {
        if let AnyKey::SourceEntry(SourceEntryKey { source, id, .. }) = key(&item) {
            shown.insert(format!("{source} lists {id}"));
        }
    }
    (shown, before || after)
}

#[test]
fn a_crash_at_any_call_does_not_change_the_result() {
    let promoting = FeedSettings { fan_out_limit: 2, ..small_jobs() };
    for settings in [FeedSettings::default(), small_jobs(), promoting] {
        let (expected, _) = lately_rig::simulate(settled(settings, Faults::default()));
        // At least two events under three sources, and in the feeds of ada and of five others.
        assert!(expected.len() >= 14, "{expected:?}");
        let calls = with_a_fault_at_each_call(Fault::Crash, async |call, faults| {
            let (shown, died) = settled(settings, faults).await;
            assert_eq!(shown, expected, "{settings:?}: {call}");
            died
        });
        assert!(calls > 30, "{calls} calls were made");
    }
}
