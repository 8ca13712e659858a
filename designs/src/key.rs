//! A design's keys under the names that a table gives its key attributes.

use jiff::Timestamp;
use lately_table::{Corrupt, Item, Value};

use crate::design::Design;
use crate::keys::{KeyValue, WriteKey};

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
    /// Its key.
    pub key: WriteKey,
    /// Its time, as exact as the design's key has it.
    pub at: Timestamp,
    /// The attributes beside the key.
    pub attributes: Item,
}

impl KeyAttributes {
    /// An item with its key.
    pub(crate) fn keyed(&self, item: Item, pk: &KeyValue, sk: &KeyValue) -> Item {
        item.with(&*self.pk, pk).with(&*self.sk, sk)
    }

    /// The sort key of an item.
    pub(crate) fn sk(&self, item: &Item, pk: &KeyValue) -> Result<KeyValue, Corrupt> {
        let value = item.get(&self.sk);
        let text = value.as_ref().and_then(Value::as_text).map(|text| KeyValue::S(text.to_owned()));
        let number = || value.as_ref()?.as_number()?.parse().ok().map(KeyValue::N);
        text.or_else(number).ok_or_else(|| Corrupt::named(pk, "sort key"))
    }

    /// The event in an item of a partition.
    pub(crate) fn event(&self, mut item: Item, pk: &KeyValue, design: &Design) -> Result<Event, Corrupt> {
        let key = WriteKey { pk: pk.clone(), sk: self.sk(&item, pk)? };
        let foreign = |_| Corrupt::named(format!("{} / {}", key.pk, key.sk), "sort key");
        let at = design.time_of(&key.sk).map_err(foreign)?;
        item.remove(&self.pk);
        item.remove(&self.sk);
        Ok(Event { key, at, attributes: item })
    }
}

impl From<&KeyValue> for Value {
    fn from(key: &KeyValue) -> Self {
        match key {
            KeyValue::S(text) => text.as_str().into(),
            KeyValue::N(number) => (*number).into(),
        }
    }
}
