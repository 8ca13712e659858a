//! An engine that is opened again on its directory has the same items and records as before.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::time::Duration;
use std::{env, fs};

use aws_sdk_dynamodb::types::{Delete, Put, PutRequest, TransactWriteItem, WriteRequest};
use lately_engine::stream::SequenceNumber;
use lately_engine::{Clock, Engine, EngineError, Lag, Options};

use crate::support::{Item, START, TABLE, definition, item, key, n, s};

/// Held while a child process is spawned, and while an engine is opened. A child that does not run its own program yet
/// holds copies of all open files. With them it holds the locks of directories, even if their engines are dropped.
static SPAWNING: Mutex<()> = Mutex::new(());

fn open(directory: &Path, options: &Options) -> Result<Engine, EngineError> {
    let _alone = SPAWNING.lock().unwrap();
    Engine::open(directory, options)
}

/// Puts an item for each number.
async fn put(engine: &Engine, numbers: RangeInclusive<u64>) {
    for number in numbers {
        let item = item(&number.to_string(), "1", [("n", n(number))]);
        engine.client().put_item().table_name(TABLE).set_item(Some(item)).send().await.unwrap();
    }
}

#[tokio::test]
async fn items_stream_and_expiry_times_are_stored() {
    let directory = tempfile::tempdir().unwrap();
    let options = Options { clock: Clock::manual(START), ..Options::default() };
    let engine = open(directory.path(), &options).unwrap();
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

    let engine = open(directory.path(), &options).unwrap();
    let stream = engine.stream(TABLE).unwrap();
    let after: Vec<_> = stream.all().iter().map(|r| format!("{r:?}")).collect();
    assert_eq!((after, stream.arn()), (before, arn.as_str()));
    engine.clock().advance(Duration::from_secs(20));
    assert_eq!(engine.expire(100).unwrap(), 10);
    let newest = stream.all().last().unwrap().sequence;
    assert_eq!(newest.0, 20);
}

#[tokio::test]
async fn records_older_than_the_retention_still_count() {
    let directory = tempfile::tempdir().unwrap();
    let options = Options { clock: Clock::manual(START), ..Options::default() };
    let engine = open(directory.path(), &options).unwrap();
    engine.create_table(&definition(), TABLE).unwrap();
    put(&engine, 1..=3).await;
    drop(engine);

    options.clock.advance(2 * options.retention);
    let engine = open(directory.path(), &options).unwrap();
    assert!(engine.stream(TABLE).unwrap().is_empty());
    put(&engine, 4..=4).await;
    let records = engine.stream(TABLE).unwrap().all();
    assert_eq!(records[0].sequence.0, 4, "a reader that has done 3 records has not done this one");
}

#[tokio::test]
async fn settled_records_are_neither_stored_nor_read_at_the_next_start() {
    let directory = tempfile::tempdir().unwrap();
    let options = Options { clock: Clock::manual(START), ..Options::default() };
    let engine = open(directory.path(), &options).unwrap();
    engine.create_table(&definition(), TABLE).unwrap();
    // A segment has room for 27 of these.
    for number in 1..=100 {
        let large = ("text", s("x".repeat(300_000)));
        let item = item(&number.to_string(), "1", [("n", n(number)), large]);
        engine.client().put_item().table_name(TABLE).set_item(Some(item)).send().await.unwrap();
        engine.clock().advance(Duration::from_secs(1));
    }
    let stream = engine.stream(TABLE).unwrap();
    let newest = stream.changes().borrow().to_owned();
    let sequences = |engine: &Engine| {
        let records = engine.stream(TABLE).unwrap().all();
        records.iter().map(|record| record.sequence.0).collect::<Vec<_>>()
    };
    let unsettled = SequenceNumber(90);
    stream.forget(&[newest, newest, newest, unsettled], 5);
    let old = sequences(&engine);
    let shard_of_unsettled = stream.read(3, SequenceNumber::START, 100, u64::MAX).records;
    assert!(shard_of_unsettled.iter().all(|record| record.sequence > unsettled));
    assert!(old.ends_with(&[96, 97, 98, 99, 100]) && old[0] > 90, "{old:?}");
    drop((engine, stream));

    let engine = open(directory.path(), &options).unwrap();
    let new = sequences(&engine);
    assert!(new.ends_with(&old[old.len() - 5..]) && old.iter().all(|one| new.contains(one)), "{new:?}");
    assert!(new[0] > 50, "most records are not read again: {new:?}");
    assert_eq!(new.last(), Some(&100));
}

