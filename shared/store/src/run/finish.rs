//! A run is finished: its late events are settled, and its consumer stands at its end.

use crate::consumer::checkpoint::Checkpoint;
use crate::consumer::ledger::LedgerHandle;
use crate::error::TableError;
use crate::run::RunError;
use crate::run::RunHandle;

impl RunHandle<'_> {
    /// Finishes a run that is committed and whose files are where they belong. By anyone, any number of times. The next run
    /// can begin behind it, and looks again at what this one left of the ledger's partitions.
    ///
    /// Each of its steps has the time of one operation.
    ///
    /// # Errors
    /// See [`RunError`]. A consumer that was deleted meanwhile is none.
    pub async fn finish(self) -> Result<(), RunError> {
        let run = self.run;
        if run.committed.is_none() {
            return Err(RunError::NotCommitted);
        }
        let pages = self.late_pages().await?;
        let ids: Vec<_> = pages.ids.into_iter().collect();
        self.settle_by(&ids, run.to).await?;

        let op = self.op.step();
        // By looking, whoever left them: what exceeded a list, what lies in this run's own range, what came since.
        let settled = LedgerHandle::of(&op, run.ledger()).settled_shards(run.touched()).await?;
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
