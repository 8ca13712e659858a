//! A batch: the records in it, and the step that follows an invocation. The functions are pure.
//!
//! These rules are Lambda's, and where Lambda's documentation leaves a case open, this module's choice:
//!
//! - A batch that fails is retried up to `MaximumRetryAttempts` times. After a partial success only the records that
//!   remain are retried, and that counts as a retry too. Records that remain after the last retry are given up
//!   together, good ones included.
//! - With `BisectBatchOnFunctionError`, a failed batch of more than one record is split instead. A split uses up no
//!   retries: its parts have the count of the batch. After a partial success the batch is split at the returned
//!   sequence number, and only the records from there on are retried. After any other failure the batch is halved, also
//!   after a failure of the first record, where a split at its number would leave the batch as it is. Each split makes
//!   batches smaller, so a lasting failure ends with a batch of one record, which then uses the retries.
//! - The parts are delivered in order, each until it is settled. Later records of the lane wait.

use std::sync::Arc;

use crate::limits;
use crate::mapping::Mapping;
use crate::response::{Cause, Verdict};
use lately_engine::stream::{EVENT_BYTES, Record, SequenceNumber, event};

/// A record with its JSON in the event.
#[derive(Debug)]
pub(crate) struct Delivery {
    pub(crate) record: Arc<Record>,
    pub(crate) json: String,
}

/// Records that are delivered together, with the history of their delivery.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    /// The records in order. A batch that is delivered has at least one.
    deliveries: Vec<Delivery>,
    /// The bytes of the event's JSON so far.
    bytes: usize,
    /// The number of invocations with these records, alone or with others.
    pub(crate) invocations: u32,
    /// The retries used so far, of `MaximumRetryAttempts`. The remaining part of a batch has the batch's count.
    pub(crate) retries: u32,
    /// The failure of the last invocation.
    pub(crate) cause: Option<Cause>,
}

/// The next step after an invocation.
#[derive(Debug)]
pub(crate) enum Next {
    /// All records are done.
    Done,
    /// The records that remain are retried.
    Retry(Batch),
    /// The remaining records were split into these batches, which are delivered in order.
    Bisect(Vec<Batch>),
    /// The remaining records are given up, because no retries remain.
    GiveUp(Batch),
}

impl Batch {
    pub(crate) fn len(&self) -> usize {
        self.deliveries.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.deliveries.is_empty()
    }

    /// Adds a record, and returns whether it was added: not if the event would become too large. A single record always
    /// fits.
    pub(crate) fn push(&mut self, delivery: Delivery) -> bool {
        let bytes = self.bytes.max(EVENT_BYTES) + delivery.json.len() + 1;
        if bytes > limits::BATCH_BYTES && !self.is_empty() {
            return false;
        }
        self.bytes = bytes;
        self.deliveries.push(delivery);
        true
    }

    /// The JSON of the event with which the function is invoked.
    pub(crate) fn event(&self) -> String {
        event(self.deliveries.iter().map(|delivery| delivery.json.as_str()))
    }

    pub(crate) fn sequences(&self) -> Vec<SequenceNumber> {
        self.records().map(|record| record.sequence).collect()
    }

    /// The first and the last record, if there is any.
    pub(crate) fn ends(&self) -> Option<(&Record, &Record)> {
        Some((&self.deliveries.first()?.record, &self.deliveries.last()?.record))
    }

    fn records(&self) -> impl Iterator<Item = &Record> {
        self.deliveries.iter().map(|delivery| &*delivery.record)
    }

    /// Splits off the records before the first one that was made at `micros` or later.
    pub(crate) fn split_off_older(&mut self, micros: u64) -> Self {
        let older = self.records().take_while(|record| record.at_micros < micros).count();
        let rest = self.split_off(older);
        std::mem::replace(self, rest)
    }

    /// Splits off the records from `at` on. Both parts have the history of the whole batch.
    fn split_off(&mut self, at: usize) -> Self {
        let deliveries = self.deliveries.split_off(at);
        Self { deliveries, ..*self }
    }

    /// Applies the verdict of an invocation. Returns the number of records that are done, and the next step for the
    /// others.
    pub(crate) fn after(mut self, verdict: Verdict, mapping: &Mapping) -> (usize, Next) {
        self.invocations = self.invocations.saturating_add(1);
        let Verdict::Failure { from, cause } = verdict else { return (self.len(), Next::Done) };
        self.cause = Some(cause);
        let several = self.len() > 1;
        let mut remaining = self.split_off(from);
        let next = if mapping.bisect && several {
            if from > 0 {
                Next::Bisect(vec![remaining])
            } else {
                let half = remaining.split_off(remaining.len() / 2);
                Next::Bisect(vec![remaining, half])
            }
        } else if mapping.maximum_retries.is_some_and(|most| remaining.retries >= most) {
            Next::GiveUp(remaining)
        } else {
            remaining.retries = remaining.retries.saturating_add(1);
            Next::Retry(remaining)
        };
        (from, next)
    }
}

#[cfg(test)]
mod tests;
