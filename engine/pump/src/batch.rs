//! A batch: how far it fills, and what follows when it fails. Pure.
//!
//! What Lambda documents, and what it leaves open:
//!
//! - A batch that fails is tried again, `MaximumRetryAttempts` times after the first. A retry of what is left
//!   after a partial success is one of them. What is then left, good records too, is given up together.
//! - With `BisectBatchOnFunctionError`, a batch of more than one record is split instead, and splitting does
//!   not use up the retries: the parts keep the count of the batch that they were. A partial success splits at
//!   the sequence number returned, and only what follows is tried again. Any other failure (one of the first
//!   record too, where splitting at its number would split nothing off) halves. Since every split makes
//!   batches smaller, a failure that stays comes down to one record, and that one uses the retries.
//! - Parts are tried in order, each until it is settled: what is later in the lane waits.

use std::sync::Arc;

use crate::limits;
use crate::mapping::Mapping;
use crate::response::{Cause, Verdict};
use lately_engine::stream::{EVENT_BYTES, Record, SequenceNumber, event};

/// A record with the JSON that it is delivered as.
#[derive(Debug)]
pub(crate) struct Delivery {
    pub(crate) record: Arc<Record>,
    pub(crate) json: String,
}

/// Records that are delivered together, and what has become of them so far.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    /// In order; never empty once it is delivered.
    deliveries: Vec<Delivery>,
    /// The bytes of the event's JSON so far.
    bytes: usize,
    /// The invocations with these records, alone or with others.
    pub(crate) invocations: u32,
    /// The used part of `MaximumRetryAttempts`.
    retries: u32,
    /// The failure of the last invocation.
    pub(crate) cause: Option<Cause>,
}

/// The next step after an invocation.
#[derive(Debug)]
pub(crate) enum Next {
    /// Nothing is left of the batch.
    Done,
    /// The records that are left are tried again.
    Retry(Batch),
    /// The records that are left were split into these batches, which are tried in order.
    Bisect(Vec<Batch>),
    /// The records that are left have no retries left.
    GiveUp(Batch),
}

impl Batch {
    pub(crate) fn len(&self) -> usize {
        self.deliveries.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.deliveries.is_empty()
    }

    pub(crate) fn is_full(&self, mapping: &Mapping) -> bool {
        self.len() >= mapping.batch_size
    }

    /// Takes a record in, unless the event would become too large. A single record never is.
    pub(crate) fn push(&mut self, delivery: Delivery) -> bool {
        let bytes = self.bytes.max(EVENT_BYTES) + delivery.json.len() + 1;
        if bytes > limits::BATCH_BYTES && !self.is_empty() {
            return false;
        }
        self.bytes = bytes;
        self.deliveries.push(delivery);
        true
    }

    /// How often it, or what it is left of, was tried again for a failure that is still there.
    pub(crate) fn retries(&self) -> u32 {
        self.retries
    }

    /// The event that the function is invoked with.
    pub(crate) fn event(&self) -> String {
        event(self.deliveries.iter().map(|delivery| delivery.json.as_str()))
    }

    pub(crate) fn sequences(&self) -> Vec<SequenceNumber> {
        self.records().map(Record::sequence).collect()
    }

    /// Its records' first and last, if it has any.
    pub(crate) fn ends(&self) -> Option<(&Record, &Record)> {
        Some((&self.deliveries.first()?.record, &self.deliveries.last()?.record))
    }

    fn records(&self) -> impl Iterator<Item = &Record> {
        self.deliveries.iter().map(|delivery| &*delivery.record)
    }

    /// Splits off what it begins with, up to the first record that was made at `micros` or later.
    pub(crate) fn split_off_older(&mut self, micros: u64) -> Self {
        let older = self.records().take_while(|record| record.at_micros() < micros).count();
        let rest = self.split_off(older);
        std::mem::replace(self, rest)
    }

    /// Splits off what is from a place on. Both parts keep what has become of the whole.
    fn split_off(&mut self, at: usize) -> Self {
        let deliveries = self.deliveries.split_off(at);
        Self { deliveries, ..*self }
    }

    /// The step after an invocation: the number of records that are done, and the next step for the others.
    pub(crate) fn after(mut self, verdict: Verdict, mapping: &Mapping) -> (usize, Next) {
        self.invocations = self.invocations.saturating_add(1);
        let Verdict::Failure { from, cause } = verdict else {
            return (self.len(), Next::Done);
        };
        self.cause = Some(cause);
        let several = self.len() > 1;
        let mut left = self.split_off(from);
        let next = if mapping.bisect && several {
            if from > 0 {
                Next::Bisect(vec![left])
            } else {
                let half = left.split_off(left.len() / 2);
                Next::Bisect(vec![left, half])
            }
        } else if mapping.maximum_retries.is_some_and(|most| left.retries >= most) {
            Next::GiveUp(left)
        } else {
            left.retries = left.retries.saturating_add(1);
            Next::Retry(left)
        };
        (from, next)
    }
}

#[cfg(test)]
mod tests;
