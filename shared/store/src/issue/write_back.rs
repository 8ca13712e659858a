//! What was upgraded as it was read is written back, so that it is upgraded once, and its place in the indexes is right.
//!
//! It is done only if nobody wrote since, under no new revision, and tells nobody: the issue is what it was. Who reads
//! does not wait for more than one try, and is answered whatever becomes of it: the next read tries again.

use aws_sdk_dynamodb::operation::update_item::builders::UpdateItemFluentBuilder;
use aws_sdk_dynamodb::types::ReturnConsumedCapacity;
use futures_util::stream::{self, StreamExt};
use lately_keys::table::IssueKey;
use lately_keys::{Place, TableKey};
use lately_model::Issue;

use crate::call::{Meaning, meaning, unavailable};
use crate::issue::IssuesHandle;
use crate::issue::edit::Edit;
use crate::issue::stored::ReadIssue;
use crate::item::keyed;
use crate::limits::{WRITE_BACKS_AT_ONCE, WRITE_BACKS_PER_PAGE};

impl IssuesHandle<'_> {
    /// Writes back what of some issues was upgraded, up to so many as one page may.
    pub(super) async fn write_back(self, read: &[ReadIssue]) {
        let upgrades = read.iter().filter_map(|read| Some((&read.issue, read.upgrade()?)));
        let writes: Vec<_> = upgrades
            .take(WRITE_BACKS_PER_PAGE)
            .map(|(issue, edit)| self.try_write_back(issue, edit))
            .collect();
        stream::iter(writes).buffer_unordered(WRITE_BACKS_AT_ONCE).collect::<()>().await;
    }

    async fn try_write_back(self, issue: &Issue, edit: Edit) {
        self.op.table.meter.call();
        match self.upgrading(issue, edit).send().await {
            Ok(answer) => self.op.table.meter.write(answer.consumed_capacity()),
            // Someone else wrote: that is newer.
            Err(error) if meaning(&error) == Meaning::Condition => {}
            Err(error) => {
                let error = unavailable(&error);
                tracing::warn!(%error, "an upgraded issue is not written back");
            }
        }
    }

    /// The call that upgrades an issue.
    pub(super) fn upgrading(self, issue: &Issue, edit: Edit) -> UpdateItemFluentBuilder {
        let key = IssueKey { repository: issue.repository.clone(), number: issue.number };
        self.op
            .table
            .client
            .update_item()
            .table_name(&*self.op.table.name)
            .set_key(Some(keyed(Place::Table, key.encode())))
            .update_expression(edit.update)
            .condition_expression(edit.condition)
            .set_expression_attribute_names(Some(edit.names))
            .set_expression_attribute_values(Some(edit.values))
            .return_consumed_capacity(ReturnConsumedCapacity::Total)
    }
}
