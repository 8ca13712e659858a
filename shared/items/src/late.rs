//! The late ledger: an event that arrived behind the position up to which a consumer had already read.
//!
//! ```text
//! table   pk  LATE#{topic}#{name}#{0..15}    sk  {id}
//!   incarnation N
//!   by S? (the run, by its end, or the batch that settled the entry), expires_at N? (only once it is settled)
//! ```
//!
//! The partition is the id's last four bits, which are random. So a large import into the past is spread over sixteen
//! partitions, and a ledger entry is found from the id alone. The id is not inverted, because late events are reported
//! oldest first.

use lately_keys::limits::LATE_SHARDS;
use lately_keys::{EventId, Key, Place, TableKey};
use lately_model::Revision;

use crate::ConsumerKey;
use crate::form::{Form, Text};
use crate::item::{Corrupt, INCARNATION, Item};
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
    /// The attribute of a settled entry.
    pub const BY: &str = "by";

    /// A partition of a consumer's ledger, by its number.
    pub fn partition(consumer: &ConsumerKey, shard: u8) -> String {
        let ConsumerKey { topic, name } = consumer;
        format!("LATE#{topic}#{name}#{shard}")
    }

    /// The number of an event's partition.
    pub fn shard(id: EventId) -> u8 {
        let [.., low] = *id.as_uuid().as_bytes();
        low % LATE_SHARDS
    }

    /// The item of an entry that is not settled.
    pub fn item(&self, incarnation: Revision) -> Item {
        Item::at(self).with(INCARNATION, &incarnation)
    }

    /// True if an entry belongs to this incarnation and is not settled.
    pub fn is_unsettled(entry: &Item, ours: Revision) -> Result<bool, Corrupt> {
        Ok(entry.get::<Revision>(INCARNATION)? == ours && !entry.has(Self::BY))
    }
}

impl TableKey for LateEventKey {
    const PLACE: Place = Place::Table;

    fn encode(&self) -> Key {
        let pk = Self::partition(&self.consumer, Self::shard(self.id));
        Key { pk, sk: self.id.to_string() }
    }

    fn decode(pk: &str, sk: &str) -> Option<Self> {
        let values = values("LATE#{topic}#{name}#{shard}", pk)?;
        let (topic, name) = (read::<Text, _>(&values, "topic")?, read::<Text, _>(&values, "name")?);
        exact(Self { consumer: ConsumerKey { topic, name }, id: Text::read(sk)? }, pk, sk)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{ID, nightly};

    #[test]
    fn golden_bytes() {
        let expected = Item::from([("pk", "LATE#billing#nightly#2"), ("sk", ID)]).with("incarnation", 7_u64);
        assert_eq!(LateEventKey::partition(&nightly(), 2), "LATE#billing#nightly#2");
        let key = LateEventKey { consumer: nightly(), id: ID.parse().unwrap() };
        assert_eq!(key.item(Revision::new(7)), expected);
    }

    #[test]
    fn an_entry_is_unsettled_only_for_its_own_incarnation() {
        let entry = |incarnation: u64| Item::new().with("incarnation", incarnation);
        let ours = Revision::new(7);
        assert_eq!(LateEventKey::is_unsettled(&entry(7), ours), Ok(true));
        assert_eq!(LateEventKey::is_unsettled(&entry(7).with("by", "7-8"), ours), Ok(false));
        assert_eq!(LateEventKey::is_unsettled(&entry(8), ours), Ok(false), "the consumer was created again");
        LateEventKey::is_unsettled(&Item::new(), ours).unwrap_err();
    }
}
