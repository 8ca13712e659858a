//! Beginning a run, or continuing a run that another process began.

use std::time::Duration;

use lately_items::{Announcement, Checkpoint, CommittedRun, ConsumerMode, Progress, Run};
use lately_keys::{EventId, UnixMillis};
use lately_model::{RunSpec, SettleSeconds};
use lately_table::{Condition, REVISION, Rounds, TableError, Transacted, Transaction, Update, entropy_u64};

use crate::consumer::existing;
use crate::handle::{RunHandle, RunsHandle};
use crate::limits::LATE_ITEMS_PER_RUN;
use crate::run::RunError;

/// The next work for a consumer that produces reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Begun {
    /// This run, which was begun now or before.
    Run(Box<Run>),
    /// Another process has the run's lease.
    Busy {
        /// The end of the lease, unless the process gives the run back earlier.
        until: UnixMillis,
    },
    /// There is nothing to report yet.
    Nothing,
}

/// The lease that a process asks for.
#[derive(Clone, Copy, Debug)]
struct RunLease {
    until: UnixMillis,
    /// Random bits: they tell the process's own lease from every other one.
    holder: u64,
}

impl RunsHandle<'_> {
    /// Begins the next run of a consumer, or continues the run that was begun. A consumer that does not exist is
    /// created at the beginning of the topic, so that its first run reports all events.
    pub async fn begin(self, spec: &RunSpec, lease: Duration) -> Result<Begun, RunError> {
        let stored = self.op.topic(&self.consumer.topic).stored().await?;
        let lease = self.lease(lease);
        let mut rounds = Rounds::of(&self.op.table, "the consumer");
        loop {
            let Some(checkpoint) = self.op.consumer(self.consumer).checkpoint().await? else {
                let settle = SettleSeconds::default();
                let log_end = self.op.late_log(&self.consumer.topic).open(stored.created_at).await?;
                let incarnation = self.op.first_revision();
                let first = Checkpoint::new(self.consumer, EventId::MIN, settle, log_end, incarnation);
                self.op.consumer(self.consumer).create(&first).await?;
                rounds.lose()?;
                continue;
            };
            let checkpoint = existing(Some(checkpoint), self.consumer)?;
            let begun = match (checkpoint.mode, checkpoint.running) {
                (Some(ConsumerMode::Polls), _) => return Err(RunError::HasPolls),
                (_, Some(_)) => self.take_over(&checkpoint, lease).await?,
                (_, None) => self.put_next(&checkpoint, spec, lease).await?,
            };
            if let Some(begun) = begun {
                return Ok(begun);
            }
            // Another process was first.
            rounds.lose_and_pause().await?;
        }
    }

    /// Continues the run of a consumer that was begun, if there is one.
    pub async fn resume(self, lease: Duration) -> Result<Begun, TableError> {
        let lease = self.lease(lease);
        let mut rounds = Rounds::of(&self.op.table, "the consumer");
        loop {
            let found = self.op.consumer(self.consumer).checkpoint().await?;
            let running = found.filter(|found| found.running.is_some() && !found.deleting);
            let Some(running) = running else { return Ok(Begun::Nothing) };
            if let Some(begun) = self.take_over(&running, lease).await? {
                return Ok(begun);
            }
            rounds.lose()?;
        }
    }

    fn lease(self, time: Duration) -> RunLease {
        let millis = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        RunLease { until: self.op.now().saturating_add(millis), holder: entropy_u64(self.op.ambient()) }
    }

    /// The run under way, if no process has a valid lease. `None` if another process was first.
    async fn take_over(self, checkpoint: &Checkpoint, lease: RunLease) -> Result<Option<Begun>, TableError> {
        let Some(to) = checkpoint.running else { return Ok(None) };
        // The consumer may have been deleted and created again since the checkpoint was read.
        let run = self.stored(to).await?.filter(|run| run.incarnation == checkpoint.incarnation);
        let Some(run) = run else { return Ok(None) };
        // An ambiguous attempt of this process was applied.
        if run.holder == lease.holder {
            return Ok(Some(Begun::Run(Box::new(run))));
        }
        if run.lease > self.op.now() {
            return Ok(Some(Begun::Busy { until: run.lease }));
        }
        let RunLease { until, holder } = lease;
        let is_free =
            Condition::equals(Run::LEASE, &run.lease).and(Condition::equals(Run::HOLDER, run.holder));
        let update = Update::of(&run.key()).set(Run::LEASE, &until).set(Run::HOLDER, holder).only_if(is_free);
        let taken = self.op.table.update(&update).await?;
        Ok(taken.then(|| Begun::Run(Box::new(Run { lease: until, holder, ..run }))))
    }

    /// Begins the next run, if there is anything to report. `None` if another process was first.
    async fn put_next(
        self,
        checkpoint: &Checkpoint,
        spec: &RunSpec,
        lease: RunLease,
    ) -> Result<Option<Begun>, TableError> {
        let at = self.op.now();
        let to = checkpoint.watermark(at);
        if to <= checkpoint.position {
            return Ok(Some(Begun::Nothing));
        }
        // The end of the log is fixed before the range is read: so the range holds the events after `from` that the log
        // names up to there, and every attempt of the run reads the same items.
        let log_from = checkpoint.log.number;
        let log_end = self.op.late_log(&checkpoint.consumer.topic).end().await?;
        let log_to = log_end.clamp(log_from, log_from + LATE_ITEMS_PER_RUN);
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
            log_from,
            log_to,
        };
        let running = Checkpoint {
            revision: checkpoint.revision.next(),
            mode: Some(ConsumerMode::Runs),
            running: Some(to),
            ..checkpoint.clone()
        };
        let mut transaction = Transaction::new(self.op.ambient())
            .put_if(run.encode(), Condition::no_item())
            .put_if(running.encode(), Condition::equals(REVISION, checkpoint.revision.get()));
        if checkpoint.mode != running.mode {
            transaction = transaction.put(Announcement::of(&running).encode());
        }
        let done = transaction.commit(&self.op.table).await? == Transacted::Done;
        Ok(done.then(|| Begun::Run(Box::new(run))))
    }
}

impl RunHandle<'_> {
    /// Stores how far a run has come and gives the run back, so that any process can continue it at once. False if the
    /// run is committed, or another process has its lease: so no process ever undoes another's progress.
    pub async fn save_progress(self, progress: &Progress) -> Result<bool, TableError> {
        let update = Update::of(&self.run.key())
            .set_all(progress)
            .set(Run::LEASE, 0_u64)
            .only_if(self.has_lease().and(Condition::absent(CommittedRun::ATTEMPT)));
        self.op.table.update(&update).await
    }

    /// Gives a run back, unless another process has its lease by now.
    pub async fn release(self) -> Result<(), TableError> {
        let update = Update::of(&self.run.key()).set(Run::LEASE, &self.op.now()).only_if(self.has_lease());
        self.op.table.update(&update).await.map(drop)
    }

    /// The condition that the run's lease is still the one that it was taken with.
    fn has_lease(self) -> Condition {
        Condition::equals(Run::HOLDER, self.run.holder)
    }
}
