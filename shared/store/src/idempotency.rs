//! Idempotency: a request that is repeated under its key is answered as it was the first time.
//!
//! ```text
//! IDEMPOTENCY#{caller}#{topic}#{key}
//!   hash B (SHA-256 of the body), ids B (16 bytes each), done BOOL?, expires_at N
//! ```
//!
//! The record is written first, conditionally, with the ids that the events will have, and marked `done`
//! after all of them are written. A repetition that finds it done answers from it; one that finds it not
//! done writes the same ids again, which is harmless if they are there. Expired means absent.

use std::collections::HashMap;

use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::AttributeValue;
use lately_keys::table::{IdempotencyItemKey, IdempotencyKey};
use lately_keys::{Caller, EventId, Key, Place, TableKey, Topic};

use crate::call::{Operation, TableError};
use crate::event::is_over;
use crate::item::{Corrupt, Fields, Item, keyed, number};
use crate::limits::IDEMPOTENCY_SECONDS;
use crate::store::Store;

/// What a client sent to make a repetition known as such.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Idempotency {
    /// Who sent it.
    pub caller: Caller,
    /// The key that was sent.
    pub key: IdempotencyKey,
    /// The SHA-256 of the body that was sent with it.
    pub body_hash: [u8; 32],
}

/// What is remembered of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) body_hash: [u8; 32],
    pub(crate) ids: Vec<EventId>,
    pub(crate) done: bool,
}

/// Whether a request came before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Recorded {
    /// It did not; it is recorded now.
    First,
    /// It did, or another one under its key.
    Before(Record),
}

impl Store {
    /// Records a request, unless its key is taken.
    pub(crate) async fn record(
        &self,
        topic: &Topic,
        idempotency: &Idempotency,
        ids: Vec<EventId>,
        operation: &Operation<'_>,
    ) -> Result<Recorded, TableError> {
        let now = self.now().get() / 1000;
        let wanted = Record { body_hash: idempotency.body_hash, ids, done: false };
        let mut item = keyed(Place::Table, key(topic, idempotency));
        item.extend(encode(&wanted));
        item.insert("expires_at".to_owned(), number(now + IDEMPOTENCY_SECONDS));
        let condition = "attribute_not_exists(pk) OR expires_at <= :now";
        let values = HashMap::from([(":now".to_owned(), number(now))]);
        let Some(there) = self.put_item_if(&item, condition, Some(values), operation).await? else {
            return Ok(Recorded::First);
        };
        let found = if there.is_empty() {
            // DynamoDB says what is there; should it not, it can be read.
            match self.recorded(topic, idempotency, operation).await? {
                Some(Recorded::Before(record)) => record,
                _ => wanted.clone(),
            }
        } else {
            decode(&there)?
        };
        // The same ids, which are random: our own earlier attempt.
        Ok(if found == wanted { Recorded::First } else { Recorded::Before(found) })
    }

    /// What is recorded under a key, if anything is.
    pub(crate) async fn recorded(
        &self,
        topic: &Topic,
        idempotency: &Idempotency,
        operation: &Operation<'_>,
    ) -> Result<Option<Recorded>, TableError> {
        let key = keyed(Place::Table, key(topic, idempotency));
        match self.get_item(key, operation).await? {
            Some(item) if !is_over(&item, self.now())? => Ok(Some(Recorded::Before(decode(&item)?))),
            _ => Ok(None),
        }
    }

    /// Marks a request as done. If that fails, a repetition will write the same events again, to no effect.
    pub(crate) async fn finish_record(
        &self,
        topic: &Topic,
        idempotency: &Idempotency,
        operation: &Operation<'_>,
    ) {
        let marked = self
            .update_if(operation, |update| {
                update
                    .set_key(Some(keyed(Place::Table, key(topic, idempotency))))
                    .update_expression("SET done = :done")
                    .condition_expression("attribute_exists(pk)")
                    .expression_attribute_values(":done", AttributeValue::Bool(true))
            })
            .await;
        match marked {
            Ok(Some(_)) => {}
            Ok(None) => tracing::warn!("an idempotency record was gone before it was done"),
            Err(error) => tracing::warn!(%error, "an idempotency record was not marked done"),
        }
    }
}

fn key(topic: &Topic, idempotency: &Idempotency) -> Key {
    let Idempotency { caller, key, .. } = idempotency.clone();
    IdempotencyItemKey { caller, topic: topic.clone(), key }.encode()
}

fn encode(record: &Record) -> Item {
    let ids: Vec<u8> = record.ids.iter().flat_map(|id| *id.as_uuid().as_bytes()).collect();
    Item::from([
        ("hash".to_owned(), AttributeValue::B(Blob::new(record.body_hash))),
        ("ids".to_owned(), AttributeValue::B(Blob::new(ids))),
    ])
}

fn decode(item: &Item) -> Result<Record, Corrupt> {
    let fields = Fields(item);
    let ids = fields.bytes("ids")?.chunks(16).map(EventId::from_slice).collect::<Option<_>>();
    Ok(Record {
        body_hash: fields.bytes("hash")?.try_into().map_err(|_| fields.corrupt("hash"))?,
        ids: ids.ok_or_else(|| fields.corrupt("ids"))?,
        done: fields.flag("done"),
    })
}
