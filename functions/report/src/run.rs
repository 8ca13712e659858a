//! One invocation's work on a consumer's run: all of it, or as much as there is time for.
//!
//! 1. The run is begun, or an unfinished one continued (the store: announced, and kept to oneself for a while).
//! 2. What landed late is listed: each candidate is looked up in the files of the run that covers its time.
//! 3. An attempt writes the late events, which are older, and then the range: oldest first, both.
//! 4. The attempt is committed: it, or another that was faster, is the run's.
//! 5. The committed attempt's files get their final names, the attempts are removed, and the run is finished.
//!
//! Why nothing is reported twice or lost: from the commit on, all that is left follows from what the run's item names,
//! and can be done again by anyone. Before it, all is private. So any call may fail, before or after it took effect, and
//! two invocations may be at the same run: the next one goes on.

use std::error::Error;
use std::time::Duration;

use lately_keys::table::ConsumerKey;
use lately_keys::{EventId, UnixMillis};
use lately_model::{RunFiles, RunSpec};
use lately_store::{
    Ambient, Begun, CommittedRun, LateError, Op, Progress, Run, RunError, Store, TableError, TopicError,
};
use serde::Serialize;

use crate::attempt::Attempt;
use crate::limits::{ASSEMBLED_BYTES_PER_SECOND, LATE_EVENTS_AT_ONCE, LEASE_MARGIN, SAVE_RESERVE};
use crate::look_up::IdFiles;
use crate::names::Names;
use crate::output::{Output, OutputError};
use crate::publish::publish;
use crate::summary::SummaryHead;

/// Whose report is to be made, and what it counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// The consumer; it is made if it is not there, and begins with the topic's first event.
    pub consumer: ConsumerKey,
    /// What a run that is begun now counts. One that is under way counts what it was begun with.
    pub spec: RunSpec,
}

/// How an invocation ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "outcome", rename_all = "kebab-case")]
pub enum Outcome {
    /// There is nothing to report yet.
    Nothing,
    /// Another invocation is at it.
    Busy {
        /// Until then, unless it ends earlier.
        until: UnixMillis,
    },
    /// Time was over. A further invocation goes on from there.
    Unfinished {
        /// The run's end.
        to: EventId,
    },
    /// A run was finished.
    Finished {
        /// The run's end.
        to: EventId,
        /// How many events it reports.
        events: u64,
        /// How many of them were late.
        late: u64,
        /// Its files for readers: the events, and the summary.
        files: [String; 2],
    },
}

/// Why a run could not go on. The next invocation goes on with it.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// The topic could not be read, or does not exist.
    #[error(transparent)]
    Topic(#[from] TopicError),
    /// The run could not be begun, committed or finished.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The output did not do what was asked.
    #[error("the output: {0}")]
    Output(#[from] OutputError),
    /// The table did not do what was asked.
    #[error("the table: {0}")]
    Table(#[from] TableError),
}

/// Begins a consumer's next run, or goes on with the one under way.
///
/// # Errors
/// See [`ReportError`].
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

/// Goes on with a consumer's run, if one is under way.
///
/// # Errors
/// See [`ReportError`].
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
    /// Measures what the invocation costs. Each operation is a step with a deadline of its own.
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
                if outcome.is_err() {
                    self.release(&run).await;
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

    /// So that the next invocation need not wait. If that fails too, it waits.
    async fn release(&self, run: &Run) {
        if let Err(error) = self.op.step().run(run).release().await {
            tracing::warn!(error = &error as &dyn Error, "a run could not be given back");
        }
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
        // Before the run is finished: who finishes it after a crash removes them too. Nobody needs them any more.
        if let Err(error) = self.output.remove(names.attempts()).await {
            tracing::warn!(error = &error as &dyn Error, "a run's attempts could not be removed");
        }
        self.op.step().run(&committed).finish().await?;
        let files = RunFiles::new(&run.consumer, run.incarnation, run.from, run.to);
        let files = [files.events(), files.summary()];
        Ok(Outcome::Finished { to: run.to, events: *events, late: *late, files })
    }

    /// The run with the attempt that it is committed with; none if time was over.
    async fn attempt(&self, run: &Run, names: &Names) -> Result<Option<Run>, ReportError> {
        let id = format!("{:032x}", self.ambient.entropy());
        let mut attempt = Attempt::new(self.output, names, id, run.spec.clone());
        let mut position = None;
        if let Some(progress) = &run.progress {
            match attempt.take_over(progress).await {
                Ok(()) => position = Some(progress.position),
                // A rule of the bucket has removed what was left for days; or the output is another now.
                Err(OutputError::Store(object_store::Error::NotFound { .. })) => {
                    tracing::warn!("a run's progress is gone: it is read from its beginning");
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
        // With what is left of the time, if that may be enough; else with all of the next invocation's.
        let to_assemble = Duration::from_secs(attempt.bytes() / ASSEMBLED_BYTES_PER_SECOND);
        if begin < run.to && !self.has(SAVE_RESERVE + to_assemble) {
            return self.leave(run, attempt.leave(run.to).await?).await;
        }
        let (attempt, manifest) = attempt.complete(head(run)).await?;
        let committed = CommittedRun {
            attempt,
            events: manifest.events,
            late: manifest.late,
            bytes: manifest.bytes,
            committed_at: self.op.now(),
        };
        Ok(Some(self.op.step().run(run).commit(&committed).await?))
    }

    /// Leaves the run to a further invocation. If another has it by now, or it is committed, that one goes on.
    async fn leave(&self, run: &Run, progress: Progress) -> Result<Option<Run>, ReportError> {
        self.op.step().run(run).save_progress(&progress).await?;
        Ok(None)
    }
}

/// What a run's summary is of; its counts are the attempt's.
fn head(run: &Run) -> SummaryHead {
    let ConsumerKey { topic, name } = run.consumer.clone();
    SummaryHead {
        topic,
        consumer: name,
        from: run.from.at(),
        to: run.to.at(),
        events: 0,
        late: 0,
        group_by: run.spec.group_by,
        sum: run.spec.sum.clone(),
        not_summed: None,
    }
}

impl From<LateError<OutputError>> for ReportError {
    fn from(error: LateError<OutputError>) -> Self {
        match error {
            LateError::LookUp(error) => Self::Output(error),
            LateError::Table(error) => Self::Table(error),
        }
    }
}
