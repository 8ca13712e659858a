//! Transactions: several writes that are all made or not at all.

use aws_sdk_dynamodb::error::BuildError;
use aws_sdk_dynamodb::types::{self as sdk, ReturnConsumedCapacity, TransactWriteItem};
use lately_items::Item;
use lately_keys::Key;

use crate::ambient::Ambient;
use crate::call::{Attempts, CallError, Fault, Table};
use crate::error::TableError;
use crate::expression::{Condition, Placeholders, Update, conditional};

/// Writes that are all made, or not at all. However often the transaction is retried, its writes are made once.
#[derive(Clone, Debug)]
pub struct Transaction {
    writes: Vec<Part>,
    token: String,
}

#[derive(Clone, Debug)]
enum Part {
    Put(Item, Option<Condition>),
    Update(Update),
    Delete(Key, Option<Condition>),
    Check(Key, Condition),
}

impl Transaction {
    /// A transaction without writes.
    pub fn new(ambient: &dyn Ambient) -> Self {
        Self { writes: Vec::new(), token: format!("{:032x}", ambient.entropy()) }
    }

    /// Puts an item, and replaces the item under its key.
    pub fn put(self, item: Item) -> Self {
        self.with(Part::Put(item, None))
    }

    /// Puts an item if a condition holds for the item under its key.
    pub fn put_if(self, item: Item, condition: Condition) -> Self {
        self.with(Part::Put(item, Some(condition)))
    }

    /// Updates an item.
    pub fn update(self, update: Update) -> Self {
        self.with(Part::Update(update))
    }

    /// Deletes an item, if it is there.
    pub fn delete(self, key: Key) -> Self {
        self.with(Part::Delete(key, None))
    }

    /// Deletes an item if a condition holds for it.
    pub fn delete_if(self, key: Key, condition: Condition) -> Self {
        self.with(Part::Delete(key, Some(condition)))
    }

    /// Requires that a condition holds for an item.
    pub fn check(self, key: Key, condition: Condition) -> Self {
        self.with(Part::Check(key, condition))
    }

    fn with(mut self, part: Part) -> Self {
        self.writes.push(part);
        self
    }

    /// Writes all or nothing.
    pub async fn commit(&self, table: &Table) -> Result<Transacted, TableError> {
        let writes: Result<Vec<_>, _> = self.writes.iter().map(|part| part.request(&table.name)).collect();
        let writes = writes.map_err(TableError::unavailable)?;
        let send = || {
            table
                .client
                .transact_write_items()
                .set_transact_items(Some(writes.clone()))
                .client_request_token(self.token.as_str())
                .return_consumed_capacity(ReturnConsumedCapacity::Total)
                .send()
        };
        match Attempts::of(table).call(send).await {
            Ok(answer) => {
                table.meter.write(answer.consumed_capacity());
                Ok(Transacted::Done)
            }
            Err(CallError::Condition { faults, maybe_applied }) => {
                if faults.contains(&Fault::Throttled) {
                    table.meter.throttled(false);
                }
                Ok(Transacted::Cancelled { faults, maybe_applied })
            }
            Err(CallError::Table(error)) => Err(error),
        }
    }
}

/// The outcome of a transaction.
#[derive(Clone, Debug, PartialEq)]
pub enum Transacted {
    /// The transaction was committed.
    Done,
    /// The last attempt wrote nothing.
    Cancelled {
        /// For each write, whether it made the transaction fail.
        faults: Vec<Fault>,
        /// DynamoDB may have applied an earlier attempt, so our own writes may have made the conditions fail.
        maybe_applied: bool,
    },
}

impl Part {
    fn request(&self, table: &str) -> Result<TransactWriteItem, BuildError> {
        let keyed = |key: &Key| Some(Item::under(key.clone()).into_attributes());
        let expression = |condition| Placeholders::default().expression(condition);
        let write = TransactWriteItem::builder();
        let write = match self {
            Self::Put(item, condition) => {
                let put = sdk::Put::builder().table_name(table).set_item(Some(item.attributes().clone()));
                write.put(conditional!(put, expression(condition.as_ref())).build()?)
            }
            Self::Update(update) => {
                let (text, expression) = update.expression();
                let update = sdk::Update::builder().set_key(keyed(update.key())).update_expression(text);
                write.update(conditional!(update.table_name(table), expression).build()?)
            }
            Self::Delete(key, condition) => {
                let delete = sdk::Delete::builder().table_name(table).set_key(keyed(key));
                write.delete(conditional!(delete, expression(condition.as_ref())).build()?)
            }
            Self::Check(key, condition) => {
                let check = sdk::ConditionCheck::builder().table_name(table).set_key(keyed(key));
                write.condition_check(conditional!(check, expression(Some(condition))).build()?)
            }
        };
        Ok(write.build())
    }
}
