//! Tests of a pump that is stopped or killed, and started again.

use std::path::Path;

use lately_engine::Engine;
use lately_pump::{Checkpoints, Mapping, PumpOptions, StartingPosition};
use tokio::time::sleep;

use crate::rig::{AT_ONCE, Log, SECOND, all, engine, mapping, options, put, put_all, start, start_with};
use crate::support::{TABLE, definition};

fn resumed(file: &Path) -> PumpOptions {
    PumpOptions {
        checkpoints: Checkpoints::read(file).unwrap(),
        checkpoint_file: Some(file.to_owned()),
        ..PumpOptions::default()
    }
}

#[tokio::test(start_paused = true)]
async fn a_restarted_pump_continues_from_its_checkpoints() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("checkpoints.json");
    let mapping = Mapping { batch_size: 1, starting_position: StartingPosition::Latest, ..mapping() };
    let first = Log::new();
    {
        let engine = Engine::open(directory.path(), &options(1)).unwrap();
        engine.create_table(&definition(), TABLE).unwrap();
        put(&engine, "before").await;
        // The process is killed before the invocation with "2" ends.
        let handler = first.handler(SECOND, all);
        let running = start_with(&engine, mapping.clone(), handler, None, resumed(&file));
        sleep(SECOND / 10).await;
        put_all(&engine, 0..4).await;
        sleep(SECOND * 5 / 2).await;
        running.task.abort();
        assert!(running.task.await.unwrap_err().is_cancelled());
        sleep(10 * SECOND).await;
    }
    assert_eq!(first.keys(), [["0"], ["1"], ["2"]]);
    assert_eq!(first.done().len(), 2, "a killed function does no more");

    let engine = Engine::open(directory.path(), &options(1)).unwrap();
    let second = Log::new();
    let running = start_with(&engine, mapping.clone(), second.handler(AT_ONCE, all), None, resumed(&file));
    running.settle_and_stop().await;
    assert_eq!(second.keys(), [["2"], ["3"]]);

    // A pump that was stopped in order repeats nothing when it is started again.
    put(&engine, "4").await;
    let third = Log::new();
    let running = start_with(&engine, mapping, third.handler(AT_ONCE, all), None, resumed(&file));
    running.settle_and_stop().await;
    assert_eq!(third.keys(), [["4"]]);
}

#[tokio::test(start_paused = true)]
async fn a_stopping_pump_waits_for_invocations_under_way() {
    let (engine, log) = (engine(1), Log::new());
    put_all(&engine, 0..2).await;
    let mapping = Mapping { batch_size: 1, ..mapping() };
    let running = start(&engine, mapping, log.handler(SECOND, all));
    sleep(SECOND / 2).await;
    let statistics = running.stop().await;
    assert_eq!((log.done().len(), statistics.delivered, statistics.in_flight), (1, 1, 0));
}

#[tokio::test(start_paused = true)]
async fn checkpoints_that_cannot_be_written_stop_nothing_and_are_retried() {
    let directory = tempfile::tempdir().unwrap();
    let folder = directory.path().join("missing");
    let file = folder.join("checkpoints.json");
    let (engine, log) = (engine(1), Log::new());
    let running = start_with(&engine, mapping(), log.handler(AT_ONCE, all), None, resumed(&file));
    let mut troubles = running.handle.troubles();
    for number in 0..3 {
        put(&engine, &number.to_string()).await;
        sleep(10 * SECOND).await;
        running.handle.settled().await;
    }
    assert_eq!(log.done().len(), 3);
    let trouble = troubles.borrow_and_update().to_string();
    assert!(trouble.starts_with("its checkpoints cannot be written (No such file"), "{trouble}");

    std::fs::create_dir(&folder).unwrap();
    troubles.changed().await.unwrap();
    assert!(troubles.borrow().is_empty());
    assert_eq!(Checkpoints::read(&file).unwrap(), Some(running.handle.checkpoints()));
    running.stop().await;
}
