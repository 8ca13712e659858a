//! Many items by their keys: `BatchGetItem` until every key is processed, and single calls of `BatchWriteItem`.

use std::collections::{HashMap, HashSet};

use aws_sdk_dynamodb::error::{BuildError, SdkError};
use aws_sdk_dynamodb::operation::batch_write_item::BatchWriteItemError;
use aws_sdk_dynamodb::types::{
    AttributeValue, DeleteRequest, KeysAndAttributes, PutRequest, ReturnConsumedCapacity, ThrottlingReason,
    WriteRequest,
};
use futures_util::stream::{self, StreamExt, TryStreamExt};
use lately_keys::Key;

use crate::call::{Meaning, Refusal, Table, is_throttle, meaning, unavailable};
use crate::error::TableError;
use crate::limits::{BATCH_KEYS, BATCHES_AT_ONCE};
use crate::single::is_range_hot;
use lately_items::{Corrupt, Item};

/// A write of one item.
#[derive(Clone, Debug, PartialEq)]
pub enum Write {
    /// Puts an item, and replaces the item under its key.
    Put(Item),
    /// Deletes the item under a key, if it is there.
    Delete(Key),
}

/// The outcome of one call with several writes.
#[derive(Debug)]
pub enum BatchOutcome {
    /// All are written, except for those at these indexes.
    Written(Vec<usize>),
    /// None is known to be written, and the call may be repeated.
    Refused(Refusal),
    /// The call fails for good.
    Failed(TableError),
}

impl Table {
    /// The items under some keys, as far as they exist, in no particular order. No key may be given twice.
    pub async fn get_many(&self, keys: &[Key], consistent: bool) -> Result<Vec<Item>, TableError> {
        self.get_attributes(keys, None, consistent).await
    }

    /// The keys whose items exist, read consistently. DynamoDB sends only the keys, whatever the size of the items.
    pub async fn existing(&self, keys: &[Key]) -> Result<HashSet<Key>, TableError> {
        let found = self.get_attributes(keys, Some("pk, sk"), true).await?;
        Ok(found.iter().map(Item::key).collect::<Result<_, _>>()?)
    }

    /// As [`Table::get_many`], read consistently, with some attributes of each item. The price is that of the whole items.
    pub async fn get_parts(&self, keys: &[Key], attributes: &'static str) -> Result<Vec<Item>, TableError> {
        self.get_attributes(keys, Some(attributes), true).await
    }

    async fn get_attributes(
        &self,
        keys: &[Key],
        projection: Option<&str>,
        consistent: bool,
    ) -> Result<Vec<Item>, TableError> {
        let batches: Vec<_> =
            keys.chunks(BATCH_KEYS).map(|keys| self.get_batch(keys, projection, consistent)).collect();
        let found: Vec<_> = stream::iter(batches).buffer_unordered(BATCHES_AT_ONCE).try_collect().await?;
        Ok(found.into_iter().flatten().map(Item::from).collect())
    }

    /// Makes as many calls as needed. A call that reads nothing counts as a failed attempt.
    async fn get_batch(
        &self,
        keys: &[Key],
        projection: Option<&str>,
        consistent: bool,
    ) -> Result<Vec<HashMap<String, AttributeValue>>, TableError> {
        let mut keys: Vec<_> = keys.iter().map(|key| Item::under(key.clone()).into_attributes()).collect();
        let mut found = Vec::with_capacity(keys.len());
        let mut attempts = self.attempts();
        while !keys.is_empty() {
            attempts.start();
            let request = KeysAndAttributes::builder()
                .set_keys(Some(keys.clone()))
                .set_projection_expression(projection.map(str::to_owned))
                .consistent_read(consistent)
                .build()
                .map_err(TableError::unavailable)?;
            let answer = self
                .client
                .batch_get_item()
                .request_items(&*self.name, request)
                .return_consumed_capacity(ReturnConsumedCapacity::Total)
                .send()
                .await;
            let answer = match answer {
                Ok(answer) => answer,
                Err(error) => match meaning(&error) {
                    Meaning::Refused | Meaning::Ambiguous => {
                        attempts.pause_after(&error).await?;
                        continue;
                    }
                    Meaning::Condition | Meaning::Final => return Err(unavailable(&error)),
                },
            };
            self.meter.read(answer.consumed_capacity());
            let mut by_table = answer.unprocessed_keys.unwrap_or_default();
            let unprocessed = by_table.remove(&*self.name).map(|rest| rest.keys).unwrap_or_default();
            let read = keys.len() - unprocessed.len();
            keys = unprocessed;
            found.extend(answer.responses.unwrap_or_default().remove(&*self.name).unwrap_or_default());
            if read > 0 {
                // A response holds at most 16 MB. The rest is requested at once.
                attempts = self.attempts();
            } else {
                let error = TableError::unavailable("no item of a batch was read");
                attempts.pause(Refusal { error, is_range_hot: false, is_throttle: true }).await?;
            }
        }
        self.meter.items(found.len());
        Ok(found)
    }

