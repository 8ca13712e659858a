//! A run is finished: its late events are settled, and its consumer stands at its end.

use crate::consumer::checkpoint::Checkpoint;
use crate::cost::Cost;
use crate::error::TableError;
use crate::run::{Run, RunError};
use crate::store::Store;

impl Store {
    /// Finishes a run that is committed and whose files are where they belong. By anyone, any number of times. The next run
    /// can begin behind it, and looks again at what this one left of the ledger's partitions.
    ///
    /// Each of its steps has the time of one operation.
    ///
    /// # Errors
    /// See [`RunError`]. A consumer that was deleted meanwhile is none.
    pub async fn finish_run(&self, run: &Run) -> Result<Cost, RunError> {
        if run.committed.is_none() {
            return Err(RunError::NotCommitted);
        }
        let mut cost = Cost::default();
        let pages = self.late_pages(run, &mut cost).await?;
        let ids: Vec<_> = pages.ids.into_iter().collect();
        self.settle_by(run, &ids, run.to, &mut cost).await?;

        let operation = self.operation();
        // By looking, whoever left them: what exceeded a list, what lies in this run's own range, what came since.
        let settled = self.settled_shards(run.ledger(), run.touched(), &operation).await?;
        let checkpoint = self.checkpoint(&run.consumer, &operation).await?;
        let finish = |found: &Checkpoint| {
            let is_ours = found.incarnation == run.incarnation && found.running == Some(run.to);
            Ok::<_, TableError>(is_ours.then(|| Checkpoint {
                position: run.to,
                known: found.known.with(&run.seen, &settled),
                running: None,
                ..found.clone()
            }))
        };
        self.change_checkpoint(&run.consumer, checkpoint, &operation, finish).await?;
        cost += operation.meter.total();
        Ok(cost)
    }
}
