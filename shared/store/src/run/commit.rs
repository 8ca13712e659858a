//! The end of a run: one attempt is committed, and then the run is finished.

use lately_items::{Checkpoint, CommittedRun, INCARNATION, LatePlace, Progress, Run};
use lately_table::{Condition, TableError, Update};

use crate::consumer::ConsumerNotFound;
use crate::handle::RunHandle;
use crate::run::RunError;

impl RunHandle<'_> {
    /// Commits a run with an attempt, unless an attempt has been committed already. Returns the committed run: its
    /// attempt is the one that counts, whichever process committed it.
    pub async fn commit(self, attempt: &CommittedRun) -> Result<Run, RunError> {
        let run = self.run;
        let is_ours = Condition::equals(INCARNATION, &run.incarnation);
        let update = Update::of(&run.key())
            .set_all(attempt)
            .remove(Progress::OBJECT)
            .remove(Progress::POSITION)
            .remove(Progress::EVENTS)
            .only_if(is_ours.and(Condition::absent(CommittedRun::ATTEMPT)));
        if self.op.table.update(&update).await? {
            return Ok(Run { committed: Some(attempt.clone()), progress: None, ..run.clone() });
        }
        // Another attempt was first, or an earlier call of this one succeeded.
        let found = self.op.runs(&run.consumer).stored(run.to).await?;
        let found = found.filter(|found| found.incarnation == run.incarnation);
        Ok(found.ok_or_else(|| ConsumerNotFound { consumer: run.consumer.clone() })?)
    }

    /// Finishes a run that is committed and whose files have their final names: the consumer's position moves to the run's
    /// end, and its place in the late log to the last item that the run has read. Any process may do this, any number of
    /// times. The next run can then begin.
    ///
    /// # Errors
    /// See [`RunError`]. It is no error if the consumer has been deleted.
    pub async fn finish(self) -> Result<(), RunError> {
        let run = self.run;
        if run.committed.is_none() {
            return Err(RunError::NotCommitted);
        }
        let op = self.op.step();
        let checkpoint = op.consumer(&run.consumer).checkpoint().await?;
        let finish = |found: &Checkpoint| {
            if found.incarnation != run.incarnation || found.running != Some(run.to) {
                return Ok::<_, TableError>(None);
            }
            let log = LatePlace::after(run.log_to);
            Ok(Some(Checkpoint { position: run.to, log, running: None, ..found.clone() }))
        };
        op.consumer(&run.consumer).change(checkpoint, finish).await?;
        Ok(())
    }
}
