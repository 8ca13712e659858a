//! A run is begun, or gone on with.

use std::time::Duration;

use aws_sdk_dynamodb::error::BuildError;
use aws_sdk_dynamodb::types::{Put, TransactWriteItem};
use lately_keys::UnixMillis;
use lately_keys::table::ConsumerKey;
use lately_model::{RunSpec, SettleSeconds};

use crate::ambient::entropy_u64;
use crate::call::Operation;
use crate::consumer::ConsumerNotFound;
use crate::consumer::checkpoint::{Checkpoint, Mode, beginning, too_busy};
use crate::cost::Cost;
use crate::error::TableError;
use crate::item::{Item, number, text};
use crate::limits::CONFLICTS;
use crate::revision::REVISION;
use crate::run::{Progress, Run, RunError};
use crate::store::Store;
use crate::transaction::{Transacted, Transaction};

/// What there is to do for a consumer that reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Begun {
    /// This run, which was begun now or before.
    Run(Box<Run>),
    /// Someone else is at work.
    Busy {
        /// Until then, unless they say that they are done.
        until: UnixMillis,
    },
    /// There is nothing that could be reported yet.
    Nothing,
}

/// Who asks, and until when they will be at work.
#[derive(Clone, Copy, Debug)]
struct Lease {
    until: UnixMillis,
    /// Random bits: by them the lease is known as one's own.
    holder: u64,
}

impl Store {
    /// Begins the next run of a consumer, or goes on with the one that was begun. A consumer that is not there is made, with
    /// all events there are before it.
    ///
    /// # Errors
    /// See [`RunError`].
    pub async fn begin_run(
        &self,
        consumer: &ConsumerKey,
        spec: &RunSpec,
        lease: Duration,
    ) -> Result<(Begun, Cost), RunError> {
        let operation = self.operation();
        self.settings(&consumer.topic, &operation).await?;
        let lease = self.lease(lease);
        for _ in 0..CONFLICTS {
            let Some(checkpoint) = self.checkpoint(consumer, &operation).await? else {
                let settle = SettleSeconds::default();
                let first = Checkpoint::new(consumer, beginning(), settle, self.first_revision());
                self.create_consumer(&first, &operation).await?;
                continue;
            };
            if checkpoint.deleting {
                return Err(ConsumerNotFound { consumer: consumer.clone() }.into());
            }
            let begun = match (checkpoint.mode, checkpoint.running) {
                (Some(Mode::Polls), _) => return Err(RunError::HasPolls),
                (_, Some(_)) => self.take_over(&checkpoint, lease, &operation).await?,
                (_, None) => self.announce_run(&checkpoint, spec, lease, &operation).await?,
            };
            if let Some(begun) = begun {
                return Ok((begun, operation.meter.total()));
            }
            // Another was first, or fan-out is counting: a random pause, so that they do not meet again.
            let Some(pause) = operation.wait_after(1) else { break };
            tokio::time::sleep(pause).await;
        }
        Err(too_busy().into())
    }

    /// Goes on with the run of a consumer that was begun, if there is one.
    ///
    /// # Errors
    /// If the table could not be read or written.
    pub async fn continue_run(
        &self,
        consumer: &ConsumerKey,
        lease: Duration,
    ) -> Result<(Begun, Cost), TableError> {
        let operation = self.operation();
        let lease = self.lease(lease);
        for _ in 0..CONFLICTS {
            let checkpoint = self.checkpoint(consumer, &operation).await?;
            let running = checkpoint.filter(|found| found.running.is_some() && !found.deleting);
            let begun = match running {
                None => Some(Begun::Nothing),
                Some(running) => self.take_over(&running, lease, &operation).await?,
            };
            if let Some(begun) = begun {
                return Ok((begun, operation.meter.total()));
            }
        }
        Err(too_busy())
    }

    /// Notes how far a run came, and gives it back, to be continued at once. Not if it was committed, or its lease is
    /// another's by now: so nobody's progress is ever undone.
    ///
    /// # Errors
    /// If the table could not be written.
    pub async fn save_progress(&self, run: &Run, progress: &Progress) -> Result<(bool, Cost), TableError> {
        let operation = self.operation();
        let Progress { object, position, events } = progress;
        let saved = self
            .update_if(&operation, |update| {
                update
                    .set_key(Some(run.key()))
                    .update_expression(
                        "SET progress = :object, progress_at = :position, progress_events = :events, lease = :now",
                    )
                    .condition_expression("holder = :ours AND attribute_not_exists(attempt)")
                    .expression_attribute_values(":object", text(object.as_str()))
                    .expression_attribute_values(":position", text(position.to_string()))
                    .expression_attribute_values(":events", number(*events))
                    .expression_attribute_values(":now", number(0_u64))
                    .expression_attribute_values(":ours", number(run.holder))
            })
            .await?;
        Ok((saved.is_some(), operation.meter.total()))
    }

