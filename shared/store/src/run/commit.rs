//! A run is committed: one write names the attempt whose files are the run's.

use crate::consumer::ConsumerNotFound;
use crate::error::TableError;
use crate::item::{number, text};
use crate::run::RunHandle;
use crate::run::{CommittedRun, Run, RunError};

impl RunHandle<'_> {
    /// Commits a run with an attempt, unless another one has been. The run as it is then: what was committed, by whomever, is
    /// what counts.
    ///
    /// # Errors
    /// See [`RunError`].
    pub async fn commit(self, attempt: &CommittedRun) -> Result<Run, RunError> {
        let run = self.run;
        let CommittedRun { attempt: name, events, late, bytes, committed_at } = attempt;
        let committed = self.op.table.update_if(|update| {
                update
                    .set_key(Some(run.key()))
                    .update_expression(
                        "SET attempt = :attempt, events = :events, late = :late, bytes = :bytes, committed_at = :at \
                         REMOVE progress, progress_at, progress_events",
                    )
                    .condition_expression("incarnation = :ours AND attribute_not_exists(attempt)")
                    .expression_attribute_values(":attempt", text(name.as_str()))
                    .expression_attribute_values(":events", number(*events))
                    .expression_attribute_values(":late", number(*late))
                    .expression_attribute_values(":bytes", number(*bytes))
                    .expression_attribute_values(":at", number(committed_at.get()))
                    .expression_attribute_values(":ours", number(run.incarnation.get()))
            })
            .await?;
        let committed = match committed {
            Some(_) => Run { committed: Some(attempt.clone()), progress: None, ..run.clone() },
            // Another attempt was first; or this one, without its having been told.
            None => {
                let item = self.op.table.get_item(run.key()).await?;
                let found = item.as_ref().map(Run::decode).transpose().map_err(TableError::from)?;
                let found = found.filter(|found| found.incarnation == run.incarnation);
                found.ok_or_else(|| ConsumerNotFound { consumer: run.consumer.clone() })?
            }
        };
        Ok(committed)
    }
}
