//! Upgrading what nobody reads: all issues of the table, at a stated rate.
//!
//! An operator's command, and never a request: it looks at every item of the table. What it does it does as a read does,
//! so it can be stopped and run again at any time, while others read and write.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::time::Duration;

use aws_sdk_dynamodb::operation::scan::ScanOutput;
use aws_sdk_dynamodb::types::ReturnConsumedCapacity;
use futures_util::stream::{self, StreamExt};
use lately_keys::table::{IssueKey, IssueNumber};

use crate::call::Failed;
use crate::error::TableError;
use crate::issue::IssuesHandle;
use crate::issue::migration::{SCHEMA, schema_of};
use crate::issue::stored::ReadIssue;
use crate::item::{Item, text};
use crate::limits::{MIGRATION_PAGE, WRITE_BACKS_AT_ONCE};

/// How issues are to be upgraded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MigrationPlan {
    /// Whether to write; else it is only counted what would be.
    pub run: bool,
    /// Items of the table to look at, at most, in a second; no more are written.
    pub items_per_second: NonZeroU32,
}

/// What was found, and what was done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MigrationReport {
    /// Items of the table that were looked at, most of them no issues.
    pub items: u64,
    /// The issues among them, by their schema.
    pub schemas: BTreeMap<u32, u64>,
    /// Issues that need nothing.
    pub current: u64,
    /// Issues of a schema that is newer than this program, which are left alone.
    pub newer: u64,
    /// Issues that are to be upgraded, or were.
    pub to_upgrade: u64,
    /// Those of them that were upgraded.
    pub upgraded: u64,
    /// Those that someone else wrote meanwhile, which are left alone. Run again to see what became of them.
    pub overtaken: u64,
    /// Issues that could not be read or written.
    pub failed: u64,
}

/// What became of an issue.
enum Outcome {
    Current,
    Newer,
    ToUpgrade,
    Upgraded,
    Overtaken,
    Failed,
}

impl MigrationReport {
    fn count(&mut self, outcome: &Outcome) {
        match outcome {
            Outcome::Current => self.current += 1,
            Outcome::Newer => self.newer += 1,
            Outcome::ToUpgrade => self.to_upgrade += 1,
            Outcome::Upgraded => {
                self.to_upgrade += 1;
                self.upgraded += 1;
            }
            Outcome::Overtaken => {
                self.to_upgrade += 1;
                self.overtaken += 1;
            }
            Outcome::Failed => self.failed += 1,
        }
    }
}

impl IssuesHandle<'_> {
    /// Upgrades all issues of the table, or counts what is to be upgraded. `progress` is told what has been done so far,
    /// after each page of items.
    ///
    /// # Errors
    /// If the table cannot be read. What was upgraded is, and need not be again.
    pub async fn migrate(
        self,
        plan: &MigrationPlan,
        mut progress: impl FnMut(&MigrationReport),
    ) -> Result<MigrationReport, TableError> {
        let begun = self.op.ambient().monotonic();
        let mut report = MigrationReport::default();
        let mut start = None;
        // As many rounds as the table has pages: each begins behind the one before.
        loop {
            // Each page may take as long as any request.
            let op = self.op.step();
            let step = op.issues();
            let page = step.scan_issues(plan, start).await?;
            report.items += u64::try_from(page.scanned_count()).unwrap_or_default();
            start = page.last_evaluated_key;
            let outcomes = page.items.unwrap_or_default().into_iter().map(|item| async {
                let schema = schema_of(&item).ok();
                (schema, step.migrate_one(plan, item).await)
            });
            let outcomes: Vec<_> = outcomes.collect();
            let outcomes: Vec<_> =
                stream::iter(outcomes).buffer_unordered(WRITE_BACKS_AT_ONCE).collect().await;
            for (schema, outcome) in outcomes {
                report.count(&outcome);
                if let Some(schema) = schema {
                    *report.schemas.entry(schema).or_default() += 1;
                }
            }
            progress(&report);
            if start.is_none() {
                return Ok(report);
            }
            let due = begun + time_for(report.items, plan.items_per_second);
            tokio::time::sleep(due.saturating_sub(self.op.ambient().monotonic())).await;
        }
    }

    async fn scan_issues(self, plan: &MigrationPlan, start: Option<Item>) -> Result<ScanOutput, TableError> {
        let limit = plan.items_per_second.get().min(MIGRATION_PAGE);
        let answer = self
            .op
            .table
            .call(|| {
                self.op
                    .table
                    .client
                    .scan()
                    .table_name(&*self.op.table.name)
                    .filter_expression("sk BETWEEN :first AND :last")
                    .expression_attribute_values(":first", text(IssueKey::sort_key(IssueNumber::MIN)))
                    .expression_attribute_values(":last", text(IssueKey::sort_key(IssueNumber::MAX)))
                    .set_exclusive_start_key(start.clone())
                    .limit(i32::try_from(limit).unwrap_or(i32::MAX))
                    .consistent_read(true)
                    .return_consumed_capacity(ReturnConsumedCapacity::Total)
                    .send()
            })
            .await
            .map_err(Failed::unconditional)?;
        Ok(answer)
    }

    async fn migrate_one(self, plan: &MigrationPlan, item: Item) -> Outcome {
        let read = match schema_of(&item).and_then(|schema| Ok((schema, ReadIssue::of(item)?))) {
            Ok((schema, _)) if schema > SCHEMA => return Outcome::Newer,
            Ok((_, read)) => read,
            Err(error) => {
                tracing::warn!(%error, "an issue could not be read");
                return Outcome::Failed;
            }
        };
        let Some(edit) = read.upgrade() else { return Outcome::Current };
        if !plan.run {
            return Outcome::ToUpgrade;
        }
        match self.op.table.call_if(|| self.upgrading(&read.issue, edit.clone()).send()).await {
            Ok(Some(_)) => Outcome::Upgraded,
            Ok(None) => Outcome::Overtaken,
            Err(error) => {
                tracing::warn!(%error, "an issue could not be upgraded");
                Outcome::Failed
            }
        }
    }
}

/// How long so many items take at a rate.
fn time_for(items: u64, per_second: NonZeroU32) -> Duration {
    let per_second = u64::from(per_second.get());
    let whole = Duration::from_secs(items / per_second);
    whole + Duration::from_nanos((items % per_second) * 1_000_000_000 / per_second)
}
