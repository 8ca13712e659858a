//! The numbers of a repository's issues: a counter, from which each opener takes the next.
//!
//! ```text
//! REPO#{owner}#{repo} / REPO
//!   last N (the number given last)
//! ```
//!
//! One call that adds one and says what it made: openers never have to look what others took. A number whose opener
//! dies, or whose answer is lost, is given to nobody else: a gap at most, never a duplicate.

use aws_sdk_dynamodb::types::{ReturnConsumedCapacity, ReturnValue};
use lately_keys::table::IssueNumber;
use lately_keys::{Place, TableKey};

use crate::error::TableError;
use crate::issue::OpenIssueError;
use crate::issue::RepositoryHandle;
use crate::item::{Fields, keyed, number};

impl RepositoryHandle<'_> {
    /// Takes a repository's next number.
    pub(super) async fn next_number(self) -> Result<IssueNumber, OpenIssueError> {
        let repository = self.repository;
        let key = keyed(Place::Table, repository.encode());
        let counted = self
            .op
            .table
            .call_if(|| {
                self.op
                    .table
                    .client
                    .update_item()
                    .table_name(&*self.op.table.name)
                    .set_key(Some(key.clone()))
                    .update_expression("ADD #last :one")
                    .condition_expression("attribute_not_exists(#last) OR #last < :most")
                    .expression_attribute_names("#last", "last")
                    .expression_attribute_values(":one", number(1_u64))
                    .expression_attribute_values(":most", number(IssueNumber::MAX.get()))
                    .return_values(ReturnValue::UpdatedNew)
                    .return_consumed_capacity(ReturnConsumedCapacity::Total)
                    .send()
            })
            .await?;
        let answer =
            counted.ok_or_else(|| OpenIssueError::TooManyIssues { repository: repository.clone() })?;
        self.op.table.meter.write(answer.consumed_capacity());
        let counter =
            answer.attributes().ok_or_else(|| TableError::unavailable("an update returned no item"))?;
        let last: u32 = Fields(counter).number("last").map_err(TableError::from)?;
        let last = last.try_into().map_err(|_| Fields(counter).corrupt("last"));
        Ok(last.map_err(TableError::from)?)
    }
}
