//! Many items by their keys: `BatchGetItem`, repeated until it has processed every key.

use std::collections::HashSet;

use aws_sdk_dynamodb::types::{KeysAndAttributes, ReturnConsumedCapacity};
use futures_util::stream::{self, StreamExt, TryStreamExt};
use lately_keys::{Key, Place};

use crate::call::Table;
use crate::call::{Meaning, meaning, unavailable};
use crate::error::TableError;
use crate::item::{Fields, Item, keyed};
use crate::limits::{BATCH_KEYS, BATCHES_AT_ONCE};

impl Table {
    /// Those of some items that there are, in no particular order. No key may be given twice.
    pub(crate) async fn get_items(&self, keys: &[Item], consistent: bool) -> Result<Vec<Item>, TableError> {
        self.get_attributes(keys, None, consistent).await
    }

    /// Which of some items exist, read consistently. DynamoDB sends their keys alone, whatever the size of the items.
    pub(crate) async fn existing(&self, keys: &[Key]) -> Result<HashSet<Key>, TableError> {
        let wanted: Vec<_> = keys.iter().map(|key| keyed(Place::Table, key.clone())).collect();
        let found = self.get_attributes(&wanted, Some("pk, sk"), true).await?;
        Ok(found.iter().map(|item| Fields(item).key()).collect::<Result<_, _>>()?)
    }

    async fn get_attributes(
        &self,
        keys: &[Item],
        projection: Option<&str>,
        consistent: bool,
    ) -> Result<Vec<Item>, TableError> {
        let batches: Vec<_> =
            keys.chunks(BATCH_KEYS).map(|keys| self.get_batch(keys, projection, consistent)).collect();
        let found: Vec<_> = stream::iter(batches).buffer_unordered(BATCHES_AT_ONCE).try_collect().await?;
        Ok(found.into_iter().flatten().collect())
    }

    /// As many calls as it takes. One that reads nothing is an attempt that failed.
    async fn get_batch(
        &self,
        keys: &[Item],
        projection: Option<&str>,
        consistent: bool,
    ) -> Result<Vec<Item>, TableError> {
        let mut keys = keys.to_vec();
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
                        attempts.pause(&error).await?;
                        continue;
                    }
                    Meaning::Condition | Meaning::Final => return Err(unavailable(&error)),
                },
            };
            self.meter.read(answer.consumed_capacity());
            let mut unprocessed = answer.unprocessed_keys.unwrap_or_default();
            let left = unprocessed.remove(&*self.name).map(|rest| rest.keys).unwrap_or_default();
            let read = keys.len() - left.len();
            keys = left;
            found.extend(answer.responses.unwrap_or_default().remove(&*self.name).unwrap_or_default());
            if read > 0 {
                // An answer holds 16 MB: what did not fit is asked for at once.
                attempts = self.attempts();
            } else {
                let paused =
                    attempts.pause_or(|| TableError::unavailable("no item of a batch was read")).await;
                self.meter.throttled(paused.is_err());
                paused?;
            }
        }
        self.meter.items(found.len());
        Ok(found)
    }
}
