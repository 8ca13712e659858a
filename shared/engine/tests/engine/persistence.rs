//! An engine on a directory is found as it was left.

use std::time::Duration;

use lately_engine::{Clock, Engine, Lag, Options};

use crate::support::{START, TABLE, definition, item, key, n};

#[tokio::test]
async fn items_stream_and_expiry_survive() {
    let directory = tempfile::tempdir().unwrap();
    let options = Options { clock: Clock::manual(START), ..Options::default() };
    let engine = Engine::open(directory.path(), &options).unwrap();
    engine.create_table(&definition(), TABLE).unwrap();
    let soon = START.as_secs() + 10;
    for i in 0..10 {
        let item = item("a", &i.to_string(), [("expires_at", n(soon))]);
        engine.client().put_item().table_name(TABLE).set_item(Some(item)).send().await.unwrap();
    }
    let stream = engine.stream(TABLE).unwrap();
    let before: Vec<_> = stream.all().iter().map(|r| format!("{r:?}")).collect();
    let arn = stream.arn().to_owned();
    drop((engine, stream));

    let engine = Engine::open(directory.path(), &options).unwrap();
    let stream = engine.stream(TABLE).unwrap();
    let after: Vec<_> = stream.all().iter().map(|r| format!("{r:?}")).collect();
    assert_eq!((after, stream.arn()), (before, arn.as_str()));
    engine.clock().advance(Duration::from_secs(20));
    assert_eq!(engine.expire(100).unwrap(), 10);
    let newest = stream.all().last().unwrap().sequence();
    assert_eq!(newest.get(), 20);
}

#[tokio::test]
async fn a_table_made_anew_has_none_of_the_old_ones_records() {
    let directory = tempfile::tempdir().unwrap();
    let options = Options { clock: Clock::manual(START), ..Options::default() };
    let engine = Engine::open(directory.path(), &options).unwrap();
    engine.create_table(&definition(), TABLE).unwrap();
    let client = engine.client();
    client.put_item().table_name(TABLE).set_item(Some(item("a", "1", []))).send().await.unwrap();
    client.delete_table().table_name(TABLE).send().await.unwrap();
    assert!(engine.stream(TABLE).is_none());
    engine.clock().advance(Duration::from_secs(1));
    engine.create_table(&definition(), TABLE).unwrap();
    assert!(engine.stream(TABLE).unwrap().is_empty());
    drop((engine, client));

    let engine = Engine::open(directory.path(), &options).unwrap();
    assert!(engine.stream(TABLE).unwrap().is_empty());
    let put = engine.client().put_item().table_name(TABLE);
    put.set_item(Some(item("a", "1", []))).send().await.unwrap();
    let records = engine.stream(TABLE).unwrap().all();
    assert_eq!(records[0].sequence().get(), 2, "sequence numbers are never used again");
}

#[tokio::test]
async fn replicas_start_from_what_the_directory_holds() {
    let directory = tempfile::tempdir().unwrap();
    let lag = Lag { seed: 1, table: Duration::from_secs(1), index: Duration::from_secs(1), behind: 1.0 };
    let options = Options { clock: Clock::manual(START), lag: Some(lag), ..Options::default() };
    let engine = Engine::open(directory.path(), &options).unwrap();
    engine.create_table(&definition(), TABLE).unwrap();
    let put = engine.client().put_item().table_name(TABLE);
    put.set_item(Some(item("a", "1", []))).send().await.unwrap();
    drop(engine);

    let engine = Engine::open(directory.path(), &options).unwrap();
    let get = engine.client().get_item().table_name(TABLE).set_key(Some(key("a", "1")));
    assert!(get.send().await.unwrap().item.is_some());
}
