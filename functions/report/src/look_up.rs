//! Looks up in the files of ids whether events were reported.

use futures_util::stream::{self, StreamExt, TryStreamExt};
use lately_keys::EventId;
use lately_model::RunFiles;
use lately_store::{CommittedRun, LookUp, Run};
use object_store::ObjectStoreExt;
use object_store::path::Path;

use crate::error::ReportError;
use crate::ids::{Table, parse_ids};
use crate::limits::BLOCKS_AT_ONCE;
use crate::names::Names;
use crate::output::{Output, OutputError};

/// Looks up events run by run. The store asks for a run once, with all events that the run covers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct IdFiles<'a> {
    output: &'a Output,
}

impl<'a> IdFiles<'a> {
    pub(crate) const fn new(output: &'a Output) -> Self {
        Self { output }
    }

    async fn table(self, name: &Path, ids: u64) -> Result<Table, OutputError> {
        let bytes = self.output.store().get_range(name, Table::range(ids)).await?;
        Table::parse(ids, &bytes).ok_or_else(|| OutputError::Corrupt { name: name.clone() })
    }

    async fn block(self, name: &Path, table: &Table, block: u64) -> Result<Vec<EventId>, OutputError> {
        let bytes = self.output.store().get_range(name, table.block_range(block)).await?;
        parse_ids(&bytes).ok_or_else(|| OutputError::Corrupt { name: name.clone() })
    }
}

impl LookUp for IdFiles<'_> {
    type Error = ReportError;

    async fn look_up(&mut self, run: &Run, wanted: &[EventId]) -> Result<Vec<bool>, ReportError> {
        let mut found = vec![false; wanted.len()];
        let Some(CommittedRun { events: ids @ 1.., .. }) = run.committed else { return Ok(found) };
        let files = *self;
        let name = &Names::of(files.output.prefix(), run).file(RunFiles::ids);
        let table = &files.table(name, ids).await?;
        let reads = table.blocks_of(wanted).into_iter().map(async |(block, indexes)| {
            Ok::<_, OutputError>((files.block(name, table, block).await?, indexes))
        });
        let mut reads = stream::iter(reads).buffer_unordered(BLOCKS_AT_ONCE);
        while let Some((held, indexes)) = reads.try_next().await? {
            for index in indexes {
                found[index] = held.binary_search(&wanted[index]).is_ok();
            }
        }
        Ok(found)
    }
}
