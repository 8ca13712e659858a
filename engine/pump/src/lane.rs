//! One lane of a shard: reads its partitions' records, batches them, and sees each batch through.
//!
//! A lane reads the shard for itself and passes over what other lanes have, so that lanes share nothing
//! but the stream: none waits for another, and a position is all there is to resume one. It has one batch
//! at hand, and at most one invocation at work.

use std::sync::Arc;

use lately_engine::limits::{GET_RECORDS, GET_RECORDS_BYTES};
use lately_engine::stream::{Record, SequenceNumber};
use lately_engine::{give_way, seed};
use tokio::time::{Instant, sleep, timeout_at};

use crate::backoff;
use crate::batch::{Batch, Delivery, Next};
use crate::failure::{Condition, Failure};
use crate::fault::{Draws, Fate};
use crate::handler::HandlerError;
use crate::response::{self, Cause, Verdict};
use crate::state::{PumpState, Stopped};

pub(crate) struct Lane {
    shared: Arc<PumpState>,
    shard: u16,
    lane: u16,
    /// The position up to which the lane has read the shard.
    read_to: SequenceNumber,
    /// The lane's invocations of the function.
    invocations: u64,
    draws: Draws,
}

/// The end of a read of the shard.
#[derive(PartialEq, Eq)]
enum Read {
    /// The batch takes no more.
    Full,
    /// There may be more to read.
    More,
    /// There is nothing more now.
    End,
}

impl Lane {
    /// The lane, settled up to `read_to`.
    pub(crate) fn new(shared: Arc<PumpState>, shard: u16, lane: u16, read_to: SequenceNumber) -> Self {
        let draws = Draws::new(shared.seed, shard, lane);
        Self { shared, shard, lane, read_to, invocations: 0, draws }
    }

    /// Works until the pump is stopped.
    pub(crate) async fn run(mut self) {
        while self.work().await.is_ok() {}
    }

    /// Sees one batch through.
    async fn work(&mut self) -> Result<(), Stopped> {
        let batch = self.gather().await?;
        self.settle_batch(batch).await?;
        self.settle(self.read_to);
        Ok(())
    }

    fn settle(&self, up_to: SequenceNumber) {
        self.shared.progress.settle(self.shard, self.lane, up_to);
    }
}

/// Gathering a batch.
impl Lane {
    /// A batch that is full, or whose window has passed.
    async fn gather(&mut self) -> Result<Batch, Stopped> {
        let shared = Arc::clone(&self.shared);
        let mut batch = Batch::default();
        let mut closes = None;
        loop {
            shared.until_resumed().await?;
            // Rung from here on: what is captured after the read is not missed.
            let rung = shared.bell.notified();
            let read = self.read(&mut batch);
            if batch.is_empty() {
                self.settle(self.read_to);
            }
            match read {
                Read::Full => return Ok(batch),
                Read::More => give_way(1).await,
                Read::End if batch.is_empty() => shared.unless_stopped(rung).await?,
                Read::End => {
                    let closes = *closes.get_or_insert_with(|| Instant::now() + shared.mapping.window);
                    if Instant::now() >= closes {
                        return Ok(batch);
                    }
                    // Whichever it was, a record or the time: the next round sees.
                    drop(shared.unless_stopped(timeout_at(closes, rung)).await?);
                }
            }
        }
    }

    /// Reads on, taking what is this lane's into the batch.
    fn read(&mut self, batch: &mut Batch) -> Read {
        let (stream, shard) = (&self.shared.stream, self.shard);
        let read = stream.read(shard, self.read_to, GET_RECORDS, GET_RECORDS_BYTES);
        if read.trimmed {
            self.shared.progress.count(shard, |counts| counts.trimmed += 1);
            tracing::warn!(shard, lane = self.lane, after = %self.read_to, "retention trimmed records before they were read");
        }
        for record in &read.records {
            if self.is_mine(record) && !self.take(batch, record) {
                return Read::Full;
            }
            self.read_to = record.sequence();
            if batch.is_full(&self.shared.mapping) {
                return Read::Full;
            }
        }
        // A stream that was deleted has no next position.
        self.read_to = read.next.max(self.read_to);
        if self.read_to < stream.latest(shard) { Read::More } else { Read::End }
    }

    /// Whether the record's partition is this lane's. The shard was chosen by the same hash: mixed again, it
    /// says nothing about the shard.
    fn is_mine(&self, record: &Record) -> bool {
        let lanes = self.shared.mapping.lanes;
        lanes == 1 || {
            let hash = self.shared.stream.partition_hash(record);
            seed::up_to(u64::from(lanes - 1), 0, hash, 0) == u64::from(self.lane)
        }
    }

    /// Takes a record into the batch, if it passes the filter; says whether there was room.
    fn take(&self, batch: &mut Batch, record: &Arc<Record>) -> bool {
        let json = self.shared.stream.lambda_record(record);
        let filter = &self.shared.mapping.filter;
        if !filter.is_open() {
            let value = serde_json::from_str(&json).expect("the record was just written as JSON");
            if !filter.matches(&value) {
                self.shared.progress.count(self.shard, |counts| counts.filtered += 1);
                return true;
            }
        }
        if batch.is_empty() {
            self.shared.progress.at_hand(self.shard, self.lane, Some(record.at_micros()));
        }
        batch.push(Delivery { record: Arc::clone(record), json })
    }
}

