//! The price of fan-out: one write unit per delivery, full calls, and followers at the price of their bytes.

use std::time::Duration;

use lately_engine::Engine;
use lately_items::{FollowerCountKey, FollowerKey, SourceItemKey};
use lately_keys::{Shard, TableKey};
use lately_store::{FanOutOutcome, FeedSettings};

use crate::listed::{item, number, put, source, user};
use crate::scene::Scene;
use crate::support::{event, pass};

/// DynamoDB's unit of consistent reading, in bytes.
const UNIT: u64 = 4 * 1024;

/// Puts a source with followers, spread evenly over its shards. Returns the size of the followers in bytes.
async fn audience(engine: &Engine, followers: usize, shards: u8) -> u64 {
    let ada = source("actor:ada");
    let mut items = vec![item(&SourceItemKey { source: ada.clone() }, [("shards", number(shards))])];
    let mut bytes = 0;
    for n in 0..followers {
        let shard = Shard::from(u8::try_from(n % usize::from(shards)).unwrap());
        let follower = FollowerKey { source: ada.clone(), shard, user: user(&format!("user-{n:05}")) };
        let key = follower.encode();
        // A number of 13 digits takes seven bytes and one more; a number of one digit takes one byte and one more.
        bytes += "pk".len() + key.pk.len() + "sk".len() + key.sk.len() + "since".len() + 8 + "k".len() + 2;
        items.push(item(&follower, [("since", number(1_773_489_600_123_u64)), ("k", number(7))]));
    }
    for n in 0..shards {
        let key = FollowerCountKey { source: ada.clone(), shard: n.into() };
        items.push(item(&key, [("here", number(followers / usize::from(shards))), ("left", number(0))]));
    }
    put(&engine.client(), items).await;
    u64::try_from(bytes).unwrap()
}

/// A scene with an audience, and the size of the followers in bytes.
async fn scene(followers: usize, shards: u8) -> (Scene, u64) {
    let mut scene = Scene::new(FeedSettings { fan_out_limit: 1_000_000, ..FeedSettings::default() }).await;
    let bytes = audience(&scene.engine, followers, shards).await;
    // Nobody handles the records of the audience.
    scene.news();
    (scene, bytes)
}

/// Posts events, and delivers all records that result. Returns the sum of the outcomes.
async fn post(scene: &mut Scene, events: usize) -> FanOutOutcome {
    let event = event("note", Some(format!("\"{}\"", "x".repeat(600))));
    scene.write(vec![event; events]).await;
    deliver(scene).await
}

/// Delivers all new records, and the records that result. Returns the sum of the outcomes.
async fn deliver(scene: &mut Scene) -> FanOutOutcome {
    let mut total = FanOutOutcome::default();
    for outcome in scene.settle().await {
        total.deliveries += outcome.deliveries;
        total.write_calls += outcome.write_calls;
        total.written_items += outcome.written_items;
        total.cost += outcome.cost;
    }
    total
}

