//! A run is begun, or gone on with.

use std::time::Duration;

use aws_sdk_dynamodb::error::BuildError;
use aws_sdk_dynamodb::types::{Put, TransactWriteItem};
use lately_keys::UnixMillis;
use lately_model::{RunSpec, SettleSeconds};

use crate::ambient::entropy_u64;
use crate::consumer::ConsumerNotFound;
use crate::consumer::announcement::AnnouncementHandle;
use crate::consumer::checkpoint::{Checkpoint, ConsumerMode, beginning, too_busy};
use crate::error::TableError;
use crate::item::{Item, number, text};
use crate::limits::CONFLICTS;
use crate::revision::REVISION;
use crate::run::RunHandle;
use crate::run::RunsHandle;
use crate::run::{Progress, Run, RunError};
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

impl RunsHandle<'_> {
    /// Begins the next run of a consumer, or goes on with the one that was begun. A consumer that is not there is made, with
    /// all events there are before it.
    ///
    /// # Errors
    /// See [`RunError`].
    pub async fn begin(self, spec: &RunSpec, lease: Duration) -> Result<Begun, RunError> {
        let consumer = self.consumer;
        self.op.topic(&consumer.topic).settings().await?;
        let lease = self.lease(lease);
        for _ in 0..CONFLICTS {
            let Some(checkpoint) = self.op.consumer(consumer).checkpoint().await? else {
                let settle = SettleSeconds::default();
                let first = Checkpoint::new(consumer, beginning(), settle, self.op.first_revision());
                self.op.consumer(consumer).create(&first).await?;
                continue;
            };
            if checkpoint.deleting {
                return Err(ConsumerNotFound { consumer: consumer.clone() }.into());
            }
            let begun = match (checkpoint.mode, checkpoint.running) {
                (Some(ConsumerMode::Polls), _) => return Err(RunError::HasPolls),
                (_, Some(_)) => self.take_over(&checkpoint, lease).await?,
                (_, None) => self.announce(&checkpoint, spec, lease).await?,
            };
            if let Some(begun) = begun {
                return Ok(begun);
            }
            // Another was first, or fan-out is counting: a random pause, so that they do not meet again.
            let Some(pause) = self.op.table.wait_after(1) else { break };
            tokio::time::sleep(pause).await;
        }
        Err(too_busy().into())
    }

    /// Goes on with the run of a consumer that was begun, if there is one.
    ///
    /// # Errors
    /// If the table could not be read or written.
    pub async fn resume(self, lease: Duration) -> Result<Begun, TableError> {
        let consumer = self.consumer;
        let lease = self.lease(lease);
        for _ in 0..CONFLICTS {
            let checkpoint = self.op.consumer(consumer).checkpoint().await?;
            let running = checkpoint.filter(|found| found.running.is_some() && !found.deleting);
            let begun = match running {
                None => Some(Begun::Nothing),
                Some(running) => self.take_over(&running, lease).await?,
            };
            if let Some(begun) = begun {
                return Ok(begun);
            }
        }
        Err(too_busy())
    }
}

impl RunHandle<'_> {
    /// Notes how far a run came, and gives it back, to be continued at once. Not if it was committed, or its lease is
    /// another's by now: so nobody's progress is ever undone.
    ///
    /// # Errors
    /// If the table could not be written.
    pub async fn save_progress(self, progress: &Progress) -> Result<bool, TableError> {
        let run = self.run;
        let Progress { object, position, events } = progress;
        let saved = self.op.table.update_if(|update| {
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
        Ok(saved.is_some())
    }

    /// Gives a run back, if the lease is still the one that it was taken with.
    ///
    /// # Errors
    /// If the table could not be written.
    pub async fn release(self) -> Result<(), TableError> {
        let run = self.run;
        self.op
            .table
            .update_if(|update| {
                update
                    .set_key(Some(run.key()))
                    .update_expression("SET lease = :now")
                    .condition_expression("holder = :ours")
                    .expression_attribute_values(":now", number(self.op.now().get()))
                    .expression_attribute_values(":ours", number(run.holder))
            })
            .await?;
        Ok(())
    }
}

impl RunsHandle<'_> {
    fn lease(self, time: Duration) -> Lease {
        let millis = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        Lease { until: self.op.now().saturating_add(millis), holder: entropy_u64(self.op.ambient()) }
    }

    /// The run under way, if nobody has it. `None` if another was first.
    async fn take_over(self, checkpoint: &Checkpoint, lease: Lease) -> Result<Option<Begun>, TableError> {
        let Some(to) = checkpoint.running else { return Ok(None) };
        let item = self.op.table.get_item(Run::key_of(&checkpoint.consumer, to)).await?;
        // Deleted, and made again, since the checkpoint was read.
        let run = item.as_ref().map(Run::decode).transpose()?;
        let Some(run) = run.filter(|run| run.incarnation == checkpoint.incarnation) else { return Ok(None) };
        // An attempt of which nobody knew whether it was done.
        if run.holder == lease.holder {
            return Ok(Some(Begun::Run(Box::new(run))));
        }
        if run.lease > self.op.now() {
            return Ok(Some(Begun::Busy { until: run.lease }));
        }
        let taken = self
            .op
            .table
            .update_if(|update| {
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
    async fn announce(
        self,
        checkpoint: &Checkpoint,
        spec: &RunSpec,
        lease: Lease,
    ) -> Result<Option<Begun>, TableError> {
        let at = self.op.now();
        let to = checkpoint.watermark(at);
        if to <= checkpoint.position {
            return Ok(Some(Begun::Nothing));
        }
        // Before the range is announced: what is noted for an earlier one is counted here, or later.
        let Some(announcement) = AnnouncementHandle::of(self.op, checkpoint).find().await? else {
            return Ok(None);
        };
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
        let transaction = Transaction::new(writes, self.op.ambient());
        let done = self.op.table.transact(&transaction).await? == Transacted::Done;
        Ok(done.then(|| Begun::Run(Box::new(run))))
    }

    fn beginning(self, checkpoint: &Checkpoint, run: &Run) -> Result<Vec<TransactWriteItem>, BuildError> {
        let put = |item: Item| Put::builder().table_name(&*self.op.table.name).set_item(Some(item));
        let new = put(run.encode()).condition_expression("attribute_not_exists(pk)").build()?;
        let running = Checkpoint {
            revision: checkpoint.revision.next(),
            mode: Some(ConsumerMode::Runs),
            running: Some(run.to),
            ..checkpoint.clone()
        };
        let running = put(running.encode())
            .condition_expression(format!("{REVISION} = :known"))
            .expression_attribute_values(":known", number(checkpoint.revision.get()))
            .build()?;
        let announced =
            AnnouncementHandle::of(self.op, checkpoint).announcing_run(run.to, run.announced_at).build()?;
        Ok(vec![
            TransactWriteItem::builder().put(new).build(),
            TransactWriteItem::builder().put(running).build(),
            TransactWriteItem::builder().update(announced).build(),
        ])
    }
}
