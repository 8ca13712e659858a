//! Ranges, oldest first: every event once, in order, at the price of its bytes.

use std::time::Duration;

use lately_keys::{EventId, Topic};
use lately_model::{Event, NewEvent};
use lately_store::{Cost, Store, TopicError};

use crate::support::{DAY, World, event, ids, pass, post, seeds, stored, submission, topic, with_posts};

/// DynamoDB's unit of consistent reading, in bytes.
const UNIT: u64 = 4 * 1024;

/// Reads a whole range. Returns its events and its price. Each chunk must be complete up to the position behind it.
async fn read(store: &Store, topic: &Topic, after: EventId, to: EventId) -> (Vec<Event>, Cost) {
    let mut range = store.op().topic(topic).range(after, to).await.unwrap();
    let mut events = Vec::new();
    while let Some(chunk) = range.next().await.unwrap() {
        assert!(chunk.last().unwrap().id <= range.position() && range.position() <= to);
        events.extend(chunk);
    }
    assert_eq!(range.position(), to.max(after));
    (events, range.cost())
}

/// A note of `bytes` bytes, from `millis_ago` milliseconds ago.
fn past(world: &World, bytes: usize, millis_ago: u64) -> NewEvent {
    let at = Some(world.now().saturating_sub(millis_ago));
    NewEvent { at, ..event("note", Some(format!("\"{}\"", "x".repeat(bytes)))) }
}

#[tokio::test(start_paused = true)]
async fn a_continued_range_has_each_event_once_in_order() {
    for seed in seeds(4) {
        let mut random = fastrand::Rng::with_seed(seed.0);
        let width = ["quarter-hour", "hour", "day", "month"][random.usize(..4)];
        let shards = 1_u32 << random.u32(..8);
        let settings = format!(r#"{{"bucket":"{width}","min_shards":{shards},"max_shards":256}}"#);
        let (world, engine, store, posts) = with_posts(&settings).await;
        for _ in 0..4 {
            let batch = (0..random.usize(1..300)).map(|_| {
                let ago = random.u64(..40) * 900_000 + random.u64(..900_000);
                past(&world, random.usize(1..3_000), ago)
            });
            post(&store, &posts, batch.collect()).await;
            pass(Duration::from_secs(random.u64(..4_000))).await;
        }
        let all = stored(&engine, &posts).await;
        assert_eq!(ids(&read(&store, &posts, EventId::MIN, EventId::MAX).await.0), all);

        let (after, to) = (all[all.len() / 4], all[all.len() * 3 / 4]);
        let wanted: Vec<_> = all.iter().copied().filter(|id| (after..=to).contains(id)).skip(1).collect();
        assert_eq!(ids(&read(&store, &posts, after, to).await.0), wanted);
        assert_eq!(ids(&read(&store, &posts, to, after).await.0), []);

        // Each range is given up after one chunk, and the next one begins at its position.
        let (mut found, mut position) = (Vec::new(), after);
        while position < to {
            let mut range = store.op().topic(&posts).range(position, to).await.unwrap();
            found.extend(ids(&range.next().await.unwrap().unwrap_or_default()));
            position = range.position();
            if range.next().await.unwrap().is_none() {
                position = range.position();
            }
        }
        assert_eq!(found, wanted);
    }
}

/// The price of all events of a topic: four batches of `events` events of `bytes` bytes.
async fn cost_of_all(shards: u16, events: u64, bytes: usize) -> Cost {
    let settings = format!(r#"{{"min_shards":{shards},"max_shards":256}}"#);
    let (world, engine, store, posts) = with_posts(&settings).await;
    for _ in 0..4 {
        post(&store, &posts, (0..events).map(|n| past(&world, bytes, n)).collect()).await;
    }
    let (events, cost) = read(&store, &posts, EventId::MIN, EventId::MAX).await;
    assert_eq!(ids(&events), stored(&engine, &posts).await);
    cost
}

#[tokio::test(start_paused = true)]
async fn shards_with_full_pages_are_read_to_their_end() {
    let cost = cost_of_all(4, 10, 200_000).await;
    // 8 MB in pages of 1 MB: no page is read twice.
    assert!(cost.rounds > 2 && cost.calls < 20, "{cost:?}");
    assert!(cost.read_units.halves / 2 <= 40 * 200_200 / UNIT + cost.calls, "{cost:?}");
}

#[tokio::test(start_paused = true)]
async fn many_shards_are_read_with_one_call_each() {
    let cost = cost_of_all(256, 500, 3_000).await;
    // One call for the directory and one for each shard: eight events of 3,000 bytes fit into a shard's page of 128 KB.
    assert!(cost.calls <= 1 + 256 + 8, "{cost:?}");
}

#[tokio::test(start_paused = true)]
async fn a_range_has_no_event_past_its_retention() {
    let (world, _engine, store, posts) = with_posts(r#"{"retention_days":2,"bucket":"hour"}"#).await;
    for hours in 0..40 {
        post(&store, &posts, vec![past(&world, 1, hours * 3_600_000)]).await;
    }
    pass(DAY).await;
    let (events, _) = read(&store, &posts, EventId::MIN, EventId::MAX).await;
    let oldest = world.now().saturating_sub(2 * 86_400_000);
    assert_eq!(events.len(), 24);
    assert!(events.iter().all(|event| event.at() > oldest));
}

#[tokio::test(start_paused = true)]
async fn events_are_found_by_id_in_the_requested_order() {
    let (_, _, store, posts) = with_posts("{}").await;
    let written = store.op().topic(&posts).write(submission(vec![event("note", None); 5])).await.unwrap();
    let mut wanted = ids(&written.events);
    wanted.reverse();
    store.op().event(&posts, wanted[2]).delete(None).await.unwrap();
    let op = store.op();
    let found = op.topic(&posts).events_of(&wanted).await.unwrap();
    wanted.remove(2);
    assert_eq!((ids(&found), op.cost().calls), (wanted, 1));
    assert!(matches!(store.op().topic(&topic("unknown")).events_of(&[]).await, Err(TopicError::NotFound(_))));
    assert!(matches!(
        store.op().topic(&topic("unknown")).range(EventId::MIN, EventId::MAX).await,
        Err(TopicError::NotFound(_))
    ));
}