#[tokio::test(start_paused = true)]
async fn thousands_of_deliveries_cost_a_unit_each_in_full_calls() {
    for (followers, shards, most) in [(4_000, 1, 1_002), (2_000, 4, 1_005)] {
        let (mut scene, bytes) = scene(followers, shards).await;
        let total = post(&mut scene, 1).await;
        assert_eq!(total.deliveries, followers as u64);
        // Thousandths of a unit for each delivery, the event's own entries and its jobs included.
        let milli_units = total.cost.write_units.halves * 1_000 / 2 / total.deliveries;
        assert!(milli_units <= most, "{shards} shards: {total:?}");
        let tenths = total.written_items * 10 / total.write_calls;
        assert!(tenths >= 245, "{shards} shards: {tenths} tenths of an item per call: {total:?}");
        if shards == 1 {
            let pages = total.deliveries / u64::from(FeedSettings::default().followers_per_job);
            // One unit each. For the event: the announcements, the source, its counts, the event again. For each page,
            // the empty last page included: the page, the event, the users who left, the event again.
            let looks = 4 + (pages + 1) * 4;
            let followers = total.cost.read_units.halves / 2 - looks;
            // The followers are read at the price of their bytes. The bytes of each page are rounded up.
            let floor = bytes.div_ceil(UNIT);
            assert!(
                (floor..=floor + pages).contains(&followers),
                "{followers} units, at least {floor} expected"
            );
            assert!(tenths >= 248, "{tenths} tenths of an item per call");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn small_audiences_of_many_events_share_their_calls() {
    let (mut scene, _) = scene(10, 1).await;
    let total = post(&mut scene, 100).await;
    assert_eq!((total.deliveries, total.written_items), (1_000, 1_200));
    assert!(total.write_calls <= 60, "{} calls, 48 at best", total.write_calls);
    assert_eq!(total.cost.write_units.halves, 2 * 1_200);
    // Rails that continue at the same time share each read of the source, its followers and the events.
    let reads = total.cost.calls - total.write_calls;
    assert!(reads <= 60, "{reads} calls that read");
}

#[tokio::test(start_paused = true)]
async fn many_shards_with_few_followers_are_read_by_few_calls() {
    let (mut scene, _) = scene(0, 1).await;
    let ada = source("actor:ada");
    let mut items = vec![item(&SourceItemKey { source: ada.clone() }, [("shards", number(256))])];
    // All followers left long ago, except three.
    for n in 0..=255_u8 {
        let (here, since) = (u8::from(n < 3), || number(1_700_000_000_000_u64));
        let key = FollowerCountKey { source: ada.clone(), shard: n.into() };
        items.push(item(&key, [("here", number(here)), ("left", number(5)), ("left_at", since())]));
        if here > 0 {
            let key = FollowerKey { source: ada.clone(), shard: n.into(), user: user(&format!("user-{n}")) };
            items.push(item(&key, [("since", since()), ("k", number(0))]));
        }
    }
    put(&scene.engine.client(), items).await;
    scene.news();
    let total = post(&mut scene, 1).await;
    assert_eq!(total.deliveries, 3);
    // The counts take three calls. Three shards are asked for their followers, and for the users who left.
    assert!(total.cost.calls <= 3 + 2 * 3 + 6, "{total:?}");
    assert!(total.cost.read_units.halves / 2 <= 256 + 2 * 3 + 4, "{total:?}");
}

#[tokio::test(start_paused = true)]
async fn an_event_without_followers_costs_two_writes_and_five_reads() {
    let (mut scene, _) = scene(0, 1).await;
    let total = post(&mut scene, 1).await;
    assert_eq!((total.written_items, total.cost.write_units.halves), (2, 4));
    // The source and its counts, the event, the erasures, and the topic's announcements.
    assert_eq!((total.cost.calls, total.cost.read_units.halves), (6, 10));
}

#[tokio::test(start_paused = true)]
async fn follows_and_unfollows_cost_the_entries_that_they_move() {
    let (mut scene, _) = scene(0, 1).await;
    post(&mut scene, 60).await;
    pass(Duration::from_millis(1)).await;
    scene.follow("bob", "actor:ada", 50).await;
    let total = deliver(&mut scene).await;
    // The calls: the follow, the source, the mark that the step has begun, the source's newest entries, their copies in
    // two calls, their events, the edge.
    assert_eq!((total.deliveries, total.cost.write_units.halves, total.cost.calls), (50, 2 * 51, 8));
    // 50 entries of 700 bytes cost nine units, and each event costs one. The follow is two items, read in a
    // transaction.
    assert_eq!(total.cost.read_units.halves / 2, 4 + 2 + 9 + 50);

    scene.store.op().user(&user("bob")).unfollow(&source("actor:ada")).await.unwrap();
    let total = deliver(&mut scene).await;
    // One unit for each copy, one for the pull marker, which does not exist, and one for the item that says that bob
    // left.
    assert_eq!(total.cost.write_units.halves, 2 * 52);
    // The feed is read once. The follow is two items, read in a transaction. The edge is read twice for the pull
    // marker, and twice for the entries.
    assert_eq!(total.cost.read_units.halves / 2, 9 + 4 + 4);
}
