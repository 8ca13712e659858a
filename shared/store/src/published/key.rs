//! A design's keys under the names that a table gives its key attributes.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;
use jiff::Timestamp;
use lately_keys::published::{KeyValue, WriteKey};

use crate::item::{Corrupt, Item};
use crate::published::design::Design;

/// What an item holds beside its key.
pub type Attributes = HashMap<String, AttributeValue>;

/// The names of a table's key attributes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyAttributes {
    /// The partition key's.
    pub pk: String,
    /// The sort key's.
    pub sk: String,
}

/// An event that is stored.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// Where.
    pub key: WriteKey,
    /// Its time, as exact as the design's key has it.
    pub at: Timestamp,
    /// What it holds.
    pub attributes: Attributes,
}

impl KeyAttributes {
    pub(super) fn item(&self, pk: &KeyValue, sk: &KeyValue) -> Item {
        HashMap::from([(self.pk.clone(), attribute(pk)), (self.sk.clone(), attribute(sk))])
    }

    /// The sort key of an item.
    pub(super) fn sk(&self, item: &Item, pk: &KeyValue) -> Result<KeyValue, Corrupt> {
        let sk = item.get(&self.sk).and_then(|value| match value {
            AttributeValue::S(text) => Some(KeyValue::S(text.clone())),
            AttributeValue::N(number) => number.parse().ok().map(KeyValue::N),
            _ => None,
        });
        sk.ok_or_else(|| Corrupt::named(pk, "sort key"))
    }

    /// An item of a partition as the event that it is.
    pub(super) fn event(&self, mut item: Item, pk: &KeyValue, design: &Design) -> Result<Event, Corrupt> {
        let key = WriteKey { pk: pk.clone(), sk: self.sk(&item, pk)? };
        let foreign = |_| Corrupt::named(format!("{} / {}", key.pk, key.sk), "sort key");
        let at = design.time_of(&key.sk).map_err(foreign)?;
        item.remove(&self.pk);
        item.remove(&self.sk);
        Ok(Event { key, at, attributes: item })
    }
}

pub(super) fn attribute(value: &KeyValue) -> AttributeValue {
    match value {
        KeyValue::S(text) => AttributeValue::S(text.clone()),
        KeyValue::N(number) => AttributeValue::N(number.to_string()),
    }
}
