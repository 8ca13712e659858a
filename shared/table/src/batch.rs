//! Many items by their keys: `BatchGetItem` until every key is processed, single calls of `BatchWriteItem`, and reads of
//! several items at one moment.

use std::collections::{HashMap, HashSet};

use aws_sdk_dynamodb::error::BuildError;
use aws_sdk_dynamodb::types::{
    AttributeValue, DeleteRequest, Get, KeysAndAttributes, PutRequest, ReturnConsumedCapacity,
    TransactGetItem, WriteRequest,
};
use futures_util::stream::{self, StreamExt, TryStreamExt};
use lately_items::{Corrupt, Item};
use lately_keys::Key;

use crate::call::{Attempts, CallError, Fault, Meaning, Refusal, Table, meaning, unavailable};
use crate::error::TableError;
use crate::limits::{BATCH_KEYS, BATCHES_AT_ONCE};

/// A write of one item.
#[derive(Clone, Debug, PartialEq)]
pub enum Write {
    /// Puts an item, and replaces the item under its key.
    Put(Item),
    /// Deletes the item under a key, if it is there.
    Delete(Key),
}

/// The items of some keys, as far as they could be read.
#[derive(Debug, Default)]
pub struct FoundKeys {
    /// The keys whose items exist.
    pub existing: HashSet<Key>,
    /// The keys that were not read, because their key ranges are busy.
    pub busy: HashSet<Key>,
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
        BatchRead { table: self, projection: None, consistent }.all(keys).await
    }

    /// The keys whose items exist, read consistently. DynamoDB sends only the keys, whatever the size of the items.
    pub async fn existing(&self, keys: &[Key]) -> Result<HashSet<Key>, TableError> {
        let found = self.get_parts(keys, KEYS).await?;
        Ok(found.iter().map(Item::key).collect::<Result<_, _>>()?)
    }

    /// As [`Table::existing`], but does not fail if some key ranges are busy.
    pub async fn look_for(&self, keys: &[Key]) -> Result<FoundKeys, TableError> {
        let (found, busy) =
            BatchRead { table: self, projection: Some(KEYS), consistent: true }.read(keys).await?;
        let existing = found.iter().map(Item::key).collect::<Result<_, _>>()?;
        Ok(FoundKeys { existing, busy: busy.into_iter().collect() })
    }

    /// As [`Table::get_many`], read consistently, with some attributes of each item. The price is that of the whole items.
    pub async fn get_parts(&self, keys: &[Key], attributes: &str) -> Result<Vec<Item>, TableError> {
        BatchRead { table: self, projection: Some(attributes), consistent: true }.all(keys).await
    }

    /// Reads items as they are at one moment, never in the middle of a transaction. Returns the item of each key.
    pub async fn get_together(&self, keys: Vec<Key>) -> Result<Vec<Option<Item>>, TableError> {
        let get = |key: &Key| {
            let key = Item::under(key.clone()).into_attributes();
            let get = Get::builder().table_name(&*self.name).set_key(Some(key)).build()?;
            Ok(TransactGetItem::builder().get(get).build())
        };
        let gets: Result<Vec<_>, BuildError> = keys.iter().map(get).collect();
        let gets = gets.map_err(TableError::unavailable)?;
        let send = || {
            let get = self.client.transact_get_items().set_transact_items(Some(gets.clone()));
            get.return_consumed_capacity(ReturnConsumedCapacity::Total).send()
        };
        let mut attempts = Attempts::of(self);
        loop {
            match attempts.call(send).await {
                Err(CallError::Condition { faults, .. })
                    if attempts.gives_way() && faults.contains(&Fault::Throttled) =>
                {
                    // The transaction does not say which limit was exceeded. A call for the item alone does.
                    for (key, _) in keys.iter().zip(&faults).filter(|(_, fault)| **fault == Fault::Throttled)
                    {
                        self.get(key.clone()).await?;
                    }
                    attempts.pause_or(at_work).await?;
                }
                Ok(answer) => {
                    self.meter.read(answer.consumed_capacity());
                    let responses = answer.responses.unwrap_or_default().into_iter();
                    return Ok(responses.map(|response| response.item.map(Item::from)).collect());
                }
                Err(CallError::Condition { .. }) => attempts.pause_or(at_work).await?,
                Err(CallError::Table(error)) => return Err(error),
            }
        }
    }

    /// Writes up to 25 items of different keys with one call, and does not retry the call.
    pub async fn batch_write(&self, writes: &[&Write]) -> BatchOutcome {
        send_batch(self, writes.iter().map(|write| write.request()).collect()).await
    }

    /// Puts up to 25 items of different keys with one call. Returns the indexes of the items that may not be written.
    /// The caller puts these one by one, because the error of a single put has a reason.
    ///
    /// # Errors
    /// If the call fails for good.
    pub async fn put_many(&self, items: &[&Item]) -> Result<Vec<usize>, TableError> {
        let sent = send_batch(self, items.iter().map(|item| put_request(item)).collect());
        let (rest, is_throttle) = match sent.await {
            BatchOutcome::Written(rest) => (rest.clone(), !rest.is_empty()),
            BatchOutcome::Refused(refusal) => ((0..items.len()).collect(), refusal.is_throttle),
            BatchOutcome::Failed(error) => return Err(error),
        };
        if is_throttle {
            self.meter.throttled(false);
        }
        Ok(rest)
    }
}