#[tokio::test]
async fn a_start_looks_for_expired_items_a_page_at_a_time() {
    let directory = tempfile::tempdir().unwrap();
    let options = Options { clock: Clock::manual(START), ..Options::default() };
    let engine = open(directory.path(), &options).unwrap();
    engine.create_table(&definition(), TABLE).unwrap();
    let at = |seconds| n(START.as_secs() + seconds);
    for number in 0..10 {
        let large = ("text", s("x".repeat(300_000)));
        let item = item("a", &number.to_string(), [("expires_at", at(10)), large]);
        engine.client().put_item().table_name(TABLE).set_item(Some(item)).send().await.unwrap();
    }
    drop(engine);

    let engine = open(directory.path(), &options).unwrap();
    assert_eq!(engine.expiring(), 0, "the start reads no items");
    // Changed before its page is read: this item must not expire at its earlier time.
    let moved = item("a", "9", [("expires_at", at(1_000))]);
    engine.client().put_item().table_name(TABLE).set_item(Some(moved)).send().await.unwrap();
    engine.clock().advance(Duration::from_secs(20));
    let first = engine.expire(100).unwrap();
    assert!((1..9).contains(&first), "{first} items of the first page");
    let rest: usize = (0..5).map(|_| engine.expire(100).unwrap()).sum();
    assert_eq!((first + rest, engine.expiring()), (9, 1));
}

#[tokio::test]
async fn a_table_created_anew_has_no_record_of_the_deleted_one() {
    let directory = tempfile::tempdir().unwrap();
    let options = Options { clock: Clock::manual(START), ..Options::default() };
    let engine = open(directory.path(), &options).unwrap();
    engine.create_table(&definition(), TABLE).unwrap();
    let client = engine.client();
    client.put_item().table_name(TABLE).set_item(Some(item("a", "1", []))).send().await.unwrap();
    client.delete_table().table_name(TABLE).send().await.unwrap();
    assert!(engine.stream(TABLE).is_none());
    engine.clock().advance(Duration::from_secs(1));
    engine.create_table(&definition(), TABLE).unwrap();
    assert!(engine.stream(TABLE).unwrap().is_empty());
    drop((engine, client));

    let engine = open(directory.path(), &options).unwrap();
    assert!(engine.stream(TABLE).unwrap().is_empty());
    let put = engine.client().put_item().table_name(TABLE);
    put.set_item(Some(item("a", "1", []))).send().await.unwrap();
    let records = engine.stream(TABLE).unwrap().all();
    assert_eq!(records[0].sequence.0, 2, "sequence numbers are never used again");
}

#[tokio::test]
async fn replicas_start_with_the_items_of_the_directory() {
    let directory = tempfile::tempdir().unwrap();
    let lag = Lag { seed: 1, table: Duration::from_secs(1), index: Duration::from_secs(1), behind: 1.0 };
    let options = Options { clock: Clock::manual(START), lag: Some(lag), ..Options::default() };
    let engine = open(directory.path(), &options).unwrap();
    engine.create_table(&definition(), TABLE).unwrap();
    let put = engine.client().put_item().table_name(TABLE);
    put.set_item(Some(item("a", "1", []))).send().await.unwrap();
    drop(engine);

    let engine = open(directory.path(), &options).unwrap();
    let get = engine.client().get_item().table_name(TABLE).set_key(Some(key("a", "1")));
    assert!(get.send().await.unwrap().item.is_some());
}

#[tokio::test]
async fn one_engine_at_a_time_can_open_a_directory() {
    let directory = tempfile::tempdir().unwrap();
    let options = Options { clock: Clock::manual(START), ..Options::default() };
    let first = open(directory.path(), &options).unwrap();
    let refused = open(directory.path(), &options).unwrap_err().to_string();
    let expected = format!("{} is in use by process {}", directory.path().display(), std::process::id());
    assert_eq!(refused, expected);
    drop(first);
    open(directory.path(), &options).unwrap();
}

