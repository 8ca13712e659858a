//! One invocation's work on a consumer's run: all of it, or as much as the time allows.
//!
//! 1. The store begins a run, or continues an unfinished run: it announces the run and acquires a lease on it.
//! 2. The late events are listed: each candidate is looked up in the files of the run that covers its time.
//! 3. An attempt writes the late events, which are older, and then the range, both oldest first.
//! 4. The attempt is committed: this attempt, or another that was faster, becomes the run's.
//! 5. The committed attempt's files get their final names, the attempts are removed, and the run is finished.
//!
//! Nothing is reported twice or lost. Before the commit, all objects are private. After the commit, all remaining work
//! follows from the attempt that the run's item names, and any invocation can repeat it. So any call may fail, before
//! or after it took effect, and two invocations may work on the same run: the next invocation continues.

use std::error::Error;
use std::time::Duration;

use lately_items::ConsumerKey;
use lately_keys::{EventId, UnixMillis};
use lately_store::{Ambient, Begun, CommittedRun, Op, Progress, Run, Store};
use serde::Serialize;

use crate::attempt::Attempt;
use crate::error::ReportError;
use crate::event::Report;
use crate::limits::{ASSEMBLED_BYTES_PER_SECOND, LATE_EVENTS_AT_ONCE, LEASE_MARGIN, SAVE_RESERVE};
use crate::look_up::IdFiles;
use crate::names::Names;
use crate::output::{Output, OutputError};
use crate::publish::publish;

/// The outcome of an invocation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "outcome", rename_all = "kebab-case")]
pub enum Outcome {
    /// There is nothing to report yet.
    Nothing,
    /// Another invocation holds the lease on the run.
    Busy {
        /// The lease ends at this time, or earlier.
        until: UnixMillis,
    },
    /// The time was not enough. A later invocation continues the run.
    Unfinished {
        /// The run's end.
        to: EventId,
    },
    /// A run was finished.
    Finished {
        /// The run's end.
        to: EventId,
        /// The number of events that it reports.
        events: u64,
        /// The number of late events among them.
        late: u64,
        /// Its files for readers: the events and the summary.
        files: [String; 2],
    },
}

/// Begins a consumer's next run, or continues an unfinished run.
pub async fn run(
    store: &Store,
    output: &Output,
    report: &Report,
    time: Duration,
) -> Result<Outcome, ReportError> {
    let work = Work::new(store, output, time);
    let op = work.op.step();
    let begun = op.runs(&report.consumer).begin(&report.spec, time + LEASE_MARGIN).await?;
    work.on(begun).await
}

/// Continues a consumer's unfinished run, if there is one.
pub async fn go_on(
    store: &Store,
    output: &Output,
    consumer: &ConsumerKey,
    time: Duration,
) -> Result<Outcome, ReportError> {
    let work = Work::new(store, output, time);
    let begun = work.op.step().runs(consumer).resume(time + LEASE_MARGIN).await?;
    work.on(begun).await
}

/// One invocation's work on a run.
struct Work<'a> {
    /// Measures the invocation's cost. Each operation is a step with its own deadline.
    op: Op,
    ambient: &'a dyn Ambient,
    output: &'a Output,
    /// The invocation's deadline, by the monotonic clock.
    end: Duration,
}

impl<'a> Work<'a> {
    fn new(store: &'a Store, output: &'a Output, time: Duration) -> Self {
        let ambient = store.ambient();
        Self { op: store.op(), ambient, output, end: ambient.monotonic() + time }
    }

    fn has(&self, time: Duration) -> bool {
        self.ambient.monotonic() + time < self.end
    }

    async fn on(self, begun: Begun) -> Result<Outcome, ReportError> {
        let outcome = match begun {
            Begun::Nothing => Ok(Outcome::Nothing),
            Begun::Busy { until } => Ok(Outcome::Busy { until }),
            Begun::Run(run) => {
                let outcome = self.all_of(&run).await;
                // The lease is released, so that the next invocation need not wait. If that fails too, it waits.
                if outcome.is_err()
                    && let Err(error) = self.op.step().run(&run).release().await
                {
                    tracing::warn!(error = &error as &dyn Error, "a run's lease could not be released");
                }
                outcome
            }
        };
        let cost = self.op.cost();
        let (read, written) = (cost.of_read(), cost.of_write());
        match &outcome {
            Ok(outcome) => tracing::info!(?outcome, read, written, "report"),
            Err(error) => tracing::error!(error = error as &dyn Error, read, written, "report"),
        }
        outcome
    }

