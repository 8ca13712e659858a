//! Idempotency: a request that is repeated under its key is answered as it was the first time.
//!
//! ```text
//! IDEMPOTENCY#{caller}#{topic}#{key}
//!   hash B (SHA-256 of the body), ids B (16 bytes each), at N (when it came, in milliseconds), done BOOL?, expires_at N
//! ```
//!
//! The record is written first, conditionally, with the ids that the events will have, and marked `done`
//! after all of them are written. A repetition that finds it done answers from it. One that finds it not done writes the
//! events that are not there, under the same ids, unless they were written and have been deleted since (`write.rs`); it
//! judges their times as the first request did. Expired means absent.

use std::collections::HashMap;

use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::AttributeValue;
use lately_keys::table::{IdempotencyItemKey, IdempotencyKey};
use lately_keys::{Caller, EventId, Key, Place, TableKey, Topic, UnixMillis};

use crate::error::TableError;
use crate::event::is_over;
use crate::item::{Corrupt, Fields, Item, keyed, number};
use crate::limits::IDEMPOTENCY_SECONDS;
use crate::op::Op;
use crate::single::PutIf;

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
pub(crate) struct KeyRecord {
    pub(crate) body_hash: [u8; 32],
    pub(crate) ids: Vec<EventId>,
    pub(crate) accepted_at: UnixMillis,
    pub(crate) done: bool,
}

/// Whether a request came before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Recorded {
    /// It did not; it is recorded now.
    First,
    /// It did, or another one under its key.
    Before(KeyRecord),
}

/// A request to a topic with an idempotency key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KeyedRequest<'a> {
    pub(crate) op: &'a Op,
    pub(crate) topic: &'a Topic,
    pub(crate) idempotency: &'a Idempotency,
}

impl<'a> KeyedRequest<'a> {
    pub(crate) const fn of(op: &'a Op, topic: &'a Topic, idempotency: &'a Idempotency) -> Self {
        Self { op, topic, idempotency }
    }
}

impl KeyedRequest<'_> {
    /// Records a request, unless its key is taken.
    pub(crate) async fn record(
        self,
        ids: Vec<EventId>,
        accepted_at: UnixMillis,
    ) -> Result<Recorded, TableError> {
        let idempotency = self.idempotency;
        let topic = self.topic;
        let now = accepted_at.get() / 1000;
        let wanted = KeyRecord { body_hash: idempotency.body_hash, ids, accepted_at, done: false };
        let mut item = keyed(Place::Table, key(topic, idempotency));
        item.extend(encode(&wanted));
        item.insert("expires_at".to_owned(), number(now + IDEMPOTENCY_SECONDS));
        let condition = "attribute_not_exists(pk) OR expires_at <= :now";
        let values = HashMap::from([(":now".to_owned(), number(now))]);
        let found = match self.op.table.put_item_if(&item, condition, Some(values)).await? {
            PutIf::Done => return Ok(Recorded::First),
            PutIf::Refused(Some(there)) => decode(&there)?,
            // DynamoDB did not return the record, so read the record.
            PutIf::Refused(None) => match self.recorded().await? {
                Some(Recorded::Before(record)) => record,
                _ => wanted.clone(),
            },
        };
        // The same ids, which are random: our own earlier attempt.
        Ok(if found == wanted { Recorded::First } else { Recorded::Before(found) })
    }

    /// What is recorded under a key, if anything is.
    pub(crate) async fn recorded(self) -> Result<Option<Recorded>, TableError> {
        let idempotency = self.idempotency;
        let topic = self.topic;
        let key = keyed(Place::Table, key(topic, idempotency));
        match self.op.table.get_item(key).await? {
            Some(item) if !is_over(&item, self.op.now())? => Ok(Some(Recorded::Before(decode(&item)?))),
            _ => Ok(None),
        }
    }

    /// Marks a request as done. If that fails, a repetition will write the same events again, to no effect.
    pub(crate) async fn finish(self) {
        let idempotency = self.idempotency;
        let topic = self.topic;
        let marked = self
            .op
            .table
            .update_if(|update| {
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

fn encode(record: &KeyRecord) -> Item {
    let ids: Vec<u8> = record.ids.iter().flat_map(|id| *id.as_uuid().as_bytes()).collect();
    Item::from([
        ("hash".to_owned(), AttributeValue::B(Blob::new(record.body_hash))),
        ("ids".to_owned(), AttributeValue::B(Blob::new(ids))),
        ("at".to_owned(), number(record.accepted_at.get())),
    ])
}

fn decode(item: &Item) -> Result<KeyRecord, Corrupt> {
    let fields = Fields(item);
    let ids = fields.bytes("ids")?.chunks(16).map(EventId::from_slice).collect::<Option<_>>();
    // Until it was stored, only the end of a record told when it was made, in whole seconds.
    let accepted_at = match item.contains_key("at") {
        true => fields.millis("at")?,
        false => {
            let made = fields.number::<u64>("expires_at")?.saturating_sub(IDEMPOTENCY_SECONDS);
            UnixMillis::new(made.saturating_mul(1000)).map_err(|_| fields.corrupt("expires_at"))?
        }
    };
    Ok(KeyRecord {
        body_hash: fields.bytes("hash")?.try_into().map_err(|_| fields.corrupt("hash"))?,
        ids: ids.ok_or_else(|| fields.corrupt("ids"))?,
        accepted_at,
        done: fields.flag("done"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::item::text;

    fn record() -> KeyRecord {
        KeyRecord {
            body_hash: [7; 32],
            ids: vec!["0190a4cd-d3e7-7222-9f99-fdb74feee752".parse().unwrap()],
            accepted_at: UnixMillis::new(1_720_781_000_123).unwrap(),
            done: false,
        }
    }

    #[test]
    fn golden_bytes() {
        let id =
            [0x01, 0x90, 0xa4, 0xcd, 0xd3, 0xe7, 0x72, 0x22, 0x9f, 0x99, 0xfd, 0xb7, 0x4f, 0xee, 0xe7, 0x52];
        let expected = [
            ("hash", AttributeValue::B(Blob::new([7; 32]))),
            ("ids", AttributeValue::B(Blob::new(id))),
            ("at", AttributeValue::N("1720781000123".to_owned())),
        ];
        assert_eq!(encode(&record()), expected.map(|(name, value)| (name.to_owned(), value)).into());
        assert_eq!(decode(&encode(&record())), Ok(record()));
    }

    #[test]
    fn a_record_of_an_earlier_release_came_a_day_before_it_ends() {
        let mut item = encode(&record());
        item.remove("at");
        item.insert("expires_at".to_owned(), number(1_720_781_000 + IDEMPOTENCY_SECONDS));
        let accepted_at = UnixMillis::new(1_720_781_000_000).unwrap();
        assert_eq!(decode(&item), Ok(KeyRecord { accepted_at, ..record() }));
        item.insert("at".to_owned(), text("noon"));
        decode(&item).unwrap_err();
    }
}