    /// Gives a run back, if the lease is still the one that it was taken with.
    ///
    /// # Errors
    /// If the table could not be written.
    pub async fn release_run(&self, run: &Run) -> Result<Cost, TableError> {
        let operation = self.operation();
        self.update_if(&operation, |update| {
            update
                .set_key(Some(run.key()))
                .update_expression("SET lease = :now")
                .condition_expression("holder = :ours")
                .expression_attribute_values(":now", number(self.now().get()))
                .expression_attribute_values(":ours", number(run.holder))
        })
        .await?;
        Ok(operation.meter.total())
    }

    fn lease(&self, time: Duration) -> Lease {
        let millis = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        Lease { until: self.now().saturating_add(millis), holder: entropy_u64(self.ambient()) }
    }

    /// The run under way, if nobody has it. `None` if another was first.
    async fn take_over(
        &self,
        checkpoint: &Checkpoint,
        lease: Lease,
        operation: &Operation<'_>,
    ) -> Result<Option<Begun>, TableError> {
        let Some(to) = checkpoint.running else { return Ok(None) };
        let item = self.get_item(Run::key_of(&checkpoint.consumer, to), operation).await?;
        // Deleted, and made again, since the checkpoint was read.
        let run = item.as_ref().map(Run::decode).transpose()?;
        let Some(run) = run.filter(|run| run.incarnation == checkpoint.incarnation) else { return Ok(None) };
        // An attempt of which nobody knew whether it was done.
        if run.holder == lease.holder {
            return Ok(Some(Begun::Run(Box::new(run))));
        }
        if run.lease > self.now() {
            return Ok(Some(Begun::Busy { until: run.lease }));
        }
        let taken = self
            .update_if(operation, |update| {
                update
                    .set_key(Some(run.key()))
                    .update_expression("SET lease = :until, holder = :ours")
                    .condition_expression("lease = :before AND holder = :theirs")
                    .expression_attribute_values(":until", number(lease.until.get()))
                    .expression_attribute_values(":ours", number(lease.holder))
                    .expression_attribute_values(":before", number(run.lease.get()))
                    .expression_attribute_values(":theirs", number(run.holder))
            })
            .await?;
        let Lease { until, holder } = lease;
        Ok(taken.map(|_| Begun::Run(Box::new(Run { lease: until, holder, ..run }))))
    }

    /// The next run, if there is anything to report. `None` if another was first.
    async fn announce_run(
        &self,
        checkpoint: &Checkpoint,
        spec: &RunSpec,
        lease: Lease,
        operation: &Operation<'_>,
    ) -> Result<Option<Begun>, TableError> {
        let at = self.now();
        let to = checkpoint.watermark(at);
        if to <= checkpoint.position {
            return Ok(Some(Begun::Nothing));
        }
        // Before the range is announced: what is noted for an earlier one is counted here, or later.
        let Some(announcement) = self.announcement(checkpoint, operation).await? else { return Ok(None) };
        let run = Run {
            consumer: checkpoint.consumer.clone(),
            incarnation: checkpoint.incarnation,
            from: checkpoint.position,
            to,
            announced_at: at,
            spec: spec.clone(),
            progress: None,
            committed: None,
            lease: lease.until,
            holder: lease.holder,
            seen: announcement.counters,
            known: checkpoint.known,
        };
        let writes = self.beginning(checkpoint, &run).map_err(TableError::unavailable)?;
        let transaction = Transaction::new(writes, self.ambient());
        let done = self.transact(&transaction, operation).await? == Transacted::Done;
        Ok(done.then(|| Begun::Run(Box::new(run))))
    }

    fn beginning(&self, checkpoint: &Checkpoint, run: &Run) -> Result<Vec<TransactWriteItem>, BuildError> {
        let put = |item: Item| Put::builder().table_name(self.table()).set_item(Some(item));
        let new = put(run.encode()).condition_expression("attribute_not_exists(pk)").build()?;
        let running = Checkpoint {
            revision: checkpoint.revision.next(),
            mode: Some(Mode::Runs),
            running: Some(run.to),
            ..checkpoint.clone()
        };
        let running = put(running.encode())
            .condition_expression(format!("{REVISION} = :known"))
            .expression_attribute_values(":known", number(checkpoint.revision.get()))
            .build()?;
        let announced = self.announcing_run(checkpoint, run.to, run.announced_at).build()?;
        Ok(vec![
            TransactWriteItem::builder().put(new).build(),
            TransactWriteItem::builder().put(running).build(),
            TransactWriteItem::builder().update(announced).build(),
        ])
    }
}
