//! Fan-out: brings what was written to timelines and feeds.
//!
//! It is invoked with batches of the table's stream, one shard's records in order, and answers which of them must
//! come again: the first that failed, and with it all behind it. What follows from a record, and why it may come twice,
//! late, or between others in any order, is said in the store (`fan_out/`).

use std::time::Duration;

use lately_store::{FanOutOutcome, NoBatch, Record, Store};
use serde::Serialize;

/// The answer: a partial batch response.
#[derive(Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Answer {
    batch_item_failures: Vec<Failure>,
}

#[derive(Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
struct Failure {
    item_identifier: String,
}

impl Answer {
    /// Whether all was done.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.batch_item_failures.is_empty()
    }
}

/// Handles a batch within a time.
///
/// # Errors
/// If the event is no batch of a stream.
pub async fn handle(store: &Store, event: &[u8], time: Duration) -> Result<Answer, NoBatch> {
    let records = Record::batch(event)?;
    let FanOutOutcome { failed, failures, deliveries, write_calls, written_items, cost } =
        store.fan_out(&records, time).await;
    tracing::info!(
        records = records.len(),
        failures,
        deliveries,
        write_calls,
        written_items,
        cost = cost.of_write(),
        read_units = %cost.read_units,
        "fan-out"
    );
    let batch_item_failures = failed.map(|item_identifier| Failure { item_identifier }).into_iter().collect();
    Ok(Answer { batch_item_failures })
}
