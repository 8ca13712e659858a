//! Looks up in the files of ids whether events were reported.

use std::collections::BTreeMap;

use futures_util::stream::{self, StreamExt, TryStreamExt};
use lately_keys::EventId;
use lately_model::RunFiles;
use lately_store::{CommittedRun, LookUp, Run};
use object_store::ObjectStoreExt;
use object_store::path::Path;

use crate::error::ReportError;
use crate::ids::{Table, parse_ids};
use crate::limits::{BLOCKS_AT_ONCE, BLOCKS_CACHED};
use crate::names::Names;
use crate::output::{Output, OutputError};

/// Looks up events run by run. It caches what it read of the last run's file, because the store asks for the same run
/// again and again, each time for the candidates of another partition of the ledger.
#[derive(Debug)]
pub(crate) struct IdFiles<'a> {
    output: &'a Output,
    last: Option<IdFile>,
}

/// The parts of a run's file of ids that were read.
#[derive(Debug)]
struct IdFile {
    name: Path,
    table: Table,
    /// At most [`BLOCKS_CACHED`] blocks.
    blocks: BTreeMap<u64, Vec<EventId>>,
}

impl<'a> IdFiles<'a> {
    pub(crate) const fn new(output: &'a Output) -> Self {
        Self { output, last: None }
    }
}

impl LookUp for IdFiles<'_> {
    type Error = ReportError;

    async fn look_up(&mut self, run: &Run, wanted: &[EventId]) -> Result<Vec<bool>, ReportError> {
        let mut found = vec![false; wanted.len()];
        let Some(CommittedRun { events: ids @ 1.., .. }) = run.committed else { return Ok(found) };
        let name = Names::of(self.output.prefix(), run).file(RunFiles::ids);
        let mut file = match self.last.take() {
            Some(last) if last.name == name => last,
            _ => IdFile::open(self.output, name, ids).await?,
        };
        let mut mark = |held: &[EventId], indexes: Vec<usize>| {
            for index in indexes {
                found[index] = held.binary_search(&wanted[index]).is_ok();
            }
        };
        let mut missing = Vec::new();
        for (block, indexes) in file.table.blocks_of(wanted) {
            match file.blocks.get(&block) {
                Some(held) => mark(held, indexes),
                None => missing.push((block, indexes)),
            }
        }
        let mut fetched = BTreeMap::new();
        let reads = missing.into_iter().map(async |(block, indexes)| {
            Ok::<_, OutputError>((block, file.block(self.output, block).await?, indexes))
        });
        let mut reads = stream::iter(reads).buffer_unordered(BLOCKS_AT_ONCE);
        while let Some((block, held, indexes)) = reads.try_next().await? {
            mark(&held, indexes);
            if fetched.len() < BLOCKS_CACHED {
                fetched.insert(block, held);
            }
        }
        drop(reads);
        file.cache(fetched);
        self.last = Some(file);
        Ok(found)
    }
}

impl IdFile {
    async fn open(output: &Output, name: Path, ids: u64) -> Result<Self, OutputError> {
        let bytes = output.store().get_range(&name, Table::range(ids)).await?;
        match Table::parse(ids, &bytes) {
            Some(table) => Ok(Self { name, table, blocks: BTreeMap::new() }),
            None => Err(OutputError::Corrupt { name }),
        }
    }

    async fn block(&self, output: &Output, block: u64) -> Result<Vec<EventId>, OutputError> {
        let bytes = output.store().get_range(&self.name, self.table.block_range(block)).await?;
        parse_ids(&bytes).ok_or_else(|| OutputError::Corrupt { name: self.name.clone() })
    }

    fn cache(&mut self, read: BTreeMap<u64, Vec<EventId>>) {
        if self.blocks.len() + read.len() > BLOCKS_CACHED {
            self.blocks.clear();
        }
        self.blocks.extend(read);
    }
}
