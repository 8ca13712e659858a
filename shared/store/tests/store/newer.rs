//! Polling from a page's `newer`: no event is missed, although writers stall and clocks run ahead.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::time::Duration;

use futures_util::future::{join, join_all};
use lately_engine::{Engine, Lag, Options};
use lately_items::EventKey;
use lately_keys::{BucketWidth, EventId, ShardCount, Tick};
use lately_model::EventQuery;
use lately_store::Store;

use crate::listed::{item, put, text};
use crate::support::{World, change, event, ids, pass, post, query, seeds, start_with, store, stored, topic};

/// The longest time from an event's id until every read shows the event, in milliseconds.
const PROMISE: u64 = 2_000;

/// Writes events that land some time after they got their ids, by clocks that are up to five seconds ahead.
async fn write(engine: &Engine, world: &World, stall: u64, number: u8, mut rng: fastrand::Rng) {
    let ahead = [0, rng.u64(..5_000)][rng.usize(..2)];
    for n in 0..25 {
        pass(Duration::from_millis(rng.u64(..400))).await;
        let at = world.now().saturating_add(ahead);
        let tick = Tick::first_of(at);
        let id = EventId::new(tick, ShardCount::new(4).unwrap().shard_at(tick), u64::from(number) << 8 | n);
        let key = EventKey::new(topic("posts"), BucketWidth::Day, id);
        let item = item(&key, [("t", text("note")), ("a", text("ada"))]);
        pass(Duration::from_millis([0, stall, rng.u64(..=stall)][rng.usize(..3)])).await;
        put(&engine.client(), [item]).await;
    }
}

/// Reads a page, and polls from its `newer`. Returns the events that the client then knows, and the oldest event of the
/// first page if there are older ones.
async fn poll(
    store: &Store,
    done: &Cell<bool>,
    mut rng: fastrand::Rng,
) -> (BTreeSet<EventId>, Option<EventId>) {
    pass(Duration::from_millis(rng.u64(..6_000))).await;
    let event_type = [None, Some("note".parse().unwrap())][rng.usize(..2)].clone();
    let first = EventQuery { event_type: event_type.clone(), ..query(rng.u16(1..=20)) };
    let first = store.op().topic(&topic("posts")).latest(&first).await.unwrap();
    let mut known: BTreeSet<_> = ids(&first.events).into_iter().collect();
    let oldest = first.events.last().filter(|_| first.has_more).map(|event| event.id);
    let mut polling = EventQuery { event_type, cursor: first.newer, ..query(rng.u16(1..=50)) };
    loop {
        let was_done = done.get();
        let page = store.op().topic(&topic("posts")).latest(&polling).await.unwrap();
        known.extend(ids(&page.events));
        polling.cursor = page.next;
        if was_done && !page.has_more {
            return (known, oldest);
        }
        pass(Duration::from_millis(if page.has_more { 0 } else { rng.u64(..1_500) })).await;
    }
}

#[tokio::test(start_paused = true)]
async fn polling_from_newer_gets_every_event() {
    for seed in seeds(3) {
        let mut rng = fastrand::Rng::with_seed(seed.0);
        let behind = [0, rng.u64(..=1_000)][rng.usize(..2)];
        let lag = Duration::from_millis(behind);
        let lag = Lag { seed: seed.0, table: lag, index: lag, behind: 0.5 };
        let options = Options { lag: (behind > 0).then_some(lag), ..Options::default() };
        let (world, engine, first) = start_with(seed.0, options);
        first.op().topic(&topic("posts")).put(&change(r#"{"min_shards":4}"#)).await.unwrap();
        post(&first, &topic("posts"), vec![event("note", None)]).await;
        pass(Duration::from_secs(5)).await;

        let done = Cell::new(false);
        let readers: Vec<_> = (0..4).map(|_| store(engine.client(), &world)).collect();
        let writers: Vec<_> =
            (0..4).map(|n| write(&engine, &world, PROMISE - behind, n, rng.fork())).collect();
        let writing = async {
            join_all(writers).await;
            // Long enough for clocks that run ahead, and for the distance of ascending pages from the present.
            pass(Duration::from_secs(8)).await;
            done.set(true);
        };
        let reading: Vec<_> = readers.iter().map(|store| poll(store, &done, rng.fork())).collect();
        let (_, polled) = join(writing, join_all(reading)).await;
        let all = stored(&engine, &topic("posts")).await;
        for (known, oldest) in polled {
            let is_due = |id: &&EventId| oldest.is_none_or(|oldest| oldest < **id);
            let missing: Vec<_> = all.iter().filter(|id| is_due(id) && !known.contains(id)).collect();
            assert!(missing.is_empty(), "the client missed {missing:?}");
        }
    }
}