/// Sends a transaction, sends a batch, or expires an item, by `kind`. The transaction leaves one of its items
/// unchanged.
async fn change(engine: &Engine, kind: usize) {
    let client = engine.client();
    let put = |pk: &str, number: u64| {
        Put::builder().table_name(TABLE).set_item(Some(item(pk, "é", [("n", n(number))])))
    };
    match kind {
        0 => {
            let delete = Delete::builder().table_name(TABLE).set_key(Some(key("b", "é"))).build().unwrap();
            let transaction = client.transact_write_items();
            let transaction = ["a", "new", "same"].into_iter().fold(transaction, |all, pk| {
                let number = if pk == "same" { 1 } else { 2 };
                all.transact_items(TransactWriteItem::builder().put(put(pk, number).build().unwrap()).build())
            });
            let transaction = transaction.transact_items(TransactWriteItem::builder().delete(delete).build());
            transaction.send().await.unwrap();
        }
        1 => {
            let put = |pk: &str| {
                let put = PutRequest::builder().set_item(Some(item(pk, "é", [("n", n(3))]))).build().unwrap();
                WriteRequest::builder().put_request(put).build()
            };
            client
                .batch_write_item()
                .request_items(TABLE, ["a", "b", "new"].map(put).to_vec())
                .send()
                .await
                .unwrap();
        }
        _ => {
            engine.clock().advance(Duration::from_secs(100));
            assert_eq!(engine.expire(10).unwrap(), 1);
        }
    }
}

/// The items of the table, and the items after a replay of its stream.
async fn items_and_replayed(engine: &Engine) -> (Vec<Item>, Vec<Item>) {
    let by_key = |item: &Item| item["pk"].as_s().unwrap().clone();
    let scan = engine.client().scan().table_name(TABLE).consistent_read(true);
    let mut items = scan.send().await.unwrap().items.unwrap_or_default();
    items.sort_by_key(by_key);
    let mut replayed = BTreeMap::new();
    for record in engine.stream(TABLE).unwrap().all() {
        let key = by_key(&record.keys());
        assert_eq!(replayed.get(&key), record.old_image().as_ref(), "the old image is the item before");
        match record.new_image() {
            Some(item) => drop(replayed.insert(key, item)),
            None => drop(replayed.remove(&key)),
        }
    }
    (items, replayed.into_values().collect())
}

/// A text for each record of the stream, with its images and whether the TTL service made the change.
fn stream_keys(engine: &Engine) -> Vec<String> {
    let stream = engine.stream(TABLE).unwrap();
    let sorted = |item: Item| item.into_iter().collect::<BTreeMap<_, _>>();
    let records = stream.all().into_iter().map(|record| {
        let expired = stream.lambda_event(std::slice::from_ref(&record)).contains("userIdentity");
        let images = (record.old_image().map(sorted), record.new_image().map(sorted));
        format!("{} {:?} {} {expired} {images:?}", record.sequence, record.event, record.at_micros)
    });
    records.collect()
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let (path, to) = (entry.as_ref().unwrap().path(), to.join(entry.unwrap().file_name()));
        if path.is_dir() { copy(&path, &to) } else { fs::copy(&path, &to).map(drop).unwrap() }
    }
}

/// A copy of the directory of a process that was killed when it had written `bytes` bytes of the stream's new segment,
/// before or after the database committed.
fn killed(before: &Path, after: &Path, segment: &str, bytes: usize, committed: bool) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    copy(if committed { after } else { before }, directory.path());
    let whole = fs::read(after.join("stream").join(segment)).unwrap();
    fs::write(directory.path().join("stream").join(segment), &whole[..bytes]).unwrap();
    directory
}

