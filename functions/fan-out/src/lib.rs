//! Fan-out: delivers written events to timelines and feeds.
//!
//! Lambda invokes it with batches of the table's stream, each with one shard's records in order. The response names the
//! first failed record: that record and all records behind it come again. The store (`fan_out/`) describes the work for
//! each record, and why a record may come twice, late, or in any order with others.

use std::time::Duration;

use aws_lambda_events::streams::{DynamoDbBatchItemFailure, DynamoDbEventResponse};
use lately_keys::UnixMillis;
use lately_kit::metrics::{Measured, Measures, Metric};
use lately_store::{FanOutOutcome, NoBatch, Record, Store};
use serde::Serialize;

/// The response: a partial batch response.
#[derive(Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Answer {
    response: DynamoDbEventResponse,
    #[serde(skip)]
    records: usize,
    #[serde(skip)]
    outcome: FanOutOutcome,
}

impl Answer {
    /// True if all records were handled.
    pub fn is_done(&self) -> bool {
        self.response.batch_item_failures.is_empty()
    }

    /// The outcome of the batch.
    pub const fn handled(&self) -> &FanOutOutcome {
        &self.outcome
    }
}

impl Measured for Answer {
    fn outcome(&self) -> &'static str {
        if self.is_done() { "ok" } else { "partly" }
    }

    fn measures(&self, now: UnixMillis) -> Measures {
        let FanOutOutcome {
            failures, oldest, deliveries, late, jobs, promotions, deferred, put_away, ..
        } = self.outcome;
        let measures = Measures::default()
            .count(Metric::Records, self.records as u64)
            .count(Metric::RecordsFailed, failures as u64)
            .count(Metric::Deliveries, deliveries)
            .count(Metric::LateEvents, late)
            .count(Metric::Jobs, jobs)
            .count(Metric::Promotions, promotions)
            .count(Metric::DeferredToBacklog, deferred + put_away);
        let Some(oldest) = oldest else { return measures };
        measures.time(Metric::FanOutLag, Duration::from_millis(now.get().saturating_sub(oldest.get())))
    }
}

/// Handles a batch within the given time.
///
/// # Errors
/// If the event is not a batch of a stream.
pub async fn handle(store: &Store, event: &[u8], time: Duration) -> Result<Answer, NoBatch> {
    let records = Record::batch(event)?;
    let op = store.op_within(time);
    let outcome = op.fan_out(&records).await;
    let FanOutOutcome { failed, failures, deliveries, write_calls, written_items, cost, .. } = &outcome;
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
    let mut response = DynamoDbEventResponse::default();
    if failed.is_some() {
        let mut failure = DynamoDbBatchItemFailure::default();
        failure.item_identifier.clone_from(failed);
        response.batch_item_failures.push(failure);
    }
    Ok(Answer { response, records: records.len(), outcome })
}