    async fn all_of(&self, run: &Run) -> Result<Outcome, ReportError> {
        let names = Names::of(self.output.prefix(), run);
        let committed = match run.committed {
            Some(_) => run.clone(),
            None => match self.attempt(run, &names).await? {
                Some(committed) => committed,
                None => return Ok(Outcome::Unfinished { to: run.to }),
            },
        };
        let CommittedRun { attempt, events, late, .. } =
            committed.committed.as_ref().expect("it was committed, or has just been");
        publish(self.output, &names, attempt).await?;
        // The attempts are removed before the run is finished, so that an invocation which finishes the run after a
        // crash removes them too. Nothing needs them any more.
        if let Err(error) = self.output.remove(names.attempts()).await {
            tracing::warn!(error = &error as &dyn Error, "a run's attempts could not be removed");
        }
        self.op.step().run(&committed).finish().await?;
        let files = [names.files.events(), names.files.summary()];
        Ok(Outcome::Finished { to: run.to, events: *events, late: *late, files })
    }

    /// The run with its committed attempt; none if the time was not enough.
    async fn attempt(&self, run: &Run, names: &Names) -> Result<Option<Run>, ReportError> {
        let id = format!("{:032x}", self.ambient.entropy());
        let mut attempt = Attempt::new(self.output, names, id, run.spec.clone());
        let mut position = None;
        if let Some(progress) = &run.progress {
            match attempt.take_over(progress).await {
                Ok(()) => position = Some(progress.position),
                // A lifecycle rule of the bucket removed the old progress, or the output was changed.
                Err(OutputError::Store(object_store::Error::NotFound { .. })) => {
                    tracing::warn!("a run's progress is gone, so the run starts from its beginning");
                }
                Err(error) => return Err(error.into()),
            }
        }
        let late = self.op.step().run(run).late_ids(&mut IdFiles::new(self.output)).await?;
        let behind = late.partition_point(|id| position.is_some_and(|position| *id <= position));
        for ids in late[behind..].chunks(LATE_EVENTS_AT_ONCE) {
            let events = self.op.step().topic(&run.consumer.topic).events_of(ids).await?;
            for event in &events {
                attempt.push(event, true).await?;
            }
            position = ids.last().copied();
            if let Some(position) = position.filter(|_| !self.has(SAVE_RESERVE)) {
                return self.leave(run, attempt.leave(position).await?).await;
            }
        }
        let begin = position.map_or(run.from, |position| position.max(run.from));
        let mut range = self.op.step().topic(&run.consumer.topic).range(begin, run.to).await?;
        while let Some(events) = range.next().await? {
            for event in &events {
                attempt.push(event, false).await?;
            }
            if !self.has(SAVE_RESERVE) {
                return self.leave(run, attempt.leave(range.position()).await?).await;
            }
        }
        // The file is assembled in the remaining time if that may be enough, else by the next invocation in its whole
        // time.
        let to_assemble = Duration::from_secs(attempt.bytes() / ASSEMBLED_BYTES_PER_SECOND);
        if begin < run.to && !self.has(SAVE_RESERVE + to_assemble) {
            return self.leave(run, attempt.leave(run.to).await?).await;
        }
        let (attempt, manifest) = attempt.complete(run).await?;
        let committed = CommittedRun {
            attempt,
            events: manifest.events,
            late: manifest.late,
            bytes: manifest.bytes,
            committed_at: self.op.now(),
        };
        Ok(Some(self.op.step().run(run).commit(&committed).await?))
    }

    /// Leaves the run to a later invocation. If another invocation holds the run by now, or it is committed, that
    /// invocation continues.
    async fn leave(&self, run: &Run, progress: Progress) -> Result<Option<Run>, ReportError> {
        self.op.step().run(run).save_progress(&progress).await?;
        Ok(None)
    }
}
