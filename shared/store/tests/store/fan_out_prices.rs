//! The price of fan-out: one write unit per delivery, full calls, and followers at the price of their bytes.

use std::time::Duration;

use aws_sdk_dynamodb::types::{AttributeValue, PutRequest, WriteRequest};
use lately_engine::stream::SequenceNumber;
use lately_engine::{Engine, Options};
use lately_items::{FollowerCountKey, FollowerKey, SourceItemKey};
use lately_keys::{Key, Shard, TableKey};
use lately_model::Backfill;
use lately_store::{FanOutOutcome, FeedSettings, Record, Store};

use crate::listed::{source, user};
use crate::support::{Item, TABLE, World, change, engine, event, pass, store, submission, topic};

const TIME: Duration = Duration::from_secs(60);

/// DynamoDB's unit of consistent reading, in bytes.
const UNIT: u64 = 4 * 1024;

fn item(key: Key, numbers: &[(&str, usize)]) -> Item {
    let mut item = Item::from([
        ("pk".to_owned(), AttributeValue::S(key.pk)),
        ("sk".to_owned(), AttributeValue::S(key.sk)),
    ]);
    for (name, number) in numbers {
        item.insert((*name).to_owned(), AttributeValue::N(number.to_string()));
    }
    item
}

/// Puts a source with followers, spread evenly over its shards. Returns the size of the followers in bytes.
async fn audience(engine: &Engine, followers: usize, shards: u8) -> u64 {
    let ada = source("actor:ada");
    let mut items = vec![item(SourceItemKey { source: ada.clone() }.encode(), &[("shards", shards.into())])];
    let mut bytes = 0;
    for n in 0..followers {
        let shard = Shard::from(u8::try_from(n % usize::from(shards)).unwrap());
        let key = FollowerKey { source: ada.clone(), shard, user: user(&format!("user-{n:05}")) }.encode();
        // A number of 13 digits takes seven bytes and one more; a number of one digit takes one byte and one more.
        bytes += "pk".len() + key.pk.len() + "sk".len() + key.sk.len() + "since".len() + 8 + "k".len() + 2;
        items.push(item(key, &[("since", 1_773_489_600_123), ("k", 7)]));
    }
    for n in 0..shards {
        let key = FollowerCountKey { source: ada.clone(), shard: n.into() };
        items.push(item(key.encode(), &[("here", followers / usize::from(shards)), ("left", 0)]));
    }
    let client = engine.client();
    for batch in items.chunks(25) {
        let request = |item: &Item| {
            let put = PutRequest::builder().set_item(Some(item.clone())).build().unwrap();
            WriteRequest::builder().put_request(put).build()
        };
        let batch = batch.iter().map(request).collect();
        client.batch_write_item().request_items(TABLE, batch).send().await.unwrap();
    }
    u64::try_from(bytes).unwrap()
}

/// A table with an audience and the topic `posts`, a store, and the size of the followers in bytes.
async fn scene(followers: usize, shards: u8) -> (Engine, Store, u64) {
    let world = World::new(1);
    let engine = engine(&world, Options { shards: 1, ..Options::default() });
    let settings = FeedSettings { fan_out_limit: 1_000_000, ..FeedSettings::default() };
    let store = store(engine.client(), &world).with_feeds(settings);
    store.op().topic(&topic("posts")).put(&change("{}")).await.unwrap();
    let bytes = audience(&engine, followers, shards).await;
    (engine, store, bytes)
}

/// Posts events, and delivers all records that result. Returns the sum of the outcomes.
async fn post(engine: &Engine, store: &Store, events: usize) -> FanOutOutcome {
    let told = engine.stream(TABLE).unwrap().latest(0);
    let event = event("note", Some(format!("\"{}\"", "x".repeat(600))));
    store.op().topic(&topic("posts")).write(submission(vec![event; events])).await.unwrap();
    deliver(engine, store, told).await
}

/// Delivers all records behind a position, and the records that result. Returns the sum of the outcomes.
async fn deliver(engine: &Engine, store: &Store, mut told: SequenceNumber) -> FanOutOutcome {
    let stream = engine.stream(TABLE).unwrap();
    let mut total = FanOutOutcome::default();
    while told < stream.latest(0) {
        let batch = stream.read(0, told, 1_000, u64::MAX);
        told = batch.next;
        let records = Record::batch(stream.lambda_event(&batch.records).as_bytes()).unwrap();
        let outcome = store.op_within(TIME).fan_out(&records).await;
        assert_eq!(outcome.failed, None);
        total.deliveries += outcome.deliveries;
        total.write_calls += outcome.write_calls;
        total.written_items += outcome.written_items;
        total.cost.calls += outcome.cost.calls;
        total.cost.read_units.halves += outcome.cost.read_units.halves;
        total.cost.write_units.halves += outcome.cost.write_units.halves;
    }
    total
}

