//! Writes under a revision: the one way in which an item that changes is changed.
//!
//! A write names the revision of what it replaces, and its item has the next one; DynamoDB's condition sees to it that
//! of several writers one wins. What needs care are attempts that are tried again after nobody knew what became of them:
//!
//! ```text
//! the condition failed, an earlier attempt may have been applied, and there is …
//!   our very item, attribute for attribute   it was applied: written
//!   another item of the same next revision   it was not: that revision is another's
//!   anything else, or nothing                another write came since, and nobody can tell: unknown
//! ```
//!
//! An item that is to be the first is not put again after an attempt that may have been applied: it may have been
//! deleted since. Then what is there is read, and where nothing is, nobody can tell.
//!
//! What must hold: an item is told from any other writer's, or it does not matter whose it is. A document carries random
//! bits of its write for that.

use aws_sdk_dynamodb::error::SdkError;
use aws_sdk_dynamodb::operation::delete_item::DeleteItemError;
use aws_sdk_dynamodb::operation::put_item::builders::PutItemFluentBuilder;
use aws_sdk_dynamodb::types::{ReturnConsumedCapacity, ReturnValuesOnConditionCheckFailure};
use lately_model::Revision;

use crate::call::Table;
use crate::call::{Failed, Meaning, meaning, unavailable};
use crate::error::TableError;
use crate::item::{Corrupt, Fields, Item, number};
use crate::limits::CONFLICTS;
use crate::op::Op;
use crate::single::in_the_way;

/// The attribute that holds an item's revision.
pub(crate) const REVISION: &str = "revision";

/// What became of a write under a revision.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Guarded {
    /// It is done.
    Written,
    /// It is not: this is what is there instead, if anything.
    Stale(Option<Item>),
    /// An earlier attempt may have been done, and another's write since.
    Unknown,
}

/// The rounds in which a read, a decision and a write under a revision are made: up to [`CONFLICTS`], if other writers
/// keep coming in between.
#[derive(Debug)]
pub(crate) struct Rounds<'a> {
    table: &'a Table,
    lost: u32,
}

impl<'a> Rounds<'a> {
    pub(crate) const fn new(table: &'a Table) -> Self {
        Self { table, lost: 0 }
    }

    /// Begins the next round, after a random pause, so that writers who met here do not meet again.
    pub(crate) async fn lose(&mut self) -> Result<(), TableError> {
        self.lost += 1;
        let pause = self.table.wait_after(1).filter(|_| self.lost < CONFLICTS);
        let pause = pause.ok_or_else(|| TableError::unavailable("other writers keep changing the record"))?;
        tokio::time::sleep(pause).await;
        Ok(())
    }
}

impl Op {
    /// The first revision of what is created now.
    pub(crate) fn first_revision(&self) -> Revision {
        Revision::first(self.ambient().since_epoch())
    }
}

impl Table {
    /// Puts an item, whose revision follows the known one, if that is still what is there; with none known, if nothing
    /// is.
    pub(crate) async fn put_revised(
        &self,
        item: &Item,
        known: Option<Revision>,
    ) -> Result<Guarded, TableError> {
        let Some(known) = known else { return self.put_first(item).await };
        let put = self
            .call(|| {
                self.putting(item)
                    .condition_expression("revision = :known")
                    .expression_attribute_values(":known", number(known.get()))
                    .send()
            })
            .await;
        match put {
            Ok(answer) => {
                self.meter.write(answer.consumed_capacity());
                Ok(Guarded::Written)
            }
            Err(Failed::Condition { error, maybe_applied }) => {
                let there = in_the_way(error);
                if maybe_applied {
                    Ok(outcome(there, item, revision_of(item)?)?)
                } else {
                    Ok(Guarded::Stale(there))
                }
            }
            Err(Failed::Table(error)) => Err(error),
        }
    }

