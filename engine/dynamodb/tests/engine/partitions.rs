//! One partition serves 1,000 write units and 3,000 read units a second.

use std::time::Duration;

use aws_sdk_dynamodb::operation::put_item::PutItemError;
use aws_sdk_dynamodb::types::{PutRequest, WriteRequest};
use lately_engine::{Engine, Options, PartitionLimits};

use crate::support::{Item, TABLE, engine_with, item, s};

fn engine() -> Engine {
    engine_with(Options { partitions: Some(PartitionLimits::default()), ..Options::default() })
}

async fn put(engine: &Engine, item: Item) -> Result<(), PutItemError> {
    let put = engine.client().put_item().table_name(TABLE).set_item(Some(item));
    put.send().await.map(drop).map_err(|e| e.into_service_error())
}

/// The number of accepted puts among `count`, and the reason and resource of the first throttled one.
async fn accepted(
    engine: &Engine,
    count: u32,
    item_of: impl Fn(u32) -> Item,
) -> (u32, Option<(String, String)>) {
    let mut accepted = 0;
    let mut refused = None;
    for i in 0..count {
        match put(engine, item_of(i)).await {
            Ok(()) => accepted += 1,
            Err(PutItemError::ThrottlingException(error)) => {
                let reason = &error.throttling_reasons()[0];
                let text = |t: Option<&str>| t.unwrap().to_owned();
                refused.get_or_insert((text(reason.reason()), text(reason.resource())));
            }
            Err(other) => panic!("{other:?}"),
        }
    }
    (accepted, refused)
}

#[tokio::test]
async fn a_partition_serves_its_rate_without_affecting_others() {
    let engine = engine();
    let hot = |i: u32| item("hot", &i.to_string(), []);
    let (written, why) = accepted(&engine, 1_200, hot).await;
    assert_eq!(written, 1_000);
    assert_eq!(why.unwrap().0, "TableWriteKeyRangeThroughputExceeded");
    let (written, _) = accepted(&engine, 100, |i| item("cool", &i.to_string(), [])).await;
    assert_eq!(written, 100);
    engine.clock().advance(Duration::from_millis(100));
    let (written, _) = accepted(&engine, 1_200, hot).await;
    assert_eq!(written, 100);
}

#[tokio::test]
async fn larger_items_use_a_partition_up_sooner() {
    let engine = engine();
    let large = |i: u32| item("hot", &i.to_string(), [("data", s("x".repeat(3_500)))]);
    let (written, _) = accepted(&engine, 400, large).await;
    assert_eq!(written, 250);
}

#[tokio::test]
async fn a_hot_index_partition_throttles_the_tables_writes() {
    let engine = engine();
    let spread = |i: u32| {
        let index = [("gsi1pk", s("one")), ("gsi1sk", s(i.to_string()))];
        item(&format!("p{i}"), "1", index)
    };
    let (written, why) = accepted(&engine, 1_100, spread).await;
    assert_eq!(written, 1_000);
    let (reason, resource) = why.unwrap();
    assert_eq!(reason, "IndexWriteKeyRangeThroughputExceeded");
    assert!(resource.ends_with("table/lately/index/gsi1"), "{resource}");
}

#[tokio::test]
async fn a_batch_is_throttled_only_if_no_item_is_admitted() {
    let engine = engine();
    accepted(&engine, 1_000, |i| item("hot", &i.to_string(), [])).await;
    let request = |pk: &str, i: usize| {
        let put = PutRequest::builder().set_item(Some(item(pk, &i.to_string(), [])));
        WriteRequest::builder().put_request(put.build().unwrap()).build()
    };
    let mixed = (0..10).map(|i| request(if i < 4 { "hot" } else { "cool" }, i)).collect();
    let batch = engine.client().batch_write_item().request_items(TABLE, mixed);
    let unprocessed = batch.send().await.unwrap().unprocessed_items.unwrap();
    assert_eq!(unprocessed[TABLE].len(), 4);
    let again = engine.client().batch_write_item().set_request_items(Some(unprocessed));
    let error = again.send().await.unwrap_err().into_service_error();
    assert!(error.is_throttling_exception(), "{error:?}");
}

#[tokio::test]
async fn reads_use_read_units_by_the_size_of_their_items() {
    let engine = engine();
    let data = |i: u32| item("a", &i.to_string(), [("data", s("x".repeat(4_000)))]);
    accepted(&engine, 200, data).await;
    let query = || {
        let query = engine.client().query().table_name(TABLE).key_condition_expression("pk = :pk");
        query.expression_attribute_values(":pk", s("a")).limit(200).consistent_read(true)
    };
    let mut answered = 0;
    let error = loop {
        match query().send().await {
            Ok(_) => answered += 1,
            Err(error) => break error.into_service_error(),
        }
        assert!(answered < 100);
    };
    // 200 items of just above 4,000 bytes cost 197 units.
    assert_eq!(answered, 16);
    let aws_sdk_dynamodb::operation::query::QueryError::ThrottlingException(error) = error else {
        panic!("{error:?}");
    };
    assert_eq!(error.throttling_reasons()[0].reason(), Some("TableReadKeyRangeThroughputExceeded"));
    engine.clock().advance(Duration::from_secs(1));
    query().send().await.unwrap();
}

#[tokio::test]
async fn writes_to_unchanged_index_entries_use_no_index_units() {
    let engine = engine();
    let same = |i: u32| {
        let index = [("gsi1pk", s("one")), ("gsi1sk", s((i % 10).to_string()))];
        item(&format!("p{}", i % 10), "1", index)
    };
    let (written, _) = accepted(&engine, 1_500, same).await;
    assert_eq!(written, 1_500);
}
