//! Reads that may be behind, are: by a prefix of what was written to their partition.

use std::time::Duration;

use lately_engine::{Engine, Lag, Options};

use crate::support::{TABLE, engine_with, item, key, n};

fn engine(seed: u64, behind: f64) -> Engine {
    engine_with(Options {
        lag: Some(Lag { seed, table: Duration::from_secs(1), index: Duration::from_secs(5), behind }),
        ..Options::default()
    })
}

async fn write(engine: &Engine, pk: &str, number: u64) {
    let more = [
        ("n", n(number)),
        ("gsi1pk", crate::support::s("g")),
        ("gsi1sk", crate::support::s(format!("{pk}/{number:03}"))),
    ];
    let put = engine.client().put_item().table_name(TABLE);
    put.set_item(Some(item(pk, "1", more))).send().await.unwrap();
}

/// What a read finds: the number written last that it sees, 0 when there is no item.
async fn read(engine: &Engine, pk: &str, consistent: bool) -> u64 {
    let get = engine.client().get_item().table_name(TABLE).set_key(Some(key(pk, "1")));
    let item = get.consistent_read(consistent).send().await.unwrap().item;
    item.map_or(0, |item| item["n"].as_n().unwrap().parse().unwrap())
}

async fn in_index(engine: &Engine) -> i32 {
    let query = engine.client().query().table_name(TABLE).index_name("gsi1");
    let query = query.key_condition_expression("gsi1pk = :g");
    let query = query.expression_attribute_values(":g", crate::support::s("g"));
    query.send().await.unwrap().count
}

#[tokio::test]
async fn a_consistent_read_sees_everything_and_another_is_behind_until_the_lag_has_passed() {
    let engine = engine(1, 1.0);
    for number in 1..=20 {
        write(&engine, "a", number).await;
    }
    assert_eq!(read(&engine, "a", true).await, 20);
    let mut seen = 0;
    for _ in 0..100 {
        let now = read(&engine, "a", false).await;
        assert!(now >= seen, "one replica goes forward only");
        seen = now;
        engine.clock().advance(Duration::from_millis(10));
    }
    assert_eq!(read(&engine, "a", false).await, 20);
    // The index may be behind for longer.
    engine.clock().advance(Duration::from_secs(5));
    assert_eq!(in_index(&engine).await, 1);
}

#[tokio::test]
async fn an_index_shows_an_item_only_after_its_lag() {
    let mut late = 0;
    for seed in 0..20 {
        let engine = engine(seed, 1.0);
        write(&engine, "a", 1).await;
        engine.clock().advance(Duration::from_millis(1_001));
        assert_eq!(read(&engine, "a", false).await, 1);
        late += 1 - in_index(&engine).await;
        engine.clock().advance(Duration::from_secs(5));
        assert_eq!(in_index(&engine).await, 1);
    }
    assert!((10..=20).contains(&late), "{late} of 20 indexes were behind after a second");
}

#[tokio::test]
async fn successive_reads_may_go_back_in_time_but_never_further_than_the_lag() {
    let engine = engine(2, 0.5);
    let mut went_back = false;
    let mut last = 0;
    for number in 1..=100 {
        write(&engine, "a", number).await;
        engine.clock().advance(Duration::from_millis(100));
        let seen = read(&engine, "a", false).await;
        assert!(seen + 11 > number, "{seen} of {number}");
        went_back |= seen < last;
        last = seen;
    }
    assert!(went_back);
}

#[tokio::test]
async fn partitions_are_behind_by_different_amounts() {
    let engine = engine(3, 1.0);
    for pk in 0..20 {
        write(&engine, &pk.to_string(), 1).await;
    }
    engine.clock().advance(Duration::from_millis(500));
    let mut visible = 0;
    for pk in 0..20 {
        visible += read(&engine, &pk.to_string(), false).await;
    }
    assert!((3..=17).contains(&visible), "{visible} of 20");
}
