//! The end of a run: one attempt is committed, and then the run is finished.

use lately_items::{Checkpoint, CommittedRun, Progress, Run};
use lately_table::{Condition, TableError, Update};

use crate::consumer::{ConsumerNotFound, is_of};
use crate::handle::{Incarnation, RunHandle};
use crate::run::RunError;

impl RunHandle<'_> {
    /// Commits a run with an attempt, unless an attempt has been committed already. Returns the committed run: its
    /// attempt is the one that counts, whichever process committed it.
    pub async fn commit(self, attempt: &CommittedRun) -> Result<Run, RunError> {
        let run = self.run;
        let update = Update::of(&run.key())
            .set_all(attempt)
            .remove(Progress::OBJECT)
            .remove(Progress::POSITION)
            .remove(Progress::EVENTS)
            .only_if(is_of(run.incarnation).and(Condition::absent(CommittedRun::ATTEMPT)));
        if self.op.table.update(&update).await? {
            return Ok(Run { committed: Some(attempt.clone()), progress: None, ..run.clone() });
        }
        // Another attempt was first, or an earlier call of this one succeeded.
        let found = self.op.runs(&run.consumer).stored(run.to).await?;
        let found = found.filter(|found| found.incarnation == run.incarnation);
        Ok(found.ok_or_else(|| ConsumerNotFound { consumer: run.consumer.clone() })?)
    }

    /// Finishes a run that is committed and whose files have their final names: its late events are settled, and the
    /// consumer's position moves to the run's end. Any process may do this, any number of times. The next run can then
    /// begin. It looks again at the ledger's partitions in which this run has left unsettled entries.
    ///
    /// Each step has the time of one operation.
    ///
    /// # Errors
    /// See [`RunError`]. It is no error if the consumer has been deleted.
    pub async fn finish(self) -> Result<(), RunError> {
        let run = self.run;
        if run.committed.is_none() {
            return Err(RunError::NotCommitted);
        }
        let pages = self.late_pages().await?;
        let ids: Vec<_> = pages.ids.into_iter().collect();
        self.settle_by(&ids, run.to).await?;

        let op = self.op.step();
        // A partition can hold entries that did not fit into the list, that lie in this run's own range, or that came
        // since. So only a look at the partition shows that all its entries are settled.
        let settled = Incarnation::of_run(&op, run).settled_shards(run.touched()).await?;
        let checkpoint = op.consumer(&run.consumer).checkpoint().await?;
        let finish = |found: &Checkpoint| {
            let is_ours = found.incarnation == run.incarnation && found.running == Some(run.to);
            Ok::<_, TableError>(is_ours.then(|| Checkpoint {
                position: run.to,
                known: found.known.with(&run.seen, &settled),
                running: None,
                ..found.clone()
            }))
        };
        op.consumer(&run.consumer).change(checkpoint, finish).await?;
        Ok(())
    }
}