/// The attributes of a key.
const KEYS: &str = "pk, sk";

fn at_work() -> TableError {
    TableError::unavailable("other transactions are at work on the items")
}

/// A read of items by their keys: of all attributes, or of some.
struct BatchRead<'a> {
    table: &'a Table,
    projection: Option<&'a str>,
    consistent: bool,
}

impl BatchRead<'_> {
    /// The items. Fails if a key range is busy and the operation gives way.
    async fn all(&self, keys: &[Key]) -> Result<Vec<Item>, TableError> {
        let (found, busy) = self.read(keys).await?;
        if busy.is_empty() {
            return Ok(found);
        }
        Err(TableError::Busy(format!("{} items of a batch were not read", busy.len())))
    }

    /// The items, and the keys that were not read, because their key ranges are busy.
    async fn read(&self, keys: &[Key]) -> Result<(Vec<Item>, Vec<Key>), TableError> {
        let batches: Vec<_> = keys.chunks(BATCH_KEYS).map(|keys| self.batch(keys)).collect();
        let parts: Vec<_> = stream::iter(batches).buffer_unordered(BATCHES_AT_ONCE).try_collect().await?;
        let (found, busy): (Vec<_>, Vec<_>) = parts.into_iter().unzip();
        let busy: Vec<_> = busy.into_iter().flatten().map(|key| Item::from(key).key()).collect();
        let found = found.into_iter().flatten().map(Item::from).collect();
        Ok((found, busy.into_iter().collect::<Result<_, _>>()?))
    }

    /// Makes as many calls as needed. A call that reads nothing counts as a failed attempt.
    ///
    /// Keys that DynamoDB leaves unprocessed have no reason. So after some attempts that read nothing, a call asks for one
    /// key alone: DynamoDB then refuses the whole call, and gives the reason.
    async fn batch(&self, keys: &[Key]) -> Result<(Vec<Attributes>, Vec<Attributes>), TableError> {
        let Self { table: Table { client, name, meter, .. }, projection, consistent } = *self;
        let mut keys: Vec<_> = keys.iter().map(|key| Item::under(key.clone()).into_attributes()).collect();
        let mut found = Vec::with_capacity(keys.len());
        let mut attempts = Attempts::of(self.table);
        while !keys.is_empty() {
            let asked = if attempts.gives_way() { 1 } else { keys.len() };
            let request = KeysAndAttributes::builder()
                .set_keys(Some(keys[..asked].to_vec()))
                .set_projection_expression(projection.map(str::to_owned))
                .consistent_read(consistent)
                .build()
                .map_err(TableError::unavailable)?;
            let send = || {
                let get = client.batch_get_item().request_items(&**name, request.clone());
                get.return_consumed_capacity(ReturnConsumedCapacity::Total).send()
            };
            let answer = match attempts.call(send).await {
                Err(CallError::Table(TableError::Busy(_))) => break,
                answer => answer?,
            };
            meter.read(answer.consumed_capacity());
            let mut by_table = answer.unprocessed_keys.unwrap_or_default();
            let unprocessed = by_table.remove(&**name).map(|rest| rest.keys).unwrap_or_default();
            let read = asked - unprocessed.len();
            keys.splice(..asked, unprocessed);
            found.extend(answer.responses.unwrap_or_default().remove(&**name).unwrap_or_default());
            if read > 0 {
                // A response holds at most 16 MB. The rest is requested at once.
                attempts = Attempts::of(self.table);
            } else {
                let error = TableError::unavailable("no item of a batch was read");
                attempts.pause(Refusal { error, is_range_hot: false, is_throttle: true }).await?;
            }
        }
        meter.items(found.len());
        Ok((found, keys))
    }
}

/// The attributes of an item, as the SDK has them.
type Attributes = HashMap<String, AttributeValue>;

async fn send_batch(table: &Table, requests: Result<Vec<WriteRequest>, BuildError>) -> BatchOutcome {
    let requests = match requests {
        Ok(requests) => requests,
        Err(error) => return BatchOutcome::Failed(TableError::unavailable(error)),
    };
    let key = |request: &WriteRequest| {
        let attributes = request.put_request().map(PutRequest::item);
        let attributes = attributes.or_else(|| request.delete_request().map(DeleteRequest::key));
        table.key_names.each_ref().map(|name| attributes.and_then(|all| all.get(&**name).cloned()))
    };
    let keys: Vec<_> = requests.iter().map(key).collect();
    table.meter.call();
    let write = table.client.batch_write_item().request_items(&*table.name, requests);
    let answer = match write.return_consumed_capacity(ReturnConsumedCapacity::Total).send().await {
        Ok(answer) => answer,
        Err(error) if meaning(&error) == Meaning::Final => return BatchOutcome::Failed(unavailable(&error)),
        Err(error) => return BatchOutcome::Refused(Refusal::of(&error)),
    };
    table.meter.write(answer.consumed_capacity());
    let unprocessed = answer.unprocessed_items.unwrap_or_default().remove(&*table.name);
    let unprocessed: Vec<_> = unprocessed.iter().flatten().map(key).collect();
    let indexes = keys.iter().enumerate().filter(|(_, key)| unprocessed.contains(key));
    BatchOutcome::Written(indexes.map(|(index, _)| index).collect())
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
