//! A scan of the whole table at a rate, for an operator's commands.

use std::num::NonZeroU32;
use std::time::Duration;

use lately_table::{Item, Page, TableError};

use crate::limits::MIGRATION_PAGE;
use crate::op::Op;

/// A scan of all items whose sort keys lie in a range. It looks at so many items in a second at most.
pub(crate) struct PacedScan<'a> {
    op: &'a Op,
    sort_keys: [String; 2],
    items_per_second: NonZeroU32,
    begun: Duration,
    /// The items that were looked at, in the range or not.
    items: u64,
    next: Option<Item>,
    is_over: bool,
}

impl<'a> PacedScan<'a> {
    pub(crate) fn new(op: &'a Op, sort_keys: [String; 2], items_per_second: NonZeroU32) -> Self {
        let begun = op.ambient().monotonic();
        Self { op, sort_keys, items_per_second, begun, items: 0, next: None, is_over: false }
    }

    /// The next page, when it is due; `None` after the last one. The page's own request has as much time as any other.
    pub(crate) async fn next(&mut self) -> Result<Option<(Op, Page)>, TableError> {
        if self.is_over {
            return Ok(None);
        }
        let due = self.begun + time_for(self.items, self.items_per_second);
        tokio::time::sleep(due.saturating_sub(self.op.ambient().monotonic())).await;
        let limit = self.items_per_second.get().min(MIGRATION_PAGE);
        let op = self.op.step();
        let mut page = op.table.scan(self.sort_keys.clone(), limit, self.next.take()).await?;
        self.items += page.read as u64;
        self.next = page.next.take();
        self.is_over = self.next.is_none();
        Ok(Some((op, page)))
    }
}

/// The time that a number of items takes at a rate.
fn time_for(items: u64, per_second: NonZeroU32) -> Duration {
    let per_second = u64::from(per_second.get());
    let whole = Duration::from_secs(items / per_second);
    whole + Duration::from_nanos((items % per_second) * 1_000_000_000 / per_second)
}
