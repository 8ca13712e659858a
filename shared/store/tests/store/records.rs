//! Documents: their prices, and their consistency. No update is lost, and each record behaves like a single register
//! with compare-and-swap, whatever goes wrong (`history.rs`).

mod history;

use lately_items::ProfileKey;
use lately_model::{Document, Precondition};

use crate::support::start;

pub(crate) fn profile() -> ProfileKey {
    ProfileKey { user: "ada".parse().unwrap() }
}

pub(crate) fn document(text: &str) -> Document {
    Document::parse(text.as_bytes()).unwrap()
}

/// A document of `bytes` bytes.
fn of_bytes(bytes: usize) -> Document {
    document(&format!("{{\"a\":\"{}\"}}", "x".repeat(bytes - 8)))
}

#[tokio::test(start_paused = true)]
async fn a_record_costs_one_call_and_the_units_of_its_bytes() {
    let (_, _, store) = start(1);
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
        let (revision, created) = op.record(&profile()).put(&of_bytes(bytes), precondition).await.unwrap();
        assert_eq!(created, bytes == 8);
        assert_eq!(op.cost().of_write(), format!("write_units={written}, calls=1"), "{bytes}");
        let op = store.op();
        op.record(&profile()).get(false).await.unwrap();
        let expected = format!("read_units={read}, calls=1, items=1, rounds=0");
        assert_eq!(op.cost().of_read(), expected, "{bytes}");
        precondition = Precondition::Is(revision);
    }
    let op = store.op();
    op.record(&profile()).get(true).await.unwrap();
    assert_eq!(op.cost().of_read(), "read_units=17.0, calls=1, items=1, rounds=0");
    let op = store.op();
    op.record(&profile()).delete(precondition).await.unwrap();
    assert_eq!(op.cost().calls, 1);
}
