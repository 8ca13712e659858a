//! Tests of the contents of batches, the order of records, and the number of concurrent batches.

use std::time::Duration;

use lately_pump::{Filter, Mapping, Pump, PumpFaults, PumpOptions, StartingPosition};
use tokio::time::sleep;

use crate::rig::{
    AT_ONCE, Log, SECOND, all, by_item, engine, fails_on, mapping, put, put_all, start, start_with, stream,
    total,
};
use crate::support::{START, TABLE, item, key, n, s};

#[tokio::test(start_paused = true)]
async fn records_of_an_item_are_delivered_once_and_in_order() {
    let (engine, log) = (engine(2), Log::new());
    let mapping = Mapping { lanes: 3, batch_size: 4, ..mapping() };
    let faults = PumpFaults { interleave: 5, ..PumpFaults::default() };
    let options = PumpOptions { seed: 3, faults, ..PumpOptions::default() };
    let running = start_with(&engine, mapping, log.handler(Duration::from_millis(3), all), None, options);
    for _ in 0..10 {
        put_all(&engine, 0..7).await;
        sleep(Duration::from_millis(1)).await;
    }
    let statistics = running.settle_and_stop().await;
    assert_eq!((statistics.delivered, statistics.failures), (70, 0));
    let seen: Vec<_> = log.calls().into_iter().flat_map(|call| call.records).collect();
    let items = by_item(&seen);
    assert_eq!(items.len(), 7);
    assert!(items.values().all(|s| s.len() == 10 && s.is_sorted_by(|a, b| a < b)), "{items:?}");
}

#[tokio::test(start_paused = true)]
async fn a_shard_has_as_many_concurrent_invocations_as_lanes() {
    for lanes in [1, 3] {
        let (engine, log) = (engine(1), Log::new());
        let mapping = Mapping { lanes, batch_size: 1, ..mapping() };
        put_all(&engine, (0..30).chain(0..30)).await;
        let running = start(&engine, mapping, log.handler(SECOND, all));
        sleep(SECOND / 2).await;
        assert_eq!(running.total().in_flight, u64::from(lanes));
        running.settle_and_stop().await;
        let most = log.calls().iter().map(|call| call.at_work).max();
        assert_eq!(most, Some(usize::from(lanes)));
        assert!(log.calls().iter().all(|call| !call.overlaps));
        let items = log.done();
        assert!(by_item(&items).values().all(|s| s.len() == 2 && s[0] < s[1]), "{items:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn items_of_a_partition_run_at_once() {
    let (engine, log) = (engine(1), Log::new());
    for number in 0..40 {
        let put = engine.client().put_item().table_name(TABLE);
        put.set_item(Some(key("a", &number.to_string()))).send().await.unwrap();
    }
    let mapping = Mapping { lanes: 4, batch_size: 5, ..mapping() };
    let running = start(&engine, mapping, log.handler(SECOND, all));
    running.settle_and_stop().await;
    assert_eq!(log.calls().iter().map(|call| call.at_work).max(), Some(4));
    assert_eq!(log.done().len(), 40);
}

#[tokio::test(start_paused = true)]
async fn shards_are_processed_concurrently() {
    let (engine, log) = (engine(4), Log::new());
    put_all(&engine, 0..40).await;
    let running = start(&engine, mapping(), log.handler(SECOND, all));
    running.settle_and_stop().await;
    let calls = log.calls();
    assert_eq!((calls.len(), calls.iter().map(|call| call.at_work).max()), (4, Some(4)));
}

#[tokio::test]
async fn a_pump_can_run_on_another_thread_than_the_writer() {
    let (engine, log) = (engine(4), Log::new());
    let mapping = Mapping { lanes: 4, batch_size: 3, ..mapping() };
    let handler = log.handler(AT_ONCE, all);
    let pump = Pump::new(&stream(&engine), mapping, handler, None, PumpOptions::default());
    let handle = pump.handle();
    let thread = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(pump.run()).unwrap();
    });
    put_all(&engine, (0..50).chain(0..50)).await;
    handle.settled().await;
    handle.stop();
    thread.join().unwrap();
    assert_eq!((total(&handle).delivered, log.done().len()), (100, 100));
    assert!(log.calls().iter().all(|call| !call.overlaps));
}