/// Seeing a batch through.
impl Lane {
    /// Delivers a batch, and the parts it comes to, until nothing is left of it. How often is bounded by the
    /// retries and the age that the mapping allows, at the latest by retention.
    async fn settle_batch(&mut self, batch: Batch) -> Result<(), Stopped> {
        let mut waiting = vec![batch];
        while let Some(mut batch) = waiting.pop() {
            self.shared.hold_back().await?;
            self.give_up_expired(&mut batch).await?;
            let Some((first, _)) = batch.ends() else {
                continue;
            };
            self.shared.progress.at_hand(self.shard, self.lane, Some(first.at_micros()));
            let verdict = self.invoke(&batch).await;
            let sequences = batch.sequences();
            let (done, next) = batch.after(verdict, &self.shared.mapping);
            if let Some(last) = done.checked_sub(1) {
                self.shared.progress.count(self.shard, |counts| counts.delivered += done as u64);
                self.settle(sequences[last]);
            }
            match next {
                Next::Done => {}
                Next::Retry(batch) => {
                    self.shared.progress.count(self.shard, |counts| counts.retries += 1);
                    self.back_off(batch.retries()).await?;
                    waiting.push(batch);
                }
                Next::Bisect(parts) => {
                    self.shared.progress.count(self.shard, |counts| counts.bisects += 1);
                    self.back_off(1).await?;
                    waiting.extend(parts.into_iter().rev());
                }
                Next::GiveUp(batch) => self.give_up(&batch, Condition::RetryAttemptsExhausted).await?,
            }
        }
        self.shared.progress.at_hand(self.shard, self.lane, None);
        Ok(())
    }

    async fn back_off(&self, failures: u32) -> Result<(), Stopped> {
        let wait = backoff::wait(failures, self.draws.jitter(self.invocations));
        self.shared.unless_stopped(sleep(wait)).await
    }

    /// Gives up the records that became too old, and those that the stream does not keep any more.
    async fn give_up_expired(&self, batch: &mut Batch) -> Result<(), Stopped> {
        let stream = &self.shared.stream;
        let trimmed = batch.split_off_older(stream.horizon_micros());
        if let Some((_, last)) = trimmed.ends() {
            self.shared.progress.count(self.shard, |counts| counts.trimmed += 1);
            tracing::warn!(
                self.shard,
                self.lane,
                records = trimmed.len(),
                "retention trimmed records before they were done"
            );
            self.settle(last.sequence());
        }
        let Some(age) = self.shared.mapping.maximum_age else {
            return Ok(());
        };
        let expired = batch.split_off_older(stream.micros_ago(age));
        self.give_up(&expired, Condition::RecordAgeExceeded).await
    }

    /// Puts a batch into the destination, again and again until it is there or the pump is stopped: a
    /// checkpoint never passes records that are nowhere.
    async fn give_up(&self, batch: &Batch, condition: Condition) -> Result<(), Stopped> {
        let PumpState { mapping, stream, progress, .. } = &*self.shared;
        let (Some((_, last)), Some((name, failure))) =
            (batch.ends(), Failure::of(batch, condition, mapping, stream, self.shard))
        else {
            return Ok(());
        };
        let records = batch.len() as u64;
        match &self.shared.destination {
            None => {
                tracing::warn!(
                    self.shard,
                    records,
                    ?condition,
                    "records were given up, and there is no destination"
                );
                progress.count(self.shard, |counts| counts.dropped += records);
            }
            Some(destination) => {
                let bytes = failure.to_bytes();
                let mut failures = 0u32;
                while let Err(error) = destination.put(&name, &bytes) {
                    tracing::warn!(name, %error, "the destination does not take what was given up");
                    failures = failures.saturating_add(1);
                    self.back_off(failures).await?;
                }
                tracing::warn!(self.shard, records, ?condition, name, "records were given up");
                progress.count(self.shard, |counts| counts.in_destination += records);
            }
        }
        self.settle(last.sequence());
        Ok(())
    }
}

/// Invoking the function.
impl Lane {
    /// Invokes the function with a batch, as far as faults let it, and hears what it says.
    async fn invoke(&mut self, batch: &Batch) -> Verdict {
        self.invocations += 1;
        let fate = self.draws.fate(&self.shared.faults(), self.invocations);
        give_way(fate.turns_before).await;
        self.shared.progress.count(self.shard, |counts| counts.in_flight += 1);
        let answer = self.call(batch.event(), fate).await;
        self.shared.progress.count(self.shard, |counts| counts.in_flight -= 1);
        give_way(fate.turns_after).await;
        let verdict = match answer {
            Ok(answer) if self.shared.mapping.report_failures => response::read(&answer, &batch.sequences()),
            Ok(_) => Verdict::Success,
            Err(error) => {
                tracing::debug!(self.shard, self.lane, %error, "the function failed");
                Verdict::Failure { from: 0, cause: Cause::Error }
            }
        };
        if verdict != Verdict::Success {
            self.shared.progress.count(self.shard, |counts| counts.failures += 1);
        }
        verdict
    }

    async fn call(&self, event: String, fate: Fate) -> Result<String, HandlerError> {
        let invoked = || self.shared.progress.count(self.shard, |counts| counts.invocations += 1);
        invoked();
        if fate.crash_before {
            return Err(HandlerError::new("the function died before it did anything"));
        }
        if fate.duplicate {
            // Nobody hears the first answer, whatever it is.
            drop(self.shared.handler.invoke(event.clone()).await);
            invoked();
        }
        let answer = self.shared.handler.invoke(event).await;
        if fate.crash_after {
            return Err(HandlerError::new("the function died before it answered"));
        }
        answer
    }
}
