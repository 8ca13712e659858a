//! The keys of a design, under the names of a table's key attributes.

use jiff::Timestamp;
use lately_table::{Corrupt, Item, Value};

use crate::design::Design;
use crate::keys::{KeyValue, WriteKey};

/// The names of a table's key attributes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyAttributes {
    /// The name of the partition key.
    pub pk: String,
    /// The name of the sort key.
    pub sk: String,
}

/// A stored event.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// The event's key.
    pub key: WriteKey,
    /// The event's time, as exact as the design's key contains it.
    pub at: Timestamp,
    /// The attributes beside the key.
    pub attributes: Item,
}

impl KeyAttributes {
    /// An item with the attributes of its key.
    pub(crate) fn keyed(&self, item: Item, pk: &KeyValue, sk: &KeyValue) -> Item {
        item.with(&*self.pk, pk).with(&*self.sk, sk)
    }

    /// The sort key of an item.
    pub(crate) fn sk(&self, item: &Item, pk: &KeyValue) -> Result<KeyValue, Corrupt> {
        let value = item.value(&self.sk);
        let text = value.as_ref().and_then(Value::read).map(KeyValue::S);
        let number = || value.as_ref()?.read().map(KeyValue::N);
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