#[tokio::test(start_paused = true)]
async fn a_batch_is_delivered_when_full_or_after_its_window() {
    let (engine, log) = (engine(1), Log::new());
    let mapping = Mapping { batch_size: 10, window: 5 * SECOND, ..mapping() };
    let running = start(&engine, mapping, log.handler(AT_ONCE, all));
    sleep(SECOND).await;
    put_all(&engine, 0..2).await;
    sleep(3 * SECOND).await;
    put_all(&engine, 2..3).await;
    running.handle.settled().await;
    put_all(&engine, 3..15).await;
    running.settle_and_stop().await;
    let sizes: Vec<_> = log.keys().iter().map(Vec::len).collect();
    assert_eq!(sizes, [3, 10, 2]);
    assert_eq!(log.times().iter().map(Duration::as_secs).collect::<Vec<_>>(), [6, 6, 11]);
}

#[tokio::test(start_paused = true)]
async fn an_event_has_at_most_six_megabytes() {
    let (engine, log) = (engine(1), Log::new());
    for i in 0..20 {
        let put = engine.client().put_item().table_name(TABLE);
        let item = item(&i.to_string(), "1", [("text", s("x".repeat(390_000)))]);
        put.set_item(Some(item)).send().await.unwrap();
    }
    let running = start(&engine, mapping(), log.handler(AT_ONCE, all));
    running.settle_and_stop().await;
    let calls = log.calls();
    assert_eq!(calls.iter().map(|call| call.records.len()).collect::<Vec<_>>(), [16, 4]);
    assert!(calls.iter().all(|call| call.bytes <= 6 * 1024 * 1024));
}

#[tokio::test(start_paused = true)]
async fn filtered_records_count_as_settled() {
    let (engine, log) = (engine(2), Log::new());
    let not_ttl = r#"{"userIdentity": {"type": [{"exists": false}]}, "eventName": ["INSERT", "REMOVE"]}"#;
    let mapping = Mapping { filter: Filter::parse([not_ttl]).unwrap(), ..mapping() };
    let running = start(&engine, mapping, log.handler(AT_ONCE, all));
    let soon = n(START.as_secs() + 10);
    for pk in ["expires", "goes"] {
        let put = engine.client().put_item().table_name(TABLE);
        put.set_item(Some(item(pk, "1", [("expires_at", soon.clone())]))).send().await.unwrap();
    }
    put(&engine, "stays").await;
    put(&engine, "stays").await;
    engine.client().delete_item().table_name(TABLE).set_key(Some(key("goes", "1"))).send().await.unwrap();
    sleep(11 * SECOND).await;
    assert_eq!(engine.expire(10).unwrap(), 1);
    let statistics = running.settle_and_stop().await;
    let mut keys: Vec<_> = log.keys().into_iter().flatten().collect();
    keys.sort();
    assert_eq!(keys, ["expires", "goes", "goes", "stays"]);
    assert_eq!((statistics.filtered, statistics.delivered), (2, 4));
    assert_eq!(statistics.iterator_age, Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn the_iterator_age_is_that_of_the_oldest_unsettled_record() {
    let (engine, log) = (engine(1), Log::new());
    let mapping = Mapping { batch_size: 1, ..mapping() };
    let running = start(&engine, mapping, log.handler(AT_ONCE, fails_on("b")));
    put(&engine, "a").await;
    sleep(10 * SECOND).await;
    put(&engine, "b").await;
    put(&engine, "c").await;
    sleep(3 * SECOND).await;
    assert_eq!(running.total().iterator_age, 3 * SECOND);
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_mapping_from_latest_skips_existing_records() {
    let (engine, log) = (engine(2), Log::new());
    put_all(&engine, 0..10).await;
    let mapping = Mapping { starting_position: StartingPosition::Latest, ..mapping() };
    let running = start(&engine, mapping, log.handler(AT_ONCE, all));
    put(&engine, "new").await;
    running.settle_and_stop().await;
    assert_eq!(log.keys(), [["new"]]);
}