#[tokio::test(start_paused = true)]
async fn ten_thousand_deliveries_cost_ten_thousand_units_in_full_calls() {
    for shards in [1, 4] {
        let (engine, store, _) = scene(10_000, shards).await;
        let total = post(&engine, &store, 1).await;
        assert_eq!(total.deliveries, 10_000);
        // Thousandths of a unit for each delivery, the event's own entries and its jobs included.
        let milli_units = total.cost.write_units.halves * 1_000 / 2 / total.deliveries;
        assert!(milli_units <= 1_001, "{shards} shards: {total:?}");
        let tenths = total.written_items * 10 / total.write_calls;
        assert!(tenths >= 249, "{shards} shards: {tenths} tenths of an item per call: {total:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn followers_are_read_at_the_price_of_their_bytes() {
    let (engine, store, bytes) = scene(10_000, 1).await;
    let total = post(&engine, &store, 1).await;
    let pages = 10_000 / u64::from(FeedSettings::default().followers_per_job);
    // One unit each. For the event: the announcements, the source, its counts, the event again. For each page, the
    // empty last page included: the page, the event, the users who left, the event again.
    let looks = 4 + (pages + 1) * 4;
    let followers = total.cost.read_units.halves / 2 - looks;
    // The bytes of each page are rounded up.
    let floor = bytes.div_ceil(UNIT);
    assert!((floor..=floor + pages).contains(&followers), "{followers} units, at least {floor} expected");
}

#[tokio::test(start_paused = true)]
async fn small_audiences_of_many_events_share_their_calls() {
    let (engine, store, _) = scene(10, 1).await;
    let total = post(&engine, &store, 100).await;
    assert_eq!((total.deliveries, total.written_items), (1_000, 1_200));
    assert!(total.write_calls <= 60, "{} calls, 48 at best", total.write_calls);
    assert_eq!(total.cost.write_units.halves, 2 * 1_200);
    // Rails that continue at the same time share each read of the source, its followers and the events.
    let reads = total.cost.calls - total.write_calls;
    assert!(reads <= 60, "{reads} calls that read");
}

#[tokio::test(start_paused = true)]
async fn many_shards_with_few_followers_are_read_by_few_calls() {
    let (engine, store, _) = scene(0, 1).await;
    let ada = source("actor:ada");
    let mut items = vec![item(SourceItemKey { source: ada.clone() }.encode(), &[("shards", 256)])];
    // All followers left long ago, except three.
    for n in 0..=255_u8 {
        let here = usize::from(n < 3);
        let key = FollowerCountKey { source: ada.clone(), shard: n.into() };
        items.push(item(key.encode(), &[("here", here), ("left", 5), ("left_at", 1_700_000_000_000)]));
        if here > 0 {
            let key = FollowerKey { source: ada.clone(), shard: n.into(), user: user(&format!("user-{n}")) };
            items.push(item(key.encode(), &[("since", 1_700_000_000_000), ("k", 0)]));
        }
    }
    for item in items {
        engine.client().put_item().table_name(TABLE).set_item(Some(item)).send().await.unwrap();
    }
    let total = post(&engine, &store, 1).await;
    assert_eq!(total.deliveries, 3);
    // The counts take three calls. Three shards are asked for their followers, and for the users who left.
    assert!(total.cost.calls <= 3 + 2 * 3 + 6, "{total:?}");
    assert!(total.cost.read_units.halves / 2 <= 256 + 2 * 3 + 4, "{total:?}");
}

#[tokio::test(start_paused = true)]
async fn an_event_without_followers_costs_two_writes_and_five_reads() {
    let (engine, store, _) = scene(0, 1).await;
    let total = post(&engine, &store, 1).await;
    assert_eq!((total.written_items, total.cost.write_units.halves), (2, 4));
    // The source and its counts, the event, the erasures, and the topic's announcements.
    assert_eq!((total.cost.calls, total.cost.read_units.halves), (6, 10));
}

#[tokio::test(start_paused = true)]
async fn follows_and_unfollows_cost_the_entries_that_they_move() {
    let (engine, store, _) = scene(0, 1).await;
    post(&engine, &store, 60).await;
    pass(Duration::from_millis(1)).await;
    let (bob, ada) = (user("bob"), source("actor:ada"));
    let told = engine.stream(TABLE).unwrap().latest(0);
    store.op().user(&bob).follow(&ada, Backfill::default()).await.unwrap();
    let total = deliver(&engine, &store, told).await;
    // The calls: the follow, the source, the mark that the step has begun, the source's newest entries, their copies in
    // two calls, their events, the edge.
    assert_eq!((total.deliveries, total.cost.write_units.halves, total.cost.calls), (50, 2 * 51, 8));
    // 50 entries of 700 bytes cost nine units, and each event costs one. The follow is two items, read in a
    // transaction.
    assert_eq!(total.cost.read_units.halves / 2, 4 + 2 + 9 + 50);

    let told = engine.stream(TABLE).unwrap().latest(0);
    store.op().user(&bob).unfollow(&ada).await.unwrap();
    let total = deliver(&engine, &store, told).await;
    // One unit for each copy, one for the pull marker, which does not exist, and one for the item that says that bob
    // left.
    assert_eq!(total.cost.write_units.halves, 2 * 52);
    // The feed is read once. The follow is two items, read in a transaction. The edge is read twice for the pull
    // marker, and twice for the entries.
    assert_eq!(total.cost.read_units.halves / 2, 9 + 4 + 4);
}