    /// Puts an item if nothing is there.
    ///
    /// An attempt that may have been applied is not made again: had the item been deleted since, that would bring it back.
    /// It is looked what is there instead.
    async fn put_first(&self, item: &Item) -> Result<Guarded, TableError> {
        let mut attempts = self.attempts();
        loop {
            attempts.start();
            let put = self.putting(item).condition_expression("attribute_not_exists(pk)").send().await;
            let error = match put {
                Ok(answer) => {
                    self.meter.write(answer.consumed_capacity());
                    return Ok(Guarded::Written);
                }
                Err(error) => error,
            };
            match meaning(&error) {
                Meaning::Refused => attempts.pause(&error).await?,
                Meaning::Condition => return Ok(Guarded::Stale(in_the_way(error))),
                Meaning::Final => return Err(unavailable(&error)),
                Meaning::Ambiguous => {
                    let key = ["pk", "sk"].map(|name| (name.to_owned(), item[name].clone()));
                    let there = self.get_item(key.into()).await?;
                    return Ok(outcome(there, item, revision_of(item)?)?);
                }
            }
        }
    }

    fn putting(&self, item: &Item) -> PutItemFluentBuilder {
        self.client
            .put_item()
            .table_name(&*self.name)
            .set_item(Some(item.clone()))
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld)
            .return_consumed_capacity(ReturnConsumedCapacity::Total)
    }

    /// Deletes an item if it is of the known revision; with none known, if there is nothing to delete. That nothing is
    /// there is as good as done.
    pub(crate) async fn delete_revised(
        &self,
        key: &Item,
        known: Option<Revision>,
    ) -> Result<Guarded, TableError> {
        let deleted = self
            .call(|| {
                let delete = self
                    .client
                    .delete_item()
                    .table_name(&*self.name)
                    .set_key(Some(key.clone()))
                    .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld)
                    .return_consumed_capacity(ReturnConsumedCapacity::Total);
                match known {
                    None => delete.condition_expression("attribute_not_exists(pk)"),
                    Some(known) => delete
                        .condition_expression("attribute_not_exists(pk) OR revision = :known")
                        .expression_attribute_values(":known", number(known.get())),
                }
                .send()
            })
            .await;
        match deleted {
            Ok(answer) => {
                self.meter.write(answer.consumed_capacity());
                Ok(Guarded::Written)
            }
            Err(Failed::Condition { error, maybe_applied }) => {
                let there = in_the_way_of_delete(error);
                match known.filter(|_| maybe_applied) {
                    // It may be gone and made again: there is no item of ours that would say so.
                    Some(known) => Ok(outcome(there, &Item::new(), known.next())?),
                    None => Ok(Guarded::Stale(there)),
                }
            }
            Err(Failed::Table(error)) => Err(error),
        }
    }
}

/// What became of a write that may have been applied, by what is there: `ours` is what it would have left, `next` the
/// revision that follows the one it replaced.
fn outcome(there: Option<Item>, ours: &Item, next: Revision) -> Result<Guarded, Corrupt> {
    Ok(match there {
        Some(there) if there == *ours => Guarded::Written,
        Some(there) if revision_of(&there)? == next => Guarded::Stale(Some(there)),
        _ => Guarded::Unknown,
    })
}

/// The revision of an item.
pub(crate) fn revision_of(item: &Item) -> Result<Revision, Corrupt> {
    Fields(item).number(REVISION).map(Revision::new)
}

fn in_the_way_of_delete(error: SdkError<DeleteItemError>) -> Option<Item> {
    match error.into_service_error() {
        DeleteItemError::ConditionalCheckFailedException(failed) => failed.item,
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::item::text;

    fn item(revision: u64, write: &str) -> Item {
        Item::from([(REVISION.to_owned(), number(revision)), ("d".to_owned(), text(write))])
    }

    #[test]
    fn what_is_there_says_what_became_of_a_write() {
        let next = Revision::new(8);
        let of = |there: Option<Item>| outcome(there, &item(8, "ours"), next).unwrap();
        assert_eq!(of(Some(item(8, "ours"))), Guarded::Written);
        assert_eq!(of(Some(item(8, "theirs"))), Guarded::Stale(Some(item(8, "theirs"))));
        for there in [None, Some(item(9, "theirs")), Some(item(9, "ours")), Some(item(7, "older"))] {
            assert_eq!(of(there), Guarded::Unknown);
        }
        outcome(Some(Item::new()), &item(8, "ours"), next).unwrap_err();
    }
}
