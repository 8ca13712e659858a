//! One lane of a shard. It reads the records of its items, batches them, and delivers each batch until it is
//! settled.
//!
//! A lane reads the whole shard and skips the records of other lanes. So lanes share nothing but the stream, none waits
//! for another, and a lane can be resumed from its position alone. It has one batch at a time, and at most one
//! invocation under way.

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
    /// The number of the lane's invocations of the function.
    invocations: u64,
    draws: Draws,
}

/// The result of a read of the shard.
#[derive(PartialEq, Eq)]
enum Read {
    /// The batch has no room for another record.
    Full,
    /// The shard may have further records.
    More,
    /// The shard has no further record now.
    End,
}

impl Lane {
    /// A lane that is settled up to `read_to`.
    pub(crate) fn new(shared: Arc<PumpState>, shard: u16, lane: u16, read_to: SequenceNumber) -> Self {
        let draws = Draws::new(shared.seed, shard, lane);
        Self { shared, shard, lane, read_to, invocations: 0, draws }
    }

    /// Works until the pump is stopped.
    pub(crate) async fn run(mut self) {
        while self.work().await.is_ok() {}
    }

    /// Gathers one batch and delivers it until it is settled.
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
    /// Gathers a batch until it is full or its window has passed.
    async fn gather(&mut self) -> Result<Batch, Stopped> {
        let shared = Arc::clone(&self.shared);
        let mut batch = Batch::default();
        let mut closes = None;
        loop {
            shared.until_resumed().await?;
            // The lane listens from before the read, so it misses no record that is captured after the read.
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
                    // Either a record came or the window passed. The next round finds out which.
                    drop(shared.unless_stopped(timeout_at(closes, rung)).await?);
                }
            }
        }
    }

    /// Reads further records, and adds those of this lane to the batch.
    fn read(&mut self, batch: &mut Batch) -> Read {
        let (stream, shard) = (&self.shared.stream, self.shard);
        let read = stream.read(shard, self.read_to, GET_RECORDS, GET_RECORDS_BYTES);
        if read.trimmed {
            self.shared.progress.count(shard, |counts| counts.trimmed += 1);
            tracing::warn!(shard, lane = self.lane, after = %self.read_to, "retention trimmed records before they were read");
        }
        for record in &read.records {
            if self.is_mine(record) && !self.add_to(batch, record) {
                return Read::Full;
            }
            self.read_to = record.sequence;
            if batch.len() >= self.shared.mapping.batch_size {
                return Read::Full;
            }
        }
        // A deleted stream has no next position.
        self.read_to = read.next.max(self.read_to);
        if self.read_to < stream.latest(shard) { Read::More } else { Read::End }
    }

    /// True if the record's item belongs to this lane. The hash of its partition has chosen the shard, so the hash of the
    /// item is mixed to make the lane independent of the shard.
    fn is_mine(&self, record: &Record) -> bool {
        let lanes = self.shared.mapping.lanes;
        let lane = |hash| seed::up_to(u64::from(lanes - 1), 0, hash, 0);
        lanes == 1 || lane(self.shared.stream.item_hash(record)) == u64::from(self.lane)
    }

    /// Adds a record to the batch if it passes the filter. Returns false if the batch had no room for it.
    fn add_to(&self, batch: &mut Batch, record: &Arc<Record>) -> bool {
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
            self.shared.progress.at_hand(self.shard, self.lane, Some(record.at_micros));
        }
        batch.push(Delivery { record: Arc::clone(record), json })
    }
}

/// Delivering a batch until it is settled.
impl Lane {
    /// Delivers a batch, and the parts it is split into, until every record is settled. The mapping's retries and
    /// maximum age bound the number of deliveries. Without them retention does.
    async fn settle_batch(&mut self, batch: Batch) -> Result<(), Stopped> {
        let mut waiting = vec![batch];
        while let Some(mut batch) = waiting.pop() {
            self.shared.hold_back().await?;
            self.give_up_expired(&mut batch).await?;
            let Some((first, _)) = batch.ends() else {
                continue;
            };
            self.shared.progress.at_hand(self.shard, self.lane, Some(first.at_micros));
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
                    self.back_off(batch.retries).await?;
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

    /// Gives up the records that are too old, and settles those that retention has trimmed.
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
            self.settle(last.sequence);
        }
        let Some(age) = self.shared.mapping.maximum_age else { return Ok(()) };
        let expired = batch.split_off_older(stream.micros_ago(age));
        self.give_up(&expired, Condition::RecordAgeExceeded).await
    }

    /// Puts a batch into the destination, and retries until that succeeds or the pump is stopped. So a checkpoint never
    /// passes records that are stored nowhere.
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
                    "records were given up and dropped, because there is no destination"
                );
                progress.count(self.shard, |counts| counts.dropped += records);
            }
            Some(destination) => {
                let bytes = failure.to_bytes();
                let mut failures = 0u32;
                while let Err(error) = destination.put(&name, &bytes) {
                    tracing::warn!(name, %error, "the destination cannot store the records that were given up");
                    self.shared.note(|troubles| troubles.destination = Some(error.to_string()));
                    failures = failures.saturating_add(1);
                    self.back_off(failures).await?;
                }
                self.shared.note(|troubles| troubles.destination = None);
                tracing::warn!(self.shard, records, ?condition, name, "records were given up");
                progress.count(self.shard, |counts| counts.in_destination += records);
            }
        }
        self.settle(last.sequence);
        Ok(())
    }
}

/// Invoking the function.
impl Lane {
    /// Invokes the function with a batch, unless a fault prevents it, and returns the verdict of its response.
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
            // The first response is ignored, whatever it is.
            drop(self.shared.handler.invoke(event.clone()).await);
            invoked();
        }
        let answer = self.shared.handler.invoke(event).await;
        if fate.crash_after {
            return Err(HandlerError::new("the function died before it responded"));
        }
        answer
    }
}