    /// Writes up to 25 items of different keys with one call, and does not retry the call.
    pub async fn batch_write(&self, writes: &[&Write]) -> BatchOutcome {
        let requests: Result<Vec<_>, _> = writes.iter().map(|write| write.request()).collect();
        match requests {
            Ok(requests) => self.send_batch(requests).await,
            Err(error) => BatchOutcome::Failed(TableError::unavailable(error)),
        }
    }

    /// Puts up to 25 items of different keys with one call. Returns the indexes of the items that may not be written.
    /// The caller puts these one by one, because the error of a single put has a reason.
    ///
    /// # Errors
    /// If the call fails for good.
    pub async fn put_many(&self, items: &[&Item]) -> Result<Vec<usize>, TableError> {
        let requests: Result<Vec<_>, _> = items.iter().map(|item| put_request(item)).collect();
        let (rest, is_throttle) = match self.send_batch(requests.map_err(TableError::unavailable)?).await {
            BatchOutcome::Written(rest) => (rest.clone(), !rest.is_empty()),
            BatchOutcome::Refused(refusal) => ((0..items.len()).collect(), refusal.is_throttle),
            BatchOutcome::Failed(error) => return Err(error),
        };
        if is_throttle {
            self.meter.throttled(false);
        }
        Ok(rest)
    }

    async fn send_batch(&self, requests: Vec<WriteRequest>) -> BatchOutcome {
        let keys: Vec<_> = requests.iter().map(|request| self.key_of(request)).collect();
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
            Err(error) if meaning(&error) == Meaning::Final => {
                return BatchOutcome::Failed(unavailable(&error));
            }
            Err(error) => {
                return BatchOutcome::Refused(Refusal {
                    error: unavailable(&error),
                    is_range_hot: is_range_hot(throttling_reasons(&error)),
                    is_throttle: is_throttle(&error),
                });
            }
        };
        self.meter.write(answer.consumed_capacity());
        let unprocessed = answer.unprocessed_items.unwrap_or_default().remove(&*self.name);
        let unprocessed: Vec<_> = unprocessed.iter().flatten().map(|request| self.key_of(request)).collect();
        let indexes = keys.iter().enumerate().filter(|(_, key)| unprocessed.contains(key));
        BatchOutcome::Written(indexes.map(|(index, _)| index).collect())
    }

    fn key_of(&self, request: &WriteRequest) -> [Option<AttributeValue>; 2] {
        let attributes = request.put_request().map(PutRequest::item);
        let attributes = attributes.or_else(|| request.delete_request().map(DeleteRequest::key));
        [0, 1].map(|part: usize| attributes.and_then(|all| all.get(&*self.key_names[part]).cloned()))
    }
}

fn put_request(item: &Item) -> Result<WriteRequest, BuildError> {
    let put = PutRequest::builder().set_item(Some(item.attributes().clone())).build()?;
    Ok(WriteRequest::builder().put_request(put).build())
}

impl Write {
    /// The key of the item that is written.
    ///
    /// # Errors
    /// If an item to be put has no key.
    pub fn key(&self) -> Result<Key, Corrupt> {
        match self {
            Self::Put(item) => item.key(),
            Self::Delete(key) => Ok(key.clone()),
        }
    }

    fn request(&self) -> Result<WriteRequest, BuildError> {
        match self {
            Self::Put(item) => put_request(item),
            Self::Delete(key) => {
                let key = Item::under(key.clone()).into_attributes();
                let delete = DeleteRequest::builder().set_key(Some(key)).build()?;
                Ok(WriteRequest::builder().delete_request(delete).build())
            }
        }
    }
}

fn throttling_reasons(error: &SdkError<BatchWriteItemError>) -> &[ThrottlingReason] {
    match error.as_service_error() {
        Some(BatchWriteItemError::ThrottlingException(error)) => {
            error.throttling_reasons.as_deref().unwrap_or_default()
        }
        Some(BatchWriteItemError::ProvisionedThroughputExceededException(error)) => {
            error.throttling_reasons()
        }
        _ => &[],
    }
}
