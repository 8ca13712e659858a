//! The late ledger: an event that arrived behind the position up to which a consumer had already read.
//!
//! ```text
//! table   pk  LATE#{topic}#{name}#{0..15}    sk  {id}
//! ```
//!
//! The partition is the id's last four bits, which are random. So a large import into the past is spread over sixteen
//! partitions, and a ledger entry is found from the id alone. The id is not inverted, because late events are reported
//! oldest first.

use lately_keys::limits::LATE_SHARDS;
use lately_keys::{EventId, Key, Place, TableKey};

use crate::ConsumerKey;
use crate::form::{Form, Text};
use crate::key::{exact, read, values};

/// The item that lists a late event for a consumer.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LateEventKey {
    /// The ledger's consumer.
    pub consumer: ConsumerKey,
    /// The event.
    pub id: EventId,
}

impl LateEventKey {
    /// All partitions of a consumer's ledger.
    pub fn partitions(consumer: &ConsumerKey) -> impl Iterator<Item = String> {
        let ConsumerKey { topic, name } = consumer;
        (0..LATE_SHARDS).map(move |shard| format!("LATE#{topic}#{name}#{shard}"))
    }

    /// The number of an event's partition.
    pub fn shard(id: EventId) -> u8 {
        let [.., low] = *id.as_uuid().as_bytes();
        low % LATE_SHARDS
    }
}

impl TableKey for LateEventKey {
    const PLACE: Place = Place::Table;

    fn encode(&self) -> Key {
        let ConsumerKey { topic, name } = &self.consumer;
        let shard = Self::shard(self.id);
        Key { pk: format!("LATE#{topic}#{name}#{shard}"), sk: self.id.to_string() }
    }

    fn decode(pk: &str, sk: &str) -> Option<Self> {
        let values = values("LATE#{topic}#{name}#{shard}", pk)?;
        let (topic, name) = (read::<Text, _>(&values, "topic")?, read::<Text, _>(&values, "name")?);
        exact(Self { consumer: ConsumerKey { topic, name }, id: Text::read(sk)? }, pk, sk)
    }
}
