//! The run that covers an id: the first run that ends at or after the id, if it begins before the id.

use std::collections::BTreeMap;

use lately_items::{Run, RunKey};
use lately_keys::EventId;
use lately_table::{Query, TableError};

use crate::op::Op;

/// Runs that a process remembers while it looks up late events: some hundred KB.
const COVERING_RUNS: usize = 256;

/// The runs of a consumer that have been read so far.
#[derive(Debug, Default)]
pub(crate) struct Covering {
    /// By their ends.
    runs: BTreeMap<EventId, Run>,
}

impl Covering {
    /// The run of the same consumer as another run's that covers an id.
    pub(crate) async fn run_of(
        &mut self,
        op: &Op,
        other: &Run,
        id: EventId,
    ) -> Result<Option<&Run>, TableError> {
        if self.known(id).is_none() {
            // The first run that ends at or after the id.
            let query = Query::partition(other.consumer.to_string())
                .between(RunKey::sort_key(id), RunKey::sort_key(EventId::MAX))
                .limit(1)
                .consistent(true);
            let found: Option<Run> = op.table.query_items(&query).await?.records()?.pop();
            let Some(run) = found.filter(|run| run.incarnation == other.incarnation) else { return Ok(None) };
            if self.runs.len() >= COVERING_RUNS {
                self.runs.clear();
            }
            self.runs.insert(run.to, run);
        }
        Ok(self.known(id))
    }

    fn known(&self, id: EventId) -> Option<&Run> {
        let (_, run) = self.runs.range(id..).next()?;
        (run.from < id).then_some(run)
    }
}
