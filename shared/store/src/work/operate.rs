//! An operator's view of background work: every step that waits in the table, whatever its kind, and its repair.

use std::num::NonZeroU32;

use lately_items::WaitingStep;
use lately_table::{Corrupt, Item, Query, TableError};

use crate::error::FindError;
use crate::handle::StepsHandle;
use crate::paced_scan::PacedScan;
use crate::work::touch;

/// No step of some work waits in the table.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no step of the {kind} {name} waits in the table")]
pub struct UnknownWork {
    /// The kind of the work.
    pub kind: String,
    /// The name of the work.
    pub name: String,
}

impl StepsHandle<'_> {
    /// Finds all steps. Reads the whole table, at most so many items in a second, and calls `found` for each step, also for
    /// one whose item is corrupt.
    pub async fn list(
        self,
        items_per_second: NonZeroU32,
        mut found: impl FnMut(Result<WaitingStep, Corrupt>),
    ) -> Result<(), TableError> {
        // The sort key of a step is a number, an id or `STEP`.
        let mut scan = PacedScan::new(self.op, ["0".to_owned(), "~".to_owned()], items_per_second);
        while let Some((_, page)) = scan.next().await? {
            steps_of(&page.items).for_each(&mut found);
        }
        Ok(())
    }

    /// Makes the records of some work's steps again, so that fan-out runs them: of each page of a job, and of the oldest
    /// item of a backlog. A step that was run meanwhile is not run again. Returns the steps.
    pub async fn resume(self, kind: &str, name: &str) -> Result<Vec<WaitingStep>, FindError<UnknownWork>> {
        let query = Query::partition(WaitingStep::partition(kind, name)).consistent(true);
        let items = self.op.table.query_all(query).await?;
        let mut steps: Vec<_> = steps_of(&items).collect::<Result<_, _>>().map_err(TableError::from)?;
        if kind == WaitingStep::BACKLOG {
            steps.truncate(1);
        }
        if steps.is_empty() {
            return Err(FindError::NotFound(UnknownWork { kind: kind.to_owned(), name: name.to_owned() }));
        }
        for step in &steps {
            touch(self.op, step.key.clone()).await?;
        }
        Ok(steps)
    }
}

fn steps_of(items: &[Item]) -> impl Iterator<Item = Result<WaitingStep, Corrupt>> {
    items.iter().filter_map(|item| WaitingStep::of(item).transpose())
}
