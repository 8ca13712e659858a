//! Documents: their prices, and their consistency. No update is lost, and each record behaves like a single register
//! with compare-and-swap, whatever goes wrong (`history.rs`).

mod history;

use futures_util::future::join_all;
use lately_engine::fault::{Fault, Faults, Moment, Target, Throttle};
use lately_items::{ProfileKey, SettingsKey};
use lately_model::{Document, Precondition};
use lately_store::{ChangeIssueError, DocumentKey, GetDocumentError, Store, WriteDocumentError};

use crate::issues::support::{ada, changing, number, open};
use crate::support::{seeds, start, store};

pub(crate) fn profile() -> ProfileKey {
    ProfileKey { user: "ada".parse().unwrap() }
}

pub(crate) fn settings() -> SettingsKey {
    SettingsKey { app: "web".parse().unwrap() }
}

pub(crate) fn document(text: &str) -> Document {
    Document::parse(text.as_bytes()).unwrap()
}

/// A document of `bytes` bytes.
fn of_bytes(bytes: usize) -> Document {
    document(&format!("{{\"a\":\"{}\"}}", "x".repeat(bytes - 8)))
}

fn counter(count: u64) -> Document {
    document(&format!("{{\"count\":{count}}}"))
}

fn count(document: &Document) -> u64 {
    let digits = document.as_str().strip_prefix("{\"count\":").unwrap();
    digits.strip_suffix('}').unwrap().parse().unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_record_costs_one_call_and_the_units_of_its_bytes() {
    let (_, _, store) = start(1);
    async fn prices(store: &Store, key: &impl DocumentKey) {
        let mut precondition = Precondition::Absent;
        // The item is about fifty bytes larger than its document.
        for (bytes, written, read) in [
            (8, "1.0", "0.5"),
            (900, "1.0", "0.5"),
            (4_000, "4.0", "0.5"),
            (4_096, "5.0", "1.0"),
            (65_536, "65.0", "8.5"),
        ] {
            let op = store.op();
            let (revision, created) = op.record(key).put(&of_bytes(bytes), precondition).await.unwrap();
            let cost = op.cost();
            assert_eq!(created, bytes == 8);
            assert_eq!(cost.of_write(), format!("write_units={written}, calls=1"), "{bytes}");
            let op = store.op();
            op.record(key).get(false).await.unwrap();
            assert_eq!(
                op.cost().of_read(),
                format!("read_units={read}, calls=1, items=1, rounds=0"),
                "{bytes}"
            );
            precondition = Precondition::Is(revision);
        }
        let op = store.op();
        op.record(key).get(true).await.unwrap();
        let cost = op.cost();
        assert_eq!(cost.of_read(), "read_units=17.0, calls=1, items=1, rounds=0");
        let op = store.op();
        op.record(key).delete(precondition).await.unwrap();
        assert_eq!(op.cost().calls, 1);
    }
    prices(&store, &profile()).await;
    prices(&store, &settings()).await;
}

/// Makes the number in a document one higher. Returns the number.
async fn increment_document(store: &Store) -> u64 {
    let (op, key) = (store.op(), profile());
    loop {
        let (next, precondition) = match op.record(&key).get(true).await {
            Ok(known) => (count(&known.document) + 1, Precondition::Is(known.revision)),
            Err(GetDocumentError::NotFound(_)) => (1, Precondition::Absent),
            Err(GetDocumentError::Table(error)) => panic!("{error}"),
        };
        match op.record(&key).put(&counter(next), precondition).await {
            Ok(_) => return next,
            Err(WriteDocumentError::Mismatch(_)) => {}
            Err(error) => panic!("{error}"),
        }
    }
}

/// Makes the number in an issue's title one higher. Returns the number.
async fn increment_issue(store: &Store) -> u64 {
    let op = store.op();
    loop {
        let known = op.issue(&number(1)).get(true).await.unwrap();
        let next = known.title.as_str().parse::<u64>().unwrap() + 1;
        let change = changing(&format!(r#"{{"title":"{next}"}}"#));
        match op.issue(&number(1)).change(&change, Precondition::Is(known.revision), &ada()).await {
            Ok(_) => return next,
            Err(ChangeIssueError::Mismatch(_)) => {}
            Err(error) => panic!("{error}"),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn no_update_of_sixteen_writers_is_lost() {
    for seed in seeds(2) {
        let (world, engine, plain) = start(seed.0);
        open(&plain, r#"{"title":"0"}"#).await;
        let clients: Vec<_> = (0..16)
            .map(|writer| engine.client_with(Faults::seeded(seed.0 ^ writer << 32).interleaved(4)))
            .collect();
        let stores: Vec<_> = clients.iter().map(|client| store(client.client(), &world)).collect();
        for (round, is_issue) in [(0, false), (0, true), (1, false), (1, true)] {
            let mut counts = match is_issue {
                false => join_all(stores.iter().map(increment_document)).await,
                true => join_all(stores.iter().map(increment_issue)).await,
            };
            counts.sort_unstable();
            let expected: Vec<_> = (round * 16 + 1..=round * 16 + 16).collect();
            assert_eq!(counts, expected, "each writer has its own count");
        }
    }
}

/// Faults of every kind, each with this chance in every call.
pub(crate) fn storm(seed: u64, chance: f64) -> Faults {
    let any = [
        Fault::Timeout(Moment::Before),
        Fault::Timeout(Moment::After),
        Fault::InternalServerError,
        Fault::Throttle(Throttle::TableKeyRange),
        Fault::TransactionConflict,
    ];
    any.into_iter()
        .fold(Faults::seeded(seed), |faults, fault| faults.sometimes(chance, Target::any(), fault))
        .interleaved(4)
}
