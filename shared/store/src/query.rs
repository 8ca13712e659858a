//! One query, whatever it asks for.

use aws_sdk_dynamodb::operation::query::QueryOutput;
use aws_sdk_dynamodb::operation::query::builders::QueryFluentBuilder;
use aws_sdk_dynamodb::types::ReturnConsumedCapacity;

use crate::call::Failed;
use crate::call::Table;
use crate::error::TableError;

impl Table {
    /// Asks the table. What was read is metered; how many items that were, who asks knows.
    pub(crate) async fn query(
        &self,
        ask: impl Fn(QueryFluentBuilder) -> QueryFluentBuilder,
    ) -> Result<QueryOutput, TableError> {
        let answer = self
            .call(|| {
                let query = self.client.query().table_name(&*self.name);
                ask(query).return_consumed_capacity(ReturnConsumedCapacity::Total).send()
            })
            .await
            .map_err(Failed::unconditional)?;
        self.meter.read(answer.consumed_capacity());
        Ok(answer)
    }
}
