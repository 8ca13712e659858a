//! One item: its reads, puts, updates and deletions, with or without a condition.

use aws_sdk_dynamodb::operation::put_item::builders::PutItemFluentBuilder;
use aws_sdk_dynamodb::operation::update_item::builders::UpdateItemFluentBuilder;
use aws_sdk_dynamodb::types::{ReturnConsumedCapacity, ReturnValue};
use lately_items::{Item, Record};
use lately_keys::Key;

use crate::call::{Attempts, CallError, Meaning, Refusal, Table, meaning};
use crate::error::TableError;
use crate::expression::{Condition, Placeholders, Update, conditional};

impl Table {
    /// An item by its key, read consistently.
    pub async fn get(&self, key: Key) -> Result<Option<Item>, TableError> {
        self.read(key, true).await
    }

    /// An item by its key.
    pub async fn read(&self, key: Key, consistent: bool) -> Result<Option<Item>, TableError> {
        let key = Item::under(key).into_attributes();
        let get = || {
            let get = self.client.get_item().table_name(&*self.name).set_key(Some(key.clone()));
            get.consistent_read(consistent).return_consumed_capacity(ReturnConsumedCapacity::Total).send()
        };
        let answer = Attempts::of(self).call(get).await?;
        self.meter.read(answer.consumed_capacity());
        Ok(answer.item.map(Item::from))
    }

    /// The record under a key, read consistently.
    pub async fn find<R: Record>(&self, key: Key) -> Result<Option<R>, TableError> {
        Ok(self.get(key).await?.as_ref().map(R::decode).transpose()?)
    }

    /// Puts an item, and replaces the item under its key.
    pub async fn put(&self, item: &Item) -> Result<(), TableError> {
        Ok(put(self, item, None).await?)
    }

    /// Puts an item if a condition holds for the item under its key. Returns `None` if the item is put, and the item in
    /// its way otherwise: an empty one if there is none. An earlier attempt may have put that item.
    pub async fn put_if(&self, item: &Item, condition: &Condition) -> Result<Option<Item>, TableError> {
        in_the_way(put(self, item, Some(condition)).await)
    }

    /// Updates an item. Returns false if the update's condition does not hold.
    pub async fn update(&self, change: &Update) -> Result<bool, TableError> {
        Ok(update(self, change, None).await?.is_some())
    }

    /// Updates an item and returns the updated item; `None` if the update's condition does not hold.
    pub async fn update_and_get(&self, change: &Update) -> Result<Option<Item>, TableError> {
        update(self, change, Some(ReturnValue::AllNew)).await
    }

    /// Deletes an item, if it is there.
    pub async fn delete(&self, key: Key) -> Result<(), TableError> {
        Ok(delete(self, key, None).await?)
    }

    /// Deletes an item if a condition holds for it. Returns `None` if the item is deleted, and the item otherwise: an
    /// empty one if there is none.
    pub async fn delete_if(&self, key: Key, condition: &Condition) -> Result<Option<Item>, TableError> {
        in_the_way(delete(self, key, Some(condition)).await)
    }
}

/// The item because of which a conditional write was not made: an empty one if there is none.
fn in_the_way(written: Result<(), CallError>) -> Result<Option<Item>, TableError> {
    let Err(error) = written else { return Ok(None) };
    error.refused().map(|(there, _)| Some(there.unwrap_or_default()))
}

/// Puts an item, perhaps with a condition.
pub(crate) async fn put(table: &Table, item: &Item, condition: Option<&Condition>) -> Result<(), CallError> {
    let answer = Attempts::of(table).call(|| put_request(table, item, condition).send()).await?;
    table.meter.write(answer.consumed_capacity());
    Ok(())
}

pub(crate) fn put_request(table: &Table, item: &Item, condition: Option<&Condition>) -> PutItemFluentBuilder {
    let put = table.client.put_item().table_name(&*table.name).set_item(Some(item.attributes().clone()));
    conditional!(put, Placeholders::default().expression(condition))
        .return_consumed_capacity(ReturnConsumedCapacity::Total)
}

/// Updates an item, and returns the attributes that are asked for; `None` if the update's condition does not hold.
async fn update(
    table: &Table,
    update: &Update,
    values: Option<ReturnValue>,
) -> Result<Option<Item>, TableError> {
    let send = || update_request(table, update).set_return_values(values.clone()).send();
    match Attempts::of(table).call(send).await {
        Ok(answer) => {
            table.meter.write(answer.consumed_capacity());
            Ok(Some(answer.attributes.unwrap_or_default().into()))
        }
        Err(error) => error.refused().map(|_| None),
    }
}

fn update_request(table: &Table, update: &Update) -> UpdateItemFluentBuilder {
    let (text, expression) = update.expression();
    let key = Item::under(update.key().clone()).into_attributes();
    let update =
        table.client.update_item().table_name(&*table.name).set_key(Some(key)).update_expression(text);
    conditional!(update, expression).return_consumed_capacity(ReturnConsumedCapacity::Total)
}

/// Deletes an item, perhaps with a condition.
pub(crate) async fn delete(table: &Table, key: Key, condition: Option<&Condition>) -> Result<(), CallError> {
    let key = Item::under(key).into_attributes();
    let send = || {
        let delete = table.client.delete_item().table_name(&*table.name).set_key(Some(key.clone()));
        conditional!(delete, Placeholders::default().expression(condition))
            .return_consumed_capacity(ReturnConsumedCapacity::Total)
            .send()
    };
    let answer = Attempts::of(table).call(send).await?;
    table.meter.write(answer.consumed_capacity());
    Ok(())
}

impl Attempts<'_> {
    /// Makes one attempt to put an item. Returns `None` if the item is put, and the refusal otherwise. The caller may
    /// try again after a [pause](Attempts::pause).
    ///
    /// # Errors
    /// If a retry is of no use.
    pub async fn put(&mut self, item: &Item) -> Result<Option<Refusal>, TableError> {
        let answer = self.attempt(put_request(self.table, item, None).send()).await?;
        Ok(answer.map(|answer| self.table.meter.write(answer.consumed_capacity())).err())
    }

    /// Makes one attempt to update an item. Returns the attributes that the update set, `None` if the update's condition
    /// does not hold, or the refusal of an attempt that may succeed later.
    ///
    /// # Errors
    /// If a retry is of no use.
    pub async fn update(&mut self, update: &Update) -> Result<Result<Option<Item>, Refusal>, TableError> {
        let request = update_request(self.table, update).return_values(ReturnValue::UpdatedNew);
        let send = async {
            match request.send().await {
                Err(error) if update.is_conditional() && meaning(&error) == Meaning::Condition => Ok(None),
                answer => answer.map(Some),
            }
        };
        Ok(self.attempt(send).await?.map(|answer| {
            let answer = answer?;
            self.table.meter.write(answer.consumed_capacity());
            Some(answer.attributes.unwrap_or_default().into())
        }))
    }
}
