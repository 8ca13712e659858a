//! Eventually consistent reads lag: they see a prefix of the changes to a partition.

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

/// The item's number in a read, or 0 if the read finds no item.
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
async fn only_eventually_consistent_reads_lag() {
    let engine = engine(1, 1.0);
    for number in 1..=20 {
        write(&engine, "a", number).await;
    }
    assert_eq!(read(&engine, "a", true).await, 20);
    let mut seen = 0;
    for _ in 0..100 {
        let now = read(&engine, "a", false).await;
        assert!(now >= seen, "one replica never goes back in time");
        seen = now;
        engine.clock().advance(Duration::from_millis(10));
    }
    assert_eq!(read(&engine, "a", false).await, 20);
    // The index may lag for longer.
    engine.clock().advance(Duration::from_secs(5));
    assert_eq!(in_index(&engine).await, 1);
}

#[tokio::test]
async fn an_index_shows_an_item_after_its_lag() {
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
    assert!((10..=20).contains(&late), "{late} of 20 indexes lagged after a second");
}

#[tokio::test]
async fn successive_reads_go_back_in_time_at_most_by_the_lag() {
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
async fn partitions_lag_by_different_times() {
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

#[tokio::test]
async fn lag_can_be_changed_while_the_engine_is_used() {
    let engine = engine_with(Options::default());
    write(&engine, "a", 1).await;
    let lag = |index| Lag { seed: 4, table: Duration::ZERO, index, behind: 1.0 };
    engine.set_lag(Some(lag(Duration::from_secs(60)))).unwrap();
    assert_eq!(in_index(&engine).await, 1, "earlier items have no lag");
    for pk in 0..10 {
        write(&engine, &pk.to_string(), 1).await;
        assert_eq!(read(&engine, &pk.to_string(), false).await, 1, "the table has no lag");
    }
    let behind = in_index(&engine).await;
    assert!(behind < 11, "the index lags");
    engine.clock().advance(Duration::from_secs(60));
    assert_eq!(in_index(&engine).await, 11);
    write(&engine, "b", 1).await;
    // Reads see all earlier items at once when a new lag is set.
    engine.set_lag(Some(lag(Duration::from_secs(3_600)))).unwrap();
    assert_eq!(in_index(&engine).await, 12);
    for pk in 0..10 {
        write(&engine, &format!("c{pk}"), 1).await;
    }
    assert!(in_index(&engine).await < 22);
    engine.set_lag(None).unwrap();
    assert_eq!(in_index(&engine).await, 22);
}

#[tokio::test]
async fn a_lag_set_during_writes_misses_none_of_them() {
    let engine = engine_with(Options::default());
    let writing = std::thread::spawn({
        let engine = engine.clone();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        move || {
            runtime.block_on(async {
                for pk in 0..500 {
                    write(&engine, &pk.to_string(), 1).await;
                }
            });
        }
    });
    let lag = Lag { seed: 5, table: Duration::from_secs(1), index: Duration::from_secs(1), behind: 1.0 };
    while !writing.is_finished() {
        engine.set_lag(Some(lag)).unwrap();
    }
    writing.join().unwrap();
    engine.clock().advance(Duration::from_secs(2));
    assert_eq!(in_index(&engine).await, 500);
}
