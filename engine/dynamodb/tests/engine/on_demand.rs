//! An on-demand table serves what its partitions serve, and at most twice the peak of the last half hour.
//!
//! In the tests of minutes a partition serves 5 write units a second, so that a minute has few puts.

use std::time::Duration;

use aws_sdk_dynamodb::operation::put_item::PutItemError;
use lately_engine::{Engine, Options, PartitionLimits, TableCapacity};

use crate::support::{TABLE, engine_with, item, s};

fn new_table(write_units: u32) -> Engine {
    let limits = PartitionLimits { write_units, table: TableCapacity::NEW, ..PartitionLimits::default() };
    engine_with(Options { partitions: Some(limits), ..Options::default() })
}

/// Puts one item under each of many keys. Returns the number of accepted puts, and the reason of the last refused one.
async fn put_to_keys(engine: &Engine, keys: u32) -> (u32, Option<String>) {
    let (mut accepted, mut why) = (0, None);
    for number in 0..keys {
        let put = engine.client().put_item().table_name(TABLE);
        let key = format!("key-{number}");
        match put
            .set_item(Some(item(&key, "1", [("gsi1pk", s(key.clone())), ("gsi1sk", s("1"))])))
            .send()
            .await
        {
            Ok(_) => accepted += 1,
            Err(error) => match error.into_service_error() {
                PutItemError::ThrottlingException(error) => {
                    why = error.throttling_reasons()[0].reason().map(str::to_owned);
                }
                other => panic!("{other:?}"),
            },
        }
    }
    (accepted, why)
}

/// Offers writes to all partitions for some minutes. Returns the puts that were accepted in the last second.
async fn rush(engine: &Engine, offered: u32, minutes: u32) -> u32 {
    let mut accepted = 0;
    for _ in 0..minutes * 60 {
        engine.clock().advance(Duration::from_secs(1));
        (accepted, _) = put_to_keys(engine, offered).await;
    }
    accepted
}

#[tokio::test]
async fn a_new_table_takes_4000_writes_at_once_however_many_keys_it_has() {
    let (accepted, why) = put_to_keys(&new_table(1_000), 5_000).await;
    // The keys do not fill the four partitions quite evenly.
    assert!((3_800..=4_000).contains(&accepted), "{accepted}");
    assert_eq!(why.unwrap(), "TableWriteKeyRangeThroughputExceeded");
}

#[tokio::test]
async fn a_hot_partition_splits_after_minutes_and_the_table_takes_twice_its_peak() {
    let engine = new_table(5);
    let first = rush(&engine, 40, 4).await;
    assert!((19..=20).contains(&first), "four partitions of 5 units: {first}");
    // After its fifth hot minute a partition splits.
    let split = rush(&engine, 60, 2).await;
    assert!((35..=40).contains(&split), "eight partitions, twice the peak: {split}");
    engine.clock().advance(Duration::from_secs(60 * 60));
    let (later, _) = put_to_keys(&engine, 60).await;
    assert!((19..=20).contains(&later), "the peak is forgotten: {later}");
}

#[tokio::test]
async fn one_hot_key_gets_no_more_from_a_table_with_more_partitions() {
    let limits =
        PartitionLimits { table: TableCapacity::OnDemand { partitions: 40 }, ..PartitionLimits::default() };
    let engine = engine_with(Options { partitions: Some(limits), ..Options::default() });
    let mut accepted = 0;
    for number in 0..1_200 {
        let put = engine.client().put_item().table_name(TABLE);
        accepted += u32::from(put.set_item(Some(item("hot", &number.to_string(), []))).send().await.is_ok());
    }
    assert_eq!(accepted, 1_000);
    let (others, _) = put_to_keys(&engine, 2_000).await;
    assert!(others > 1_900, "only the partition of the hot key is used up: {others}");
}