#[tokio::test]
async fn a_process_killed_during_a_write_loses_neither_item_nor_record() {
    for kind in 0..3 {
        let (before, after) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let options = || Options { clock: Clock::manual(START), ..Options::default() };
        let engine = open(before.path(), &options()).unwrap();
        engine.create_table(&definition(), TABLE).unwrap();
        for pk in ["a", "b", "same"] {
            let expires = n(START.as_secs() + if pk == "b" { 50 } else { 1_000 });
            let more = if kind == 2 { [("expires_at", expires)] } else { [("n", n(1))] };
            let put = engine.client().put_item().table_name(TABLE).set_item(Some(item(pk, "é", more)));
            put.send().await.unwrap();
        }
        drop(engine);
        copy(before.path(), after.path());
        let later =
            || Options { clock: Clock::manual(START + Duration::from_secs(10)), ..Options::default() };
        let engine = open(after.path(), &later()).unwrap();
        let (was, _) = items_and_replayed(&engine).await;
        change(&engine, kind).await;
        let (is, _) = items_and_replayed(&engine).await;
        let expected = stream_keys(&engine);
        drop(engine);

        let segments = fs::read_dir(after.path().join("stream")).unwrap();
        let segment = segments.map(|entry| entry.unwrap().file_name().into_string().unwrap()).max().unwrap();
        let whole = fs::read(after.path().join("stream").join(&segment)).unwrap();
        let intent = whole.iter().position(|byte| *byte == b'\n').unwrap() + 1;
        assert!(whole.starts_with(b"{\"intent\":") && intent < whole.len());
        // The cuts are at each end and beginning of a line, at some bytes between, and within a character.
        let cuts = (0..=whole.len()).filter(|at| {
            at % 97 == 0
                || *at == whole.len()
                || whole[*at] >= 0x80
                || whole[at.saturating_sub(1)..=*at].contains(&b'\n')
        });
        for bytes in cuts {
            for committed in [false, true] {
                if (committed && bytes + 1 < intent) || (!committed && bytes > intent) {
                    continue;
                }
                let directory = killed(before.path(), after.path(), &segment, bytes, committed);
                let engine = open(directory.path(), &later()).unwrap();
                let (items, replayed) = items_and_replayed(&engine).await;
                assert_eq!(items, if committed { is.clone() } else { was.clone() });
                assert_eq!(replayed, items, "{bytes} bytes, committed: {committed}");
                let records = stream_keys(&engine);
                assert_eq!(records, expected[..records.len()], "with the same times and identities");
                // Another process opens the directory, and finds the same state after a further write.
                change(&engine, 1).await;
                let (items, replayed) = items_and_replayed(&engine).await;
                assert_eq!(items, replayed);
                drop(engine);
                let engine = open(directory.path(), &later()).unwrap();
                assert_eq!(items_and_replayed(&engine).await, (items, replayed));
            }
        }
    }
}

/// The environment variable with the directory of the child process, which writes until it is killed.
const CHILD: &str = "LATELY_KILLED_WRITER";

#[tokio::test]
async fn a_process_killed_while_it_writes_loses_nothing() {
    let options = Options { clock: Clock::manual(START), ..Options::default() };
    if let Some(directory) = env::var_os(CHILD) {
        let engine = open(Path::new(&directory), &options).unwrap();
        // The loop ends even if the parent does not kill this process.
        for number in 0..100_000 {
            let pk = (number % 50).to_string();
            let put = engine.client().put_item().table_name(TABLE);
            put.set_item(Some(item(&pk, "1", [("n", n(number))]))).send().await.unwrap();
            fs::write(Path::new(&directory).join("acknowledged"), number.to_string()).unwrap();
        }
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let engine = open(directory.path(), &options).unwrap();
    engine.create_table(&definition(), TABLE).unwrap();
    drop(engine);
    let acknowledged = directory.path().join("acknowledged");
    for _ in 0..3 {
        let mut child = Command::new(env::current_exe().unwrap());
        child.args(["--exact", "persistence::a_process_killed_while_it_writes_loses_nothing"]);
        let mut child = {
            let _alone = SPAWNING.lock().unwrap();
            child.env(CHILD, directory.path()).stdout(Stdio::null()).spawn().unwrap()
        };
        while fs::read_to_string(&acknowledged).unwrap_or_default().len() < 2 {
            assert_eq!(child.try_wait().unwrap(), None, "the child still writes");
            std::thread::sleep(Duration::from_millis(1));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let last: u64 = fs::read_to_string(&acknowledged).unwrap().parse().unwrap_or(0);
        let engine = open(directory.path(), &options).unwrap();
        let (items, replayed) = items_and_replayed(&engine).await;
        assert_eq!(items, replayed);
        let newest = items.iter().map(|item| item["n"].as_n().unwrap().parse::<u64>().unwrap()).max();
        assert!(newest >= Some(last), "{newest:?} of {last}");
        fs::remove_file(&acknowledged).unwrap();
    }
}
