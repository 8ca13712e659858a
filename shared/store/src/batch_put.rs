//! Many items put with one `BatchWriteItem`, and which of them it left.

use std::collections::HashSet;

use aws_sdk_dynamodb::types::{AttributeValue, PutRequest, ReturnConsumedCapacity, WriteRequest};

use crate::call::Table;
use crate::call::{Meaning, is_throttle, meaning, unavailable};
use crate::error::TableError;
use crate::item::Item;

impl Table {
    /// Puts up to 25 items of different keys with one call; the places of those that may not be written. They are to
    /// be put alone: then the error says why.
    ///
    /// A call that failed for a while leaves all of them; the error is of one that fails for good.
    pub(crate) async fn batch_put(&self, items: &[&Item], key: [&str; 2]) -> Result<Vec<usize>, TableError> {
        let put = |item: &&Item| {
            let put = PutRequest::builder().set_item(Some((*item).clone())).build();
            put.map(|put| WriteRequest::builder().put_request(put).build())
        };
        let requests: Vec<_> =
            items.iter().map(put).collect::<Result<_, _>>().map_err(TableError::unavailable)?;
        self.meter.call();
        let answer = self
            .client
            .batch_write_item()
            .request_items(&*self.name, requests)
            .return_consumed_capacity(ReturnConsumedCapacity::Total)
            .send()
            .await;
        let answer = match answer {
            Ok(answer) => answer,
            Err(error) if meaning(&error) == Meaning::Final => return Err(unavailable(&error)),
            Err(error) => {
                if is_throttle(&error) {
                    self.meter.throttled(false);
                }
                return Ok((0..items.len()).collect());
            }
        };
        self.meter.write(answer.consumed_capacity());
        let key = |item: &Item| key.map(|name| item.get(name).map(value).map(str::to_owned));
        let unprocessed = answer.unprocessed_items().into_iter().flatten().flat_map(|(_, requests)| requests);
        let unprocessed: HashSet<_> =
            unprocessed.filter_map(|request| Some(key(request.put_request()?.item()))).collect();
        if !unprocessed.is_empty() {
            self.meter.throttled(false);
        }
        let left = items.iter().enumerate().filter(|(_, item)| unprocessed.contains(&key(item)));
        Ok(left.map(|(place, _)| place).collect())
    }
}

/// What a key's attribute holds: within a table, always of one type.
fn value(attribute: &AttributeValue) -> &str {
    match attribute {
        AttributeValue::S(text) | AttributeValue::N(text) => text,
        _ => "",
    }
}
