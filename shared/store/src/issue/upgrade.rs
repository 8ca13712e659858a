//! Storing upgraded issues: the issues that a request reads, and all others when an operator asks.
//!
//! A read upgrades an item of an older schema and writes it back. So the item is upgraded once, and stands in its
//! places in the indexes. The write-back keeps the revision and writes no event, because the issue itself does not
//! change. It is done only if nobody has written the item since. A reader waits for one attempt only, and gets its
//! response whether or not the attempt succeeds: the next read tries again.
//!
//! An operator's command upgrades the issues that nobody reads. It looks at every item of the table, at a given rate,
//! so no request does this. It upgrades items as a read does, so it can be stopped and run again at any time, while
//! others read and write.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use lately_items::issue::SCHEMA;
use lately_items::{IssueKey, ReadIssue, schema_of};
use lately_keys::IssueNumber;
use lately_table::{Item, TableError, Update};

use crate::at_once::complete_all;
use crate::handle::IssuesHandle;
use crate::issue::update_between;
use crate::limits::WRITE_BACKS_PER_PAGE;
use crate::op::Op;
use crate::paced_scan::PacedScan;

/// Upgraded issues that are written back at the same time: three rounds for a page.
const WRITE_BACKS_AT_ONCE: usize = 8;

const _: () = assert!(WRITE_BACKS_AT_ONCE <= WRITE_BACKS_PER_PAGE);

impl IssuesHandle<'_> {
    /// Writes back the upgraded ones of some issues that were read, up to [`WRITE_BACKS_PER_PAGE`].
    pub(super) async fn write_back(self, read: &[ReadIssue]) {
        let upgrades =
            read.iter().filter_map(|read| update_between(read, &read.upgraded)).take(WRITE_BACKS_PER_PAGE);
        let writes = upgrades.map(async |upgrade| {
            // If the update's condition fails, another writer has written a newer state.
            if let Err(error) = self.op.table.once().update(&upgrade).await {
                tracing::warn!(%error, "an upgraded issue is not written back");
            }
        });
        complete_all(WRITE_BACKS_AT_ONCE, writes).await;
    }
}

/// The plan of an upgrade of all issues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MigrationPlan {
    /// True if to write. Otherwise the issues to be upgraded are only counted.
    pub run: bool,
    /// The most items of the table to look at in a second. As many are written at most.
    pub items_per_second: NonZeroU32,
}

/// The issues that a migration found, and what it did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MigrationReport {
    /// Items of the table that were looked at. Most of them are not issues.
    pub items: u64,
    /// The number of issues of each schema.
    pub schemas: BTreeMap<u32, u64>,
    /// Issues that need no upgrade.
    pub current: u64,
    /// Issues of a schema that is newer than this program. They are left alone.
    pub newer: u64,
    /// Issues that need or needed an upgrade.
    pub to_upgrade: u64,
    /// Issues that were upgraded.
    pub upgraded: u64,
    /// Issues that another writer wrote meanwhile. They are left alone; another run shows their state.
    pub overtaken: u64,
    /// Issues that could not be read or written.
    pub failed: u64,
}

impl IssuesHandle<'_> {
    /// Upgrades all issues of the table, or counts the issues to be upgraded. After each page of items, it calls
    /// `progress` with the report so far.
    ///
    /// # Errors
    /// If the table cannot be read. Issues that were already upgraded stay upgraded.
    pub async fn migrate(
        self,
        plan: &MigrationPlan,
        mut progress: impl FnMut(&MigrationReport),
    ) -> Result<MigrationReport, TableError> {
        let issues = [IssueNumber::MIN, IssueNumber::MAX].map(IssueKey::sort_key);
        let mut scan = PacedScan::new(self.op, issues, plan.items_per_second);
        let mut report = MigrationReport::default();
        while let Some((op, page)) = scan.next().await? {
            report.items += page.read as u64;
            let upgrades: Vec<_> = page.items.into_iter().filter_map(|item| report.count(item)).collect();
            report.to_upgrade += upgrades.len() as u64;
            if plan.run {
                report.upgrade(&op, &upgrades).await;
            }
            progress(&report);
        }
        Ok(report)
    }
}

impl MigrationReport {
    /// Counts an issue that was found. Returns its upgrade, if it needs one.
    fn count(&mut self, item: Item) -> Option<Update> {
        let schema = schema_of(&item);
        if let Ok(schema) = schema {
            *self.schemas.entry(schema).or_default() += 1;
        }
        match schema.and_then(|schema| Ok((schema, ReadIssue::of(item)?))) {
            Ok((schema, _)) if schema > SCHEMA => self.newer += 1,
            Ok((_, read)) => {
                let upgrade = update_between(&read, &read.upgraded);
                self.current += u64::from(upgrade.is_none());
                return upgrade;
            }
            Err(error) => {
                tracing::warn!(%error, "an issue could not be read");
                self.failed += 1;
            }
        }
        None
    }

    /// Makes upgrades, and counts their outcomes.
    async fn upgrade(&mut self, op: &Op, upgrades: &[Update]) {
        let updates = upgrades.iter().map(|upgrade| op.table.update(upgrade));
        for updated in complete_all(WRITE_BACKS_AT_ONCE, updates).await {
            match updated {
                Ok(true) => self.upgraded += 1,
                Ok(false) => self.overtaken += 1,
                Err(error) => {
                    tracing::warn!(%error, "an issue could not be upgraded");
                    self.to_upgrade -= 1;
                    self.failed += 1;
                }
            }
        }
    }
}
