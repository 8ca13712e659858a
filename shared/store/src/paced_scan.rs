//! A scan of the whole table at a rate, for an operator's commands.

use std::num::NonZeroU32;
use std::time::Duration;

use lately_table::{Item, Page, TableError};

use crate::op::Op;

/// Items that one call looks at, whatever the permitted rate, so that the command reports its progress.
const PAGE: u32 = 1_000;

/// A scan of all items whose sort keys lie in a range. It looks at so many items in a second at most.
pub(crate) struct PacedScan<'a> {
    op: &'a Op,
    sort_keys: [String; 2],
    items_per_second: NonZeroU32,
    /// When the next page is due, by the monotonic clock.
    due: Duration,
    next: Option<Item>,
    is_over: bool,
}

impl<'a> PacedScan<'a> {
    pub(crate) fn new(op: &'a Op, sort_keys: [String; 2], items_per_second: NonZeroU32) -> Self {
        Self { op, sort_keys, items_per_second, due: op.ambient().monotonic(), next: None, is_over: false }
    }

    /// The next page, when it is due; `None` after the last one. The page's own request has as much time as any other.
    pub(crate) async fn next(&mut self) -> Result<Option<(Op, Page)>, TableError> {
        if self.is_over {
            return Ok(None);
        }
        tokio::time::sleep(self.due.saturating_sub(self.op.ambient().monotonic())).await;
        let limit = self.items_per_second.get().min(PAGE);
        let op = self.op.step();
        let mut page = op.table.scan(self.sort_keys.clone(), limit, self.next.take()).await?;
        // All items that were looked at count, in the range or not.
        self.due += Duration::from_secs(page.read as u64) / self.items_per_second.get();
        self.next = page.next.take();
        self.is_over = self.next.is_none();
        Ok(Some((op, page)))
    }
}
